"""Tables that DuckDB can read, and the conversion of their columns to constants.

Text files, Parquet, JSON lines and DuckDB's own tables all become such tables; they differ in the query.

>>> with Store() as store:
...     table = stored_table(store, "smokes", "smokes", "(SELECT 'anna' AS person)")
...     table.names, table.width, str(table.place(0))
(('person',), 1, 'smokes, row 1')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from herbrand.errors import FactsError, Mistake
from herbrand.extras import duckdb
from herbrand.facts.address import Selection
from herbrand.facts.column import Interned
from herbrand.facts.sources.base import OpenTable
from herbrand.facts.store import Progress, Store
from herbrand.relations.dialects import DUCKDB

quoted, literal = DUCKDB.quoted, DUCKDB.text_value
"""SQL text of a column's or table's name, and of a string."""
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
_DATED = {
    "DATE": "{}::VARCHAR",
    "TIMESTAMP": "{}",
    "TIMESTAMP_S": "{}",
    "TIMESTAMP_MS": "{}",
    "TIMESTAMP_NS": "{}",
    "TIMESTAMP WITH TIME ZONE": "make_timestamp(epoch_us({}))",
    "TIMESTAMPTZ_NS": "make_timestamp_ns(epoch_ns({}))",
}
"""SQL expressions of dates and times by type; times as timestamps in UTC."""
_WRITTEN = "regexp_replace(strftime({}, '%Y-%m-%dT%H:%M:%S.%n'), '000$', '')"
_MOMENT = f"regexp_replace({_WRITTEN}, '[.]000000$', '')::VARCHAR"
"""SQL expression of a time's constant, in Python's format; nanoseconds are kept if there are any."""

_BEYOND_64_BITS = re.compile(r"value (-?\d+)\b.* INT64\b")
"""DuckDB's complaint of a number that does not fit into the type of whole constants."""


class StoredTable(OpenTable):
    """A table that DuckDB can read. ``relation``: SQL text after FROM; ``columns``: names and SQL types of
    its columns."""

    def __init__(
        self,
        predicate: str,
        name: str,
        store: Store,
        relation: str,
        columns: Sequence[tuple[str, str]],
        size: int = 0,
        files: Sequence[str] = (),
    ) -> None:
        self.predicate, self.name = predicate, name
        self.store, self.relation, self.files = store, relation, files
        self.columns = tuple(column for column, _ in columns)
        self.kinds = tuple(kind for _, kind in columns)
        self.names = self.columns
        self.width = len(columns)
        self.size = size

    @property
    def content(self) -> str:
        """Fingerprint of the rows in a database, independent of their order: their number and a sum of
        hashes."""
        if self.size:
            return ""
        columns = ", ".join(map(quoted, self.columns))
        try:
            return str(self.store.rows(f"SELECT COUNT(*), SUM(hash({columns})) FROM {self.relation}"))
        except duckdb.Error as error:
            raise unreadable(self.name, error) from None

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

    def selected(self, selection: Selection) -> OpenTable:
        """Select columns and rows; the condition is evaluated where it can read nothing but these rows."""
        chosen = selection.among(self.name, self.columns)
        store = self.store
        if selection.where is not None and not store.is_sealed:
            store = store.apart(self.files)
        rows = f"{self.relation}{where(self.name, selection)}"
        relation = f"(SELECT {listed_as(chosen)} FROM {rows})"
        return stored_table(store, self.predicate, selection.of(self.name), relation, self.size, self.files)

    def constants(self, count: int) -> list[str]:
        """SQL expressions of the first columns, as text or numbers."""
        return [self._constant(column) for column in range(count)]

    def _constant(self, column: int) -> str:
        name, kind = quoted(self.columns[column]), self.kinds[column].split("(")[0].strip('"')
        if kind in _TEXTS:
            return f"{name}::VARCHAR"
        if kind in _INTEGERS or self.kinds[column].endswith(",0)"):  # decimals without places are whole
            return f"{name}::BIGINT"
        if kind in _DECIMALS:
            return f"{name}::DOUBLE"
        if kind in _DATED:
            moment = _DATED[kind].format(name)
            return moment if kind == "DATE" else _MOMENT.format(moment)
        raise FactsError(not_constants(self.name, column, self.kinds[column]))


def part(progress: Progress | None, start: float, end: float) -> Progress | None:
    """Progress of a stage, scaled to its part of the whole."""
    if progress is None:
        return None
    tell = progress
    return lambda done: tell(start + (end - start) * done)


def where(name: str, selection: Selection) -> str:
    """WHERE clause of a selection's condition; raises an error if it is more than one condition."""
    if selection.where is not None:
        refuse_statements(name, f"FROM t{selection.condition}", selection.where)
    return selection.condition


def refuse_statements(name: str, query: str, shown: str) -> None:
    """Raise an error unless the query is a single SELECT."""
    try:
        kinds = [statement.type for statement in duckdb.extract_statements(query)]
    except duckdb.Error as error:
        raise unreadable(f"{name}: {shown}", error) from None
    if kinds != [duckdb.StatementType.SELECT]:
        raise FactsError(f"{name}: '{shown}' is not one query that only reads")


def stored_table(
    store: Store, predicate: str, name: str, relation: str, size: int = 0, files: Sequence[str] = ()
) -> StoredTable:
    """Table of any SQL that can follow FROM; DuckDB names its columns. ``files``: files that it reads."""
    try:
        described = store.connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    except duckdb.Error as error:
        raise unreadable(name, error) from None
    return StoredTable(predicate, name, store, relation, [(row[0], row[1]) for row in described], size, files)


def unreadable(name: str, error: Exception) -> FactsError:
    """DuckDB's error in one line. A whole number beyond 64 bits is named in our words; of a view that
    :func:`~herbrand.facts.store.seal` kept from files, its name."""
    if isinstance(error, duckdb.PermissionException):
        return FactsError(
            f"{name} is a view of files outside its database, which are not read",
            hint="make a table of it there (CREATE TABLE ... AS), or give the files themselves by --facts",
        )
    reason = str(error).split("\n")[0].partition("Error: ")[2] or str(error).split("\n")[0]
    if (wide := _BEYOND_64_BITS.search(reason)) is not None:
        return FactsError(
            f"{name} holds {wide[1]}, a whole number of more than 64 bits, which is no constant",
            hint="convert the column to text, or to fractions",
        )
    return FactsError(f"{name} cannot be read: {reason}")


def not_constants(table: str, column: int, kind: str) -> Mistake:
    """Mistake for a column whose type is neither text nor numbers."""
    return Mistake(
        f"{table}: column {column + 1} has the type {kind}; a constant is text or a number",
        hint="convert the column to text",
    )


def listed_as(columns: Iterable[tuple[str, str]]) -> str:
    """SQL list of columns with new names.

    >>> listed_as([("from", "sender")])
    '"from" AS "sender"'
    """
    return ", ".join(f"{quoted(old)} AS {quoted(new)}" for old, new in columns)
