"""Tables of many worlds: objects are numbered across worlds, and no tuple joins two worlds.

>>> database = Database.of([World(3, {"edge": [(0, 1), (1, 2)]}), World(2, {"edge": [(0, 1)]})])
>>> database.tables["edge"].tolist(), database.world_of.tolist()
([[0, 1], [1, 2], [3, 4]], [0, 0, 0, 1, 1])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from herbrand.induction.order import order_of
from herbrand.induction.task import Sample, Task
from herbrand.language.syntax import Value
from herbrand.row_keys import Keys, by_number, row_keys

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class World:
    """A world of ``objects``, numbered from 0, with the tuples that hold of each predicate. ``constants`` and
    ``types``: the constant of each object and its declared type; empty if they have none."""

    objects: int
    facts: Mapping[str, Sequence[tuple[int, ...]] | Rows]
    constants: Sequence[Value] = ()
    types: Sequence[str | None] = ()


@dataclass(frozen=True, eq=False)
class Database:
    """Tables of many worlds. ``tables``: rows of object numbers by predicate, a world's number for a
    predicate without arguments.

    ``starts``: where the objects of each world begin, and the number of all objects last. ``constants``: the
    constant of each object, if objects have any; equal constants of different worlds are different objects.
    ``types``: the declared type of each object, if any has one.
    """

    tables: Mapping[str, Rows]
    arities: Mapping[str, int]
    starts: Rows
    constants: Sequence[Value] = ()
    types: Sequence[str | None] = ()
    _indices: dict[tuple[str, int], tuple[Rows, Rows]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, worlds: Sequence[World]) -> Database:
        starts = np.cumsum([0, *(world.objects for world in worlds)])
        parts: dict[str, list[Rows]] = {}
        arities: dict[str, int] = {}
        for number, world in enumerate(worlds):
            for name, tuples in world.facts.items():
                rows = np.array(tuples, np.int64)
                parts.setdefault(name, [])
                if rows.ndim == 2:
                    arities[name] = rows.shape[1]
                if len(rows):
                    shifted = rows + starts[number] if rows.shape[1] else np.full((1, 1), number)
                    parts[name].append(shifted)
        tables = {
            name: np.concatenate(p) if p else np.empty((0, max(arities.get(name, 1), 1)), np.int64)
            for name, p in parts.items()
        }
        constants = [value for world in worlds for value in world.constants]
        types = [name for world in worlds for name in world.types]
        return cls(tables, {name: arities.get(name, 1) for name in tables}, starts, constants, types)

    @cached_property
    def _label_of(self) -> dict[tuple[bool, Value], int]:
        keys = dict.fromkeys((isinstance(value, str), value) for value in self.constants)
        return {key: number for number, key in enumerate(keys)}

    @cached_property
    def labels(self) -> Rows:
        """Number of each object's constant, which objects of equal constants share; -1 if objects have
        none."""
        if not self.constants:
            return np.full(self.size, -1)
        return np.array([self.label(value) for value in self.constants], np.int64)

    def label(self, value: Value) -> int:
        """Number of a constant; -2 if no object has it."""
        return self._label_of.get((isinstance(value, str), value), -2)

    @cached_property
    def numbers(self) -> npt.NDArray[np.float64]:
        """Position of each object's constant in the order of numbers, or of dates and times; else NaN."""
        if not self.constants:
            return np.full(self.size, np.nan)
        return np.array([order_of(value) for value in self.constants], float)

    @cached_property
    def numeric_types(self) -> dict[str, Rows]:
        """Objects of each declared type whose constants are ordered."""
        by_type: dict[str, list[int]] = {}
        for place in np.flatnonzero(~np.isnan(self.numbers)).tolist() if self.types else ():
            name = self.types[place]
            if name is not None:
                by_type.setdefault(name, []).append(place)
        return {name: np.array(places, np.int64) for name, places in by_type.items()}

    @cached_property
    def world_of(self) -> Rows:
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @property
    def size(self) -> int:
        return int(self.starts[-1])

    def with_table(self, name: str, rows: Rows, arity: int) -> Database:
        """The database with a predicate added or replaced."""
        tables, arities = {**self.tables, name: rows}, {**self.arities, name: arity}
        database = Database(tables, arities, self.starts, self.constants, self.types)
        database._indices.update((key, index) for key, index in self._indices.items() if key[0] != name)
        kept = ("world_of", "_label_of", "labels", "numbers", "numeric_types")
        database.__dict__.update((key, self.__dict__[key]) for key in kept if key in self.__dict__)
        return database

    def without(self, name: str) -> Database:
        """The database without a predicate."""
        tables = {other: rows for other, rows in self.tables.items() if other != name}
        arities = {other: self.arities[other] for other in tables}
        return Database(tables, arities, self.starts, self.constants, self.types)

    def by_column(self, name: str, column: int) -> tuple[Rows, Rows]:
        """``columns, offsets``, cached: a table sorted by one of its columns, and where the rows of each
        object begin."""
        key = (name, column)
        if key not in self._indices:
            self._indices[key] = _sorted(self.tables[name], self.tables[name][:, column], self.size)
        return self._indices[key]

    def by_world(self, name: str) -> tuple[Rows, Rows]:
        """``columns, offsets``, cached: a table sorted by world, and where the rows of each world begin."""
        key = (name, -1)
        if key not in self._indices:
            rows = self.tables[name]
            worlds = self.world_of[rows[:, 0]] if self.arities[name] else rows[:, 0]
            self._indices[key] = _sorted(rows, worlds, len(self.starts) - 1)
        return self._indices[key]

    def every_tuple(self, arity: int) -> Rows:
        """All tuples of objects of the same world; world numbers for arity 0."""
        if arity == 0:
            return np.arange(len(self.starts) - 1)[:, None]
        parts = []
        for start, end in zip(self.starts[:-1], self.starts[1:], strict=True):
            axes = np.meshgrid(*[np.arange(start, end)] * arity, indexing="ij")
            parts.append(np.stack([axis.ravel() for axis in axes], 1))
        return np.concatenate(parts) if parts else np.empty((0, arity), np.int64)

    def codes(self, rows: Rows) -> Keys:
        """Key of each row."""
        size = max(self.size, len(self.starts))
        return row_keys(list(rows.T), [size] * rows.shape[1], len(rows))


def _sorted(rows: Rows, numbers: Rows, size: int) -> tuple[Rows, Rows]:
    """Columns of rows sorted by their ``numbers``, and where the rows of each number begin."""
    order, offsets = by_number(numbers, size)
    return np.ascontiguousarray(rows[order].T), offsets


def worlds_of(task: Task, sample: Sample) -> list[World]:
    """Worlds of a sample with named predicates, the target among them."""
    worlds = []
    for number in range(sample.worlds):
        facts: dict[str, Rows] = {}
        for arity, names in task.vocabulary.items():
            table = sample.predicates[arity][number].numpy() > 0.5
            for channel, name in enumerate(names):
                facts[name] = np.argwhere(table[..., channel])
        facts[task.target] = np.argwhere(sample.target[number].numpy() > 0.5)
        worlds.append(World(_objects(sample, number), facts))
    return worlds


def _objects(sample: Sample, number: int) -> int:
    if sample.present is not None:
        return int(sample.present[number].sum())
    return next(t.shape[1] for arity, t in sample.predicates.items() if arity)
