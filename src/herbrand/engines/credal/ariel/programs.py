"""Bounds of the atoms of one factor of any shape, by a search over its distributions.

A factor's state is a case of its atoms, or of the parents of a conditional table. For each of its atoms and
masses q of the states, ``lows[i] @ q <= P(atom i) <= highs[i] @ q``: both are the indicator of an atom that
is part of the case, and the lower and upper rows of the table for the child.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herbrand.engines.credal.ariel.simplex import Cells, Workspace, lowest
from herbrand.loops import inlined, loop

Array = NDArray[Any]

SLACK = 1e-10
"""Amount by which intervals of atoms are widened inside a program, so that equal ends do not contradict."""


@loop
def place_box(lows: Array, highs: Array, box: Array, forms: Array, count: int) -> int:
    """Append the forms that keep each atom in its interval; return the new number of forms."""
    states = lows.shape[1]
    for i in range(len(box)):
        if box[i, 0] > 0.0:
            for j in range(states):
                forms[count, j] = highs[i, j] - (box[i, 0] - SLACK)
            count += 1
        if box[i, 1] < 1.0:
            for j in range(states):
                forms[count, j] = (box[i, 1] + SLACK) - lows[i, j]
            count += 1
    return count


@loop
def place_ranges(cells: Cells, box: Array, ranges: Array) -> None:
    """Set the range of each cell: its atom's interval where it has no condition, else [0, 1]."""
    for c in range(len(cells.atom)):
        ranges[c, 0], ranges[c, 1] = 0.0, 1.0
        if cells.atom[c] >= 0:
            ranges[c, 0] = max(box[cells.atom[c], 0] - SLACK, 0.0)
            ranges[c, 1] = min(box[cells.atom[c], 1] + SLACK, 1.0)


@inlined
def tighten(
    forms: Array,
    count: int,
    lows: Array,
    highs: Array,
    cells: Cells,
    box: Array,
    marginals: Array,
    most_nodes: int,
    room: Workspace,
) -> bool:
    """Shrink the box in place to the values its atoms can have; False where no distribution is left.

    ``forms[:count]`` are the factor's own; the rows behind them are working memory. ``marginals``
    [2 atoms, atoms, 2]: the ends of each atom at an optimal point for each end, from the last visit, or NaN.
    Since boxes only shrink, an end whose optimal point is still in the box needs no new search.
    """
    atoms, states = lows.shape
    ranges = np.empty((len(cells.atom), 2))
    scale = np.ones(states)
    costs = np.empty(states)
    point = np.empty(states)
    for end in range(2 * atoms):
        atom, upper = end // 2, end % 2 == 1
        if _inside(marginals[end], box, atom):
            continue
        filled = place_box(lows, highs, box, forms, count)
        place_ranges(cells, box, ranges)
        for j in range(states):
            costs[j] = -highs[atom, j] if upper else lows[atom, j]
        bound, finished = lowest(costs, forms, filled, cells, ranges, scale, 1.0, most_nodes, room, point)
        if bound > 1.0 + 1e-6:
            return False
        _note(marginals[end], point, lows, highs, finished)
        if upper:
            box[atom, 1] = min(box[atom, 1], -bound)
        else:
            box[atom, 0] = max(box[atom, 0], bound)
        if box[atom, 0] > box[atom, 1]:
            if box[atom, 0] > box[atom, 1] + 1e-7:
                return False
            box[atom, 0], box[atom, 1] = box[atom, 1], box[atom, 0]
    return True


@inlined
def extremes(
    event: Array,
    given: Array,
    weight: float,
    forms: Array,
    count: int,
    lows: Array,
    highs: Array,
    cells: Cells,
    box: Array,
    most_nodes: int,
    room: Workspace,
    interval: Array,
) -> bool:
    """Write the bounds of P(event | given) into ``interval``; False where no distribution is left.

    ``event`` implies ``given``; both are indicators. ``weight``: a lower bound of P(given). Each end may use
    half of the entries in ``room.left``.
    """
    ranges = np.empty((len(cells.atom), 2))
    place_ranges(cells, box, ranges)
    filled = place_box(lows, highs, box, forms, count)
    point = np.empty(len(event))
    half = room.left[0] / 2.0
    room.left[0] = half
    low, _ = lowest(event, forms, filled, cells, ranges, given, weight, most_nodes, room, point)
    room.left[0] += half
    high, _ = lowest(-event, forms, filled, cells, ranges, given, weight, most_nodes, room, point)
    if low > 1.0 + 1e-6 or high > 1e-6:
        return False
    interval[0], interval[1] = min(max(low, 0.0), 1.0), min(max(-high, 0.0), 1.0)
    return True


@loop
def _note(marginals: Array, point: Array, lows: Array, highs: Array, finished: bool) -> None:
    """Store the ends of each atom at an optimal point; NaN where the search was not finished."""
    for i in range(len(lows)):
        low, high = 0.0, 0.0
        for j in range(len(point)):
            low += point[j] * lows[i, j]
            high += point[j] * highs[i, j]
        marginals[i, 0], marginals[i, 1] = (low, high) if finished else (np.nan, np.nan)


@loop
def _inside(marginals: Array, box: Array, atom: int) -> bool:
    """Whether an optimal point is stored and lies in the box, the intervals of all other atoms."""
    for i in range(len(box)):
        if i != atom and not (marginals[i, 1] >= box[i, 0] - 1e-9 and marginals[i, 0] <= box[i, 1] + 1e-9):
            return False
    return not np.isnan(marginals[atom, 0])
