"""Tables of an SQLite file, read by Python's sqlite3 in read-only mode.

Views in a file are programs of its author: they may call functions, but no other file can be attached, and no
extension loaded.

>>> SqliteFile(Path("facts.sqlite")).name
'facts.sqlite'
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from herbrand.errors import FactsError
from herbrand.facts.address import Selection
from herbrand.facts.column import Interned
from herbrand.facts.sources.base import FileSource, OpenTable, Reading
from herbrand.facts.sources.duckdb_tables import named_by_facts, wanted
from herbrand.facts.sources.memory import python_columns
from herbrand.facts.sources.stored import listed_as, quoted
from herbrand.facts.store import Progress, Store

_ALLOWED = (
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
)
_ROWS_AT_A_TIME = 100_000


@dataclass(frozen=True)
class SqliteFile(FileSource):
    """All tables and views of a file, or a named one."""

    path: Path
    table: str | None = None

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        listed = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        tables = sorted(name for (name,) in self.rows(listed)[1])
        return [
            SqliteTable(self, table, f"{self.name}, table {table}", f"SELECT * FROM {quoted(table)}")
            for table in wanted(self.name, self.table, tables, reading, named_by_facts(self.path))
        ]

    def queried(self, store: Store, predicate: str, query: str) -> OpenTable:
        return SqliteTable(self, predicate, f"{self.name}, the query of '{predicate}'", query)

    def rows(self, query: str, limit: int | None = None) -> tuple[list[str], list[Any]]:
        """Names of a result's columns, and its rows."""
        with self._connection() as connection, closing(connection.execute(query)) as cursor:
            names = [column[0] for column in cursor.description or ()]
            if limit is not None:
                return names, cursor.fetchmany(limit)
            return names, list(chain.from_iterable(iter(lambda: cursor.fetchmany(_ROWS_AT_A_TIME), [])))

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
                connection.execute("PRAGMA trusted_schema = OFF")
                connection.set_authorizer(_only_reading)
                yield connection
        except sqlite3.Error as error:
            raise FactsError(f"{self.name} cannot be read: {error}") from None


def _only_reading(action: int, *about: object) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


class SqliteTable(OpenTable):
    """The rows of a query. SQLite's columns may mix text and numbers, so that every cell is checked."""

    def __init__(self, file: SqliteFile, predicate: str, name: str, query: str) -> None:
        self.file, self.predicate, self.name, self.query = file, predicate, name, query
        self.names = tuple(file.rows(query, limit=0)[0])
        self.width = len(self.names)
        self.size = file.size

    def selected(self, selection: Selection) -> OpenTable:
        chosen = selection.among(self.name, self.names or ())
        query = f"SELECT {listed_as(chosen)} FROM ({self.query}){selection.condition}"
        return SqliteTable(self.file, self.predicate, selection.of(self.name), query)

    def interned(self, types: Sequence[str], *, marked: bool, progress: Progress | None = None) -> Interned:
        _, rows = self.file.rows(self.query)
        cells = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(self.width)]
        columns = python_columns(cells[: len(types)], types, self.place)
        marks = None
        if marked:
            try:
                marks = pa.chunked_array([pa.array(cells[len(types)])])
            except (pa.ArrowException, TypeError):
                texts = [None if cell is None else str(cell) for cell in cells[len(types)]]
                marks = pa.chunked_array([pa.array(texts, pa.string())])
        return Interned(columns, len(rows), marks)
