"""The ends of a query in a network with few conditional probabilities, by a search over boxes of these.

Where sentences join atoms that nothing links, such as ``P(a xor b xor c) = 0.5``, every mass is a sum of
products of independent rows. The program over tables (:mod:`.cluster_program`) relaxes these products one
after another, and needs hundreds of linear programs for three atoms. Here each sentence and the query stay
whole: linear in each row, so that their extremes over a box lie at its corners (:mod:`.corner_masses`).

A box is cut to where each sentence can hold: with all other rows at one corner, that is a range of the
remaining row, and the union of these ranges holds all its values. Boxes without any value are left out, and
so are those that do not improve on the best network reached (:mod:`.proved_networks`) by more than the
tolerance. What is left of a box is halved at its widest row.

Every step is rounded outward, so an end is proved. The search does limited work: where many rows and few
sentences leave too many boxes, the program over tables goes on.

>>> from herbrand.engines.credal.corner_masses import CornerMasses
>>> event, other = np.array([[0.0, 0, 0, 1], [0, 0, 1, 1]]), np.array([[1.0, 1, 1, 0], [1, 1, 0, 0]])
>>> ends = np.array([0.25, 0]), np.array([0.25, 1])
>>> masses = CornerMasses(np.zeros(2), np.ones(2), event, other, *ends, np.ones(4))
>>> end = corner_end(masses, least=True, tolerance=1e-6)
>>> end.proved, round(end.bound, 9)
(True, 0.25)
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from herbrand.engines.credal.branch_and_bound import SMALL, End
from herbrand.engines.credal.corner_masses import LEAST, CornerMasses, at_corners
from herbrand.engines.credal.proved_networks import (
    Conditions,
    ProvedNetwork,
    proved_network,
    with_multipliers,
)
from herbrand.engines.credal.rounding import UNIT, share

FINER = 1e-4
"""Share of the tolerance to which ends are searched while work is left."""
MOST_CORNERS = 1 << 14
"""Most corners of boxes that a search looks at."""
BATCH = 64
"""Most boxes that are cut together."""
TINY = 1e-300
"""Absolute error that covers numbers too small for relative errors."""


def corner_end(masses: CornerMasses, *, least: bool, tolerance: float, until: float = math.inf) -> End | None:
    """The proved lower or upper end of the query; ``None`` where work or time ended first, or nothing holds.

    ``tolerance`` is relative to the end; ``until``: a moment of the monotonic clock.
    """
    return _Search(masses, least, tolerance).run(until)


class _Boxes(NamedTuple):
    """Boxes of rows with the least cost of each: the query's share, negative where its greatest is wanted."""

    lower: np.ndarray  # [boxes, rows]
    upper: np.ndarray
    cost: np.ndarray  # [boxes]

    def of(self, which: np.ndarray | slice) -> _Boxes:
        return _Boxes(self.lower[which], self.upper[which], self.cost[which])

    def and_also(self, other: _Boxes) -> _Boxes:
        return _Boxes(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


class _Search:
    """A best-first search over boxes, many of them at once."""

    def __init__(self, masses: CornerMasses, least: bool, tolerance: float) -> None:
        self.masses, self.tolerance = masses, tolerance
        self.sign = 1.0 if least else -1.0
        self.best, self.best_point = math.inf, masses.row_lower
        self.closed = math.inf
        self.nodes = 0

    def run(self, until: float) -> End | None:
        boxes = _Boxes(self.masses.row_lower[None], self.masses.row_upper[None], np.array([-math.inf]))
        corners = 0
        while len(boxes.cost):
            corners += min(len(boxes.cost), BATCH) << self.masses.rows
            if corners > MOST_CORNERS or time.monotonic() > until:
                break
            boxes = self._round(boxes)
        return self._end(float(min([self.closed, *boxes.cost])))

    def _round(self, boxes: _Boxes) -> _Boxes:
        """Cut the boxes of least cost, and halve those that stay wide."""
        boxes = boxes.of(np.argsort(boxes.cost, kind="stable"))
        first, rest = boxes.of(slice(BATCH)), boxes.of(slice(BATCH, None))
        self.nodes += len(first.cost)
        cut = self._cut(first)
        if not len(cut.cost):
            return rest
        cut = self._costed(cut)
        self._reach(cut)
        return self._kept(_halved(cut, self.masses).and_also(rest))

    def _limit(self, finer: float = FINER) -> float:
        """The cost above which boxes are closed: the best less a share of the tolerance."""
        if self.best == math.inf:
            return math.inf
        return self.best - finer * self.tolerance * max(abs(self.best), SMALL)

    def _kept(self, boxes: _Boxes) -> _Boxes:
        open_ones = boxes.cost < self._limit()
        self.closed = min([self.closed, *boxes.cost[~open_ones & (boxes.cost < math.inf)]])
        return boxes.of(open_ones)

    def _end(self, cost: float) -> End | None:
        """The end that is proved, if the best network reached is within the tolerance of it."""
        if self.best == math.inf or cost < self._limit(1.0):
            return None
        return End(self.sign * cost, self.sign * self.best, self.nodes)

    def _cut(self, boxes: _Boxes) -> _Boxes:
        """Cut boxes to ranges in which every sentence can hold and the best is improved; drop empty ones."""
        slack = self._slack(at_corners(self.masses.tables, boxes.lower, boxes.upper))
        lower, upper = boxes.lower.copy(), boxes.upper.copy()
        holds = np.ones(len(lower), bool)
        for row in range(self.masses.rows):
            first, last = _shares_left(slack, row)
            holds &= first <= last
            width = boxes.upper[:, row] - boxes.lower[:, row]
            low, high = boxes.lower[:, row] + first * width, boxes.lower[:, row] + last * width
            lower[:, row] = np.where(
                first > 0, np.maximum(np.nextafter(low, 0), lower[:, row]), lower[:, row]
            )
            upper[:, row] = np.where(
                last < 1, np.minimum(np.nextafter(high, 2), upper[:, row]), upper[:, row]
            )
        lower = np.where(lower < LEAST, 0.0, lower)
        upper = np.where((upper > 0) & (upper < LEAST), LEAST, upper)
        return _Boxes(lower, upper, boxes.cost).of(holds)

    def _slack(self, values: np.ndarray) -> np.ndarray:
        """[boxes, conditions, corners] By how much each condition holds at most; negative where it does not.

        Conditions are both ends of each sentence, and that the query improves on the best.
        """
        masses, (event, other) = self.masses, np.split(values, 2, axis=1)
        lower, upper = masses.lower, masses.upper
        above = _difference((1 - lower)[:, None] * event, lower[:, None] * other, masses.error)
        below = _difference(upper[:, None] * other, (1 - upper)[:, None] * event, masses.error)
        stated = above[:, lower > 0], below[:, upper < 1]
        return np.concatenate([*stated, *self._improvements(values)], axis=1)

    def _improvements(self, values: np.ndarray) -> Iterator[np.ndarray]:
        """Slack of the condition that the query improves, alone and with multiples of sentences."""
        if self.best == math.inf:
            return
        self.closed = min(self.closed, self._limit())
        for conditions in (self._objective(), self._improvement()):
            slack, size = conditions.values(values)
            yield (slack + 2 * self.masses.error * size).sum(1, keepdims=True) + TINY

    def _improvement(self) -> Conditions:
        """The same condition with multiples of sentences, flat around the best network."""
        return with_multipliers(self.masses, self._objective(), self.best_point)

    def _objective(self) -> Conditions:
        """The condition that the query costs less than what closes boxes."""
        end = min(max(self.sign * self._limit(), 0.0), 1.0)
        ends = (np.array([self.sign * factor]) for factor in (end - 1, -end))
        return Conditions(np.array([len(self.masses.event) - 1]), *ends)

    def _costed(self, boxes: _Boxes) -> _Boxes:
        """The boxes with the least cost of each: at corners where the condition is possible."""
        values = at_corners(self.masses.tables, boxes.lower, boxes.upper)
        event, other = np.split(values, 2, axis=1)
        shares = self._rounded_shares(event[:, -1], other[:, -1])
        return boxes._replace(cost=np.maximum(boxes.cost, shares.min(1, initial=math.inf)))

    def _rounded_shares(self, event: np.ndarray, other: np.ndarray) -> np.ndarray:
        """The signed share of the event in both masses, rounded down; infinite where both are 0."""
        whole = event + other
        share = np.divide(event, whole, out=np.full_like(whole, math.inf), where=whole > 0)
        certain = (event == 0) | (other == 0)
        outward = 1 - self.sign * np.where(certain, 0.0, 2 * self.masses.error)
        return np.where(whole > 0, np.maximum(self.sign * share * outward, min(self.sign, 0.0)), math.inf)

    def _reach(self, boxes: _Boxes) -> None:
        """Look for a better network in the box of least cost."""
        box = boxes.of(np.array([boxes.cost.argmin()]))
        for point in self._starts(box):
            network = proved_network(self.masses, point)
            if network is None:
                continue
            cost = self._cost_at_most(network)
            if cost < self.best:
                self.best, self.best_point = cost, network.point
            return

    def _cost_at_most(self, network: ProvedNetwork) -> float:
        """The greatest cost of the query within the ranges of its masses."""
        (low, high), (low_other, high_other) = network.event, network.other
        return share(high, low_other, 1.0) if self.sign > 0 else -share(low, high_other, 0.0)

    def _starts(self, box: _Boxes) -> Iterator[np.ndarray]:
        """Points of one box from which to look: the corner that promises most, and the middle."""
        values = at_corners(self.masses.tables, box.lower, box.upper)
        if self.best < math.inf:
            slack, _ = self._improvement().values(values)
            yield self._corner(box, int(slack.sum(1)[0].argmax()))
        else:
            event, other = np.split(values[0], 2)
            yield self._corner(box, int(self._rounded_shares(event[-1], other[-1]).argmin()))
        yield (box.lower[0] + box.upper[0]) / 2

    def _corner(self, box: _Boxes, corner: int) -> np.ndarray:
        bits = corner >> np.arange(self.masses.rows)[::-1] & 1
        return np.where(bits, box.upper[0], box.lower[0])


def _difference(one: np.ndarray, two: np.ndarray, error: float) -> np.ndarray:
    """The difference of two masses of this relative error, rounded up."""
    return one - two + error * (one + two) + TINY


def _shares_left(slack: np.ndarray, row: int) -> tuple[np.ndarray, np.ndarray]:
    """[boxes] The least and the greatest share of a row's range at which every condition may hold.

    The greatest is below the least where some condition cannot hold.
    """
    boxes, conditions, corners = slack.shape
    if not conditions:
        return np.zeros(boxes), np.ones(boxes)
    sides = slack.reshape(boxes, conditions, 2**row, 2, corners >> (row + 1))
    low, high = sides[:, :, :, 0], sides[:, :, :, 1]
    crossing = np.divide(low, low - high, out=np.zeros_like(low), where=(low < 0) != (high < 0))
    first = np.where(low >= 0, 0.0, np.where(high >= 0, crossing * (1 - 8 * UNIT), 2.0))
    last = np.where(high >= 0, 1.0, np.where(low >= 0, np.minimum(crossing * (1 + 8 * UNIT), 1.0), -1.0))
    return first.min((2, 3)).max(1), last.max((2, 3)).min(1)


def _halved(cut: _Boxes, masses: CornerMasses) -> _Boxes:
    """The halves of each box at the row that is widest, as a share of that row's whole range."""
    whole = np.maximum(masses.row_upper - masses.row_lower, LEAST)
    width = (cut.upper - cut.lower) / whole
    row = width.argmax(1)
    each = np.arange(len(row))
    middle = (cut.lower[each, row] + cut.upper[each, row]) / 2
    lower, upper = cut.lower.copy(), cut.upper.copy()
    upper[each, row] = lower[each, row] = middle
    return _Boxes(cut.lower, upper, cut.cost).and_also(_Boxes(lower, cut.upper, cut.cost))
