"""Anderson acceleration of expectation maximisation: points further ahead than its own step leads.

A step of expectation maximisation covers a part of the way to a top, and the smaller a part the more is
hidden. The last few steps show how steps change with the point, hence where they would come to rest
(Anderson's multisecant step). Whoever climbs takes that point only where the function rises there, and
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
"""Three kept steps or two need a tenth more evaluations on random programs, five no fewer."""
SINGULAR = 1e-10
"""Differences of steps that are this much smaller than the largest are rounding."""
MOST_SHRUNK = 0.01
"""A leap leaves this much of what the step leaves of a share."""
SMALLEST_SHARE = 1e-10
"""Only plain steps make shares smaller: from less, one that should have grown hardly comes back."""


class Leaps:
    """The last points and the steps from them, all of them vectors of shares."""

    def __init__(self) -> None:
        self.points: list[np.ndarray] = []
        self.moves: list[np.ndarray] = []

    def forget(self) -> None:
        """Keep the last step alone, after a leap that led down."""
        self.points, self.moves = self.points[-1:], self.moves[-1:]

    def beyond(self, point: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Where to go from the point, where a step leads to ``step``: shares that need not add up to 1. With
        no earlier step this is ``step`` itself."""
        move = step - point
        self.points = [*self.points, point][-STEPS_KEPT - 1 :]
        self.moves = [*self.moves, move][-STEPS_KEPT - 1 :]
        if len(self.points) == 1:
            return step
        points, moves = np.diff(self.points, axis=0).T, np.diff(self.moves, axis=0).T
        ahead = -(points + moves) @ np.linalg.lstsq(moves, move, rcond=SINGULAR)[0]
        if ahead @ move < 0:
            # At a top plain steps fall short. A way back leads to a saddle: as far from it as it is near.
            ahead = -ahead
        # A share near 0 that grows must not be lost, though all shares together rise faster without it.
        least = np.where(move > 0, point, np.maximum(MOST_SHRUNK * step, np.minimum(step, SMALLEST_SHARE)))
        return np.maximum(step + ahead, least)
