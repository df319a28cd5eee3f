"""Constants of a type in a database: looked up one by one, never listed in memory.

>>> from herbrand.relations.database import DuckDB
>>> with DuckDB() as database:
...     database.make("people", "SELECT * FROM (VALUES (0, 'anna'), (1, 'bob')) t(id, value)")
...     person = stored_domain("person", database, "people")
...     len(person), person.value(1), person.index_of("carl"), person.values_at([1, 0, 1])
(2, 'bob', None, ['bob', 'anna', 'bob'])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from herbrand.facts.column import ABSENT, Constants, Index, canonical
from herbrand.facts.domain import Domain, array_of
from herbrand.language.signature import Kind
from herbrand.language.syntax import Value
from herbrand.relations.database import Database

FETCHED_AT_ONCE = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class StoredDomain(Domain):
    """A domain whose ``table`` has a row (``id``, ``value``) for each constant, ids from 0; ``values`` is
    empty."""

    database: Database | None = None
    table: str = ""
    count: int = 0
    known_kind: Kind = "text"

    @cached_property
    def kind(self) -> Kind:
        return self.known_kind

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Value]:
        for start in range(0, self.count, FETCHED_AT_ONCE):
            yield from self.values_at(range(start, min(self.count, start + FETCHED_AT_ONCE)))

    def value(self, index: int) -> Value:
        if not 0 <= index < self.count:
            raise IndexError(f"{self.name} has {self.count} constants, none at {index}")
        return self.values_at([index])[0]

    def values_at(self, indices: Sequence[int] | npt.NDArray[np.integer]) -> list[Value]:
        numbers = np.asarray(indices, np.int64)
        unique, places = np.unique(numbers, return_inverse=True)
        values: list[Value] = []
        for start in range(0, len(unique), FETCHED_AT_ONCE):
            values += self._values(unique[start : start + FETCHED_AT_ONCE])
        return [values[place] for place in places.tolist()]

    def _values(self, ids: np.ndarray) -> list[Value]:
        """Constants of sorted ids."""
        assert self.database is not None
        if not len(ids):
            return []
        where = f"id BETWEEN {ids[0]} AND {ids[-1]}"
        if len(ids) < ids[-1] - ids[0] + 1:
            where = f"id IN ({', '.join(map(str, ids.tolist()))})"
        rows = self.database.rows(f"SELECT value FROM {self.table} WHERE {where} ORDER BY id")
        return [canonical(value) for (value,) in rows]

    def at(self, indices: Sequence[int] | npt.NDArray[np.integer]) -> Constants:
        return Constants(array_of(self.values_at(indices)))

    def index_of(self, value: Value) -> int | None:
        assert self.database is not None
        if isinstance(value, str) != (self.kind == "text"):
            return None
        rows = self.database.rows(f"SELECT id FROM {self.table} WHERE value = {constant(value)}")
        return rows[0][0] if rows else None

    def index_by_table(self, value: Value) -> int | None:
        return self.index_of(value)

    def indices_of(self, values: Sequence[Value] | pa.Array) -> Index:
        indices = [self.index_of(value) for value in pa.array(values).to_pylist()]
        return np.array([ABSENT if index is None else index for index in indices], np.int32)


def stored_domain(name: str, database: Database, table: str, kind: Kind = "text") -> StoredDomain:
    """The domain of a table of constants."""
    count = database.number(f"SELECT COUNT(*) FROM {table}")
    return StoredDomain(name, pa.array([], pa.large_string()), True, database, table, count, kind)


def constant(value: Value) -> str:
    """The constant as SQL."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value) if isinstance(value, int) else f"CAST('{value!r}' AS DOUBLE)"
