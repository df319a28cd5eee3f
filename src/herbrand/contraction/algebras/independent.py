"""The probability that some of independent events happens: ⊕ is p + q - pq and ⊗ is ×. An approximation.

⊗ does not distribute over this ⊕, so that a sum of products depends on how it is factored. Over rows alone.

>>> ALGEBRA.group(np.array([0.5, 0.5, 0.25]), np.array([0, 0, 1]), 2).round(6).tolist()
[0.75, 0.25]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from herbrand.contraction.algebra import Algebra


class Independent(Algebra):
    name = "independent"
    zero, one = 0.0, 1.0
    distributes = False

    def times(self, left: Any, right: Any) -> Any:
        return left * right

    def group(self, values: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
        with np.errstate(divide="ignore"):
            failing = np.bincount(groups, np.log1p(-values), count)
        return -np.expm1(failing)


ALGEBRA = Independent()
