"""Relations in a database: each is a query, run when :meth:`kept` makes a scratch table or its data are read.

A :class:`Scratch` names the tables, and drops each as soon as no relation reads it any more, and all of them
when it is closed. A database spills to its disk what does not fit in its memory, within the limits that it
was opened with.

>>> from herbrand.relations.database import DuckDB
>>> from herbrand.relations.fold import total
>>> with DuckDB() as database, Scratch(database) as scratch:
...     links = scratch.put(Memory.of(a=[1, 1, 2], w=[0.5, 0.25, 1.0]))
...     links.group(["a"], w=total(column("w"))).rows()
[(1, 0.75), (2, 1.0)]
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa

from herbrand.relations.dialects import Dialect
from herbrand.relations.expression import (
    DTYPES,
    Array,
    Expression,
    Kind,
    Kinds,
    column,
    kind_of,
    written,
    written_value,
)
from herbrand.relations.fold import FOLDS, Fold
from herbrand.relations.memory import Memory
from herbrand.relations.relation import Relation, checked_name

__all__ = ["Memory", "Scratch", "Stored", "StoredTables", "column"]

NO_COLUMNS = "1 AS no_columns"
ARROW: Mapping[Kind, pa.DataType] = {
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "text": pa.string(),
}
PYTHON: Mapping[Kind, type] = {"int": int, "float": float, "bool": bool, "text": str}


class StoredTables(Protocol):
    """Methods of a database that stored relations use."""

    @property
    def dialect(self) -> Dialect: ...
    def make(self, table: str, query: str, temporary: bool = False) -> None: ...
    def put(self, table: str, data: pa.Table, temporary: bool = False) -> None: ...
    def arrow(self, query: str) -> pa.Table: ...
    def rows(self, query: str) -> list[tuple[Any, ...]]: ...
    def drop(self, table: str) -> None: ...


@dataclass(eq=False)
class Scratch:
    """Scratch tables of one run in a database; their names begin with ``prefix``. ``temporary``: only this
    connection reads them, which makes many small ones much faster."""

    database: StoredTables
    prefix: str = "relation"
    temporary: bool = False
    _made: int = 0
    _unread: list[str] = field(default_factory=list)
    _alive: set[str] = field(default_factory=set)

    def table(self, name: str, /, **kinds: Kind) -> Stored:
        """Relation of an existing table, which stays; none of its values is null."""
        return self.query(f"SELECT * FROM {name}", kinds)

    def query(self, query: str, kinds: Kinds) -> Stored:
        """Relation of a query in this database's own SQL; none of its values is null."""
        dialect = self.database.dialect
        names = ", ".join(dialect.quoted(checked_name(name)) for name in kinds) or NO_COLUMNS
        return Stored(self, f"SELECT {names} FROM ({query}) q", dict(kinds))

    def numbers(self, name: str, count: int) -> Stored:
        """Relation of the numbers from 0 up to ``count`` in a column of this name."""
        source = self.database.dialect.numbers.format(count=count)
        return self.query(f"SELECT i AS {name} FROM {source} n", {name: "int"})

    def put(self, rows: Memory) -> Stored:
        """Copy rows from memory to a scratch table."""
        arrays = {
            name: pa.array(_listed(values), ARROW[rows.kinds[name]]) for name, values in rows.data.items()
        }
        name = self._next()
        self.database.put(
            name, pa.table(arrays or {"no_columns": np.ones(rows.length, np.int64)}), self.temporary
        )
        return self._read(name, rows.kinds)

    def make(self, query: str, kinds: Kinds) -> Stored:
        """Create a scratch table of a query's rows."""
        name = self._next()
        self.database.make(name, query, self.temporary)
        return self._read(name, kinds)

    def close(self) -> None:
        """Drop every table that is left."""
        for name in sorted(self._alive):
            self.database.drop(name)
        self._alive.clear()
        self._unread.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _next(self) -> str:
        """Name for a new table; drops the tables that no relation reads any more. They are dropped here, not
        when Python frees a relation, which may be while the database is busy."""
        while self._unread:
            name = self._unread.pop()
            if name in self._alive:
                self._alive.remove(name)
                self.database.drop(name)
        self._made += 1
        name = f"{self.prefix}_{self._made}"
        self._alive.add(name)
        return name

    def _read(self, name: str, kinds: Kinds) -> Stored:
        hold = _Hold(name)
        weakref.finalize(hold, self._unread.append, name).atexit = False
        names = ", ".join(map(self.database.dialect.quoted, kinds)) or NO_COLUMNS
        return Stored(self, f"SELECT {names} FROM {name}", dict(kinds), (hold,))


@dataclass(frozen=True, eq=False)
class _Hold:
    """Reference to a scratch table, which lives as long as some relation holds it."""

    table: str


@dataclass(frozen=True, eq=False)
class Stored(Relation):
    """Relation in a database. ``text``: its query; ``holds``: the scratch tables that the query reads."""

    scratch: Scratch
    text: str
    kinds: Kinds
    holds: tuple[_Hold, ...] = ()

    def kept(self) -> Self:
        return self.scratch.make(self.text, self.kinds)  # type: ignore[return-value]

    def kept_as(self, table: str) -> Self:
        """Store the rows in a table of this name that stays: a checkpoint."""
        self.scratch.database.make(table, self.text)
        return self._with(f"SELECT * FROM {table}", self.kinds, ())

    def arrays(self) -> dict[str, Array]:
        table = self.scratch.database.arrow(self.text)
        return {name: _array(table[name], kind) for name, kind in self.kinds.items()}

    def rows(self) -> list[tuple[Any, ...]]:
        """Rows as Python's own values, sorted. A database plans a query twice to give arrays."""
        found = self.scratch.database.rows(self.text)
        if not self.kinds:
            return [()] * len(found)
        kinds = [PYTHON[kind] for kind in self.kinds.values()]
        return sorted(tuple(own(value) for own, value in zip(kinds, row, strict=True)) for row in found)

    def memory(self) -> Memory:
        """Read the rows into memory."""
        return Memory(self.arrays(), self.count())

    @property
    def _dialect(self) -> Dialect:
        return self.scratch.database.dialect

    def _name(self, name: str, side: str = "") -> str:
        return f"{side}{self._dialect.quoted(name)}"

    def _joined(self, other: Any, on: tuple[str, ...], otherwise: Mapping[str, Any] | None) -> Self:
        chosen = [f"{self._name(name, 'l.')} AS {self._name(name)}" for name in self.kinds]
        added = {name: kind for name, kind in other.kinds.items() if name not in on}
        right = other.text
        if otherwise is not None:
            right = f"SELECT *, TRUE AS matched FROM ({right}) m"
        for name in added:
            value = self._name(name, "r.")
            if otherwise is not None:
                constant = written_value(otherwise[name], self._dialect)
                value = f"CASE WHEN r.matched THEN {value} ELSE {constant} END"
            chosen.append(f"{value} AS {self._name(name)}")
        matches = self._matches(on)
        how = "LEFT JOIN" if otherwise is not None else "JOIN" if on else "CROSS JOIN"
        condition = f" ON {matches or 'TRUE'}" if how != "CROSS JOIN" else ""
        query = f"SELECT {_list(chosen)} FROM ({self.text}) l {how} ({right}) r{condition}"
        return self._with(query, dict(self.kinds) | added, (*self.holds, *other.holds))

    def _filtered(self, other: Any, on: tuple[str, ...], present: bool) -> Self:
        matches = self._matches(on) or "TRUE"
        exists = f"{'' if present else 'NOT '}EXISTS (SELECT 1 FROM ({other.text}) r WHERE {matches})"
        return self._with(
            f"SELECT * FROM ({self.text}) l WHERE {exists}", self.kinds, (*self.holds, *other.holds)
        )

    def _matches(self, on: Sequence[str]) -> str:
        return " AND ".join(f"{self._name(name, 'r.')} = {self._name(name, 'l.')}" for name in on)

    def _grouped(self, by: tuple[str, ...], folds: Mapping[str, Fold]) -> Self:
        names = [self._name(name) for name in by]
        source, chosen = f"({self.text}) g", list(names)
        kinds: dict[str, Kind] = {name: self.kinds[name] for name in by}
        peaks = []
        for place, (name, fold) in enumerate(folds.items()):
            kinds[name] = fold.kind(self.kinds)
            meaning, value = FOLDS[fold.name], written(fold.of, self.kinds, self._dialect)
            peak = f"peak_{place}"
            if meaning.peaked:
                over = f"PARTITION BY {', '.join(names)}" if names else ""
                peaks.append(f"MAX({value}) OVER ({over}) AS {peak}")
            phrase = meaning.sql.format(value, peak)
            # The sum of BIGINTs is wider in DuckDB; a cast refuses what does not fit in 64 bits.
            phrase = f"CAST({phrase} AS BIGINT)" if kinds[name] == "int" else phrase
            chosen.append(f"{phrase} AS {self._name(name)}")
        if peaks:
            source = f"(SELECT *, {', '.join(peaks)} FROM {source}) p"
        groups = f"GROUP BY {', '.join(names)}" if names else "HAVING COUNT(*) > 0"
        chosen = chosen or ["COUNT(*) AS no_columns"]
        return self._with(f"SELECT {', '.join(chosen)} FROM {source} {groups}", kinds, self.holds)

    def _computed(self, columns: Mapping[str, Expression]) -> Self:
        kinds: dict[str, Kind] = {
            name: kind_of(expression, self.kinds) for name, expression in columns.items()
        }
        chosen = [
            f"{written(expression, self.kinds, self._dialect)} AS {self._name(name)}"
            for name, expression in columns.items()
        ]
        return self._with(f"SELECT {_list(chosen)} FROM ({self.text}) s", kinds, self.holds)

    def _selected(self, condition: Expression) -> Self:
        text = written(condition, self.kinds, self._dialect)
        return self._with(f"SELECT * FROM ({self.text}) s WHERE {text}", self.kinds, self.holds)

    def _stacked(self, others: Sequence[Any]) -> Self:
        names = _list([self._name(name) for name in self.kinds])
        parts = (f"SELECT {names} FROM ({part.text}) u" for part in (self, *others))
        holds = [hold for part in (self, *others) for hold in part.holds]
        return self._with(" UNION ALL ".join(parts), self.kinds, tuple(holds))

    def _with(self, text: str, kinds: Kinds, holds: tuple[_Hold, ...]) -> Self:
        return type(self)(self.scratch, text, dict(kinds), tuple(dict.fromkeys(holds)))


def _list(chosen: Sequence[str]) -> str:
    return ", ".join(chosen) or NO_COLUMNS


def _listed(values: Array) -> Any:
    """Column as Arrow reads it: Arrow does not know NumPy's strings of variable width."""
    return values.tolist() if values.dtype.kind == "T" else values


def _array(values: pa.ChunkedArray, kind: Kind) -> Array:
    if kind == "text":
        return np.array(values.to_pylist(), dtype=DTYPES[kind])
    return values.to_numpy().astype(DTYPES[kind], copy=False)
