"""How sure a number is. A number never leaves an engine without one of these.

>>> Guarantee.EXACT.value
'exact'
"""

from enum import StrEnum


class Guarantee(StrEnum):
    """``exact`` up to rounding; ``bound``: the truth lies on a known side; ``approximation``: no promise."""

    EXACT = "exact"
    BOUND = "bound"
    APPROXIMATION = "approximation"


class PartitionGuarantee(StrEnum):
    """What a log-partition figure is to the true one."""

    EXACT = "exact"
    LOWER = "lower"
    UPPER = "upper"
    APPROXIMATION = "approximation"
