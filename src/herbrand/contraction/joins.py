"""The integers of sparse steps: which entries meet, worked out once for each set of supports.

Takes supports and axes; returns structures that :mod:`herbrand.contraction.sparse` runs values through.
Whatever a step contracts, it is a matrix product: rows are the axes of the first operand that stay, the inner
dimension is what both share, columns are the axes that only the second has. Numbers of rows and columns are
mixed-radix keys where the table is small enough, and ranks among the keys that occur where it is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herbrand.contraction.expression import Axes
from herbrand.contraction.relation import Integers, Support, positions
from herbrand.row_keys import each_in, places_among, unique_rows

ROOMY = 4
"""Rows are numbered by key up to this many times as many keys as entries."""
SMALL = 1 << 16

Index = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Compressed:
    """A sparse matrix in compressed rows; entry ``e`` has value number ``order[e]`` (``e`` if None)."""

    pointers: Index
    columns: Index
    order: Index | None
    shape: tuple[int, int]

    @classmethod
    def of(cls, rows: Integers, columns: Integers, shape: tuple[int, int]) -> Compressed:
        """From the row and column numbers of the entries, no two of them alike."""
        width = np.int32 if max(*shape, len(rows)) < 2**31 else np.int64
        if len(rows) < 2 or (np.diff(rows) >= 0).all():
            pointers = np.zeros(shape[0] + 1, dtype=width)
            np.cumsum(np.bincount(rows, minlength=shape[0]), out=pointers[1:])
            return cls(pointers, columns.astype(width), None, shape)
        from scipy.sparse import coo_array  # only here, as dense tables do without

        places = np.arange(len(rows), dtype=width)
        made: Any = coo_array((places, (rows.astype(width), columns.astype(width))), shape=shape).tocsr()
        return cls(made.indptr, made.indices, made.data, shape)

    @cached_property
    def sorted(self) -> Compressed:
        """The same with the columns of each row in order."""
        inner = np.diff(self.columns.astype(np.int64))
        starts = self.pointers[1:-1]
        inner[starts[(starts > 0) & (starts < len(self.columns))] - 1] = 1
        if (inner > 0).all():
            return self
        places = np.arange(len(self.columns)) if self.order is None else self.order
        made = replace(self, columns=self.columns.copy()).with_values(places)
        made.sort_indices()
        return replace(self, columns=made.indices, order=made.data)

    @cached_property
    def inverse(self) -> Integers | None:
        """For every value, which entry has it."""
        if self.order is None:
            return None
        inverse = np.empty(len(self.order), np.int64)
        inverse[self.order] = np.arange(len(self.order))
        return inverse

    def value_numbers(self, entries: Integers) -> Integers:
        """Which values some entries have."""
        return entries if self.order is None else self.order[entries].astype(np.int64)

    def with_values(self, values: NDArray[Any]) -> Any:
        """The scipy matrix with these values, given in compressed order."""
        from scipy.sparse import csr_array

        return csr_array((values, self.columns, self.pointers), shape=self.shape)


@dataclass(frozen=True, eq=False)
class Rows:
    """How the entries of one operand add up into rows, each times a row of a second, dense operand.

    The matrix is kept in whichever orientation needs no reordering of the values; ``flipped`` if that is by
    columns.
    """

    matrix: Compressed
    flipped: bool

    @classmethod
    def of(cls, rows: Integers, inner: Integers, shape: tuple[int, int]) -> Rows:
        if len(inner) > 1 and (np.diff(inner) >= 0).all() and not (np.diff(rows) >= 0).all():
            return cls(Compressed.of(inner, rows, (shape[1], shape[0])), True)
        return cls(Compressed.of(rows, inner, shape), False)

    @property
    def transposed(self) -> Rows:
        return replace(self, flipped=not self.flipped)


@dataclass(frozen=True, eq=False)
class Triangle:
    """Three sparse matrices, left [i, j], right [j, k] and mask [i, k], over common numbers, rows sorted."""

    left: Compressed
    right: Compressed
    mask: Compressed
    complete: bool = False
    """Whether the mask has every entry that the product can have."""

    @cached_property
    def right_by_columns(self) -> Compressed:
        """``right`` in compressed columns, its order counting entries of the compressed rows."""
        rows = np.repeat(np.arange(self.right.shape[0]), np.diff(self.right.pointers))
        columns = self.right.columns.astype(np.int64)
        return Compressed.of(columns, rows, (self.right.shape[1], self.right.shape[0])).sorted

    @cached_property
    def wedges(self) -> int:
        """How many products of an entry of ``left`` with one of ``right`` there are."""
        return int(np.diff(self.right.pointers)[self.left.columns].sum(dtype=np.int64))

    @cached_property
    def by_entries(self) -> bool:
        """Whether intersecting a row and a column for every entry of the mask is less work than wedges."""
        if self.complete:
            return False
        rows = np.repeat(np.arange(self.mask.shape[0]), np.diff(self.mask.pointers))
        left = np.diff(self.left.pointers)[rows]
        right = np.bincount(self.right.columns, minlength=self.right.shape[1])[self.mask.columns]
        shorter, longer = np.minimum(left, right), np.maximum(left, right)
        steps = np.minimum(shorter + longer, shorter * np.log2(longer + 2))
        return bool(INTERSECTION_COST * steps.sum(dtype=np.float64) < self.wedges)


INTERSECTION_COST = 2.0
"""A step of an intersection, relative to a step through a wedge."""


@dataclass(frozen=True, eq=False)
class Product:
    """The product of two sparse matrices: its entries, over rows' and columns' axes, and how to add up."""

    support: Support
    triangle: Triangle


@dataclass(frozen=True, eq=False)
class Expansion:
    """A join written out: which entries multiply, and which entry of the result each product is added to."""

    support: Support
    left: Integers
    right: Integers
    places: Integers


@dataclass(frozen=True)
class _Numbers:
    """Rows of several tables over the same axes, as numbers below ``count``; ``labels`` say of which."""

    each: tuple[Integers, ...]
    count: int
    labels: Integers | None
    shape: tuple[int, ...]

    @classmethod
    def of(cls, tables: Sequence[Integers], shape: tuple[int, ...]) -> _Numbers:
        total = sum(map(len, tables))
        if math.prod(shape) <= max(SMALL, ROOMY * total):
            return cls(tuple(positions(rows, shape) for rows in tables), math.prod(shape), None, shape)
        labels, places = unique_rows(np.concatenate(tables), shape)
        cuts = np.cumsum([len(rows) for rows in tables])[:-1]
        return cls(tuple(np.split(places, cuts)), len(labels), labels, shape)

    def write(self, numbers: Index, rows: Integers) -> None:
        """Put the rows that ``numbers`` stand for into ``rows`` [n, axes]."""
        if self.labels is not None:
            rows[:] = self.labels[numbers]
            return
        for column in range(len(self.shape) - 1, 0, -1):
            numbers, rows[:, column] = np.divmod(numbers, self.shape[column])
        if self.shape:
            rows[:, 0] = numbers


def taken(support: Support, axes: Axes, order: Axes) -> tuple[Support, Integers | None]:
    """``support`` by the diagonal of repeated axes and without axes not in ``order``; which entries remain.

    ``order`` keeps the axes in the order of their first occurrence, so that rows stay sorted.
    """
    first = {axis: axes.index(axis) for axis in axes}
    rows, keep = support.indices, None
    for column, axis in enumerate(axes):
        if column != first[axis]:
            same = rows[:, column] == rows[:, first[axis]]
            keep = same if keep is None else keep & same
    kept_rows, shape = _columns(support, axes, order)
    if keep is None:
        return Support(kept_rows, shape), None
    return Support(np.ascontiguousarray(kept_rows[keep]), shape), np.flatnonzero(keep)


def off_diagonal(support: Support, left: int, right: int) -> tuple[Support, Integers]:
    """The part of a support whose two columns differ, and which entries those are."""
    keep = np.flatnonzero(support.indices[:, left] != support.indices[:, right])
    return selected(support, keep), keep


def selected(support: Support, entries: Integers) -> Support:
    """Some entries of a support, in their order."""
    return Support(np.ascontiguousarray(support.indices[entries]), support.shape)


def grid(support: Support, widths: tuple[int, ...]) -> Support:
    """Every entry of a support, with every index of further axes."""
    cells = np.stack(np.unravel_index(np.arange(math.prod(widths)), widths), axis=1)
    rows = np.repeat(support.indices, len(cells), axis=0)
    return Support(np.concatenate((rows, np.tile(cells, (len(support), 1))), axis=1), support.shape + widths)


def reordered(support: Support, axes: Axes, order: Axes) -> tuple[Support, Integers]:
    """The same entries with axes in another order, new ones of size one included; where each comes from."""
    columns = [axes.index(axis) if axis in axes else None for axis in order]
    zeros = np.zeros(len(support), np.int64)
    parts = [zeros if column is None else support.indices[:, column] for column in columns]
    rows = np.stack(parts, axis=1) if parts else support.indices
    shape = tuple(1 if column is None else support.shape[column] for column in columns)
    unique, places = unique_rows(rows, shape)
    origin = np.empty(len(rows), np.int64)
    origin[places] = np.arange(len(rows))
    return Support(unique, shape), origin


def union(supports: Sequence[Support]) -> tuple[Support, list[Integers]]:
    """All entries of several supports of one shape, and where those of each are."""
    rows, places = unique_rows(np.concatenate([support.indices for support in supports]), supports[0].shape)
    cuts = np.cumsum([len(support) for support in supports])[:-1]
    return Support(rows, supports[0].shape), np.split(places, cuts)


def row_numbers(support: Support, axes: Axes, kept: Axes) -> Integers:
    """The number of every entry's row in a dense table over ``kept``."""
    return positions(*_columns(support, axes, kept))


def occupied_rows(support: Support, axes: Axes, kept: Axes) -> tuple[Support, Integers]:
    """The rows over ``kept`` that have entries, as a support; and for every entry its row's place in it."""
    rows, shape = _columns(support, axes, kept)
    unique, places = unique_rows(rows, shape)
    return Support(unique, shape), places


def places_in(support: Support, axes: Axes, other: Support, other_axes: Axes) -> Integers:
    """For every entry the place in ``other`` of the entry that agrees with it, -1 if there is none."""
    rows, shape = _columns(support, axes, other_axes)
    numbers = _Numbers.of([rows, other.indices], shape)
    wanted, known = numbers.each
    return places_among(known, wanted)


def product(left: Support, left_axes: Axes, right: Support, right_axes: Axes, output: Axes) -> Product:
    """The product of two supports, summed over the axes that ``output`` does not have."""
    pair = _Pair(left, left_axes, right, right_axes, output)
    first, second = pair.matrices()
    pattern: Any = first.with_values(np.ones(len(left))) @ second.with_values(np.ones(len(right)))
    pattern.sort_indices()
    mask = Compressed(pattern.indptr, pattern.indices, None, pattern.shape)
    numbers = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    return Product(
        Support(pair.entries(numbers, pattern.indices), pair.shape),
        Triangle(first, second, mask, complete=True),
    )


def masked_product(
    left: Support, left_axes: Axes, right: Support, right_axes: Axes, mask: Support, mask_axes: Axes
) -> Triangle:
    """The product of two supports at the entries of a third, whose axes are those of rows and columns."""
    pair = _Pair(left, left_axes, right, right_axes, mask_axes, (mask, mask_axes))
    first, second = pair.matrices()
    third = Compressed.of(pair.rows.each[1], pair.columns.each[1], (pair.rows.count, pair.columns.count))
    return Triangle(first, second, third.sorted)


def expansion(left: Support, left_axes: Axes, right: Support, right_axes: Axes, output: Axes) -> Expansion:
    """The join of two supports, every product of entries written out."""
    pair = _Pair(left, left_axes, right, right_axes, output)
    first, second = pair.matrices()
    counts = np.diff(second.pointers)[first.columns].astype(np.int64)
    left_entries, right_entries = each_in(second.pointers[first.columns], counts)
    numbers = np.repeat(np.repeat(np.arange(first.shape[0]), np.diff(first.pointers)), counts)
    rows = pair.entries(numbers, second.columns[right_entries])
    unique, places = unique_rows(rows, pair.shape)
    return Expansion(
        Support(unique, pair.shape),
        first.value_numbers(left_entries),
        second.value_numbers(right_entries),
        places,
    )


def join_rows(left: Support, left_axes: Axes, right: Support, right_axes: Axes) -> int:
    """How many products of entries the join of two supports has."""
    first, second = _Pair(left, left_axes, right, right_axes, left_axes).matrices()
    return Triangle(first, second, first).wedges


class _Pair:
    """Two supports as matrices over the axes they share; if there is a third, it has rows and columns."""

    def __init__(
        self,
        left: Support,
        left_axes: Axes,
        right: Support,
        right_axes: Axes,
        output: Axes,
        *others: tuple[Support, Axes],
    ) -> None:
        shared = tuple(axis for axis in left_axes if axis in right_axes)
        row_axes = tuple(axis for axis in left_axes if axis in output)
        column_axes = tuple(axis for axis in right_axes if axis not in left_axes)
        self.inner = _numbered(shared, (left, left_axes), (right, right_axes))
        self.rows = _numbered(row_axes, (left, left_axes), *others)
        self.columns = _numbered(column_axes, (right, right_axes), *others)
        self.shape = self.rows.shape + self.columns.shape

    def entries(self, rows: Index, columns: Index) -> Integers:
        """The indices of entries of the product, from the numbers of their rows and columns."""
        indices = np.empty((len(rows), len(self.shape)), np.int64)
        self.rows.write(rows, indices[:, : len(self.rows.shape)])
        self.columns.write(columns, indices[:, len(self.rows.shape) :])
        return indices

    def matrices(self) -> tuple[Compressed, Compressed]:
        first, second = self.inner.each
        return (
            Compressed.of(self.rows.each[0], first, (self.rows.count, self.inner.count)).sorted,
            Compressed.of(second, self.columns.each[0], (self.inner.count, self.columns.count)).sorted,
        )


def _numbered(order: Axes, *tables: tuple[Support, Axes]) -> _Numbers:
    columns = [_columns(support, axes, order) for support, axes in tables]
    return _Numbers.of([rows for rows, _ in columns], columns[0][1])


def _columns(support: Support, axes: Axes, order: Axes) -> tuple[Integers, tuple[int, ...]]:
    columns = [axes.index(axis) for axis in order]
    if columns == list(range(support.indices.shape[1])):
        return support.indices, support.shape
    return np.ascontiguousarray(support.indices[:, columns]), tuple(
        support.shape[column] for column in columns
    )
