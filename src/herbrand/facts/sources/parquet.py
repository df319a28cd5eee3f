"""Parquet files, read by DuckDB.

>>> ParquetFile("friends", Path("facts/friends.parquet")).name
'friends.parquet'
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from herbrand.facts.sources.base import FileSource, OpenTable, Reading
from herbrand.facts.sources.stored import literal, stored_table
from herbrand.facts.store import Store


@dataclass(frozen=True)
class ParquetFile(FileSource):
    """A table in a Parquet file."""

    predicate: str
    path: Path

    def cells(self, read: Collection[str] | None, columns: int | None = None) -> int:
        import pyarrow.parquet  # only here: no other run needs it

        try:
            about = pyarrow.parquet.read_metadata(self.path)
        except (OSError, pa.ArrowException):  # loading says why
            return 0
        return about.num_rows * (columns or about.num_columns)

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        path = store.path(self.path)
        relation = f"read_parquet({literal(path)})"
        return [stored_table(store, self.predicate, self.name, relation, self.size, [path])]
