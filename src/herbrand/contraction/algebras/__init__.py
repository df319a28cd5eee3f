"""The algebras that sums of products can be computed in: one module a member, each defining ``ALGEBRA``.

`real` (+, ×) · `log` (log-sum-exp, +) · `maximum` (max, + of log weights) · `max_product` (max, ×) ·
`boolean` (or, and) · `counting` (+, × of whole numbers, exact or refused: int64, over rows of any
size) · `independent` (or of independent events, ×; an approximation, over rows alone)
"""

from __future__ import annotations

import importlib.util
from functools import lru_cache

ADDED: dict[str, object] = {}
"""Registered algebras by name; see :func:`herbrand.contraction.algebra.register`."""


@lru_cache
def is_member(name: str) -> bool:
    """Whether a module here is an algebra of this name."""
    return name.isidentifier() and importlib.util.find_spec(f"{__name__}.{name}") is not None
