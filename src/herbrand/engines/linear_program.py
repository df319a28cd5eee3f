"""A linear program, and the same in units of what each of its variables can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """``rows @ x`` lies between ``row_lower`` and ``row_upper``, x between ``lower`` and ``upper``."""

    rows: csr_array
    row_lower: np.ndarray
    row_upper: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def is_bounded(self) -> bool:
        """Whether every variable has a finite range."""
        return bool(np.isfinite(self.lower).all() and np.isfinite(self.upper).all())

    def scaled(self) -> tuple[LinearProgram, np.ndarray]:
        """The program in units of its ranges and rows, and the unit of each variable: all powers of two."""
        unit = power(np.where(np.isfinite(self.upper), self.upper, 1.0))
        rows = self.rows.copy()
        rows.data = rows.data * unit[rows.indices]
        at = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        largest = np.zeros(rows.shape[0])
        np.maximum.at(largest, at, np.abs(rows.data))
        weight = 1 / power(largest)
        rows.data = rows.data * weight[at]
        ends = self.row_lower * weight, self.row_upper * weight
        return LinearProgram(rows, *ends, self.lower / unit, self.upper / unit), unit


def power(sizes: np.ndarray | float) -> np.ndarray:
    """Powers of two near positive numbers; 1 for 0."""
    safe = np.where(np.asarray(sizes) > 0, sizes, 1.0)
    return 2.0 ** np.clip(np.ceil(np.log2(safe)), -1000, 1000)
