"""A program made ready for mean field: its unknowns and its score, hard statements settled.

Used by the engine, by the layer of :mod:`herbrand.nn`, and by whatever learns weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from herbrand.budget import UNLIMITED, Budget, readable
from herbrand.contraction.torch_blocks import OneThread
from herbrand.engines.mean_field.clipping import clipped, refuse_clip
from herbrand.engines.mean_field.grounded import GroundScore, Leaders
from herbrand.engines.mean_field.hard import SettledAtoms, settled
from herbrand.engines.mean_field.listing import exceptions
from herbrand.engines.mean_field.products import products_of
from herbrand.engines.mean_field.quantifiers import independent
from herbrand.engines.mean_field.relations import KnownRelations
from herbrand.engines.mean_field.score import Score, Weights
from herbrand.engines.mean_field.tables import DenseTable, ListedTable, PredicateTable
from herbrand.engines.mean_field.unknowns import Ties, Unknowns
from herbrand.errors import BudgetError, ContradictionError
from herbrand.program.evidence import Evidence
from herbrand.program.ground import Ground, LatentAtoms, ground, ground_template
from herbrand.program.program import Program, Template, literals_of

TABLES_AT_A_TIME = 6
"""Tables of the size of the marginals that a step has at a time: logits, marginals old and new, messages."""

FLOAT = torch.float64


@dataclass(frozen=True, eq=False)
class Problem:
    """``score`` of the templates that are sums of products over variables, ``grounded`` of all others.

    ``regular`` are the templates of the score.

    ``settled``: the values that hard statements leave to atoms, by their numbers among all latent ones.
    ``clip``: how far one statement may move an atom, times its weight; ``None``: as far as it goes.
    """

    program: Program
    evidence: Evidence
    unknowns: Unknowns
    score: Score
    grounded: GroundScore | None
    settled: Mapping[int, frozenset[int]]
    budget: Budget
    clip: float | None = None
    regular: tuple[Template, ...] = ()

    def __deepcopy__(self, memo: object) -> Problem:
        """Itself, as nothing in it changes: copies of a layer share it."""
        return self

    @property
    def operations(self) -> float:
        """Of one step, roughly."""
        return self.score.operations

    @property
    def bytes(self) -> float:
        """The most that a step needs, roughly."""
        tables = sum(math.prod(table.shape) for table in self.unknowns.tables.values())
        return 8 * TABLES_AT_A_TIME * tables + self.score.bytes

    def leaders(self, atoms: LatentAtoms) -> Leaders:
        """Atoms that are one, by their numbers."""
        leaders = Leaders.nobody(atoms.count)
        for tie in self.unknowns.ties:
            tied = atoms.numbers(tie.predicate, tie.tied.numpy())
            leaders.leader[tied] = atoms.numbers(tie.leader, tie.leading.numpy())
            leaders.opposite[tied] = tie.opposite.numpy()
        return leaders

    def without_plan(self, templates: Sequence[Template], grounded: bool) -> Problem | None:
        """The problem of these regular templates, and of what is ``grounded``; ``None`` for nothing."""
        ground_score = self.grounded if grounded else None
        if not templates and ground_score is None:
            return None
        products = products_of(self.program, templates, self.evidence)
        score = Score(self.score.relations, self.unknowns.tables, products)
        return replace(self, score=score, grounded=ground_score, regular=tuple(templates))

    @cached_property
    def weights(self) -> list[Tensor | float]:
        """The program's weights; those learned for each constant as tables, which start at 0."""
        return [
            torch.zeros([len(self.program.domain(name)) for name in weight.by], dtype=FLOAT)
            if weight.by
            else weight.value
            for weight in self.program.weights
        ]

    def value(self, marginals: Mapping[str, Tensor], weights: Weights, batch: int | None = None) -> Tensor:
        """The expected log-weight [batch], soft evidence left out; differentiable.

        Marginals in half precision are summed in single precision: contractions take no other.
        """
        tables = {name: table.float() if table.itemsize < 4 else table for name, table in marginals.items()}
        total = self.score.value(tables, weights, batch)
        total = total if self.grounded is None else total + self.grounded.value(tables, weights)
        like = next(iter(marginals.values()), total)
        return total.to(like.dtype) if like.itemsize < 4 else total

    def sent(self, marginals: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What the program's statements say to every atom, each clipped where that is wanted."""
        if self.clip is None:
            return self.messages(marginals, self.weights)[1]
        said = clipped(
            self.unknowns,
            lambda weights: self.messages(marginals, weights)[1],
            self.weights,
            self.clip,
        )
        return said or self.messages(marginals, self.weights)[1]

    def messages(self, marginals: Mapping[str, Tensor], weights: Weights) -> tuple[float, dict[str, Tensor]]:
        """The expected log-weight, and what it says to every atom (or value); no graph is kept."""
        value, found = self.score.messages(marginals, weights)
        if self.grounded is not None:
            leaves = {name: table.detach().requires_grad_() for name, table in marginals.items()}
            with OneThread(), torch.enable_grad():
                more = self.grounded.value(leaves, weights)
                gradients = [None] * len(leaves)
                if more.requires_grad:
                    gradients = torch.autograd.grad(more, list(leaves.values()), allow_unused=True)
            value += more.item()
            for name, gradient in zip(leaves, gradients, strict=True):
                if gradient is not None:
                    found[name] = found[name] + gradient if name in found else gradient
        for name, table in self.unknowns.tables.items():
            if name not in found:
                found[name] = torch.zeros(table.shape, dtype=FLOAT)
        return value, found


def prepared(
    program: Program, budget: Budget = UNLIMITED, listing: bool = True, clip: float | None = None
) -> Problem:
    """The program's problem; ``listing``: large predicates may be kept by their exceptions.

    Raises ``UnsupportedError`` for hard statements that mean field cannot keep, and ``BudgetError`` before
    anything large is allocated.
    """
    refuse_clip(clip, program)
    allowed = budget.bytes
    evidence = Evidence(program)
    hard = tuple(t for t in program.templates if t.weight is None)
    weighted = [t for t in program.templates if t.weight is not None]
    irregular = [t for t in weighted if t.conjunction.blocks and not independent(t.conjunction, evidence)]
    atoms, done = None, None
    if hard:
        grounded = ground(replace(program, templates=hard), budget)
        atoms = grounded.atoms
        done = settled(grounded)
        tied = _tied_predicates(atoms, done.leaders)
        irregular += [t for t in weighted if t not in irregular and _speaks_twice(t, tied)]
    regular = [t for t in weighted if t not in irregular]
    products = products_of(program, regular, evidence)
    relations = KnownRelations(evidence, allowed)
    needed_whole = {x.predicate for t in (*irregular, *hard) for x in literals_of(t.conjunction)}
    tables: dict[str, PredicateTable] = {}
    for name in program.signature.predicates:
        if evidence.known(name).latent_count():
            listed = None
            if listing and name not in needed_whole:
                listed = exceptions(name, products, evidence, relations)
            tables[name] = _table(name, evidence, listed, atoms, done)
    _refuse_too_much(tables, allowed)
    ties = () if atoms is None or done is None else tuple(_ties(atoms, done.leaders))
    constant = sum(
        evidence.settled_opinions(name) for name in program.signature.predicates if name not in tables
    )
    unknowns = Unknowns(tables, _opinions(tables, evidence), ties, constant)
    ground_score = None
    if irregular:
        atoms = atoms or LatentAtoms(evidence, budget)
        leaders = Leaders.nobody(atoms.count) if done is None else done.leaders
        rows = tuple(ground_template(t, evidence, atoms, budget) for t in irregular)
        ground_score = GroundScore(Ground(program, evidence, atoms, rows), leaders, tables)
    score = Score(relations, tables, products)
    settled_values = {} if done is None else done.allowed
    later = Budget(budget.memory)  # a problem outlives the share of the time in which it was prepared
    return Problem(
        program, evidence, unknowns, score, ground_score, settled_values, later, clip, tuple(regular)
    )


def _table(
    name: str,
    evidence: Evidence,
    listed: np.ndarray | None,
    atoms: LatentAtoms | None,
    done: SettledAtoms | None,
) -> PredicateTable:
    known = evidence.known(name)
    codes, values = known.codes, known.values
    if listed is not None:
        return ListedTable(name, known.sizes, listed, codes, values)
    width = evidence.program.value_count(name) if evidence.is_valued(name) else None
    excluded, lost = evidence.excluded(name)
    impossible = excluded * (width or 1) + lost
    if atoms is not None and done is not None and name in atoms.codes:
        first, own = atoms.start[name], atoms.codes[name]
        ours = {own[a - first]: v for a, v in done.allowed.items() if first <= a < first + len(own)}
        if width is None:
            settled_codes = np.array([c for c, v in ours.items() if len(v) == 1], dtype=np.int64)
            settled_values = np.array([next(iter(v)) for v in ours.values() if len(v) == 1], dtype=np.int64)
            codes, values = np.append(codes, settled_codes), np.append(values, settled_values)
        else:
            every = frozenset(range(width))
            gone = [int(c) * width + value for c, v in ours.items() for value in every - v]
            impossible = np.append(impossible, np.array(gone, dtype=np.int64))
    table = DenseTable(name, known.sizes, width, codes, values, impossible)
    _refuse_impossible(table, evidence)
    return table


def _refuse_impossible(table: DenseTable, evidence: Evidence) -> None:
    """A many-valued atom with no value left."""
    if table.values is None or not len(table.excluded):
        return
    codes, lost = np.unique(np.unique(table.excluded) // table.values, return_counts=True)
    gone = codes[lost == table.values]
    if len(gone):
        atom = evidence.atom_text(table.predicate, gone[:1])[0]
        raise ContradictionError(f"the facts and hard statements exclude every value of {atom}")


def _tied_predicates(atoms: LatentAtoms, leaders: Leaders) -> frozenset[str]:
    """Predicates of atoms that became one with others."""
    tied = leaders.leader != np.arange(atoms.count)
    tied[leaders.leader[tied]] = True
    names = []
    for name, codes in atoms.codes.items():
        if tied[atoms.start[name] : atoms.start[name] + len(codes)].any():
            names.append(name)
    return frozenset(names)


def _speaks_twice(template: Template, tied: frozenset[str]) -> bool:
    return sum(x.predicate in tied for x in literals_of(template.conjunction)) > 1


def _ties(atoms: LatentAtoms, leaders: Leaders) -> Sequence[Ties]:
    """Atoms that follow others, by the predicates of both."""
    followers = np.flatnonzero(leaders.leader != np.arange(atoms.count))
    names = list(atoms.codes)
    starts = np.array([atoms.start[name] for name in names])

    def place(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        which = np.searchsorted(starts, numbers, side="right") - 1
        codes = np.array([atoms.codes[names[w]][n - starts[w]] for w, n in zip(which, numbers, strict=True)])
        return which, codes.astype(np.int64)

    here, codes = place(followers)
    there, leading = place(leaders.leader[followers])
    found = []
    for one, other in sorted(set(zip(here.tolist(), there.tolist(), strict=True))):
        chosen = (here == one) & (there == other)
        opposite = leaders.opposite[followers[chosen]]
        parts = map(torch.from_numpy, (codes[chosen], leading[chosen], opposite))
        found.append(Ties(names[one], names[other], *parts))
    return found


def _opinions(tables: Mapping[str, PredicateTable], evidence: Evidence) -> dict[str, Tensor]:
    """Soft evidence by predicate, for those that have any."""
    found = {}
    for name, table in tables.items():
        codes, values, worths = evidence.opinions(name)
        if not len(codes):
            continue
        unary = torch.zeros(table.shape, dtype=FLOAT)
        places = table.positions(codes)
        if not table.true_or_false:
            places = places * table.shape[-1] + values
        unary.view(-1).index_add_(0, torch.from_numpy(places), torch.tensor(worths))
        found[name] = unary
    return found


def _refuse_too_much(tables: Mapping[str, PredicateTable], allowed: int) -> None:
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
