"""Products rounded outward, at scales where doubles end."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from herbrand.engines.credal.rounding import product

CHANCES = st.floats(0.0, 1.0)


@given(CHANCES, CHANCES)
def test_products_are_enclosed(left: float, right: float) -> None:
    exact = Fraction(left) * Fraction(right)
    low, high = (product(np.float64(left), np.float64(right), towards) for towards in (0.0, np.inf))
    assert Fraction(float(low)) <= exact <= Fraction(float(high))


def test_what_underflows_is_not_proved_to_be_zero() -> None:
    """The range of a product is made of these: an upper end of 0 would claim that it is impossible."""
    tiny, zero = np.array([1e-200, 0.0]), np.array([1e-200, 1.0])
    assert (product(tiny, zero, np.inf) > 0).tolist() == [True, False]


def test_nothing_of_what_has_no_limit_is_nothing() -> None:
    """A condition that may be as rare as it likes leaves masses without an upper end, and some rows are 0."""
    ends = [product(np.float64(0.0), np.float64(np.inf), towards) for towards in (0.0, np.inf)]
    assert [float(end) for end in ends] == [0.0, 0.0]
