"""Probabilities by binary decision diagrams, from the bottom up: of each gate which decisions make it true.

The search from the top (:mod:`~herbrand.engines.circuit.search`) meets a case again where the same
constraints are left. Gates say one thing in many ways where atoms rest on each other, as paths in a graph
with circles do. Here cases that go on alike are one node, however gates say it: a graph that takes the search
minutes has some ten thousand nodes. It is the other way round where clauses exclude much, as in matchings.

>>> from herbrand.budget import UNLIMITED
>>> from herbrand.engines.circuit.choices import ChoiceConstraints
>>> made = ChoiceConstraints()
>>> a, b = (made.choice([0.5]).outcomes[0] for _ in range(2))
>>> made.stipulate(made.net.either([a, b]), "a or b")
>>> total, shares = counted(made.task([a]), np.arange(3), 100, UNLIMITED)
>>> round(math.exp(total), 6), round(shares[a].item(), 6)
(0.75, 0.666667)
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from herbrand.budget import Budget
from herbrand.deep_calls import room_for
from herbrand.engines.circuit.choices import Task
from herbrand.engines.circuit.constraints import NO_OWNER, negated
from herbrand.engines.circuit.factoring import conjunctions
from herbrand.graphs import strong_components

ALWAYS, NEVER = 0, 1
"""Edges; an edge is twice its node's number, and one more where it stands for the opposite."""
BYTES_A_NODE = 700
NODES_AT_ONCE = 4096
"""Between two looks at the clock."""

Counted = tuple[float, np.ndarray]
"""The logarithm of all weight, and the probability of each literal that is told."""


class TooLargeError(Exception):
    """There are more nodes than are allowed, or time has ended."""


def fits(task: Task) -> bool:
    """Whether the task is one for diagrams: gates without weights, and no more other clauses than these."""
    gates, restrictions = np.array(task.net.gates, bool), task.net.restrictions
    excluding = sum(one.owner == NO_OWNER and len(one.literals) > 1 for one in restrictions)
    return (
        not task.log_weights[gates].any()
        and all(one.least == 1 for one in restrictions)
        and excluding <= int(gates.sum())
    )


def counted(task: Task, rank: np.ndarray, most: int, budget: Budget) -> Counted | None:
    """What a circuit gives, decided in the order of ``rank``; ``None`` where that takes more nodes, or where
    all weight is too little for a number."""
    budget.claim(BYTES_A_NODE * most, "diagrams of what is uncertain")
    net = task.net
    inputs = sorted((v for v in range(len(net)) if not net.gates[v]), key=lambda v: rank[v])
    made = _Diagrams(len(inputs), most, budget)
    edges: dict[int, int] = {}

    def edge(literal: int) -> int:
        return edges[literal >> 1] ^ (literal & 1)

    try:
        edges |= {v: made.node(level, NEVER, ALWAYS) for level, v in enumerate(inputs)}
        with room_for(2 * len(inputs)):
            gates = conjunctions(net)
            below = {gate: [x >> 1 for x in own if x >> 1 in gates] for gate, own in gates.items()}
            for (gate,) in strong_components(below):
                edges[gate] = made.every(map(edge, gates[gate]))
            clauses = (one.literals for one in net.restrictions if one.owner == NO_OWNER)
            known = made.every(negated(made.every(negated(edge(x)) for x in clause)) for clause in clauses)
            told = {x: made.both(edge(x), known) for v in sorted(task.told) for x in (2 * v, 2 * v + 1)}
    except TooLargeError:
        return None
    sums = np.logaddexp(task.log_weights[inputs, 0], task.log_weights[inputs, 1])
    numbers = made.probabilities(np.exp(task.log_weights[inputs] - sums[:, None]))
    weight = numbers[known]
    shares = np.zeros(2 * len(net))
    if weight > 0:
        for literal, own in told.items():
            shares[literal] = numbers[own] / weight
    elif known != NEVER:
        return None
    return float(sums.sum()) + (math.log(weight) if weight > 0 else -math.inf), shares


class _Diagrams:
    """Nodes, each after those below it: an edge for a decision's two values. A node's high edge is not of an
    opposite, so that a function and its opposite are one node."""

    def __init__(self, levels: int, most: int, budget: Budget) -> None:
        self._levels, self._low, self._high = [levels], [ALWAYS], [ALWAYS]
        self._most, self._budget = most, budget
        self._nodes: dict[tuple[int, int, int], int] = {}
        self._both: dict[tuple[int, int], int] = {}

    def node(self, level: int, low: int, high: int) -> int:
        """The edge of what is ``high`` where the decision at a level holds, and ``low`` where it does not."""
        if low == high:
            return low
        opposite = high & 1
        key = level, low ^ opposite, high ^ opposite
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = len(self._levels)
            self._levels.append(level)
            self._low.append(key[1])
            self._high.append(key[2])
            if found > self._most or (found % NODES_AT_ONCE == 0 and self._budget.ended):
                raise TooLargeError
        return 2 * found ^ opposite

    def every(self, edges: Iterable[int]) -> int:
        """The edge of all together, the shortest first."""
        found = ALWAYS
        for one in sorted(edges, key=lambda edge: -self._levels[edge >> 1]):
            found = self.both(found, one)
        return found

    def both(self, one: int, other: int) -> int:
        """The edge of two together."""
        if one > other:
            one, other = other, one
        if one in (ALWAYS, NEVER) or one >> 1 == other >> 1:
            return other if one in (ALWAYS, other) else NEVER
        key = one, other
        found = self._both.get(key)
        if found is None:
            left, right = self._levels[one >> 1], self._levels[other >> 1]
            level = min(left, right)
            low, high = self._parts(one, left == level)
            other_low, other_high = self._parts(other, right == level)
            found = self.node(level, self.both(low, other_low), self.both(high, other_high))
            self._both[key] = found
        return found

    def _parts(self, edge: int, decides: bool) -> tuple[int, int]:
        """What an edge is where a decision does not hold, and where it does."""
        if not decides:
            return edge, edge
        return self._low[edge >> 1] ^ (edge & 1), self._high[edge >> 1] ^ (edge & 1)

    def probabilities(self, chances: np.ndarray) -> list[float]:
        """The probability of each edge, for those of each decision, [level, (false, true)].

        Of a function and of its opposite each for itself: 1 less the other would lose what is rare.
        """
        no, yes = chances[:, 0].tolist(), chances[:, 1].tolist()
        found = [1.0, 0.0]
        nodes = zip(self._levels[1:], self._low[1:], self._high[1:], strict=True)
        for level, low, high in nodes:
            found.append(no[level] * found[low] + yes[level] * found[high])
            found.append(no[level] * found[low ^ 1] + yes[level] * found[high ^ 1])
        return found
