"""Tables of conjunctions over the same atoms, and the rule for what one factor is, in ground and class
graphs.

All conjunctions over the same latent atoms are one factor: a table of up to :data:`LARGEST_TABLE` entries. A
single conjunction over many atoms becomes a helper instead, the same factor at the cost of its width. Only if
several conjunctions share more atoms than fit in any table is each a separate factor, which the graph
records.

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
    Allowed,
    Argument,
    Block,
    Conjunction,
    differing,
    in_both,
    literals_of,
    renamed,
    variables_of,
)
from herbrand.row_keys import by_number, fit, row_keys

ABSENT = -1
FEW = 32


@dataclass(frozen=True, eq=False)
class RowShape:
    """Rows of ground literals that have equal atoms in the same columns. ``slots`` [column]: place of the
    column's atom in the scope; ``alive`` [template]: whether the template has a row in it."""

    rows: Array
    slots: tuple[int, ...]
    alive: tuple[bool, ...]
    scopes: Array


def shapes(atoms: Array, alive: Array, *, rising: bool = True) -> Iterator[RowShape]:
    """Groups of rows that have equal atoms in the same columns and rows of the same templates.

    With ``rising`` the order of their atoms is the same too, and the atoms of scopes ascend; else these stand
    in order of first occurrence.
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
    """Rank of each atom among the distinct atoms of its row, as small integers."""
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
    """Number of distinct atoms in a row before the first occurrence of each."""
    first = np.stack([(atoms == column[:, None]).argmax(axis=1) for column in atoms.T], axis=1)
    new = (first == np.arange(atoms.shape[1])) & (atoms != ABSENT)
    slots = np.take_along_axis(np.cumsum(new, axis=1) - 1, first, axis=1).astype(np.int16)
    slots[atoms == ABSENT] = ABSENT
    return slots


def unique_rows(rows: Array) -> tuple[Array, Array]:
    """First place of each distinct row, in a fixed order, and for each row the number of its value."""
    if len(rows) == 1 or not rows.size:
        return np.zeros(min(1, len(rows)), np.int64), np.zeros(len(rows), np.int64)
    if len(rows) <= FEW:
        return _few_unique_rows(rows)
    rows = np.ascontiguousarray(rows)
    _, first, group = np.unique(_keys(rows), return_index=True, return_inverse=True)
    return first, group.reshape(-1)


def _few_unique_rows(rows: Array) -> tuple[Array, Array]:
    """The same by hashing: sorting a few rows costs more in its setup."""
    numbers: dict[tuple[int, ...], int] = {}
    group = [numbers.setdefault(row, len(numbers)) for row in map(tuple, rows.tolist())]
    first = [group.index(number) for number in range(len(numbers))]
    return np.array(first), np.array(group)


def _keys(rows: Array) -> Array:
    """Comparable key of each row: an integer if it fits in 64 bits, else its bytes."""
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
"""Entries up to which a single conjunction is a table; above, a helper is cheaper: it costs its width."""

LARGEST_TABLE = 1 << 20
"""Entries up to which several conjunctions over the same atoms are a table, which alone is exact for them."""

BYTES_AN_ENTRY = 24
"""Memory of an entry of a table while it is made, in the graph, and in messages."""

MergeKey = tuple[int, frozenset[int]]


@dataclass(frozen=True)
class Piece:
    """A conjunction in a factor: ``literals`` (slot of the scope, values it must have), and the weight
    ``log_weight`` where all of them hold."""

    literals: tuple[tuple[int, Allowed], ...]
    log_weight: float


def merge_key(formula: int, instance: Sequence[Argument], named: frozenset[Argument]) -> MergeKey:
    """Key of a piece of a formula; pieces with equal keys are one factor where their instances are equal.

    Only pieces that name the same variables of the formula have equal keys: one that names fewer is part of
    several instances.
    """
    places = (i for i, argument in enumerate(instance) if isinstance(argument, int) or argument in named)
    return formula, frozenset(places)


def together(literals: Iterable[tuple[int, Allowed]]) -> dict[int, Allowed] | None:
    """Allowed values of each slot, intersected over its literals; None if some slot is left without any."""
    left: dict[int, Allowed] = {}
    for slot, allowed in literals:
        left[slot] = in_both(left[slot], allowed) if slot in left else allowed
    return left if all(left.values()) else None


def table_of(pieces: Iterable[Piece], sizes: Sequence[int]) -> Array:
    """Log-potential of the pieces as a table over all slots."""
    table = np.zeros(sizes)
    add_pieces(table, pieces)
    return table


def add_pieces(table: Array, pieces: Iterable[Piece], times: float = 1.0) -> None:
    """Add the weights of the pieces to a table over all slots, at the entries where they hold."""
    for piece in pieces:
        literals = together(piece.literals)
        if literals is not None:
            places = [literals.get(slot, tuple(range(size))) for slot, size in enumerate(table.shape)]
            table[np.ix_(*places)] += times * piece.log_weight


def fits_a_table(sizes: Sequence[int]) -> bool:
    """Whether a conjunction over axes of these sizes is kept as a table."""
    return math.prod(sizes) <= MOST_ENTRIES


def fits_any_table(sizes: Sequence[int]) -> bool:
    """Whether several conjunctions over the same axes of these sizes are kept as a table."""
    return math.prod(sizes) <= LARGEST_TABLE


def refuse_tables(entries: float, memory: float) -> None:
    """Raise ``BudgetError`` if tables of ``entries`` entries in total do not fit in ``memory`` bytes."""
    refuse_beyond(entries * BYTES_AN_ENTRY, memory, f"tables of {entries:,.0f} entries need")


@dataclass(frozen=True)
class Quantified:
    """A quantifier with its variables renamed by their order, so that equal ones can be compared: its
    ``pieces``.

    ``outer``: names of the surrounding variables in the statement; ``inside``: their names in ``pieces``.
    """

    pieces: tuple[Conjunction, ...]
    outer: tuple[str, ...]
    inside: tuple[str, ...]


def quantified(block: Block) -> Quantified:
    """Canonical form of a block: two with equal pieces and equal constants for ``outer`` have one helper."""
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
