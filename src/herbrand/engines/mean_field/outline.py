"""A program's shapes for mean field, computed without a tensor.

These are its tables, the consequences of hard statements, and the cost of a step.
:mod:`herbrand.engines.mean_field.problem` continues from here.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from herbrand.budget import UNLIMITED, Budget, readable
from herbrand.engines.mean_field.clipping import refuse_clip
from herbrand.engines.mean_field.grounded import Leaders
from herbrand.engines.mean_field.hard import SettledAtoms, Values, settled
from herbrand.engines.mean_field.listing import exceptions
from herbrand.engines.mean_field.products import products_of
from herbrand.engines.mean_field.quantifiers import independent
from herbrand.engines.mean_field.relations import KnownRelations
from herbrand.engines.mean_field.score import Score
from herbrand.engines.mean_field.tables import DenseTable, ListedTable, PredicateTable
from herbrand.errors import BudgetError, ContradictionError
from herbrand.program.evidence import Evidence, arguments_of
from herbrand.program.ground import Ground, LatentAtoms, ground, ground_template
from herbrand.program.lower import in_cells
from herbrand.program.program import Literal, Program, Template, literals_of
from herbrand.row_keys import row_keys

TABLES_AT_A_TIME = 6
"""Tables of the size of the marginals that a step holds at a time: logits, marginals old and new,
messages."""


@dataclass(frozen=True, eq=False)
class Outline:
    """A program's tables and plans. ``score``: of the ``regular`` templates, which are sums of products over
    variables; ``irregular``: the ground rows of all others, and of networks' tables; ``settled``: the
    consequences of hard statements, if there are any, for their ``atoms``."""

    evidence: Evidence
    tables: Mapping[str, PredicateTable]
    score: Score
    regular: tuple[Template, ...]
    irregular: Ground | None
    atoms: LatentAtoms | None
    settled: SettledAtoms | None

    @property
    def operations(self) -> float:
        """Estimated operations of one step. Raises ``BudgetError`` for a contraction that does not fit."""
        return self.score.operations + 3 * sum(table.values.size for table in self.evidence.program.tables)

    @property
    def bytes(self) -> float:
        """Estimated memory of a step, in bytes."""
        tables = sum(math.prod(table.shape) for table in self.tables.values())
        return 8 * TABLES_AT_A_TIME * tables + self.score.bytes


def outlined(
    program: Program, budget: Budget = UNLIMITED, listing: bool = True, clip: float | None = None
) -> Outline:
    """Outline a program; ``listing``: large predicates may be kept by their exceptions.

    Raises ``UnsupportedError`` for hard statements that mean field cannot satisfy, and ``BudgetError`` before
    anything large is allocated.
    """
    refuse_clip(clip, program)
    program = in_cells(program, only_impossible=clip is None)
    allowed = budget.bytes
    evidence = Evidence(program)
    hard = tuple(t for t in program.templates if t.weight is None)
    weighted = [t for t in program.templates if t.weight is not None]
    irregular = [t for t in weighted if t.conjunction.blocks and not independent(t.conjunction, evidence)]
    apart = set(map(id, irregular))
    atoms, done = None, None
    left: dict[str, dict[int, Values]] = {}
    if hard:
        grounded = ground(replace(program, templates=hard), budget)
        atoms = grounded.atoms
        done = settled(grounded)
        for number, values in done.allowed.items():
            name, code = atoms.coded(number)
            left.setdefault(name, {})[code] = values
        tied = _TiedAtoms(evidence, atoms, done.leaders)
        irregular += [t for t in weighted if id(t) not in apart and tied.share(t)]
        apart = set(map(id, irregular))
    regular = [t for t in weighted if id(t) not in apart]
    products = products_of(program, regular, evidence)
    relations = KnownRelations(evidence, allowed)
    needed_whole = {name for template in (*irregular, *hard) for name in template.predicates}
    listings = {
        name: exceptions(name, products, evidence, relations)
        if listing and name not in needed_whole
        else None
        for name in evidence.latent_predicates
    }
    whole = {name: _table(name, evidence, listed) for name, listed in listings.items()}
    _refuse_too_much(whole, allowed)
    tables = {name: _narrowed(table, evidence, left.get(name, {})) for name, table in whole.items()}
    rows = None
    if irregular or program.tables:
        atoms = atoms or LatentAtoms(evidence, budget)
        templates = tuple(ground_template(t, evidence, atoms, budget) for t in irregular)
        rows = Ground(program, evidence, atoms, templates)
    return Outline(evidence, tables, Score(relations, tables, products), tuple(regular), rows, atoms, done)


def _table(name: str, evidence: Evidence, listed: np.ndarray | None) -> PredicateTable:
    """The table of a predicate, with the atoms that facts settle."""
    known = evidence.known(name)
    if listed is not None:
        return ListedTable(name, known.sizes, listed, known.codes, known.values)
    width = evidence.program.value_count(name) if evidence.is_valued(name) else None
    return DenseTable(name, known.sizes, width, known.codes, known.values)


def _narrowed(table: PredicateTable, evidence: Evidence, left: Mapping[int, Values]) -> PredicateTable:
    """The table without the values that facts exclude, and without those that atoms lost to hard statements.
    ``left``: by code, the values left to such atoms."""
    if isinstance(table, ListedTable):
        return table
    if table.values is None:
        sure = {code: next(iter(own)) for code, own in left.items() if len(own) == 1}
        if not sure:
            return table
        codes = np.append(table.known, np.array([*sure], np.int64))
        values = np.append(table.known_values, np.array([*sure.values()], np.int64))
        return replace(table, known=codes, known_values=values)
    excluded, lost = evidence.excluded(table.predicate)
    every = frozenset(range(table.values))
    gone = [code * table.values + value for code, own in left.items() for value in every - own]
    impossible = np.append(excluded * table.values + lost, np.array(gone, dtype=np.int64))
    table = replace(table, excluded=impossible)
    _refuse_impossible(table, evidence)
    return table


def _refuse_impossible(table: DenseTable, evidence: Evidence) -> None:
    """Raise ``ContradictionError`` for a many-valued atom with no value left."""
    if table.values is None or not len(table.excluded):
        return
    codes, lost = np.unique(np.unique(table.excluded) // table.values, return_counts=True)
    gone = codes[lost == table.values]
    if len(gone):
        atom = evidence.atom_text(table.predicate, gone[:1])[0]
        raise ContradictionError(f"the facts and hard statements exclude every value of {atom}")


@dataclass(frozen=True, eq=False)
class _TiedAtoms:
    """Atoms that hard statements tied: factors of two tied atoms must be one factor."""

    evidence: Evidence
    atoms: LatentAtoms
    leaders: Leaders

    @cached_property
    def predicates(self) -> frozenset[str]:
        """Predicates of the tied atoms."""
        tied = self.leaders.leader != np.arange(self.atoms.count)
        tied[self.leaders.leader[tied]] = True
        return frozenset(name for name in self.atoms.codes if tied[self.atoms.places(name)].any())

    def share(self, template: Template) -> bool:
        """Whether two literals, or one under two assignments of a quantifier, may be tied atoms."""
        conjunction = template.conjunction
        if sum(x.predicate in self.predicates for x in literals_of(conjunction)) > 1:
            return True
        pieces = (piece for block in conjunction.blocks for piece in block.pieces)
        inside = (x for piece in pieces for x in literals_of(piece) if x.predicate in self.predicates)
        return any(self._meet(x, conjunction.types) for x in inside)

    def _meet(self, literal: Literal, fixed: Collection[str]) -> bool:
        """Whether two tied atoms agree in all arguments but those that quantifiers bind."""
        name, sizes = literal.predicate, self.evidence.known(literal.predicate).sizes
        columns = arguments_of(self.atoms.codes[name], sizes)
        places = [i for i, one in enumerate(literal.arguments) if not isinstance(one, str) or one in fixed]
        kept = [self.leaders.leader[self.atoms.places(name)], *(columns[i] for i in places)]
        keys = row_keys(kept, [self.atoms.count, *(sizes[i] for i in places)])
        return len(np.unique(keys)) < len(keys)


def _refuse_too_much(tables: Mapping[str, PredicateTable], allowed: int) -> None:
    """Raise ``BudgetError`` if the tables do not fit."""
    entries = {name: math.prod(table.shape) for name, table in tables.items()}
    needed = 8 * TABLES_AT_A_TIME * sum(entries.values())
    if needed > allowed:
        largest = max(entries, key=lambda name: entries[name])
        total, most = sum(entries.values()), entries[largest]
        raise BudgetError(
            f"mean field keeps a number for {total:,} latent atoms, {most:,} of them of {largest}: "
            f"about {readable(needed)}, and {readable(allowed)} are allowed",
            hint=f"declare {largest} as observed if what is not listed is false, allow more by --memory, "
            "or keep them on disk by --on duckdb:FILE",
        )
