"""Damping that is raised by itself where rounds do not help.

>>> is_due(9, 0.0), is_due(10, 0.0), is_due(10, 0.5)
(False, True, False)
>>> raised(0.0, moved=1.0, mark=1.5), raised(0.5, moved=0.1, mark=1.5)
(0.5, 0.5)
"""

from __future__ import annotations

PATIENCE = 10
"""Undamped rounds in which the residual should halve; damped ones move less, and get as many more."""

LEAST_STEP = 1e-3


def is_due(rounds: int, damping: float) -> bool:
    """Whether it is time to look if so many rounds have helped."""
    return rounds * (1 - damping) >= PATIENCE


def raised(damping: float, moved: float, mark: float) -> float:
    """More, unless the residual has halved since it was ``mark``."""
    if moved <= 0.5 * mark:
        return damping
    return 1 - max(LEAST_STEP, (1 - damping) / 2)
