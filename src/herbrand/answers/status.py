"""How a run ended, and how it went.

>>> Status(converged=False, iterations=200, advice="raise --iterations").advice
'raise --iterations'
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Status:
    """``advice``: what to change where a run did not converge, or another method that did the work and why;
    ``trace``: the residual of each step.

    ``where``: what ran it, if not this process alone.
    """

    converged: bool
    iterations: int
    seconds: float = 0.0
    advice: str = ""
    trace: tuple[float, ...] = field(default=(), repr=False)
    where: str = ""
