"""Anderson acceleration of expectation maximisation: extrapolated steps that go further than its own.

A step of expectation maximisation covers a part of the way to a maximum, and a smaller part the more is
hidden. The last few steps show how steps change with the point, hence where they would become zero
(Anderson's multisecant step). The caller takes the extrapolated point only if the function rises there, and
otherwise the plain step.

Walker, Ni, "Anderson acceleration for fixed-point iterations" (SIAM J. Numer. Anal. 2011); for expectation
maximisation with a monotone safeguard: Henderson, Varadhan, "Damped Anderson acceleration with restarts and
monotonicity control" (JCGS 2019).

>>> leaps, point = Leaps(), np.array([0.5, 0.5])
>>> for _ in range(3):  # each step goes a tenth of the way to (0.2, 0.8)
...     step = 0.9 * point + 0.1 * np.array([0.2, 0.8])
...     point = leaps.beyond(point, step)
>>> point.round(6).tolist()
[0.2, 0.8]
"""

from __future__ import annotations

import numpy as np

STEPS_KEPT = 4
"""Number of earlier steps kept: two or three need a tenth more evaluations on random programs, five no
fewer."""
SINGULAR = 1e-10
"""Differences of steps smaller than this share of the largest are rounding error."""
MOST_SHRUNK = 0.01
"""Least part of a plain step's share that a leap leaves."""
SMALLEST_SHARE = 1e-10
"""Least share that a leap, unlike a plain step, may produce: smaller ones grow back too slowly."""


class Leaps:
    """The last points with the steps from them, as vectors of shares."""

    def __init__(self) -> None:
        self.points: list[np.ndarray] = []
        self.moves: list[np.ndarray] = []

    def forget(self) -> None:
        """Keep only the last step, after a leap that lowered the function."""
        self.points, self.moves = self.points[-1:], self.moves[-1:]

    def beyond(self, point: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The extrapolated point, given a point and its plain step's result ``step``; its shares need not sum
        to 1. Without earlier steps it is ``step`` itself."""
        move = step - point
        self.points = [*self.points, point][-STEPS_KEPT - 1 :]
        self.moves = [*self.moves, move][-STEPS_KEPT - 1 :]
        if len(self.points) == 1:
            return step
        points, moves = np.diff(self.points, axis=0).T, np.diff(self.moves, axis=0).T
        ahead = -(points + moves) @ np.linalg.lstsq(moves, move, rcond=SINGULAR)[0]
        if ahead @ move < 0:
            # Near a maximum plain steps are too short. A leap backwards would lead to a saddle: go the other
            # way as far.
            ahead = -ahead
        # A growing share near 0 must not be lost, even if all shares together rise faster without it.
        least = np.where(move > 0, point, np.maximum(MOST_SHRUNK * step, np.minimum(step, SMALLEST_SHARE)))
        return np.maximum(step + ahead, least)
