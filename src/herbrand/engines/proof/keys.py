"""Rows of small integers as single numbers, and the order they bring.

>>> composite_keys([np.array([0, 1]), np.array([2, 0])], [2, 3]).tolist()
[2, 3]
>>> row_pointers(np.array([0, 2, 2]), 3).tolist()
[0, 1, 1, 3]
>>> run_starts(np.array([4, 4, 7, 4])).tolist()
[0, 2, 3]
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from herbrand.errors import BudgetError

LARGEST_KEY = 2**62


def composite_keys(columns: Sequence[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
    """One number a row, in the rows' lexicographic order; ``sizes`` bounds each column's values.

    Raises ``BudgetError`` where 64 bits do not number so many rows.
    """
    if not fits(sizes):
        shown = " × ".join(f"{size:,}" for size in sizes)
        raise BudgetError(f"rows over {shown} constants cannot be told apart by 64-bit numbers")
    keys = columns[0].astype(np.int64)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        keys *= size
        keys += column
    return keys


def fits(sizes: Sequence[int]) -> bool:
    """Whether rows of such columns have a number of 64 bits."""
    return math.prod(max(1, size) for size in sizes) < LARGEST_KEY


def group_keys(columns: Sequence[np.ndarray], sizes: Sequence[int], count: int) -> tuple[np.ndarray, int]:
    """A number for each row, equal for equal rows and in their order, and a bound that all stay below."""
    if not columns:
        return np.zeros(count, np.int64), 1
    if fits(sizes):
        return composite_keys(columns, sizes), math.prod(max(1, size) for size in sizes)
    head, _ = group_keys(columns[:-1], sizes[:-1], count)
    values, places = np.unique(head, return_inverse=True)
    return composite_keys([places.astype(np.int64), columns[-1]], [len(values), sizes[-1]]), (
        max(1, len(values)) * max(1, sizes[-1])
    )


def row_pointers(sorted_or_not: np.ndarray, size: int) -> np.ndarray:
    """Where the rows of each value would begin if they were sorted by it, [size + 1]."""
    counts = np.bincount(sorted_or_not, minlength=size) if len(sorted_or_not) else np.zeros(size, np.int64)
    pointers = np.zeros(size + 1, np.int64)
    np.cumsum(counts, out=pointers[1:])
    return pointers


def run_starts(numbers: np.ndarray) -> np.ndarray:
    """Where each run of equal numbers begins."""
    if not len(numbers):
        return np.empty(0, np.int64)
    begins = np.empty(len(numbers), bool)
    begins[0] = True
    np.not_equal(numbers[1:], numbers[:-1], out=begins[1:])
    return begins.nonzero()[0]
