"""Where facts of a model on a database are: the user's own tables there, and what it opens beside them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeGuard

import duckdb

from herbrand.errors import UnsupportedError
from herbrand.facts.source import FactSource
from herbrand.facts.sources.base import OpenTable
from herbrand.facts.sources.duckdb_tables import DuckDBConnection, DuckDBRelation
from herbrand.facts.sources.memory import PythonRows
from herbrand.facts.sources.stored import StoredTable, unreadable
from herbrand.facts.store import Store, is_sealed, seal


class StoreOf(Store):
    """Sources are opened in the database that will work on them, which reads no other files from then on."""

    is_sealed = True

    def __init__(self, connection: duckdb.DuckDBPyConnection, sources: Sequence[FactSource]) -> None:
        super().__init__()
        self.__dict__["connection"] = connection
        paths = [str(path) for path in map(_path, sources) if path is not None]
        self.views = self._views(connection, sources)
        logs = [f"{path}.wal" for path in paths]  # DuckDB looks for one beside each file that it attaches
        seal(connection, [*paths, *logs], [self._folder.name])

    def _views(self, connection: duckdb.DuckDBPyConnection, sources: Sequence[FactSource]) -> Store:
        """A store for queries of theories: it finds the user's own tables, which the database's must not."""
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
        try:
            return super().attach(path)
        except duckdb.Error as error:
            raise unreadable(str(path), error) from None

    def sealed(self, path: Path) -> tuple[Store, str]:
        """This one: its database is sealed as a whole."""
        return self, self.attach(path)


def stamps(sources: Sequence[FactSource], opened: Sequence[OpenTable]) -> list[str]:
    """A mark of what sources hold, as far as that is known without reading them: of tables
    their size, of files when they were written, of rows in memory the rows."""
    return [*map(_stamp, sources), *(f"{table.name}, {_size(table)}" for table in opened)]


def _path(source: FactSource) -> Path | None:
    path = getattr(source, "path", None)
    return path if isinstance(path, Path) else None


def _is_duckdb(path: Path | None) -> TypeGuard[Path]:
    return path is not None and path.suffix.lower() == ".duckdb"


def _stamp(source: FactSource) -> str:
    path = _path(source)
    if path is not None:
        return f"{path.absolute()}, {path.stat().st_mtime_ns}"
    rows = source.rows if isinstance(source, PythonRows) else ()
    return f"{source.name}, {hashlib.sha256(repr(rows).encode(errors='replace')).hexdigest()}"


def _size(table: OpenTable) -> int:
    if table.size or not isinstance(table, StoredTable):
        return table.size
    ((count,),) = table.store.rows(f"SELECT COUNT(*) FROM {table.relation}")
    return count


def refuse_connections(sources: Sequence[FactSource]) -> None:
    """What streams by once cannot be joined again and again."""
    for source in sources:
        if isinstance(source, DuckDBConnection | DuckDBRelation):
            raise UnsupportedError(
                f"facts of an open connection are not read from a database: {source.name}",
                hint="give the database itself, --on duckdb:FILE, or its tables as Parquet files",
            )
