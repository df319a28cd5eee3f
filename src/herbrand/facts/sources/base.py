"""What every kind of source gives: tables that are open,
each with the columns it has and a way to intern them.

A source is a value that says where facts are; opening it reads no more than a header. What a table holds is
judged in one place, :mod:`herbrand.facts.load`, whatever it came from.

>>> EmptyTable("friends", "friends.csv", 2).interned(["person", "person"], marked=False).row_count
0
>>> is_compressed(Path("friends.csv.bz2")), is_compressed(Path("friends.csv"))
(True, False)
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from herbrand.errors import FactsError
from herbrand.facts.address import Nulls, Selection
from herbrand.facts.column import Interned, dictionary_column
from herbrand.facts.place import Place
from herbrand.facts.store import Progress, Store
from herbrand.language.signature import Predicate
from herbrand.language.syntax import TypeDeclaration, Value
from herbrand.options.kinds import Flag

MARKS = ("truth", "probability", "weight")
"""What a column after a predicate's own may be named."""


@dataclass(frozen=True)
class Reading:
    """What opening a source may depend on: the predicates known, and whether text files have a header.

    ``strict``: there are no other predicates, so a database's other tables are left alone; ``note`` is called
    with what was.
    """

    predicates: Mapping[str, Predicate]
    header: bool | None = None
    strict: bool = False
    note: Callable[[str], object] = lambda text: None

    def __post_init__(self) -> None:
        if self.header is not None:
            Flag().check("--header", self.header)

    def empty(self, predicate: str, name: str) -> EmptyTable:
        """A table without a row, as wide as its predicate is known to be."""
        known = self.predicates.get(predicate)
        return EmptyTable(predicate, name, len(known.column_types) if known else 0)


class OpenTable(ABC):
    """A table of one predicate. ``names`` are its columns',
    if they have any; ``textual``: every cell is text.

    ``valued``: its last column is the value of a many-valued predicate; ``sized``: a width of 0 is no
    accident. ``stated``: every row is a statement of a theory, so equal opinions count apart; equal rows of
    any other table are one. ``size`` is about how many bytes it has, and ``hint`` what to try where its
    columns or first row are wrong. Of a text table, unless a user says whether it
    has a header: ``first_cells``, the first row where it was taken as data, and ``next_rows``, some after it.
    """

    predicate: str
    name: str
    width: int
    names: tuple[str, ...] | None = None
    textual: bool = False
    valued: bool = False
    sized: bool = True
    stated: bool = False
    nulls: Nulls = "refuse"
    size: int = 0
    hint: str = ""
    first_cells: Sequence[str] = ()
    next_rows: Sequence[Sequence[str]] = ()

    @property
    def whole(self) -> Place:
        """Where the table as a whole stands."""
        return Place(self.name)

    @property
    def content(self) -> str:
        """Differs where its rows do; nothing of a file, which says itself when it was written."""
        return ""

    def place(self, row: int) -> Place:
        """Where the row (from 0) stands: its number, where no file has lines."""
        return Place(self.name, row + 1)

    def places_of(self, arguments: Sequence[Value]) -> list[Place]:
        """Where rows that begin with these constants stand, where that is known without reading on."""
        return []

    @abstractmethod
    def interned(self, types: Sequence[str], *, marked: bool, progress: Progress | None = None) -> Interned:
        """The first columns, one a type; where ``marked``, the one after them as well.

        Raises ``FactsError`` for rows that are no table.
        """

    def selected(self, selection: Selection) -> OpenTable:
        """The table with some of its columns and rows; raises ``FactsError`` where columns have no names."""
        raise FactsError(f"{self.name}: its columns have no names, so none can be chosen")


class EmptyTable(OpenTable):
    """A file without a row: no facts of a predicate that is known."""

    sized = False

    def __init__(self, predicate: str, name: str, width: int) -> None:
        self.predicate, self.name, self.width = predicate, name, width

    def place(self, row: int) -> Place:
        return Place(self.name)

    def selected(self, selection: Selection) -> OpenTable:
        return self

    def interned(self, types: Sequence[str], *, marked: bool, progress: Progress | None = None) -> Interned:
        return Interned(tuple(dictionary_column(pa.array([], pa.large_string())) for _ in types), 0)


class FactSource(ABC):
    """A place that facts come from; ``name`` is how messages call it."""

    name: str

    def constants(self) -> Sequence[TypeDeclaration]:
        """The types whose constants it lists beside its tables, as pracmln's databases do."""
        return ()

    @abstractmethod
    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        """Its tables; raises ``FactsError`` where there is nothing that can be read."""

    def cells(self, read: Collection[str] | None, columns: int | None = None) -> int:
        """Rows times columns, or as many of these as are chosen; 0 where they are not known without reading.
        ``read``: the tables that are read of databases; all of them if not given."""
        return 0

    def queried(self, store: Store, predicate: str, query: str) -> OpenTable | None:
        """The rows that a query of a theory finds; ``None`` of what is no database."""
        return None


class FileSource(FactSource):
    """A file, which is called by its name without folders."""

    path: Path

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.path.name

    @property
    def size(self) -> int:
        """Its bytes; 0 where it is gone by now, which reading it says."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def unreadable(self, error: Exception, row: int) -> FactsError:
        """Why reading ended at a row with one of the ``BROKEN`` errors."""
        if isinstance(error, UnicodeDecodeError):
            message = f"byte 0x{error.object[error.start]:02x} is not UTF-8 text"
            return FactsError(Place(self.name, row).mistake(message, "save the file as UTF-8"))
        return FactsError(f"{self.name} cannot be read: {error}")


# Text files as they are or compressed, opened alike


OPENERS: Mapping[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""What opens a compressed file, by its ending."""
BROKEN = (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError)
"""What reading a file that is cut off, no archive or no text may raise."""


def is_compressed(path: Path) -> bool:
    return path.suffix.lower() in OPENERS


def read_by_duckdb(path: Path) -> bool:
    """Whether DuckDB opens the file itself."""
    return path.suffix.lower() not in (".bz2", ".xz")


def open_text(path: Path, newline: str | None = None) -> TextIO:
    """UTF-8, with or without a byte order mark."""
    opened = OPENERS.get(path.suffix.lower(), open)
    return opened(path, "rt", encoding="utf-8-sig", newline=newline)
