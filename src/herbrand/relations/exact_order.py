"""Comparisons of whole numbers with fractions that round neither.

As floats, 2^53 and 2^53 + 1 are one number. So a whole number is first compared as a float, and where that is
equal, in two parts that floats hold exactly.

>>> import operator
>>> import numpy as np
>>> from herbrand.relations.expression import column, evaluated
>>> columns = {"n": np.array([2**53, 2**53 + 1]), "x": np.array([2.0**53, 2.0**53])}
>>> evaluated(in_exact_order(operator.eq, column("n"), column("x")), columns, 2).tolist()
[True, False]
>>> evaluated(is_float(column("n")), columns, 2).tolist()
[True, False]
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from herbrand.relations.expression import Expression, cast

PART = 2**32
"""Whole numbers of 64 bits are a multiple of this and a rest, each of at most 33 bits."""


def in_exact_order(
    order: Callable[[Expression, Expression], Expression], whole: Expression, fraction: Expression
) -> Expression:
    """Whether a comparison such as ``operator.lt`` holds of a column of whole numbers and one of floats."""
    rounded, rest = cast(whole, "float"), cast(whole % PART, "float")
    # This difference is exact wherever the rounded number is the fraction, and only there it is compared.
    other_rest = fraction - cast(whole // PART, "float") * float(PART)
    equal = rounded == fraction
    return (~equal & order(rounded, fraction)) | (equal & order(rest, other_rest))


def is_float(whole: Expression) -> Expression:
    """Whether a float holds the whole number as it is."""
    return in_exact_order(operator.eq, whole, cast(whole, "float"))
