"""Colour refinement: axes and factors of a graph that messages can never distinguish.

Axes begin with the colour of their own weights. A factor's colour is computed from its table and its axes'
colours, an axis's from its old one and those of the factors around it, with their multiplicities. When no new
colour appears, parts of one colour receive equal messages in every round, and one of them can represent all.
Works on graphs whose parts already represent several.

Colours are hashes of 64 bits, mixed column by column. Values that differ get equal hashes with a chance of
about one in 10¹⁹ a pair: a million colours are kept apart but for one time in ten million.

>>> int(mixed(np.zeros(1, np.uint64), 5)[0]) == int(mixed(np.zeros(1, np.uint64), 6)[0])
False
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from herbrand.factors.graph import (
    SOME,
    Array,
    Assembly,
    FactorGraph,
    Somes,
    Tables,
    allowed_values,
    ranges,
    table_factors,
)
from herbrand.factors.pieces import unique_rows
from herbrand.row_keys import row_pointers

# Increment and multipliers of the SplitMix64 generator (Steele, Lea and Flood, 2014).
STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
KEPT_BITS = 40


def mixed(state: Array, value: Array | int) -> Array:
    """Hash of an earlier hash ``state`` and one more value for each."""
    added = np.uint64(value) if isinstance(value, int) else value.astype(np.uint64)
    with np.errstate(over="ignore"):
        key = (state ^ (added + STEP)) * FIRST
        key = (key ^ (key >> np.uint64(29))) * SECOND
        return key ^ (key >> np.uint64(32))


def number_bits(values: Array) -> Array:
    """Hashable integers of numbers, rounded to KEPT_BITS bits, so that rounding errors mostly vanish."""
    # Adding 0.0 turns -0.0 into 0.0: they are equal, so their hashes must be.
    mantissa, exponent = np.frexp(values + 0.0)
    finite = np.isfinite(values)
    mantissa = np.where(finite, np.rint(np.where(finite, mantissa, 0.0) * 2**KEPT_BITS), -(2.0**50))
    return mantissa.astype(np.int64).view(np.uint64) * np.uint64(4099) + exponent.astype(np.int64).view(
        np.uint64
    )


WIDEST_SYMMETRY = 4
"""Width up to which symmetries of tables are searched for. In wider ones atoms differ by place."""

LARGEST_SYMMETRY = 1 << 12
"""Entries up to which symmetries of tables are searched for."""

MOST_ROUNDS = 200
WORTH_LIFTING = 0.5
"""Largest share of classes among the axes with which lifting saves time."""


@dataclass(frozen=True, eq=False)
class Lifted:
    """Graph of classes; ``axis_class`` and ``edge_class``: axis and edge in it for those of the old one."""

    graph: FactorGraph
    axis_class: Array
    edge_class: Array


def lifted(graph: FactorGraph, largest_share: float = WORTH_LIFTING) -> Lifted | None:
    """Graph with one part for each class; None if the classes exceed the share ``largest_share`` of the
    axes."""
    return _Refinement(graph).lifted(largest_share)


@dataclass(frozen=True, eq=False)
class _Alike:
    """Table factors of one width and symmetry: ``edges`` [factor, place of the canonical table]; ``kinds``:
    number of each factor's canonical table."""

    factors: Array
    edges: Array
    kinds: Array
    symmetries: tuple[tuple[int, ...], ...]


class _Refinement:
    def __init__(self, graph: FactorGraph) -> None:
        self.graph = graph
        _, self.by_axis = graph.edges_by_axis()
        self.axes_with_edges, self.begins = np.unique(graph.edge_axes[self.by_axis], return_index=True)
        self.times = np.rint(graph.exponents).astype(np.uint64)
        self.alike = list(_alike(graph))
        self.somes = np.flatnonzero(graph.table_starts == SOME)
        self.allowed = self._allowed_marks()

    def lifted(self, largest_share: float) -> Lifted | None:
        graph = self.graph
        colours = self._own_colours()
        count = len(np.unique(colours))
        for _ in range(MOST_ROUNDS):
            if count > largest_share * graph.axis_count:
                return None
            _, sent = self._sent(colours)
            colours = self._received(colours, sent)
            before, count = count, len(np.unique(colours))
            if count == before:
                return _Collapse(self, colours).lifted()
        return None

    def _own_colours(self) -> Array:
        """Colours of axes by their sizes and own weights."""
        graph = self.graph
        colours = mixed(np.zeros(graph.axis_count, np.uint64), graph.sizes)
        bits = number_bits(graph.unary)
        for value in range(int(graph.sizes.max(initial=0))):
            there = np.flatnonzero(graph.sizes > value)
            colours[there] = mixed(colours[there], bits[graph.starts[there] + value])
        return colours

    def _allowed_marks(self) -> Array:
        """Mark of each edge of a quantifier's factor: 1 for its target, else a hash of its allowed values."""
        graph = self.graph
        marks = np.zeros(graph.edge_count, dtype=np.uint64)
        if not len(self.somes):
            return marks
        sizes = graph.edge_sizes
        for value in range(int(sizes.max(initial=0))):
            there = np.flatnonzero(sizes > value)
            marks[there] = mixed(marks[there], graph.allowed[graph.message_starts[there] + value])
        marks[graph.factor_edges[self.somes]] = np.uint64(1)
        return marks

    def _sent(self, colours: Array) -> tuple[Array, Array]:
        """Colours of factors, and what each edge sends to its axis: a hash of the factor's colour and the
        place in it."""
        graph = self.graph
        factors = np.zeros(graph.factor_count, dtype=np.uint64)
        sent = np.zeros(graph.edge_count, dtype=np.uint64)
        for group in self.alike:
            seen = colours[graph.edge_axes[group.edges]]
            best, labels = _smallest_view(seen, group.symmetries)
            factors[group.factors] = mixed(best, group.kinds)
            sent[group.edges] = mixed(factors[group.factors][:, None], labels)
        if len(self.somes):
            self._sent_by_somes(colours, factors, sent)
        return factors, sent

    def _sent_by_somes(self, colours: Array, factors: Array, sent: Array) -> None:
        graph = self.graph
        begins = graph.factor_edges[self.somes]
        widths = graph.factor_edges[self.somes + 1] - begins
        edges, owner = ranges(begins, widths), np.repeat(np.arange(len(self.somes)), widths)
        marks = mixed(self.allowed[edges], colours[graph.edge_axes[edges]])
        with np.errstate(over="ignore"):
            marks = marks * np.rint(graph.multiplicities[edges]).astype(np.uint64)
            sums = np.add.reduceat(marks, np.cumsum(widths) - widths)
        factors[self.somes] = mixed(sums, 7)
        sent[edges] = mixed(factors[self.somes][owner], self.allowed[edges])

    def _received(self, colours: Array, sent: Array) -> Array:
        """New colours of axes: each mixed with the sum of what its edges send."""
        received = mixed(colours, 1)
        if len(sent):
            with np.errstate(over="ignore"):
                # A sum of hashes is a hash of a multiset: the order of edges does not matter, and repeated
                # ones count.
                sums = np.add.reduceat((sent * self.times)[self.by_axis], self.begins)
            received[self.axes_with_edges] = mixed(colours[self.axes_with_edges], sums)
        return received


def _alike(graph: FactorGraph) -> Iterator[_Alike]:
    """Yield table factors whose canonical tables have the same width and symmetries."""
    kinds: dict[object, int] = {}
    for alike in table_factors(graph):
        _, first, which = np.unique(alike.starts, return_index=True, return_inverse=True)
        keys, orders, symmetries = zip(*map(canonical_table, alike.only(first).tables(graph)), strict=True)
        kind_of = np.array([kinds.setdefault(key, len(kinds)) for key in keys])
        for shared in dict.fromkeys(symmetries):
            own = np.flatnonzero(np.array([one == shared for one in symmetries])[which])
            factors, table = alike.factors[own], which[own]
            edges = graph.factor_edges[factors][:, None] + np.array(orders)[table]
            yield _Alike(factors, edges, kind_of[table], shared)


def canonical_table(table: Array) -> tuple[object, tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Key that is equal for tables which differ only in the order of their axes, an order of the axes that
    gives it, and the symmetries of the canonical table."""
    width = table.ndim
    looked_for = width <= WIDEST_SYMMETRY and table.size <= LARGEST_SYMMETRY
    orders = list(permutations(range(width))) if looked_for else [tuple(range(width))]
    views = [(_key(np.transpose(table, order)), order) for order in orders]
    best = min(key for key, _ in views)
    same = [order for key, order in views if key == best]
    first = same[0]
    symmetries = tuple(tuple(first.index(axis) for axis in order) for order in same)
    return best, first, symmetries


def _key(table: Array) -> tuple[tuple[int, ...], bytes]:
    return table.shape, number_bits(np.ascontiguousarray(table)).tobytes()


def _smallest_view(seen: Array, symmetries: tuple[tuple[int, ...], ...]) -> tuple[Array, Array]:
    """Smallest hash of each factor's axis colours over the symmetries of its table, and a label for each
    place, equal for places that a symmetry which keeps the colours exchanges."""
    count, width = seen.shape
    hashes = []
    for order in symmetries:
        state = np.zeros(count, dtype=np.uint64)
        for place in order:
            state = mixed(state, seen[:, place])
        hashes.append(state)
    best = np.minimum.reduce(hashes)
    labels = np.full((count, width), width, dtype=np.uint64)
    for order, state in zip(symmetries, hashes, strict=True):
        smallest = state == best
        for label, place in enumerate(order):
            labels[smallest, place] = np.minimum(labels[smallest, place], np.uint64(label))
    return best, labels


class _Collapse:
    """Graph with one part for each stable colour."""

    def __init__(self, refinement: _Refinement, colours: Array) -> None:
        self.graph = graph = refinement.graph
        factors, sent = refinement._sent(colours)
        self.axis_example, self.axis_class = _numbered(colours)
        self.factor_example, self.factor_class = _numbered(factors)
        self.axis_counts = np.bincount(self.axis_class, graph.counts)
        self.factor_counts = np.bincount(self.factor_class, graph.factor_counts)
        self.sent = mixed(sent, self.axis_class[graph.edge_axes])
        self.allowed = refinement.allowed
        self._sum_exponents()

    def _sum_exponents(self) -> None:
        """Count how often an axis of each class receives what an edge sends, at the class's example."""
        graph = self.graph
        example = np.zeros(graph.axis_count, bool)
        example[self.axis_example] = True
        edges = np.flatnonzero(example[graph.edge_axes])
        self.received, group = np.unique(self.sent[edges], return_inverse=True)
        self.often = np.bincount(group.reshape(-1), graph.exponents[edges], minlength=len(self.received))

    def _exponents(self, edges: Array) -> Array:
        """Exponents of the edges of example factors; of several in a factor that send the same, only the
        first's is not 0."""
        shape = edges.shape
        sent = self.sent[edges].reshape(shape)
        exponents = self.often[np.searchsorted(self.received, sent)]
        for place in range(1, shape[1]):
            repeated = (sent[:, :place] == sent[:, place, None]).any(axis=1)
            exponents[repeated, place] = 0.0
        return exponents

    def lifted(self) -> Lifted:
        graph = self.graph
        assembly = Assembly(graph.sizes[self.axis_example], self.axis_counts)
        for value in range(int(graph.sizes.max(initial=0))):
            there = np.flatnonzero(assembly.sizes > value)
            assembly.unary[assembly.starts[there] + value] = graph.unary[
                graph.starts[self.axis_example[there]] + value
            ]
        sent: list[Array] = []
        for part, edges in self._tables():
            assembly.add_tables(part)
            sent.append(self.sent[edges].reshape(-1))
        part, of_edges = self._somes()
        if len(part):
            assembly.add_somes(part)
            sent.append(of_edges)
        assembly.constant = graph.constant
        return Lifted(assembly.build(), self.axis_class, self._edge_class(sent))

    def _edge_class(self, sent: list[Array]) -> Array:
        """Edge of the new graph for each edge of the old one: one with an equal label."""
        known, first = np.unique(np.concatenate(sent or [self.sent]), return_index=True)
        return first[np.searchsorted(known, self.sent)]

    def _tables(self) -> Iterator[tuple[Tables, Array]]:
        """Yield the example table factors by shape, with their edges in the first graph."""
        graph = self.graph
        for alike in table_factors(graph, self.factor_example):
            edges = graph.factor_edges[alike.factors][:, None] + np.arange(len(alike.sizes))
            tables, which = alike.shared(graph)
            scopes, counts = (
                self.axis_class[alike.scopes],
                self.factor_counts[self.factor_class[alike.factors]],
            )
            yield Tables(scopes, which, tables, counts, self._exponents(edges)), edges

    def _somes(self) -> tuple[Somes, Array]:
        """Factors of quantifiers with equal members of each merged and counted, and what all their edges
        send."""
        graph = self.graph
        factors = self.factor_example[graph.table_starts[self.factor_example] == SOME]
        begins = graph.factor_edges[factors]
        counts = graph.factor_edges[factors + 1] - begins - 1
        edges, owner = ranges(begins + 1, counts), np.repeat(np.arange(len(factors)), counts)
        first, group = unique_rows(np.stack([owner, self.sent[edges].view(np.int64)], axis=1))
        order = np.argsort(owner[first], kind="stable")
        times, edges = np.bincount(group, graph.multiplicities[edges])[order], edges[first[order]]
        patterns, allowed = allowed_values(graph, edges)
        somes = Somes(
            self.axis_class[graph.edge_axes[begins]],
            row_pointers(owner[first], len(factors)),
            self.axis_class[graph.edge_axes[edges]],
            patterns,
            allowed,
            self.factor_counts[self.factor_class[factors]],
            times,
            self.often[np.searchsorted(self.received, self.sent[edges])],
        )
        return somes, somes.with_targets(self.sent[begins], self.sent[edges])


def _numbered(colours: Array) -> tuple[Array, Array]:
    """First part of each colour, and the class of each part; classes are numbered in order of appearance."""
    _, first, group = np.unique(colours, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    return first[order], rank[group.reshape(-1)]
