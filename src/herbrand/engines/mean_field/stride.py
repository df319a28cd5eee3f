"""How far a parallel update goes towards what the messages say.

All atoms moved at once can overshoot: then the bound on log Z falls along the move, its slope there is
negative, and the oscillation of recursive rules begins. So the stride is halved when the last move went
past the best point of its own direction, and grows again while moves fall short of it.

>>> after_slope(1.0, Slope(-0.1, 0.3)), after_slope(0.5, Slope(0.1, 0.1))
(0.5, 0.6)
"""

from __future__ import annotations

from dataclasses import dataclass

SHORTEST, LONGEST = 1 / 1024, 1.0
GROWTH = 1.2
ROUNDING = 1e-13


@dataclass(frozen=True)
class Slope:
    """Of the bound along a move: for each atom what its logit lacks times how far its marginal came, summed.

    Where all that cancels, what is left is rounding, and depends on the order of the sums. ``size`` is at
    least the sum of the ways that the marginals came, each times 1 + |logit| + |what it lacks|.
    """

    value: float = 0.0
    size: float = 0.0

    def __add__(self, other: Slope) -> Slope:
        return Slope(self.value + other.value, self.size + other.size)

    def __mul__(self, times: float) -> Slope:
        return Slope(self.value * times, self.size * times)

    @property
    def falls(self) -> bool:
        return self.value < -ROUNDING * self.size


def after_slope(stride: float, slope: Slope) -> float:
    """The next stride; ``slope`` is that of the bound, at its end, along the last move."""
    return max(SHORTEST, stride / 2) if slope.falls else min(LONGEST, stride * GROWTH)
