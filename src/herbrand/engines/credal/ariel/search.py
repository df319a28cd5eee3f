"""Global bounds over a factor's distributions: linear programs, and branch and bound on the independences.

Owns the search and the form in which it represents independence. ``x independent of T given S`` has, for each
case s of S, one parameter r = P(x | s); with r fixed it is linear in the masses. A *cell* is such a parameter
with its range; over a range it is relaxed to linear forms, exact where the range is a point:

- a *spread* of a cell over a case t of T:  low P(t, s) <= P(x, t, s) <= high P(t, s);
- a *product* of the cells of x and of t:  the four products of (P(x | s) - an end) and (P(t | s) - an end).

The search splits the range of the most violated cell at the relaxation's optimum and always goes on with the
lowest bound. What it returns is the lowest bound of all that is left: an outer bound at whatever node it
stops.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from herbrand.engines.credal.ariel.simplex import Workspace, least

Array = NDArray[Any]

VIOLATED = 1e-7
"""A smaller violation of an independence moves no bound by what anybody sees."""
NARROW = 1e-5
"""Ranges narrower than this are not split: the relaxation is then within 1e-10."""


class Cells(NamedTuple):
    """The independences of one factor shape, over its states.

    ``holds[c]``: x and s hold; ``given[c]``: s holds. ``atom[c]``: whose interval is the range where nothing
    is given, else -1. ``products``: pairs of cells. ``spread_cell[i]``, ``spread[i]``: t and s hold.
    """

    holds: Array  # [cells, states]
    given: Array  # [cells, states]
    atom: Array  # [cells]
    products: Array  # [products, 2]
    spread_cell: Array  # [spreads]
    spread: Array  # [spreads, states]


@numba.njit(cache=True, nogil=True)
def form_count(cells: Cells) -> int:
    return 4 * len(cells.products) + 2 * len(cells.spread_cell)


@numba.njit(cache=True, nogil=True)
def lowest(
    costs: Array,
    forms: Array,
    count: int,
    cells: Cells,
    ranges: Array,
    scale: Array,
    weight: float,
    most_nodes: int,
    room: Workspace,
    best_point: Array,
) -> tuple[float, bool]:
    """A lower bound on ``costs @ p`` under forms and independences, and whether the search came to its end.

    ``inf`` where nothing satisfies them. ``costs`` are at most 1, as those of probabilities are.
    ``forms[:count]`` are in force; those of the cells are written behind them. ``ranges``: [cells, 2].
    """
    bound, exact = _relaxed(costs, forms, count, cells, ranges, scale, weight, room)
    best_point[:] = room.point[: len(costs)]
    if len(cells.atom) == 0 or bound == np.inf:
        return bound, exact
    cell, value = _most_violated(room.point, cells, ranges)
    if cell < 0:
        return bound, exact
    nodes = np.empty((most_nodes + 2, len(cells.atom), 2))
    bounds = np.empty(most_nodes + 2)
    split_cell = np.empty(most_nodes + 2, np.int64)
    split_at = np.empty(most_nodes + 2)
    points = np.empty((most_nodes + 2, len(costs)))
    nodes[0], bounds[0], split_cell[0], split_at[0], points[0] = ranges, bound, cell, value, best_point
    count_nodes, done = 1, exact
    solved = 0
    while count_nodes > 0:
        lowest_node = 0
        for i in range(1, count_nodes):
            if bounds[i] < bounds[lowest_node]:
                lowest_node = i
        cell, value, bound = split_cell[lowest_node], split_at[lowest_node], bounds[lowest_node]
        if cell < 0 or solved >= most_nodes or count_nodes >= most_nodes or room.left[0] < 0.0:
            best_point[:] = points[lowest_node]
            return bound, done and cell < 0
        low, high = nodes[lowest_node, cell, 0], nodes[lowest_node, cell, 1]
        last = count_nodes - 1
        child_ranges = nodes[lowest_node].copy()
        nodes[lowest_node], bounds[lowest_node] = nodes[last], bounds[last]
        split_cell[lowest_node], split_at[lowest_node] = split_cell[last], split_at[last]
        points[lowest_node] = points[last]
        count_nodes -= 1
        for side in range(2):
            child_ranges[cell, 0] = low if side == 0 else value
            child_ranges[cell, 1] = value if side == 0 else high
            here, exact = _relaxed(costs, forms, count, cells, child_ranges, scale, weight, room)
            solved += 1
            if here > 1.0 + 1e-6:  # more than any probability: there is no point here
                continue
            done = done and exact
            nodes[count_nodes] = child_ranges
            bounds[count_nodes] = max(here, bound)
            points[count_nodes] = room.point[: len(costs)]
            split_cell[count_nodes], split_at[count_nodes] = _most_violated(room.point, cells, child_ranges)
            count_nodes += 1
    return np.inf, True


@numba.njit(cache=True, nogil=True)
def _relaxed(
    costs: Array,
    forms: Array,
    count: int,
    cells: Cells,
    ranges: Array,
    scale: Array,
    weight: float,
    room: Workspace,
) -> tuple[float, bool]:
    """The linear program in which every cell may take any value of its range."""
    at = count
    for i in range(len(cells.products)):
        one, other = cells.products[i, 0], cells.products[i, 1]
        for j in range(len(costs)):
            if cells.given[one, j] > 0.0:
                x, t = cells.holds[one, j], cells.holds[other, j]
                above_x, below_x = x - ranges[one, 0], ranges[one, 1] - x
                above_t, below_t = t - ranges[other, 0], ranges[other, 1] - t
                forms[at, j] = above_x * above_t
                forms[at + 1, j] = below_x * below_t
                forms[at + 2, j] = above_x * below_t
                forms[at + 3, j] = below_x * above_t
            else:
                forms[at : at + 4, j] = 0.0
        at += 4
    for i in range(len(cells.spread_cell)):
        cell = cells.spread_cell[i]
        for j in range(len(costs)):
            share = cells.spread[i, j]
            forms[at, j] = share * (cells.holds[cell, j] - ranges[cell, 0])
            forms[at + 1, j] = share * (ranges[cell, 1] - cells.holds[cell, j])
        at += 2
    return least(costs, forms, at, scale, weight, room)


@numba.njit(cache=True, nogil=True)
def _most_violated(point: Array, cells: Cells, ranges: Array) -> tuple[int, float]:
    """The cell to split and where; -1 where the point breaks no independence."""
    states = cells.given.shape[1]
    worst, chosen = VIOLATED, -1
    for i in range(len(cells.products)):
        one, other = cells.products[i, 0], cells.products[i, 1]
        given, x, t, both = 0.0, 0.0, 0.0, 0.0
        for j in range(states):
            if cells.given[one, j] > 0.0:
                given += point[j]
                x += cells.holds[one, j] * point[j]
                t += cells.holds[other, j] * point[j]
                both += cells.holds[one, j] * cells.holds[other, j] * point[j]
        if given > 1e-12 and abs(both - x * t / given) > worst:
            wide, wide_other = ranges[one, 1] - ranges[one, 0], ranges[other, 1] - ranges[other, 0]
            if max(wide, wide_other) > NARROW:
                worst = abs(both - x * t / given)
                chosen = one if wide >= wide_other else other
    for i in range(len(cells.spread_cell)):
        cell = cells.spread_cell[i]
        if ranges[cell, 1] - ranges[cell, 0] <= NARROW:
            continue
        given, x, t, both = 0.0, 0.0, 0.0, 0.0
        for j in range(states):
            given += cells.given[cell, j] * point[j]
            x += cells.holds[cell, j] * point[j]
            t += cells.spread[i, j] * point[j]
            both += cells.spread[i, j] * cells.holds[cell, j] * point[j]
        if given > 1e-12 and abs(both - x * t / given) > worst:
            worst, chosen = abs(both - x * t / given), cell
    if chosen < 0:
        return -1, 0.0
    given, x = 0.0, 0.0
    for j in range(states):
        given += cells.given[chosen, j] * point[j]
        x += cells.holds[chosen, j] * point[j]
    low, high = ranges[chosen, 0], ranges[chosen, 1]
    margin = 0.1 * (high - low)
    value = x / given if given > 1e-12 else 0.5 * (low + high)
    if value < low + margin or value > high - margin:
        value = min(max(value, low + margin), high - margin)
    return chosen, value
