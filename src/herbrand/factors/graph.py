"""Factor graph as flat arrays, in which each part represents a number of equal ground parts.

An axis is a latent atom, or a helper that is true where some piece of a quantifier holds. Factors are log
tables over a few axes, or quantifiers' factors, which make their first axis true exactly where some other
axis has one of its allowed values; a message of the second kind costs time linear in its width. A part
represents ``counts`` ground parts; in a ground graph all of them are 1.

>>> graph = Assembly([2, 2])
>>> graph.add_tables(Tables(np.array([[0, 1]]), np.array([0]), np.zeros((1, 2, 2))))
>>> graph.build().edge_axes
array([0, 1])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from herbrand.budget import UNLIMITED, Budget
from herbrand.row_keys import by_number

Array = NDArray[Any]
FORBIDDEN = -np.inf
OPERATIONS_A_VALUE = 8
SOME = -1
"""Start of a table in factors that have none: those of quantifiers."""


class FactorGraph(NamedTuple):
    """Factor graph as arrays. ``sizes`` [axis]: number of values; ``starts`` [axis]: place of the first value
    in ``unary`` and in beliefs; ``edge_sizes`` and ``edge_starts``: the same for each edge's axis.

    Edges of factor f are ``factor_edges[f]`` to ``factor_edges[f + 1]``; the values of edge e lie from
    ``message_starts[e]`` on in messages and in ``allowed``. An atom of the edge's axis receives the edge's
    message ``exponents[e]`` times, and a factor has ``multiplicities[e]`` atoms there. Of several edges that
    carry the same message to one axis only the first has an exponent, the others have 0.
    """

    sizes: Array
    starts: Array
    counts: Array
    unary: Array
    factor_edges: Array
    factor_counts: Array
    table_starts: Array
    tables: Array
    edge_axes: Array
    edge_sizes: Array
    edge_starts: Array
    message_starts: Array
    exponents: Array
    multiplicities: Array
    allowed: Array
    constant: float

    @property
    def axis_count(self) -> int:
        return len(self.sizes)

    @property
    def factor_count(self) -> int:
        return len(self.factor_counts)

    @property
    def edge_count(self) -> int:
        return len(self.edge_axes)

    @property
    def message_count(self) -> int:
        return len(self.allowed)

    @property
    def bytes(self) -> int:
        return sum(part.nbytes for part in self if isinstance(part, np.ndarray))

    @property
    def operations(self) -> float:
        """Estimated number of operations in a round of messages."""
        return float(self.table_entries + OPERATIONS_A_VALUE * self.message_count)

    @property
    def table_entries(self) -> float:
        """Total number of entries of all table factors; a shared table counts once for each factor."""
        return float(self.entries_of(np.flatnonzero(self.table_starts != SOME)).sum())

    @property
    def axis_of_value(self) -> Array:
        """Axis of each entry of ``unary``."""
        return np.repeat(np.arange(self.axis_count), self.sizes)

    @property
    def weighted_axes(self) -> Array:
        """Axis of each own weight that is not 0."""
        return self.axis_of_value[self.unary != 0]

    @property
    def owners(self) -> Array:
        """Factor of each edge."""
        return np.repeat(np.arange(self.factor_count), np.diff(self.factor_edges))

    @property
    def makers(self) -> Array:
        """Factor that defines each helper; -1 for an atom [axis]."""
        makers = np.full(self.axis_count, -1)
        somes = np.flatnonzero(self.table_starts == SOME)
        makers[self.edge_axes[self.factor_edges[somes]]] = somes
        return makers

    def edges_by_axis(self, edges: Array | None = None) -> tuple[Array, Array]:
        """Pointers [axis] into the edges (of ``edges``, if given) sorted by axis, and the sorted edges."""
        edges = np.arange(self.edge_count) if edges is None else edges
        order, begins = by_number(self.edge_axes[edges], self.axis_count)
        return begins, edges[order]

    def by_axis(self, values: Array, fill: float = 0.0) -> Array:
        """Values laid out like ``unary`` as a table [axis, value], with ``fill`` for missing values."""
        table = np.full((self.axis_count, int(self.sizes.max(initial=2))), fill)
        rows = self.axis_of_value
        table[rows, np.arange(len(values)) - self.starts[rows]] = values
        return table

    def entries_of(self, factors: Array) -> Array:
        """Number of table entries of each of these table factors."""
        logarithms = np.append(0.0, np.cumsum(np.log(self.edge_sizes)))[self.factor_edges]
        return np.rint(np.exp(np.diff(logarithms)[factors]))


@dataclass(frozen=True, eq=False)
class Alike:
    """Table factors of one shape: ``factors`` are their numbers, ``scopes`` [factor, place] their axes,
    ``sizes`` the numbers of values of these, ``starts`` where their tables begin."""

    factors: Array
    scopes: Array
    sizes: tuple[int, ...]
    starts: Array

    def only(self, kept: Array) -> Alike:
        """A choice of them, by place or by a mask."""
        return Alike(self.factors[kept], self.scopes[kept], self.sizes, self.starts[kept])

    def places(self) -> Array:
        """Places in ``graph.tables`` of each factor's entries, [factor, entry]."""
        return self.starts[:, None] + np.arange(int(np.prod(self.sizes)))

    def tables(self, graph: FactorGraph) -> Array:
        """Tables [factor, value of each axis]."""
        return graph.tables[self.places()].reshape(-1, *self.sizes)

    def shared(self, graph: FactorGraph) -> tuple[Array, Array]:
        """Distinct tables [table, value of each axis], and the table of each factor."""
        _, first, which = np.unique(self.starts, return_index=True, return_inverse=True)
        return self.only(first).tables(graph), which.reshape(-1)


def table_factors(graph: FactorGraph, factors: Array | None = None) -> Iterator[Alike]:
    """Yield the table factors (of ``factors``, if given) in runs of equal shape."""
    numbers = np.arange(graph.factor_count) if factors is None else factors
    numbers = numbers[graph.table_starts[numbers] != SOME]
    begins = graph.factor_edges[numbers]
    widths = graph.factor_edges[numbers + 1] - begins
    for run in _runs(widths[:, None]):
        scopes = graph.edge_axes[begins[run][:, None] + np.arange(int(widths[run.start]))]
        sizes = graph.sizes[scopes]
        for own in _runs(sizes):
            here = numbers[run][own]
            shape = tuple(sizes[own.start].tolist())
            yield Alike(here, scopes[own], shape, graph.table_starts[here])


def log_potentials(graph: FactorGraph) -> Iterator[tuple[list[int], Array]]:
    """Log-potentials with their axes: the non-zero own weights of axes, then every table."""
    own = graph.by_axis(graph.unary)
    for axis in np.flatnonzero(own.any(axis=1)).tolist():
        yield [axis], own[axis, : graph.sizes[axis]]
    for alike in table_factors(graph):
        yield from zip(alike.scopes.tolist(), alike.tables(graph), strict=True)


def somes_of(graph: FactorGraph) -> Somes:
    """Factors that define helpers."""
    factors = np.flatnonzero(graph.table_starts == SOME)
    if not len(factors):
        return NO_SOMES
    begins = graph.factor_edges[factors]
    counts = graph.factor_edges[factors + 1] - begins - 1
    edges = ranges(begins + 1, counts)
    patterns, allowed = allowed_values(graph, edges)
    return Somes(
        graph.edge_axes[begins],
        np.append(0, np.cumsum(counts)),
        graph.edge_axes[edges],
        patterns,
        allowed,
        graph.factor_counts[factors],
        graph.multiplicities[edges],
        graph.exponents[edges],
    )


def allowed_values(graph: FactorGraph, edges: Array) -> tuple[Array, list[tuple[int, ...]]]:
    """Number of the set of values that each of these edges allows, and the sets."""
    values = np.arange(int(graph.edge_sizes[edges].max(initial=0)))
    there = values < graph.edge_sizes[edges][:, None]
    holds = there & (graph.allowed[np.where(there, graph.message_starts[edges][:, None] + values, 0)] > 0)
    sets, patterns = np.unique(holds, axis=0, return_inverse=True)
    return patterns.reshape(-1), [tuple(np.flatnonzero(one).tolist()) for one in sets]


def own_tables(graph: FactorGraph, budget: Budget = UNLIMITED) -> FactorGraph:
    """Copy of the graph in which no two factors share a table."""
    factors = np.flatnonzero(graph.table_starts != SOME)
    counts = graph.entries_of(factors).astype(np.int64)
    budget.claim(int(counts.sum()) * graph.tables.itemsize, "a table for each factor")
    starts = graph.table_starts.copy()
    starts[factors] = np.cumsum(counts) - counts
    tables = graph.tables[ranges(graph.table_starts[factors], counts)]
    return graph._replace(table_starts=starts, tables=tables)


def _runs(rows: Array) -> Iterator[slice]:
    """Slices of consecutive equal rows."""
    ends = np.flatnonzero((rows[1:] != rows[:-1]).any(axis=1)) + 1
    bounds = [0, *ends.tolist(), len(rows)] if len(rows) else []
    return map(slice, bounds[:-1], bounds[1:])


def ranges(begins: Array, lengths: Array) -> Array:
    """Concatenated ranges: ``lengths[i]`` whole numbers from ``begins[i]`` on.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    return np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(begins - ends + lengths, lengths)


@dataclass(frozen=True, eq=False)
class Tables:
    """Factors of one shape: ``scopes`` [factor, place], and ``which`` of the ``tables`` [table,
    ...] each has."""

    scopes: Array
    which: Array
    tables: Array
    counts: Array | None = None
    exponents: Array | None = None

    def __len__(self) -> int:
        return len(self.scopes)


@dataclass(frozen=True, eq=False)
class Somes:
    """Factors that make ``targets`` [factor] true exactly where some member has an allowed value.

    Members of factor f are ``pointers[f]`` to ``pointers[f + 1]``; ``patterns`` [member] is the number of its
    set of values in ``allowed``.
    """

    targets: Array
    pointers: Array
    members: Array
    patterns: Array
    allowed: Sequence[tuple[int, ...]]
    counts: Array | None = None
    multiplicities: Array | None = None
    exponents: Array | None = None

    def __len__(self) -> int:
        return len(self.targets)

    @cached_property
    def places(self) -> dict[int, int]:
        """Number of the factor of each target."""
        return {axis: place for place, axis in enumerate(self.targets.tolist())}

    def members_of(self, target: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The axes that make a target true, and the values of each for which they do."""
        number = self.places[target]
        own = slice(*self.pointers[number : number + 2])
        for axis, pattern in zip(self.members[own].tolist(), self.patterns[own].tolist(), strict=True):
            yield axis, self.allowed[pattern]

    def with_targets(self, target: Array, member: Array) -> Array:
        """Merge values of targets and of members factor by factor, the target first."""
        ordered = np.empty(len(target) + len(member), dtype=np.result_type(target, member))
        at = self.pointers[:-1] + np.arange(len(target))
        others = np.ones(len(ordered), dtype=bool)
        others[at] = False
        ordered[at], ordered[others] = target, member
        return ordered


_NONE = np.empty(0, np.int64)
NO_SOMES = Somes(_NONE, np.zeros(1, np.int64), _NONE, _NONE, [])


class Assembly:
    """Builder of a graph; ``sizes`` of the axes, and ``counts`` of the ground axes that each represents."""

    def __init__(self, sizes: Sequence[int] | Array, counts: Sequence[float] | Array | None = None) -> None:
        self.sizes = np.array(sizes, dtype=np.int64)
        self.counts = np.ones(len(self.sizes)) if counts is None else np.array(counts, dtype=float)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        self.unary = np.zeros(int(self.starts[-1]))
        self.constant = 0.0
        self.tables: list[Tables] = []
        self.somes: list[Somes] = []

    def add_unary(self, axes: Array, table: Array) -> None:
        """Add ``table`` [value] or [axis, value] to the own weights of the axes, which may repeat."""
        places = self.starts[axes][:, None] + np.arange(np.shape(table)[-1])
        np.add.at(self.unary, places, np.broadcast_to(table, places.shape))

    def add_values(self, axes: Array, values: Array, log_weights: Array) -> None:
        """Add a number to the weight of one value of each of the axes, which may repeat."""
        np.add.at(self.unary, self.starts[axes] + values, log_weights)

    def add_tables(self, part: Tables) -> None:
        self.tables.append(part)

    def add_somes(self, part: Somes) -> None:
        self.somes.append(part)

    def add_tables_of(self, graph: FactorGraph, numbers: Array, factors: Array | None = None) -> None:
        """Add the own weights and table factors (those in ``factors``, if given) of another graph;
        ``numbers`` [axis] are its axes in this one, negative for axes that are left out."""
        kept = np.repeat(numbers >= 0, graph.sizes)
        axes = graph.axis_of_value
        values = np.arange(len(axes)) - graph.starts[axes]
        self.add_values(numbers[axes[kept]], values[kept], graph.unary[kept])
        for alike in table_factors(graph, factors):
            tables, which = alike.shared(graph)
            self.add_tables(Tables(numbers[alike.scopes], which, tables))

    def build(self) -> FactorGraph:
        if not self.tables and not self.somes:
            return self._without_factors()
        widths = [np.full(len(part), part.scopes.shape[1]) for part in self.tables]
        widths += [1 + np.diff(part.pointers) for part in self.somes]
        axes = [part.scopes.reshape(-1) for part in self.tables]
        axes += [part.with_targets(part.targets, part.members) for part in self.somes]
        exponents = [_given(part.exponents, part.scopes.shape).reshape(-1) for part in self.tables]
        exponents += [
            part.with_targets(np.ones(len(part)), _given(part.exponents, part.members.shape))
            for part in self.somes
        ]
        multiplicities = [np.ones(part.scopes.size) for part in self.tables]
        multiplicities += [
            part.with_targets(np.ones(len(part)), _given(part.multiplicities, part.members.shape))
            for part in self.somes
        ]
        counts = [_given(part.counts, (len(part),)) for part in (*self.tables, *self.somes)]
        edge_axes = _joined(axes, np.int64)
        lengths = self.sizes[edge_axes]
        message_starts = np.cumsum(lengths) - lengths
        table_starts, tables = self._flat_tables()
        return FactorGraph(
            self.sizes,
            self.starts[:-1].copy(),
            self.counts,
            self.unary,
            np.concatenate([[0], np.cumsum(_joined(widths, np.int64))]).astype(np.int64),
            _joined(counts, float),
            table_starts,
            tables,
            edge_axes,
            lengths,
            self.starts[edge_axes],
            message_starts,
            _joined(exponents, float),
            _joined(multiplicities, float),
            self._flat_allowed(message_starts, int(lengths.sum())),
            float(self.constant),
        )

    def _without_factors(self) -> FactorGraph:
        alone = self.sizes, self.starts[:-1].copy(), self.counts, self.unary
        numbers, no_bits = np.empty(0), np.empty(0, np.uint8)
        edges = _NONE, _NONE, _NONE, _NONE, numbers, numbers, no_bits
        return FactorGraph(
            *alone, np.zeros(1, np.int64), numbers, _NONE, numbers, *edges, float(self.constant)
        )

    def _flat_tables(self) -> tuple[Array, Array]:
        starts, offset = [], 0
        for part in self.tables:
            entries = part.tables[0].size if len(part.tables) else 0
            starts.append(offset + part.which * entries)
            offset += part.tables.size
        starts += [np.full(len(part), SOME) for part in self.somes]
        return _joined(starts, np.int64), _joined([part.tables.reshape(-1) for part in self.tables], float)

    def _flat_allowed(self, message_starts: Array, length: int) -> Array:
        allowed = np.zeros(length, dtype=np.uint8)
        edge = sum(part.scopes.size for part in self.tables)
        for part in self.somes:
            places = np.arange(edge, edge + len(part) + len(part.members))
            owners = part.with_targets(np.full(len(part), -1), part.patterns)
            for pattern, values in enumerate(part.allowed):
                at = message_starts[places[owners == pattern]]
                for value in values:
                    allowed[at + value] = 1
            edge += len(places)
        return allowed


def _given(values: Array | None, shape: tuple[int, ...]) -> Array:
    return np.ones(shape) if values is None else values


def _joined(parts: Sequence[Array], dtype: Any) -> Array:
    return np.concatenate(parts, dtype=dtype, casting="unsafe") if parts else np.empty(0, dtype)
