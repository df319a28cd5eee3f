"""The DuckDB database that reads and interns tables; it and its spill files last for one load.

A table is staged once, in the order of its source. The database then computes the distinct constants of the
columns of one type, and the code of each cell is looked up by its hash: the fastest of the methods tried
(docs/decisions/facts-store.md). Whole numbers in a small range index an array instead.

>>> with Store() as store:
...     staged = store.stage("SELECT 'bob' AS c0, 'anna' AS c1 UNION ALL SELECT 'bob', NULL")
...     column, other = store.interned(staged, ["person", "person"]).columns
>>> sorted(column.values.to_pylist()), bool(column.codes[0] == column.codes[1]), int(other.codes[1])
(['anna', 'bob'], True, -1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from herbrand.background import Background
from herbrand.extras import duckdb, pc
from herbrand.facts.column import (
    ABSENT,
    Column,
    Index,
    Interned,
    constants,
    decoded,
    filled,
    number_array,
    numbers_in,
)
from herbrand.files import ScratchFolder
from herbrand.row_keys import SPREAD, Places

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


Progress = Callable[[float], None]
_POLL_SECONDS = 0.1
_HASH = "hash({})"
_NOTHING_LOADED = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
"""Settings under which no query installs an extension or reads a Python variable as a table."""


def seal(connection: DuckDBPyConnection, files: Sequence[str] = (), folders: Sequence[str] = ()) -> None:
    """Restrict the connection's database, for good, to these files, the files in these folders, and attached
    databases: views in a database file are programs of its author."""
    if is_sealed(connection):
        return
    connection.execute("SET allowed_paths = ?", [list(files)])
    connection.execute("SET allowed_directories = ?", [list(folders)])
    for name in _NOTHING_LOADED:
        connection.execute(f"SET {name} = false")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def is_sealed(connection: DuckDBPyConnection) -> bool:
    return connection.execute("SELECT current_setting('enable_external_access')").fetchone() != (True,)


@dataclass(frozen=True)
class Staged:
    """A table of the store with columns ``c0``, ``c1``, ...; ``rowid`` is the row's number in its source."""

    name: str
    row_count: int


@dataclass(frozen=True, eq=False)
class _Dictionary:
    """The distinct constants of some columns, ascending, with their SQL type and hashes; the hash of null is
    among these if there are nulls."""

    kind: str
    values: pa.Array
    hashes: npt.NDArray[np.int64]
    places: Places

    def cell(self, column: str) -> str:
        """SQL expression that is fetched for each cell: its hash."""
        return _HASH.format(f"{column}::{self.kind}")

    def columns(self, cells: Sequence[pa.ChunkedArray]) -> list[Column]:
        """Columns with these hashes as cells."""
        with ThreadPoolExecutor() as threads:  # NumPy lets others run while it looks things up
            return [Column(self.values, codes) for codes in threads.map(self._codes, cells)]

    def _codes(self, hashes: pa.ChunkedArray) -> Index:
        """Index of a constant with the hash of each cell."""
        codes, start = np.empty(len(hashes), np.int32), 0
        for chunk in hashes.chunks:  # small enough for the caches
            places = codes[start : (start := start + len(chunk))]
            places[:] = self.places.of(numbers_in(chunk))
            if len(self.hashes) > len(self.values):
                places[places == len(self.values)] = ABSENT
        return codes


@dataclass(frozen=True)
class _Range:
    """Whole numbers in a small range, interned by an array over the whole range instead of a dictionary."""

    least: int
    size: int

    def cell(self, column: str) -> str:
        """SQL expression that is fetched for each cell: its distance from the least number; for null the size
        of the range."""
        return f"ifnull({column} - CAST('{self.least}' AS BIGINT), {self.size})"

    def columns(self, cells: Sequence[pa.ChunkedArray]) -> list[Column]:
        """Columns with these distances as cells."""
        stands = np.zeros(self.size + 1, bool)
        for chunk in chain.from_iterable(column.chunks for column in cells):
            stands[numbers_in(chunk)] = True
        codes = np.cumsum(stands, dtype=np.int32) - np.int32(1)
        codes[self.size] = ABSENT
        values = number_array(np.flatnonzero(stands[:-1]) + self.least)
        taken = ([codes[numbers_in(chunk)] for chunk in column.chunks] for column in cells)
        return [Column(values, np.concatenate([np.empty(0, np.int32), *parts])) for parts in taken]


class Store:
    """A DuckDB database for one load, opened on first use, as a load without files needs none. ``is_sealed``:
    its queries can read the facts only, so that they may contain text of a user. ``views``: the store in
    which queries of theories run."""

    is_sealed = False

    def __init__(self) -> None:
        self._names = 0
        self._sealed: list[Store] = []
        self._attached: dict[Path, str] = {}
        self.views: Store = self

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for store in self._sealed:
            store.__exit__(kind, error, trace)
        if "connection" in self.__dict__:
            self.connection.close()
        if "_folder" in self.__dict__:
            self._folder.cleanup()

    @cached_property
    def _folder(self) -> ScratchFolder:
        return ScratchFolder()

    @cached_property
    def connection(self) -> DuckDBPyConnection:
        settings = {"temp_directory": self._folder.name, **_NOTHING_LOADED}
        connection = duckdb.connect(":memory:", config=settings)
        connection.execute("SET enable_progress_bar = true")
        connection.execute("SET enable_progress_bar_print = false")
        return connection

    def stage(self, query: str, parameters: Sequence[Any] = (), progress: Progress | None = None) -> Staged:
        """Store the result of a query, whose columns must be named ``c0``, ``c1``, ..."""
        name = self._new_name("stage")
        self._run(f"CREATE TEMP TABLE {name} AS {query}", parameters, progress)
        ((count,),) = self.rows(f"SELECT count(*) FROM {name}")
        return Staged(name, count)

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a small result; DuckDB 2 refuses other queries until a result is fetched completely."""
        return self.connection.execute(query, list(parameters)).fetchall()

    def register(self, data: object) -> str:
        """Register Arrow data and return its name for queries."""
        name = self._new_name("given")
        self.connection.register(name, data)
        return name

    def attach(self, path: Path) -> str:
        """Attach a database file read-only and return its name for queries."""
        if path not in self._attached:
            name = self._new_name("attached")
            quoted = str(path).replace("'", "''")
            self.connection.execute(f"ATTACH '{quoted}' AS {name} (READ_ONLY)")
            self._attached[path] = name
        return self._attached[path]

    def sealed(self, path: Path) -> tuple[Store, str]:
        """A store that can read one database file only, and the name under which the file is attached."""
        store = Store()
        self._sealed.append(store)
        database = store.attach(path)
        store.connection.execute(f"SET search_path = '{database}.main'")
        seal(store.connection)
        store.is_sealed = True
        return store, database

    def apart(self, files: Sequence[str] = ()) -> Store:
        """A store that can read these files and no others."""
        store = Store()
        self._sealed.append(store)
        seal(store.connection, files)
        store.is_sealed = True
        return store

    def path(self, path: Path) -> str:
        """Path for DuckDB; a path whose name DuckDB would expand as a pattern gets another name."""
        if not any(character in str(path) for character in "*?["):
            return str(path)
        link = Path(self._folder.name) / (self._new_name("file") + "".join(path.suffixes))
        link.symlink_to(path.resolve())
        return str(link)

    def interned(
        self, staged: Staged, types: Sequence[str], *, marked: bool = False, progress: Progress | None = None
    ) -> Interned:
        """Intern the columns of a staged table, in its order; columns of one type share a dictionary of
        ascending constants. The staged table is dropped."""
        places = {name: [i for i, other in enumerate(types) if other == name] for name in types}
        known = {
            name: self._range(staged, own) or self._dictionary(staged, own) for name, own in places.items()
        }
        cells = [f"{known[name].cell(f'c{i}')} AS h{i}" for i, name in enumerate(types)]
        marks = [f"c{len(types)} AS marks"] if marked else []
        select_list = ", ".join([*cells, *marks]) or "1"
        rows = self._run(f"SELECT {select_list} FROM {staged.name}", (), progress, fetch="arrow")
        columns: dict[int, Column] = {}
        for name, own in places.items():
            numbered = known[name].columns([rows[f"h{i}"] for i in own])
            columns |= dict(zip(own, numbered, strict=True))
            for i in own:
                self._tell_apart(columns[i].codes, i, staged, known[name])
        self.connection.execute(f"DROP TABLE {staged.name}")
        ordered = tuple(columns[i] for i in range(len(types)))
        return Interned(ordered, staged.row_count, decoded(rows["marks"]) if marked else None)

    def _range(self, staged: Staged, columns: Sequence[int]) -> _Range | None:
        """The range of the columns' whole numbers, if it is no larger than the table; else None."""
        ends = self.connection.sql(f"SELECT min(x), max(x) FROM ({_seen(staged, columns)})")
        if str(ends.types[0]) != "BIGINT":
            return None
        ((least, largest),) = ends.fetchall()
        if least is None or largest - least >= SPREAD * staged.row_count:
            return None
        return _Range(least, largest - least + 1)

    def _dictionary(self, staged: Staged, columns: Sequence[int]) -> _Dictionary:
        distinct = f"SELECT DISTINCT x FROM ({_seen(staged, columns)})"
        answer = self.connection.sql(
            f"SELECT x, {_HASH.format('x')} AS h FROM ({distinct}) ORDER BY x NULLS LAST"
        )
        kind, table = str(answer.types[0]), answer.to_arrow_table()
        values = constants(table["x"]).combine_chunks()
        values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        hashes = np.concatenate([np.empty(0, np.int64), *map(numbers_in, table["h"].chunks)])
        return _Dictionary(kind, values[: len(values) - values.null_count], hashes, Places(hashes))

    def _tell_apart(self, codes: Index, column: int, staged: Staged, known: _Dictionary | _Range) -> None:
        """Correct the codes of cells whose hash several constants have, by comparing the constants."""
        if isinstance(known, _Range):
            return
        alike = np.flatnonzero(known.places.like != np.arange(len(known.hashes)))
        if len(alike):
            cell = f"c{column}::{known.kind}"
            rows = self.connection.sql(
                f"SELECT rowid AS place, {cell} AS x FROM {staged.name} WHERE {_HASH.format(cell)} IN "
                "(SELECT unnest(?::UBIGINT[]))",
                params=[known.hashes[alike].view(np.uint64).tolist()],
            ).to_arrow_table()
            cells = constants(rows["x"])
            codes[rows["place"].to_numpy()] = filled(
                pc.index_in(cells.combine_chunks(), value_set=known.values), ABSENT
            )

    def _new_name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}_{self._names}"

    def _run(self, query: str, parameters: Sequence[Any], progress: Progress | None, fetch: str = "") -> Any:
        """Execute a query; in another thread if there is ``progress``, so that this one can report it."""
        if progress is None:
            return self._execute(query, parameters, fetch)
        connection = self.connection  # opened by this thread: another could open it after an interruption
        outcome = Background(lambda: self._execute(query, parameters, fetch))
        done = 0.0
        try:
            outcome.start()
            while outcome.is_alive():
                outcome.join(_POLL_SECONDS)
                done = max(done, min(1.0, connection.query_progress() / 100))  # -1 when it has ended
                progress(done)
        except BaseException:
            while outcome.is_alive():  # an interruption is lost where the query has not begun
                connection.interrupt()
                outcome.join(_POLL_SECONDS)
            raise
        result = outcome.result()
        progress(1.0)  # of a query that has ended before it was first looked at, this is all
        return result

    def _execute(self, query: str, parameters: Sequence[Any], fetch: str) -> Any:
        if fetch == "arrow":
            return self.connection.sql(query, params=list(parameters)).to_arrow_table()
        self.connection.execute(query, list(parameters))
        return None


def _seen(staged: Staged, columns: Sequence[int]) -> str:
    """SQL query of all cells of some columns, as column ``x``."""
    return " UNION ALL ".join(f"SELECT c{i} AS x FROM {staged.name}" for i in columns)
