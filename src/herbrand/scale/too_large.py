"""Whether facts are more than memory holds, known before they are read.

Only those that a database reads where they are, Parquet files and DuckDB files, are measured: their rows are
known without reading them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from herbrand.budget import Budget
from herbrand.facts.source import FactSource
from herbrand.facts.sources.duckdb_tables import DuckDBFile
from herbrand.facts.sources.parquet import ParquetFile
from herbrand.facts.sources.selected import Selected
from herbrand.facts.sources.stored import literal
from herbrand.facts.store import Store
from herbrand.memory import holds_database, readable

BYTES_A_CELL = 45
"""Of memory, at the most, while facts are read and sorted; measured on 20 million cells of numbers."""

DISK_A_CELL = 20
"""Of a database with the facts numbered, and of what is written on the way; measured on 200 million."""


@dataclass(frozen=True)
class TooLarge:
    """``why`` memory does not do; ``disk``: bytes that the facts take in a database, as far as is known."""

    why: str
    disk: float = 0.0


def facts_too_large(
    sources: Sequence[FactSource], budget: Budget, read: Collection[str] | None = None
) -> TooLarge | None:
    """Whether the facts are more than memory holds; never where a database could not be opened either.
    ``read``: the tables that are read of databases; all of them if not given."""
    allowed = budget.bytes
    if not holds_database(allowed):
        return None
    cells = float(sum(_cells(source, read) for source in sources))
    if cells * BYTES_A_CELL <= allowed:
        return None
    needed = readable(cells * BYTES_A_CELL)
    return TooLarge(
        f"the facts need about {needed} in memory, and {readable(allowed)} are allowed", cells * DISK_A_CELL
    )


def _cells(source: FactSource, read: Collection[str] | None, columns: int | None = None) -> int:
    """Rows times columns, or as many of these as are chosen; 0 where they are not known, or the file cannot
    be read: loading says why."""
    if isinstance(source, Selected):
        chosen = source.selection.columns
        return _cells(source.source, read, None if chosen is None else len(chosen))
    try:
        if isinstance(source, ParquetFile):
            import pyarrow.parquet  # only here: no other run needs it

            about = pyarrow.parquet.read_metadata(source.path)
            return about.num_rows * (columns or about.num_columns)
        if isinstance(source, DuckDBFile):
            return _cells_of_database(source, read, columns)
    except (OSError, pa.ArrowException, duckdb.Error):
        return 0
    return 0


def _cells_of_database(source: DuckDBFile, read: Collection[str] | None, columns: int | None) -> int:
    with Store() as store:
        apart, database = store.sealed(source.path)
        tables = apart.connection.execute(
            "SELECT table_name, estimated_size, column_count FROM duckdb_tables() "
            f"WHERE database_name = {literal(database)} AND schema_name = 'main'"
        ).fetchall()
    if source.table is not None:
        read = (source.table,)
    return sum(rows * (columns or count) for name, rows, count in tables if read is None or name in read)
