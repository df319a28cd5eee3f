"""Minimise or maximise a linear function over a program with products, by a proved branch and bound.

The result is ``bound``: a value that no solution goes beyond, also if the search is stopped early. Every
bound is checked in outward-rounded or rational arithmetic (:mod:`.proved_linear`, :mod:`.polynomial`).
``value`` is that of the best point found.

The search branches on the conditional probabilities, ``theta`` in ``part = theta * whole``. Over a box of
ranges each product is relaxed to its four envelopes (McCormick 1976), and the minimum of that linear program
is proved (:mod:`.proved_linear`). Ranges are tightened by propagation through rows and products
(:mod:`.polynomial`), and in boxes that stay open by the proved minimum and maximum of each factor of a
product.

Boxes are pruned unless they may improve on the best point by more than the tolerance. That needs no proof
that the point is feasible: what is proved is the smaller of the open bounds and of the pruning limit.

>>> from herbrand.engines.credal.polynomial import Assembly
>>> made = Assembly()
>>> x = made.variables(2, 0.0, 1.0)
>>> made.row(x, np.ones(2), 0.5, 0.5)
>>> round(optimum(made.program(), x[:1], np.ones(1), least=False, seconds=9).bound, 12)
0.5
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array

from herbrand.engines.credal.polynomial import PolynomialProgram, tightened
from herbrand.engines.credal.proved_linear import LinearProgram, least

# Branch and bound


SMALL = 1e-6
"""Share of the largest possible value; for smaller optima the tolerance is relative to this share."""
MARGIN = 0.15
"""Share of a range that each half of a split keeps at least."""
NARROW = 1e-13
"""Width of a range that is not divided any more."""
NEAR = 1e-6
"""Distance, as a share of a range's width, at which a point counts as attaining an end of the range."""
MOST_ROUNDS = 3
"""Most rounds of tightening the ranges of one box."""
ENOUGH = 0.7
"""Ranges that shrink to at most this share are tightened once more."""


@dataclass(frozen=True)
class End:
    """One end of an interval: its proved ``bound``, and the best ``value`` reached (None: none in time).

    ``nodes`` boxes were searched. ``proved``: whether the two are within the tolerance of each other.
    ``more`` continues a stopped search for some seconds.
    """

    bound: float
    value: float | None
    nodes: int
    more: Callable[[float], End] | None = field(default=None, compare=False, repr=False)
    proved: bool = True

    @property
    def gap(self) -> float:
        """Largest possible distance of the bound from the optimum."""
        return 1.0 if self.value is None else abs(self.bound - self.value)


class _Attained:
    """Marks of the ends of ranges that some point attains: no linear program can move these."""

    def __init__(self, program: PolynomialProgram) -> None:
        self.program = program
        width = program.upper - program.lower
        finite = np.isfinite(width)
        self.near = np.where(finite, NEAR * width, 0.0)
        self.by = np.array([finite & (width <= NARROW * program.upper)] * 2)

    def note(self, point: np.ndarray | None) -> None:
        if point is not None:
            self.by[0] |= point <= self.program.lower + self.near
            self.by[1] |= point >= self.program.upper - self.near


@dataclass(frozen=True, eq=False)
class Box:
    """A program with tightened ranges, the bound proved for it, and a point of its relaxation.

    ``cost``: the objective at the point. ``narrowed``: whether linear programs have tightened its ranges.
    """

    program: PolynomialProgram
    bound: float
    point: np.ndarray | None
    cost: float = math.inf
    narrowed: bool = False


class Search:
    """A best-first branch and bound that minimises ``cost @ x``; it can be stopped and continued.

    ``sign`` is -1 for a maximum, whose cost is negated.
    """

    def __init__(
        self, program: PolynomialProgram, cost: np.ndarray, tolerance: float, scale: float, sign: float
    ) -> None:
        self.cost, self.tolerance, self.sign = cost, tolerance, sign
        self.small = SMALL * scale
        self.best = math.inf
        self.nodes = 0
        self._order = itertools.count()
        self._waiting: list[tuple[float, int, Box]] = []
        self.theta = np.unique(program.products[:, 1])
        self._cut = math.inf
        self.program = program
        self._started = False
        self.until = math.inf

    def run(self, until: float, watch: Callable[[float], None] | None = None) -> End:
        """Search until a moment of the monotonic clock; ``watch`` is called with the gap after each split.

        Raises :class:`InfeasibleError` where the program has no solution.
        """
        self.until = until
        if not self._started:
            self._started = True
            self._open(self.program, -math.inf)
        while self._waiting:
            bound, _, box = self._waiting[0]
            if self._close(bound):
                return self._proof(min(bound, self._cut), True)
            if time.monotonic() > until:
                return self._proof(min(bound, self._cut), False)
            heapq.heappop(self._waiting)
            if not box.narrowed:
                self._narrow(box)
                continue
            children = self._split(box)
            if not children:
                heapq.heappush(self._waiting, (bound, next(self._order), box))
                return self._proof(min(bound, self._cut), False)
            for child in children:
                self._open(child, bound)
            if watch is not None and self.best < math.inf:
                watch(abs(self.best - bound))
        return self._proof(self._cut, True)

    @property
    def has_products(self) -> bool:
        return len(self.theta) > 0

    def _proof(self, bound: float, done: bool) -> End:
        if bound == math.inf:
            raise InfeasibleError
        value = self.sign * self.best if self.best < math.inf else None
        more = None if done or not self.has_products else self._on
        return End(self.sign * bound, value, self.nodes, more, done)

    def _on(self, seconds: float) -> End:
        return self.run(time.monotonic() + seconds)

    def _close(self, bound: float) -> bool:
        return self.best < math.inf and bound >= self._limit()

    def _limit(self) -> float:
        """The pruning limit: the best value less the tolerance."""
        if self.best == math.inf:
            return math.inf
        return self.best - self.tolerance * max(abs(self.best), self.small)

    def _open(self, program: PolynomialProgram, parent: float) -> None:
        """Bound a box and keep it, unless it is proved to be infeasible or to be beyond the pruning limit."""
        self.nodes += 1
        self._keep(self._bounded(program, parent))

    def _narrow(self, box: Box) -> None:
        """Tighten the ranges of a box that stays open by linear programs, and keep it if it is feasible."""
        narrower = self._narrowed(box, MOST_ROUNDS)
        self._keep(None if narrower is None else replace(narrower, narrowed=True))

    def _keep(self, box: Box | None) -> None:
        if box is None:
            return
        self._try(box)
        if self._close(box.bound):
            self._cut = min(self._cut, box.bound)
        else:
            heapq.heappush(self._waiting, (box.bound, next(self._order), box))

    def _bounded(self, program: PolynomialProgram, parent: float) -> Box | None:
        if time.monotonic() > self.until:
            return Box(program, max(parent, self._at_least(program)), None, narrowed=not self.has_products)
        tight = tightened(program, self.until)
        if tight is None:
            return None
        # without products the relaxation is exact: its point is the result, so that its cost matters
        solved = least(self.cost, relaxed(tight), self.until, finely=not self.has_products)
        if solved.bound == math.inf:
            return None
        bound = max(solved.bound, parent, self._at_least(tight))
        return Box(tight, bound, solved.point, solved.cost, narrowed=not len(self.theta))

    def _at_least(self, program: PolynomialProgram) -> float:
        """0, free of rounding, where no cost and no range that it multiplies is negative; else -inf."""
        return 0.0 if (self.cost >= 0).all() and (program.lower[self.cost > 0] >= 0).all() else -math.inf

    def _try(self, box: Box) -> None:
        """Look for a better point: fix the conditional probabilities near those of the relaxation's point."""
        if box.point is None or self._close(box.bound):
            return
        if not len(self.theta):
            value = box.cost
        else:
            guess, _ = _guesses(box)
            lower, upper = box.program.lower.copy(), box.program.upper.copy()
            lower[self.theta] = upper[self.theta] = np.clip(guess, lower[self.theta], upper[self.theta])
            at_point = replace(box.program, lower=lower, upper=upper)
            linear = relaxed(at_point)
            value = least(self.cost, linear, self.until).cost
            if value < self.best:
                value = least(self.cost, linear, self.until, finely=True).cost
        self.best = min(self.best, value)

    def _narrowed(self, box: Box, rounds: int) -> Box | None:
        """The box with the ranges of all factors of products tightened by linear programs.

        None where the box is proved to be infeasible.
        """
        for _ in range(rounds):
            program = box.program
            before = (program.upper - program.lower)[self.theta].sum()
            lower, upper = program.lower.copy(), program.upper.copy()
            linear = relaxed(program)
            limit = self._limit()
            if math.isfinite(limit):
                costly = np.flatnonzero(self.cost)
                linear = linear.with_row(costly, self.cost[costly], -np.inf, limit)
                self._cut = min(self._cut, limit)
            attained = _Attained(program)
            attained.note(box.point)
            for variable in np.unique(program.products[:, 1:]):
                for at_upper in (False, True):
                    if attained.by[int(at_upper), variable] or time.monotonic() > self.until:
                        continue
                    cost = np.zeros(program.size)
                    cost[variable] = -1.0 if at_upper else 1.0
                    # no refinement: a range that is wider by 1e-10 of it prunes as well
                    bound, point, _ = least(cost, linear, self.until, rounds=0)
                    if bound == math.inf:
                        return None
                    attained.note(point)
                    if at_upper:
                        upper[variable] = min(upper[variable], -bound)
                    else:
                        lower[variable] = max(lower[variable], bound)
            smaller = self._bounded(replace(program, lower=lower, upper=upper), box.bound)
            if smaller is None:
                return None
            box = smaller
            shrunk = (box.program.upper - box.program.lower)[self.theta].sum() <= ENOUGH * before
            if not shrunk or self._close(box.bound) or time.monotonic() > self.until:
                break
        return box

    def _split(self, box: Box) -> list[PolynomialProgram]:
        """Split the box at the conditional probability whose products the relaxation violates most.

        Empty where there are no products, or all ranges are narrow.
        """
        if not self.has_products:
            return []
        lower, upper = box.program.lower[self.theta], box.program.upper[self.theta]
        if box.point is None:
            at, broken = (lower + upper) / 2, upper - lower
        else:
            at, broken = _guesses(box)
        width = upper - lower
        broken = np.where(width > NARROW, broken, 0.0)
        chosen = int(np.argmax(broken))
        if broken[chosen] <= 0:
            chosen = int(np.argmax(width))
            if width[chosen] <= NARROW:
                return []
        margin = MARGIN * width[chosen]
        place = min(max(at[chosen], lower[chosen] + margin), upper[chosen] - margin)
        halves = []
        for side in (False, True):
            ends = box.program.lower.copy(), box.program.upper.copy()
            ends[0 if side else 1][self.theta[chosen]] = place
            halves.append(replace(box.program, lower=ends[0], upper=ends[1]))
        return halves


def _guesses(box: Box) -> tuple[np.ndarray, np.ndarray]:
    """For each conditional probability its weighted mean over its products at the point, and their error."""
    assert box.point is not None
    program = box.program
    result, left, right = program.products.T
    theta, number = np.unique(left, return_inverse=True)
    part, whole = box.point[result], box.point[right]
    top, bottom = np.bincount(number, part), np.bincount(number, whole)
    guess = np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1.0), box.point[theta])
    guess = np.clip(guess, program.lower[theta], program.upper[theta])
    return guess, np.bincount(number, np.abs(part - guess[number] * whole))


def relaxed(program: PolynomialProgram) -> LinearProgram:
    """The linear relaxation: each product lies between its McCormick envelopes over its factors' ranges.

    Envelopes at an infinite end are left out.
    """
    ends = program.row_lower, program.row_upper, program.lower, program.upper
    linear = LinearProgram(program.rows, *ends)
    if not len(program.products):
        return linear
    theta, wholes = program.products[:, 1:].T
    low, high = program.lower[theta], program.upper[theta]
    least_whole, most_whole = program.lower[wholes], program.upper[wholes]
    at = np.concatenate([low, high, high, low])
    whole = np.concatenate([least_whole, most_whole, least_whole, most_whole])
    below = np.repeat([True, False], 2 * len(theta))
    finite = np.isfinite(whole)
    return _enveloped(
        linear, np.tile(program.products, (4, 1))[finite], at[finite], whole[finite], below[finite]
    )


def _enveloped(
    linear: LinearProgram, products: np.ndarray, at: np.ndarray, whole: np.ndarray, below: np.ndarray
) -> LinearProgram:
    """The program with these rows: w - at * right - whole * left >= - at * whole where ``below``, and <=
    elsewhere, the ends rounded outward."""
    count = len(products)
    factors = np.concatenate([np.ones(count), -whole, -at])
    places = np.tile(np.arange(count), 3), products.T.reshape(-1)
    product = at * whole
    exact = (product == 0) & ((at == 0) | (whole == 0))
    end = np.where(exact, 0.0, -np.nextafter(product, np.where(below, np.inf, -np.inf)))
    rows = csr_array((factors, places), (count, len(linear.lower)))
    return linear.with_rows(rows, np.where(below, end, -np.inf), np.where(below, np.inf, end))


# The proved optimum of a linear function


TOLERANCE = 1e-6
Watch = Callable[[float], None]
"""A function called with the current gap during a search."""


class InfeasibleError(Exception):
    """Raised where it is proved that nothing satisfies the program."""


def optimum(
    program: PolynomialProgram,
    variables: np.ndarray,
    factors: np.ndarray,
    *,
    least: bool,
    seconds: float,
    tolerance: float = TOLERANCE,
    watch: Watch | None = None,
) -> End:
    """Minimise or maximise ``factors @ variables``; the tolerance is relative to the optimum.

    Raises :class:`InfeasibleError` where the program has no solution.
    """
    if seconds <= 0:  # even one round of tightening takes long where a table is large
        return End(-math.inf if least else math.inf, None, 0, proved=False)
    cost = np.zeros(program.size)
    np.add.at(cost, variables, factors if least else -factors)
    until = time.monotonic() + seconds
    tight = tightened(program, until)
    if tight is None:
        raise InfeasibleError
    # the largest size of the objective over the ranges, which SMALL is a share of
    ends = np.where(cost > 0, tight.upper, tight.lower), np.where(cost > 0, tight.lower, tight.upper)
    sizes = [abs(float(cost[at] @ end[at])) for end in ends if len(at := np.flatnonzero(cost))]
    largest = max(sizes, default=0.0)
    scale = largest if math.isfinite(largest) else 1.0
    return Search(tight, cost, tolerance, scale, 1.0 if least else -1.0).run(until, watch)
