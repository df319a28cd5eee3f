"""Which way the mass of a cut network moves with each row, whatever the other rows are within their bounds.

Signs of qualitative probabilistic networks (Wellman 1990). Atoms are summed out children first: the average
of what is left, ``V(0) + P(x | parents) (V(1) - V(0))``, moves with a parent as V does directly, and as
P(x | parents) does, times the sign of ``V(1) - V(0)``. Evidence and the indicator are factors that are not
negative, so where all factors move one way, their product does. A mass moves with a row of ``x`` as V with x.

In a coherent fault tree every mass of a top event moves one way with each basic event. Then its ends over a
box of rows are at corners, where sums of products with enclosures are far too wide: they let P(x) and
P(not x) be great at once, and a part that two branches share be different in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from herbrand.engines.credal.rounding import Enclosure

CONSTANT, RISES, FALLS, UNKNOWN = 0, 1, 2, 3
"""Directions; a union of what factors do is the bitwise or."""


@dataclass(frozen=True, eq=False)
class Cut:
    """An atom's table cut to what agrees with evidence: ``rows`` are numbers of rows, by remaining case."""

    atom: int
    scope: tuple[int, ...]
    rows: np.ndarray  # [case] of the parents that are not known
    truth: bool | None  # of the atom itself, where it is known


class Chances(NamedTuple):
    """What each row can be: between ``low`` and ``high``."""

    low: np.ndarray  # [rows]
    high: np.ndarray


def chances(true: Enclosure, free: np.ndarray | None = None) -> Chances:
    """The bounds of rows by the enclosures of their ends; rows that are ``free`` may be anything."""
    low, high = true.low[0], true.high[1]
    return Chances(low, high) if free is None else Chances(np.where(free, 0, low), np.where(free, 1, high))


def directions(
    tables: Sequence[Cut], scope: tuple[int, ...], marked: np.ndarray, chance: Chances
) -> np.ndarray:
    """[rows] the direction of a mass: the sum, over the cases that are marked, of products of rows."""
    moves = np.full(len(chance.low), CONSTANT)
    of_atom = {atom: _of_indicator(marked, axis) for axis, atom in enumerate(scope)}
    clamped = {atom: _clamped(marked, axis) for axis, atom in enumerate(scope)}
    for table in _children_first(tables):
        if table.truth is None:
            own = clamped.get(table.atom) or of_atom.get(table.atom, CONSTANT)
            parents = table.scope[:-1]
        else:
            own, parents = RISES if table.truth else FALLS, table.scope
        moves[table.rows] = own
        for axis, parent in enumerate(parents):
            moved = _times(_of_table(table.rows.reshape((2,) * len(parents)), axis, chance), own)
            of_atom[parent] = of_atom.get(parent, CONSTANT) | moved
    return moves


def _of_indicator(marked: np.ndarray, axis: int) -> int:
    """How an indicator moves with one of its atoms."""
    at_zero, at_one = marked.take(0, axis), marked.take(1, axis)
    return RISES * bool((at_one & ~at_zero).any()) | FALLS * bool((at_zero & ~at_one).any())


def _clamped(marked: np.ndarray, axis: int) -> int:
    """The direction where an indicator leaves an atom one truth: all of the mass is on that side, else 0."""
    at_zero, at_one = marked.take(0, axis).any(), marked.take(1, axis).any()
    return CONSTANT if at_zero and at_one else RISES if at_one else FALLS if at_zero else CONSTANT


def _of_table(rows: np.ndarray, axis: int, chance: Chances) -> int:
    """How an atom's chance may move with one of its parents, in any case of the others."""
    at_zero, at_one = rows.take(0, axis), rows.take(1, axis)
    rises = (chance.high[at_one] > chance.low[at_zero]).any()
    return RISES * bool(rises) | FALLS * bool((chance.low[at_one] < chance.high[at_zero]).any())


def _times(of_child: int, mass: int) -> int:
    """The direction of a mass with a parent, by the child's with the parent and the mass's with the child."""
    if CONSTANT in (of_child, mass):
        return CONSTANT
    if UNKNOWN in (of_child, mass):
        return UNKNOWN
    return RISES if of_child == mass else FALLS


def _children_first(tables: Sequence[Cut]) -> list[Cut]:
    """Known atoms, which are parents of none here, then every open atom after its children."""
    open_ones = {table.atom: table for table in tables if table.truth is None}
    children = dict.fromkeys(open_ones, 0)
    for table in open_ones.values():
        for parent in table.scope[:-1]:
            children[parent] += 1
    waiting = [atom for atom, count in children.items() if not count]
    order = [table for table in tables if table.truth is not None]
    while waiting:
        table = open_ones[waiting.pop()]
        order.append(table)
        for parent in table.scope[:-1]:
            children[parent] -= 1
            if not children[parent]:
                waiting.append(parent)
    return order
