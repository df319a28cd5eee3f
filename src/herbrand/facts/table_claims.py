"""What one table says of one predicate: its interned columns, and what its special column makes of each row.

>>> from herbrand.facts.column import dictionary_column
>>> from herbrand.facts.sources.base import EmptyTable
>>> import pyarrow as pa
>>> column = dictionary_column(pa.array(["anna", "bob"]))
>>> smokes = Predicate("smokes", ("person",))
>>> claims = Claims(EmptyTable("smokes", "smokes.csv", 1), smokes, Interned((column,), 2))
>>> [str(mistake) for mistake in claims.mistakes_at(np.array([False, True]), lambda row: "who is this?")]
['smokes.csv: who is this?']
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from herbrand.errors import Mistake
from herbrand.facts.column import ABSENT, Column, Interned
from herbrand.facts.facts import Numbers
from herbrand.facts.place import Place, rows_at_fault
from herbrand.facts.sources.base import OpenTable
from herbrand.language.signature import Predicate

Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Claims:
    """The rows of one table; at most one of ``truths``, ``probabilities`` and ``weights`` is there."""

    table: OpenTable
    predicate: Predicate
    interned: Interned
    truths: Truths | None = None
    probabilities: Numbers | None = None
    weights: Numbers | None = None
    note: str = ""

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.interned.columns

    def place(self, position: int) -> Place:
        return self.table.place(self.interned.row(position))

    def mistakes_at(self, wrong: npt.NDArray[np.bool_], message: Callable[[int], str]) -> list[Mistake]:
        """A mistake for each of the first rows, in the order of the table."""
        positions = np.flatnonzero(wrong)
        each = (self.place(int(p)).mistake(message(int(p)), self._hint(int(p))) for p in positions)
        return rows_at_fault(self.table.name, len(positions), each)

    def _hint(self, position: int) -> str:
        """A first row that does not fit may be a header."""
        first = self.table.names is None and self.interned.row(position) == 0
        return self.table.hint if first else ""


def rows_with(column: Column, wrong: Truths) -> Truths:
    """The rows in which one of the constants at fault stands."""
    return (column.codes != ABSENT) & np.append(wrong, False)[column.codes]
