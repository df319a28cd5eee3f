"""The logistic function in SQL.

>>> sigmoid_of("z")
'CASE WHEN z >= 0 THEN 1 / (1 + EXP(-z)) ELSE EXP(z) / (1 + EXP(z)) END'
"""

from __future__ import annotations


def sigmoid_of(z: str) -> str:
    """Without overflow at either end."""
    return f"CASE WHEN {z} >= 0 THEN 1 / (1 + EXP(-{z})) ELSE EXP({z}) / (1 + EXP({z})) END"
