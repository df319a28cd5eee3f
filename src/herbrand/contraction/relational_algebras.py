"""What ⊕ and ⊗ of each algebra are in SQL, in words that DuckDB and Spark both understand.

An entry that no row lists is the algebra's zero, so rows that hold a zero may be dropped.

>>> meaning_of("max_product").total("v"), meaning_of("log").product(["a.v", "b.v"])
('MAX(v)', 'a.v + b.v')
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from herbrand.errors import UnsupportedError


@dataclass(frozen=True)
class Meaning:
    """``kind`` is the SQL type of values; ``add`` the aggregate, ``times`` the operator between factors.

    ``peaked``: a total needs the largest term first, as the logarithm of a sum of exponentials does.
    ``subtracts``: a background can be taken off the entries that are listed, and put back at the end.
    """

    kind: str
    zero: float
    one: float
    add: str
    times: str
    peaked: bool = False
    subtracts: bool = False

    def number(self, value: float) -> str:
        """A constant of this kind."""
        if self.kind == "BOOLEAN":
            return "TRUE" if value else "FALSE"
        text = repr(int(value)) if self.kind == "BIGINT" else repr(float(value))
        return f"CAST('{text}' AS {self.kind})"

    def total(self, value: str) -> str:
        """⊕ of a group; of no rows at all, NULL."""
        found = f"{self.add}({value})"
        return f"CAST({found} AS BIGINT)" if self.kind == "BIGINT" else found

    def product(self, factors: Sequence[str]) -> str:
        """⊗ of expressions."""
        return f" {self.times} ".join(factors) if factors else self.number(self.one)

    def repeated(self, value: str, times: int) -> str:
        """⊕ of equal copies."""
        if times == 1 or self.add != "SUM":
            return value
        if self.peaked:
            return f"{value} + {self.number(math.log(times))}"
        return f"{value} * {self.number(times)}"

    def present(self, value: str) -> str:
        """Whether a value is not the zero."""
        return value if self.kind == "BOOLEAN" else f"{value} <> {self.number(self.zero)}"


MEANINGS = {
    "real": Meaning("DOUBLE", 0.0, 1.0, "SUM", "*", subtracts=True),
    "counting": Meaning("BIGINT", 0, 1, "SUM", "*", subtracts=True),
    "log": Meaning("DOUBLE", -math.inf, 0.0, "SUM", "+", peaked=True),
    "maximum": Meaning("DOUBLE", -math.inf, 0.0, "MAX", "+"),
    "max_product": Meaning("DOUBLE", 0.0, 1.0, "MAX", "*"),
    "boolean": Meaning("BOOLEAN", 0, 1, "BOOL_OR", "AND"),
}


def meaning_of(algebra: str) -> Meaning:
    """The algebra of this name; raises ``UnsupportedError`` for one that databases do not have."""
    if algebra not in MEANINGS:
        raise UnsupportedError(
            f"the algebra {algebra} is not written as SQL", hint=f"one of {', '.join(MEANINGS)}"
        )
    return MEANINGS[algebra]
