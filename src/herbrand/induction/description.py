"""How long it takes to write labels down with a theory's help: the measure by which theories are compared.

A theory is worth its bits where it makes the labels cheaper by more. Without errors one bit says so; else the
errors are counted first, among the examples that the theory covers and among the others, and then located.

>>> round(float(error_bits(30, 0, 30, 0)), 1), round(float(error_bits(30, 2, 30, 1)), 1)
(1.0, 21.0)
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

Number = Any
"""A count, or an array of counts."""


@lru_cache(maxsize=64)
def _log_factorials(size: int) -> np.ndarray:
    """Bits of the factorials of 0 to ``size``: a search asks for few numbers, very often."""
    return np.concatenate([[0.0], np.cumsum(np.log2(np.arange(1, size + 1)))])


def choice_bits(many: Number, few: Number, most: int) -> Number:
    """Bits that say which ``few`` of ``many`` are meant, where there are at most ``most``."""
    table = _log_factorials(most)
    many, few = np.asarray(many, np.int64), np.asarray(few, np.int64)
    return table[many] - table[few] - table[many - few]


def error_bits(covered: Number, wrong: Number, others: Number, missed: Number) -> Number:
    """Bits that say which of the covered examples are negative, and which of the others are positive.

    Literals cost the same however many examples there are, but the more there are, the better some literal
    fits their errors by chance. So errors count less from 32 examples on, down to a half, as if a literal
    cost half the logarithm of the number of examples."""
    most = int(np.max(np.add(covered, others), initial=0))
    share = np.clip(5 / np.log2(max(most, 2)), 0.5, 1.0)
    counted = np.log2(np.add(covered, 1)) + np.log2(np.add(others, 1))
    located = choice_bits(covered, wrong, most) + choice_bits(others, missed, most)
    return np.where(np.add(wrong, missed) > 0, 1 + share * (counted + located), 1.0)
