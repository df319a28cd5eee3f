"""Loops over compressed rows that push weighted sets of constants through a relation, compiled by numba.

A state is groups of (constant, weight). Pushing it through a relation gives, for each group, the sum over
its constants of weight times the weight of each fact that leads on; ``best`` takes the largest term instead.

>>> pointers, columns = np.array([0, 2, 3]), np.array([0, 1, 1], np.int32)
>>> counts, found, totals = np.zeros(1, np.int64), np.zeros(8, np.int32), np.zeros(8)
>>> push(np.array([0, 2]), np.array([0, 1]), np.array([1.0, 5.0]), pointers, columns, np.ones(3),
...      np.zeros(2), np.full(2, -1), 0, False, 0, counts, found, totals)
(1, 1, 2)
>>> found[:2].tolist(), totals[:2].tolist()
([0, 1], [1.0, 6.0])
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit(cache=True, nogil=True)
def push(
    groups: Array,
    pivots: Array,
    values: Array,
    pointers: Array,
    columns: Array,
    weights: Array,
    sums: Array,
    marks: Array,
    stamp: int,
    best: bool,
    group: int,
    counts: Array,
    found: Array,
    totals: Array,
) -> tuple[Any, Any, Any]:
    """As many groups from ``group`` on as fit ``found``; gives (next stamp, next group, entries found).

    ``groups`` are pointers into ``pivots`` and ``values``; ``weights`` may be empty, all 1. ``sums`` and
    ``marks`` [width] are workspace, with marks below ``stamp``. ``counts`` [groups] is filled.
    """
    plain = len(weights) == 0
    width = len(sums)
    filled = 0
    while group < len(groups) - 1:
        bound = 0
        for one in range(groups[group], groups[group + 1]):
            bound += pointers[pivots[one] + 1] - pointers[pivots[one]]
        if filled + min(bound, width) > len(found):
            break
        start = filled
        for one in range(groups[group], groups[group + 1]):
            value = values[one]
            for entry in range(pointers[pivots[one]], pointers[pivots[one] + 1]):
                column = columns[entry]
                term = value if plain else value * weights[entry]
                if marks[column] != stamp:
                    marks[column] = stamp
                    sums[column] = term
                    found[filled] = column
                    filled += 1
                elif best:
                    if term > sums[column]:
                        sums[column] = term
                else:
                    sums[column] += term
        for place in range(start, filled):
            totals[place] = sums[found[place]]
        counts[group] = filled - start
        stamp += 1
        group += 1
    return stamp, group, filled


@numba.njit(cache=True, nogil=True)
def push_where(
    groups: Array,
    pivots: Array,
    values: Array,
    pointers: Array,
    columns: Array,
    weights: Array,
    sums: Array,
    marks: Array,
    stamp: int,
    best: bool,
    first: Array,
    length: Array,
    allowed: Array,
    allowed_weights: Array,
    counts: Array,
    found: Array,
    totals: Array,
) -> tuple[Any, Any]:
    """:func:`push` of all groups, kept and weighed where a second relation has a row too.

    Group g's rows there are ``length[g]`` places of ``allowed`` from ``first[g]`` on.
    """
    plain, evenly = len(weights) == 0, len(allowed_weights) == 0
    filled = 0
    for group in range(len(groups) - 1):
        counts[group] = 0
        start, stop = first[group], first[group] + length[group]
        if start == stop:
            continue
        for place in range(start, stop):
            marks[allowed[place]] = stamp
            sums[allowed[place]] = 0.0
        for one in range(groups[group], groups[group + 1]):
            value = values[one]
            for entry in range(pointers[pivots[one]], pointers[pivots[one] + 1]):
                column = columns[entry]
                if marks[column] == stamp:
                    term = value if plain else value * weights[entry]
                    if best:
                        if term > sums[column]:
                            sums[column] = term
                    else:
                        sums[column] += term
        before = filled
        for place in range(start, stop):
            total = sums[allowed[place]]
            if total != 0.0:
                found[filled] = allowed[place]
                totals[filled] = total if evenly else total * allowed_weights[place]
                filled += 1
        counts[group] = filled - before
        stamp += 1
    return stamp, filled


@numba.njit(cache=True, nogil=True)
def pull(
    pointers: Array, sources: Array, weights: Array, state: Array, active: Array, best: bool, made: Array,
    touched: Array,
) -> bool:  # fmt: skip
    """For every row of ``made``, the sum of its sources' rows of ``state`` times the facts' weights.

    ``active`` tells which rows of ``state`` hold anything; ``made`` and ``touched`` are 0, and rows of
    ``made`` that get anything are marked in ``touched``. Tells whether any did.
    """
    plain = len(weights) == 0
    many = state.shape[1]
    filled = False
    for row in range(len(pointers) - 1):
        for entry in range(pointers[row], pointers[row + 1]):
            source = sources[entry]
            if not active[source]:
                continue
            weight = 1.0 if plain else weights[entry]
            into, out_of = made[row], state[source]
            if best:
                for place in range(many):
                    into[place] = max(into[place], weight * out_of[place])
            elif touched[row]:
                for place in range(many):
                    into[place] += weight * out_of[place]
            else:
                for place in range(many):
                    into[place] = weight * out_of[place]
            touched[row] = True
            filled = True
    return filled


@numba.njit(cache=True, nogil=True)
def add_rows(total: Array, state: Array, rows: Array, best: bool) -> None:
    """Some rows of ``state`` into those of ``total``."""
    for row in range(len(rows)):
        if rows[row]:
            into, out_of = total[row], state[row]
            if best:
                for place in range(len(into)):
                    into[place] = max(into[place], out_of[place])
            else:
                for place in range(len(into)):
                    into[place] += out_of[place]


@numba.njit(cache=True, nogil=True)
def rows_filled(state: Array) -> Array:
    """Which rows hold anything but 0."""
    found = np.zeros(state.shape[0], np.bool_)
    for row in range(state.shape[0]):
        for place in range(state.shape[1]):
            if state[row, place] != 0.0:
                found[row] = True
                break
    return found


@numba.njit(cache=True, nogil=True)
def pull_one(pointers: Array, sources: Array, weights: Array, state: Array, best: bool, made: Array) -> bool:
    """:func:`pull` of a single column, [constants]."""
    plain = len(weights) == 0
    filled = False
    for row in range(len(pointers) - 1):
        total = 0.0
        if best:
            for entry in range(pointers[row], pointers[row + 1]):
                term = state[np.uint32(sources[entry])]  # unsigned: no look for indices from the end
                if not plain:
                    term *= weights[entry]
                total = max(total, term)
        elif plain:
            for entry in range(pointers[row], pointers[row + 1]):
                total += state[np.uint32(sources[entry])]
        else:
            for entry in range(pointers[row], pointers[row + 1]):
                total += state[np.uint32(sources[entry])] * weights[entry]
        made[row] = total
        filled = filled or total != 0.0
    return filled


@numba.njit(cache=True, nogil=True)
def entries(state: Array, active: Array) -> tuple[Array, Array, Array]:
    """Column, row and value of every entry that is not 0, column by column; in ``active`` rows alone."""
    counts = np.zeros(state.shape[1] + 1, np.int64)
    for row in range(state.shape[0]):
        if active[row]:
            for column in range(state.shape[1]):
                counts[column + 1] += state[row, column] != 0.0
    at = np.cumsum(counts)
    columns = np.empty(at[-1], np.int64)
    rows = np.empty(at[-1], np.int64)
    values = np.empty(at[-1])
    for row in range(state.shape[0]):
        if not active[row]:
            continue
        for column in range(state.shape[1]):
            if state[row, column] != 0.0:
                place = at[column]
                columns[place], rows[place], values[place] = column, row, state[row, column]
                at[column] += 1
    return columns, rows, values
