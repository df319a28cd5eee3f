"""How far a parallel update goes towards what the messages say.

All atoms moved at once can overshoot: then the bound on log Z falls along the move, its slope there is
negative, and the oscillation of recursive rules begins. So the stride is halved when the last move went
past the best point of its own direction, and grows again while moves fall short of it.

>>> after_slope(1.0, -0.1), after_slope(0.5, 0.1)
(0.5, 0.6)
"""

SHORTEST, LONGEST = 1 / 1024, 1.0
GROWTH = 1.2


def after_slope(stride: float, slope: float) -> float:
    """The next stride; ``slope`` is that of the bound, at its end, along the last move."""
    return max(SHORTEST, stride / 2) if slope < 0 else min(LONGEST, stride * GROWTH)
