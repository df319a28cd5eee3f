"""The claims of one table about one predicate: its interned columns, and the values of its special column.

Each row is checked by itself. Mistakes are a wrong number of columns, empty cells, text in a numeric column,
numbers that are not finite, and invalid values of the special column (``truth``, ``probability``,
``weight``).

>>> from herbrand.facts.sources.base import Reading
>>> from herbrand.facts.sources.memory import PythonRows
>>> from herbrand.facts.store import Store
>>> from herbrand.language.signature import Type
>>> smokes = Predicate("smokes", ("person",))
>>> table, = PythonRows("smokes", ["anna", "bob"]).open(Store(), Reading({"smokes": smokes}))
>>> claims = read_claims(table, smokes, Signature({"person": Type("person")}, {"smokes": smokes}))
>>> claims.columns[0].values.to_pylist(), str(claims.place(1))
(['anna', 'bob'], 'smokes, row 2')
>>> [str(mistake) for mistake in claims.mistakes_at(np.array([False, True]), lambda row: "who is this?")]
['smokes, row 2: who is this?']
>>> numbers, good = numbers_of(pa.chunked_array([pa.array(["0.5", " 1", "x"])]))
>>> numbers.tolist(), good.tolist()
([0.5, 1.0, 0.0], [True, True, False])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from herbrand.errors import FactsError, Mistake, counted
from herbrand.extras import pc
from herbrand.facts.column import (
    ABSENT,
    Column,
    Interned,
    Marks,
    dictionary_column,
    numbers_from_text,
    simplest_numbers,
    writes_a_number,
)
from herbrand.facts.facts import Numbers
from herbrand.facts.place import LONGEST_SHOWN, Place, rows_at_fault, shown
from herbrand.facts.sources.base import MARKS, OpenTable
from herbrand.facts.store import Progress
from herbrand.language.names import moment
from herbrand.language.signature import Predicate, Signature
from herbrand.language.syntax import Calendar
from herbrand.visible import shortened

Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Claims:
    """The rows of one table, with at most one of ``truths``, ``probabilities`` and ``weights``."""

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
        """A mistake for each of the first ``wrong`` rows, in the order of the table."""

        def mistake(position: int) -> Mistake:
            return self.place(position).mistake(message(position), self._hint(position))

        if not wrong.any():
            return []
        return rows_at_fault(self.table.name, np.flatnonzero(wrong).tolist(), mistake)

    def _hint(self, position: int) -> str:
        """Advice for the mistake of a row; the first one may be a header."""
        first = self.table.names is None and self.interned.row(position) == 0
        return self.table.hint if first else ""


def rows_with(column: Column, wrong: Truths) -> Truths:
    """Rows whose constant is one of the ``wrong`` ones."""
    return (column.codes != ABSENT) & np.append(wrong, False)[column.codes]


# The special column


_NUMBER_RULES: dict[str, tuple[str, Callable[[Numbers], Truths]]] = {
    "probability": (
        "not a probability; expected a number from 0 to 1",
        lambda numbers: (numbers >= 0) & (numbers <= 1),
    ),
    "weight": ("not a weight; expected a finite number", lambda numbers: np.ones(len(numbers), bool)),
}

_TRUE, _FALSE = ("true", "1"), ("false", "0")


def with_marks(claims: Claims, mark: str) -> tuple[Claims, list[Mistake]]:
    """The claims with the values of their special column, and the mistakes in its cells."""
    marks = claims.interned.marks
    if marks is None:
        return claims, []
    claims = replace(claims, interned=replace(claims.interned, marks=None))
    if mark == "truth":
        truths, mistakes = _truths(claims, marks)
        return replace(claims, truths=truths), mistakes
    numbers, good = numbers_of(marks)
    message, allowed = _NUMBER_RULES[mark]
    with np.errstate(invalid="ignore"):
        wrong = ~(good & np.isfinite(numbers) & allowed(numbers))
    mistakes = claims.mistakes_at(wrong, lambda p: f"{_cell(marks, p)} is {message}") if wrong.any() else []
    if mark == "probability":
        return replace(claims, probabilities=numbers), mistakes
    return replace(claims, weights=numbers), mistakes


def _truths(claims: Claims, marks: Marks) -> tuple[Truths, list[Mistake]]:
    if isinstance(marks, np.ndarray):
        return marks, []
    try:
        texts = pc.utf8_lower(marks.cast(pa.large_string()))
    except pa.ArrowException:  # lists and the like are not written as text
        texts = pa.chunked_array([pa.nulls(len(marks), pa.large_string())])
    true, false = (
        pc.is_in(texts, pa.array(words, pa.large_string())).to_numpy() for words in (_TRUE, _FALSE)
    )
    wrong = ~(true | false)
    if not wrong.any():
        return true, []
    return true, claims.mistakes_at(
        wrong, lambda p: f"{_cell(marks, p)} is not a truth value; expected true or false"
    )


def numbers_of(marks: Marks) -> tuple[Numbers, Truths]:
    """Number of every cell (0 if it has none), and which cells have one."""
    if isinstance(marks, np.ndarray):
        return marks, np.ones(len(marks), bool)
    if pa.types.is_integer(marks.type) or pa.types.is_floating(marks.type):
        numbers, good = marks.cast(pa.float64(), safe=False), pc.is_valid(marks).to_numpy()
    elif pa.types.is_decimal(marks.type) or marks.type in (pa.string(), pa.large_string(), pa.string_view()):
        # Arrow's own floats of decimals miss the nearest ones
        texts = marks.cast(pa.large_string()).combine_chunks()
        parsed, written = numbers_from_text(texts)
        numbers, good = parsed.cast(pa.float64(), safe=False), written & pc.is_valid(parsed).to_numpy(False)
    else:
        return np.zeros(len(marks)), np.zeros(len(marks), bool)
    return np.ascontiguousarray(pc.fill_null(numbers, 0.0).to_numpy(zero_copy_only=False)), good


def _cell(marks: Marks, position: int) -> str:
    value = marks[position] if isinstance(marks, np.ndarray) else marks[position].as_py()
    return "an empty cell" if value is None else f"'{shortened(str(value), LONGEST_SHOWN)}'"


# Every row judged by itself


_OF_A_RESULT = "a result of infer is no table of facts: keep its columns of arguments, and probability"


def read_claims(
    table: OpenTable, predicate: Predicate, signature: Signature, progress: Progress | None = None
) -> Claims:
    """Read and check the rows of a table; raises a ``FactsError`` with all mistakes."""
    mark = mark_of(table, predicate)
    interned = table.interned(predicate.column_types, marked=mark is not None, progress=progress)
    interned, note = _without_nulls(table, predicate, interned)
    claims = Claims(table, predicate, interned, note=note)
    mistakes = _empty_cells(claims)
    claims, wrong = _with_numbers(claims, signature)
    mistakes += wrong
    if mark is not None:
        claims, wrong = with_marks(claims, mark)
        mistakes += wrong
    if mistakes:
        raise FactsError(mistakes)
    return claims


def _without_nulls(table: OpenTable, predicate: Predicate, interned: Interned) -> tuple[Interned, str]:
    """Rows without an empty cell, if rows with one are not refused; constants of unknown rows are kept."""
    if table.nulls == "refuse":
        return interned, ""
    if table.nulls == "unknown" and predicate.role is not None:
        message = f"'{predicate.name}' is {predicate.role}, so what no row says is false and never unknown"
        raise FactsError(table.whole.mistake(message, "leave such rows out: nulls drop"))
    kept = np.ones(interned.row_count, bool)
    for column in interned.columns:
        kept &= column.codes != ABSENT
    if interned.marks is not None and not isinstance(interned.marks, np.ndarray):
        kept &= pc.is_valid(interned.marks).to_numpy()
    left = int(np.count_nonzero(~kept))
    if not left:
        return interned, ""
    columns = [Column(column.values, column.codes[kept]) for column in interned.columns]
    if table.nulls == "drop":
        columns = list(map(_used, columns))
    marks = interned.marks
    if marks is not None:
        marks = marks[kept] if isinstance(marks, np.ndarray) else marks.filter(pa.array(kept))
    rows = np.flatnonzero(kept) if interned.rows is None else interned.rows[kept]
    what = "left out" if table.nulls == "drop" else "taken as unknown"
    have = "has an empty cell and was" if left == 1 else "have an empty cell and were"
    note = f"{table.name}: {left:,} of {counted(len(kept), 'row')} {have} {what}"
    return Interned(tuple(columns), len(rows), marks, rows), note


def _used(column: Column) -> Column:
    """The column without constants that no row has."""
    used, codes = np.unique(column.codes, return_inverse=True)
    return Column(column.values.take(pa.array(used)), codes.astype(np.int32))


def mark_of(table: OpenTable, predicate: Predicate) -> str | None:
    """Name of the special column after the predicate's own; raises an error if the columns do not fit."""
    expected = len(predicate.column_types)
    last = table.names[-1] if table.names else None
    if table.width == expected and not _misplaced(table, predicate):
        return None
    if table.width == expected + 1 and last in MARKS and not _misplaced(table, predicate):
        return last
    raise FactsError(_wrong_width(table, predicate))


def _misplaced(table: OpenTable, predicate: Predicate) -> bool:
    """Whether a special name heads one of the predicate's own columns, and is not that column's type."""
    own = (table.names or ())[: len(predicate.column_types)]
    return any(n in MARKS and n != t for n, t in zip(own, predicate.column_types, strict=False))


def _wrong_width(table: OpenTable, predicate: Predicate) -> Mistake:
    names = ", ".join(repr(n) for n in table.names or () if n)
    width = f"{counted(table.width, 'column')}{f' ({names})' if names else ''}"
    expected = counted(len(predicate.column_types), "column")
    if predicate.column_types:
        expected += f" ({', '.join(predicate.column_types)})"
    return table.whole.mistake(
        f"{width}, but '{predicate.name}' takes {expected} and after them at most one named "
        f"truth, probability or weight",
        _width_hint(table, predicate),
    )


def _width_hint(table: OpenTable, predicate: Predicate) -> str:
    if (table.names or ())[:1] == ("atom",):
        return _OF_A_RESULT
    expected = len(predicate.column_types)
    if table.width == expected:  # a special name heads a column of its own: the first row may be data
        return table.hint
    last = next(reversed(table.names or table.first_cells), "")
    if last not in MARKS and last.strip().lower() in MARKS:
        return f"name the last column '{last.strip().lower()}', not {shown(last)}"
    if len({*MARKS} & {*(table.names or ())}) > 1:
        return "leave out all of truth, probability and weight but one"
    if table.hint and not table.names and table.width == expected + 1:
        return f"a first row must name the columns, such as: {', '.join((*predicate.column_types, 'truth'))}"
    return table.width_hint


def _empty_cells(claims: Claims) -> list[Mistake]:
    mistakes: list[Mistake] = []
    for number, (column, name) in enumerate(_typed(claims), start=1):
        if column.codes.min(initial=0) < 0:
            empty = column.codes == ABSENT
            mistakes += claims.mistakes_at(
                empty, _says(f"column {number} is empty; expected a constant of type '{name}'")
            )
    return mistakes


def _says(message: str) -> Callable[[int], str]:
    return lambda _: message


def _typed(claims: Claims) -> list[tuple[Column, str]]:
    return list(zip(claims.columns, claims.predicate.column_types, strict=True))


def _with_numbers(claims: Claims, signature: Signature) -> tuple[Claims, list[Mistake]]:
    """Convert the constants of numeric types to numbers, and check that all numbers are finite."""
    columns, mistakes = [], []
    for number, (column, name) in enumerate(_typed(claims), start=1):
        declared = signature.types[name]
        if claims.table.textual and declared.kind == "number" and declared.declared:
            column, wrong = _parsed(claims, column, number, name)
            mistakes += wrong
        if declared.calendar is not None and column.kind == "text":
            column, wrong = _moments(claims, column, number, name, declared.calendar)
            mistakes += wrong
        if pa.types.is_floating(column.values.type):
            mistakes += _not_finite(claims, column, number)
            column = Column(simplest_numbers(column.values), column.codes)
        columns.append(column)
    if all(parsed is own for parsed, own in zip(columns, claims.columns, strict=True)):
        return claims, mistakes
    return replace(claims, interned=replace(claims.interned, columns=tuple(columns))), mistakes


def _parsed(claims: Claims, column: Column, number: int, name: str) -> tuple[Column, list[Mistake]]:
    numbers, good = numbers_from_text(column.values)
    parsed = Column(pc.fill_null(numbers, 0), column.codes)
    if good.all():
        return parsed, []

    def message(position: int) -> str:
        text = str(column.constant(position))
        if writes_a_number(text):
            return (
                f"{shown(text)} in column {number} cannot be kept exactly: whole numbers have 64 bits, "
                "and 53 where fractions stand in the column too"
            )
        return f"{shown(text)} in column {number} is not a number; type '{name}' holds numbers"

    return parsed, claims.mistakes_at(rows_with(column, ~good), message)


def _moments(
    claims: Claims, column: Column, number: int, name: str, calendar: Calendar
) -> tuple[Column, list[Mistake]]:
    """Convert dates or times to their canonical form."""
    texts, good = in_one_form(column.values, calendar)
    written = dictionary_column(texts)  # two forms of a date are one constant
    codes = np.append(written.codes, np.int32(ABSENT))[column.codes]
    if good.all():
        return Column(written.values, codes), []

    def message(position: int) -> str:
        text = column.constant(position)
        return f"{shown(text)} in column {number} is no {calendar}; type '{name}' holds {such_as(calendar)}"

    return Column(written.values, codes), claims.mistakes_at(rows_with(column, ~good), message)


def in_one_form(written: pa.Array, calendar: str) -> tuple[pa.Array, np.ndarray]:
    """Texts with dates or times in canonical form, and which of the texts are dates or times."""
    texts, good = written.to_pylist(), np.ones(len(written), bool)
    for place, text in enumerate(texts):
        try:
            texts[place] = moment(calendar, text.strip())
        except ValueError:
            good[place] = False
    return pa.array(texts, pa.large_string()), good


def such_as(calendar: str) -> str:
    """Example of a type's constants, for messages about dates or times."""
    finest = ", to the microsecond" if calendar == "time" else ""
    return f"such as {moment(calendar, '2026-11-22')}{finest}"


def _not_finite(claims: Claims, column: Column, number: int) -> list[Mistake]:
    wrong = ~np.isfinite(column.values.to_numpy(zero_copy_only=False))
    if not wrong.any():
        return []
    return claims.mistakes_at(
        rows_with(column, wrong),
        lambda row: f"column {number} holds {column.constant(row)}; a constant is text or a finite number",
    )
