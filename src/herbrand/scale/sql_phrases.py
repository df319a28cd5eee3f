"""Phrases of SQL: floats, the logistic function, and equality of rows.

>>> double(0.1)
"CAST('0.1' AS DOUBLE)"
>>> sigmoid_of("z")
'CASE WHEN z >= 0 THEN 1 / (1 + EXP(-z)) ELSE EXP(z) / (1 + EXP(z)) END'
>>> equal("k", "x", ["a0", "a1"]), equal("k", "x", [])
('k.a0 = x.a0 AND k.a1 = x.a1', 'TRUE')
"""

from __future__ import annotations

from collections.abc import Iterable

from herbrand.relations.dialects import Dialect
from herbrand.relations.exact_order import is_float
from herbrand.relations.expression import column, written


def double(value: float) -> str:
    """A float literal, infinite values included."""
    return f"CAST('{float(value)!r}' AS DOUBLE)"


def sigmoid_of(z: str) -> str:
    """The logistic function, without overflow at either end."""
    return f"CASE WHEN {z} >= 0 THEN 1 / (1 + EXP(-{z})) ELSE EXP({z}) / (1 + EXP({z})) END"


def equal(left: str, right: str, columns: Iterable[str]) -> str:
    """Condition that rows of two tables are equal in all of these columns."""
    return " AND ".join(f"{left}.{column} = {right}.{column}" for column in columns) or "TRUE"


def no_float(name: str, dialect: Dialect) -> str:
    """Condition that no float holds the whole number in a column."""
    return written(~is_float(column(name)), {name: "int"}, dialect)
