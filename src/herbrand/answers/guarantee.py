"""How sure a number is, and how the run ended that gave it. A number never leaves an engine without these.

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
    """``exact`` up to rounding; ``bound``: the truth lies on a known side; ``approximation``: no promise."""

    EXACT = "exact"
    BOUND = "bound"
    APPROXIMATION = "approximation"

    def of(self, what: str, engine: str) -> str:
        """A headline for what an engine gives; a name that says how sure it is does not say it twice."""
        return f"{engine} {what}" if engine == self.value else f"{engine} {what} ({self.value})"


class PartitionGuarantee(StrEnum):
    """What a log-partition figure is to the true one."""

    EXACT = "exact"
    LOWER = "lower"
    UPPER = "upper"
    APPROXIMATION = "approximation"


# How a run ended, and how it went


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


def out_of_iterations(steps: int, vain: int = 0) -> str:
    """The advice where a run had no more steps to make. ``vain``: how many of the last ones came no closer
    to a fixed point, where that is long enough to say that more will not."""
    counted = "1 iteration" if steps == 1 else f"{steps:,} iterations"
    if vain:
        return f"stopped after {counted}, the last {vain:,} no closer to a fixed point; try another --engine"
    return f"stopped after {counted}; allow more by --iterations"


def out_of_time(seconds: float) -> str:
    """The advice where a run had no more time."""
    return f"stopped after {seconds:.1f} s; allow more by --time-limit"
