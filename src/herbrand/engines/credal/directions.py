"""Monotonicity of the mass of a cut network in each row, whatever the other rows are within their bounds.

Signs of qualitative probabilistic networks (Wellman 1990). Atoms are summed out children first: the average
of the remaining function V, ``V(0) + P(x | parents) (V(1) - V(0))``, moves with a parent as V does directly,
and as P(x | parents) does, times the sign of ``V(1) - V(0)``. Evidence and the indicator are factors that are
not negative, so where all factors move one way, their product does. A mass moves with a row of ``x`` as V
with x.

In a coherent fault tree every mass of a top event moves one way with each basic event. Then its extremes over
a box of rows are at corners. Sums of products of enclosures would be far too wide: they let P(x) and P(not x)
be large at once, and a subtree that two branches share take different values in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from herbrand.engines.credal.rounding import Enclosure
from herbrand.graphs import strong_components

CONSTANT, RISES, FALLS, UNKNOWN = 0, 1, 2, 3
"""Directions, as bits: the direction of a product of factors is the bitwise or of theirs."""


@dataclass(frozen=True, eq=False)
class Cut:
    """An atom's conditional table restricted to evidence; ``rows`` has the row number of each remaining case.

    ``scope``: the open parents, then the atom itself unless evidence fixes it.
    """

    atom: int
    scope: tuple[int, ...]
    rows: np.ndarray  # [case] a case of the open parents
    truth: bool | None  # truth value of the atom where evidence fixes it


def chances(true: Enclosure, free: np.ndarray | None = None) -> Enclosure:
    """[rows] The range of each row, from the enclosures of its ends; [0, 1] for rows marked ``free``."""
    low, high = true.low[0], true.high[1]
    if free is None:
        return Enclosure(low, high)
    return Enclosure(np.where(free, 0, low), np.where(free, 1, high))


def directions(
    tables: Sequence[Cut], scope: tuple[int, ...], marked: np.ndarray, chance: Enclosure
) -> np.ndarray:
    """[rows] Direction of a mass in each row; the mass is the sum over ``marked`` cases of products of rows.

    ``marked`` has one axis for each atom of ``scope``.
    """
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
    """Direction of an indicator in one of its atoms."""
    at_zero, at_one = marked.take(0, axis), marked.take(1, axis)
    return RISES * bool((at_one & ~at_zero).any()) | FALLS * bool((at_zero & ~at_one).any())


def _clamped(marked: np.ndarray, axis: int) -> int:
    """Direction of the mass in an atom whose truth value the indicator fixes; ``CONSTANT`` if it fixes none.

    The mass with the other value is 0, so no other factor can change the direction.
    """
    at_zero, at_one = marked.take(0, axis).any(), marked.take(1, axis).any()
    return CONSTANT if at_zero and at_one else RISES if at_one else FALLS if at_zero else CONSTANT


def _of_table(rows: np.ndarray, axis: int, chance: Enclosure) -> int:
    """Direction of an atom's conditional probability in one parent, over all cases of the other parents."""
    at_zero, at_one = rows.take(0, axis), rows.take(1, axis)
    rises = (chance.high[at_one] > chance.low[at_zero]).any()
    return RISES * bool(rises) | FALLS * bool((chance.low[at_one] < chance.high[at_zero]).any())


def _times(of_child: int, mass: int) -> int:
    """Direction of a mass in a parent: the child's in the parent times the mass's in the child."""
    if CONSTANT in (of_child, mass):
        return CONSTANT
    if UNKNOWN in (of_child, mass):
        return UNKNOWN
    return RISES if of_child == mass else FALLS


def _children_first(tables: Sequence[Cut]) -> list[Cut]:
    """Tables of fixed atoms, which are no parents here, then those of open atoms after their children."""
    open_ones = {table.atom: table for table in tables if table.truth is None}
    parents_first = strong_components({atom: table.scope[:-1] for atom, table in open_ones.items()})
    fixed = [table for table in tables if table.truth is not None]
    return fixed + [open_ones[atom] for (atom,) in reversed([*parents_first])]
