"""Facts in Arrow columns: DataFrames of pandas and polars, Arrow tables, Arrow IPC and Feather files.

>>> table, = ArrowData("smokes", pa.table({"person": ["anna"]})).open(Store(), Reading({}))
>>> table.names, table.interned(["person"], marked=False).columns[0].values.to_pylist()
(('person',), ['anna'])
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from herbrand.errors import FactsError
from herbrand.extras import duckdb
from herbrand.facts.address import Selection
from herbrand.facts.column import Interned, decoded, dictionary_column
from herbrand.facts.place import Place
from herbrand.facts.sources.base import FactSource, FileSource, OpenTable, Reading
from herbrand.facts.sources.memory import FINER, is_nan, python_columns
from herbrand.facts.sources.stored import not_constants, stored_table, unreadable
from herbrand.facts.store import Progress, Store


@dataclass(frozen=True, eq=False)
class ArrowData(FactSource):
    """An object that exports Arrow columns: a data frame, a series, an Arrow table."""

    name: str
    data: Any

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        data = _framed(self.data)
        try:
            table = data if isinstance(data, pa.Table) else pa.table(data)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            known = reading.predicates.get(self.name)
            raise self._refused(data, error, known.column_types if known else ()) from None
        opened = ArrowTable(self.name, self.name, _without_index(table), store)
        opened.width_hint = _named_index(data)
        return [opened]

    def _refused(self, data: Any, error: Exception, types: Sequence[str]) -> FactsError:
        """Error for data that Arrow refused; for a pandas column of objects it names the rows at fault."""
        columns = [list(data[name]) for name in getattr(data, "columns", ())][: len(types)]
        try:
            cells = [[None if is_nan(value) else value for value in column] for column in columns]
            python_columns(cells, types[: len(cells)], lambda row: Place(self.name, row + 1))
        except FactsError as wrong:
            return wrong
        reason = str(error).split("\n")[0]
        return FactsError(f"{self.name}: the table cannot be read as Arrow data: {reason}")


def _framed(data: Any) -> Any:
    """A table of one column for a series or an Arrow array; other data unchanged."""
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return {"": data}
    return data.to_frame("") if hasattr(data, "to_frame") else data


def _named_index(data: Any) -> str:
    """Advice for a frame of pandas whose index has names, as after grouping: it is no column."""
    names = [name for name in getattr(getattr(data, "index", None), "names", ()) if name is not None]
    named = ", ".join(repr(str(name)) for name in names)
    return f"the index ({named}) is no column; reset_index() makes it one" if names else ""


def _without_index(table: pa.Table) -> pa.Table:
    """The table without the index column of pandas, which is no argument."""
    described = table.schema.pandas_metadata or {}
    index = {name for name in described.get("index_columns", ()) if isinstance(name, str)}
    return table.drop_columns([name for name in table.column_names if name in index])


class ArrowTable(OpenTable):
    def __init__(self, predicate: str, name: str, table: pa.Table, store: Store) -> None:
        self.predicate, self.name = predicate, name
        self.table, self.store = table, store
        self.width = table.num_columns
        self.names = tuple(table.column_names)
        self.size = table.get_total_buffer_size()  # `nbytes` refuses string views before pyarrow 24

    @property
    def content(self) -> str:
        """Fingerprint of the table as an Arrow stream; only a piece of the stream is in memory at a time."""
        digest = hashlib.sha256()
        with pa.ipc.new_stream(pa.PythonFile(_Sink(digest.update), "w"), self.table.schema) as stream:
            stream.write_table(self.table)
        return digest.hexdigest()

    def selected(self, selection: Selection) -> OpenTable:
        if selection.where is not None:
            store = self.store.apart()
            try:
                given = store.register(self.table)
            except duckdb.Error as error:  # DuckDB has no floats of 16 bits
                raise unreadable(self.name, error) from None
            return stored_table(store, self.predicate, self.name, given).selected(selection)
        chosen = selection.among(self.name, self.table.column_names)
        columns = {new: self.table.column(old) for old, new in chosen}
        return ArrowTable(self.predicate, self.name, pa.table(columns), self.store)

    def interned(self, types: Sequence[str], *, marked: bool, progress: Progress | None = None) -> Interned:
        columns, mistakes = [], []
        for number in range(len(types)):
            try:
                columns.append(dictionary_column(self.table.column(number)))
            except TypeError as error:
                mistakes.append(not_constants(self.name, number, str(error)))
            except pa.ArrowInvalid:
                mistakes.append(self.whole.mistake(*_beyond(number, self.table.column(number).type)))
            except OverflowError:
                message = f"column {number + 1} holds a date outside the years 1 to 9999"
                mistakes.append(self.whole.mistake(message))
        if mistakes:
            raise FactsError(mistakes)
        marks = decoded(self.table.column(len(types))) if marked else None
        return Interned(tuple(columns), self.table.num_rows, marks)


@dataclass(frozen=True)
class _Sink:
    """A file that passes everything written to it to a function."""

    take: Callable[[bytes], object]
    closed: bool = False

    def write(self, data: bytes) -> int:
        self.take(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing, as nothing is buffered."""


def _beyond(number: int, kind: pa.DataType) -> tuple[str, str]:
    """Message and advice for a column that cannot be converted to constants."""
    if pa.types.is_timestamp(kind):
        return f"column {number + 1} holds a moment between two microseconds", FINER
    return f"column {number + 1} holds a whole number of more than 64 bits", ""


@dataclass(frozen=True)
class ArrowFile(FileSource):
    """An Arrow IPC file or stream, such as a Feather file."""

    predicate: str
    path: Path

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        try:
            table = self._table()
            table.validate(
                full=True
            )  # offsets of a damaged file point anywhere: reading them ends the process
            return [ArrowTable(self.predicate, self.name, table, store)]
        except (pa.ArrowException, OSError) as error:
            reason = str(error).split("\n")[0]
            raise FactsError(f"{self.name} is no Arrow IPC file: {reason}") from None

    def _table(self) -> pa.Table:
        with pa.OSFile(str(self.path)) as file:  # a mapped one that is cut meanwhile would end the process
            try:
                return pa.ipc.open_file(file).read_all()
            except pa.ArrowInvalid:
                file.seek(0)
                return pa.ipc.open_stream(file).read_all()
