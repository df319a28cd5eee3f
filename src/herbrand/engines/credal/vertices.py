"""Tightest intervals in networks of separate rows, by branch and bound over the rows' ends.

``P(event | given)`` is the ratio of two sums of products of rows, each linear in every single row. So it is
monotone in each row, all others held fixed, and its ends lie where every row is at one of its ends (the
vertices of a separately specified credal network). The search is over these:

- the odds ``P(event and given) : P(not event and given)`` of a *box*, some rows at an end and the others
  anywhere between theirs, are enclosed by eliminating the atoms with enclosures of all rows;
- with A : A' the odds' two masses where a row is 1 and B : B' where it is 0, the odds rise with the row where
  A B' > B A'. Where enclosures decide that, or one mass never falls with the row and the other never rises
  (:mod:`.directions`), the row is fixed at its end; else the box is split;
- all vertices of a box with few of them are evaluated at once.

All arithmetic is rounded outward (:mod:`.rounding`), so a bound is a proof, at any scale. A row that makes
the condition impossible at one end does not change the odds, and is fixed at its other end.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time

import numpy as np

from herbrand.engines.credal.branch_and_bound import End
from herbrand.engines.credal.directions import FALLS, RISES
from herbrand.engines.credal.masses import FREE, Masses
from herbrand.engines.credal.rounding import Enclosure, share

ROUNDING = 1e-12
"""Smallest relative tolerance: a smaller one would need more digits than doubles have."""


def vertex_end(masses: Masses, least: bool, tolerance: float, until: float) -> End:
    """Search for one end of the probability whose odds are those of two masses, of a possible condition.

    ``value`` of the result is that of a network that satisfies every sentence. ``tolerance`` is relative to
    the end; ``until``: a moment of the monotonic clock.
    """
    search = _Search(masses, least, tolerance, until)
    bound = search.bound()
    return End(bound, search.reached, search.boxes, proved=search.near(bound))


class _Search:
    """A best-first search over boxes that minimises the odds of the event, or of its negation.

    The minimum for the negation gives the greatest probability of the event.
    """

    def __init__(self, masses: Masses, least: bool, tolerance: float, until: float) -> None:
        self.masses, self.least = masses if least else masses.of_negation, least
        self.tolerance, self.until = tolerance, until
        self.reached = 1.0 if least else 0.0
        self.any_reached = False
        self.boxes = 0
        self.order = itertools.count()
        self.waiting: list[tuple[float, int, float, np.ndarray, int]] = []
        wanted, other = self.masses.moves
        self.rising = ((wanted & FALLS) == 0) & ((other & RISES) == 0)
        self.falling = ((wanted & RISES) == 0) & ((other & FALLS) == 0)

    def bound(self) -> float:
        """Search until the tolerance or the time limit; return a bound that no vertex goes beyond."""
        self._look_at(np.where(self.masses.fixed, 0, FREE))
        while self.waiting:
            _, _, end, rows, row = heapq.heappop(self.waiting)
            if (rows != FREE).all() or self.near(end) or time.monotonic() > self.until:
                return end
            for choice in (0, 1):
                child = rows.copy()
                child[row] = choice
                self._look_at(child)
        return self.reached

    def near(self, end: float) -> bool:
        """Whether a bound is within the tolerance of the best value reached."""
        return self.any_reached and abs(end - self.reached) <= max(self.tolerance, ROUNDING) * self.reached

    def _look_at(self, rows: np.ndarray) -> None:
        """Fix the rows whose direction is decided, bound the box, and put it on the queue.

        Also note the value of a likely best vertex of it.
        """
        self.boxes += 1
        slope = np.empty(0)
        if not self.masses.has_few_vertices(rows):
            rows, slope = self._settled(rows)
        if self.masses.has_few_vertices(rows):
            rows = self._best_vertex(rows)
        one, other = self.masses.of(rows)
        if float(one.high[0]) == 0 and float(other.high[0]) == 0:
            return  # the condition is impossible in this box
        odds = math.inf if other.high[0] == 0 else float(one.low[0]) / float(other.high[0])
        free = np.flatnonzero(rows == FREE)
        guess, split = rows.copy(), FREE
        if len(free):
            guess[free] = slope < 0
            split = int(free[np.argmax(np.abs(slope) * self.masses.width_of(free))])
        bound = self._end(float(one.low[0]), float(other.high[0]), outward=True)
        heapq.heappush(self.waiting, (odds, next(self.order), bound, rows, split))
        self._reach(*(self.masses.of(guess) if len(free) else (one, other)))

    def _best_vertex(self, rows: np.ndarray) -> np.ndarray:
        """The vertex of a box with the least odds, all vertices evaluated at once."""
        free = np.flatnonzero(rows == FREE)
        vertices = np.tile(rows, (1 << len(free), 1))
        vertices[:, free] = np.arange(len(vertices))[:, None] >> np.arange(len(free)) & 1
        one, other = self.masses.of(vertices)
        impossible = (one.high == 0) & (other.high == 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = one.low / other.high
        return vertices[np.lexsort((odds, impossible))[0]]

    def _end(self, one: float, other: float, *, outward: bool) -> float:
        """The required end by two masses, the one to minimise first."""
        towards = 0.0 if outward == self.least else 1.0
        return share(one, other, towards) if self.least else share(other, one, towards)

    def _reach(self, one: Enclosure, other: Enclosure) -> None:
        """Note the value of a vertex by its two masses, rounded inward: a gap must not be underestimated.

        Nothing where the condition may be impossible at the vertex.
        """
        if one.low[0] == 0 and other.low[0] == 0:
            return
        value = self._end(float(one.high[0]), float(other.low[0]), outward=False)
        self.reached = (min if self.least else max)(self.reached, value)
        self.any_reached = True

    def _settled(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Fix every row whose direction is decided over the box, as far as the time allows; return rows, and
        slopes of the free ones."""
        several = True
        while (rows == FREE).any():
            free = np.flatnonzero(rows == FREE)
            masses = self.masses.with_rows(rows, free, self.until)
            if masses is None:
                return rows, np.zeros(len(free))
            (a, a_rest), (b, b_rest) = masses
            up, down = a.times(b_rest), b.times(a_rest)
            rising = (up.low >= down.high) | self.rising[free]
            falling = (up.high <= down.low) | self.falling[free]
            strict = np.flatnonzero(rising != falling)
            tried = rows.copy()
            if len(strict):
                chosen = strict if several else strict[:1]
                tried[free[chosen]] = falling[chosen]
            else:
                constant = np.flatnonzero(rising & falling)[:1]
                if not len(constant):
                    return rows, _middle_slopes(a, a_rest, b, b_rest)
                more_at_one = (a.high + a_rest.high) >= (b.high + b_rest.high)
                tried[free[constant]] = more_at_one[constant]
            one, other = self.masses.of(tried)
            if several and len(strict) and one.high[0] == 0 and other.high[0] == 0:
                several = False  # together they make the condition impossible: fix them one by one
                continue
            rows, several = tried, True
        return rows, np.empty(0)


def _middle_slopes(a: Enclosure, a_rest: Enclosure, b: Enclosure, b_rest: Enclosure) -> np.ndarray:
    """Slopes of the odds in each row in the middle of a box, up to a positive factor."""
    mid = [(slope.low + slope.high) / 2 for slope in (a, a_rest, b, b_rest)]
    scale = max(float(slope.max()) for slope in mid) or 1.0
    a_mid, a_rest_mid, b_mid, b_rest_mid = (slope / scale for slope in mid)
    return a_mid * b_rest_mid - b_mid * a_rest_mid
