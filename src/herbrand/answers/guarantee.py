"""Guarantees of answers, and the status of the run that computed them; every answer of an engine has both.

>>> Guarantee.EXACT.value
'exact'
>>> Guarantee.EXACT.of("marginals", "lifted"), Guarantee.EXACT.of("marginals", "exact")
('lifted marginals (exact)', 'exact marginals')
>>> Status(converged=False, iterations=200, advice="raise --iterations").advice
'raise --iterations'
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Guarantee(StrEnum):
    """What an answer promises. ``exact``: the true number up to rounding; ``bound``: the truth lies on a
    known side; ``approximation``: nothing."""

    EXACT = "exact"
    BOUND = "bound"
    APPROXIMATION = "approximation"

    def of(self, what: str, engine: str) -> str:
        """Title of an engine's answer; the guarantee is left out if it equals the engine's name."""
        return f"{engine} {what}" if engine == self.value else f"{engine} {what} ({self.value})"


class PartitionGuarantee(StrEnum):
    """Relation of a reported log-partition to the true one."""

    EXACT = "exact"
    LOWER = "lower"
    UPPER = "upper"
    APPROXIMATION = "approximation"


# How a run ended, and how it went


@dataclass(frozen=True)
class Status:
    """How a run ended. ``advice``: what to change if it did not converge, or which other method did the work
    and why; ``trace``: residual of each step; ``where``: the database or workers that ran it, if any.
    """

    converged: bool
    iterations: int
    seconds: float = 0.0
    advice: str = ""
    trace: tuple[float, ...] = field(default=(), repr=False)
    where: str = ""


def out_of_iterations(steps: int, vain: int = 0) -> str:
    """Advice for a run that used all its steps. ``vain``: number of last steps without progress, if so many
    that further steps will not help."""
    counted = "1 iteration" if steps == 1 else f"{steps:,} iterations"
    if vain:
        return f"stopped after {counted}, the last {vain:,} no closer to a fixed point; try another --engine"
    return f"stopped after {counted}; allow more by --iterations"


def out_of_time(seconds: float) -> str:
    """Advice for a run that used all its time."""
    return f"stopped after {seconds:.1f} s; allow more by --time-limit"
