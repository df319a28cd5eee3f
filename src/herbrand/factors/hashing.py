"""Hashes of 64 bits, mixed column by column.

Values that differ get equal hashes with a chance of about one in 10¹⁹ a pair: a million colours are kept
apart but for one time in ten million.

>>> int(mixed(np.zeros(1, np.uint64), 5)[0]) == int(mixed(np.zeros(1, np.uint64), 6)[0])
False
"""

from __future__ import annotations

import numpy as np

from herbrand.factors.graph import Array

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
KEPT_BITS = 40


def mixed(state: Array, value: Array | int) -> Array:
    """What was mixed so far and one more value each."""
    added = np.uint64(value) if isinstance(value, int) else value.astype(np.uint64)
    with np.errstate(over="ignore"):
        found = (state ^ (added + STEP)) * FIRST
        found = (found ^ (found >> np.uint64(29))) * SECOND
        return found ^ (found >> np.uint64(32))


def number_bits(values: Array) -> Array:
    """Numbers as integers to be hashed; those that differ in the last digits only are mostly alike."""
    mantissa, exponent = np.frexp(values + 0.0)
    finite = np.isfinite(values)
    mantissa = np.where(finite, np.rint(np.where(finite, mantissa, 0.0) * 2**KEPT_BITS), -(2.0**50))
    return mantissa.astype(np.int64).view(np.uint64) * np.uint64(4099) + exponent.astype(np.int64).view(
        np.uint64
    )
