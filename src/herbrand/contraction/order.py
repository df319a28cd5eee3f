"""Order of a contraction: which operands meet, one group after another.

Takes axes and sizes only; returns :class:`Join` values in single-assignment form, the inputs being slots
``0 .. n-1`` and each join one slot more. Two regimes:

* few operands: the cheapest sequence of pairs, by opt_einsum;
* many: one axis after the other is summed out of all operands that have it (bucket elimination), in the
  cheapest of several greedy orders; near-linear in the number of axes, so that tens of thousands of them take
  seconds.

Before either, every axis that one operand alone has is summed out: opt_einsum's cost model misses that.

>>> sizes = {"h": 10, "k": 10, "j": 10, "i": 10}
>>> for join in contraction_order([("h", "k"), ("k", "j"), ("j", "i")], ("i",), sizes):
...     print(join.slots, "->", *join.axes)
(0,) -> k
(1, 3) -> j
(2, 4) -> i
"""

from __future__ import annotations

import heapq
import math
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from opt_einsum import paths

from herbrand.budget import UNLIMITED, Budget
from herbrand.contraction.expression import Axes

FEW_OPERANDS = 10
"""Operands up to which the search over pairs takes milliseconds."""

FEWER_OPERANDS = 8
"""Operands up to which outer products are searched too (of operands that share no axis but the output's):
many more trees."""

IN_ORDER = 4
"""Operands up to which the given order is preferred at equal cost, as tables are then read
in memory order."""

RESCORED_DEGREE = 64
"""Degree above which an axis is scored again only when it is popped, so that hubs do not cost n²."""

WORTH_A_SWEEP, COSTLY = 1e5, 1e7
"""Estimated costs above which a layered order is tried as well, and then random tie-breaking."""
HOPELESS = 62.0
"""Log2 of the entries above which no table will be built, so that the search for a better order ends."""
RESTARTS = 8
RESTART_EFFORT = 40_000
"""Limit of axes × restarts: about a second."""


@dataclass(frozen=True, slots=True)
class Join:
    """Multiply some slots and keep ``axes`` of the product."""

    slots: tuple[int, ...]
    axes: Axes


def contraction_order(
    operands: Sequence[Axes], output: Axes, sizes: Mapping[str, int], budget: Budget = UNLIMITED
) -> tuple[Join, ...]:
    """Joins that leave one slot, whose axes are the output axes that some operand has.

    ``operands`` repeat no axis; there is at least one. Empty if there is nothing to do.
    """
    joins = _sum_lone_axes(operands, output)
    live = _live_slots(len(operands), joins)
    axes_of = [*operands, *(join.axes for join in joins)]
    inputs = [axes_of[slot] for slot in live]
    if len(live) <= FEW_OPERANDS:
        rest = _pairwise(inputs, output, sizes)
    else:
        rest = _by_elimination(inputs, output, elimination_order(inputs, output, sizes, budget))
    joins += _renumbered(rest, live, len(axes_of))
    return tuple(_depth_first(joins, operands, sizes))


def elimination_order(
    operands: Sequence[Axes],
    output: Collection[str],
    sizes: Mapping[str, int],
    budget: Budget = UNLIMITED,
) -> list[str]:
    """All axes but the output's, in the cheapest greedy order."""
    return cheapest_elimination(operands, output, sizes, budget)[1]


def cheapest_elimination(
    operands: Sequence[Axes],
    output: Collection[str],
    sizes: Mapping[str, int],
    budget: Budget = UNLIMITED,
    *,
    restarted: bool = True,
) -> tuple[float, list[str]]:
    """The same order, and the total size of the tables that it visits: infinite, with a part of the order,
    where one is hopeless. ``restarted``: costly orders are also tried with random tie-breaking."""
    graph = _Graph(operands, output, sizes, budget)
    cost, order = min(graph.eliminate(graph.weight), graph.eliminate(graph.fill))
    if math.isinf(cost):
        return cost, order
    if cost > WORTH_A_SWEEP:
        cost, order = min((cost, order), graph.eliminate(graph.sweep(), dearest=cost))
    for score, ties in graph.restarts() if restarted and cost > COSTLY else ():
        cost, order = min((cost, order), graph.eliminate(score, ties, dearest=cost))
    return cost, order


_Score = Callable[[int, list[set[int]]], tuple[float, ...]]


class _Graph:
    """Interaction graph of axes, as adjacency sets over integers."""

    def __init__(
        self, operands: Iterable[Axes], output: Collection[str], sizes: Mapping[str, int], budget: Budget
    ) -> None:
        self.names = list(dict.fromkeys(chain.from_iterable(operands)))
        number = {name: index for index, name in enumerate(self.names)}
        self.kept = {number[axis] for axis in output if axis in number}
        self.log_sizes = [math.log2(sizes[name]) for name in self.names]
        self.binary = all(size == 1.0 for size in self.log_sizes)
        self.edges: list[set[int]] = [set() for _ in self.names]
        for axes in operands:
            members = {number[axis] for axis in axes}
            for axis in members:
                self.edges[axis] |= members
        self.budget = budget
        for axis, neighbours in enumerate(self.edges):
            neighbours.discard(axis)

    def weight(self, axis: int, edges: list[set[int]]) -> tuple[float, ...]:
        """Log2 of the size of the table that eliminating ``axis`` visits."""
        if self.binary:
            return (len(edges[axis]) + 1.0,)
        return (self.log_sizes[axis] + sum(map(self.log_sizes.__getitem__, edges[axis])),)

    def fill(self, axis: int, edges: list[set[int]]) -> tuple[float, ...]:
        """Number of pairs of neighbours that would become adjacent (an upper bound for hubs),
        then the weight."""
        around = edges[axis]
        if len(around) > RESCORED_DEGREE:
            missing = len(around) * (len(around) - 1) // 2
        else:
            missing = sum(len(around - edges[neighbour]) - 1 for neighbour in around)
        return (float(missing), *self.weight(axis, edges))

    def sweep(self) -> _Score:
        """Score that sweeps a long graph from one end to the other, the lightest axis of the front first."""
        place = {axis: float(number) for number, axis in enumerate(self._from_the_ends())}

        def score(axis: int, edges: list[set[int]]) -> tuple[float, ...]:
            if edges[axis] == self.edges[axis]:
                return (1.0, place[axis])
            return (0.0, *self.weight(axis, edges), place[axis])

        return score

    def _from_the_ends(self) -> list[int]:
        """All axes by breadth-first search of each component, from an axis far from the others."""
        order: list[int] = []
        seen: set[int] = set()
        for axis in range(len(self.edges)):
            if axis not in seen:
                part = self._breadth_first(self._breadth_first(axis)[-1])
                seen.update(part)
                order += part
        return order

    def _breadth_first(self, start: int) -> list[int]:
        reached = {start: None}
        for axis in (queue := [start]):
            new = [other for other in sorted(self.edges[axis]) if other not in reached]
            reached.update(dict.fromkeys(new))
            queue += new
        return queue

    def restarts(self) -> Iterator[tuple[_Score, random.Random]]:
        """Yield the greedy scores with random tie-breaking."""
        for seed in range(min(RESTARTS, RESTART_EFFORT // max(1, len(self.names)))):
            for score in (self.weight, self.fill):
                yield score, random.Random(seed)

    def eliminate(
        self, score: _Score, ties: random.Random | None = None, dearest: float = math.inf
    ) -> tuple[float, list[str]]:
        """Eliminate greedily, lowest score first; return the total size of the tables visited, and the order.

        Stops with infinite cost once the total reaches ``dearest``, or a table is HOPELESS.
        """
        edges = [set(neighbours) for neighbours in self.edges]
        rank = list(range(len(edges)))
        if ties is not None:
            ties.shuffle(rank)
        scores: dict[int, tuple[float, ...]] = {
            axis: score(axis, edges) for axis in self.budget.each(range(len(edges))) if axis not in self.kept
        }
        heap = [(value, rank[axis], axis) for axis, value in scores.items()]
        heapq.heapify(heap)
        stale: set[int] = set()
        cost, order = 0.0, []
        while heap:
            self.budget.check()
            value, _, axis = heapq.heappop(heap)
            if scores.get(axis) != value:
                continue
            if axis in stale:
                stale.discard(axis)
                scores[axis] = score(axis, edges)
                if scores[axis] > value:
                    heapq.heappush(heap, (scores[axis], rank[axis], axis))
                    continue
            del scores[axis]
            weight = self.weight(axis, edges)[0]
            if weight > HOPELESS:
                return math.inf, [*order, self.names[axis], *(self.names[other] for other in scores)]
            cost += 2.0**weight
            if cost >= dearest:
                return math.inf, order
            order.append(self.names[axis])
            for neighbour in _connect(edges, axis):
                if neighbour not in scores:
                    continue
                if len(edges[neighbour]) > RESCORED_DEGREE:
                    stale.add(neighbour)
                    continue
                renewed = score(neighbour, edges)
                if renewed != scores[neighbour]:
                    scores[neighbour] = renewed
                    heapq.heappush(heap, (renewed, rank[neighbour], neighbour))
        return cost, order


def _connect(edges: list[set[int]], axis: int) -> set[int]:
    """Remove ``axis`` from the graph, connect all its neighbours and return these."""
    around = edges[axis]
    for neighbour in around:
        others = edges[neighbour]
        others |= around
        others.discard(neighbour)
        others.discard(axis)
    return around


def _sum_lone_axes(operands: Sequence[Axes], output: Axes) -> list[Join]:
    counts = Counter(chain(output, *operands))
    shared = [tuple(axis for axis in axes if counts[axis] > 1) for axes in operands]
    return [Join((slot,), kept) for slot, kept in enumerate(shared) if kept != operands[slot]]


def _pairwise(operands: list[Axes], output: Axes, sizes: Mapping[str, int]) -> list[Join]:
    if len(operands) < 2:
        return []
    if len(operands) == 2:
        return _joins(operands, output, [(0, 1)])
    inputs = [frozenset(axes) for axes in operands]
    bound = frozenset(output).intersection(*[frozenset(chain(*operands))])
    searches: list[Any] = [
        paths.DynamicProgramming(minimize="flops", search_outer=len(operands) <= FEWER_OPERANDS)
    ]
    if len(operands) <= IN_ORDER:  # not used alone: its cache of pairs ignores the other operands
        searches.insert(0, paths.optimal)
    orders = [search(inputs, bound, dict(sizes), None) for search in searches]
    joins = [_joins(operands, output, paths.linear_to_ssa(pairs)) for pairs in orders]
    return min(joins, key=lambda trees: _entries(trees, operands, sizes))


def _entries(joins: Sequence[Join], operands: Sequence[Axes], sizes: Mapping[str, int]) -> int:
    """Total entries of the joint tables of all joins."""
    axes_of = [*operands, *(join.axes for join in joins)]
    return sum(
        math.prod(sizes[axis] for axis in set(chain.from_iterable(axes_of[slot] for slot in join.slots)))
        for join in joins
    )


def _by_elimination(operands: list[Axes], output: Axes, order: Iterable[str]) -> list[Join]:
    """Bucket elimination: join all operands of an axis when its turn comes, and at the end
    those that remain."""
    axes_of: list[Axes] = list(operands)
    holders: dict[str, set[int]] = {}
    for slot, axes in enumerate(operands):
        for axis in axes:
            holders.setdefault(axis, set()).add(slot)
    live = dict.fromkeys(range(len(operands)))
    joins, output_axes = [], set(output)

    def join(slots: list[int]) -> None:
        union = Counter(chain.from_iterable(axes_of[slot] for slot in slots))
        kept = tuple(
            axis for axis, count in union.items() if axis in output_axes or len(holders[axis]) > count
        )
        new = len(axes_of)
        for slot in slots:
            del live[slot]
            for axis in axes_of[slot]:
                holders[axis].discard(slot)
        for axis in kept:
            holders[axis].add(new)
        axes_of.append(kept)
        live[new] = None
        joins.append(Join(tuple(slots), kept))

    for axis in order:
        if holders[axis]:
            join(sorted(holders[axis]))
    if len(live) > 1:
        join(list(live))
    return joins


def _joins(operands: list[Axes], output: Axes, path: Iterable[Collection[int]]) -> list[Join]:
    """Joins along a path of slot numbers; each keeps the axes that other slots or the output need."""
    axes_of: list[Axes] = list(operands)
    needed = Counter(chain(output, *operands))
    joins = []
    for slots in path:
        union = Counter(chain.from_iterable(axes_of[slot] for slot in slots))
        needed.subtract(union)
        kept = tuple(axis for axis in union if needed[axis] > 0)
        needed.update(kept)
        axes_of.append(kept)
        joins.append(Join(tuple(sorted(slots)), kept))
    return joins


def _live_slots(inputs: int, joins: Sequence[Join]) -> list[int]:
    used = set(chain.from_iterable(join.slots for join in joins))
    return [slot for slot in range(inputs + len(joins)) if slot not in used]


def _renumbered(joins: Iterable[Join], live: Sequence[int], start: int) -> list[Join]:
    """Renumber joins over the slots ``live``, which are some of ``start`` slots."""

    def number(slot: int) -> int:
        return live[slot] if slot < len(live) else start + slot - len(live)

    return [Join(tuple(map(number, join.slots)), join.axes) for join in joins]


def _depth_first(joins: Sequence[Join], operands: Sequence[Axes], sizes: Mapping[str, int]) -> list[Join]:
    """Reorder joins so that each subtree is finished before the next begins and few results are alive at a
    time.

    Of several subtrees, the one that needs the most memory beyond its own result goes first.
    """
    inputs = len(operands)
    kept = [math.prod(sizes[axis] for axis in join.axes) for join in joins]
    children = [[slot - inputs for slot in join.slots if slot >= inputs] for join in joins]
    peak = [0] * len(joins)
    for join, below in enumerate(children):
        below.sort(key=lambda child: kept[child] - peak[child])
        waiting = 0
        for child in below:
            peak[join] = max(peak[join], waiting + peak[child])
            waiting += kept[child]
        peak[join] = max(peak[join], waiting + kept[join])
    used = set(chain.from_iterable(children))
    order, stack = [], [join for join in range(len(joins)) if join not in used]
    while stack:
        join = stack.pop()
        order.append(join)
        stack += children[join]
    order.reverse()
    place = {inputs + join: inputs + index for index, join in enumerate(order)}
    place |= {slot: slot for slot in range(inputs)}
    return [
        Join(tuple(sorted(place[slot] for slot in joins[join].slots)), joins[join].axes) for join in order
    ]
