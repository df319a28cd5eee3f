"""Families of factors: those of one shape in one table, their atoms in an order that makes equal potentials
equal.

Layers, parts of what factors over the same atoms will be, are added up here, and what is alike up to the
order of atoms gets the same kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from herbrand.engines.belief.parallel_rounds import Family
from herbrand.factors.graph import Array
from herbrand.factors.refinement import canonical_table
from herbrand.relations.database import Database
from herbrand.scale.sql_phrases import equal

FamilyKey = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]


@dataclass(frozen=True, eq=False)
class StoredFamily(Family):
    """A family whose factors are a table. An order of axes among ``symmetries`` leaves all potentials as they
    are; ``rows``: how many factors there are."""

    symmetries: tuple[tuple[int, ...], ...]
    rows: int

    @property
    def table(self) -> str:
        return f"factors_{self.number}"


@dataclass(frozen=True, eq=False)
class Layer:
    """Factors of one shape with one table: a part of what the factors over their atoms will be.

    ``query`` gives their atoms ``s0`` ..., and a ``layer`` whose number is still to be filled in.
    """

    query: str
    table: Array


@dataclass(eq=False)
class Staged:
    """Tables that are needed for a while only."""

    database: Database
    names: list[str] = field(default_factory=list)

    def make(self, kind: str, query: str) -> str:
        """A table of the query's rows; its name."""
        name = self._next(kind)
        self.database.make(name, query)
        return name

    def put(self, kind: str, columns: Sequence[str], rows: Sequence[tuple[int, ...]]) -> str:
        """A table of small numbers; its name."""
        name, data = self._next(kind), np.array(rows, dtype=np.int32).reshape(len(rows), len(columns))
        self.database.put(name, pa.table({column: data[:, i] for i, column in enumerate(columns)}))
        return name

    def _next(self, kind: str) -> str:
        self.names.append(f"{kind}_{len(self.names)}")
        return self.names[-1]

    def drop(self) -> None:
        for name in self.names:
            self.database.drop(name)


def families_of(layers: Mapping[tuple[int, ...], Sequence[Layer]], staged: Staged) -> Iterator[StoredFamily]:
    """Layers, by the shape of their tables: those over the same scope become one factor, and those alike up
    to the order of axes one family."""
    kinds: dict[FamilyKey, dict[object, Array]] = defaultdict(dict)
    sources: dict[FamilyKey, list[str]] = defaultdict(list)
    for of_shape in layers.values():
        for key, query in _ordered(of_shape, kinds, staged):
            sources[key].append(query)
    for number, (key, queries) in enumerate(sources.items()):
        potentials = tuple(kinds[key].values())
        staged.database.make(f"factors_{number}", " UNION ALL ".join(queries))
        rows = staged.database.number(f"SELECT COUNT(*) FROM factors_{number}")
        sizes, symmetries = key
        yield StoredFamily(number, sizes, potentials, symmetries, rows)


def _ordered(
    layers: Sequence[Layer], kinds: dict[FamilyKey, dict[object, Array]], staged: Staged
) -> Iterator[tuple[FamilyKey, str]]:
    """Queries for the factors that layers over as many axes add up to, and the families they are of;
    adds their potentials to ``kinds``."""
    scope, counts = names("s", layers[0].table.ndim), names("n", len(layers))
    union = " UNION ALL ".join(layer.query % number for number, layer in enumerate(layers))
    often = [f"SUM(CASE WHEN layer = {i} THEN 1 ELSE 0 END) AS n{i}" for i in range(len(layers))]
    grouped = f"SELECT {', '.join((*scope, *often))} FROM ({union}) u GROUP BY {', '.join(scope)}"
    table = staged.make("scopes", grouped)
    rows, wanted = [], {}
    for found in staged.database.rows(f"SELECT DISTINCT {', '.join(counts)} FROM {table}"):
        potential = np.zeros(layers[0].table.shape)
        for times, layer in zip(found, layers, strict=True):
            potential = potential + int(times) * layer.table if times else potential
        kind, order, symmetries = canonical_table(potential)
        ordered = np.transpose(potential, order)
        key = ordered.shape, symmetries
        kinds[key].setdefault(kind, ordered)
        branch = wanted.setdefault((key, order), len(wanted))
        rows.append((*map(int, found), list(kinds[key]).index(kind), branch))
    columns = (*counts, "kind", "branch")
    known = staged.put("kinds", columns, rows)
    matches = equal("k", "s", counts)
    for (key, order), branch in wanted.items():
        slots = ", ".join(f"s.s{place} AS s{slot}" for slot, place in enumerate(order))
        source = f"FROM {table} s JOIN {known} k ON {matches} WHERE k.branch = {branch}"
        yield key, f"SELECT {slots}, k.kind {source}"


def names(letter: str, count: int) -> list[str]:
    """Columns.

    >>> names("s", 2)
    ['s0', 's1']
    """
    return [f"{letter}{number}" for number in range(count)]
