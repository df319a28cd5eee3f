"""Read a result of ``infer``: an answer in memory, or a JSON, CSV or Parquet file, by its ending."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from herbrand.answers.argument_columns import constant_text
from herbrand.answers.marginals import Row
from herbrand.errors import HerbrandError, LanguageError
from herbrand.facts.column import canonical, writes_a_number
from herbrand.files import irregular
from herbrand.language.names import simplest
from herbrand.language.parse import parse_formula, parse_theory
from herbrand.language.show import show_atom
from herbrand.language.syntax import Atom, Constant, Value
from herbrand.visible import shortened

COLUMNS = ("atom", "predicate", "probability", "value")
LONGEST_REASON = 100
"""Largest number of characters shown of a reader's error, which may quote a line of the file."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A row of a result. ``predicate`` is ``None`` for a formula."""

    text: str
    predicate: str | None
    arguments: tuple[Value, ...]
    probability: float
    value: Value | None = None

    @property
    def constants(self) -> tuple[Value, ...]:
        """The arguments, followed by the value if there is one."""
        return self.arguments if self.value is None else (*self.arguments, self.value)


def rows_of(result: Any) -> list[Scored]:
    """The rows of an answer of ``infer``, or of a file that holds one."""
    if isinstance(result, str | Path):
        return read_result(result)
    rows = list(result) if isinstance(result, Iterable) else [result]
    for row in rows:
        if not isinstance(row, Row | Scored):
            raise HerbrandError(
                f"a score needs the rows of an answer of infer, and {type(result).__name__} has none",
                hint="give what model.infer returned, or the name of a file that it was written to",
            )
    return [
        row
        if isinstance(row, Scored)
        else Scored(row.atom, row.predicate, tuple(row.arguments), row.probability, row.value)
        for row in rows
    ]


def read_result(path: str | Path) -> list[Scored]:
    """Rows of a result file; raises an error for any other file."""
    path = Path(path)
    if not path.is_file():
        kind = irregular(path)
        raise HerbrandError(f"there is no file '{path}'" + (f": that is {kind}" if kind else ""))
    if path.suffix.lower() not in _READERS:
        endings = ", ".join(_READERS)
        raise HerbrandError(f"'{path}' has no ending that says how to read it", hint=f"known are {endings}")
    return read_rows(_READERS[path.suffix.lower()](path), str(path))


def read_rows(rows: Iterable[Mapping[str, Any]], place: str) -> list[Scored]:
    """Read rows in the layout of an answer's JSON; ``place``: where they are, for messages."""
    rows = _with_columns(place, list(rows))
    for number, row in enumerate(rows, 1):
        if not isinstance(row["atom"], str) or not isinstance(row["predicate"], str | None):
            raise HerbrandError(f"{place}, row {number}: atom and predicate are texts")
        if isinstance(row["value"], list | dict):
            raise HerbrandError(f"{place}, row {number}: the value is one constant, or missing")
    arguments = _arguments(rows)
    scored = [_scored(place, number, row, arguments) for number, row in enumerate(rows, 1)]
    _refuse_repeated(place, scored)
    return scored


def _refuse_repeated(place: str, rows: Sequence[Scored]) -> None:
    """Raise an error for a second row of the same atom and value."""
    known: dict[tuple[Any, ...], int] = {}
    for number, row in enumerate(rows, 1):
        first = known.setdefault(
            (row.predicate, row.constants) if row.predicate else (None, row.text), number
        )
        if first != number:
            raise HerbrandError(
                f"{place}, row {number}: {row.text} has a probability in row {first} already",
                hint="score one answer at a time",
            )


def _scored(
    place: str, number: int, row: Mapping[str, Any], arguments: Mapping[str, tuple[Value, ...]]
) -> Scored:
    text, name, value = row["atom"], row["predicate"] or None, row["value"]
    probability = _number(row["probability"])
    if not 0 <= probability <= 1:
        raise HerbrandError(f"{place}, row {number}: {row['probability']!r} is no probability")
    own = () if name is None else arguments[text]
    return Scored(text, name, own, probability, None if _is_missing(value) else canonical(value))


def _number(cell: Any) -> float:
    """Number in a cell; ``nan`` for anything else, such as `0_1` and `true`."""
    if isinstance(cell, bool) or (isinstance(cell, str) and not writes_a_number(cell)):
        return float("nan")
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _is_missing(value: Any) -> bool:
    """Whether a value is None or NaN, which pandas has for a missing number."""
    return value is None or value != value


def _arguments(rows: Iterable[Mapping[str, Any]]) -> dict[str, tuple[Value, ...]]:
    """Arguments of each atom, by its text; many atoms are parsed together."""
    texts = list(dict.fromkeys(row["atom"] for row in rows if row["predicate"]))
    try:
        theory = parse_theory("".join(f"{text}\n" for text in texts))
        arguments = {
            show_atom(facts.predicate, facts.row(i)): tuple(map(canonical, facts.row(i)))
            for facts in theory.facts
            for i in range(facts.row_count)
        }
    except LanguageError as error:
        raise HerbrandError("the result holds rows that are no atoms", hint=str(error.mistakes[0])) from None
    return arguments | {text: _of_text(text) for text in texts if text not in arguments}


def _of_text(text: str) -> tuple[Value, ...]:
    """Parse the arguments of an atom whose text is not the printer's."""
    formula = parse_formula(text)
    if not isinstance(formula, Atom) or not all(isinstance(term, Constant) for term in formula.arguments):
        raise HerbrandError(f"{text} is no ground atom")
    return tuple(canonical(term.value) for term in formula.arguments if isinstance(term, Constant))


def _json_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise HerbrandError(f"'{path}' is no JSON: {error}") from None
    rows = content.get("marginals") if isinstance(content, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise HerbrandError(
            f"'{path}' has no list of 'marginals'", hint="give what 'herbrand infer --format json' wrote"
        )
    yield from rows


def _csv_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Rows of a CSV file. An empty cell in quotes is the empty text; without quotes it is no value."""
    import pyarrow.csv

    texts = pyarrow.csv.ConvertOptions(
        column_types={name: pa.string() for name in COLUMNS},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    lines = pyarrow.csv.ParseOptions(newlines_in_values=True)
    try:
        table = pyarrow.csv.read_csv(path, parse_options=lines, convert_options=texts)
    except pa.ArrowInvalid as error:
        raise HerbrandError(f"'{path}' is no table: {shortened(str(error), LONGEST_REASON)}") from None
    yield from _with_numbers(table.to_pylist())


def _with_numbers(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows whose values are numbers, for predicates of which all values are texts of numbers."""
    written = [row for row in rows if isinstance(row.get("value"), str)]
    texts = {row.get("predicate") for row in written if not _is_number(row["value"])}
    for row in written:
        if row.get("predicate") not in texts:
            row["value"] = number_in(row["value"])
    return rows


def _is_number(text: str) -> bool:
    number = number_in(text)
    return not isinstance(number, str) and constant_text(number) == text


def number_in(constant: Value) -> Value:
    """Number of a text that is one; other constants unchanged.

    >>> number_in(" +1.0"), number_in("2.5"), number_in("anna")
    (1, 2.5, 'anna')
    """
    if not isinstance(constant, str) or not writes_a_number(constant):
        return constant
    try:
        return int(constant)
    except ValueError:
        return simplest(float(constant))


def _parquet_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise HerbrandError(f"'{path}' is no Parquet file: {error}") from None
    yield from _with_numbers(table.to_pylist())


def _with_columns(place: str, rows: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    for number, row in enumerate(rows, 1):
        missing = next((name for name in COLUMNS if name not in row), None)
        if missing:
            where = f"{place}, row {number}" if number > 1 else f"'{place}'"
            raise HerbrandError(f"{where} has no column '{missing}'", hint="give what 'herbrand infer' wrote")
    return rows


_READERS = {".json": _json_rows, ".csv": _csv_rows, ".parquet": _parquet_rows, ".pq": _parquet_rows}
