"""CSV and TSV files: a record is a row, every cell is text; a first row with a special name is a header.

Small files are read by Python's csv module, which is done before DuckDB has started; others by DuckDB. A file
that DuckDB refuses is read by Python too, which knows the line of every mistake and accepts oddities that are
no mistakes (mixed line ends, cells of megabytes).

>>> is_header(["person", "person", "weight"], ("person", "person"))
True
>>> is_header(["anna", "bob"], ("person", "person"))
False
>>> looks_like_names(("from", "to"), [("anna", "bob")])
True
>>> looks_like_names(("anna", "bob"), [("bob", "carl")])
False
>>> import tempfile
>>> folder = Path(tempfile.mkdtemp())
>>> (folder / "red.csv").touch()
>>> (full := folder / "full").mkdir()
>>> _ = (full / "red.csv").write_text("anna")
>>> worlds = [(TextFile("red", folder / "red.csv"),), (TextFile("red", full / "red.csv"),)]
>>> [len(sources) for sources in without_empty_tables(worlds, ())]
[0, 1]
"""

from __future__ import annotations

import csv
import re
import sys
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa

from herbrand.errors import FactsError, Mistake, counted, few_of
from herbrand.extras import duckdb
from herbrand.facts.address import Selection
from herbrand.facts.column import Interned, python_column, text_array
from herbrand.facts.place import Place, rows_at_fault
from herbrand.facts.sources.base import (
    BROKEN,
    MARKS,
    FactSource,
    FileSource,
    OpenTable,
    Reading,
    is_compressed,
    open_text,
    read_by_duckdb,
)
from herbrand.facts.sources.stored import StoredTable, literal, part, quoted, where
from herbrand.facts.store import Progress, Staged, Store
from herbrand.language.syntax import FactRows

Record = tuple[int, list[str]]
"""Line on which a record begins, and its cells."""


@dataclass(frozen=True)
class TextFile(FileSource):
    """A table in a text file, perhaps compressed."""

    predicate: str
    path: Path
    delimiter: str = ","

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        first = next(self.records(), None)
        known = reading.predicates.get(self.predicate)
        types = known.column_types if known else ()
        if first is None:
            return [reading.empty(self.predicate, self.name)]
        header = is_header(first[1], types) if reading.header is None else reading.header
        table = TextTable(self, store, first, header, declared=reading.header is not None)
        if not table.declared:
            table.next_rows = self._beginning()[1:]
            table.first_cells = () if header else tuple(first[1])
        return [table]

    def _beginning(self) -> list[list[str]]:
        """The first rows, as far as they can be read; mistakes are raised when all rows are read."""
        rows: list[list[str]] = []
        with suppress(FactsError):
            rows.extend(cells for _, cells in islice(self.records(), LOOKED_AT))
        return rows

    def records(self) -> Iterator[Record]:
        """Records that are not empty, by Python's csv module."""
        line = 1
        try:
            with open_text(self.path, newline="") as text, _long_cells():
                reader = csv.reader(text, delimiter=self.delimiter, strict=True)
                for cells in reader:
                    if cells:
                        yield line, cells
                    line = reader.line_num + 1
        except csv.Error as error:
            raise FactsError(
                Place(self.name, line).mistake(f"a quoted cell is not well formed: {error}", _QUOTES)
            ) from None
        except BROKEN as error:
            raise self.unreadable(error, line) from None


SMALL_FILE = 128_000
"""Bytes up to which Python reads a table before DuckDB would have started."""
LOOKED_AT = 1000
"""Number of rows after the first that are used to judge whether it may be a header."""
_QUOTES = 'a cell in quotes ends at the next quote; a quote inside it is written ""'


def is_header(cells: Sequence[str], types: Sequence[str]) -> bool:
    """Whether a first row is a header: it has a special name, or equals the predicate's types."""
    return any(cell in MARKS for cell in cells) or (bool(types) and list(cells) == list(types))


@contextmanager
def _long_cells() -> Iterator[None]:
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


class TextTable(OpenTable):
    textual = True

    def __init__(self, file: TextFile, store: Store, first: Record, header: bool, *, declared: bool) -> None:
        self.file, self.store, self.header, self.declared = file, store, header, declared
        self.predicate, self.name = file.predicate, file.name
        self.first_line, self._first = first
        self.width = len(self._first)
        self.chosen: Sequence[int] = range(self.width)
        self.size = file.size
        self.names = tuple(self._first) if header else None
        self.width_hint = _other_delimiter(file.delimiter, self._first)
        self.hint = self.width_hint or ("" if declared else _hint(header))
        self._lines = array("q")

    def place(self, row: int) -> Place:
        return Place(self.name, self._line(row))

    def _line(self, row: int) -> int:
        record = row + self.header
        if record >= len(self._lines):
            self._lines = array("q", (line for line, _ in islice(self.file.records(), 2 * record + 1000)))
        return self._lines[record]

    def selected(self, selection: Selection) -> OpenTable:
        """Select columns by the names in the first row; conditions see numbers and dates as such."""
        if self.names is None:
            raise FactsError(
                f"{self.name}: without a header its columns have no names, so none can be chosen"
            )
        chosen = selection.among(self.name, self.names, ", as its first row names them")
        places = {name: place for place, name in enumerate(self.names)}
        if len(places) < len(self.names):
            raise FactsError(f"{self.name}: two columns of its header have the same name")
        if selection.where is None:
            table = copy(self)
            table.chosen = [self.chosen[places[old]] for old, _ in chosen]
            table.names, table.width = tuple(new for _, new in chosen), len(chosen)
            return table
        store = self.store.apart([self.store.path(self.file.path)])
        staged = self._staged(store)
        listed = ", ".join(f"c{places[old]} AS {quoted(new)}" for old, new in chosen)
        typed = ", ".join(f"{_typed(store, staged, i)} AS {quoted(name)}" for name, i in places.items())
        every = f"(SELECT {typed}, {staged.name}.rowid AS _row FROM {staged.name})"
        kept = f"SELECT _row FROM {every}{where(self.name, selection)}"
        relation = f"(SELECT {listed} FROM {staged.name} WHERE rowid IN ({kept}) ORDER BY rowid)"
        columns = [(new, "VARCHAR") for _, new in chosen]
        rows = StoredTable(self.predicate, selection.of(self.name), store, relation, columns, self.size)
        rows.textual = True
        return rows

    def _staged(self, store: Store) -> Staged:
        if self._is_for_duckdb:
            with suppress(duckdb.Error):
                return store.stage(self._query())
        arrays = [text_array(cells, keep_empty=False) for cells in self._columns()]
        table = pa.table(arrays, [f"c{i}" for i in range(self.width)])
        return store.stage(f"FROM {store.register(table)}")

    @property
    def _is_for_duckdb(self) -> bool:
        """Whether DuckDB reads the file right. It would not if a blank line precedes the header, nor if a
        byte order mark precedes a quoted header: it then ends the cell at a delimiter within the quotes."""
        odd = self.header and f'{self.file.delimiter}"' in f'{self._first[0]}"'
        return read_by_duckdb(self.file.path) and not odd and not (self.header and self.first_line > 1)

    def interned(self, types: Sequence[str], *, marked: bool, progress: Progress | None = None) -> Interned:
        small = self.size <= SMALL_FILE and not is_compressed(self.file.path)
        if small or not self._is_for_duckdb:
            return self._interned_by_python(types, marked)
        try:
            staged = self.store.stage(self._query(), (), part(progress, 0, 0.5))
        except duckdb.Error:
            return self._interned_by_python(types, marked)
        return self.store.interned(staged, types, marked=marked, progress=part(progress, 0.5, 1))

    def _query(self) -> str:
        """DuckDB's query of the file: blank lines are skipped; an empty cell, quoted or not, is null."""
        names = [f"c{i}" for i in range(len(self._first))]
        columns = ", ".join(f"'{name}': 'VARCHAR'" for name in names)
        alone = len(names) == 1
        table = (
            f"read_csv({literal(self.store.path(self.file.path))}, auto_detect=false, header={self.header}, "
            f"delim={literal(self.file.delimiter)}, quote='\"', escape='\"', nullstr='', "
            f"allow_quoted_nulls={not alone}, columns={{{columns}}})"
        )
        cell = "nullif(c0, '')" if alone else "c{}"
        listed = ", ".join(f"{cell.format(old)} AS c{new}" for new, old in enumerate(self.chosen))
        return f"SELECT {listed} FROM {table}{' WHERE c0 IS NOT NULL' if alone else ''}"

    def _columns(self) -> Sequence[Sequence[str]]:
        records = list(self.file.records())[self.header :]
        width = len(self._first)
        wrong = [record for record in records if len(record[1]) != width]
        if wrong:
            raise FactsError(rows_at_fault(self.name, wrong, self._wrong_width))
        columns = list(zip(*(record[1] for record in records), strict=True)) or [()] * width
        return [columns[place] for place in self.chosen]

    def _interned_by_python(self, types: Sequence[str], marked: bool) -> Interned:
        columns = self._columns()
        marks = pa.chunked_array([text_array(columns[-1], keep_empty=False)]) if marked else None
        interned = tuple(python_column(cells, text_array, "") for cells in columns[: len(types)])
        return Interned(interned, len(columns[0]), marks)

    def _wrong_width(self, record: Record) -> Mistake:
        line, cells = record
        message = f"{counted(len(cells), 'cell')} where the first row has {counted(len(self._first), 'cell')}"
        hint = "a cell that holds the delimiter must stand in quotes" if len(cells) > len(self._first) else ""
        return Place(self.name, line).mistake(message, hint)


_WHOLE, _NUMBER, _DAY = (f"TRY_CAST({{0}} AS {kind})" for kind in ("BIGINT", "DOUBLE", "DATE"))
_INSTANT = (
    "CASE WHEN regexp_matches({0}, '[T ].*(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)$') "
    "THEN make_timestamp(epoch_us(TRY_CAST({0} AS TIMESTAMPTZ))) ELSE TRY_CAST({0} AS TIMESTAMP) END"
)
"""A time in UTC: a cast to TIMESTAMP would leave its zone out."""
_KINDS = ((_WHOLE, _NUMBER), (_NUMBER, _NUMBER), (_DAY, _INSTANT), (_INSTANT, _INSTANT))
"""Kinds of a column in a condition, each with one that loses nothing: a cast to BIGINT rounds a fraction, and
one to DATE leaves the time of day out."""


def _typed(store: Store, staged: Staged, place: int) -> str:
    """SQL expression of a column in a condition: numbers or dates if every cell is one, else text."""
    for kind, exact in _KINDS:
        cell, same = kind.format(f"c{place}"), exact.format(f"c{place}")
        kept = f"SELECT count(*) FILTER ({cell} = {same}) = count(c{place}) FROM {staged.name}"
        if store.rows(kept)[0][0]:
            return cell
    return f"c{place}"


DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def _other_delimiter(delimiter: str, cells: Sequence[str]) -> str:
    """Advice for a row that seems to use another delimiter, so that it has one cell."""
    instead = next((sign for sign in DELIMITERS if len(cells) == 1 and sign in cells[0]), None)
    if instead is None:
        return ""
    expected, has = DELIMITERS[delimiter], DELIMITERS[instead]
    return f"cells of such a file stand between {expected}, and its first row has {has}"


def _hint(header: bool) -> str:
    if header:
        return "the first row was taken as a header; if it is data, say header=False (--header no)"
    return "the first row was taken as data; if it is a header, say header=True (--header yes)"


# First rows taken as data though they look like names of columns: what a user should look at again, so this
# must seldom be wrong


FEWEST_REPEATED = 5
"""Least number of rows for which it counts that cells of the first row do not recur."""
ALONE = frozenset(("id", "name", "person", "user"))
"""Usual names of the only column of a table; other names may be the first word of a list of words."""
_USUAL = """
from to source target src dst child parent father mother head tail subject object relation predicate
start end left right first second entity node edge key label title text value item friend other author
paper document doc word topic type class category group city country year date day time age score rating
count number amount price
"""
NAMES = ALONE | frozenset(_USUAL.split())
_DIGITS = re.compile(r"\d+")
_NUMBER_OR_ID = re.compile(r"[_\- ]?(\d+|id|name)$")


def doubtful_headers(
    tables: Sequence[OpenTable], theory_rows: Sequence[FactRows], mentioned: Iterable[object]
) -> tuple[str, ...]:
    """Notes on tables whose first row may be a header although no rule reads it as one.

    A cell that is a constant in another table or in the theory is no name of a column.
    """
    doubtful = [t for t in tables if t.first_cells and looks_like_names(t.first_cells, t.next_rows)]
    if not doubtful:
        return ()
    cells = {cell.strip() for table in doubtful for cell in table.first_cells}
    known = {cell.strip() for table in tables for row in table.next_rows for cell in row} | set(mentioned)
    for rows in theory_rows:
        for column in rows.columns:
            known |= cells.intersection(column)
    names = [t.name for t in doubtful if not any(cell.strip() in known for cell in t.first_cells)]
    if not names:
        return ()
    return (
        f"the first row of {few_of(names)} was taken as data, though it looks like "
        "names of columns; --header yes skips it, --header no says that it is data",
    )


def looks_like_names(first: Sequence[str], later: Sequence[Sequence[str]]) -> bool:
    """Whether a first row looks like names of columns, judged by itself and by the later rows.

    All its cells must be words that do not occur below, not even with another number. In addition they are
    usual names of columns, or one heads a column of numbers only, or every cell below recurs while none of
    them does.
    """
    cells = [cell.strip() for cell in first]
    below = [[cell.strip() for cell in row] for row in later if len(row) == len(cells)]
    times = Counter(cell for row in below for cell in row)
    patterns = set(map(_pattern, times))
    if not below or any(not cell or _is_number(cell) or _pattern(cell) in patterns for cell in cells):
        return False
    usual = NAMES if len(cells) > 1 else ALONE
    if all(cell.lower() in usual or _stem(cell) in NAMES for cell in cells):
        return True
    if any(all(map(_is_number, column)) for column in zip(*below, strict=True)):
        return True
    return len(set(cells)) == len(cells) and len(below) >= FEWEST_REPEATED and min(times.values()) > 1


def _pattern(cell: str) -> str:
    """Pattern of a cell, equal for numbered constants such as ``p1`` and ``p27``."""
    return _DIGITS.sub("0", cell)


def _stem(cell: str) -> str:
    """Stem of a name with a number or ``_id`` at its end, such as ``person`` of ``person1``, ``Person_2`` and
    ``person_id``; empty for other names."""
    stem, ends = _NUMBER_OR_ID.subn("", cell.lower())
    return stem if ends else ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# Several worlds of which one has a file without rows: another one knows its columns


def without_empty_tables(
    worlds: Sequence[Sequence[FactSource]], declared: Collection[str]
) -> list[tuple[FactSource, ...]]:
    """Sources of each world without empty files whose predicate has rows in other worlds: if it is not
    ``declared``, its columns are those of the rows there."""
    files = [source for sources in worlds for source in sources if isinstance(source, TextFile)]
    empty = {Path(source.path) for source in files if not Path(source.path).stat().st_size}
    full = {source.predicate for source in files if Path(source.path) not in empty} - set(declared)

    def needless(source: FactSource) -> bool:
        return isinstance(source, TextFile) and Path(source.path) in empty and source.predicate in full

    return [tuple(source for source in sources if not needless(source)) for sources in worlds]
