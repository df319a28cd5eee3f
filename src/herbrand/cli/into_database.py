"""Write results to a new table of a DuckDB or SQLite file, which is made if it does not exist."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from herbrand.errors import HerbrandError
from herbrand.facts.source import is_sqlite
from herbrand.facts.sources.stored import quoted
from herbrand.files import ScratchFolder, refuse_unwritable, written_whole

if TYPE_CHECKING:
    import pyarrow as pa


def write_table(table: pa.Table, kind: str, file: str, name: str) -> None:
    """Write all rows or none; raises an error if the table exists. A new database appears only when whole."""
    refuse_unwritable(file)
    write = _WRITERS[kind]
    try:
        if Path(file).exists():
            write(table, file, name)
            return
        with ScratchFolder() as folder:
            database_path = Path(folder) / "database"
            write(table, str(database_path), name)
            with database_path.open("rb") as database, written_whole(file) as whole:
                shutil.copyfileobj(database, whole)
    except (duckdb.Error, sqlite3.Error) as error:
        reason = str(error).split("\n")[0]
        raise HerbrandError(
            f"the table '{name}' cannot be written into '{file}': {reason}",
            hint="name another table, or drop that one" if "already exists" in reason else "",
        ) from None


def _into_duckdb(table: pa.Table, file: str, name: str) -> None:
    with duckdb.connect(file) as connection:
        connection.register("herbrand_result", table)
        connection.execute(f"CREATE TABLE {quoted(name)} AS FROM herbrand_result")


def _into_sqlite(table: pa.Table, file: str, name: str) -> None:
    path = Path(file)
    if path.exists() and path.stat().st_size and not is_sqlite(path):
        raise HerbrandError(f"'{file}' is no SQLite database")
    columns = ", ".join(map(quoted, table.column_names))
    places = ", ".join("?" * table.num_columns)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute(f"CREATE TABLE {quoted(name)} ({columns})")
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        connection.executemany(f"INSERT INTO {quoted(name)} VALUES ({places})", rows)
        connection.execute("COMMIT")


_WRITERS = {"duckdb": _into_duckdb, "sqlite": _into_sqlite}
