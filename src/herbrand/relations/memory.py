"""Relations in memory: a NumPy array a column.

Joins and groups number the different values of each column that has no whole numbers, and make one key of a
row's numbers by :mod:`herbrand.row_keys`. Keys of a small range index arrays directly; others are sorted. The
rows of a join are counted, and their bytes claimed, before any is made.

>>> from herbrand.relations.fold import total
>>> Memory.of(a=[1, 1, 2], w=[0.5, 0.25, 1.0]).group(["a"], w=total(column("w"))).rows()
[(1, 0.75), (2, 1.0)]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np

from herbrand.budget import UNLIMITED
from herbrand.errors import HerbrandError
from herbrand.relations.expression import (
    DTYPES,
    Array,
    Expression,
    Kind,
    Kinds,
    column,
    evaluated,
    kind_of,
    kind_of_array,
)
from herbrand.relations.fold import Fold, folded
from herbrand.relations.relation import Relation, checked_name
from herbrand.row_keys import each_in, fit, row_keys, run_lengths, runs_among

__all__ = ["Memory", "column"]

SPREAD = 4
"""Keys index an array directly where their range is at most this many times their number: above it the array
would cost more than sorting them."""
SMALL_RANGE = 1024


class Allowance(Protocol):
    """What joins may take: time, and the bytes of rows before they are made."""

    def check(self) -> None: ...

    def claim_rows(self, rows: int, columns: int, what: str) -> None: ...


@dataclass(frozen=True, eq=False)
class Memory(Relation):
    """``data``: the columns, of equal length ``length``; ``budget``: what joins may take."""

    data: Mapping[str, Array]
    length: int
    budget: Allowance = UNLIMITED

    @classmethod
    def of(cls, budget: Allowance = UNLIMITED, **columns: Any) -> Memory:
        """A relation of arrays or lists of whole numbers, floats, truth values or texts."""
        data = {checked_name(name): _column(name, values) for name, values in columns.items()}
        lengths = {len(values) for values in data.values()}
        if len(lengths) > 1:
            raise HerbrandError(f"columns of one relation have one length, not {sorted(lengths)}")
        return cls(data, lengths.pop() if lengths else 0, budget)

    @classmethod
    def numbers(cls, name: str, count: int) -> Memory:
        """The numbers from 0 up to ``count``, in a column of this name."""
        return cls({checked_name(name): np.arange(count)}, count)

    @classmethod
    def from_rows(cls, kinds: Mapping[str, Kind], rows: Sequence[Sequence[Any]]) -> Memory:
        """A relation of rows in the order of these columns."""
        data = {
            checked_name(name): np.array([row[place] for row in rows], dtype=DTYPES[kind])
            for place, (name, kind) in enumerate(kinds.items())
        }
        return cls(data, len(rows))

    @cached_property
    def kinds(self) -> Kinds:  # type: ignore[override]
        return {name: kind_of_array(values) for name, values in self.data.items()}

    def arrays(self) -> dict[str, Array]:
        return dict(self.data)

    def kept(self) -> Self:
        return self

    def count(self) -> int:
        return self.length

    def _joined(self, other: Any, on: tuple[str, ...], otherwise: Mapping[str, Any] | None) -> Self:
        if on:
            found = _Matches.of(*_keys_together(self, other, on))
        else:
            found = _Matches.of_all(self.length, other.length)
        counts = found.counts if otherwise is None else np.maximum(found.counts, 1)
        length = int(counts.sum())
        width = len(self.data) + len(other.data) - len(on) + 1
        self.budget.claim_rows(length, width, "a join")
        self.budget.check()
        if length == self.length and (counts == 1).all():
            left, at = slice(None), found.starts
        else:
            left, at = each_in(found.starts, counts)
        columns = {name: values[left] for name, values in self.data.items()}
        missing = None if otherwise is None else (found.counts == 0)[left]
        added = [name for name in other.data if name not in on]
        if added:
            right = found.order[np.minimum(at, len(found.order) - 1)] if len(found.order) else None
            for name in added:
                values = None if right is None else other.data[name][right]
                columns[name] = _filled(
                    values, missing, (otherwise or {}).get(name), length, other.data[name]
                )
        return self._with(columns, length)

    def _filtered(self, other: Any, on: tuple[str, ...], present: bool) -> Self:
        mine, theirs = _keys_together(self, other, on)
        return self._taken((_Matches.of(mine, theirs).counts > 0) == present)

    def _grouped(self, by: tuple[str, ...], folds: Mapping[str, Fold]) -> Self:
        keys, size = _keys([self.data[name] for name in by], self.length)
        first, groups = _groups(keys, size)
        self.budget.check()
        columns = {name: self.data[name][first] for name in by}
        for name, fold in folds.items():
            columns[name] = folded(fold, self.data, groups, len(first))
        return self._with(columns, len(first))

    def _computed(self, columns: Mapping[str, Expression]) -> Self:
        return self._with(
            {name: self._values(expression) for name, expression in columns.items()}, self.length
        )

    def _values(self, expression: Expression) -> Array:
        kind = kind_of(expression, self.kinds)
        if expression.operation == "column":
            return self.data[expression.arguments[0]]
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

    def _taken(self, rows: Array) -> Self:
        return self._with({name: values[rows] for name, values in self.data.items()}, int(rows.sum()))

    def _with(self, data: Mapping[str, Array], length: int) -> Self:
        return type(self)(data, length, self.budget)


@dataclass(frozen=True, eq=False)
class _Matches:
    """The right rows in the ``order`` of their keys; a left row's are ``counts`` from ``starts`` on."""

    order: Array
    starts: Array
    counts: Array

    @classmethod
    def of_all(cls, left: int, right: int) -> _Matches:
        """Every row matches."""
        return cls(np.arange(right), np.zeros(left, np.int64), np.full(left, right))

    @classmethod
    def of(cls, left: Array, right: Array) -> _Matches:
        ascends = bool((right[1:] >= right[:-1]).all())  # facts are sorted, and sorting takes longest
        order = np.arange(len(right)) if ascends else np.argsort(right, kind="stable")
        span = _span(left, right)
        if span is not None:
            bounds = np.concatenate([[0], np.cumsum(np.bincount(right, minlength=span))])
            return cls(order, bounds[left], bounds[left + 1] - bounds[left])
        ordered = right[order]
        return cls(order, *runs_among(ordered, left, run_lengths(ordered)))


def _span(left: Array, right: Array) -> int | None:
    """One more than the largest key, where keys may index an array."""
    if left.dtype != np.int64:
        return None
    span = 1 + max(int(left.max(initial=0)), int(right.max(initial=0)))
    return span if span <= SMALL_RANGE + SPREAD * (len(left) + len(right)) else None


def _keys_together(left: Memory, right: Memory, on: tuple[str, ...]) -> tuple[Array, Array]:
    """Keys of both relations' rows that are equal where the columns are."""
    both = [np.concatenate([left.data[name], right.data[name]]) for name in on]
    keys, _ = _keys(both, left.length + right.length)
    return keys[: left.length], keys[left.length :]


def _keys(columns: Sequence[Array], count: int) -> tuple[Array, int | None]:
    """One key a row, and a bound of them where they are whole numbers."""
    numbered = [_numbered(values) for values in columns]
    sizes = [size for _, size in numbered]
    keys = row_keys([codes for codes, _ in numbered], sizes, count)
    return keys, int(np.prod([1, *map(int, sizes)], dtype=object)) if fit(sizes) else None


def _numbered(values: Array) -> tuple[Array, int]:
    """The values as whole numbers from 0 up that are equal where they are, and a bound of these."""
    if values.dtype == np.int64 and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < 2**62:
            return (values - low if low else values), high - low + 1
    if values.dtype == np.bool_:
        return values.astype(np.int64), 2
    known, codes = np.unique(values, return_inverse=True)
    return codes.reshape(-1).astype(np.int64), len(known)


def _groups(keys: Array, size: int | None) -> tuple[Array, Array]:
    """A row of each group, by rising keys, and the number of each row's group."""
    if size is None or size > SMALL_RANGE + SPREAD * len(keys):
        _, first, groups = np.unique(keys, return_index=True, return_inverse=True)
        return first, groups.reshape(-1)
    example = np.full(size, -1)
    example[keys] = np.arange(len(keys))
    there = example >= 0
    if there.all():
        return example, keys
    return example[there], (np.cumsum(there) - 1)[keys]


def _filled(values: Array | None, missing: Array | None, value: Any, length: int, like: Array) -> Array:
    """The other's values in a join's rows, and the value that stands where there is none."""
    if values is None:
        return np.full(length, value, dtype=like.dtype) if missing is not None else like[:0]
    if missing is None or not missing.any():
        return values
    values[missing] = value
    return values


def _column(name: str, values: Any) -> Array:
    """The values as a column; raises for kinds that relations do not have, None among them."""
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
        raise HerbrandError(
            f"the column '{name}' of no values has no kind", hint="give an array, or from_rows"
        )
    if array.dtype == np.uint64 and array.max(initial=0) > np.iinfo(np.int64).max:
        raise HerbrandError(f"the column '{name}' holds numbers that do not fit in 64 bits")
    return array.astype(DTYPES[kind_of_array(array)], copy=False)
