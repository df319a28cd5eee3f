"""Floats and the logistic function in SQL.

>>> double(0.1)
"CAST('0.1' AS DOUBLE)"
>>> sigmoid_of("z")
'CASE WHEN z >= 0 THEN 1 / (1 + EXP(-z)) ELSE EXP(z) / (1 + EXP(z)) END'
"""

from __future__ import annotations


def double(value: float) -> str:
    """A constant, infinite ones too."""
    return f"CAST('{float(value)!r}' AS DOUBLE)"


def sigmoid_of(z: str) -> str:
    """Without overflow at either end."""
    return f"CASE WHEN {z} >= 0 THEN 1 / (1 + EXP(-{z})) ELSE EXP({z}) / (1 + EXP({z})) END"
