"""Facts that are in memory as Python values: runs of ground facts of a theory, and lists of rows.

>>> table, = PythonRows("friends", [("anna", "bob"), ("bob", "anna")]).open(Store(), Reading({}))
>>> table.width, str(table.place(1)), table.interned(["person", "person"], marked=False).row_count
(2, 'friends, row 2', 2)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any

import numpy as np

from herbrand.errors import FactsError, Mistake
from herbrand.facts.column import Interned
from herbrand.facts.place import Place, rows_at_fault
from herbrand.facts.sources.base import EmptyTable, FactSource, OpenTable, Reading
from herbrand.facts.sources.python_values import python_columns
from herbrand.facts.store import Progress, Store
from herbrand.language.syntax import FactRows

_MARK_OF_KIND = {"true": None, "false": "truth", "soft": "probability", "weighted": "weight"}
BYTES_A_CELL = 10


class TheoryTable(OpenTable):
    """Runs of ground facts of one predicate, all said in the same way."""

    stated = True

    def __init__(self, runs: Sequence[FactRows]) -> None:
        first = runs[0]
        mark = _MARK_OF_KIND[first.kind]
        self.runs = runs
        self.predicate = first.predicate
        self.name = f"facts of {first.predicate}"
        self.arguments = len(first.columns)
        self.width = self.arguments + (mark is not None)
        self.names = ("",) * self.arguments + ((mark,) if mark else ())
        self.valued = first.valued
        self.size = BYTES_A_CELL * self.arguments * sum(run.row_count for run in runs)
        self._ends = list(accumulate(run.row_count for run in runs))

    @property
    def whole(self) -> Place:
        return self.place(0)

    def place(self, row: int) -> Place:
        run = bisect_right(self._ends, row)
        start = self._ends[run - 1] if run else 0
        return Place(self.name, row + 1, self.runs[run].row_span(row - start))

    def interned(self, types: Sequence[str], *, marked: bool, progress: Progress | None = None) -> Interned:
        columns = [
            list(chain.from_iterable(run.columns[i] for run in self.runs)) for i in range(self.arguments)
        ]
        return Interned(
            python_columns(columns, types, self.place), self._ends[-1], self._marks() if marked else None
        )

    def _marks(self) -> np.ndarray:
        if self.runs[0].kind == "false":
            return np.zeros(self._ends[-1], bool)
        return np.array(list(chain.from_iterable(run.numbers for run in self.runs)), np.float64)


def theory_tables(rows: Iterable[FactRows]) -> list[TheoryTable]:
    """One table for all runs of a predicate that say their facts in the same way."""
    groups: dict[tuple[object, ...], list[FactRows]] = {}
    for run in rows:
        if run.row_count:
            groups.setdefault((run.predicate, run.kind, run.valued, len(run.columns)), []).append(run)
    return [TheoryTable(runs) for runs in groups.values()]


@dataclass(frozen=True, eq=False)
class PythonRows(FactSource):
    """``{"friends": [("anna", "bob")]}``; a bare constant is a row of one."""

    name: str
    rows: Sequence[Any]

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        known = reading.predicates.get(self.name)
        if not self.rows:
            return [EmptyTable(self.name, self.name, len(known.column_types) if known else 0)]
        width = len(known.column_types) if known else len(_as_row(self.rows[0]))
        return [_PythonTable(self.name, self.rows, width)]


class _PythonTable(OpenTable):
    def __init__(self, name: str, rows: Sequence[Any], width: int) -> None:
        self.predicate = self.name = name
        self.rows = rows
        self.width = width
        self.size = BYTES_A_CELL * width * len(rows)

    def place(self, row: int) -> Place:
        return Place(self.name, row + 1)

    def interned(self, types: Sequence[str], *, marked: bool, progress: Progress | None = None) -> Interned:
        rows = self.rows
        if set(map(type, rows)) - {tuple}:
            rows = list(map(_as_row, rows))
        if set(map(len, rows)) - {self.width}:
            raise FactsError(self._wrong_widths(rows))
        columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * self.width
        return Interned(python_columns(columns, types, self.place), len(rows))

    def _wrong_widths(self, rows: Sequence[tuple[Any, ...]]) -> list[Mistake]:
        wrong = [(i, len(row)) for i, row in enumerate(rows) if len(row) != self.width]
        expected = f"where {self.width} {'is' if self.width == 1 else 'are'} expected"
        each = (
            self.place(i).mistake(f"{found} value{'' if found == 1 else 's'} {expected}")
            for i, found in wrong
        )
        return rows_at_fault(self.name, len(wrong), each)


def _as_row(row: Any) -> tuple[Any, ...]:
    """What holds no constants in an order is one value, and is refused as such if it is no constant."""
    ordered = isinstance(row, Iterable) and not isinstance(row, str | bytes | Mapping | Set)
    return tuple(row) if ordered else (row,)
