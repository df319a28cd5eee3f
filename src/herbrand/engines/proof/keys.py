"""Where the rows of each value begin, and where runs of equal keys do.

>>> row_pointers(np.array([0, 2, 2]), 3).tolist()
[0, 1, 1, 3]
>>> run_starts(np.array([4, 4, 7, 4])).tolist()
[0, 2, 3]
"""

from __future__ import annotations

import numpy as np

from herbrand.row_keys import Keys


def row_pointers(sorted_or_not: np.ndarray, size: int) -> np.ndarray:
    """Where the rows of each value would begin if they were sorted by it, [size + 1]."""
    counts = np.bincount(sorted_or_not, minlength=size) if len(sorted_or_not) else np.zeros(size, np.int64)
    pointers = np.zeros(size + 1, np.int64)
    np.cumsum(counts, out=pointers[1:])
    return pointers


def run_starts(numbers: Keys) -> np.ndarray:
    """Where each run of equal numbers begins."""
    if not len(numbers):
        return np.empty(0, np.int64)
    begins = np.empty(len(numbers), bool)
    begins[0] = True
    np.not_equal(numbers[1:], numbers[:-1], out=begins[1:])
    return begins.nonzero()[0]
