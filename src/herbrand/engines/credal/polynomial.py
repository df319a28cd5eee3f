"""A program over probabilities: linear rows, and products of two variables that a third must equal.

Variables are tables over clusters; what is asked is the least or greatest value of a linear function. Without
products it is a linear program.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Program:
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
        self._rows: list[tuple[np.ndarray, np.ndarray, float, float]] = []
        self._products: list[np.ndarray] = []
        self.size = 0

    def variables(self, count: int, lower: float | np.ndarray, upper: float | np.ndarray) -> np.ndarray:
        """New variables; gives their numbers."""
        self._lower.append(np.broadcast_to(np.asarray(lower, float), (count,)))
        self._upper.append(np.broadcast_to(np.asarray(upper, float), (count,)))
        self.size += count
        return np.arange(self.size - count, self.size)

    def row(self, variables: np.ndarray, factors: np.ndarray, lower: float, upper: float) -> None:
        """The sum of factors times variables lies in an interval; a variable may stand in it repeatedly."""
        self._rows.append((np.asarray(variables), np.asarray(factors, float), lower, upper))

    def products(self, results: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
        self._products.append(np.stack([results, left, right], axis=1))

    def program(self) -> Program:
        lengths = [len(variables) for variables, _, _, _ in self._rows]
        empty = np.empty(0)
        indices = np.concatenate([v for v, _, _, _ in self._rows] or [empty.astype(np.int64)])
        factors = np.concatenate([f for _, f, _, _ in self._rows] or [empty])
        numbers = np.repeat(np.arange(len(lengths)), lengths)
        rows = csr_array((factors, (numbers, indices)), shape=(len(lengths), self.size))
        rows.sum_duplicates()
        rows.eliminate_zeros()
        return Program(
            np.concatenate(self._lower),
            np.concatenate(self._upper),
            rows,
            np.array([lower for _, _, lower, _ in self._rows], float),
            np.array([upper for _, _, _, upper in self._rows], float),
            np.concatenate(self._products or [np.empty((0, 3), np.int64)]),
        )
