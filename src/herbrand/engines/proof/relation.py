"""The stated facts of one predicate as columns, and their indexes: compressed rows for any bound columns.

An index is made when a plan first needs it and kept with the relation.

>>> relation = IndexedFacts((np.array([0, 0, 1], np.int32), np.array([1, 2, 2], np.int32)), (3, 3), 3)
>>> by_second = relation.index((1,))
>>> by_second.pointers.tolist(), by_second.column(0).tolist()
([0, 0, 1, 3], [0, 0, 1])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from herbrand.facts.facts import FactTable
from herbrand.row_keys import (
    Keys,
    Places,
    fit,
    places_among,
    row_keys,
    row_pointers,
    run_starts,
    stable_order,
)


@dataclass(frozen=True, eq=False)
class IndexedFacts:
    """Distinct rows of constants' indices, a column each. ``weights`` and ``probabilities`` may be ``None``:
    all 1. Rows of soft evidence come last and weigh their probability."""

    columns: tuple[np.ndarray, ...]
    sizes: tuple[int, ...]
    count: int
    weights: np.ndarray | None = None
    is_sorted: bool = True
    _indexes: dict[tuple[int, ...], Index] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, table: FactTable, sizes: tuple[int, ...]) -> IndexedFacts:
        """The facts that hold, and the soft ones that are not known to be true or false, with their
        probability as their weight."""
        rows, weights = table.true, table.weights
        possible = table.probabilities > 0
        known = np.concatenate([rows, table.false])
        if possible.any() and len(known):
            soft, stated = (row_keys(list(part.T), sizes, len(part)) for part in (table.soft, known))
            possible &= ~np.isin(soft, stated)
        if possible.any():
            certain = np.ones(len(rows)) if weights is None else weights
            rows = np.concatenate([rows, table.soft[possible]])
            weights = np.concatenate([certain, table.probabilities[possible]])
        columns = tuple(np.ascontiguousarray(rows[:, place]) for place in range(len(sizes)))
        return cls(columns, sizes, len(rows), weights, not possible.any())

    def index(self, bound: tuple[int, ...]) -> Index:
        """The rows by the values of some columns, in ascending places."""
        if bound not in self._indexes:
            self._indexes[bound] = Index.of(self, bound)
        return self._indexes[bound]

    def fanout(self, bound: Sequence[int]) -> float:
        """About how many rows there are for one choice of the bound columns."""
        return self.count / max(1.0, float(np.prod([max(1, self.sizes[place]) for place in bound])))


@dataclass(frozen=True, eq=False)
class _Runs:
    """Where the rows of each different key begin and how many they are; at the end, no rows of no key."""

    find: Callable[[Keys], np.ndarray]
    starts: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, keys: Keys) -> _Runs:
        """Of sorted keys."""
        starts = run_starts(keys)
        known, lengths = keys[starts], np.diff(starts, append=len(keys))
        find = Places(known).of if known.dtype == np.int64 else partial(places_among, known)
        return cls(find, np.append(starts, 0), np.append(lengths, 0))


@dataclass(frozen=True, eq=False)
class Index:
    """Rows in the order of the bound columns. One bound column: ``pointers`` by its value; else ``keys``."""

    relation: IndexedFacts
    bound: tuple[int, ...]
    order: np.ndarray | None
    pointers: np.ndarray
    keys: Keys | None
    _kept: dict[object, np.ndarray | None] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, relation: IndexedFacts, bound: tuple[int, ...]) -> Index:
        columns = [relation.columns[place] for place in bound]
        in_order = relation.is_sorted and bound == tuple(range(len(bound)))
        if len(bound) == 0:
            return cls(relation, bound, None, np.array([0, relation.count]), None)
        if len(bound) == 1:
            size = relation.sizes[bound[0]]
            order = None if in_order else stable_order(columns[0], size)
            return cls(relation, bound, order, row_pointers(columns[0], size), None)
        keys = row_keys(columns, [relation.sizes[place] for place in bound])
        sizes = [max(1, relation.sizes[place]) for place in bound]
        order = None if in_order else stable_order(keys, math.prod(sizes))
        keys = keys if order is None else keys[order]
        return cls(relation, bound, order, np.empty(0, np.int64), keys)

    def column(self, place: int) -> np.ndarray:
        """A column of the relation, rows in this index's order."""
        return self._in_order(("column", place), self.relation.columns[place])

    def in_order(self, name: object, values: np.ndarray | None) -> np.ndarray | None:
        """Numbers of the rows, put into this index's order and kept under a name."""
        return None if values is None else self._in_order(("numbers", name), values)

    def ranges(self, columns: Sequence[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
        """Where the rows begin for each of ``count`` choices of the bound columns, and how many there are."""
        if not self.bound:
            return np.zeros(count, np.int64), np.full(count, self.relation.count)
        if self.keys is None:
            first = self.pointers[columns[0]]
            return first, self.pointers[columns[0] + 1] - first
        wanted = row_keys(columns, [self.relation.sizes[place] for place in self.bound])
        if self._cases <= max(len(wanted), len(self.keys)):
            first = self._key_pointers[wanted]
            return first, self._key_pointers[wanted + 1] - first
        runs = self._runs
        at = runs.find(wanted)
        return runs.starts[at], runs.lengths[at]

    @cached_property
    def _runs(self) -> _Runs:
        assert self.keys is not None
        return _Runs.of(self.keys)

    @cached_property
    def _cases(self) -> float:
        """How many keys there can be; infinite where keys are no numbers."""
        sizes = [self.relation.sizes[place] for place in self.bound]
        return math.prod(max(1, size) for size in sizes) if fit(sizes) else math.inf

    @cached_property
    def _key_pointers(self) -> np.ndarray:
        """Where the rows of each key begin: a search for each of many keys in no order misses the cache."""
        assert self.keys is not None
        return row_pointers(self.keys, int(self._cases))

    def entries(self, places: np.ndarray) -> np.ndarray:
        """The relation's own rows at places of this index."""
        return places if self.order is None else self.order[places]

    @cached_property
    def is_unary(self) -> bool:
        """One bound column of two or fewer, so that kernels over compressed rows apply."""
        return self.keys is None and len(self.bound) == 1

    def _in_order(self, name: object, values: np.ndarray) -> np.ndarray:
        if name not in self._kept:
            self._kept[name] = values if self.order is None else np.ascontiguousarray(values[self.order])
        kept = self._kept[name]
        assert kept is not None
        return kept
