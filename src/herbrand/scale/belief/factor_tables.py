"""The ground factor graph of a program over facts in a database: factors as tables, made by SQL.

As :mod:`herbrand.factors.ground_graph`, whose factors these are: pieces of a formula about the same
constants are one factor, factors over the same atoms are added up, those of one atom are its own weights.
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
from herbrand.scale.atoms import StoredAtoms
from herbrand.scale.belief.factor_families import Layer, Staged, StoredFamily, families_of, names
from herbrand.scale.groundings import expected_groundings, groundings
from herbrand.scale.operands import refuse_quantifiers
from herbrand.scale.sql_phrases import double, equal

# How many messages would be sent, and what disk they take


BYTES_A_VALUE = 40
"""On disk at the most, of one value of one atom or of one message, in the tables of two steps and what they
are made of; a million factors between 100,000 atoms took half of it."""


def expected_size(atoms: StoredAtoms) -> tuple[float, float]:
    """About how many messages there are, and the bytes of disk for them; raises for what is not served."""
    program = atoms.evidence.program
    messages = values = 0.0
    for name in atoms.starts:
        values += atoms.evidence.known(name).latent_count() * atoms.value_count(name)
    for template in program.templates:
        refuse_quantifiers(template, program, "belief propagation")
        conjunction, multiplicity = without_idle(template, program)
        latent = [x for x in conjunction.literals if x.predicate in atoms.starts]
        if not multiplicity or len(latent) < 2:
            continue
        rows = expected_groundings(conjunction, atoms)
        messages += rows * len(latent)
        values += rows * sum(atoms.value_count(x.predicate) for x in latent)
    return messages, values * BYTES_A_VALUE


# The tables


@dataclass(frozen=True, eq=False)
class FactorTables:
    """``sizes``: how many values atoms have, each with a table ``axes_SIZE`` of atoms and their own weights
    ``u0`` ...; ``barring``: whether anything excludes a value."""

    atoms: StoredAtoms
    sizes: tuple[int, ...]
    families: tuple[StoredFamily, ...]
    constant: float
    barring: bool


def factor_tables(atoms: StoredAtoms, room: int | None) -> FactorTables:
    """The factor graph, in the database; ``room``: free bytes of disk."""
    _, disk = expected_size(atoms)
    hint = "use --engine mean-field, which keeps marginals only, or another disk"
    refuse_beyond_disk(disk, room, "messages between all atoms and groundings need", hint)
    return _Building(atoms).finished()


@dataclass(frozen=True, eq=False)
class _Part:
    """A template over the variables that it names."""

    template: Template
    conjunction: Conjunction
    worth: float
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
    unary: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    constant: float = 0.0
    barring: bool = False

    def __post_init__(self) -> None:
        self.program = self.atoms.evidence.program
        self.database = self.atoms.evidence.database
        self.staged = Staged(self.database)

    def finished(self) -> FactorTables:
        for parts in self._merged():
            self._add(parts)
        self._add_opinions()
        sizes = tuple(sorted({self.atoms.value_count(name) for name in self.atoms.starts}))
        for size in sizes:
            self._make_axes(size)
        families = tuple(families_of(self.layers, self.staged))
        self.staged.drop()
        return FactorTables(self.atoms, sizes, families, self.constant, self.barring)

    def _merged(self) -> Iterator[list[_Part]]:
        """Templates whose groundings are one factor where their instances are equal."""
        groups: dict[object, list[_Part]] = defaultdict(list)
        for template in self.program.templates:
            refuse_quantifiers(template, self.program, "belief propagation")
            conjunction, multiplicity = without_idle(template, self.program)
            worth = self.program.worth(template)
            if not worth or not multiplicity:
                continue
            latent = tuple(
                place for place, x in enumerate(conjunction.literals) if x.predicate in self.atoms.starts
            )
            named = frozenset(name for name, _ in conjunction.variables)
            key = merge_key(template.formula, template.instance, named)
            groups[key].append(_Part(template, conjunction, worth * multiplicity, latent))
        return iter(groups.values())

    def _add(self, parts: Sequence[_Part]) -> None:
        """The factors of some pieces of a formula."""
        table = self.staged.make("rows", _with_slots(*self._aligned(parts)))
        starts = np.cumsum([0, *(len(part.latent) for part in parts)]).tolist()
        literals = [literal for part in parts for literal in part.literals]
        slots, alive = names("z", len(literals)), names("l", len(parts))
        listed = ", ".join((*slots, *alive, "COUNT(*)"))
        for found in self.database.rows(
            f"SELECT {listed} FROM {table} GROUP BY {', '.join((*slots, *alive))}"
        ):
            places, there = found[: len(slots)], found[len(slots) : -1]
            columns = [places.index(slot) for slot in range(max(places, default=-1) + 1)]
            sizes = [self.atoms.value_count(literals[column].predicate) for column in columns]
            pieces = [
                Piece(
                    tuple(
                        (slot, literal.allowed)
                        for slot, literal in zip(places[start:], part.literals, strict=False)
                        if slot >= 0
                    ),
                    part.worth,
                )
                for part, start, lives in zip(parts, starts, there, strict=False)
                if lives
            ]
            if not fits_a_table(sizes):
                raise self._too_wide(parts[0].template, sizes)
            fits = [f"{name} = {value}" for name, value in zip((*slots, *alive), found, strict=False)]
            where = f"FROM {table} WHERE {' AND '.join(fits)}"
            self._add_table(columns, where, table_of(pieces, sizes), found[-1], parts)

    def _add_table(
        self, columns: Sequence[int], where: str, table: Array, count: int, parts: Sequence[_Part]
    ) -> None:
        self.barring = self.barring or bool(np.isneginf(table).any())
        if not columns:
            if np.isneginf(table):
                raise self._broken(parts, count)
            self.constant += float(table) * count
        elif len(columns) == 1:
            values = ", ".join(f"{double(value)} AS u{v}" for v, value in enumerate(table.tolist()))
            self.unary[len(table)].append(f"SELECT c{columns[0]} AS atom, {values} {where}")
        else:
            scope = ", ".join(f"c{column} AS s{slot}" for slot, column in enumerate(columns))
            self.layers[table.shape].append(Layer(f"SELECT {scope}, %d AS layer {where}", table))

    def _aligned(self, parts: Sequence[_Part]) -> tuple[str, int, int]:
        """A query for the latent atoms of all pieces side by side, ``c0`` ..., and which pieces are there,
        ``l0`` ...; a row an instance of the formula. How many there are of each."""
        width = sum(len(part.latent) for part in parts)
        if len(parts) == 1:
            (part,) = parts
            query = groundings(part.conjunction, (), self.atoms)
            chosen = [f"c{place} AS c{number}" for number, place in enumerate(part.latent)]
            return f"SELECT {', '.join((*chosen, '1 AS l0'))} FROM ({query}) g", width, 1
        keys = names("k", len(parts[0].instance))
        rows, start = [], 0
        for number, part in enumerate(parts):
            columns = [f"CAST(-1 AS BIGINT) AS c{column}" for column in range(width)]
            for offset, place in enumerate(part.latent):
                columns[start + offset] = f"c{place} AS c{start + offset}"
            start += len(part.latent)
            there = [f"{int(number == other)} AS l{other}" for other in range(len(parts))]
            query = groundings(part.conjunction, part.instance, self.atoms)
            rows.append(f"SELECT {', '.join((*keys, *columns, *there))} FROM ({query}) g")
        most = [f"MAX({name}) AS {name}" for name in (*names("c", width), *names("l", len(parts)))]
        groups = f" GROUP BY {', '.join(keys)}" if keys else " HAVING COUNT(*) > 0"
        return f"SELECT {', '.join(most)} FROM ({' UNION ALL '.join(rows)}) u{groups}", width, len(parts)

    def _add_opinions(self) -> None:
        """Soft evidence, and values that atoms are known not to have."""
        evidence = self.atoms.evidence
        for name in self.program.signature.predicates:
            tables, columns = evidence.tables(name), evidence.columns(name)
            valued, count = evidence.is_valued(name), self.program.value_count(name)
            value = f"o.a{len(columns)}" if valued else "1"
            others = double(math.log(max(1, count - 1))) if valued else double(0.0)
            opinions = []
            if tables.counts[2]:
                opinions.append((f"{tables.soft} o", f"o.odds + {others}"))
            if valued and tables.counts[1]:
                opinions.append((f"{tables.false} o", double(-math.inf)))
                self.barring = True
            for source, worth in opinions:
                self._add_opinion(name, source, value, worth)

    def _add_opinion(self, name: str, source: str, value: str, worth: str) -> None:
        columns, settled = self.atoms.evidence.columns(name), self.atoms.settled(name)
        matches = equal("k", "o", columns)
        if settled is not None:
            agreeing = (
                f"SELECT SUM({worth}) FROM {source} JOIN ({settled}) k ON {matches} WHERE k.f = {value}"
            )
            self.constant += self.database.number(agreeing) or 0.0
            source += f" LEFT JOIN ({settled}) k ON {matches} WHERE k.f IS NULL"
        if name not in self.atoms.starts:
            return
        count = self.atoms.value_count(name)
        number = self.atoms.number(name, [f"o.{column}" for column in columns])
        zero = double(0.0)
        values = [f"CASE WHEN {value} = {v} THEN {worth} ELSE {zero} END AS u{v}" for v in range(count)]
        self.unary[count].append(f"SELECT {', '.join((f'{number} AS atom', *values))} FROM {source}")

    def _make_axes(self, size: int) -> None:
        """The latent atoms that have so many values, with their own weights."""
        own, columns = [], names("u", size)
        for name in self.atoms.starts:
            if self.atoms.value_count(name) == size:
                arguments = [f"x.{column}" for column in self.atoms.evidence.columns(name)]
                zeros = [f"{double(0.0)} AS {column}" for column in columns]
                number = f"{self.atoms.number(name, arguments)} AS atom"
                own.append(f"SELECT {', '.join((number, *zeros))} FROM ({self.atoms.latent(name)}) x")
        everything = " UNION ALL ".join((*own, *self.unary[size]))
        if self.unary[size]:
            sums = ", ".join(f"SUM({column}) AS {column}" for column in columns)
            everything = f"SELECT atom, {sums} FROM ({everything}) u GROUP BY atom"
        self.database.make(f"axes_{size}", everything)

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


def _with_slots(query: str, width: int, parts: int) -> str:
    """With ``z0`` ...: how many different atoms of its row are smaller than each; -1 where there is none."""
    slots = []
    for own in range(width):
        smaller = []
        for other in range(width):
            if other != own:
                new = [f"c{other} <> c{before}" for before in range(other)]
                tests = " AND ".join((f"c{other} >= 0", f"c{other} < c{own}", *new))
                smaller.append(f"CASE WHEN {tests} THEN 1 ELSE 0 END")
        slots.append(f"CASE WHEN c{own} < 0 THEN -1 ELSE {' + '.join(smaller) or '0'} END AS z{own}")
    columns = (*names("c", width), *names("l", parts), *slots)
    return f"SELECT {', '.join(columns)} FROM ({query}) a"
