"""A compiled circuit: one upward pass gives the total weight, one downward pass the share of every literal.

Nodes are numbered so that a node's kids come before it: false, true, two literals a variable, one free
variable each (the sum over both literals), then products and sums. Weights are logarithms, so nothing
underflows; shares are probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from herbrand.engines.circuit.search import FALSE_NODE, MAXIMUM, PRODUCT
from herbrand.loops import loop, run_often

Floats = NDArray[np.float64]

Counted = tuple[float, Floats]
"""The logarithm of the total weight, and the probability of each written literal."""


@dataclass(frozen=True, eq=False)
class Circuit:
    """A compiled circuit. ``starts`` and ``kids`` list each node's kids; ``written``: how each variable's
    literals are written; ``maximized``: variables whose best values are wanted while the rest is summed
    out."""

    variables: int
    kinds: np.ndarray
    starts: np.ndarray
    kids: np.ndarray
    root: int
    written: np.ndarray
    maximized: np.ndarray

    @classmethod
    def nothing(cls, variables: int) -> Circuit:
        """The circuit of constraints that no assignment satisfies."""
        nodes = 2 + 3 * variables
        empty = np.zeros(0, np.int64)
        return cls(
            variables,
            np.zeros(nodes, np.int8),
            np.zeros(nodes + 1, np.int64),
            empty,
            FALSE_NODE,
            np.zeros(variables, np.int64),
            np.zeros(variables, bool),
        )

    @property
    def size(self) -> int:
        """Number of links between nodes."""
        return len(self.kids)

    def _walk(self, walk: Callable[..., None], *rest: object) -> None:
        """Run ``walk`` over all links, compiled if there are many, in this circuit or in all so far."""
        run_often(walk, 2 * (self.size + len(self.kinds)), self.kinds, self.starts, self.kids, *rest)

    def values(self, log_weights: Floats, largest: bool = False) -> Floats:
        """The log-weight of every node; ``log_weights`` [variable, (false, true)]. ``largest``: of the best
        assignment alone instead of the sum."""
        values = np.empty(len(self.kinds))
        values[:2] = -np.inf, 0.0
        base = 2 + 2 * self.variables
        values[2:base:2], values[3:base:2] = log_weights[:, 1], log_weights[:, 0]
        free = values[base : base + self.variables]
        np.logaddexp(log_weights[:, 0], log_weights[:, 1], out=free)
        if largest or self.maximized.any():
            free[:] = np.where(self.maximized | largest, log_weights.max(axis=1, initial=-np.inf), free)
        self._walk(_upward, base + self.variables, values, largest)
        return values

    def total(self, log_weights: Floats) -> float:
        """The logarithm of the summed weight of all assignments."""
        return float(self.values(log_weights)[self.root])

    def shares(self, log_weights: Floats, values: Floats) -> Floats:
        """The probability of each literal of written variables. Each is summed up by itself: 1 less the other
        would lose what is rare."""
        flows, base = self.flows(values), 2 + 2 * self.variables
        shares = flows[2:base].reshape(-1, 2)
        (free,) = flows[base : base + self.variables].nonzero()
        own = log_weights[free, ::-1]  # a variable's literal comes before its negation
        with np.errstate(invalid="ignore"):
            each = np.exp(own - np.logaddexp(own[:, :1], own[:, 1:]))
        shares[free] += flows[base + free, None] * each
        return flows[2:base]

    def counted(self, log_weights: Floats) -> Counted:
        """The total and the share of every written literal, each 0 where no assignment has any weight."""
        values = self.values(log_weights)
        total = float(values[self.root])
        return total, self.shares(log_weights, values) if total > -math.inf else np.zeros(2 * self.variables)

    def flows(self, values: Floats) -> Floats:
        """The part of the total that goes through each node: a sum divides its part among its kids by weight,
        a product passes all of it to each."""
        flows = np.zeros(len(values))
        flows[self.root] = 1.0
        self._walk(_downward, 2 + 3 * self.variables, values, flows)
        return flows

    def best(self, log_weights: Floats, summed_out: bool = False) -> tuple[NDArray[np.int8], float]:
        """One assignment of the largest weight, -1 where not written or summed out, and the logarithm of that
        weight.

        ``summed_out``: sum out all variables but the ``maximized`` ones, of which none may be left undecided.
        """
        values = self.values(log_weights, largest=not summed_out)
        best = np.full(self.variables, -1, np.int8)
        self._walk(_descend, self.root, self.variables, values, log_weights, best, summed_out)
        return best, float(values[self.root])

    def samples(self, log_weights: Floats, values: Floats, uniform: Floats) -> NDArray[np.int8]:
        """Assignments drawn in proportion to their weight, one for each row of ``uniform`` [draw, variable],
        numbers between 0 and 1; -1: not written."""
        drawn = np.full(uniform.shape, -1, np.int8)
        links = self.kinds, self.starts, self.kids
        rest = self.root, self.variables, values, log_weights, uniform, drawn
        run_often(_draw, uniform.size, *links, *rest)
        return drawn


@loop
def _upward(
    kinds: np.ndarray, starts: np.ndarray, kids: np.ndarray, first: int, values: np.ndarray, largest: bool
) -> None:
    for node in range(first, len(kinds)):
        low, high = starts[node], starts[node + 1]
        if kinds[node] == PRODUCT:
            total = 0.0
            for i in range(low, high):
                total += values[kids[i]]
            values[node] = total
            continue
        one, two = values[kids[low]], values[kids[low + 1]]
        top, rest = (one, two) if one > two else (two, one)
        best = largest or kinds[node] == MAXIMUM
        # The functions of math give the same bits as compiled ones; those of NumPy may not.
        values[node] = top if best or rest == -np.inf else top + math.log1p(math.exp(rest - top))


@loop
def _downward(
    kinds: np.ndarray, starts: np.ndarray, kids: np.ndarray, first: int, values: np.ndarray, flows: np.ndarray
) -> None:
    for node in range(len(kinds) - 1, first - 1, -1):
        flow = flows[node]
        if flow == 0.0:
            continue
        for i in range(starts[node], starts[node + 1]):
            kid = kids[i]
            if kinds[node] == PRODUCT:
                flows[kid] += flow
            elif values[kid] > -np.inf:
                flows[kid] += flow * math.exp(values[kid] - values[node])


@loop
def _descend(
    kinds: np.ndarray,
    starts: np.ndarray,
    kids: np.ndarray,
    root: int,
    variables: int,
    values: np.ndarray,
    log_weights: np.ndarray,
    chosen: np.ndarray,
    sums_stay: bool,
) -> None:
    """Follow the best kid of each sum and all kids of each product; where ``sums_stay``, of maxima alone."""
    stack = np.empty(len(kids) + 1, np.int64)
    stack[0] = root
    height = 1
    while height > 0:
        height -= 1
        node = stack[height]
        if node < 2:
            continue
        if node < 2 + 2 * variables:
            chosen[(node - 2) >> 1] = 1 - (node & 1)
        elif node < 2 + 3 * variables:
            free = node - 2 - 2 * variables
            chosen[free] = 1 if log_weights[free, 1] > log_weights[free, 0] else 0
        elif kinds[node] == PRODUCT:
            for i in range(starts[node], starts[node + 1]):
                stack[height] = kids[i]
                height += 1
        elif not sums_stay or kinds[node] == MAXIMUM:
            one, two = kids[starts[node]], kids[starts[node] + 1]
            stack[height] = one if values[one] >= values[two] else two
            height += 1


@loop
def _draw(
    kinds: np.ndarray,
    starts: np.ndarray,
    kids: np.ndarray,
    root: int,
    variables: int,
    values: np.ndarray,
    log_weights: np.ndarray,
    uniform: np.ndarray,
    drawn: np.ndarray,
) -> None:
    """Follow one kid of each sum, drawn by its share, and all kids of each product.

    Each sum on the way decides a different variable, so one number for each variable is enough.
    """
    stack = np.empty(len(kids) + 1, np.int64)
    for row in range(len(uniform)):
        stack[0] = root
        height, used = 1, 0
        while height > 0:
            height -= 1
            node = stack[height]
            if node < 2:
                continue
            if node < 2 + 2 * variables:
                drawn[row, (node - 2) >> 1] = 1 - (node & 1)
            elif node < 2 + 3 * variables:
                free = node - 2 - 2 * variables
                # The exponential of a negative number cannot overflow, and keeps the share of a rare value.
                apart = log_weights[free, 1] - log_weights[free, 0]
                rarer = math.exp(-abs(apart)) / (1.0 + math.exp(-abs(apart)))
                share = 1.0 - rarer if apart > 0.0 else rarer
                drawn[row, free] = 1 if uniform[row, used] < share else 0
                used += 1
            elif kinds[node] == PRODUCT:
                for i in range(starts[node], starts[node + 1]):
                    stack[height] = kids[i]
                    height += 1
            else:
                one, two = kids[starts[node]], kids[starts[node] + 1]
                stack[height] = one if uniform[row, used] < math.exp(values[one] - values[node]) else two
                height += 1
                used += 1
