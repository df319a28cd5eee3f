"""Index structures of sparse steps: which entries meet, computed once for each set of supports.

Takes supports and axes; returns structures that :mod:`herbrand.contraction.sparse` runs values through. Every
step is a matrix product: rows are the axes of the first operand that are kept, the inner dimension are the
shared axes, columns are the axes that only the second has. Numbers of rows and columns are mixed-radix keys
if the table is small enough, else ranks among the keys that occur.
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
"""Largest ratio of possible keys to entries for which rows are numbered by key instead of by rank."""
SMALL = 1 << 16

Index = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Compressed:
    """Sparse matrix in compressed rows; entry ``e`` has value number ``order[e]`` (``e`` if None)."""

    pointers: Index
    columns: Index
    order: Index | None
    shape: tuple[int, int]

    @classmethod
    def of(cls, rows: Integers, columns: Integers, shape: tuple[int, int]) -> Compressed:
        """Compress entries given by row and column numbers, no two of them equal."""
        width = np.int32 if max(*shape, len(rows)) < 2**31 else np.int64
        if len(rows) < 2 or (np.diff(rows) >= 0).all():
            pointers = np.zeros(shape[0] + 1, dtype=width)
            np.cumsum(np.bincount(rows, minlength=shape[0]), out=pointers[1:])
            return cls(pointers, columns.astype(width), None, shape)
        from scipy.sparse import coo_array  # only here, as dense tables do without

        places = np.arange(len(rows), dtype=width)
        matrix: Any = coo_array((places, (rows.astype(width), columns.astype(width))), shape=shape).tocsr()
        return cls(matrix.indptr, matrix.indices, matrix.data, shape)

    @cached_property
    def sorted(self) -> Compressed:
        """The same matrix with the columns of each row ascending."""
        inner = np.diff(self.columns.astype(np.int64))
        starts = self.pointers[1:-1]
        inner[starts[(starts > 0) & (starts < len(self.columns))] - 1] = 1
        if (inner > 0).all():
            return self
        places = np.arange(len(self.columns)) if self.order is None else self.order
        ordered = replace(self, columns=self.columns.copy()).with_values(places)
        ordered.sort_indices()
        return replace(self, columns=ordered.indices, order=ordered.data)

    @cached_property
    def inverse(self) -> Integers | None:
        """Entry of each value; None if they are in the same order."""
        if self.order is None:
            return None
        inverse = np.empty(len(self.order), np.int64)
        inverse[self.order] = np.arange(len(self.order))
        return inverse

    def value_numbers(self, entries: Integers) -> Integers:
        """Numbers of the values of some entries."""
        return entries if self.order is None else self.order[entries].astype(np.int64)

    def with_values(self, values: NDArray[Any]) -> Any:
        """scipy matrix with these values, given in compressed order."""
        from scipy.sparse import csr_array

        return csr_array((values, self.columns, self.pointers), shape=self.shape)


@dataclass(frozen=True, eq=False)
class Rows:
    """Matrix that multiplies a second, dense operand: row sums of the first's entries times rows of the
    second.

    It is kept in the orientation that needs no reordering of the values; ``flipped`` if that is by columns.
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
        """``right`` in compressed columns; its ``order`` refers to entries of the compressed rows."""
        rows = np.repeat(np.arange(self.right.shape[0]), np.diff(self.right.pointers))
        columns = self.right.columns.astype(np.int64)
        return Compressed.of(columns, rows, (self.right.shape[1], self.right.shape[0])).sorted

    @cached_property
    def wedges(self) -> int:
        """Number of products of an entry of ``left`` with an entry of ``right``."""
        return int(np.diff(self.right.pointers)[self.left.columns].sum(dtype=np.int64))

    @cached_property
    def by_entries(self) -> bool:
        """Whether intersecting a row and a column for each entry of the mask takes fewer steps
        than all wedges."""
        if self.complete:
            return False
        rows = np.repeat(np.arange(self.mask.shape[0]), np.diff(self.mask.pointers))
        left = np.diff(self.left.pointers)[rows]
        right = np.bincount(self.right.columns, minlength=self.right.shape[1])[self.mask.columns]
        shorter, longer = np.minimum(left, right), np.maximum(left, right)
        steps = np.minimum(shorter + longer, shorter * np.log2(longer + 2))
        return bool(INTERSECTION_COST * steps.sum(dtype=np.float64) < self.wedges)


INTERSECTION_COST = 2.0
"""Cost of a step of an intersection, relative to a step through a wedge."""


@dataclass(frozen=True, eq=False)
class Product:
    """Product of two sparse matrices: the support of the result, over the axes of rows and columns, and the
    triangle that sums it."""

    support: Support
    triangle: Triangle


@dataclass(frozen=True, eq=False)
class Expansion:
    """Join as a list of products: entry of each operand, and the entry of the result that the product
    is added to."""

    support: Support
    left: Integers
    right: Integers
    places: Integers


@dataclass(frozen=True)
class _Numbers:
    """Rows of several tables over the same axes as numbers below ``count``; ``labels`` [number] are the rows,
    None if numbers are mixed-radix keys."""

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
        """Write the rows with these ``numbers`` into ``rows`` [n, axes]."""
        if self.labels is not None:
            rows[:] = self.labels[numbers]
            return
        for column in range(len(self.shape) - 1, 0, -1):
            numbers, rows[:, column] = np.divmod(numbers, self.shape[column])
        if self.shape:
            rows[:, 0] = numbers


def taken(support: Support, axes: Axes, order: Axes) -> tuple[Support, Integers | None]:
    """Support restricted to the diagonal of repeated axes, without axes not in ``order``; and the remaining
    entries, None if all remain.

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
    """Part of a support whose two columns differ, and the numbers of its entries."""
    keep = np.flatnonzero(support.indices[:, left] != support.indices[:, right])
    return selected(support, keep), keep


def selected(support: Support, entries: Integers) -> Support:
    """Support of some of the entries, in their order."""
    return Support(np.ascontiguousarray(support.indices[entries]), support.shape)


def grid(support: Support, widths: tuple[int, ...]) -> Support:
    """Product of a support with all indices of further axes of these sizes."""
    cells = np.stack(np.unravel_index(np.arange(math.prod(widths)), widths), axis=1)
    rows = np.repeat(support.indices, len(cells), axis=0)
    return Support(np.concatenate((rows, np.tile(cells, (len(support), 1))), axis=1), support.shape + widths)


def reordered(support: Support, axes: Axes, order: Axes) -> tuple[Support, Integers]:
    """Support with its axes reordered, new axes of size one included; and the old number of each entry."""
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
    """Union of supports of one shape, and the places of each one's entries in it."""
    rows, places = unique_rows(np.concatenate([support.indices for support in supports]), supports[0].shape)
    cuts = np.cumsum([len(support) for support in supports])[:-1]
    return Support(rows, supports[0].shape), np.split(places, cuts)


def row_numbers(support: Support, axes: Axes, kept: Axes) -> Integers:
    """Number of each entry's row in a dense table over ``kept``."""
    return positions(*_columns(support, axes, kept))


def occupied_rows(support: Support, axes: Axes, kept: Axes) -> tuple[Support, Integers]:
    """Rows over ``kept`` that have entries, as a support; and the place in it of each entry's row."""
    rows, shape = _columns(support, axes, kept)
    unique, places = unique_rows(rows, shape)
    return Support(unique, shape), places


def places_in(support: Support, axes: Axes, other: Support, other_axes: Axes) -> Integers:
    """Place in ``other`` of the entry that agrees with each entry; -1 if there is none."""
    rows, shape = _columns(support, axes, other_axes)
    numbers = _Numbers.of([rows, other.indices], shape)
    queried, known = numbers.each
    return places_among(known, queried)


def product(left: Support, left_axes: Axes, right: Support, right_axes: Axes, output: Axes) -> Product:
    """Product of two supports, summed over the axes that ``output`` does not have."""
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
    """Product of two supports at the entries of a third, whose axes are those of the rows and columns."""
    pair = _Pair(left, left_axes, right, right_axes, mask_axes, (mask, mask_axes))
    first, second = pair.matrices()
    third = Compressed.of(pair.rows.each[1], pair.columns.each[1], (pair.rows.count, pair.columns.count))
    return Triangle(first, second, third.sorted)


def expansion(left: Support, left_axes: Axes, right: Support, right_axes: Axes, output: Axes) -> Expansion:
    """Join of two supports with every product of entries listed."""
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
    """Number of products of entries in the join of two supports."""
    first, second = _Pair(left, left_axes, right, right_axes, left_axes).matrices()
    return Triangle(first, second, first).wedges


class _Pair:
    """Two supports as matrices over the axes they share. A third one, if given, is numbered by the same
    rows and columns."""

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
        """Indices of entries of the product, from the numbers of their rows and columns."""
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
