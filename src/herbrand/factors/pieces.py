"""Conjunctions that speak of the same atoms, as one table: where graphs from grounded rows and from classes
agree on what a factor is.

All that is said of the same latent atoms is one factor: a table of up to :data:`LARGEST_TABLE` entries. A
conjunction that is alone over many atoms becomes a helper instead, the same factor at the cost of its width.
Only where several speak of atoms too many for any table is each a factor of its own, which the graph records.

>>> merge_key(3, ("x", 0), frozenset({"x"}))
(3, frozenset({0, 1}))

Rows of ground literals are sorted into groups that have one and the same shape. That takes a matrix of atom
numbers, a column a literal, ``ABSENT`` where a row has none there; gives for each shape the rows that have it
and their scopes: the different atoms, rising.

>>> for shape in shapes(np.array([[5, 7], [9, 3], [4, 4]]), np.ones((3, 1), bool)):
...     print(shape.rows, shape.slots, shape.scopes.tolist())
[0] (0, 1) [[5, 7]]
[1] (1, 0) [[3, 9]]
[2] (0, 0) [[4]]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from herbrand.budget import refuse_beyond
from herbrand.factors.graph import Array
from herbrand.program.program import (
    Argument,
    Block,
    Conjunction,
    differing,
    literals_of,
    renamed,
    variables_of,
)
from herbrand.row_keys import by_number, fit, row_keys

ABSENT = -1
FEW = 32


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
    order, bounds = by_number(group, len(first))
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
    if len(rows) == 1 or not rows.size:
        return np.zeros(min(1, len(rows)), np.int64), np.zeros(len(rows), np.int64)
    if len(rows) <= FEW:
        return _few_unique_rows(rows)
    rows = np.ascontiguousarray(rows)
    _, first, group = np.unique(_keys(rows), return_index=True, return_inverse=True)
    return first, group.reshape(-1)


def _few_unique_rows(rows: Array) -> tuple[Array, Array]:
    """The same by hashing: sorting a few rows takes longer to begin than to do."""
    numbers: dict[tuple[int, ...], int] = {}
    group = [numbers.setdefault(row, len(numbers)) for row in map(tuple, rows.tolist())]
    first = [group.index(number) for number in range(len(numbers))]
    return np.array(first), np.array(group)


def _keys(rows: Array) -> Array:
    """One comparable value a row: a number where it fits into one."""
    width = rows.itemsize * rows.shape[1]
    if width <= 8:
        padded = np.zeros((len(rows), 8), dtype=np.uint8)
        padded[:, :width] = rows.view(np.uint8).reshape(len(rows), width)
        return padded.view(np.int64).reshape(-1)
    if rows.dtype == np.int64:
        least = rows.min(axis=0)
        spans = [most - low + 1 for most, low in zip(rows.max(axis=0).tolist(), least.tolist(), strict=True)]
        if fit(spans):
            return row_keys(list((rows - least).T), spans)
    return rows.view(np.dtype((np.void, width))).reshape(-1)


MOST_ENTRIES = 1024
"""Of the table of a conjunction by itself; above it a helper is cheaper, whose messages cost its width."""

LARGEST_TABLE = 1 << 20
"""Entries, where only a table says exactly what several conjunctions say together."""

BYTES_AN_ENTRY = 24
"""A table while it is made, in the graph, and in messages."""

MergeKey = tuple[int, frozenset[int]]
Allowed = tuple[int, ...]


def other_values(size: int, allowed: Allowed) -> Allowed:
    """Those of an axis with so many that are not allowed."""
    return tuple(value for value in range(size) if value not in allowed)


@dataclass(frozen=True)
class Piece:
    """``literals``: slots of a scope with the values they must have; ``worth`` where all of them do."""

    literals: tuple[tuple[int, Allowed], ...]
    worth: float


def merge_key(formula: int, instance: Sequence[Argument], named: frozenset[Argument]) -> MergeKey:
    """Pieces of a formula with equal keys are one factor wherever their instances are equal.

    Only pieces that name the same of its variables are merged: one that names fewer speaks of many instances.
    """
    places = (i for i, argument in enumerate(instance) if isinstance(argument, int) or argument in named)
    return formula, frozenset(places)


def together(literals: Iterable[tuple[int, Allowed]]) -> dict[int, Allowed] | None:
    """Literals by slot, those of one slot intersected; ``None`` where they exclude each other."""
    left: dict[int, Allowed] = {}
    for slot, allowed in literals:
        left[slot] = tuple(v for v in left.get(slot, allowed) if v in allowed)
    return left if all(left.values()) else None


def table_of(pieces: Iterable[Piece], sizes: Sequence[int]) -> Array:
    """The log-potential of the pieces over all slots."""
    table = np.zeros(sizes)
    add_pieces(table, pieces)
    return table


def add_pieces(table: Array, pieces: Iterable[Piece], times: float = 1.0) -> None:
    """Adds what the pieces are worth to a table over all slots; only where they hold is it touched."""
    for piece in pieces:
        literals = together(piece.literals)
        if literals is not None:
            places = [literals.get(slot, tuple(range(size))) for slot, size in enumerate(table.shape)]
            table[np.ix_(*places)] += times * piece.worth


def fits_a_table(sizes: Sequence[int]) -> bool:
    """Whether a conjunction over values of these sizes is a table."""
    return math.prod(sizes) <= MOST_ENTRIES


def fits_any_table(sizes: Sequence[int]) -> bool:
    """Whether several conjunctions over the same atoms are."""
    return math.prod(sizes) <= LARGEST_TABLE


def refuse_tables(entries: float, memory: float) -> None:
    """Raise ``BudgetError`` where tables of so many entries together would not fit."""
    refuse_beyond(entries * BYTES_AN_ENTRY, memory, f"tables of {entries:,.0f} entries need")


@dataclass(frozen=True)
class Quantified:
    """What a block says, whatever its variables are called: ``pieces`` with variables named by their order.

    ``outer``: what the variables of its surroundings are called there, and ``inside`` what in the pieces.
    """

    pieces: tuple[Conjunction, ...]
    outer: tuple[str, ...]
    inside: tuple[str, ...]


def quantified(block: Block) -> Quantified:
    """Two blocks with equal pieces and equal constants for ``outer`` are one ground quantifier."""
    names: dict[str, str] = {}
    own = {name for piece in block.pieces for name in variables_of(piece)}
    for piece in block.pieces:
        for literal in literals_of(piece):
            for argument in literal.arguments:
                if isinstance(argument, str):
                    names.setdefault(argument, f"v{len(names)}")
        apart = {a for pair in differing(piece) for a in pair if isinstance(a, str)}
        for name in sorted(variables_of(piece) | apart):
            names.setdefault(name, f"v{len(names)}")
    outer = tuple(name for name in names if name not in own)
    pieces = tuple(renamed(piece, names) for piece in block.pieces)
    return Quantified(pieces, outer, tuple(names[name] for name in outer))
