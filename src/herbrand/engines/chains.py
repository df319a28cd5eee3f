"""Factor graphs of tables alone, for what sums tables out.

A factor that makes a helper true where some member holds would be a table with an axis for each member. As a
chain of helpers, each true where some member so far holds, it is tables of three axes, however many members
it has.

>>> from herbrand.factors.graph import table_factors
>>> graph = Assembly([2, 2, 2, 2])
>>> graph.add_somes(Somes(np.array([3]), np.array([0, 3]), np.arange(3), np.zeros(3, int), [(1,)]))
>>> [alike.scopes.tolist() for alike in table_factors(chained(graph.build()))]
[[[4, 0, 1], [3, 4, 2]]]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from herbrand.factors.graph import (
    FORBIDDEN,
    Array,
    Assembly,
    FactorGraph,
    Somes,
    Tables,
    ranges,
    somes_of,
)
from herbrand.factors.pieces import unique_rows


def chained(graph: FactorGraph) -> FactorGraph:
    """The graph with chains in place of factors of helpers; all axes and tables keep their numbers."""
    somes = somes_of(graph)
    if not len(somes):
        return graph
    helpers = int(np.maximum(np.diff(somes.pointers) - 2, 0).sum())
    assembly = Assembly(np.append(graph.sizes, np.full(helpers, 2)))
    assembly.add_tables_of(graph, np.arange(graph.axis_count))
    assembly.constant = graph.constant
    for links in _links(somes, graph.axis_count, assembly.sizes):
        assembly.add_tables(links)
    return assembly.build()


def _links(somes: Somes, first: int, sizes: Array) -> Iterator[Tables]:
    """A link for each member but the first: its helper is true where the one before is, or the member holds.

    The first member takes the place of a helper before the second; the last link's helper is the target.
    Helpers between are numbered from ``first`` on.
    """
    counts = np.diff(somes.pointers)
    place, owner = ranges(np.zeros_like(counts), counts), np.repeat(np.arange(len(somes)), counts)
    last = place == counts[owner] - 1
    inner = (place > 0) & ~last
    helpers = np.where(last, somes.targets[owner], first - 1 + np.cumsum(inner))
    alone = np.flatnonzero(last & (place == 0))
    yield from _alike(sizes, somes.allowed, helpers[alone], [somes.members[alone]], [somes.patterns[alone]])
    links = np.flatnonzero(place > 0)
    second = place[links] == 1
    axes = np.where(second, somes.members[links - 1], helpers[links - 1]), somes.members[links]
    before = np.where(second, somes.patterns[links - 1], len(somes.allowed))
    patterns = before, somes.patterns[links]
    yield from _alike(sizes, [*somes.allowed, (1,)], helpers[links], axes, patterns)


def _alike(
    sizes: Array,
    allowed: Sequence[tuple[int, ...]],
    helpers: Array,
    axes: Sequence[Array],
    patterns: Sequence[Array],
) -> Iterator[Tables]:
    """Links whose helper is true where some axis has an allowed value, those of one table together."""
    scopes = np.stack([helpers, *axes], axis=1)
    kinds, kind_of = unique_rows(np.concatenate([sizes[scopes], np.stack(patterns, axis=1)], axis=1))
    for kind, example in enumerate(kinds.tolist()):
        own = np.flatnonzero(kind_of == kind)
        some = np.zeros((), bool)
        for axis, pattern in zip(scopes[example, 1:].tolist(), patterns, strict=True):
            values = np.arange(int(sizes[axis]))
            some = np.logical_or.outer(some, np.isin(values, allowed[int(pattern[example])]))
        table = np.where(np.stack([~some, some]), 0.0, FORBIDDEN)
        yield Tables(scopes[own], np.zeros(len(own), np.int64), table[None])
