"""Parse the text of ``--on`` to a place, and open the database there.

>>> place_of("duckdb:world.duckdb")
DatabasePlace(kind='duckdb', target='world.duckdb', scratch=False)
>>> place_of("local-cluster[2,1,1024]").kind
'spark'
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from herbrand.budget import LEAST_FOR_DATABASE, SHARE_FOR_DATABASE, allowed_bytes, holds_database, readable
from herbrand.errors import BudgetError, FactsError, UnsupportedError
from herbrand.relations.database import Database, DuckDB
from herbrand.relations.spark import Spark

DEFAULT_FOLDER = "herbrand.spark"
SPARK_MASTER = re.compile(
    r"(?P<master>spark://[^/]+|local-cluster\[[^\]]*\]|local\[[^\]]*\])(/(?P<folder>.+))?$"
)


@dataclass(frozen=True)
class DatabasePlace:
    """A database: its ``kind`` ("duckdb" or "spark"), and ``target``, its file or address; ``scratch``: for
    one call only."""

    kind: str
    target: str
    scratch: bool = False

    def __str__(self) -> str:
        if self.scratch:
            return "a scratch database"
        return f"duckdb:{self.target}" if self.kind == "duckdb" else self.target


def place_of(text: str) -> DatabasePlace:
    """Parse the value of ``--on``."""
    kind, colon, target = text.partition(":")
    if kind == "duckdb" and colon and target:
        return DatabasePlace("duckdb", target)
    if SPARK_MASTER.match(text):
        return DatabasePlace("spark", text)
    raise UnsupportedError(
        f"'{text}' is no place to run on",
        hint="one of duckdb:FILE, spark://HOST:PORT/FOLDER, local-cluster[2,1,1024]/FOLDER",
    )


def opened(place: DatabasePlace, memory: int | None = None) -> Database:
    """Open the database at a place; ``memory`` in bytes limits it and this process together."""
    return _OPENERS[place.kind](place, memory)


def folder_of(place: DatabasePlace) -> Path:
    """Folder on this machine's disk that holds its tables."""
    if place.kind == "duckdb":
        return Path(place.target).absolute().parent
    match = SPARK_MASTER.match(place.target)
    return Path((match and match["folder"]) or DEFAULT_FOLDER).absolute()


def _duckdb(place: DatabasePlace, memory: int | None) -> Database:
    path = Path(place.target)
    if not path.parent.is_dir():
        raise UnsupportedError(f"there is no folder '{path.parent}' for {place}")
    if path.is_dir():
        raise UnsupportedError(f"'{path}' is a folder", hint="name a file: --on duckdb:world.duckdb")
    if path.is_file() and not path.stat().st_size:
        with contextlib.suppress(OSError):
            path.unlink()  # DuckDB refuses an empty file, such as a full disk leaves
    elif path.is_file() and not _is_database(path):
        raise FactsError(
            f"'{path}' is not a valid DuckDB database",
            hint="facts in other files are given by --facts; --on names a database, new or old",
        )
    allowed = int(allowed_bytes(memory) * SHARE_FOR_DATABASE)
    if not holds_database(allowed_bytes(memory)):
        raise BudgetError(
            f"a database needs at least {readable(LEAST_FOR_DATABASE)} of memory, "
            f"and may use {readable(allowed)}",
            hint="allow more by --memory",
        )
    database = DuckDB(path, allowed, schema="herbrand")
    database.name = str(place)
    return database


def _is_database(path: Path) -> bool:
    """Check the magic bytes: DuckDB itself would open a text file as a database of one table."""
    with path.open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


def _spark(place: DatabasePlace, memory: int | None) -> Database:
    match = SPARK_MASTER.match(place.target)
    assert match is not None
    return Spark(match["master"], folder_of(place), memory)


_OPENERS: Mapping[str, Callable[[DatabasePlace, int | None], Database]] = {"duckdb": _duckdb, "spark": _spark}
