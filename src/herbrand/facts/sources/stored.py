"""A table that DuckDB can read: how its columns become those of the store.

Text files, Parquet, JSON lines and DuckDB's own tables all end here; they differ in the query.

>>> with Store() as store:
...     table = stored_table(store, "smokes", "smokes", "(SELECT 'anna' AS person)")
...     table.names, table.width, str(table.place(0))
(('person',), 1, 'smokes, row 1')
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from herbrand.errors import FactsError
from herbrand.facts.column import Interned
from herbrand.facts.place import Place
from herbrand.facts.sources.arrow import not_constants
from herbrand.facts.sources.base import OpenTable
from herbrand.facts.store import Progress, Store

_TEXTS = ("VARCHAR", "ENUM", "UUID", "NULL")
_INTEGERS = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "HUGEINT",
)
_DECIMALS = ("FLOAT", "DOUBLE", "DECIMAL")


class StoredTable(OpenTable):
    """``relation`` is what follows FROM; ``columns`` and ``kinds`` are its columns' names and SQL types."""

    def __init__(
        self,
        predicate: str,
        name: str,
        store: Store,
        relation: str,
        columns: Sequence[tuple[str, str]],
        size: int = 0,
    ) -> None:
        self.predicate, self.name = predicate, name
        self.store, self.relation = store, relation
        self.columns = tuple(column for column, _ in columns)
        self.kinds = tuple(kind for _, kind in columns)
        self.names = self.columns
        self.width = len(columns)
        self.size = size

    def place(self, row: int) -> Place:
        return Place(self.name, row + 1)

    def interned(self, types: Sequence[str], *, marked: bool, progress: Progress | None = None) -> Interned:
        chosen = self.constants(len(types))
        if marked:
            chosen.append(quoted(self.columns[len(types)]))
        listed = ", ".join(f"{column} AS c{i}" for i, column in enumerate(chosen))
        try:
            staged = self.store.stage(f"SELECT {listed} FROM {self.relation}", (), part(progress, 0, 0.5))
        except duckdb.Error as error:
            raise unreadable(self.name, error) from None
        return self.store.interned(staged, types, marked=marked, progress=part(progress, 0.5, 1))

    def constants(self, count: int) -> list[str]:
        """The first columns, as expressions for text or numbers."""
        return [self._constant(column) for column in range(count)]

    def _constant(self, column: int) -> str:
        name, kind = quoted(self.columns[column]), self.kinds[column].split("(")[0].strip('"')
        if kind in _TEXTS:
            return f"{name}::VARCHAR"
        if kind in _INTEGERS:
            return f"{name}::BIGINT"
        if kind in _DECIMALS:
            return f"{name}::DOUBLE"
        raise FactsError(not_constants(self.name, column, self.kinds[column]))


def part(progress: Progress | None, start: float, end: float) -> Progress | None:
    """Progress of one stage as progress of the whole."""
    if progress is None:
        return None
    tell = progress
    return lambda done: tell(start + (end - start) * done)


def stored_table(store: Store, predicate: str, name: str, relation: str, size: int = 0) -> StoredTable:
    """A table over anything that can follow FROM, its columns asked of DuckDB."""
    try:
        described = store.connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    except duckdb.Error as error:
        raise unreadable(name, error) from None
    return StoredTable(predicate, name, store, relation, [(row[0], row[1]) for row in described], size)


def unreadable(name: str, error: Exception) -> FactsError:
    """What DuckDB says, in one line; names a view that :func:`~herbrand.facts.store.seal` kept from files."""
    if isinstance(error, duckdb.PermissionException):
        return FactsError(
            f"{name} is a view of files outside its database, which are not read",
            hint="make a table of it there (CREATE TABLE ... AS), or give the files themselves by --facts",
        )
    reason = str(error).split("\n")[0].partition("Error: ")[2] or str(error).split("\n")[0]
    return FactsError(f"{name} cannot be read: {reason}")


def quoted(name: str) -> str:
    """A column or table name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A string in SQL."""
    return "'" + text.replace("'", "''") + "'"
