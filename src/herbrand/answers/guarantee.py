"""How sure a number is. A number never leaves an engine without one of these.

>>> Guarantee.EXACT.value
'exact'
>>> Guarantee.EXACT.of("marginals", "lifted"), Guarantee.EXACT.of("marginals", "exact")
('lifted marginals (exact)', 'exact marginals')
"""

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
