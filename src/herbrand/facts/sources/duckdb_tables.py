"""Tables of DuckDB: a database file, an open connection, one relation. Every table is a predicate.

>>> with Store() as store, duckdb.connect() as connection:
...     relation = connection.sql("SELECT 'anna' AS person")
...     (table,) = DuckDBRelation("smokes", relation).open(store, Reading({}))
...     table.names, table.interned(["person"], marked=False).columns[0].values.to_pylist()
(('person',), ['anna'])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from herbrand.errors import FactsError, nearest
from herbrand.facts.column import Interned
from herbrand.facts.sources.base import FactSource, OpenTable, Reading
from herbrand.facts.sources.stored import StoredTable, literal, quoted, stored_table, unreadable
from herbrand.facts.store import Progress, Store

_BATCH = 1_000_000


@dataclass(frozen=True)
class DuckDBFile(FactSource):
    """All tables and views of a database file's main schema, or the one that is named."""

    path: Path
    predicate: str | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.path.name

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        try:
            store, database = store.sealed(self.path)
        except duckdb.Error as error:
            raise unreadable(self.name, error) from None
        tables = _tables(store.connection, database, "main")
        size = self.path.stat().st_size // max(1, len(tables))
        return [
            stored_table(
                store, table, f"{self.name}, table {table}", f"{database}.main.{quoted(table)}", size
            )
            for table in self._wanted(tables)
        ]

    def _wanted(self, tables: Sequence[str]) -> Sequence[str]:
        if not tables:
            raise FactsError(f"{self.name} holds no table")
        if self.predicate is None:
            return tables
        if self.predicate not in tables:
            hint = nearest(self.predicate, tables)
            raise FactsError(f"{self.name} holds no table '{self.predicate}'", hint=hint)
        return [self.predicate]


@dataclass(frozen=True, eq=False)
class DuckDBConnection(FactSource):
    """All tables and views of a connection that the user
    holds: its current schema's, and its temporary ones."""

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
        # not `connection.table`: whether it takes a quoted name differs between versions of duckdb
        relations = [DuckDBRelation(table, self.connection.sql(f"FROM {quoted(table)}")) for table in tables]
        return [table for relation in relations for table in relation.open(store, reading)]


@dataclass(frozen=True, eq=False)
class DuckDBRelation(FactSource):
    """A query of a connection that the user holds; streamed over, never held twice."""

    name: str
    relation: duckdb.DuckDBPyRelation

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        return [StreamedTable(self.name, store, self.relation)]


class StreamedTable(StoredTable):
    """Rows stream from the user's connection only when they are interned: it runs one query at a time."""

    def __init__(self, name: str, store: Store, streamed: duckdb.DuckDBPyRelation) -> None:
        columns = list(zip(streamed.columns, map(str, streamed.types), strict=True))
        super().__init__(name, name, store, "", columns)
        self._streamed = streamed

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
    found = connection.sql(
        "SELECT table_name FROM information_schema.tables "
        f"WHERE table_catalog = {literal(database)} AND table_schema = {literal(schema)} ORDER BY table_name"
    )
    return [row[0] for row in found.fetchall()]
