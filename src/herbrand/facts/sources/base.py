"""Base classes of sources and of their tables, which have names of columns and a method to intern them.

A source is a value that locates facts; opening it reads no more than a header. The rows of all tables are
checked by :mod:`herbrand.facts.load`.

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
"""Names of the special column after a predicate's own columns."""


@dataclass(frozen=True)
class Reading:
    """Settings for opening sources: the known predicates, and whether text files have a header.

    ``strict``: there are no other predicates, so that other tables of a database are ignored; ``note`` is
    called with a note on these.
    """

    predicates: Mapping[str, Predicate]
    header: bool | None = None
    strict: bool = False
    note: Callable[[str], object] = lambda text: None

    def __post_init__(self) -> None:
        if self.header is not None:
            Flag().check("--header", self.header)

    def empty(self, predicate: str, name: str) -> EmptyTable:
        """A table without rows, of the width of its predicate."""
        known = self.predicates.get(predicate)
        return EmptyTable(predicate, name, len(known.column_types) if known else 0)


class OpenTable(ABC):
    """An open table of one predicate. ``names``: names of its columns, if they have any; ``textual``: every
    cell is text.

    ``valued``: the last column is the value of a many-valued predicate; ``sized``: a width of 0 is intended.
    ``stated``: every row is a statement of a theory, so that equal opinions count separately; equal rows of
    other tables count once. ``size``: estimated bytes; ``hint``: advice if its first row is wrong;
    ``width_hint``: advice if it has too few columns. For text tables without the option ``header``:
    ``first_cells``, the first row if it was read as data, and ``next_rows``, some rows after it.
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
    width_hint: str = ""
    first_cells: Sequence[str] = ()
    next_rows: Sequence[Sequence[str]] = ()

    @property
    def whole(self) -> Place:
        """Place of the table as a whole."""
        return Place(self.name)

    @property
    def content(self) -> str:
        """Fingerprint of the rows; empty for a file, whose time of writing serves instead."""
        return ""

    def place(self, row: int) -> Place:
        """Place of a row (from 0): its line in a file with lines, else its number."""
        return Place(self.name, row + 1)

    def places_of(self, arguments: Sequence[Value]) -> list[Place]:
        """Places of the rows that begin with these constants, if they are known without further reading."""
        return []

    @abstractmethod
    def interned(self, types: Sequence[str], *, marked: bool, progress: Progress | None = None) -> Interned:
        """Intern the first columns, one for each type, and with ``marked`` the special column after them.

        Raises ``FactsError`` for rows that do not form a table.
        """

    def selected(self, selection: Selection) -> OpenTable:
        """The table with the selected columns and rows; raises ``FactsError`` if columns have no names."""
        raise FactsError(f"{self.name}: its columns have no names, so none can be chosen")


class EmptyTable(OpenTable):
    """A table without rows."""

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
    """A source of facts; ``name`` is its name in messages."""

    name: str

    def constants(self) -> Sequence[TypeDeclaration]:
        """Types whose constants the source lists beside its tables, as databases of pracmln do."""
        return ()

    @abstractmethod
    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        """Open the tables; raises ``FactsError`` if none can be read."""

    def cells(self, read: Collection[str] | None, columns: int | None = None) -> int:
        """Number of cells: rows times the columns, or times ``columns``; 0 if unknown without reading.
        ``read``: the tables that are read from databases; None for all."""
        return 0

    def queried(self, store: Store, predicate: str, query: str) -> OpenTable | None:
        """Table of the rows of a theory's query; ``None`` if the source is no database."""
        return None


class FileSource(FactSource):
    """A file; its name in messages has no folders."""

    path: Path

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.path.name

    @property
    def size(self) -> int:
        """Bytes of the file; 0 if it no longer exists, which reading it will report."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def unreadable(self, error: Exception, row: int) -> FactsError:
        """Error for a row at which reading failed with one of the ``BROKEN`` errors."""
        if isinstance(error, UnicodeDecodeError):
            message = f"byte 0x{error.object[error.start]:02x} is not UTF-8 text"
            return FactsError(Place(self.name, row).mistake(message, "save the file as UTF-8"))
        return FactsError(f"{self.name} cannot be read: {error}")


# Text files as they are or compressed, opened alike


OPENERS: Mapping[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""Functions that open compressed files, by ending."""
BROKEN = (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError)
"""Errors of reading a truncated file, or one that is no archive or no text."""


def is_compressed(path: Path) -> bool:
    return path.suffix.lower() in OPENERS


def read_by_duckdb(path: Path) -> bool:
    """Whether DuckDB can open the file by itself."""
    return path.suffix.lower() not in (".bz2", ".xz")


def open_text(path: Path, newline: str | None = None) -> TextIO:
    """Open a text file of UTF-8, with or without a byte order mark."""
    opened = OPENERS.get(path.suffix.lower(), open)
    return opened(path, "rt", encoding="utf-8-sig", newline=newline)
