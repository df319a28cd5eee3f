"""Outward rounding: every computed bound is also a bound in exact arithmetic.

Interval arithmetic on numbers that are not negative. Every operation gives an interval that holds the
exact result, whatever the operands' exact values are within theirs. Relative errors stay near 1e-16 for each
operation at any scale, and zeros stay exact: a number that is proved to be 0 differs from one that is merely
small.

>>> sum_of_tenths = Enclosure.of(0.1).plus(Enclosure.of(0.2))
>>> bool(sum_of_tenths.low < sum_of_tenths.high), sum_of_tenths.times(Enclosure.of(0.0)).high.item()
(True, 0.0)
>>> complement(0.25)
Enclosure(low=array(0.75), high=array(0.75))
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Number = np.ndarray | np.floating
UNIT = 2.0**-53
"""Largest relative error of one rounding."""


class Enclosure(NamedTuple):
    """Arrays of intervals from ``low`` to ``high`` that hold exact numbers; none is negative."""

    low: np.ndarray
    high: np.ndarray

    @staticmethod
    def of(exact: np.ndarray | float) -> Enclosure:
        """Enclose numbers that are exact."""
        return Enclosure(np.asarray(exact, float), np.asarray(exact, float))

    def times(self, other: Enclosure) -> Enclosure:
        return Enclosure(product(self.low, other.low, 0.0), product(self.high, other.high, np.inf))

    def plus(self, other: Enclosure) -> Enclosure:
        return Enclosure(sum_below(self.low, other.low), sum_above(self.high, other.high))

    def reshape(self, *shape: int) -> Enclosure:
        return Enclosure(self.low.reshape(shape), self.high.reshape(shape))

    def transpose(self, axes: list[int]) -> Enclosure:
        return Enclosure(self.low.transpose(axes), self.high.transpose(axes))

    def part(self, where: tuple[int | slice | np.ndarray, ...]) -> Enclosure:
        return Enclosure(self.low[where], self.high[where])


def sum_below(left: Number, right: Number) -> np.ndarray:
    """The sum rounded down; exact if it is a double."""
    total, rest = _two_sum(left, right)
    return np.where(rest < 0, np.nextafter(total, -np.inf), total)


def sum_above(left: Number, right: Number) -> np.ndarray:
    """The sum rounded up; exact if it is a double."""
    total, rest = _two_sum(left, right)
    return np.where(rest > 0, np.nextafter(total, np.inf), total)


def complement(chance: np.ndarray | float) -> Enclosure:
    """1 - p for an exact probability p."""
    minus = -np.asarray(chance, float)
    one = np.ones_like(minus)
    return Enclosure(sum_below(one, minus), sum_above(one, minus))


def opposites(lower: np.ndarray | float, upper: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the intervals of P(not x) from those of P(x), rounded outward."""
    return complement(upper).low, complement(lower).high


def inner_opposites(lower: np.ndarray | float, upper: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the intervals of P(not x) from those of P(x), rounded inward."""
    return complement(upper).high, complement(lower).low


def opposite(ends: tuple[float, float]) -> tuple[float, float]:
    """The interval of P(not x) from that of P(x), rounded outward."""
    low, high = opposites(*ends)
    return float(low), float(high)


def at_least(both: np.ndarray, given: np.ndarray, lower: np.ndarray | float) -> np.ndarray:
    """The form ``both - lower given``, rounded up, so that it excludes no distribution.

    ``both`` marks cases where ``given`` holds. Since the form is ``1 - lower`` there, no small probability is
    a difference of large ones.
    """
    return np.where(both > 0, complement(lower).high, -lower * given)


def at_most(both: np.ndarray, given: np.ndarray, upper: np.ndarray | float) -> np.ndarray:
    """The form ``upper given - both``, rounded up, so that it excludes no distribution."""
    return np.where(both > 0, -complement(upper).low, upper * given)


def stated_ends(lower: np.ndarray | float, upper: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """Stated ends, each moved outward by one double: a decimal lies within half a step of its double.

    0 and 1 stay unchanged.
    """
    lower, upper = np.asarray(lower, float), np.asarray(upper, float)
    return (
        np.where((lower > 0) & (lower < 1), np.nextafter(lower, 0.0), lower),
        np.where((upper > 0) & (upper < 1), np.nextafter(upper, 1.0), upper),
    )


def share(part: float, rest: float, towards: float) -> float:
    """part / (part + rest), rounded ``towards`` 0 or 1."""
    if part <= 0:
        return 0.0
    if rest <= 0:
        return 1.0
    whole = (sum_below if towards else sum_above)(np.float64(part), np.float64(rest))
    return min(max(float(np.nextafter(part / float(whole), towards)), 0.0), 1.0)


def product(left: np.ndarray, right: np.ndarray, towards: float) -> np.ndarray:
    """The product rounded towards 0 or infinity; products with 0 and 1 are exact.

    0 times infinity is 0: an infinite end means no limit, and every number below it is finite.
    """
    zero = (left == 0) | (right == 0)
    with np.errstate(invalid="ignore"):
        products = np.where(zero, 0.0, left * right)
    exact = zero | (left == 1) | (right == 1)
    return np.where(exact, products, np.nextafter(products, towards))


def _two_sum(left: Number, right: Number) -> tuple[Any, Any]:
    """The rounded sum, and its exact rounding error (Knuth's TwoSum)."""
    total = left + right
    shadow = total - left
    return total, (left - (total - shadow)) + (right - shadow)
