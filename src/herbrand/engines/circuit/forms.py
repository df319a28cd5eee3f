"""Forms: several circuits over shared nodes, level by level, to be evaluated for many rows of weights at
once.

Weights are ordinary numbers, not logarithms: those of choices are probabilities, so that no node is above 1,
and what underflows would not show in a sum beside it. Node 0 is 1; then come the leaves, each the weight of a
literal, then products of two and sums of any number, each level after those that it depends on. Nodes that
are 1 or 0 for all weights are removed, equal nodes are one, and a sum that only one other sum uses is merged
into it.

>>> nodes = Nodes()
>>> a, b, c = (nodes.leaf(literal) for literal in (0, 2, 4))
>>> form = nodes.form([nodes.sum([a, nodes.product([b, nodes.sum([c, nodes.product([a, ONE])])])]), ONE])
>>> form.literals, form.is_product.tolist(), form.kids.tolist(), form.levels, form.roots
((0, 2, 4), [False, True, False], [3, 1, 2, 4, 1, 5], ((0, 1), (1, 2), (2, 3)), (6, 0))
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise

import numpy as np

from herbrand.engines.circuit.circuit import Circuit
from herbrand.engines.circuit.search import FALSE_NODE, PRODUCT, TRUE_NODE
from herbrand.loops import loop

ZERO, ONE = -1, 0
"""Numbers of the constants 0 and 1; of these only 1 is ever a node of a form."""
LEAF, TIMES, PLUS = range(3)

Node = tuple[int, tuple[int, ...]]
"""Kind of a node, and its kids; for a leaf, its literal."""


@dataclass(frozen=True, eq=False)
class Form:
    """Circuits over shared nodes. ``literals``: the one whose weight each leaf is; ``roots``: the node of
    each circuit, -1 where it is 0. For the nodes behind the leaves: ``is_product``, and ``starts`` and
    ``kids``, two for a product. ``levels``: runs of these nodes, from one place to another, all products or
    all sums. ``largest``: sums are maxima."""

    literals: tuple[int, ...]
    is_product: np.ndarray
    starts: np.ndarray
    kids: np.ndarray
    levels: tuple[tuple[int, int], ...]
    roots: tuple[int, ...]
    largest: bool = False

    @property
    def first(self) -> int:
        """The first node behind the leaves."""
        return 1 + len(self.literals)

    @property
    def size(self) -> int:
        """Number of nodes."""
        return self.first + len(self.is_product)


class Nodes:
    """Nodes of circuits, equal ones shared, kids before the nodes that use them."""

    def __init__(self) -> None:
        self._nodes: list[Node] = [(LEAF, ())]
        self._heights = [0]
        self._numbers: dict[Node, int] = {}

    def leaf(self, literal: int) -> int:
        return self._number((LEAF, (literal,)), 0)

    def product(self, kids: Sequence[int]) -> int:
        """The product of any number of nodes, as products of two; nodes of the least height are multiplied
        first."""
        if ZERO in kids:
            return ZERO
        queue = [(self._heights[kid], kid) for kid in kids if kid != ONE]
        heapq.heapify(queue)
        while len(queue) > 1:
            (_, one), (height, other) = heapq.heappop(queue), heapq.heappop(queue)
            number = self._number((TIMES, (one, other)), height + 1)
            heapq.heappush(queue, (height + 1, number))
        return queue[0][1] if queue else ONE

    def sum(self, kids: Sequence[int]) -> int:
        kept = tuple(kid for kid in kids if kid != ZERO)
        if len(kept) < 2:
            return kept[0] if kept else ZERO
        return self._number((PLUS, kept), 1 + max(self._heights[kid] for kid in kept))

    def without_common(self, roots: Sequence[int]) -> tuple[list[int], list[int]]:
        """The roots divided by the factors that all nonzero ones share, and these factors.

        A ratio of two roots does not depend on them. With them it would by rounding, and a weight of 1e-300
        would have a slope of 1e284 instead of 0.
        """
        divided, common = [*roots], list[int]()
        factors = list[frozenset[int]]()
        while shared := self._shared(divided, factors):
            common.append(max(shared))  # a sum before what all of its kids share
            divided = [root if root == ZERO else self._divided(root, common[-1], factors) for root in divided]
        return divided, common

    def _shared(self, roots: Sequence[int], factors: list[frozenset[int]]) -> frozenset[int]:
        """Factors that all nonzero roots share; completes the ``factors`` of each node."""
        for number in range(len(factors), len(self._nodes)):
            below = [factors[kid] for kid in self._below(number)]
            if self._nodes[number][0] == TIMES:
                factors.append(below[0] | below[1])
                continue
            own = frozenset([number] if number != ONE else [])
            factors.append(own | frozenset.intersection(*below) if below else own)
        kept = [factors[root] for root in roots if root != ZERO]
        return frozenset.intersection(*kept) if kept else frozenset()

    def _divided(self, root: int, factor: int, factors: Sequence[frozenset[int]]) -> int:
        """The node divided by one of its factors."""
        quotients = {factor: ONE}
        for node in range(factor + 1, root + 1):
            if factor not in factors[node]:
                continue
            kids = self._below(node)
            if self._is_sum(node):
                quotients[node] = self.sum([quotients[kid] for kid in kids])
            else:
                quotients[node] = self.product([quotients.get(kid, kid) for kid in kids])
        return quotients[root]

    def circuit(self, circuit: Circuit, leaf: Callable[[int], int]) -> int:
        """Add a circuit and return its root; ``leaf`` gives the node of a literal's weight."""
        literals = {FALSE_NODE: ZERO, TRUE_NODE: ONE}
        free = 2 + 2 * circuit.variables
        for node in _below(circuit):
            if node in literals:
                continue
            if node < free:
                literals[node] = leaf(node - 2)
            elif node < free + circuit.variables:
                literals[node] = self.sum([leaf(2 * (node - free)), leaf(2 * (node - free) + 1)])
            else:
                join = self.product if circuit.kinds[node] == PRODUCT else self.sum
                kids = circuit.kids[circuit.starts[node] : circuit.starts[node + 1]]
                literals[node] = join([literals[kid] for kid in kids.tolist()])
        return literals[circuit.root]

    def form(self, roots: Sequence[int], largest: bool = False) -> Form:
        """The form of all nodes that these roots use, level by level."""
        kids = self._joined(roots)
        heights = dict[int, int]()
        for node, own in kids.items():
            heights[node] = 1 + max(heights[kid] for kid in own) if own else 0
        order = sorted(kids, key=lambda node: (heights[node], self._nodes[node][0], node))
        places = {node: place for place, node in enumerate(order)}
        leaves = tuple(self._nodes[node][1][0] for node in order if not kids[node] and node != ONE)
        inner = order[1 + len(leaves) :]
        by_level = groupby(inner, key=lambda node: (heights[node], self._nodes[node][0]))
        ends = [0, *accumulate(sum(1 for _ in own) for _, own in by_level)]
        return Form(
            leaves,
            np.array([not self._is_sum(node) for node in inner], bool),
            np.cumsum([0, *(len(kids[node]) for node in inner)]),
            np.array([places[kid] for node in inner for kid in kids[node]], np.int64),
            tuple(pairwise(ends)),
            tuple(places.get(root, ZERO) for root in roots),
            largest,
        )

    def _joined(self, roots: Sequence[int]) -> dict[int, tuple[int, ...]]:
        """Kids of each node that the roots use, in order; a sum that only one other sum uses is merged into
        it."""
        uses = Counter(root for root in roots if root != ZERO)
        for node in range(len(self._nodes) - 1, ONE, -1):
            if uses[node]:
                uses.update(self._below(node))
        paths: dict[int, tuple[int, ...]] = {ONE: ()}
        for node in sorted(uses.keys() - {ONE}):
            paths[node] = own = self._below(node)
            if self._is_sum(node):
                alone = {kid for kid in own if uses[kid] == 1 and self._is_sum(kid)}
                paths[node] = tuple(x for kid in own for x in (paths.pop(kid) if kid in alone else (kid,)))
        return paths

    def _is_sum(self, node: int) -> bool:
        return self._nodes[node][0] == PLUS

    def _below(self, node: int) -> tuple[int, ...]:
        kind, own = self._nodes[node]
        return () if kind == LEAF else own

    def _number(self, node: Node, height: int) -> int:
        if node not in self._numbers:
            self._numbers[node] = len(self._nodes)
            self._nodes.append(node)
            self._heights.append(height)
        return self._numbers[node]


@loop
def upward(
    is_product: np.ndarray,
    starts: np.ndarray,
    kids: np.ndarray,
    first: int,
    largest: bool,
    values: np.ndarray,
) -> None:
    """Compute the values [node, example] of the nodes behind the leaves."""
    for number in range(len(is_product)):
        low, high = starts[number], starts[number + 1]
        own, one, other = values[first + number], values[kids[low]], values[kids[low + 1]]
        if is_product[number]:
            for c in range(len(own)):
                own[c] = one[c] * other[c]
        elif largest:
            for c in range(len(own)):
                own[c] = max(one[c], other[c])
        else:
            for c in range(len(own)):
                own[c] = one[c] + other[c]
        for i in range(low + 2, high):
            more = values[kids[i]]
            for c in range(len(own)):
                own[c] = max(own[c], more[c]) if largest else own[c] + more[c]


@loop
def downward(
    is_product: np.ndarray,
    starts: np.ndarray,
    kids: np.ndarray,
    first: int,
    largest: bool,
    values: np.ndarray,
    slopes: np.ndarray,
) -> None:
    """Add to the slopes of all kids, from the roots down; where several kids are largest they share the slope
    equally."""
    for number in range(len(is_product) - 1, -1, -1):
        low, high = starts[number], starts[number + 1]
        own, total = slopes[first + number], values[first + number]
        if largest and not is_product[number]:
            for c in range(len(own)):
                ties = 0
                for i in range(low, high):
                    ties += values[kids[i], c] == total[c]
                own[c] /= ties
        for i in range(low, high):
            into, kid, other = slopes[kids[i]], values[kids[i]], values[kids[low + high - 1 - i]]
            if is_product[number]:
                for c in range(len(own)):
                    into[c] += own[c] * other[c]
            elif largest:
                for c in range(len(own)):
                    into[c] += own[c] if kid[c] == total[c] else 0.0
            else:
                for c in range(len(own)):
                    into[c] += own[c]


def _below(circuit: Circuit) -> list[int]:
    """Nodes that the root depends on, kids first."""
    used = np.zeros(len(circuit.kinds), bool)
    used[circuit.root] = True
    for node in range(circuit.root, -1, -1):
        if used[node]:
            used[circuit.kids[circuit.starts[node] : circuit.starts[node + 1]]] = True
    return np.flatnonzero(used).tolist()
