"""Tables of DuckDB: a database file, an open connection, one relation.

Every table is a predicate; if predicates are declared, tables of other names are ignored.

>>> with Store() as store, duckdb.connect() as connection:
...     relation = connection.sql("SELECT 'anna' AS person")
...     (table,) = DuckDBRelation("smokes", relation).open(store, Reading({}))
...     table.names, table.interned(["person"], marked=False).columns[0].values.to_pylist()
(('person',), ['anna'])
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from herbrand.errors import FactsError, nearest
from herbrand.facts.address import Selection
from herbrand.facts.column import Interned
from herbrand.facts.sources.base import FactSource, FileSource, OpenTable, Reading
from herbrand.facts.sources.stored import (
    StoredTable,
    listed_as,
    literal,
    quoted,
    refuse_statements,
    stored_table,
    unreadable,
)
from herbrand.facts.store import Progress, Store

_BATCH = 1_000_000

Advice = Callable[[str, str, str], str]
"""Text on how to take a predicate from a table of another name: of the predicate, the table, and columns."""


@dataclass(frozen=True)
class DuckDBFile(FileSource):
    """All tables and views of a database file's main schema, or a named one."""

    path: Path
    table: str | None = None

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        store, database = self._sealed(store)
        tables = _tables(store.connection, database, "main")
        size = self.size // max(1, len(tables))
        return [
            stored_table(
                store, table, f"{self.name}, table {table}", f"{database}.main.{quoted(table)}", size
            )
            for table in wanted(self.name, self.table, tables, reading, named_by_facts(self.path))
        ]

    def queried(self, store: Store, predicate: str, query: str) -> OpenTable:
        return queried_there(self._sealed(store)[0].views, self.name, predicate, query)

    def cells(self, read: Collection[str] | None, columns: int | None = None) -> int:
        try:
            with Store() as store:
                apart, database = store.sealed(self.path)
                tables = apart.connection.execute(
                    "SELECT table_name, estimated_size, column_count FROM duckdb_tables() "
                    f"WHERE database_name = {literal(database)} AND schema_name = 'main'"
                ).fetchall()
        except (OSError, pa.ArrowException, duckdb.Error):  # loading says why
            return 0
        if self.table is not None:
            read = (self.table,)
        return sum(rows * (columns or count) for name, rows, count in tables if read is None or name in read)

    def _sealed(self, store: Store) -> tuple[Store, str]:
        try:
            return store.sealed(self.path)
        except duckdb.Error as error:
            raise unreadable(self.name, error) from None


@dataclass(frozen=True)
class TablesThere(FactSource):
    """Tables and views of the user's schema in the database of a sealed store."""

    name: str

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        ((database,),) = store.rows("SELECT current_database()")
        tables = _tables(store.connection, database, "main")
        return [
            stored_table(store, table, f"{self.name}, table {table}", f"main.{quoted(table)}")
            for table in (wanted(self.name, None, tables, reading, _by_view) if tables else ())
        ]

    def queried(self, store: Store, predicate: str, query: str) -> OpenTable:
        return queried_there(store.views, self.name, predicate, query)


def wanted(
    name: str, table: str | None, tables: Sequence[str], reading: Reading, advice: Advice
) -> Sequence[str]:
    """Names of the tables of a database to be read; raises ``FactsError`` if there are none. ``advice``: how
    to take a predicate from a table of another name."""
    if not tables:
        raise FactsError(f"{name} holds no table")
    if table is not None:
        if table not in tables:
            hint = nearest(table, tables) or f"its tables are {', '.join(tables)}"
            raise FactsError(f"{name} holds no table '{table}'", hint=hint)
        return [table]
    views = [known for known in reading.predicates.values() if known.query is not None]
    kept = [each for each in tables if each in reading.predicates] if reading.strict else tables
    if not kept and not views:
        if misspelt := [each for each in tables if nearest(each, reading.predicates)]:
            return misspelt
        known = next(iter(reading.predicates.values()), None)
        columns = ", ".join(["column"] * (2 if known is None else len(known.column_types)))
        raise FactsError(
            f"{name} holds no table of a predicate; it holds {', '.join(tables)}",
            hint=advice("NAME" if known is None else known.name, tables[0], columns),
        )
    if left := [each for each in tables if each not in kept]:
        reading.note(f"{name}: left alone, as no predicate has these names: {', '.join(left)}")
    return kept


def named_by_facts(database: object) -> Advice:
    """Advice to name a table, with its columns, behind the path or address of its database."""

    def advice(predicate: str, table: str, columns: str) -> str:
        return f"name one, and its columns: --facts '{predicate}={database}:{table}({columns})'"

    return advice


def _by_view(predicate: str, table: str, columns: str) -> str:
    return f"make a view there: CREATE VIEW {predicate} AS SELECT {columns} FROM {table}"


def _by_relation(predicate: str, table: str, columns: str) -> str:
    return f'name one: {{"{predicate}": connection.sql("SELECT {columns} FROM {table}")}}'


def queried_there(store: Store, name: str, predicate: str, query: str) -> OpenTable:
    """Table of the rows of a theory's query, run in a sealed store."""
    refuse_statements(name, query, query)
    return stored_table(store, predicate, f"{name}, the query of '{predicate}'", f"({query}\n)")


@dataclass(frozen=True, eq=False)
class DuckDBConnection(FactSource):
    """All tables and views of the user's connection: those of its current schema, and temporary ones."""

    connection: duckdb.DuckDBPyConnection
    name: str = "the DuckDB connection"

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        try:
            here = self.connection.sql("SELECT current_database(), current_schema()").fetchall()[0]
            tables = sorted({*_tables(self.connection, *here), *_tables(self.connection, "temp", "main")})
        except duckdb.Error as error:  # such as a result of the user's that is not fetched to its end
            raise unreadable(self.name, error) from None
        if not tables:
            raise FactsError(f"{self.name} has no table")
        names = wanted(self.name, None, tables, reading, _by_relation)
        return [
            table for name in names for table in DuckDBRelation(name, self._rows(name)).open(store, reading)
        ]

    def queried(self, store: Store, predicate: str, query: str) -> OpenTable | None:
        """None: a theory's query does not run on a user's connection, which may read any file."""
        return None

    def _rows(self, table: str) -> duckdb.DuckDBPyRelation:
        # not `connection.table`: whether it takes a quoted name differs between versions of duckdb
        return self.connection.sql(f"FROM {quoted(table)}")


@dataclass(frozen=True, eq=False)
class DuckDBRelation(FactSource):
    """A query of the user's connection; its rows are streamed, so that they are in memory only once."""

    name: str
    relation: duckdb.DuckDBPyRelation

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        return [StreamedTable(self.name, store, self.relation)]


class StreamedTable(StoredTable):
    """Rows that are streamed from the user's connection when they are interned; it runs one query at a
    time."""

    def __init__(self, name: str, store: Store, streamed: duckdb.DuckDBPyRelation) -> None:
        try:
            columns = list(zip(streamed.columns, map(str, streamed.types), strict=True))
        except duckdb.Error as error:  # the table was dropped, or the connection closed
            raise unreadable(name, error) from None
        super().__init__(name, name, store, "", columns)
        self._streamed = streamed

    def selected(self, selection: Selection) -> OpenTable:
        """Select columns and rows; the user's connection evaluates the condition."""
        chosen = selection.among(self.name, self.columns)
        try:
            rows = self._streamed if selection.where is None else self._streamed.filter(selection.where)
            columns = rows.project(listed_as(chosen))
        except duckdb.Error as error:
            raise unreadable(self.name, error) from None
        return StreamedTable(self.predicate, self.store, columns)

    def interned(self, types: Sequence[str], *, marked: bool, progress: Progress | None = None) -> Interned:
        try:
            self.relation = self.store.register(self._streamed.to_arrow_reader(_BATCH))
        except duckdb.Error as error:
            raise unreadable(self.name, error) from None
        try:
            return super().interned(types, marked=marked, progress=progress)
        finally:
            self.store.connection.unregister(self.relation)


def _tables(connection: duckdb.DuckDBPyConnection, database: str, schema: str) -> list[str]:
    answer = connection.sql(
        "SELECT table_name FROM information_schema.tables "
        f"WHERE table_catalog = {literal(database)} AND table_schema = {literal(schema)} ORDER BY table_name"
    )
    return [row[0] for row in answer.fetchall()]
