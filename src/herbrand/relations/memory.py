"""Relations in memory, with a NumPy array for each column.

Joins and groups number the distinct values of each column that is not of whole numbers, and combine the
numbers of a row to one key by :mod:`herbrand.row_keys`. Keys of a small range index arrays directly; others
are hashed. The rows of a join are counted, and their bytes claimed, before any is made.

>>> from herbrand.relations.fold import total
>>> Memory.of(a=[1, 1, 2], w=[0.5, 0.25, 1.0]).group(["a"], w=total(column("w"))).rows()
[(1, 0.75), (2, 1.0)]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np

from herbrand.budget import UNLIMITED
from herbrand.errors import HerbrandError
from herbrand.relations.expression import (
    DTYPES,
    Array,
    Expression,
    Kinds,
    column,
    evaluated,
    kind_of,
    kind_of_array,
)
from herbrand.relations.fold import Fold, folded
from herbrand.relations.relation import Relation, checked_name
from herbrand.row_keys import (
    LARGEST_KEY,
    SPREAD,
    Places,
    ascend,
    each_in,
    numbered,
    row_keys,
    row_pointers,
    run_starts,
    stable_order,
)

__all__ = ["Memory", "column"]

SMALL_RANGE = 1024
"""Size of a key range that indexes an array however few the keys are."""


AT_ONCE = 1 << 22
"""Rows of a join that are made before the clock is asked again: half a second of work."""


class Allowance(Protocol):
    """Budget of joins: checks the time, and claims the bytes of rows before they are made."""

    def check(self) -> None: ...

    def claim_rows(self, rows: int, columns: int, what: str) -> None: ...


@dataclass(frozen=True, eq=False)
class Indices(Mapping[str, Array]):
    """Columns of a narrow integer table, each widened to 64 bits when it is first read, as rules read few
    of the columns that facts have. ``places``: place of each column in the table; ``made``: the widened
    columns by place."""

    rows: Array
    places: Mapping[str, int]
    made: dict[int, Array]

    def __getitem__(self, name: str) -> Array:
        place = self.places[name]
        if place not in self.made:
            self.made[place] = self.rows[:, place].astype(np.int64)
        return self.made[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def called(self, names: Mapping[str, str]) -> Indices:
        """A choice of the columns under new names: ``names[new]`` is the old one."""
        return replace(self, places={new: self.places[old] for new, old in names.items()})


@dataclass(frozen=True, eq=False)
class Memory(Relation):
    """Relation in memory. ``data``: columns of equal length ``length``; ``budget``: limits of joins."""

    data: Mapping[str, Array]
    length: int
    budget: Allowance = UNLIMITED

    @classmethod
    def of(cls, budget: Allowance = UNLIMITED, **columns: Any) -> Memory:
        """Relation of arrays or lists of whole numbers, floats, truth values or texts."""
        data = {checked_name(name): _column(name, values) for name, values in columns.items()}
        lengths = {len(values) for values in data.values()}
        if len(lengths) > 1:
            raise HerbrandError(f"columns of one relation have one length, not {sorted(lengths)}")
        return cls(data, lengths.pop() if lengths else 0, budget)

    @classmethod
    def numbers(cls, name: str, count: int) -> Memory:
        """Relation of the numbers from 0 up to ``count`` in a column of this name."""
        return cls({checked_name(name): np.arange(count)}, count)

    @classmethod
    def of_indices(cls, rows: Array, names: Sequence[str], budget: Allowance = UNLIMITED) -> Memory:
        """Relation of rows of whole numbers, [row, column], with columns of these names.

        >>> Memory.of_indices(np.array([[1, 2], [3, 4]], np.int32), ["a", "b"]).select(c=column("b")).rows()
        [(2,), (4,)]
        """
        places = {checked_name(name): place for place, name in enumerate(names)}
        return cls(Indices(rows, places, {}), len(rows), budget)

    @cached_property
    def kinds(self) -> Kinds:  # type: ignore[override]
        if isinstance(self.data, Indices):
            return dict.fromkeys(self.data, "int")
        return {name: kind_of_array(values) for name, values in self.data.items()}

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.data)

    def arrays(self) -> dict[str, Array]:
        return dict(self.data)

    def kept(self) -> Self:
        return self

    def count(self) -> int:
        return self.length

    def _joined(self, other: Any, on: tuple[str, ...], otherwise: Mapping[str, Any] | None) -> Self:
        matches = _Matches.of(*_keys_together(self, other, on))
        length = matches.count(otherwise is not None)
        width = len(self.data) + len(other.data) - len(on) + 1
        self.budget.claim_rows(length, width, "a join")
        self.budget.check()
        if length > AT_ONCE and otherwise is None and matches.counts is not None:
            return self._with(self._in_pieces(matches, other, on, length), length)
        return self._with(self._pairs(matches, other, on, otherwise, length), length)

    def _in_pieces(self, matches: _Matches, other: Any, on: tuple[str, ...], length: int) -> dict[str, Array]:
        """Columns of a long join, piece by piece, as the clock is asked between pieces."""
        columns: dict[str, Array] = {}
        at = 0
        for part in matches.parts(AT_ONCE):
            self.budget.check()
            own = self._with(
                {name: values[part] for name, values in self.data.items()}, part.stop - part.start
            )
            some = matches.only(part)
            made = some.count(False)
            for name, values in own._pairs(some, other, on, None, made).items():
                whole = columns.setdefault(name, np.empty(length, values.dtype))
                whole[at : at + made] = values
            at += made
        return columns

    def _pairs(
        self,
        matches: _Matches,
        other: Any,
        on: tuple[str, ...],
        otherwise: Mapping[str, Any] | None,
        length: int,
    ) -> dict[str, Array]:
        """Columns of the matching pairs of rows."""
        left, at, missing = matches.rows(otherwise is not None)
        columns = {name: values[left] for name, values in self.data.items()}
        added = [name for name in other.data if name not in on]
        if added:
            right = matches.places(at if missing is None else np.minimum(at, other.length - 1))
            for name in added:
                values = other.data[name][right] if other.length else None
                columns[name] = _filled(
                    values, missing, (otherwise or {}).get(name), length, other.data[name]
                )
        return columns

    def _filtered(self, other: Any, on: tuple[str, ...], present: bool) -> Self:
        mine, theirs, size = _keys_together(self, other, on)
        if _indexes(size, len(mine) + len(theirs)):
            there = np.zeros(size, bool)
            there[theirs] = True
            kept = there[mine] == present
        else:
            kept = (Places(theirs).of(mine) >= 0) == present
        return self if kept.all() else self._taken(kept)

    def _grouped(self, by: tuple[str, ...], folds: Mapping[str, Fold]) -> Self:
        (keys,), size = _keys([[self.data[name]] for name in by], [self.length])
        first, groups = _groups(keys, size) if folds else (_one_of_each(keys, size), keys)
        self.budget.check()
        columns = {name: self.data[name][first] for name in by}
        for name, fold in folds.items():
            columns[name] = folded(fold, self.data, groups, len(first))
        return self._with(columns, len(first))

    def _computed(self, columns: Mapping[str, Expression]) -> Self:
        names = {name: one.arguments[0] for name, one in columns.items() if one.operation == "column"}
        if isinstance(self.data, Indices) and len(names) == len(columns):
            return self._with(self.data.called(names), self.length)
        return self._with(
            {name: self._values(expression) for name, expression in columns.items()}, self.length
        )

    def _values(self, expression: Expression) -> Array:
        if expression.operation == "column" and expression.arguments[0] in self.data:
            return self.data[expression.arguments[0]]
        kind = kind_of(expression, self.kinds)
        return evaluated(expression, self.data, self.length).astype(DTYPES[kind], copy=False)

    def _selected(self, condition: Expression) -> Self:
        return self._taken(evaluated(condition, self.data, self.length))

    def _stacked(self, others: Sequence[Any]) -> Self:
        parts = (self, *others)
        length = sum(part.length for part in parts)
        self.budget.claim_rows(length, len(self.data), "a relation")
        return self._with(
            {name: np.concatenate([part.data[name] for part in parts]) for name in self.data}, length
        )

    def _taken(self, kept: Array) -> Self:
        rows = np.flatnonzero(kept)
        return self._with({name: values[rows] for name, values in self.data.items()}, len(rows))

    def _with(self, data: Mapping[str, Array], length: int) -> Self:
        return type(self)(data, length, self.budget)


@dataclass(frozen=True, eq=False)
class _Matches:
    """Matching rows of a join. ``order``: right rows sorted by key, None if they already are; the matches
    of a left row are ``counts`` places from ``starts`` on. ``counts`` is None if each left row has
    exactly one match."""

    order: Array | None
    starts: Array
    counts: Array | None

    @classmethod
    def of(cls, left: Array, right: Array, size: int) -> _Matches:
        """Match keys below ``size``."""
        if not _indexes(size, len(left) + len(right)):
            places = Places(right)
            known, right = numbered(places.like, len(right))
            at, size = places.of(left), len(known) + 1
            left = np.where(at >= 0, right[at], len(known)) if len(known) else np.zeros_like(left)
        ordered = ascend(right)
        if ordered and len(right) == size and (right == np.arange(size)).all():
            return cls(None, left, None)
        bounds = row_pointers(right, size)
        starts = bounds[left]
        counts = bounds[left + 1] - starts
        return cls(
            None if ordered else stable_order(right, size), starts, None if (counts == 1).all() else counts
        )

    def count(self, every: bool) -> int:
        """Number of pairs; if ``every``, left rows without a match count once."""
        if self.counts is None:
            return len(self.starts)
        return int((np.maximum(self.counts, 1) if every else self.counts).sum())

    def parts(self, most: int) -> Iterator[slice]:
        """Consecutive left rows of ``most`` pairs together, or one row of more."""
        assert self.counts is not None
        ends = np.cumsum(self.counts)
        start, before = 0, 0
        while start < len(ends):
            stop = max(start + 1, int(np.searchsorted(ends, before + most, "right")))
            yield slice(start, stop)
            start, before = stop, int(ends[stop - 1])

    def only(self, part: slice) -> _Matches:
        """The matches of some left rows."""
        return replace(
            self, starts=self.starts[part], counts=None if self.counts is None else self.counts[part]
        )

    def rows(self, every: bool) -> tuple[Array | slice, Array, Array | None]:
        """Left row of each pair, the place of its right row in the order, and whether it has no match (None
        if all have one or ``every`` is false). If ``every``, left rows without a match occur once."""
        if self.counts is None:
            return slice(None), self.starts, None
        counts = np.maximum(self.counts, 1) if every else self.counts
        left, at = each_in(self.starts, counts)
        return left, at, (self.counts == 0)[left] if every else None

    def places(self, at: Array) -> Array:
        """Right rows at these places of the order."""
        return at if self.order is None else self.order[at]


def _indexes(size: int, count: int) -> bool:
    """Whether ``count`` keys below ``size`` are dense enough to index an array of that size."""
    return size <= SMALL_RANGE + SPREAD * count


def _keys_together(left: Memory, right: Memory, on: tuple[str, ...]) -> tuple[Array, Array, int]:
    """Keys of both relations' rows, equal where the columns are, and a bound that they are below."""
    columns = [[left.data[name], right.data[name]] for name in on]
    (mine, theirs), size = _keys(columns, [left.length, right.length])
    return mine, theirs, size


def _keys(columns: Sequence[Sequence[Array]], counts: Sequence[int]) -> tuple[list[Array], int]:
    """Key of each row of some relations, equal where all columns are, and a bound that they are below.
    ``columns``: for each column its values in each relation; ``counts``: number of rows of each relation."""
    if not columns:
        return [np.zeros(count, np.int64) for count in counts], 1
    keys, size = _numbered(columns[0])
    for values in columns[1:]:
        codes, own = _numbered(values)
        if size * own > LARGEST_KEY:
            (keys, size), (codes, own) = _closer(keys), _closer(codes)
        keys = [row_keys(pair, [size, own]) for pair in zip(keys, codes, strict=True)]
        size *= own
    return keys, size


def _numbered(parts: Sequence[Array]) -> tuple[list[Array], int]:
    """Codes of the values from 0 up, equal where the values are, and a bound that they are below."""
    if parts[0].dtype == np.bool_:
        return [values.astype(np.int64) for values in parts], 2
    if parts[0].dtype == np.int64:
        ends = [(int(values.min()), int(values.max())) for values in parts if len(values)]
        low, high = min((x for x, _ in ends), default=0), max((x for _, x in ends), default=0)
        if high - low < LARGEST_KEY:
            return [values - low if low else values for values in parts], high - low + 1
        return _closer(parts)
    if parts[0].dtype == np.float64:
        whole = np.concatenate(parts) + 0.0  # turns -0.0 into 0.0
        whole[np.isnan(whole)] = np.nan
        return _apart(*_closer([whole.view(np.int64)]), parts)
    known, codes = np.unique(np.concatenate(parts), return_inverse=True)
    return _apart([codes.reshape(-1).astype(np.int64)], len(known), parts)


def _closer(parts: Sequence[Array]) -> tuple[list[Array], int]:
    """Codes of whole numbers, equal where these are and below the number of rows, and a bound on them."""
    whole = np.concatenate(parts)
    known, codes = numbered(Places(whole).like, len(whole))
    return _apart([codes.astype(np.int64)], len(known), parts)


def _apart(whole: Sequence[Array], size: int, parts: Sequence[Array]) -> tuple[list[Array], int]:
    """Codes of all rows split into those of each part, with their bound."""
    return np.split(whole[0], np.cumsum([len(part) for part in parts[:-1]])), size


def _one_of_each(keys: Array, size: int) -> Array:
    """One row of each group."""
    if ascend(keys):
        return run_starts(keys)
    if not _indexes(size, len(keys)):
        like = Places(keys).like
        return np.flatnonzero(like == np.arange(len(keys)))
    places = np.arange(len(keys), dtype=np.int32 if len(keys) < 2**31 else np.int64)
    rows = np.full(size, -1, places.dtype)
    rows[keys] = places
    return rows[rows >= 0]


def _groups(keys: Array, size: int) -> tuple[Array, Array]:
    """One row of each group, and the number of each row's group."""
    if ascend(keys):
        first = run_starts(keys)
        return first, np.repeat(np.arange(len(first)), np.diff(first, append=len(keys)))
    if not _indexes(size, len(keys)):
        return numbered(Places(keys).like, len(keys))
    known, groups = numbered(keys, size)
    first = np.empty(len(known), np.int64)
    first[groups] = np.arange(len(keys))
    return first, groups


def _filled(values: Array | None, missing: Array | None, value: Any, length: int, like: Array) -> Array:
    """Values of the other relation in a join's rows, with ``value`` where there is no match."""
    if values is None:
        return np.full(length, value, dtype=like.dtype) if missing is not None else like[:0]
    if missing is None or not missing.any():
        return values
    values[missing] = value
    return values


def _column(name: str, values: Any) -> Array:
    """Convert values to a column; raise for kinds that relations do not have, None among them."""
    array = np.asarray(values)
    if array.dtype.kind == "O" or array.dtype.kind == "U":
        listed = array.tolist()
        if not all(isinstance(value, str) for value in listed):
            raise HerbrandError(
                f"the column '{name}' holds values of several kinds, or none: relations have no nulls"
            )
        array = np.array(listed, dtype=DTYPES["text"])
    if array.ndim != 1:
        raise HerbrandError(f"the column '{name}' has {array.ndim} dimensions")
    if not len(array) and isinstance(values, list):
        raise HerbrandError(f"the column '{name}' of no values has no kind", hint="give an array")
    if array.dtype == np.uint64 and array.max(initial=0) > np.iinfo(np.int64).max:
        raise HerbrandError(f"the column '{name}' holds numbers that do not fit in 64 bits")
    return array.astype(DTYPES[kind_of_array(array)], copy=False)
