"""The loop that makes binary decision diagrams: conjunctions of what was made before, row after row.

An *edge* is twice a node's number, and one more where it stands for the opposite. A node is a decision's
level and the edges where it does not hold and where it does; the second is of no opposite, so that a function
and its opposite are one node, and equal functions are one edge.

As the search does (:mod:`~herbrand.engines.circuit.search`), the loop keeps all its state in arrays and never
allocates: it returns ``GROW`` where something may become too small, and ``PAUSE`` after so many steps, and
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
"""Edges."""

ROW, PLACE, FOUND, DEPTH, NODES, ENTRIES, STEPS = range(7)
"""Places in :attr:`Diagrams.at`. ``FOUND``: the edge that was found last."""
LEVEL, LOW, HIGH = range(3)
"""Columns of :attr:`Diagrams.nodes`."""
ONE, OTHER, BELOW, WHERE_NOT, PHASE = range(5)
"""Columns of :attr:`Diagrams.stack`: two edges, the upper level of theirs, the edge found for where its
decision does not hold, and how far the pair is."""
PAIR = np.uint64(0)
"""The second key of a pair of edges; a node has its level and one more."""


class Rows(NamedTuple):
    """Conjunctions as compressed rows. The literal ``2 * slot`` is the edge of that slot, ``2 * slot + 1``
    its opposite; each row fills the slot that is its target."""

    starts: Array
    literals: Array
    targets: Array


def rows_of(rows: Iterable[Sequence[int]], targets: Sequence[int]) -> Rows:
    """Lists of literals as compressed rows."""
    every = list(rows)
    starts = np.array([*accumulate(map(len, every), initial=0)], np.int64)
    literals = np.fromiter(chain.from_iterable(every), np.int64, int(starts[-1]))
    return Rows(starts, literals, np.array(targets, np.int64))


class Diagrams(NamedTuple):
    """All nodes, the edge of each slot, the pairs that are under way, and the table of nodes and of pairs."""

    at: Array
    nodes: Array
    edges: Array
    stack: Array
    keys: Array
    values: Array

    @classmethod
    def empty(cls, rows: Rows, levels: int, slots: int) -> Diagrams:
        """No node, but room for the decisions of so many levels."""
        nodes = np.zeros((4 * levels + 64, 3), np.int64)
        nodes[0, LEVEL] = levels
        at = np.zeros(7, np.int64)
        at[PLACE], at[NODES] = rows.starts[0], 1
        stack, edges = np.zeros((levels + 1, 5), np.int64), np.zeros(slots, np.int64)
        return cls(at, nodes, edges, stack, *table(1 << (4 * len(nodes)).bit_length()))


@in_place
def _part(d: Diagrams, edge: Any, level: Any, side: Any) -> Any:
    """What an edge is where a level's decision does not hold, or where it does."""
    node = edge >> 1
    return d.nodes[node, side] ^ (edge & 1) if d.nodes[node, LEVEL] == level else edge


@in_place
def _node(d: Diagrams, level: Any, low: Any, high: Any) -> Any:
    """The edge of what is ``high`` where a level's decision holds, and ``low`` where it does not."""
    if low == high:
        return low
    opposite = high & 1
    low, high = low ^ opposite, high ^ opposite
    two = np.uint64(level + 1)
    one = mixed(low, high) ^ (two * FIRST_SPREAD)  # many levels have a node of the same two edges
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
    """Make the nodes of decisions, for slots by their levels."""
    for level in range(len(slots)):
        d.edges[slots[level]] = _node(d, level, NEVER, ALWAYS)


@in_place
def _meet(d: Diagrams, one: Any, other: Any) -> None:
    """Find the edge of two together where it is known, or put them on the stack."""
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
    """Go on until all rows are made (``DONE``), or something ends."""
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
    """Write the probability of each edge, for those of each decision, [level, (false, true)].

    Of a function and of its opposite each for itself: 1 less the other would lose what is rare.
    """
    weights[ALWAYS], weights[NEVER] = 1.0, 0.0
    for node in range(1, count):
        level, low, high = nodes[node, LEVEL], nodes[node, LOW], nodes[node, HIGH]
        no, yes = chances[level, 0], chances[level, 1]
        weights[2 * node] = no * weights[low] + yes * weights[high]
        weights[2 * node + 1] = no * weights[low ^ 1] + yes * weights[high ^ 1]
