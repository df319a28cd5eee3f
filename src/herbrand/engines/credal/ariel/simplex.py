"""Small linear programs over distributions, solved from the dual side, so that every answer is a bound.

The program: minimise ``costs @ p`` over p >= 0 with ``forms @ p >= 0`` and ``scale @ p == 1``, where
``scale`` is 0 or 1 (all ones: p is a distribution; the indicator of an event: p is one up to a factor, and
``costs @ p`` a probability given the event). Its dual, maximise t with ``scale t + y @ forms <= costs``
over prices y >= 0, has a feasible start, and *any* y >= 0 gives the lower bound t = min (costs - y @ forms).
So the bound is computed anew from the final y, and its own rounding errors are subtracted: an early stop or
rounding makes it weaker, never wrong. In states outside the scale ``y @ forms`` must not exceed the costs at
all, since the scale may have any small probability. So the simplex method works with slightly weaker forms,
and its prices are applied to the original ones.

>>> forms = np.array([[0.0, 1.0, 1.0]]) - 0.5  # p1 + p2 >= 0.5
>>> room = workspace(8, 3)
>>> bound, optimal = least(np.array([0.0, 1.0, 2.0]), forms, 1, np.ones(3), 1.0, room)
>>> round(float(bound), 6), optimal
(0.5, True)
>>> room.point[:3].round(6).tolist()
[0.5, 0.5, 0.0]

Global bounds over a factor's distributions are computed by branch and bound on the independences, with these
programs as relaxations. ``x independent of T given S`` has, for each case s of S, one parameter r = P(x | s);
with r fixed it is linear in the masses. A *cell* is such a parameter with its range; over a range it is
relaxed to linear forms, exact where the range is a point:

- a *spread* of a cell over a case t of T:  low P(t, s) <= P(x, t, s) <= high P(t, s);
- a *product* of the cells of x and of t:  the four products of (P(x | s) - an end) and (P(t | s) - an end).

The search splits the range of the most violated cell at the relaxation's optimum and always continues with
the node of the lowest bound. It returns the lowest bound of all open nodes: an outer bound wherever it stops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from herbrand.engines.credal.ariel.copies import copy_row, copy_table, fill_row
from herbrand.engines.credal.rounding import UNIT
from herbrand.loops import compiled, inlined, loop, plain_left, spend

Array = NDArray[Any]

NONE: Any = np.int64(-1)
"""No row or column. A plain -1 has another type, for which numba would compile its callees once more."""
PIVOT = 1e-11
"""Smallest entry that the simplex method divides by."""
OPTIMAL = 1e-10
"""Largest reduced cost at which a program counts as solved."""
NUDGE = 1e-10
"""Size of the perturbation of costs: equal costs could make the simplex method cycle."""
FEWEST_PIVOTS, PIVOTS_A_LABEL = 50, 3
"""Most pivots of a program: a constant, and a number for each state and form. Programs that reach their
optimum take a third of it; costs scaled to an event that may have probability 0 are not perturbed, and can
cycle."""
WEAKER = 1e-13
"""Share by which forms are weakened for the simplex method, but not for the bound that its prices prove."""


class Workspace(NamedTuple):
    """Reusable arrays for programs up to one size; ``point`` is the last optimal p, ``prices`` its dual y."""

    table: Array  # [states, forms + 2]
    point: Array  # [states]
    prices: Array  # [forms]
    row_labels: Array  # [states]
    column_labels: Array  # [forms + 1]
    left: Array  # [1] table entries that may still be computed; below 0 every search stops with its bound


ENTRIES_A_SECOND = 1e9
"""Approximate speed of the simplex method in table entries: compiled loops cannot look at a clock."""


def workspace(forms: int, states: int, seconds: float = math.inf) -> Workspace:
    """Allocate arrays for programs of at most ``forms`` forms, with entries for about ``seconds`` in all."""
    return Workspace(
        np.empty((states, forms + 2)),
        np.empty(states),
        np.empty(forms),
        np.empty(states, np.int64),
        np.empty(forms + 1, np.int64),
        np.array([seconds * ENTRIES_A_SECOND]),
    )


Trial = Callable[[Callable[..., int], Workspace, bool], int]
"""A function that runs a loop over programs in a workspace; the last argument is True if a loop that ends
early will be run again."""


def tried(programs: Callable[..., int], room: Workspace, run: Trial) -> int:
    """Run a loop over programs: in plain Python within the entries left for that, else compiled.

    The length of a search cannot be estimated, so short ones are spared the compilation by trying.
    """
    plain = plain_left(programs)
    if plain < 0.0:
        return run(compiled(programs), room, False)
    has_time = room.left[0] > plain
    trial = room._replace(left=np.array([plain])) if has_time else room
    entries = trial.left[0]
    result = run(programs, trial, has_time)
    spend(programs, entries - trial.left[0])
    if has_time and trial.left[0] < 0.0:
        return run(compiled(programs), room, False)
    return result


@inlined
def least(
    costs: Array, forms: Array, count: int, scale: Array, weight: float, room: Workspace
) -> tuple[float, bool]:
    """A lower bound of ``costs @ p``, and whether it is the optimum; ``inf`` where no p exists.

    Only ``forms[:count]`` are used. ``weight``: a lower bound of ``scale @ p`` when p sums to 1; an excess of
    ``y @ forms`` over the costs outside the scale is divided by it and subtracted.
    """
    states = len(costs)
    table, labels, columns = room.table, room.row_labels, room.column_labels
    first = NONE
    for j in range(states):
        if scale[j] > 0.0 and (first < 0 or costs[j] < costs[first]):
            first = j
    width = count + 1
    for j in range(states):
        labels[j] = count + j
        share = scale[j]
        for i in range(count):
            table[j, i] = _weaker(forms[i, j]) - share * _weaker(forms[i, first])
        table[j, count] = -share
        # multiples of the golden ratio modulo 1 are all different and evenly spread
        nudge = NUDGE * (0.5 + (j * 0.6180339887498949) % 1.0) * (1.0 if share > 0.0 else weight)
        table[j, width] = costs[j] - share * costs[first] + nudge
    for i in range(count):
        columns[i] = i
        table[first, i] = _weaker(forms[i, first])
    columns[count] = count + first
    table[first, count] = 1.0
    table[first, width] = costs[first]
    optimal = False
    for _ in range(FEWEST_PIVOTS + PIVOTS_A_LABEL * (states + count)):
        room.left[0] -= states * (width + 1)
        if room.left[0] < 0.0:
            break
        entering, steepest = NONE, -OPTIMAL
        for i in range(width):
            if table[first, i] < steepest:
                entering, steepest = i, table[first, i]
        if entering < 0:
            optimal = True
            break
        leaving, nearest = NONE, np.inf
        for j in range(states):
            if j != first and table[j, entering] > PIVOT:
                ratio = table[j, width] / table[j, entering]
                if ratio < nearest:
                    leaving, nearest = j, ratio
        if leaving < 0:
            if _no_point(forms, count, scale, first, entering, room):
                return np.inf, True
            break
        _pivot(table, leaving, entering, states, width + 1)
        labels[leaving], columns[entering] = columns[entering], labels[leaving]
    return _safe_bound(costs, forms, count, scale, weight, first, room), optimal


@loop
def _weaker(entry: float) -> float:
    return entry + WEAKER * abs(entry)


@loop
def _pivot(table: Array, row: int, column: int, rows: int, columns: int) -> None:
    inverse = 1.0 / table[row, column]
    for i in range(columns):
        table[row, i] *= inverse
    for j in range(rows):
        factor = table[j, column]
        if j != row and factor != 0.0:
            for i in range(columns):
                table[j, i] -= factor * table[row, i]
            table[j, column] = -factor * inverse
    table[row, column] = inverse


@loop
def _safe_bound(
    costs: Array, forms: Array, count: int, scale: Array, weight: float, first: int, room: Workspace
) -> float:
    """The lower bound that the prices in the table prove; prices and point are written to the workspace."""
    states = len(costs)
    table, point, prices = room.table, room.point, room.prices
    fill_row(prices, count, 0.0)
    fill_row(point, states, 0.0)
    for j in range(states):
        if j != first and room.row_labels[j] < count:
            prices[room.row_labels[j]] = max(table[j, count + 1], 0.0)
    for i in range(count + 1):
        if room.column_labels[i] >= count:
            point[room.column_labels[i] - count] = max(table[first, i], 0.0)
    bound, excess = np.inf, 0.0
    for j in range(states):
        left, size, terms = costs[j], abs(costs[j]), 8
        for i in range(count):
            if prices[i] != 0.0 and forms[i, j] != 0.0:
                left -= prices[i] * forms[i, j]
                size += abs(prices[i] * forms[i, j])
                terms += 1
        # each entry of a form is a product of up to three rounded numbers, and each sum is rounded once
        left -= terms * UNIT * size if terms > 8 else 0.0
        if scale[j] > 0.0:
            bound = min(bound, left)
        else:
            excess = max(excess, -left)
    if excess <= 0.0:
        return bound
    return bound - excess / weight * (1.0 + 8.0 * UNIT) - 8.0 * UNIT if weight > 0.0 else -np.inf


@loop
def _no_point(forms: Array, count: int, scale: Array, first: int, entering: int, room: Workspace) -> bool:
    """Whether the ray of prices on which the dual is unbounded proves that no p satisfies the forms."""
    states = len(room.point)
    prices = room.prices
    fill_row(prices, count, 0.0)
    if room.column_labels[entering] < count:
        prices[room.column_labels[entering]] = 1.0
    for j in range(states):
        if j != first and room.row_labels[j] < count:
            prices[room.row_labels[j]] = max(-room.table[j, entering], 0.0)
    total = 0.0
    for i in range(count):
        total += prices[i]
    for j in range(states):
        value, size = 0.0, 0.0
        for i in range(count):
            value += prices[i] * forms[i, j]
            size += abs(prices[i] * forms[i, j])
        value += (count + 8) * UNIT * size
        if value > (-1e-9 * total if scale[j] > 0.0 else 0.0):
            return False
    return True


VIOLATED = 1e-7
"""Violation of an independence, in probability, up to which no cell is split."""
NARROW = 1e-5
"""Width of ranges up to which they are not split: the relaxation is then within 1e-10."""


class Cells(NamedTuple):
    """The independences of one factor shape, over its states; cell c is P(x | s).

    ``holds[c]`` marks the states of x and s; ``given[c]`` those of s. ``atom[c]`` is x where s is empty, so
    that the range is x's interval, else -1. ``products``: pairs of cells. ``spread_cell[i]``: the cell of
    spread i, and ``spread[i]`` marks the states of t and s.
    """

    holds: Array  # [cells, states]
    given: Array  # [cells, states]
    atom: Array  # [cells]
    products: Array  # [products, 2]
    spread_cell: Array  # [spreads]
    spread: Array  # [spreads, states]


@loop
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
    """A lower bound of ``costs @ p`` under forms and independences, and whether the search was completed.

    ``inf`` where no p satisfies them. ``costs`` are at most 1, as those of probabilities are.
    ``forms[:count]`` are used; those of the cells are written behind them. ``ranges``: [cells, 2].
    """
    bound, exact = _relaxed(costs, forms, count, cells, ranges, scale, weight, room)
    copy_row(room.point, best_point, len(costs))
    if len(cells.atom) == 0 or bound == np.inf:
        return bound, exact
    cell, value = _most_violated(room.point, cells, ranges)
    if cell < 0:
        return bound, exact
    nodes = np.empty((most_nodes + 2, len(cells.atom), 2))
    child_ranges = np.empty((len(cells.atom), 2))
    bounds = np.empty(most_nodes + 2)
    split_cell = np.empty(most_nodes + 2, np.int64)
    split_at = np.empty(most_nodes + 2)
    points = np.empty((most_nodes + 2, len(costs)))
    copy_table(ranges, nodes[0], len(ranges))
    copy_row(best_point, points[0], len(costs))
    bounds[0], split_cell[0], split_at[0] = bound, cell, value
    count_nodes, done = 1, exact
    solved = 0
    while count_nodes > 0:
        lowest_node = 0
        for i in range(1, count_nodes):
            if bounds[i] < bounds[lowest_node]:
                lowest_node = i
        cell, value, bound = split_cell[lowest_node], split_at[lowest_node], bounds[lowest_node]
        if cell < 0 or solved >= most_nodes or count_nodes >= most_nodes or room.left[0] < 0.0:
            copy_row(points[lowest_node], best_point, len(costs))
            return bound, done and cell < 0
        low, high = nodes[lowest_node, cell, 0], nodes[lowest_node, cell, 1]
        last = count_nodes - 1
        copy_table(nodes[lowest_node], child_ranges, len(ranges))
        copy_table(nodes[last], nodes[lowest_node], len(ranges))
        bounds[lowest_node] = bounds[last]
        split_cell[lowest_node], split_at[lowest_node] = split_cell[last], split_at[last]
        copy_row(points[last], points[lowest_node], len(costs))
        count_nodes -= 1
        for side in range(2):
            child_ranges[cell, 0] = low if side == 0 else value
            child_ranges[cell, 1] = value if side == 0 else high
            here, exact = _relaxed(costs, forms, count, cells, child_ranges, scale, weight, room)
            solved += 1
            if here > 1.0 + 1e-6:  # more than any probability: the node is infeasible
                continue
            done = done and exact
            copy_table(child_ranges, nodes[count_nodes], len(ranges))
            bounds[count_nodes] = max(here, bound)
            copy_row(room.point, points[count_nodes], len(costs))
            split_cell[count_nodes], split_at[count_nodes] = _most_violated(room.point, cells, child_ranges)
            count_nodes += 1
    return np.inf, True


@loop
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
    """Solve the linear relaxation in which every cell may take any value of its range."""
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
                for form in range(at, at + 4):
                    forms[form, j] = 0.0
        at += 4
    for i in range(len(cells.spread_cell)):
        cell = cells.spread_cell[i]
        for j in range(len(costs)):
            share = cells.spread[i, j]
            forms[at, j] = share * (cells.holds[cell, j] - ranges[cell, 0])
            forms[at + 1, j] = share * (ranges[cell, 1] - cells.holds[cell, j])
        at += 2
    return least(costs, forms, at, scale, weight, room)


@loop
def _most_violated(point: Array, cells: Cells, ranges: Array) -> tuple[int, float]:
    """The cell to split and the value to split at; -1 where the point violates no independence."""
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
