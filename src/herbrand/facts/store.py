"""The DuckDB database that tables pass through while they are read; it and its spill files live for one load.

A table is staged once, in the order of its source. The distinct constants of its columns of one type are then
found by the database, and each cell by its hash among theirs: the fastest of the ways tried
(docs/decisions/facts-store.md). Whole numbers close together index an array instead.

>>> with Store() as store:
...     staged = store.stage("SELECT 'bob' AS c0, 'anna' AS c1 UNION ALL SELECT 'bob', NULL")
...     column, other = store.interned(staged, ["person", "person"]).columns
>>> sorted(column.values.to_pylist()), bool(column.codes[0] == column.codes[1]), int(other.codes[1])
(['anna', 'bob'], True, -1)
"""

from __future__ import annotations

import threading
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

from herbrand.extras import duckdb, pc
from herbrand.facts.column import (
    ABSENT,
    Column,
    Index,
    Interned,
    constants,
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
"""No query fetches an extension, nor takes a variable of this program for a table."""


def seal(connection: DuckDBPyConnection, files: Sequence[str] = (), folders: Sequence[str] = ()) -> None:
    """Let queries of the connection's database read these files, what lies in these folders, what is attached
    already, and nothing else, for good: views in a database file are programs of whoever made it."""
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
    """A table of the store with columns ``c0``, ``c1``, ...; ``rowid`` is the row's place in its source."""

    name: str
    row_count: int


@dataclass(frozen=True, eq=False)
class _Dictionary:
    """The distinct constants of some columns, ascending, their SQL type and their hashes; one more hash, of a
    cell without a constant, where there is one."""

    kind: str
    values: pa.Array
    hashes: npt.NDArray[np.int64]
    places: Places

    def cell(self, column: str) -> str:
        """What is fetched of each cell."""
        return _HASH.format(f"{column}::{self.kind}")

    def columns(self, cells: Sequence[pa.ChunkedArray]) -> list[Column]:
        """The columns of which these are the hashes."""
        with ThreadPoolExecutor() as threads:  # NumPy lets others run while it looks things up
            return [Column(self.values, codes) for codes in threads.map(self._codes, cells)]

    def _codes(self, hashes: pa.ChunkedArray) -> Index:
        """The place of a constant with the hash of each cell."""
        codes, start = np.empty(len(hashes), np.int32), 0
        for chunk in hashes.chunks:  # small enough for the caches
            places = codes[start : (start := start + len(chunk))]
            places[:] = self.places.of(numbers_in(chunk))
            if len(self.hashes) > len(self.values):
                places[places == len(self.values)] = ABSENT
        return codes


@dataclass(frozen=True)
class _Range:
    """Whole numbers, of which many between the least and the largest stand in some columns: an array over all
    of them takes the place of a dictionary."""

    least: int
    size: int

    def cell(self, column: str) -> str:
        """What is fetched of each cell: how far it is from the least; of an empty one the size."""
        return f"ifnull({column} - CAST('{self.least}' AS BIGINT), {self.size})"

    def columns(self, cells: Sequence[pa.ChunkedArray]) -> list[Column]:
        """The columns of which these are the distances."""
        stands = np.zeros(self.size + 1, bool)
        for chunk in chain.from_iterable(column.chunks for column in cells):
            stands[numbers_in(chunk)] = True
        codes = np.cumsum(stands, dtype=np.int32) - np.int32(1)
        codes[self.size] = ABSENT
        values = number_array(np.flatnonzero(stands[:-1]) + self.least)
        taken = ([codes[numbers_in(chunk)] for chunk in column.chunks] for column in cells)
        return [Column(values, np.concatenate([np.empty(0, np.int32), *parts])) for parts in taken]


class Store:
    """Opened on first use, since a load without files needs none. ``is_sealed``: its queries can read nothing
    but the facts that they are about, so they may hold what somebody wrote. ``views`` is the store in which
    queries of theories run."""

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
        """The result of a query, kept; its columns must be named ``c0``, ``c1``, ..."""
        name = self._new_name("stage")
        self._run(f"CREATE TEMP TABLE {name} AS {query}", parameters, progress)
        ((count,),) = self.rows(f"SELECT count(*) FROM {name}")
        return Staged(name, count)

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a small result: DuckDB 2 refuses other work while one is not fetched to its end."""
        return self.connection.execute(query, list(parameters)).fetchall()

    def register(self, data: object) -> str:
        """The name under which a query finds Arrow data."""
        name = self._new_name("given")
        self.connection.register(name, data)
        return name

    def attach(self, path: Path) -> str:
        """The name under which a query finds a database file, opened for reading only."""
        if path not in self._attached:
            name = self._new_name("attached")
            quoted = str(path).replace("'", "''")
            self.connection.execute(f"ATTACH '{quoted}' AS {name} (READ_ONLY)")
            self._attached[path] = name
        return self._attached[path]

    def sealed(self, path: Path) -> tuple[Store, str]:
        """A store in which a database file is attached under the name, and which can read no other file."""
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
        """The path as DuckDB may be given it: a name that it would expand gets another one."""
        if not any(character in str(path) for character in "*?["):
            return str(path)
        link = Path(self._folder.name) / (self._new_name("file") + "".join(path.suffixes))
        link.symlink_to(path.resolve())
        return str(link)

    def interned(
        self, staged: Staged, types: Sequence[str], *, marked: bool = False, progress: Progress | None = None
    ) -> Interned:
        """The columns in the order of the table, those of the same type sharing one dictionary, whose
        constants ascend; the staged table is dropped."""
        places = {name: [i for i, other in enumerate(types) if other == name] for name in types}
        known = {
            name: self._range(staged, own) or self._dictionary(staged, own) for name, own in places.items()
        }
        cells = [f"{known[name].cell(f'c{i}')} AS h{i}" for i, name in enumerate(types)]
        marks = [f"c{len(types)} AS marks"] if marked else []
        wanted = ", ".join([*cells, *marks]) or "1"
        rows = self._run(f"SELECT {wanted} FROM {staged.name}", (), progress, fetch="arrow")
        columns: dict[int, Column] = {}
        for name, own in places.items():
            numbered = known[name].columns([rows[f"h{i}"] for i in own])
            columns |= dict(zip(own, numbered, strict=True))
            for i in own:
                self._tell_apart(columns[i].codes, i, staged, known[name])
        self.connection.execute(f"DROP TABLE {staged.name}")
        ordered = tuple(columns[i] for i in range(len(types)))
        return Interned(ordered, staged.row_count, rows["marks"] if marked else None)

    def _range(self, staged: Staged, columns: Sequence[int]) -> _Range | None:
        """Where an array over all whole numbers from the least to the largest is no larger than the table."""
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
        """Correct the codes of a column where constants have the hash of others: these themselves decide."""
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
        """Runs in a thread of its own where progress is asked for, so that this one can report it."""
        if progress is None:
            return self._execute(query, parameters, fetch)
        connection = self.connection  # opened by this thread: another could open it after an interruption
        outcome = _Outcome(lambda: self._execute(query, parameters, fetch))
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
    """All cells of some columns, as ``x``."""
    return " UNION ALL ".join(f"SELECT c{i} AS x FROM {staged.name}" for i in columns)


class _Outcome(threading.Thread):
    """A thread whose result, or error, is handed over."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._value: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._value = self._work()
        except BaseException as error:
            self._error = error

    def result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._value
