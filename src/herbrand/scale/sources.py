"""Where facts of a model on a database are: the user's own tables there, and what it opens beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from herbrand.errors import UnsupportedError
from herbrand.facts.source import FactSource
from herbrand.facts.sources.base import OpenTable, Reading
from herbrand.facts.sources.duckdb_tables import DuckDBConnection, DuckDBRelation
from herbrand.facts.sources.stored import quoted, stored_table
from herbrand.facts.store import Store


class StoreOf(Store):
    """Sources are opened in the database that will work on them."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        super().__init__()
        self.__dict__["connection"] = connection

    def __exit__(self, *error: Any) -> None:
        if "_folder" in self.__dict__:
            self._folder.cleanup()


@dataclass(frozen=True)
class TablesThere(FactSource):
    """The tables and views that the user's own schema of the database holds."""

    name: str

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        found = store.connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' "
            "AND table_catalog = current_database() ORDER BY table_name"
        ).fetchall()
        return [
            stored_table(store, name, f"{self.name}, table {name}", f"main.{quoted(name)}")
            for (name,) in found
        ]


def refuse_connections(sources: Sequence[FactSource]) -> None:
    """What streams by once cannot be joined again and again."""
    for source in sources:
        if isinstance(source, DuckDBConnection | DuckDBRelation):
            raise UnsupportedError(
                f"facts of an open connection are not read from a database: {source.name}",
                hint="give the database itself, --on duckdb:FILE, or its tables as Parquet files",
            )
