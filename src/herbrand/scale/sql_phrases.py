"""Phrases of SQL: floats, the logistic function, and that rows are equal.

>>> double(0.1)
"CAST('0.1' AS DOUBLE)"
>>> sigmoid_of("z")
'CASE WHEN z >= 0 THEN 1 / (1 + EXP(-z)) ELSE EXP(z) / (1 + EXP(z)) END'
>>> equal("k", "x", ["a0", "a1"]), equal("k", "x", [])
('k.a0 = x.a0 AND k.a1 = x.a1', 'TRUE')
"""

from __future__ import annotations

from collections.abc import Iterable


def double(value: float) -> str:
    """A constant, infinite ones too."""
    return f"CAST('{float(value)!r}' AS DOUBLE)"


def sigmoid_of(z: str) -> str:
    """Without overflow at either end."""
    return f"CASE WHEN {z} >= 0 THEN 1 / (1 + EXP(-{z})) ELSE EXP({z}) / (1 + EXP({z})) END"


def equal(left: str, right: str, columns: Iterable[str]) -> str:
    """That rows of two tables have the same in all of these columns."""
    return " AND ".join(f"{left}.{column} = {right}.{column}" for column in columns) or "TRUE"
