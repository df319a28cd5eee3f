"""Small linear programs over distributions, solved from the dual side, so that every answer is a bound.

The program: the least ``costs @ p`` over p >= 0 with ``forms @ p >= 0`` and ``scale @ p == 1``, where
``scale`` is 0 or 1 (all ones: p is a distribution; the indicator of an event: p is one up to a factor, and
``costs @ p`` a probability given the event). Its dual, the largest t with ``scale t + y @ forms <= costs``
over y >= 0, has a feasible start, and *any* y >= 0 gives the lower bound t = min (costs - y @ forms). So the
bound returned is computed afresh from the final y: an early stop or rounding makes it weaker, never wrong.
What the computation of the bound itself may have rounded is taken off it. Outside the scale prices may take
nothing at all, however little is lost by rounding, for the scale may be as rare as it likes; so the simplex
method works with forms that are a little weaker, and what its prices prove is asked of the forms themselves.

>>> forms = np.array([[0.0, 1.0, 1.0]]) - 0.5  # p1 + p2 >= 0.5
>>> room = workspace(8, 3)
>>> bound, optimal = least(np.array([0.0, 1.0, 2.0]), forms, 1, np.ones(3), 1.0, room)
>>> round(bound, 6), optimal
(0.5, True)
>>> room.point[:3].round(6).tolist()
[0.5, 0.5, 0.0]
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from herbrand.engines.credal.rounding import UNIT

Array = NDArray[Any]

PIVOT = 1e-11
OPTIMAL = 1e-10
NUDGE = 1e-10
"""Costs are nudged apart by this much: equal ones could make the simplex method turn in a circle."""
WEAKER = 1e-13
"""By this share forms are weaker for the simplex method than those that its prices are charged for."""


class Workspace(NamedTuple):
    """Arrays that programs of one size use again and again; ``point`` holds the last optimal p."""

    table: Array  # [states, forms + 2]
    point: Array  # [states]
    prices: Array  # [forms]
    row_labels: Array  # [states]
    column_labels: Array  # [forms + 1]
    left: Array  # [1]: how many entries of tables may still be computed; below 0 all ends with what is proved


ENTRIES_A_SECOND = 1e9
"""About how many entries of its table the simplex method computes: compiled loops look at no clock."""


def workspace(forms: int, states: int, seconds: float = math.inf) -> Workspace:
    """Room for programs of at most that many forms, which take about so many seconds together at most."""
    return Workspace(
        np.empty((states, forms + 2)),
        np.empty(states),
        np.empty(forms),
        np.empty(states, np.int64),
        np.empty(forms + 1, np.int64),
        np.array([seconds * ENTRIES_A_SECOND]),
    )


@numba.njit(cache=True, nogil=True)
def least(
    costs: Array, forms: Array, count: int, scale: Array, weight: float, room: Workspace
) -> tuple[float, bool]:
    """A lower bound on the least value, and whether it is the optimum; ``inf`` where no p exists.

    ``forms[:count]`` are in force. ``weight``: the least that ``scale @ p`` can be when p sums to 1, at
    most; what prices take too much outside the scale is charged against it.
    """
    states = len(costs)
    table, labels, columns = room.table, room.row_labels, room.column_labels
    first = -1
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
        nudge = NUDGE * (0.5 + (j * 0.6180339887498949) % 1.0) * (1.0 if share > 0.0 else weight)
        table[j, width] = costs[j] - share * costs[first] + nudge
    for i in range(count):
        columns[i] = i
        table[first, i] = _weaker(forms[i, first])
    columns[count] = count + first
    table[first, count] = 1.0
    table[first, width] = costs[first]
    optimal = False
    for _ in range(50 + 20 * (states + count)):
        room.left[0] -= states * (width + 1)
        if room.left[0] < 0.0:
            break
        entering, steepest = -1, -OPTIMAL
        for i in range(width):
            if table[first, i] < steepest:
                entering, steepest = i, table[first, i]
        if entering < 0:
            optimal = True
            break
        leaving, nearest = -1, np.inf
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


@numba.njit(cache=True, nogil=True)
def _weaker(entry: float) -> float:
    return entry + WEAKER * abs(entry)


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True)
def _safe_bound(
    costs: Array, forms: Array, count: int, scale: Array, weight: float, first: int, room: Workspace
) -> float:
    """What the prices in the table prove; writes them and the point."""
    states = len(costs)
    table, point, prices = room.table, room.point, room.prices
    prices[:count] = 0.0
    point[:states] = 0.0
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


@numba.njit(cache=True, nogil=True)
def _no_point(forms: Array, count: int, scale: Array, first: int, entering: int, room: Workspace) -> bool:
    """Whether the ray of prices on which the dual has no limit proves that no p satisfies the forms."""
    states = len(room.point)
    prices = room.prices
    prices[:count] = 0.0
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
