"""Rows of ground literals, sorted into groups that have one and the same shape.

Takes a matrix of atom numbers, a column a literal, ``ABSENT`` where a row has none there; gives for each
shape the rows that have it and their scopes: the different atoms, rising.

>>> for shape in shapes(np.array([[5, 7], [9, 3], [4, 4]]), np.ones((3, 1), bool)):
...     print(shape.rows, shape.slots, shape.scopes.tolist())
[2] (0, 0) [[4]]
[1] (1, 0) [[3, 9]]
[0] (0, 1) [[5, 7]]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from herbrand.factors.graph import Array

ABSENT = -1


@dataclass(frozen=True, eq=False)
class RowShape:
    """``slots`` [column] is each column's atom's place in the scope; ``alive`` [template] which are left."""

    rows: Array
    slots: tuple[int, ...]
    alive: tuple[bool, ...]
    scopes: Array


def shapes(atoms: Array, alive: Array, *, rising: bool = True) -> Iterator[RowShape]:
    """Groups of rows whose atoms are equal, and in order, in the same places.

    Unless scopes are to be ``rising``, their atoms stand as they first occur, whatever their order.
    """
    if not len(atoms):
        return
    slots = _slots(atoms) if rising else _slots_as_met(atoms)
    codes = np.concatenate([slots, alive.astype(np.int16)], axis=1)
    first, group = unique_rows(codes)
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(len(first) + 1))
    for number, representative in enumerate(first.tolist()):
        rows = order[bounds[number] : bounds[number + 1]]
        places = slots[representative]
        columns = [int(np.flatnonzero(places == slot)[0]) for slot in range(places.max(initial=-1) + 1)]
        yield RowShape(
            rows, tuple(places.tolist()), tuple(alive[representative].tolist()), atoms[rows][:, columns]
        )


def _slots(atoms: Array) -> Array:
    """How many different atoms of its row are smaller than each, as small integers."""
    count, width = atoms.shape
    order = np.argsort(atoms, axis=1, kind="stable")
    ordered = np.take_along_axis(atoms, order, axis=1)
    new = ordered != ABSENT
    new[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    places = np.cumsum(new, axis=1) - 1
    slots = np.empty((count, width), dtype=np.int16)
    np.put_along_axis(slots, order, places.astype(np.int16), axis=1)
    slots[atoms == ABSENT] = ABSENT
    return slots


def _slots_as_met(atoms: Array) -> Array:
    """How many different atoms of its row stand before the first place of each."""
    first = np.stack([(atoms == column[:, None]).argmax(axis=1) for column in atoms.T], axis=1)
    new = (first == np.arange(atoms.shape[1])) & (atoms != ABSENT)
    slots = np.take_along_axis(np.cumsum(new, axis=1) - 1, first, axis=1).astype(np.int16)
    slots[atoms == ABSENT] = ABSENT
    return slots


def unique_rows(rows: Array) -> tuple[Array, Array]:
    """The first place of each different row, rows in some fixed order, and for each row which it is."""
    rows = np.ascontiguousarray(rows)
    if not rows.size:
        return np.zeros(min(1, len(rows)), np.int64), np.zeros(len(rows), np.int64)
    _, first, group = np.unique(_keys(rows), return_index=True, return_inverse=True)
    return first, group.reshape(-1)


def _keys(rows: Array) -> Array:
    """One comparable value a row: a number where it fits into one."""
    width = rows.itemsize * rows.shape[1]
    if width <= 8:
        padded = np.zeros((len(rows), 8), dtype=np.uint8)
        padded[:, :width] = rows.view(np.uint8).reshape(len(rows), width)
        return padded.view(np.int64).reshape(-1)
    if rows.dtype == np.int64:
        spans = [int(column.max()) - int(column.min()) + 1 for column in rows.T]
        if float(np.prod(np.array(spans, dtype=float))) < 2.0**62:
            keys = np.zeros(len(rows), dtype=np.int64)
            for column, span in zip(rows.T, spans, strict=True):
                keys = keys * span + (column - column.min())
            return keys
    return rows.view(np.dtype((np.void, width))).reshape(-1)
