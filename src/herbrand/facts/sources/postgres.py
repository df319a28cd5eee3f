"""Tables of a PostgreSQL database by its address, read through ADBC in a transaction that cannot write.

>>> PostgresDatabase("postgresql://ann:secret@db/bank").name
'postgresql://db/bank'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from herbrand.errors import FactsError
from herbrand.extras import imported, pc
from herbrand.facts.address import Selection
from herbrand.facts.column import Interned
from herbrand.facts.sources.arrow import ArrowTable
from herbrand.facts.sources.base import FactSource, OpenTable, Reading
from herbrand.facts.sources.duckdb_tables import named_by_facts, wanted
from herbrand.facts.sources.stored import listed_as, quoted
from herbrand.facts.store import Progress, Store

_LISTED = (
    "SELECT relname FROM pg_class WHERE pg_table_is_visible(oid) AND relkind IN ('r', 'v', 'm', 'f', 'p')"
)
_OWN = " AND relnamespace NOT IN (SELECT oid FROM pg_namespace WHERE nspname ~ '^(pg_|information_schema$)')"
_SECRET = re.compile(r"//[^/@]*@")


@dataclass(frozen=True)
class PostgresDatabase(FactSource):
    """All tables and views on the search path of a database, or a named one."""

    address: str
    table: str | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        """The address without user and password."""
        return _SECRET.sub("//", self.address).partition("?")[0]

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        listed = _LISTED + _OWN if self.table is None else _LISTED
        tables = sorted(self.rows(listed).column(0).to_pylist())
        return [
            PostgresTable(self, table, f"{self.name}, table {table}", f"SELECT * FROM {quoted(table)}", store)
            for table in wanted(self.name, self.table, tables, reading, named_by_facts(self.name))
        ]

    def queried(self, store: Store, predicate: str, query: str) -> OpenTable:
        return PostgresTable(self, predicate, f"{self.name}, the query of '{predicate}'", query, store)

    def rows(self, query: str) -> pa.Table:
        with self._cursor() as cursor:
            cursor.execute(query)
            return cursor.fetch_arrow_table()

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        adbc = imported("adbc_driver_postgresql.dbapi")
        try:
            with adbc.connect(self.address) as connection, connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION READ ONLY")
                yield cursor
        except adbc.Error as error:
            reason = str(error).split("\n")[0].replace(self.address, self.name)
            raise FactsError(f"{self.name} cannot be read: {reason}") from None


class PostgresTable(OpenTable):
    """The rows of a query; columns of `numeric` are fetched as text, which Arrow converts without loss."""

    def __init__(
        self, database: PostgresDatabase, predicate: str, name: str, query: str, store: Store
    ) -> None:
        self.database, self.predicate, self.name = database, predicate, name
        self.query, self.store = query, store
        self.schema = database.rows(f"SELECT * FROM ({query}\n) AS q LIMIT 0").schema
        self.names = tuple(self.schema.names)
        self.width = len(self.names)

    @property
    def content(self) -> str:
        marks = "SELECT COUNT(*), SUM(hashtextextended(q::text, 0))::text FROM"
        return str(self.database.rows(f"{marks} ({self.query}\n) AS q").to_pylist())

    def selected(self, selection: Selection) -> OpenTable:
        chosen = selection.among(self.name, self.names or ())
        query = f"SELECT {listed_as(chosen)} FROM ({self.query}\n) AS q{selection.condition}"
        return PostgresTable(self.database, self.predicate, selection.of(self.name), query, self.store)

    def interned(self, types: Sequence[str], *, marked: bool, progress: Progress | None = None) -> Interned:
        places = [f"c{number}" for number in range(self.width)]  # columns may have one name, or none
        listed = ", ".join(
            _readable(column, place) for column, place in zip(self.schema, places, strict=True)
        )
        rows = self.database.rows(f"SELECT {listed} FROM ({self.query}\n) AS q({', '.join(places)})")
        columns = [
            _numbers(values) if _is_numeric(column) else values
            for column, values in zip(self.schema, rows.columns, strict=True)
        ]
        table = pa.Table.from_arrays(columns, names=self.schema.names)
        return ArrowTable(self.predicate, self.name, table, self.store).interned(types, marked=marked)


def _readable(column: pa.Field, place: str) -> str:
    return f"{place}::text" if _is_numeric(column) else place


def _is_numeric(column: pa.Field) -> bool:
    return (column.metadata or {}).get(b"ADBC:postgresql:typname") == b"numeric"


def _numbers(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert texts of `numeric`: to decimals if all are whole, as floats are not exact beyond 2^53; else to
    floats."""
    whole = pc.replace_substring_regex(texts, r"\.0+$", "")
    if pc.all(pc.match_substring_regex(whole, r"^-?\d{1,76}$")).as_py() is False:
        return texts.cast(pa.float64())
    return whole.cast(pa.decimal256(76))
