"""Sources of facts for a model on a database: the user's tables there, and files opened beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeGuard

import duckdb

from herbrand.errors import UnsupportedError
from herbrand.facts.source import FactSource
from herbrand.facts.sources.base import OpenTable
from herbrand.facts.sources.duckdb_tables import DuckDBConnection, DuckDBRelation
from herbrand.facts.sources.memory import mark
from herbrand.facts.sources.stored import unreadable
from herbrand.facts.store import Store, is_sealed, seal
from herbrand.language.signature import Signature


class StoreOf(Store):
    """Opens sources in the database that will process them, which can read no other files from then on."""

    is_sealed = True

    def __init__(self, connection: duckdb.DuckDBPyConnection, sources: Sequence[FactSource]) -> None:
        super().__init__()
        self.__dict__["connection"] = connection
        files = "SELECT path FROM duckdb_databases() WHERE path IS NOT NULL"
        self._own_files = [path for (path,) in connection.execute(files).fetchall()]
        paths = [str(path) for path in map(_path, sources) if path is not None]
        self.views = self._views(connection, sources)
        logs = [f"{path}.wal" for path in paths]  # DuckDB looks for one beside each file that it attaches
        seal(connection, [*paths, *logs], [self._folder.name])

    def _views(self, connection: duckdb.DuckDBPyConnection, sources: Sequence[FactSource]) -> Store:
        """A store for queries of theories, which find the user's tables; the database's own connection must
        not find them."""
        store = Store()
        store.__dict__["connection"] = connection.cursor()
        self._sealed.append(store)
        store.is_sealed = True
        if not is_sealed(connection):
            attached = [f"{self.attach(path)}.main" for path in map(_path, sources) if _is_duckdb(path)]
            own = ",".join(["main", *attached])
            store.connection.execute(f"SET search_path = '{own}'")
        return store

    def __exit__(self, *error: Any) -> None:
        for store in self._sealed:
            store.__exit__(None, None, None)
        if "_folder" in self.__dict__:
            self._folder.cleanup()

    def attach(self, path: Path) -> str:
        if path.exists() and any(path.samefile(own) for own in self._own_files):
            raise UnsupportedError(
                f"'{path}' is the database of --on, where each predicate has the table of its name",
                hint="leave this out; for another name make a view there, CREATE VIEW pays AS FROM transfers",
            )
        try:
            return super().attach(path)
        except duckdb.Error as error:
            raise unreadable(str(path), error) from None

    def sealed(self, path: Path) -> tuple[Store, str]:
        """This store: its database is sealed as a whole."""
        return self, self.attach(path)


def stamps(signature: Signature, sources: Sequence[FactSource], opened: Sequence[OpenTable]) -> list[str]:
    """Fingerprints of what a load depends on: the signature, files by path and time of writing, and other
    tables, in memory or in a database, by their rows."""
    vocabulary = signature.types, signature.predicates, signature.mentioned
    files = filter(None, map(_path, sources))
    tables = (f"{table.name}, {table.names}, {table.size}, {table.content}" for table in opened)
    return [mark(vocabulary), *map(_written, files), *tables]


def _path(source: FactSource) -> Path | None:
    path = getattr(source, "path", None)
    return path if isinstance(path, Path) else None


def _is_duckdb(path: Path | None) -> TypeGuard[Path]:
    return path is not None and path.suffix.lower() == ".duckdb"


LOGS = ("", ".wal", "-wal")
"""Endings of a database file and of the write-ahead logs beside it."""


def _written(path: Path) -> str:
    files = [Path(f"{path}{ending}") for ending in LOGS]
    times = [file.stat().st_mtime_ns for file in files if file.exists() and file.stat().st_size]
    return f"{path.absolute()}, {times}"


def refuse_connections(sources: Sequence[FactSource]) -> None:
    """Raise UnsupportedError for open connections: their rows can be read once only, and joins repeat."""
    for source in sources:
        if isinstance(source, DuckDBConnection | DuckDBRelation):
            raise UnsupportedError(
                f"facts of an open connection are not read from a database: {source.name}",
                hint="give the database itself, --on duckdb:FILE, or its tables as Parquet files",
            )
