"""Probability that at least one of independent events happens: ⊕ is p + q - pq and ⊗ is ×. An approximation.

⊗ does not distribute over this ⊕, so that a sum of products depends on how it is factored. Over rows alone.

>>> import numpy as np
>>> ALGEBRA.group(np.array([0.5, 0.5, 0.25]), np.array([0, 0, 1]), 2).round(6).tolist()
[0.75, 0.25]
"""

from __future__ import annotations

from typing import Any

from herbrand.contraction.algebra import Algebra


class Independent(Algebra):
    name = "independent"
    zero, one = 0.0, 1.0
    folds = "any_of"
    distributes = False

    def times(self, left: Any, right: Any) -> Any:
        return left * right


ALGEBRA = Independent()
