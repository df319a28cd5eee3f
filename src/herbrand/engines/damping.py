"""The share of the old beliefs that a step keeps: how it is raised where none helps.

>>> careful = Patience(rounds=10, least_step=1e-3)
>>> careful.is_over(9, 0.0), careful.is_over(10, 0.0), careful.is_over(10, 0.5)
(False, True, False)
>>> careful.raised(0.0, moved=1.0, mark=1.5), careful.raised(0.5, moved=0.1, mark=1.5)
(0.5, 0.5)
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Patience:
    """``rounds``: undamped ones in which the residual should halve; damped ones move less, and get as many
    more. ``least_step``: of the way to the new beliefs at least so much is gone."""

    rounds: int
    least_step: float

    def is_over(self, rounds: int, damping: float) -> bool:
        """Whether it is time to look if so many rounds have helped."""
        return rounds * (1 - damping) >= self.rounds

    def raised(self, damping: float, moved: float, mark: float) -> float:
        """More, unless the residual has halved since it was ``mark``."""
        if moved <= 0.5 * mark:
            return damping
        return 1 - max(self.least_step, (1 - damping) / 2)
