"""JSON lines: an object or an array a line, all with the same keys; JSON distinguishes text and numbers.

DuckDB reads the file; one that it refuses is read again line by line, so that errors name the line.

>>> keys_of({"person": "anna", "weight": 2.5}), keys_of(["anna", "bob"])
(('person', 'weight'), 2)
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from herbrand.errors import FactsError, Mistake
from herbrand.facts.address import Selection
from herbrand.facts.column import ABSENT, Column, Interned
from herbrand.facts.place import Place, rows_at_fault
from herbrand.facts.sources.arrow import ArrowTable
from herbrand.facts.sources.base import BROKEN, FileSource, OpenTable, Reading, open_text, read_by_duckdb
from herbrand.facts.sources.memory import python_array, python_columns, wrong_constants
from herbrand.facts.sources.stored import literal, part
from herbrand.facts.store import Progress, Staged, Store

Line = tuple[int, Any]
"""Number of a line, and its value."""


@dataclass(frozen=True)
class JsonLinesFile(FileSource):
    predicate: str
    path: Path

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        first = next(self.lines(), None)
        if first is None:
            return [reading.empty(self.predicate, self.name)]
        return [JsonTable(self, store, keys_of(first[1]))]

    def lines(self) -> Iterator[Line]:
        """Lines that are not empty; raises an error at the first one that is no row."""
        number = 0
        try:
            with open_text(self.path) as text:
                for number, line in enumerate(text, start=1):
                    if line.strip():
                        yield number, self._row(number, line)
        except BROKEN as error:
            raise self.unreadable(error, number + 1) from None

    def _row(self, number: int, line: str) -> Any:
        place = Place(self.name, number)
        try:
            row = json.loads(line.rstrip(), parse_constant=_refuse_constant)
        except json.JSONDecodeError as error:
            message = f"not JSON from column {error.colno} on: {error.msg}"
            raise FactsError(place.mistake(message, _ONE_A_LINE)) from None
        except (ValueError, RecursionError) as error:
            raise FactsError(place.mistake(f"not JSON: {error}")) from None
        if not isinstance(row, dict | list):
            raise FactsError(place.mistake("neither a JSON object nor an array", _ONE_A_LINE))
        if isinstance(row, list) and row and all(isinstance(cell, dict | list) for cell in row):
            raise FactsError(place.mistake("an array of several rows", _ONE_A_LINE))
        return row


_ONE_A_LINE = "JSON lines hold one object or array a line, for one row"


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def keys_of(row: dict[str, Any] | list[Any]) -> tuple[str, ...] | int:
    """Keys of an object, or the length of an array."""
    return tuple(row) if isinstance(row, dict) else len(row)


class JsonTable(OpenTable):
    def __init__(self, file: JsonLinesFile, store: Store, keys: tuple[str, ...] | int) -> None:
        self.file, self.store, self.keys = file, store, keys
        self.predicate, self.name = file.predicate, file.name
        self.names = keys if isinstance(keys, tuple) else None
        self.width = keys if isinstance(keys, int) else len(keys)
        self.size = file.size
        self._numbers = array("q")

    def place(self, row: int) -> Place:
        if row >= len(self._numbers):
            lines = islice(self.file.lines(), 2 * row + 1000)
            self._numbers = array("q", (number for number, _ in lines))
        return Place(self.name, self._numbers[row])

    def selected(self, selection: Selection) -> OpenTable:
        chosen = selection.among(self.name, self.names or ())
        rows, columns = [row for _, row in self.file.lines()], {}
        self._refuse_odd_lines()
        names = self.names or () if selection.where is not None else dict(chosen)
        for number, name in enumerate(names, start=1):
            cells = [row[name] for row in rows]
            try:
                columns[name] = python_array(cells)
            except (TypeError, ValueError, OverflowError):
                raise FactsError(wrong_constants(cells, number, name, self.place)) from None
        return ArrowTable(self.predicate, self.name, pa.table(columns), self.store).selected(selection)

    def interned(self, types: Sequence[str], *, marked: bool, progress: Progress | None = None) -> Interned:
        if not read_by_duckdb(self.file.path):
            return self._interned_slowly(types, marked)
        try:
            staged = self.store.stage(self._query(), (), part(progress, 0, 0.5))
        except duckdb.Error:
            return self._interned_slowly(types, marked)
        if self._has_odd_lines(staged):
            self._refuse_odd_lines()
        apart = [str(number) for number in range(len(types))]  # so that a dictionary holds one column's kind
        raw = self.store.interned(staged, apart, marked=marked, progress=part(progress, 0.5, 1))
        return self._decoded(raw, types)

    def _query(self) -> str:
        steps = self.keys if isinstance(self.keys, tuple) else map(str, range(self.keys))
        pointers = ["/" + step.replace("~", "~0").replace("/", "~1") for step in steps]
        cells = [
            f"nullif(json_extract(json, {literal(pointer)})::VARCHAR, 'null') AS c{i}"
            for i, pointer in enumerate(pointers)
        ]
        kind, count = "ARRAY", "json_array_length(json)"
        if isinstance(self.keys, tuple):
            kind, count = "OBJECT", "len(json_keys(json))"
        width = f"CASE json_type(json) WHEN '{kind}' THEN {count} END AS width"
        path = literal(self.store.path(self.file.path))
        return f"SELECT {', '.join([*cells, width])} FROM read_ndjson_objects({path})"

    def _has_odd_lines(self, staged: Staged) -> bool:
        """Whether a line may have other keys than the first; a missing key appears as null."""
        missing = " OR ".join(["width IS DISTINCT FROM ?", *(f"c{i} IS NULL" for i in range(self.width))])
        return bool(self.store.rows(f"SELECT 1 FROM {staged.name} WHERE {missing} LIMIT 1", [self.width]))

    def _refuse_odd_lines(self) -> None:
        """Raise an error for lines with other keys than the first, if there are any."""
        first = next((row for _, row in self.file.lines()), None)
        odd = [line for line in self.file.lines() if not _alike(first, line[1])]

        def mistake(line: Line) -> Mistake:
            message = f"{_described(line[1])} where the first row has {_described(first)}"
            return Place(self.name, line[0]).mistake(message)

        if odd:
            raise FactsError(rows_at_fault(self.name, odd, mistake))

    def _interned_slowly(self, types: Sequence[str], marked: bool) -> Interned:
        """Intern a file that DuckDB refuses, for example because of a byte order mark."""
        self._refuse_odd_lines()
        keys = range(self.keys) if isinstance(self.keys, int) else self.keys
        rows = [[row[key] for key in keys] for _, row in self.file.lines()]
        cells = [list(column) for column in zip(*rows, strict=True)]
        columns = python_columns(cells[: len(types)], types, self.place)
        marks = pa.chunked_array([pa.array(map(json.dumps, cells[-1]), pa.string())]) if marked else None
        return Interned(columns, len(rows), marks)

    def _decoded(self, raw: Interned, types: Sequence[str]) -> Interned:
        columns: list[Column] = []
        mistakes: list[Mistake] = []
        for number, (column, type_name) in enumerate(zip(raw.columns, types, strict=True), start=1):
            values = json.loads(f"[{','.join(column.values.to_pylist())}]")
            try:
                columns.append(Column(python_array(values), column.codes))
            except (TypeError, ValueError, OverflowError):
                cells = [None if code == ABSENT else values[code] for code in column.codes]
                mistakes += wrong_constants(cells, number, type_name, self.place)
        if mistakes:
            raise FactsError(mistakes)
        return Interned(tuple(columns), raw.row_count, raw.marks)


def _alike(first: Any, row: Any) -> bool:
    if isinstance(first, dict):
        return isinstance(row, dict) and first.keys() == row.keys()
    return isinstance(row, list) and len(first) == len(row)


def _described(row: Any) -> str:
    if isinstance(row, list):
        return f"an array of {len(row)}"
    return f"the keys {', '.join(map(repr, row))}" if row else "no key"
