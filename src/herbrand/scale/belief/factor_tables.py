"""The ground factor graph of a program over facts in a database: factors as tables, made by SQL.

The factors are those of :mod:`herbrand.factors.ground_graph`: pieces of a formula with the same constants are
one factor, factors over the same atoms are added up, and those over one atom become its own weights.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from herbrand.budget import refuse_beyond_disk
from herbrand.errors import ContradictionError, Mistake, UnsupportedError, counted
from herbrand.factors.graph import Array
from herbrand.factors.pieces import Piece, fits_a_table, merge_key, table_of
from herbrand.language.show import statement_text
from herbrand.program.ground import without_idle
from herbrand.program.program import Conjunction, Literal, Template
from herbrand.relations.expression import Expression, choose, column, every, literal, summed
from herbrand.relations.fold import count, largest, total
from herbrand.relations.relation import Relation
from herbrand.relations.stored import Scratch, Stored
from herbrand.scale.atoms import StoredAtoms
from herbrand.scale.belief.factor_families import Layer, StoredFamily, families_of, names
from herbrand.scale.groundings import expected_groundings, groundings
from herbrand.scale.operands import query_of, refuse_quantifiers

# Number of messages, and the disk that they take


BYTES_A_VALUE = 40
"""Upper estimate of the disk for one value of one atom or of one message, in the tables of two steps and of
what they are made from; a million factors between 100,000 atoms took half of it."""


def expected_size(atoms: StoredAtoms) -> tuple[float, float]:
    """Estimated number of messages, and the bytes of disk for them; raise if the program is not supported."""
    program = atoms.evidence.program
    messages = values = 0.0
    for name in atoms.starts:
        values += atoms.evidence.known(name).latent_count() * program.value_count(name)
    for template in program.templates:
        refuse_quantifiers(template, program, "belief propagation")
        conjunction, multiplicity = without_idle(template, program)
        latent = [x for x in conjunction.literals if x.predicate in atoms.starts]
        if not multiplicity or len(latent) < 2:
            continue
        rows = expected_groundings(conjunction, atoms)
        messages += rows * len(latent)
        values += rows * sum(program.value_count(x.predicate) for x in latent)
    return messages, values * BYTES_A_VALUE


# The tables

NO_ATOM = -1
"""Replaces the atoms of a piece that an instance of the formula lacks."""


@dataclass(frozen=True, eq=False)
class FactorTables:
    """A factor graph in tables. ``sizes``: numbers of values of atoms, each with a table ``axes_SIZE`` of
    atoms and their own weights ``u0`` ...; ``barring``: whether some potential excludes values."""

    atoms: StoredAtoms
    sizes: tuple[int, ...]
    families: tuple[StoredFamily, ...]
    constant: float
    barring: bool


def factor_tables(atoms: StoredAtoms, room: int | None) -> FactorTables:
    """Make the factor graph in the database; ``room``: free bytes of disk."""
    _, disk = expected_size(atoms)
    hint = "use --engine mean-field, which keeps marginals only, or another disk"
    refuse_beyond_disk(disk, room, "messages between all atoms and groundings need", hint)
    return _Building(atoms).finished()


@dataclass(frozen=True, eq=False)
class _Part:
    """A template restricted to the variables that it names."""

    template: Template
    conjunction: Conjunction
    log_weight: float
    latent: tuple[int, ...]

    @property
    def literals(self) -> list[Literal]:
        return [self.conjunction.literals[place] for place in self.latent]

    @property
    def instance(self) -> list[int | str]:
        return [a for a in self.template.instance if isinstance(a, int) or a in self.conjunction.types]


@dataclass
class _Building:
    atoms: StoredAtoms
    layers: dict[tuple[int, ...], list[Layer]] = field(default_factory=lambda: defaultdict(list))
    unary: dict[int, list[Relation]] = field(default_factory=lambda: defaultdict(list))
    constant: float = 0.0
    barring: bool = False

    def __post_init__(self) -> None:
        self.program = self.atoms.evidence.program
        self.database = self.atoms.evidence.database
        self.scratch = Scratch(self.database, "factor_parts")

    def finished(self) -> FactorTables:
        with self.scratch:
            for parts in self._merged():
                self._add(parts)
            self._add_opinions()
            sizes = tuple(sorted({self.program.value_count(name) for name in self.atoms.starts}))
            for size in sizes:
                self._make_axes(size)
            families = tuple(families_of(self.layers, self.scratch))
        return FactorTables(self.atoms, sizes, families, self.constant, self.barring)

    def _merged(self) -> Iterator[list[_Part]]:
        """Groups of templates whose groundings form one factor if their instances are equal."""
        groups: dict[object, list[_Part]] = defaultdict(list)
        for template in self.program.templates:
            refuse_quantifiers(template, self.program, "belief propagation")
            conjunction, multiplicity = without_idle(template, self.program)
            log_weight = self.program.log_weight(template)
            if not log_weight or not multiplicity:
                continue
            latent = tuple(
                place for place, x in enumerate(conjunction.literals) if x.predicate in self.atoms.starts
            )
            named = frozenset(name for name, _ in conjunction.variables)
            key = merge_key(template.formula, template.instance, named)
            groups[key].append(_Part(template, conjunction, log_weight * multiplicity, latent))
        return iter(groups.values())

    def _add(self, parts: Sequence[_Part]) -> None:
        """Add the factors of some pieces of a formula."""
        literals = [literal for part in parts for literal in part.literals]
        starts = np.cumsum([0, *(len(part.latent) for part in parts)]).tolist()
        slots, alive = names("z", len(literals)), names("l", len(parts))
        rows = self._aligned(parts)
        rows = rows.let(**{name: _rank(own, len(slots)) for own, name in enumerate(slots)})
        table = self.scratch.make(query_of(rows), rows.kinds)
        for *numbers, number in table.group([*slots, *alive], number=count()).rows():
            places, there = numbers[: len(slots)], numbers[len(slots) :]
            columns = [places.index(slot) for slot in range(max(places, default=-1) + 1)]
            sizes = [self.program.value_count(literals[place].predicate) for place in columns]
            pieces = [
                Piece(
                    tuple(
                        (slot, literal.allowed)
                        for slot, literal in zip(places[start:], part.literals, strict=False)
                        if slot >= 0
                    ),
                    part.log_weight,
                )
                for part, start, lives in zip(parts, starts, there, strict=False)
                if lives
            ]
            if not fits_a_table(sizes):
                raise self._too_wide(parts[0].template, sizes)
            same = (column(name) == value for name, value in zip((*slots, *alive), numbers, strict=True))
            scope = {f"s{slot}": column(f"c{place}") for slot, place in enumerate(columns)}
            self._add_table(table.where(every(*same)).select(**scope), table_of(pieces, sizes), number, parts)

    def _add_table(self, scopes: Stored, table: Array, number: int, parts: Sequence[_Part]) -> None:
        """Add a table over the atoms ``s0`` ... of each row; ``number``: number of rows."""
        self.barring = self.barring or bool(np.isneginf(table).any())
        if not table.ndim:
            if np.isneginf(table):
                raise self._broken(parts, number)
            self.constant += float(table) * number
        elif table.ndim == 1:
            values = dict(zip(names("u", len(table)), table.tolist(), strict=True))
            self.unary[len(table)].append(scopes.select(atom=column("s0"), **values))
        else:
            self.layers[table.shape].append(Layer(scopes, table))

    def _aligned(self, parts: Sequence[_Part]) -> Relation:
        """The latent atoms of all pieces side by side, ``c0`` ..., and flags of the pieces present, ``l0``
        ...; one row for each instance of the formula."""
        width = sum(len(part.latent) for part in parts)
        keys = names("k", len(parts[0].instance)) if len(parts) > 1 else []
        rows, start = [], 0
        for number, part in enumerate(parts):
            columns: dict[str, Expression] = dict.fromkeys(names("c", width), literal(NO_ATOM))
            for offset, place in enumerate(part.latent, start):
                columns[f"c{offset}"] = column(f"c{place}")
            start += len(part.latent)
            there = {name: int(number == other) for other, name in enumerate(names("l", len(parts)))}
            bindings = groundings(part.conjunction, part.instance if len(parts) > 1 else (), self.atoms)
            rows.append(bindings.select(**{key: column(key) for key in keys}, **columns, **there))
        if len(parts) == 1:
            return rows[0]
        most = {name: largest(column(name)) for name in (*names("c", width), *names("l", len(parts)))}
        return rows[0].stack(*rows[1:]).group(keys, **most)

    def _add_opinions(self) -> None:
        """Add soft evidence, and values that atoms are known not to have."""
        evidence = self.atoms.evidence
        for name in self.program.signature.predicates:
            tables, columns = evidence.tables(name), evidence.columns(name)
            if tables.counts[2]:
                self._add_opinion(name, evidence.opinion_rows(name))
            if evidence.is_valued(name) and tables.counts[1]:
                barred = evidence.relation(tables.false, name).renamed(about=f"a{len(columns)}")
                self._add_opinion(name, barred.let(log_weight=-math.inf))
                self.barring = True

    def _add_opinion(self, name: str, rows: Relation) -> None:
        """Add the ``log_weight`` of having the value ``about`` for the atoms of these rows."""
        columns, known = self.atoms.evidence.columns(name), self.atoms.evidence.settled(name)
        agreeing = rows.join(known, columns).where(column("value") == column("about"))
        self.constant += agreeing.scalar(total(column("log_weight")))
        if name in self.atoms.starts:
            size, number = self.program.value_count(name), self.atoms.number(name, list(map(column, columns)))
            values = {
                u: choose(column("about") == value, column("log_weight"), 0.0)
                for value, u in enumerate(names("u", size))
            }
            self.unary[size].append(rows.without(known, columns).select(atom=number, **values))

    def _make_axes(self, size: int) -> None:
        """Make the table of latent atoms with this number of values, with their own weights."""
        own, columns = [], names("u", size)
        for name in self.atoms.starts:
            if self.program.value_count(name) == size:
                number = self.atoms.number(name, list(map(column, self.atoms.evidence.columns(name))))
                own.append(self.atoms.latent(name).select(atom=number, **dict.fromkeys(columns, 0.0)))
        first, *others = (*own, *self.unary[size])
        every_part = first.stack(*others).group(["atom"], **{name: total(column(name)) for name in columns})
        self.database.make(f"axes_{size}", query_of(every_part))

    def _too_wide(self, template: Template, sizes: Sequence[int]) -> UnsupportedError:
        statement = self.program.statements[template.statement]
        return UnsupportedError(
            f"on a database belief propagation has no factor of {math.prod(sizes):,} entries: "
            f"{statement_text(statement)}",
            span=statement.span,
            hint="leave out --on, or write the formula as several over fewer atoms",
        )

    def _broken(self, parts: Sequence[_Part], count: int) -> ContradictionError:
        template = next(part.template for part in parts if part.template.weight is None)
        statement = self.program.statements[template.statement]
        text = statement_text(statement)
        return ContradictionError(
            Mistake(f"the facts break this hard statement {counted(count, 'time')}: {text}", statement.span)
        )


def _rank(own: int, width: int) -> Expression:
    """Rank of an atom among the different atoms of its row; -1 if it is missing."""
    mine, smaller = column(f"c{own}"), [literal(0)]
    for other in (other for other in range(width) if other != own):
        theirs = column(f"c{other}")
        new = (theirs != column(f"c{before}") for before in range(other))
        smaller.append(choose(every(theirs >= 0, theirs < mine, *new), 1, 0))
    return choose(mine < 0, NO_ATOM, summed(*smaller))
