"""Values that hard statements leave possible for each axis, by arc consistency: Boolean, without numbers.

A value of an axis stays possible while every factor around it has an entry that is not forbidden and whose
other values are possible. Propagating that until nothing changes excludes only what no world has, so an axis
without values proves that there is no world; on a forest it excludes everything that no world has. An axis of
a graph of classes loses a value exactly where all of its ground axes do.

>>> from herbrand.factors.graph import Assembly, Tables
>>> graph = Assembly([2, 2])
>>> graph.add_unary(np.array([0]), np.array([-np.inf, 0.0]))
>>> graph.add_tables(Tables(np.array([[0, 1]]), np.array([0]), np.array([[[0.0, 0.0], [-np.inf, 0.0]]])))
>>> possible_values(graph.build())
array([False,  True, False,  True])
"""

from __future__ import annotations

import math

import numpy as np

from herbrand.factors.graph import FORBIDDEN, SOME, Array, FactorGraph
from herbrand.loops import chosen, loop


def possible_values(graph: FactorGraph) -> Array | None:
    """Whether propagation leaves each value of each axis possible; None if some axis has none left."""
    if graph.constant == -math.inf:
        return None
    possible = graph.unary != FORBIDDEN
    if graph.axis_count and not np.logical_or.reduceat(possible, graph.starts).all():
        return None
    pointers, edges = graph.edges_by_axis()
    propagated = chosen(_propagated, graph.operations)
    return possible if propagated(graph, _barring(graph), graph.owners[edges], pointers, possible) else None


def _barring(graph: FactorGraph) -> Array:
    """Whether each factor can forbid a value: those of quantifiers, and tables with an impossible entry."""
    barring = graph.table_starts == SOME
    impossible = np.concatenate([[0], np.cumsum(graph.tables == FORBIDDEN)])
    if impossible[-1]:
        tables = np.flatnonzero(~barring)
        entries = graph.entries_of(tables).astype(np.int64)
        starts = graph.table_starts[tables]
        barring[tables] = impossible[starts + entries] > impossible[starts]
    return barring


@loop
def _propagated(graph: FactorGraph, barring: Array, owners: Array, pointers: Array, possible: Array) -> bool:
    """Remove unsupported values from ``possible`` to a fixpoint; return whether every axis keeps one."""
    factor_edges, table_starts, tables = graph.factor_edges, graph.table_starts, graph.tables
    sizes, at, axes = graph.edge_sizes, graph.edge_starts, graph.edge_axes
    multiplicities, allowed, starts = graph.multiplicities, graph.allowed, graph.message_starts
    factors = len(table_starts)
    # A ring buffer: each factor waits at most once.
    waiting, queued = np.empty(factors + 1, np.int64), np.zeros(factors, np.bool_)
    first = last = 0
    for factor in range(factors):
        if barring[factor]:
            waiting[last], queued[factor] = factor, True
            last += 1
    supported = np.zeros(len(allowed), np.bool_)
    while first != last:
        factor = int(waiting[first])
        first = (first + 1) % (factors + 1)
        queued[factor] = False
        begin, stop = factor_edges[factor], factor_edges[factor + 1]
        for value in range(starts[begin], starts[stop - 1] + sizes[stop - 1]):
            supported[value] = False
        if table_starts[factor] >= 0:
            _support_of_table(
                sizes, at, starts, begin, stop, tables, table_starts[factor], possible, supported
            )
        else:
            _support_of_some(sizes, at, starts, begin, stop, allowed, multiplicities, possible, supported)
        for edge in range(begin, stop):
            lost, left = False, False
            for value in range(sizes[edge]):
                if possible[at[edge] + value] and not supported[starts[edge] + value]:
                    possible[at[edge] + value] = False
                    lost = True
                left = left or possible[at[edge] + value]
            if not left:
                return False
            if not lost:
                continue
            for place in range(pointers[axes[edge]], pointers[axes[edge] + 1]):
                other = owners[place]
                if barring[other] and not queued[other]:
                    waiting[last], queued[other] = other, True
                    last = (last + 1) % (factors + 1)
    return True


@loop
def _support_of_table(
    sizes: Array,
    at: Array,
    starts: Array,
    begin: int,
    stop: int,
    tables: Array,
    base: int,
    possible: Array,
    supported: Array,
) -> None:
    """Mark the values that occur in an allowed entry whose values are all possible. Entries are enumerated
    like digits of a number, and an impossible digit skips all entries with that prefix."""
    width = stop - begin
    digits, strides = np.zeros(width, np.int64), np.ones(width, np.int64)
    for place in range(width - 2, -1, -1):
        strides[place] = strides[place + 1] * sizes[begin + place + 1]
    count = strides[0] * sizes[begin]
    entry = 0
    while entry < count:
        left = entry
        skipped = False
        for place in range(width):
            digits[place] = left // strides[place]
            left -= digits[place] * strides[place]
            if not possible[at[begin + place] + digits[place]]:
                entry += strides[place] - left
                skipped = True
                break
        if skipped:
            continue
        if tables[base + entry] != FORBIDDEN:
            for place in range(width):
                supported[starts[begin + place] + digits[place]] = True
        entry += 1


@loop
def _support_of_some(
    sizes: Array,
    at: Array,
    starts: Array,
    begin: int,
    stop: int,
    allowed: Array,
    multiplicities: Array,
    possible: Array,
    supported: Array,
) -> None:
    """Mark the supported values of a quantifier's factor. The target can be true if some member can hold, and
    false if all can fail. A member can hold if the target can be true; it can fail if the target can be false
    and all others can fail, or the target can be true and another member can hold."""
    false, true = possible[at[begin]], possible[at[begin] + 1]
    may = must = 0.0
    for edge in range(begin + 1, stop):
        yes, no = _may_hold(sizes[edge], at[edge], starts[edge], allowed, possible)
        may += multiplicities[edge] if yes else 0.0
        must += 0.0 if no else multiplicities[edge]
    supported[starts[begin]] = must < 0.5
    supported[starts[begin] + 1] = may > 0.5
    for edge in range(begin + 1, stop):
        yes, no = _may_hold(sizes[edge], at[edge], starts[edge], allowed, possible)
        others_may = may - (1.0 if yes else 0.0)
        others_must = must - (0.0 if no else 1.0)
        fails = (false and others_must < 0.5) or (true and others_may > 0.5)
        for value in range(sizes[edge]):
            supported[starts[edge] + value] = true if allowed[starts[edge] + value] else fails


@loop
def _may_hold(size: int, at: int, start: int, allowed: Array, possible: Array) -> tuple[bool, bool]:
    """Whether a member can have an allowed value, and whether it can have another one."""
    yes = no = False
    for value in range(size):
        if possible[at + value]:
            if allowed[start + value]:
                yes = True
            else:
                no = True
    return yes, no
