"""The decision by which to divide a case: one on the likeliest way to settle something queried.

A literal of a decision costs the negative logarithm of its probability. A true gate costs the sum of its
inputs, a false one its cheapest negated input. So the cheapest way to a literal of a gate is a proof of the
gate or of its negation. Inputs that gates share are counted more than once: costs guide the search only, and
bounds come from the cases alone.

>>> from herbrand.engines.circuit.constraints import Constraints
>>> net = Constraints()
>>> a, b, c = (2 * net.variable() for _ in range(3))
>>> some = net.either([net.every([a, b]), c])
>>> weights = np.zeros((len(net), 2))
>>> weights[:3] = np.log([[0.5, 0.5], [0.1, 0.9], [0.6, 0.4]])
>>> ways = Ways(Task(net, weights, {some >> 1}, set()))
>>> found = ways.divided(np.zeros(0, np.int64))  # a and b are likelier than c, and than neither is
>>> found.decision in (a >> 1, b >> 1), found.is_free
(True, True)
>>> ways.divided(np.array([negated(a)])).decision == c >> 1
True
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from herbrand.engines.circuit.choices import Task
from herbrand.engines.circuit.constraints import negated
from herbrand.engines.circuit.diagram_loop import Rows, rows_of
from herbrand.engines.circuit.factoring import conjunctions
from herbrand.engines.circuit.key_table import Array
from herbrand.loops import in_place, run_often


class Divided(NamedTuple):
    """How to go on with a case. ``decision``: the variable by which to divide it, if there is one;
    ``is_free``: whether only decisions weigh its worlds, and nothing excludes any."""

    decision: int | None
    is_free: bool


class Ways:
    """The gates and requirements of a task, and the cost of literals before anything is decided."""

    def __init__(self, task: Task) -> None:
        self._gates, self._inputs = np.array(task.net.gates, bool), conjunctions(task.net)
        self._rows = rows_of(self._inputs.values(), [*self._inputs])
        weights = task.log_weights
        sums = np.logaddexp(weights[:, 0], weights[:, 1])
        self._cost = (sums[:, None] - weights)[:, ::-1].reshape(-1)
        self._weighted = np.array(task.weighted, np.int64)
        written = [v for v in self._inputs if v in task.written]
        self._wanted = np.union1d(np.array(written, np.int64), self._weighted)
        required = [one.literals for one in task.net.required]
        self._required = rows_of(required, range(len(required)))
        self._only_clauses = all(one.least == 1 for one in task.net.restrictions)

    def divided(self, fixed: Array) -> Divided:
        """How to go on with a case in which the literals ``fixed`` hold.

        First the case is divided along the cheapest way to a gate that must be false for a reason still open,
        such as evidence. Else along the cheapest way to settle a gate that is written or has a weight.
        """
        holds = np.zeros(len(self._cost), np.int8)
        holds[fixed] = 1
        cost = self._cost.copy()
        cost[fixed], cost[fixed ^ 1] = 0.0, math.inf
        run_often(_price, 2 * len(self._rows.literals), self._rows, holds, cost)
        settled = (holds[0::2] | holds[1::2]) > 0
        failing = 2 * self._rows.targets + 1
        goals = failing[(holds[failing] > 0) & (cost[failing] > 0)]
        is_free = not len(goals) and self._is_free(holds, settled)
        if not len(goals):
            open_ones = 2 * self._wanted[~settled[self._wanted]]
            goals = np.concatenate([open_ones, open_ones + 1])
        if not len(goals):
            return Divided(None, is_free)
        return Divided(self._first(int(goals[cost[goals].argmin()]), cost), is_free)

    def _is_free(self, holds: Array, settled: Array) -> bool:
        """Whether all clauses are satisfied and all gates with weights settled; for cases without gates that
        must be false for a reason still open."""
        starts, literals, _ = self._required
        if not self._only_clauses or not settled[self._weighted].all():
            return False
        return not len(literals) or bool(np.logical_or.reduceat(holds[literals], starts[:-1]).all())

    def _first(self, goal: int, cost: Array) -> int | None:
        """The first open decision on the cheapest way to a literal."""
        left, met = [goal], {goal}
        while left:
            literal = left.pop()
            inputs = self._inputs.get(literal >> 1)
            if inputs is None:
                if 0 < cost[literal] < math.inf and not self._gates[literal >> 1]:
                    return literal >> 1
                continue
            below = [min(map(negated, inputs), key=cost.__getitem__)] if literal & 1 else inputs
            left += [x for x in below if x not in met]
            met.update(below)
        return None


@in_place
def _price(rows: Rows, holds: Array, cost: Array) -> None:
    """Compute the cost of each gate's literals, after those of its inputs. A gate that is known to be false
    costs what its cheapest reason does."""
    for row in range(len(rows.targets)):
        literal = 2 * rows.targets[row]
        every, one = 0.0, math.inf
        for place in range(rows.starts[row], rows.starts[row + 1]):
            every += cost[rows.literals[place]]
            one = min(one, cost[rows.literals[place] ^ 1])
        if holds[literal + 1]:
            cost[literal + 1] = one
        elif not holds[literal]:
            cost[literal], cost[literal + 1] = every, one
