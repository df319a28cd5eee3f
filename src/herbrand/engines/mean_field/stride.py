"""How far a parallel update goes towards the sum of the messages.

All atoms moved at once can overshoot: then the bound on log Z falls along the move, its slope there is
negative, and the oscillation of recursive rules begins. So the stride is halved when the last move went past
the best point of its own direction, and grows again while moves fall short of it.

>>> after_slope(1.0, Slope(-0.1, 0.3)), after_slope(0.5, Slope(0.1, 0.1))
(0.5, 0.6)
"""

from __future__ import annotations

from dataclasses import dataclass

# A slope below ROUNDING times its size counts as none: its sign is that of rounding errors.
SHORTEST, LONGEST = 1 / 1024, 1.0
GROWTH = 1.2
ROUNDING = 1e-13


@dataclass(frozen=True)
class Slope:
    """Slope of the bound along a move, at its end: for each atom, target minus logit times the change of its
    marginal, summed.

    Where the terms cancel, the remainder is rounding and depends on the order of the sums. ``size``: at least
    the sum of the changes of the marginals, each times 1 + |logit| + |target - logit|.
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
    """The next stride; ``slope``: of the bound along the last move, at its end."""
    return max(SHORTEST, stride / 2) if slope.falls else min(LONGEST, stride * GROWTH)
