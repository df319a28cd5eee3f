"""Distinct inputs of a predicate in one mode, and the answers known for each of them.

>>> asked = Questions((5,))
>>> asked.add([np.array([3, 1, 3])]).tolist(), asked.add([np.array([1, 4])]).tolist(), len(asked)
([0, 1], [2], 3)
>>> asked.columns[0].tolist(), asked.places([np.array([4, 2])]).tolist()
([1, 3, 4], [2, -1])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.engines.proof.table import Table
from herbrand.row_keys import Keys, places_among, row_keys, row_pointers


class Questions:
    """Numbers distinct rows of constants in the order in which they are first asked."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = list(sizes)
        self.columns: list[np.ndarray] = [np.empty(0, np.int64) for _ in sizes]
        self._keys = row_keys(self.columns, self._sizes)
        self._numbers = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Numbers for the rows that are new; gives these numbers, one for each distinct new row."""
        count = len(columns[0]) if columns else 1
        keys = row_keys(columns, self._sizes, count)
        distinct, where = np.unique(keys, return_index=True)
        new = np.flatnonzero(self._found(distinct) < 0)
        numbers = np.arange(len(self), len(self) + len(new))
        self.columns = [
            np.concatenate([old, column[where[new]]])
            for old, column in zip(self.columns, columns, strict=True)
        ]
        keys = np.concatenate([self._keys, distinct[new]])
        order = np.argsort(keys, kind="stable")
        self._numbers = np.concatenate([self._numbers, numbers])[order]
        self._keys = keys[order]
        return numbers

    def places(self, columns: Sequence[np.ndarray], count: int | None = None) -> np.ndarray:
        """The number of each row; -1 for one that was not asked."""
        count = len(columns[0]) if columns else (1 if count is None else count)
        return self._found(row_keys(columns, self._sizes, count))

    def _found(self, keys: Keys) -> np.ndarray:
        at = places_among(self._keys, keys)
        return np.where(at < 0, -1, np.append(self._numbers, -1)[at])


@dataclass(frozen=True, eq=False)
class Answers:
    """``table``: columns (question number, outputs...), sorted by question."""

    questions: Questions
    table: Table

    @cached_property
    def pointers(self) -> np.ndarray:
        return row_pointers(self.table.columns[0], len(self.questions))

    @cached_property
    def only_column(self) -> np.ndarray:
        """What is answered where there is one output, as small as the columns of relations are."""
        return self.table.columns[1].astype(np.int32)

    def ranges(self, columns: Sequence[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
        """Where each row's answers begin, and how many there are. Every row was asked."""
        numbers = self.questions.places(columns, count)
        first = self.pointers[numbers]
        return first, self.pointers[numbers + 1] - first
