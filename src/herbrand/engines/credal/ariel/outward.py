"""Rounding to the wide side: a bound that is computed is a bound in exact arithmetic, too.

A double is off by half a unit in its last place, in what a theory states (0.1 is none) and after each
operation. So every end is moved outward by more than all roundings behind it can have moved it inward: by a
few units of itself where it is a sum of products of numbers that are not negative, by a few units of what was
added up where there were subtractions. 0 and 1 stay what they are where they are stated, or certain.

>>> below(0.5) < 0.5 < above(0.5), below(1.0), above(0.0)
(True, 1.0, 0.0)
>>> float(complement_below(0.0)), float(complement_above(1.0))
(1.0, 0.0)
"""

from __future__ import annotations

import math

import numpy as np

from herbrand.engines.credal.rounding import UNIT

LOGARITHM = 32 * UNIT
"""A logarithm, and a sum of two, is right up to this share of the numbers in it (library functions: 4)."""


def below(end: float) -> float:
    """A stated lower end, moved down by a unit."""
    return math.nextafter(end, 0.0) if 0.0 < end < 1.0 else end


def above(end: float) -> float:
    """A stated upper end, moved up by a unit."""
    return math.nextafter(end, 1.0) if 0.0 < end < 1.0 else end


def stated_ends(lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Stated ends, each moved outward by a unit: a decimal lies within half a unit of its double."""
    return (
        np.where((lower > 0) & (lower < 1), np.nextafter(lower, 0.0), lower),
        np.where((upper > 0) & (upper < 1), np.nextafter(upper, 1.0), upper),
    )


def complement_below(end: np.ndarray | float) -> np.ndarray:
    """At most 1 - end."""
    end = np.asarray(end, float)
    return np.where((end == 0) | (end == 1), 1 - end, np.nextafter(1 - end, 0.0))


def complement_above(end: np.ndarray | float) -> np.ndarray:
    """At least 1 - end."""
    end = np.asarray(end, float)
    return np.where((end == 0) | (end == 1), 1 - end, np.nextafter(1 - end, 2.0))


def complement(ends: tuple[float, float]) -> tuple[float, float]:
    """The interval of what does not hold."""
    return float(complement_below(ends[1])), float(complement_above(ends[0]))


def widened(low: float, high: float, roundings: int) -> tuple[float, float]:
    """Ends that are sums of products of numbers that are not negative, after so many roundings each."""
    share = 2 * roundings * UNIT
    return low * (1 - share), min(high * (1 + share), 1.0) if high <= 1.0 else high * (1 + share)
