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


def out_of_iterations(steps: int) -> str:
    """The advice where a run had no more steps to make."""
    counted = "1 iteration" if steps == 1 else f"{steps:,} iterations"
    return f"stopped after {counted}; allow more by --iterations"


def out_of_time(seconds: float) -> str:
    """The advice where a run had no more time."""
    return f"stopped after {seconds:.1f} s; allow more by --time-limit"
