"""Rows of indices as single sortable numbers, so that
equal rows and their order are found by sorting integers.

>>> keys = RowKeys.of([np.array([1, 0, 1]), np.array([2, 5, 2])], [2, 6])
>>> keys.values.tolist(), keys.rows(np.unique(keys.values)).tolist()
([8, 5, 8], [[0, 5], [1, 2]])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from herbrand.facts.column import Index

Keys = npt.NDArray[np.int64]
LARGEST_KEY = 2**63 - 1


@dataclass(frozen=True, eq=False)
class RowKeys:
    """A key a row, in the lexicographic order of the rows.

    Where the rows do not fit into 63 bits a key is the rank of its row, and ``ranked`` holds the distinct
    rows.
    """

    values: Keys
    sizes: tuple[int, ...]
    ranked: Index | None = None

    @classmethod
    def of(cls, columns: Sequence[Index], sizes: Sequence[int], count: int | None = None) -> RowKeys:
        sizes = tuple(max(1, size) for size in sizes)
        if not columns:
            return cls(np.zeros(count or 0, np.int64), sizes)
        if prod(sizes) > LARGEST_KEY:
            return cls._by_rank(columns, sizes)
        keys = columns[0].astype(np.int64)
        for column, size in zip(columns[1:], sizes[1:], strict=True):
            keys *= size
            keys += column
        return cls(keys, sizes)

    @classmethod
    def _by_rank(cls, columns: Sequence[Index], sizes: tuple[int, ...]) -> RowKeys:
        order = np.lexsort(tuple(reversed(columns)))
        rows = as_rows([column[order] for column in columns])
        first = np.ones(len(rows), bool)
        first[1:] = np.any(rows[1:] != rows[:-1], axis=1)
        ranks = np.empty(len(rows), np.int64)
        ranks[order] = np.cumsum(first) - 1
        return cls(ranks, sizes, as_rows(list(rows[first].T)))

    def rows(self, keys: Keys) -> Index:
        """The rows that the keys stand for, [n, columns], stored column by column."""
        if self.ranked is not None:
            return np.asfortranarray(self.ranked[keys])
        rows = np.empty((len(keys), len(self.sizes)), np.int32, order="F")
        left = keys
        for number in range(len(self.sizes) - 1, 0, -1):
            left, rows[:, number] = np.divmod(left, self.sizes[number])
        if len(self.sizes):
            rows[:, 0] = left
        return rows


def as_rows(columns: Sequence[Index]) -> Index:
    rows = np.empty((len(columns[0]), len(columns)), np.int32, order="F")
    for number, column in enumerate(columns):
        rows[:, number] = column
    return rows


def unique_sorted(keys: Keys) -> Keys:
    """Ascending, each once; sorts a copy."""
    ordered = np.sort(keys)
    if len(ordered) < 2:
        return ordered
    first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered if first.all() else ordered[first]


def unique_pairs(keys: Keys, numbers: npt.NDArray[np.float64]) -> tuple[Keys, npt.NDArray[np.float64]]:
    """Ascending by key, then by number, each pair once."""
    order = np.lexsort((numbers, keys))
    keys, numbers = keys[order], numbers[order]
    if len(keys) < 2:
        return keys, numbers
    first = np.ones(len(keys), bool)
    first[1:] = (keys[1:] != keys[:-1]) | (numbers[1:] != numbers[:-1])
    return keys[first], numbers[first]
