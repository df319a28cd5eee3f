"""A program over probabilities: linear rows, and products of two variables that a third must equal.

Variables are tables over clusters; what is asked is the least or greatest value of a linear function. Without
products it is a linear program.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class PolynomialProgram:
    """``rows @ v`` lies in [``row_lower``, ``row_upper``], v in [``lower``, ``upper``]; for each (w, a, b) of
    ``products`` v[w] = v[a] * v[b]."""

    lower: np.ndarray  # [variable]
    upper: np.ndarray
    rows: csr_array  # [row, variable]
    row_lower: np.ndarray
    row_upper: np.ndarray
    products: np.ndarray  # [product, 3]

    @property
    def linear(self) -> bool:
        return not len(self.products)

    @property
    def size(self) -> int:
        return len(self.lower)


class Assembly:
    """Gathers variables, rows and products."""

    def __init__(self) -> None:
        self._lower: list[np.ndarray] = []
        self._upper: list[np.ndarray] = []
        self._entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # row, variable, factor
        self._ends: list[tuple[np.ndarray, np.ndarray]] = []
        self._products: list[np.ndarray] = []
        self.size = 0
        self._rows = 0

    def variables(self, count: int, lower: float | np.ndarray, upper: float | np.ndarray) -> np.ndarray:
        """New variables; gives their numbers."""
        self._lower.append(np.broadcast_to(np.asarray(lower, float), (count,)))
        self._upper.append(np.broadcast_to(np.asarray(upper, float), (count,)))
        self.size += count
        return np.arange(self.size - count, self.size)

    def row(self, variables: np.ndarray, factors: np.ndarray, lower: float, upper: float) -> None:
        """The sum of factors times variables lies in an interval; a variable may stand in it repeatedly."""
        self.rows(
            np.zeros(len(variables), np.int64), variables, factors, np.array([lower]), np.array([upper])
        )

    def rows(
        self,
        row: np.ndarray,
        variables: np.ndarray,
        factors: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
    ) -> None:
        """Several rows; ``row``: to which of them each entry belongs."""
        self._entries.append((self._rows + row, np.asarray(variables), np.asarray(factors, float)))
        self._ends.append((lower, upper))
        self._rows += len(lower)

    def shares(self, whole: np.ndarray, parts: np.ndarray, which: np.ndarray) -> None:
        """Each of ``whole`` is the sum of those of ``parts`` that ``which`` assigns to it."""
        count = len(whole)
        self.rows(
            np.concatenate([np.arange(count), which]),
            np.concatenate([whole, parts]),
            np.repeat([1.0, -1.0], [count, len(parts)]),
            np.zeros(count),
            np.zeros(count),
        )

    def products(self, results: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
        self._products.append(np.stack([results, left, right], axis=1))

    def program(self) -> PolynomialProgram:
        none = np.empty(0, np.int64)
        entries = zip(*(self._entries or [(none, none, np.empty(0))]), strict=True)
        row, variables, factors = map(np.concatenate, entries)
        rows = csr_array((factors, (row, variables)), shape=(self._rows, self.size))
        rows.sum_duplicates()
        rows.eliminate_zeros()
        row_lower, row_upper = map(np.concatenate, zip(*(self._ends or [(np.empty(0),) * 2]), strict=True))
        return PolynomialProgram(
            np.concatenate(self._lower),
            np.concatenate(self._upper),
            rows,
            row_lower,
            row_upper,
            np.concatenate(self._products or [np.empty((0, 3), np.int64)]),
        )
