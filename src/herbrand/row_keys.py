"""Rows of whole numbers as one sortable key each: the one place where such keys are made.

Keys sort as the rows do, lexicographically, and give their rows back. Where the product of the columns' sizes
fits into 63 bits a key is an int64, the row in mixed radix; where it does not (five columns over 12,000
constants do not) a key is the row itself as bytes. NumPy sorts, searches and compares both alike, and keys of
the same sizes are of the same kind, so that those made at different times may be compared.

>>> keys = row_keys([np.array([1, 0, 1]), np.array([2, 5, 2])], [2, 6])
>>> keys.tolist(), [column.tolist() for column in key_columns(np.unique(keys), [2, 6])]
([8, 5, 8], [[0, 1], [5, 2]])
>>> wide = row_keys([np.array([1, 0, 256]), np.array([2, 5, 0])], [2**40, 2**40])
>>> np.argsort(wide).tolist(), [column.tolist() for column in key_columns(wide, [2**40, 2**40])]
([1, 0, 2], [[1, 0, 256], [2, 5, 0]])
>>> row_pointers(np.array([0, 2, 2]), 3).tolist(), run_starts(np.array([4, 4, 7, 4])).tolist()
([0, 1, 1, 3], [0, 2, 3])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

LARGEST_KEY = 2**63 - 1
Keys = npt.NDArray[Any]
"""int64, or bytes of one length."""
Columns = Sequence[npt.NDArray[np.integer]]


def fit(sizes: Sequence[int]) -> bool:
    """Whether rows of columns with these sizes can be numbered by 64 bits."""
    return math.prod(max(1, size) for size in sizes) <= LARGEST_KEY


def row_keys(columns: Columns, sizes: Sequence[int], count: int = 0) -> Keys:
    """One key a row; ``sizes`` bounds each column's values, and ``count``: the rows of no columns."""
    if not columns:
        return np.zeros(count, np.int64)
    if not fit(sizes):
        return _as_bytes(columns, sizes)
    keys = columns[0].astype(np.int64)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        keys *= max(1, size)
        keys += column
    return keys


def key_columns(keys: Keys, sizes: Sequence[int]) -> list[npt.NDArray[np.int64]]:
    """The inverse of :func:`row_keys`, a column for each size."""
    if not fit(sizes):
        cell = _cell(sizes)
        whole = np.ascontiguousarray(keys, dtype=f"S{cell.itemsize * len(sizes)}")
        cells = whole.view(cell).reshape(len(keys), len(sizes))
        return [cells[:, place].astype(np.int64) for place in range(len(sizes))]
    columns = []
    for size in reversed(sizes[1:]):
        keys, column = np.divmod(keys, max(1, size))
        columns.append(column)
    return [*([keys.astype(np.int64)] if len(sizes) else []), *reversed(columns)]


def unique_rows(
    rows: npt.NDArray[np.int64], sizes: Sequence[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The distinct rows in order, and for each row the place of its like among them."""
    keys = row_keys(list(rows.T), sizes, len(rows))
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], places.reshape(-1).astype(np.int64)


def places_among(known: Keys, wanted: Keys) -> npt.NDArray[np.int64]:
    """The place of each key among sorted keys of the same sizes; -1 for one that is not there."""
    if not len(known):
        return np.full(len(wanted), -1)
    places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[places] == wanted, places, -1)


def run_lengths(keys: Keys) -> npt.NDArray[np.int64]:
    """How many equal keys there are, at the place where each run of them begins."""
    starts = run_starts(keys)
    lengths = np.zeros(len(keys), np.int64)
    lengths[starts] = np.diff(starts, append=len(keys))
    return lengths


def runs_among(
    known: Keys, wanted: Keys, lengths: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where the keys that equal each wanted one begin among ascending keys of the same sizes, and how many
    there are: looked up in their :func:`run_lengths`, as a second search would take as long as the first."""
    places = np.searchsorted(known, wanted)
    if not len(known):
        return places, np.zeros(len(wanted), np.int64)
    at = np.minimum(places, len(known) - 1)
    return places, np.where(known[at] == wanted, lengths[at], 0)


def each_in(starts: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each place of some ranges, ``counts[i]`` of them from ``starts[i]`` on: the number of its range,
    and the place.

    >>> [part.tolist() for part in each_in(np.array([7, 0]), np.array([1, 2]))]
    [[0, 1, 1], [7, 0, 1]]
    """
    ranges = np.repeat(np.arange(len(counts)), counts)
    return ranges, np.arange(len(ranges)) + np.repeat(starts - (np.cumsum(counts) - counts), counts)


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


def _as_bytes(columns: Columns, sizes: Sequence[int]) -> npt.NDArray[np.bytes_]:
    """Big-endian cells of one width, so that bytes compare as rows do.

    NumPy leaves out zeros at the end of a text of bytes when it compares; in texts of one length that changes
    neither equality nor order.
    """
    cell = _cell(sizes)
    cells = np.empty((len(columns[0]), len(columns)), cell)
    for place, column in enumerate(columns):
        cells[:, place] = column
    return cells.view(f"S{cell.itemsize * len(columns)}").reshape(-1)


def _cell(sizes: Sequence[int]) -> np.dtype[np.unsignedinteger]:
    return np.dtype(">u4" if max(sizes) <= 2**32 else ">u8")
