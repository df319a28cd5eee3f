"""Databases that hold stored relations: each makes tables from queries, within limits of memory and disk.

:class:`Database` is the interface that queries need, so that they run on DuckDB, in this process and out of
core, and on other databases with these few methods. Tables are made whole or not at all and never changed; a
run that is cut off loses the table it was making and nothing else.

>>> with DuckDB() as database:
...     database.make("edges", "SELECT 0 AS a, 1 AS b")
...     database.rows("SELECT * FROM edges")
[(0, 1)]
"""

from __future__ import annotations

import contextlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import pyarrow as pa

from herbrand.budget import allowed_bytes, lacks_memory, readable
from herbrand.errors import BudgetError, FactsError, HerbrandError
from herbrand.files import ScratchFolder
from herbrand.relations.dialects import DUCKDB, Dialect
from herbrand.relations.expression import too_large

COPIES_EXPRESSIONS = "partial_aggregate_pushdown"
"""Optimizer of DuckDB that writes an expression of a nested query out again wherever it is used, which took
seconds for the sum over factors of four atoms. It saves nothing where plans sum early themselves."""

NUMBERS: Mapping[pa.DataType, str] = {pa.int64(): "BIGINT", pa.int32(): "INT", pa.float64(): "DOUBLE"}
"""Name of each type of numbers, in DuckDB and Spark."""


class Database(ABC):
    """Abstract database of named tables. Names of tables and columns are plain words that need no quoting."""

    dialect: Dialect
    name: str
    memory: int | None = None

    def reads(self, connection: duckdb.DuckDBPyConnection) -> bool:
        """Whether queries here can name what ``connection`` can: files, tables, attached databases."""
        return False

    @abstractmethod
    def make(self, table: str, query: str, temporary: bool = False) -> None:
        """Create a table from the query's rows, or replace the one of that name. ``temporary``: only this
        connection reads it, which some databases make faster."""

    @abstractmethod
    def rows(self, query: str) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def arrow(self, query: str) -> pa.Table: ...

    def batches(self, query: str, rows: int) -> Iterator[pa.RecordBatch]:
        """Yield a query's rows in batches of about ``rows`` each; tables may be made between batches."""
        yield from self.arrow(query).to_batches(max_chunksize=rows)

    @abstractmethod
    def put(self, table: str, data: pa.Table, temporary: bool = False) -> None:
        """Create a table from data in memory, or replace the one of that name."""

    @abstractmethod
    def drop(self, table: str) -> None:
        """Drop the table if it exists."""

    @abstractmethod
    def has(self, table: str) -> bool: ...

    @abstractmethod
    def close(self) -> None: ...

    def keep(self, table: str, text: str) -> None:
        """Store a text as a table of one row."""
        self.put(table, pa.table({"kept": pa.array([text], pa.string())}))

    def kept(self, table: str) -> str:
        """Text that :meth:`keep` stored."""
        return self.number(f"SELECT kept FROM {table}")

    def noted(self, table: str) -> dict[str, Any]:
        """Object stored as JSON by :meth:`keep`; empty if there is none, or it is not a JSON object."""
        try:
            note = json.loads(self.kept(table))
        except (HerbrandError, ValueError, TypeError, IndexError):
            return {}
        return note if isinstance(note, dict) else {}

    def number(self, query: str) -> Any:
        """Single value of a query with one row and one column."""
        return self.rows(query)[0][0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class DuckDB(Database):
    """DuckDB database in a file, or without ``path`` one that is lost when it is closed.

    ``memory``: bytes that it may use; the rest goes to a folder beside the file, of which it takes at most
    ``disk`` bytes. ``schema``: where its tables stand, apart from all others.
    """

    dialect = DUCKDB

    def __init__(
        self,
        path: str | Path | None = None,
        memory: int | None = None,
        disk: int | None = None,
        threads: int | None = None,
        schema: str | None = None,
    ) -> None:
        self.name = "DuckDB" if path is None else f"duckdb:{path}"
        self.memory = memory
        self._schema = schema
        self._own_folder = ScratchFolder() if path is None else None
        folder = f"{path}.spill" if self._own_folder is None else self._own_folder.name
        settings: dict[str, Any] = {
            "temp_directory": str(folder),
            "preserve_insertion_order": False,
            "perfect_ht_threshold": _bits_of_groups(memory),
            "disabled_optimizers": COPIES_EXPRESSIONS,
        }
        if memory is not None:
            settings["memory_limit"] = f"{memory}B"
        if disk is not None:
            settings["max_temp_directory_size"] = f"{disk}B"
        if threads is not None:
            settings["threads"] = threads
        with self._plain_errors():
            self.connection = duckdb.connect(":memory:" if path is None else str(path), config=settings)
            if schema is not None:
                self.connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
                self.connection.execute(f"USE {schema}")

    def make(self, table: str, query: str, temporary: bool = False) -> None:
        # Each lasting table is written to the log of the file, which waits for the disk.
        self.run(f"CREATE OR REPLACE {'TEMP ' if temporary else ''}TABLE {table} AS {query}")

    def reads(self, connection: duckdb.DuckDBPyConnection) -> bool:
        return connection is self.connection

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self._plain_errors():
            return self.connection.execute(query).fetchall()

    def arrow(self, query: str) -> pa.Table:
        with self._plain_errors():
            return self.connection.sql(query).to_arrow_table()

    def batches(self, query: str, rows: int) -> Iterator[pa.RecordBatch]:
        with self._plain_errors():
            other = self.connection.cursor()
            try:
                if self._schema is not None:
                    other.execute(f"USE {self._schema}")
                yield from other.sql(query).to_arrow_reader(rows)
            finally:
                other.close()

    def put(self, table: str, data: pa.Table, temporary: bool = False) -> None:
        if not data.num_rows and all(kind in NUMBERS for kind in data.schema.types):
            # A query takes a quarter of the time of registering the data.
            columns = (f"CAST(NULL AS {NUMBERS[one.type]}) AS {one.name}" for one in data.schema)
            self.make(table, f"SELECT {', '.join(columns)} LIMIT 0", temporary)
            return
        self.connection.register("given_data", data)
        try:
            self.make(table, "SELECT * FROM given_data", temporary)
        finally:
            self.connection.unregister("given_data")

    def keep(self, table: str, text: str) -> None:
        """Store a text by a query, as registering it as data would take several times as long."""
        self.make(table, f"SELECT {self.dialect.text_value(text)} AS kept")

    def drop(self, table: str) -> None:
        self.run(f"DROP TABLE IF EXISTS {table}")

    def has(self, table: str) -> bool:
        condition = f"table_name = '{table}' AND schema_name = current_schema()"
        return bool(self.number(f"SELECT COUNT(*) FROM duckdb_tables() WHERE {condition}"))

    def run(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        with self._plain_errors():
            self.connection.execute(statement, parameters)

    def close(self) -> None:
        self.connection.close()
        if self._own_folder is not None:
            self._own_folder.cleanup()

    @contextlib.contextmanager
    def _plain_errors(self) -> Iterator[None]:
        """Turn DuckDB's errors into this library's, and its interrupt into KeyboardInterrupt."""
        try:
            yield
        except duckdb.Error as error:
            raise _plain(error, self.name, self.memory) from None
        except RuntimeError as error:
            if "interrupted" in str(error):  # how DuckDB reports Ctrl-C during a query
                raise KeyboardInterrupt from None
            raise


def _bits_of_groups(memory: int | None) -> int:
    """Number of key bits up to which DuckDB groups whole numbers in an array indexed by key instead of a hash
    table, which takes a third of the time. Each thread has an array of about 64 bytes a place; together they
    get a sixteenth of the memory.

    >>> _bits_of_groups(1 << 20), _bits_of_groups(1 << 62)
    (12, 24)
    """
    threads = os.cpu_count() or 1
    places = allowed_bytes(memory) // 16 // (64 * threads)
    return min(max(places.bit_length() - 1, 12), 24)


def _plain(error: duckdb.Error, name: str, memory: int | None) -> BaseException:
    first_line = str(error).strip().splitlines()[0]
    if isinstance(error, duckdb.InterruptException):
        return KeyboardInterrupt()
    if (
        "ould not write" in first_line
        or "No space left" in first_line
        or "max_temp_directory_size" in str(error)
    ):
        return BudgetError(
            f"{name} has no disk left: {first_line}",
            hint="free some, or use another disk; what was finished stands, and --resume goes on from there",
        )
    if lacks_memory(error):
        allowed = f"{readable(memory)} of memory" if memory is not None else "its memory"
        return BudgetError(
            f"{name} cannot do this step within {allowed}",
            hint="allow more by --memory; what was finished stands, and --resume goes on from there",
        )
    if isinstance(error, duckdb.OutOfRangeException) or "out of range" in first_line or "INT64" in first_line:
        return too_large()
    if "Could not set lock" in first_line:
        return FactsError(
            f"another process has {name} open: {first_line.partition('(')[2].partition(')')[0]}",
            hint="wait until it has ended, or name another database",
        )
    if isinstance(error, duckdb.IOException):
        return FactsError(f"{name} cannot be used: {first_line}")
    return HerbrandError(f"{name}: {first_line}")
