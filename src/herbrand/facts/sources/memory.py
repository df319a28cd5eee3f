"""Facts in memory as Python values: runs of facts of a theory, and lists of rows.

>>> table, = PythonRows("friends", [("anna", "bob"), ("bob", "anna")]).open(Store(), Reading({}))
>>> table.width, str(table.place(1)), table.interned(["person", "person"], marked=False).row_count
(2, 'friends, row 2', 2)
>>> column, = python_columns([["bob", "anna", "bob"]], ["person"], lambda row: Place("friends", row + 1))
>>> column.codes.tolist()
[0, 1, 0]
"""

from __future__ import annotations

import hashlib
import math
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from itertools import accumulate, chain
from typing import Any

import numpy as np
import pyarrow as pa

from herbrand.errors import FactsError, Mistake, counted
from herbrand.facts.column import (
    SMALL,
    TEXT,
    Column,
    Interned,
    constants,
    dictionary_column,
    python_column,
    text_array,
)
from herbrand.facts.domain import array_of
from herbrand.facts.place import Place, mixed_mistake, rows_at_fault, shown
from herbrand.facts.sources.base import FactSource, OpenTable, Reading
from herbrand.facts.store import Progress, Store
from herbrand.language.syntax import FactRows, Value
from herbrand.language.theory import Theory

_MARK_OF_KIND = {"true": None, "false": "truth", "soft": "probability", "weighted": "weight"}
BYTES_A_CELL = 10


class TheoryTable(OpenTable):
    """Runs of ground facts of one predicate, all of one kind (true, false, soft, weighted)."""

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

    @property
    def content(self) -> str:
        return mark([(run.columns, run.numbers) for run in self.runs])

    def place(self, row: int) -> Place:
        run = bisect_right(self._ends, row)
        start = self._ends[run - 1] if run else 0
        return Place(self.name, row + 1, self.runs[run].row_span(row - start))

    def places_of(self, arguments: Sequence[Value]) -> list[Place]:
        key = tuple(arguments)
        rows = (run.row(number) for run in self.runs for number in range(run.row_count))
        return [self.place(n) for n, row in enumerate(rows) if tuple(row[: len(key)]) == key]

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
    """One table for all runs of a predicate with facts of the same kind."""
    groups: dict[tuple[object, ...], list[FactRows]] = {}
    for run in rows:
        if run.row_count:
            groups.setdefault((run.predicate, run.kind, run.valued, len(run.columns)), []).append(run)
    return [TheoryTable(runs) for runs in groups.values()]


@dataclass(frozen=True, eq=False)
class TheoryFacts(FactSource):
    """A theory that states facts only, such as ``hb.parse('friends("anna", "bob")')``."""

    theory: Theory
    name: str = "facts of a theory"

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        for statement in self.theory.statements:
            if not isinstance(statement, FactRows):
                raise FactsError(
                    "a theory given as facts states facts alone",
                    span=statement.span,
                    hint="add other statements to the theory of the model",
                )
        return theory_tables(self.theory.facts)


@dataclass(frozen=True, eq=False)
class PythonRows(FactSource):
    """Rows of one predicate, as in ``{"friends": [("anna", "bob")]}``; a bare constant is a row of one."""

    name: str
    rows: Sequence[Any]

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        if not self.rows:
            return [reading.empty(self.name, self.name)]
        if _is_file(self.rows[0]):
            reading.note(_file_as_constant(self.name, self.rows[0]))
        known = reading.predicates.get(self.name)
        width = len(known.column_types) if known else len(_as_row(self.rows[0]))
        return [_PythonTable(self.name, self.rows, width)]


def _is_file(row: Any) -> bool:
    return isinstance(row, str) and bool(os.path.splitext(row)[1]) and os.path.isfile(row)


def _file_as_constant(predicate: str, path: str) -> str:
    return (
        f"{predicate}: {shown(path)} was taken as a constant, though there is such a file; "
        f'to read files, name the table of each: ["{predicate}={path}", ...]'
    )


class _PythonTable(OpenTable):
    def __init__(self, name: str, rows: Sequence[Any], width: int) -> None:
        self.predicate = self.name = name
        self.rows = rows
        self.width = width
        self.size = BYTES_A_CELL * width * len(rows)

    @property
    def content(self) -> str:
        return mark(self.rows)

    def interned(self, types: Sequence[str], *, marked: bool, progress: Progress | None = None) -> Interned:
        rows = self.rows
        if set(map(type, rows)) - {tuple}:
            rows = list(map(_as_row, rows))
        if set(map(len, rows)) - {self.width}:
            wrong = [place for place, row in enumerate(rows) if len(row) != self.width]
            raise FactsError(rows_at_fault(self.name, wrong, lambda place: self._wrong_width(place, rows)))
        columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * self.width
        return Interned(python_columns(columns, types, self.place), len(rows))

    def _wrong_width(self, place: int, rows: Sequence[tuple[Any, ...]]) -> Mistake:
        given, are = counted(len(rows[place]), "value"), "is" if self.width == 1 else "are"
        hint = _NO_ROW if rows[place] and isinstance(rows[place][0], Mapping) else ""
        return self.place(place).mistake(f"{given} where {self.width} {are} expected", hint)


def mark(rows: object) -> str:
    """Fingerprint of Python values."""
    return hashlib.sha256(repr(rows).encode(errors="replace")).hexdigest()


def _as_row(row: Any) -> tuple[Any, ...]:
    """Convert a row to a tuple. A value that is no ordered collection is a row of one, and is refused later
    if it is no constant."""
    ordered = isinstance(row, Iterable) and not isinstance(row, str | bytes | Mapping | Set)
    return tuple(row) if ordered else (row,)


# Columns of Python values as columns of constants, with the row of every value that is none


_CONSTANT = "a constant is text or a number"
_NO_ROW = "a dict is no row: give its values as a tuple, or a DataFrame of the rows"
_DATES_ALONE = "dates are taken where a column holds nothing else; as text they are value.isoformat()"
FINER = "moments are kept to the microsecond: round them"
_NUMBER_TYPES = frozenset({int, float})
MOST_SHOWN_BITS = 10_000
"""Bits of the largest whole number that is shown; Python refuses to convert much larger ones to text."""
_AS_IT_IS: Mapping[type, Callable[[Any], Value]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
}
"""Conversions from a subclass to the type itself, which ignore methods that the subclass overrides."""


def python_columns(
    columns: Sequence[list[Any]], types: Sequence[str], place: Callable[[int], Place]
) -> tuple[Column, ...]:
    encoded, mistakes = [], []
    for number, (column, type_name) in enumerate(zip(columns, types, strict=True), start=1):
        try:
            encoded.append(_few(column) or dictionary_column(python_array(column)))
        except (TypeError, ValueError, OverflowError):
            mistakes += wrong_constants(column, number, type_name, place)
    if mistakes:
        raise FactsError(mistakes)
    return tuple(encoded)


def _few(column: list[Any]) -> Column | None:
    """Intern a short column of texts, or of whole numbers, without Arrow, which is slower; None for
    others."""
    if len(column) > SMALL or set(map(type, column)) not in ({str}, {int}):
        return None
    return python_column(column, array_of)


def python_array(column: list[Any]) -> pa.Array:
    """Arrow array of text or of numbers; raises an error for mixed columns and other values."""
    kinds = set(map(type, column))
    if kinds == {str}:
        return text_array(column)
    kinds.discard(type(None))
    if kinds <= {str}:
        return pa.array(column, TEXT)
    if kinds == _NUMBER_TYPES:
        return _floats(column)
    if kinds <= _NUMBER_TYPES:
        return pa.array(column)
    if kinds <= {Decimal} | _NUMBER_TYPES:
        return python_array([*map(_number, column)])
    if kinds == {date} or (kinds and all(issubclass(kind, datetime) for kind in kinds)):
        if any(map(_is_finer, column)):
            raise ValueError(FINER)
        return constants(pa.array(column))
    if str in kinds and any(map(is_nan, column)):
        return python_array([None if is_nan(value) else value for value in column])
    plain = [_plain(value) for value in column]
    if set(map(type, plain)) == set(map(type, column)):
        raise TypeError("neither text nor numbers alone")
    return python_array(plain)


def is_nan(value: Any) -> bool:
    """Whether a value is ``nan``, which beside texts is the empty cell of a data frame."""
    return isinstance(value, float) and math.isnan(value)


_LARGEST_EXPONENT = 400
"""Decimal exponent beyond all floats; a decimal with a larger one has too many digits to write out."""


def _number(value: Any) -> Any:
    """Number of a decimal: a whole number exactly, else the nearest float; other values unchanged."""
    if not isinstance(value, Decimal):
        return value
    if value.is_nan():
        return math.nan
    whole = value.is_finite() and value == value.to_integral_value()
    return int(value) if whole and value.adjusted() < _LARGEST_EXPONENT else float(value)


def _plain(value: Any) -> Any:
    """Convert a value of a subclass of text or numbers, such as a member of an enumeration, to the plain
    type."""
    if isinstance(value, np.generic):
        item = value.item()
        if value.dtype.kind not in "Mm" or not isinstance(item, int):
            return item
        coarser = value.astype(f"{value.dtype.kind}8[us]")  # nanoseconds have a whole number as their item,
        known = coarser.item()  # and so have dates outside the years of Python's
        return known if coarser == value and not isinstance(known, int) else value
    kind = next((kind for kind in (str, int, float) if isinstance(value, kind)), None)
    return value if kind is None or isinstance(value, bool) else _AS_IT_IS[kind](value)


def _floats(column: list[Any]) -> pa.Array:
    """Array of floats from whole numbers and fractions; Arrow itself refuses all whole numbers beyond 2^53,
    even those that a float represents exactly."""
    whole = [value for value in column if isinstance(value, int)]
    if any(not _is_constant(value) or float(value) != value for value in whole):
        raise ValueError("no float is this whole number")
    return pa.array([None if value is None else float(value) for value in column])


def wrong_constants(
    column: list[Any], number: int, type_name: str, place: Callable[[int], Place]
) -> list[Mistake]:
    column = [*map(_number, column)]
    wrong = [row for row, value in enumerate(column) if not _is_constant(value)]
    if wrong:

        def mistake(row: int) -> Mistake:
            message = f"column {number} holds {_described(column[row])}, which is no constant"
            return place(row).mistake(message, _advice(column[row]))

        return rows_at_fault(place(wrong[0]).table, wrong, mistake)
    texts = [i for i, value in enumerate(column) if isinstance(value, str)]
    if not texts:
        return _inexact(column, number, place)
    numbers = [i for i, value in enumerate(column) if not (value is None or isinstance(value, str))]
    numbers = [i for i in numbers if not is_nan(column[i])]
    text, other = texts[0], numbers[0]
    return [mixed_mistake(type_name, (column[text], place(text)), (column[other], place(other)))]


def _inexact(column: Sequence[Any], number: int, place: Callable[[int], Place]) -> list[Mistake]:
    """Mistakes for whole numbers that are not exact as floats, in a column with fractions."""
    wrong = [row for row, value in enumerate(column) if isinstance(value, int) and float(value) != value]

    def mistake(row: int) -> Mistake:
        return place(row).mistake(
            f"column {number} holds {shown(column[row])} beside fractions; "
            "whole numbers beyond 2^53 cannot be kept exactly with them"
        )

    return rows_at_fault(place(wrong[0]).table, wrong, mistake)


def _is_constant(value: Any) -> bool:
    if isinstance(value, str):
        return not any("\ud800" <= c <= "\udfff" for c in value)
    if isinstance(value, bool):
        return False
    return value is None or isinstance(value, float) or (isinstance(value, int) and -(2**63) <= value < 2**63)


def _is_finer(value: Any) -> bool:
    """Whether a time of pandas or NumPy is finer than microseconds."""
    if isinstance(value, np.datetime64) and not np.isnat(value):
        return bool(value.astype("datetime64[us]") != value)
    return bool(getattr(value, "nanosecond", 0))


def _advice(value: Any) -> str:
    if _is_finer(value):
        return FINER
    if isinstance(value, np.datetime64):
        return "dates are of the years 1 to 9999"
    return _DATES_ALONE if isinstance(value, date) else _CONSTANT


def _described(value: Any) -> str:
    if isinstance(value, str):
        return "text that is not valid Unicode"
    if isinstance(value, int) and not isinstance(value, bool):
        digits = f"{shown(value)}, " if value.bit_length() <= MOST_SHOWN_BITS else ""
        return f"{digits}a whole number of more than 64 bits"
    return f"{shown(str(value))} ({type(value).__name__})"
