"""Test whether the ground graph is a forest, by removing leaves class by class.

On a forest one sweep from the leaves inwards and one back give the exact messages. All parts of a class have
equally many neighbours, so they become leaves together, and a graph of classes is a forest if and only if the
ground graph is.
"""

from __future__ import annotations

import numpy as np

from herbrand.factors.graph import Array, FactorGraph
from herbrand.loops import chosen, loop

GONE = 0.5
"""Count below which nothing is left; counts are whole numbers stored as floats."""


def forest_order(graph: FactorGraph) -> Array | None:
    """Factors in the order in which they become leaves; None if some are on a cycle."""
    pointers, by_axis = graph.edges_by_axis()
    order, count = chosen(_peeled, graph.operations)(graph, by_axis, pointers, graph.owners)
    return order if count == graph.factor_count else None


@loop
def _peeled(graph: FactorGraph, by_axis: Array, pointers: Array, owners: Array) -> tuple[Array, int]:
    """Factors that become leaves when leaves are removed, in that order, and their number."""
    axes, factors = len(graph.sizes), len(graph.factor_counts)
    around = np.zeros(axes)
    width = np.zeros(factors)
    for edge in range(len(graph.edge_axes)):
        around[graph.edge_axes[edge]] += graph.exponents[edge]
        width[owners[edge]] += graph.multiplicities[edge]
    waiting = np.empty(axes + factors, np.int64)  # axes, then factors after them
    queued = np.zeros(axes + factors, np.bool_)
    first = last = 0
    for part in range(axes + factors):
        links = around[part] if part < axes else width[part - axes]
        if links <= 1.0 + GONE:
            waiting[last], queued[part] = part, True
            last += 1
    order = np.empty(factors, np.int64)
    count = 0
    gone = np.zeros(axes + factors, np.bool_)
    while first < last:
        part = waiting[first]
        first += 1
        gone[part] = True
        if part < axes:
            for place in range(pointers[part], pointers[part + 1]):
                edge = by_axis[place]
                factor = owners[edge]
                width[factor] -= graph.multiplicities[edge]
                if not queued[axes + factor] and width[factor] <= 1.0 + GONE:
                    waiting[last], queued[axes + factor] = axes + factor, True
                    last += 1
            continue
        order[count] = part - axes
        count += 1
        for edge in range(graph.factor_edges[part - axes], graph.factor_edges[part - axes + 1]):
            axis = graph.edge_axes[edge]
            around[axis] -= graph.exponents[edge]
            if not queued[axis] and around[axis] <= 1.0 + GONE:
                waiting[last], queued[axis] = axis, True
                last += 1
    return order[:count], count
