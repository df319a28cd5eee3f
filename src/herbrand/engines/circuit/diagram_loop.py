"""The compiled loop that builds binary decision diagrams: conjunctions of earlier results, row after row.

An *edge* is twice a node's number, plus one where it is the negation. A node is the level of a decision and
the edges for false and for true; the second is never a negation, so that a function and its negation share a
node, and equal functions are one edge.

As the search does (:mod:`~herbrand.engines.circuit.search`), the loop keeps all its state in arrays and never
allocates: it returns ``GROW`` where an array may become too small, and ``PAUSE`` after so many steps, and
goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np

from herbrand.engines.circuit.key_table import FIRST_SPREAD, Array, look_up, mixed, remember, table
from herbrand.engines.circuit.search import DONE, GROW, PAUSE
from herbrand.loops import in_place, loop

ALWAYS, NEVER = 0, 1
"""Constant edges: true and false."""

ROW, PLACE, FOUND, DEPTH, NODES, ENTRIES, STEPS = range(7)
"""Places in :attr:`Diagrams.at`. ``FOUND``: the edge computed last."""
LEVEL, LOW, HIGH = range(3)
"""Columns of :attr:`Diagrams.nodes`."""
ONE, OTHER, BELOW, WHERE_NOT, PHASE = range(5)
"""Columns of :attr:`Diagrams.stack`: two edges, the upper of their levels, the result where its decision is
false, and the number of steps done for the pair."""
PAIR = np.uint64(0)
"""Second key of a pair of edges; that of a node is its level plus one, so never 0."""


class Rows(NamedTuple):
    """Conjunctions as compressed rows. The literal ``2 * slot`` is the edge in that slot, ``2 * slot + 1``
    its negation; each row fills the slot that is its target."""

    starts: Array
    literals: Array
    targets: Array


def rows_of(rows: Iterable[Sequence[int]], targets: Sequence[int]) -> Rows:
    """Convert lists of literals to compressed rows."""
    every = list(rows)
    starts = np.array([*accumulate(map(len, every), initial=0)], np.int64)
    literals = np.fromiter(chain.from_iterable(every), np.int64, int(starts[-1]))
    return Rows(starts, literals, np.array(targets, np.int64))


class Diagrams(NamedTuple):
    """Nodes, the edge in each slot, the stack of pairs being conjoined, and the table of nodes and pairs."""

    at: Array
    nodes: Array
    edges: Array
    stack: Array
    keys: Array
    values: Array

    @classmethod
    def empty(cls, rows: Rows, levels: int, slots: int) -> Diagrams:
        """Diagrams without nodes, with room for the decisions of ``levels``."""
        nodes = np.zeros((4 * levels + 64, 3), np.int64)
        nodes[0, LEVEL] = levels
        at = np.zeros(7, np.int64)
        at[PLACE], at[NODES] = rows.starts[0], 1
        stack, edges = np.zeros((levels + 1, 5), np.int64), np.zeros(slots, np.int64)
        return cls(at, nodes, edges, stack, *table(1 << (4 * len(nodes)).bit_length()))


@in_place
def _part(d: Diagrams, edge: Any, level: Any, side: Any) -> Any:
    """The edge that a function becomes where a level's decision is false or true; ``side``: ``LOW`` or
    ``HIGH``."""
    node = edge >> 1
    return d.nodes[node, side] ^ (edge & 1) if d.nodes[node, LEVEL] == level else edge


@in_place
def _node(d: Diagrams, level: Any, low: Any, high: Any) -> Any:
    """The edge of the function that is ``high`` where a level's decision is true, ``low`` where it is
    false."""
    if low == high:
        return low
    opposite = high & 1
    low, high = low ^ opposite, high ^ opposite
    two = np.uint64(level + 1)
    # The level is in the first key too: many levels have a node of the same two edges, as all decisions do.
    one = mixed(low, high) ^ (two * FIRST_SPREAD)
    node = look_up(d.keys, d.values, one, two)
    if node < 0:
        node = d.at[NODES]
        d.nodes[node, LEVEL], d.nodes[node, LOW], d.nodes[node, HIGH] = level, low, high
        d.at[NODES] += 1
        remember(d.keys, d.values, one, two, node)
        d.at[ENTRIES] += 1
    return 2 * node ^ opposite


@in_place
def decide(d: Diagrams, slots: Array) -> None:
    """Make the nodes of the decisions themselves, one for each level."""
    for level in range(len(slots)):
        d.edges[slots[level]] = _node(d, level, NEVER, ALWAYS)


@in_place
def _meet(d: Diagrams, one: Any, other: Any) -> None:
    """Look up the conjunction of two edges, or push the pair on the stack."""
    if one > other:
        one, other = other, one
    if one <= NEVER or one >> 1 == other >> 1:
        d.at[FOUND] = other if one in (ALWAYS, other) else NEVER
        return
    known = look_up(d.keys, d.values, mixed(one, other), PAIR)
    if known >= 0:
        d.at[FOUND] = known
        return
    top = d.at[DEPTH]
    d.stack[top, ONE], d.stack[top, OTHER] = one, other
    d.stack[top, BELOW] = min(d.nodes[one >> 1, LEVEL], d.nodes[other >> 1, LEVEL])
    d.stack[top, PHASE] = 0
    d.at[DEPTH] += 1


@in_place
def conjoin(rows: Rows, d: Diagrams, steps: Any) -> Any:
    """Continue until all rows are made (``DONE``), an array is full (``GROW``) or ``steps`` are done
    (``PAUSE``)."""
    until = d.at[STEPS] + steps
    while d.at[ROW] < len(rows.targets):
        if d.at[NODES] + 1 > len(d.nodes) or 2 * d.at[ENTRIES] + 4 > len(d.values):
            return GROW
        if d.at[STEPS] >= until:
            return PAUSE
        d.at[STEPS] += 1
        top = d.at[DEPTH] - 1
        if top < 0:
            place = d.at[PLACE]
            if place < rows.starts[d.at[ROW] + 1]:
                d.at[PLACE] += 1
                literal = rows.literals[place]
                _meet(d, d.at[FOUND], d.edges[literal >> 1] ^ (literal & 1))
            else:
                d.edges[rows.targets[d.at[ROW]]] = d.at[FOUND]
                d.at[FOUND] = ALWAYS
                d.at[ROW] += 1
            continue
        one, other, level = d.stack[top, ONE], d.stack[top, OTHER], d.stack[top, BELOW]
        d.stack[top, PHASE] += 1
        if d.stack[top, PHASE] == 1:
            _meet(d, _part(d, one, level, LOW), _part(d, other, level, LOW))
        elif d.stack[top, PHASE] == 2:
            d.stack[top, WHERE_NOT] = d.at[FOUND]
            _meet(d, _part(d, one, level, HIGH), _part(d, other, level, HIGH))
        else:
            d.at[FOUND] = _node(d, level, d.stack[top, WHERE_NOT], d.at[FOUND])
            remember(d.keys, d.values, mixed(one, other), PAIR, d.at[FOUND])
            d.at[ENTRIES] += 1
            d.at[DEPTH] -= 1
    return DONE


@loop
def measure(nodes: Array, count: Any, chances: Array, weights: Array) -> None:
    """Compute the probability of each edge from those of the decisions, ``chances`` [level, (false, true)].

    A function and its negation are summed separately: 1 less the other would lose what is rare.
    """
    weights[ALWAYS], weights[NEVER] = 1.0, 0.0
    for node in range(1, count):
        level, low, high = nodes[node, LEVEL], nodes[node, LOW], nodes[node, HIGH]
        no, yes = chances[level, 0], chances[level, 1]
        weights[2 * node] = no * weights[low] + yes * weights[high]
        weights[2 * node + 1] = no * weights[low ^ 1] + yes * weights[high ^ 1]
