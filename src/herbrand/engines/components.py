"""Components of a factor graph as tables alone, with equal ones batched.

A factor that makes a helper true where some member holds would be a table with an axis for each member. As a
chain of helpers, each true where some member so far holds, it is tables of three axes, however many members
it has.

Takes a :class:`Core`, what is to be summed out of a graph of tables; gives :class:`Batch` es: components that
have tables of the same shapes in the same places, with atoms and helpers in the same places, stacked along a
first axis, so that a thousand small worlds cost little more than one.

>>> graph = Assembly([2, 2, 2, 2])
>>> graph.add_somes(Somes(np.array([3]), np.array([0, 3]), np.arange(3), np.zeros(3, int), [(1,)]))
>>> [alike.scopes.tolist() for alike in table_factors(chained(graph.build()))]
[[[4, 0, 1], [3, 4, 2]]]
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.factors.graph import (
    FORBIDDEN,
    Array,
    Assembly,
    FactorGraph,
    Somes,
    Tables,
    ranges,
    somes_of,
    table_factors,
)
from herbrand.factors.pieces import refuse_tables, unique_rows
from herbrand.graphs import component_of
from herbrand.row_keys import row_pointers

# Chains in place of wide factors


def chained(graph: FactorGraph, budget: Budget = UNLIMITED) -> FactorGraph:
    """Replace factors of quantifiers by chains of helpers; all axes and tables keep their numbers."""
    somes = somes_of(graph)
    if not len(somes):
        return graph
    helpers = int(np.maximum(np.diff(somes.pointers) - 2, 0).sum())
    assembly = Assembly(np.append(graph.sizes, np.full(helpers, 2)))
    assembly.add_tables_of(graph, np.arange(graph.axis_count))
    assembly.constant = graph.constant
    for links in _links(somes, graph.axis_count, assembly.sizes, budget):
        assembly.add_tables(links)
    return assembly.build()


def _links(somes: Somes, first: int, sizes: Array, budget: Budget) -> Iterator[Tables]:
    """Tables of the chains: one for each member but the first, whose helper is true where the one before is,
    or the member holds.

    The first member takes the place of a helper before the second; the last link's helper is the target.
    Helpers between are numbered from ``first`` on.
    """
    counts = np.diff(somes.pointers)
    place, owner = ranges(np.zeros_like(counts), counts), np.repeat(np.arange(len(somes)), counts)
    last = place == counts[owner] - 1
    inner = (place > 0) & ~last
    helpers = np.where(last, somes.targets[owner], first - 1 + np.cumsum(inner))
    alone = np.flatnonzero(last & (place == 0))
    ends = helpers[alone], [somes.members[alone]], [somes.patterns[alone]]
    yield from _alike(sizes, somes.allowed, *ends, budget)
    links = np.flatnonzero(place > 0)
    second = place[links] == 1
    axes = np.where(second, somes.members[links - 1], helpers[links - 1]), somes.members[links]
    before = np.where(second, somes.patterns[links - 1], len(somes.allowed))
    patterns = before, somes.patterns[links]
    yield from _alike(sizes, [*somes.allowed, (1,)], helpers[links], axes, patterns, budget)


def _alike(
    sizes: Array,
    allowed: Sequence[tuple[int, ...]],
    helpers: Array,
    axes: Sequence[Array],
    patterns: Sequence[Array],
    budget: Budget,
) -> Iterator[Tables]:
    """Yield links whose helper is true where some axis has an allowed value, grouped by table."""
    scopes = np.stack([helpers, *axes], axis=1)
    kinds, kind_of = unique_rows(np.concatenate([sizes[scopes], np.stack(patterns, axis=1)], axis=1))
    refuse_tables(float(np.prod(sizes[scopes[kinds]], axis=1, dtype=float).sum()), budget.bytes)
    for kind, example in enumerate(budget.each(kinds.tolist())):
        own = np.flatnonzero(kind_of == kind)
        some = np.zeros((), bool)
        for axis, pattern in zip(scopes[example, 1:].tolist(), patterns, strict=True):
            values = np.arange(int(sizes[axis]))
            some = np.logical_or.outer(some, np.isin(values, allowed[int(pattern[example])]))
        table = np.where(np.stack([~some, some]), 0.0, FORBIDDEN)
        yield Tables(scopes[own], np.zeros(len(own), np.int64), table[None])


# Independent parts


LocalScope = tuple[int, ...]
_NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Core:
    """A part of a graph of tables: ``factors`` are numbers, ``present`` [axis] is whether the axis is in it.

    ``unary``: own weights of axes, laid out as in the graph; ``weighted`` [axis]: whether they are used,
    for atoms and for helpers that have any. ``labels``: component of each axis; axes from ``atom_count``
    on are helpers.
    """

    graph: FactorGraph
    atom_count: int
    factors: Array
    unary: Array
    present: Array
    weighted: Array
    labels: Array

    @classmethod
    def whole(cls, graph: FactorGraph, atom_count: int) -> Core:
        """The whole graph; helpers without factors and weights are absent."""
        if not graph.axis_count and not graph.factor_count:
            no_axes = np.zeros(0, bool)
            return cls(graph, 0, _NOTHING, graph.unary, no_axes, no_axes, _NOTHING)
        weighted = np.arange(graph.axis_count) < atom_count
        weighted[graph.weighted_axes] = True
        present = weighted.copy()
        present[graph.edge_axes] = True
        firsts = graph.edge_axes[np.repeat(graph.factor_edges[:-1], np.diff(graph.factor_edges))]
        labels = component_of(graph.axis_count, np.stack([firsts, graph.edge_axes], axis=1))
        return cls(graph, atom_count, np.arange(graph.factor_count), graph.unary, present, weighted, labels)

    def around(self, axes: Array) -> Core:
        """The components of some axes."""
        near = np.isin(self.labels, self.labels[axes])
        firsts = self.graph.edge_axes[self.graph.factor_edges[self.factors]]
        return replace(self, factors=self.factors[near[firsts]], present=self.present & near)

    def alone(self) -> Array:
        """Axes that no factor contains."""
        if not len(self.factors):
            return np.flatnonzero(self.present)
        alone = self.present.copy()
        begins = self.graph.factor_edges[self.factors]
        alone[self.graph.edge_axes[ranges(begins, self.graph.factor_edges[self.factors + 1] - begins)]] = (
            False
        )
        return np.flatnonzero(alone)

    def links(self) -> Array:
        """All pairs of axes that share a table, [pair, 2]."""
        pairs = [
            alike.scopes[:, pair]
            for alike in table_factors(self.graph, self.factors)
            for pair in map(list, combinations(range(alike.scopes.shape[1]), 2))
        ]
        return np.concatenate(pairs) if pairs else np.zeros((0, 2), np.int64)


@dataclass(frozen=True, eq=False)
class Batch:
    """Components of one form: ``axes`` [component, local axis] and ``factors`` [component, place]
    of the graph.

    ``tables`` [component, ...] over local ``scopes``; ``weighted``: local axes with own weights.
    """

    axes: Array
    sizes: tuple[int, ...]
    factors: Array
    scopes: tuple[LocalScope, ...]
    tables: tuple[Array, ...]
    weighted: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.axes)

    @property
    def operations(self) -> float:
        """Number of operations of adding up all weights and tables, world by world."""
        return float(len(self) * math.prod(self.sizes) * (len(self.scopes) + len(self.weighted)))

    def weights_in(self, graph: FactorGraph) -> Array:
        """Places of the weights of its axes among all axes' own weights [component, value of some axis]."""
        sizes = np.array([self.sizes[axis] for axis in self.weighted], np.int64)
        starts = graph.starts[self.axes[:, list(self.weighted)]]
        return np.repeat(starts, sizes, axis=1) + ranges(np.zeros_like(sizes), sizes)


def batches(core: Core) -> tuple[Batch, ...]:
    """Batches of all components that have factors."""
    return tuple(_Parts(core).batches()) if len(core.factors) else ()


class _Parts:
    """Factors and axes, each sorted by component; ``*_starts``: where those of a component begin.

    ``local``: number of an axis within its component, in the order of the factors that contain it.
    """

    def __init__(self, core: Core) -> None:
        graph, labels = core.graph, core.labels
        self.core = core
        owner = labels[graph.edge_axes[graph.factor_edges[core.factors]]]
        order = np.argsort(owner, kind="stable")
        self.factors = core.factors[order]
        begins = graph.factor_edges[self.factors]
        self.widths = graph.factor_edges[self.factors + 1] - begins
        named = graph.edge_axes[ranges(begins, self.widths)]
        axes, first_named = np.unique(named, return_index=True)
        self.axes = axes[np.argsort(first_named)]
        self.count = int(labels.max(initial=-1)) + 1
        self.axis_starts = row_pointers(labels[self.axes], self.count)
        self.factor_starts = row_pointers(owner, self.count)
        self.edge_starts = np.append(0, np.cumsum(self.widths))[self.factor_starts]
        place = np.empty(graph.axis_count, np.int64)
        place[self.axes] = np.arange(len(self.axes)) - self.axis_starts[labels[self.axes]]
        self.local = place[named]

    def batches(self) -> Iterator[Batch]:
        starts = (self.axis_starts, self.factor_starts, self.edge_starts)
        lengths = np.stack([np.diff(one) for one in starts], axis=1)
        there = np.flatnonzero(lengths[:, 0])
        for example, own in _equal_rows(lengths[there]):
            axes, factors, edges = (
                start[there[own], None] + np.arange(length)
                for start, length in zip(starts, lengths[there[example]].tolist(), strict=True)
            )
            yield from self._alike(self.axes[axes], factors, self.local[edges])

    def _alike(self, axes: Array, factors: Array, local: Array) -> Iterator[Batch]:
        """Yield components with equal numbers of axes and factors in batches of one form."""
        sizes, weighted = self.core.graph.sizes[axes], self.core.weighted[axes]
        form = np.concatenate([self.widths[factors], local, sizes, weighted], axis=1)
        for example, own in _equal_rows(form):
            ends = np.cumsum(self.widths[factors[example]]).tolist()
            scope = local[example].tolist()
            scopes = tuple(tuple(scope[a:b]) for a, b in zip([0, *ends], ends, strict=False))
            numbers = self.factors[factors[own]]
            shape = tuple(sizes[example].tolist())
            yield Batch(
                axes[own],
                shape,
                numbers,
                scopes,
                tuple(self._tables(numbers, scopes, shape)),
                tuple(np.flatnonzero(weighted[example]).tolist()),
            )

    def _tables(
        self, factors: Array, scopes: tuple[LocalScope, ...], sizes: tuple[int, ...]
    ) -> Iterator[Array]:
        """Yield the tables of each place, stacked over components."""
        graph = self.core.graph
        for scope, starts in zip(scopes, graph.table_starts[factors].T, strict=True):
            shape = [sizes[axis] for axis in scope]
            size = math.prod(shape)
            if len(starts) == 1:  # a view saves a copy: a large component has a table for each grounding
                yield graph.tables[starts[0] : starts[0] + size].reshape(1, *shape)
            else:
                yield graph.tables[starts[:, None] + np.arange(size)].reshape(len(starts), *shape)


def _equal_rows(rows: Array) -> Iterator[tuple[int, Array]]:
    """Yield the first of each kind of row, and the places of all rows of the kind."""
    if len(rows) == 1:
        yield 0, np.zeros(1, np.int64)
        return
    first, group = unique_rows(rows)
    for number, example in enumerate(first.tolist()):
        yield example, np.flatnonzero(group == number)
