"""Compiled loops over compressed rows that push weighted sets of constants through a relation.

A state is groups of (constant, weight). A push through a relation computes, for each group and constant
reached, the sum over the group's constants of weight times the weight of each fact that leads there; ``best``
takes the largest term instead.

``marks`` [width] has the position of each reached constant among the results, as an offset from ``base[0]``;
lower marks belong to earlier groups. A kernel advances the base before it marks, so that marks never have to
be cleared between groups or calls. Indices in the innermost loops are unsigned: then compiled code does not
test for negative indices, which count from the end, and saves a third of the time.

>>> pointers, columns = np.array([0, 2, 3]), np.array([0, 1, 1], np.int32)
>>> taken = Taken(np.array([0, 2]), np.array([0, 1]), np.array([1.0, 5.0]), pointers, columns, np.ones(3))
>>> made = JoinedRows(np.zeros(1, np.int64), np.zeros(8, np.int64), np.zeros(8))
>>> push(taken, Marks.none(2), False, 0, 100, made)
(1, 2)
>>> made.found[:2].tolist(), made.totals[:2].tolist()
([0, 1], [1.0, 6.0])

The backward passes compute the gradients of a push's values and of the facts' weights from that of its
results. Each visits the same compressed rows as its kernel and no others, so that a gradient costs about
twice as much as the answer, and nothing is stored but the states.

>>> taken = taken._replace(weights=np.array([1.0, 1.0, 3.0]))
>>> of_values, of_weights = np.zeros(2), np.zeros(3)
>>> ends, found, slope = np.array([0, 2]), np.array([0, 1]), np.array([1.0, 10.0])
>>> push_back(taken, NO_MASK, ends, found, slope, NONE, np.zeros(2), of_values, of_weights, NONE)
>>> of_values.tolist(), of_weights.tolist()
([11.0, 30.0], [1.0, 10.0, 50.0])
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from herbrand.loops import loop

Array = NDArray[Any]

HIGHEST_MARK = 2**31 - 1


class Taken(NamedTuple):
    """The input of a push: ``groups`` are pointers into ``pivots`` and ``values``.

    ``pointers`` [pivot] delimit the facts of each pivot: the ``columns`` they lead to, and their ``weights``,
    which are empty if all are 1.
    """

    groups: Array
    pivots: Array
    values: Array
    pointers: Array
    columns: Array
    weights: Array


class Mask(NamedTuple):
    """The rows of a second relation that a push is restricted to.

    Group g has ``length[g]`` entries of ``allowed`` from ``first[g]`` on, with ``weights``, which are empty
    if all are 1.
    """

    first: Array
    length: Array
    allowed: Array
    weights: Array


class Marks(NamedTuple):
    """The last mark of each constant, and ``base`` [1]: lower marks are out of date."""

    marks: Array
    base: Array

    @classmethod
    def none(cls, width: int) -> Marks:
        return cls(np.full(width, -1, np.int32), np.zeros(1, np.int64))


class JoinedRows(NamedTuple):
    """The output of a push: the number of entries of each group, their constants, and their totals."""

    counts: Array
    found: Array
    totals: Array


@loop
def reserve(marks: Marks, count: Any) -> Any:
    """Reserve ``count`` unused marks and return the first; clear all marks when they would overflow."""
    if marks.base[0] + count > HIGHEST_MARK:
        marks.marks[:] = -1
        marks.base[0] = 0
    first = marks.base[0]
    marks.base[0] += count
    return first


@loop
def push(
    taken: Taken, marked: Marks, best: bool, group: int, most_steps: int, output: JoinedRows
) -> tuple[Any, Any]:
    """Push groups from ``group`` on while there is room, until more than ``most_steps`` facts are visited.

    Returns the next group and the number of entries.
    """
    groups, pivots, values = taken.groups, taken.pivots, taken.values
    pointers, columns, weights = taken.pointers, taken.columns, taken.weights
    marks, counts, reached, totals = marked.marks, output.counts, output.found, output.totals
    plain = len(weights) == 0
    width = len(marks)
    filled, steps = 0, 0
    while group < len(groups) - 1 and steps <= most_steps:
        bound = 0
        for one in range(groups[group], groups[group + 1]):
            bound += pointers[pivots[one] + 1] - pointers[pivots[one]]
        most = min(bound, width)  # a group reaches no constant twice
        if filled + most > len(reached):
            break
        start = filled
        steps += bound
        shift = reserve(marked, most) - start
        for one in range(groups[group], groups[group + 1]):
            value = values[one]
            entry, stop = np.uint64(pointers[pivots[one]]), np.uint64(pointers[pivots[one] + 1])
            while entry < stop:
                column = np.uint32(columns[entry])
                term = value if plain else value * weights[entry]
                at = marks[column] - shift
                if at < start:
                    marks[column] = shift + filled
                    reached[filled] = column
                    totals[filled] = term
                    filled += 1
                elif best:
                    totals[at] = max(totals[at], term)
                else:
                    totals[at] += term
                entry += np.uint64(1)
        counts[group] = filled - start
        group += 1
    return group, filled


@loop
def push_where(
    taken: Taken,
    mask: Mask,
    marked: Marks,
    best: bool,
    group: int,
    filled: int,
    most_steps: int,
    output: JoinedRows,
) -> tuple[Any, Any]:
    """:func:`push` restricted to, and weighted by, the rows of a mask.

    Entries are appended after the first ``filled``; there must be room for all of them.
    """
    groups, pivots, values = taken.groups, taken.pivots, taken.values
    pointers, columns, weights = taken.pointers, taken.columns, taken.weights
    first, length, allowed, allowed_weights = mask.first, mask.length, mask.allowed, mask.weights
    marks, counts, reached, totals = marked.marks, output.counts, output.found, output.totals
    plain, evenly = len(weights) == 0, len(allowed_weights) == 0
    steps = 0
    while group < len(groups) - 1 and steps <= most_steps:
        begin, many = first[group], length[group]
        if many == 0:
            group += 1
            continue
        shift = reserve(marked, many)
        into = totals[filled : filled + many]
        into[:] = 0.0
        for place in range(many):
            marks[allowed[begin + place]] = shift + place
        for one in range(groups[group], groups[group + 1]):
            value = values[one]
            entry, stop = np.uint64(pointers[pivots[one]]), np.uint64(pointers[pivots[one] + 1])
            steps += int(stop - entry)
            while entry < stop:
                at = marks[np.uint32(columns[entry])] - shift
                if at >= 0:
                    slot = np.uint64(at)
                    term = value if plain else value * weights[entry]
                    into[slot] = max(into[slot], term) if best else into[slot] + term
                entry += np.uint64(1)
        before = filled
        for place in range(many):
            total = into[place]
            if total != 0.0:
                reached[filled] = allowed[begin + place]
                totals[filled] = total if evenly else total * allowed_weights[begin + place]
                filled += 1
        counts[group] = filled - before
        group += 1
    return group, filled


@loop
def pull(
    pointers: Array,
    sources: Array,
    weights: Array,
    state: Array,
    active: Array,
    best: bool,
    output: Array,
    touched: Array,
) -> bool:
    """For every row of ``output``, sum its sources' rows of ``state`` times the facts' weights.

    ``active``: the rows of ``state`` that are not zero. All of ``output`` is written; ``touched`` is False at
    first, and is set for rows of ``output`` with an active source. Returns whether there are any.
    """
    plain = len(weights) == 0
    many = state.shape[1]
    filled = False
    for row in range(len(pointers) - 1):
        into = output[row]
        for entry in range(pointers[row], pointers[row + 1]):
            source = sources[entry]
            if not active[source]:
                continue
            weight = 1.0 if plain else weights[entry]
            out_of = state[source]
            if not touched[row]:
                for place in range(many):
                    into[place] = weight * out_of[place]
                touched[row] = True
            else:
                for place in range(many):
                    term = weight * out_of[place]
                    into[place] = max(into[place], term) if best else into[place] + term
        if touched[row]:
            filled = True
        else:
            into[:] = 0.0
    return filled


@loop
def add_rows(total: Array, state: Array, rows: Array, best: bool) -> None:
    """Add the marked rows of ``state`` to those of ``total``, or take their maximum if ``best``."""
    for row in range(len(rows)):
        if rows[row]:
            into, out_of = total[row], state[row]
            for place in range(len(into)):
                into[place] = max(into[place], out_of[place]) if best else into[place] + out_of[place]


@loop
def pull_one(
    pointers: Array, sources: Array, weights: Array, state: Array, best: bool, output: Array
) -> bool:
    """:func:`pull` for a single column [constants]; returns whether any result is not 0."""
    plain = len(weights) == 0
    filled = False
    entry = np.uint64(0)
    for row in range(np.uint64(len(pointers) - 1)):
        total = 0.0
        stop = np.uint64(pointers[row + np.uint64(1)])
        while entry < stop:
            term = state[np.uint32(sources[entry])]
            if not plain:
                term *= weights[entry]
            total = max(total, term) if best else total + term
            entry += np.uint64(1)
        output[row] = total
        filled = filled or total != 0.0
    return filled


@loop
def entries(state: Array, active: Array) -> tuple[Array, Array, Array]:
    """Column, row and value of every nonzero entry of the ``active`` rows, column by column."""
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


@loop
def _slopes_of_group(
    begin: int, end: int, taken: Taken, slopes: Array, of_values: Array, of_weights: Array
) -> None:
    """Gradients of the values from ``begin`` to ``end``, and of the weights of their facts.

    ``slopes`` [width] is the gradient of each column.
    """
    pivots, values = taken.pivots, taken.values
    pointers, columns, weights = taken.pointers, taken.columns, taken.weights
    plain, needs_weights = len(weights) == 0, len(of_weights) > 0
    for one in range(begin, end):
        value, total = values[one], 0.0
        for entry in range(pointers[pivots[one]], pointers[pivots[one] + 1]):
            here = slopes[columns[entry]]
            total += here if plain else here * weights[entry]
            if needs_weights:
                of_weights[entry] += here * value
        of_values[one] = total


@loop
def push_back(
    taken: Taken,
    mask: Mask,
    ends: Array,
    reached: Array,
    slope: Array,
    sums: Array,
    slopes: Array,
    of_values: Array,
    of_weights: Array,
    of_allowed: Array,
) -> None:
    """Backward pass of :func:`push_where`, and of :func:`push` if the mask is :data:`NO_MASK`.

    ``reached[ends[g]:ends[g + 1]]`` are group g's, with gradient ``slope``; ``sums`` and ``slopes`` [width]
    are 0 at first, and again in the end if there is a mask. The other arrays are 0 at first and get the
    gradients, unless they are empty.
    """
    groups, pivots, values = taken.groups, taken.pivots, taken.values
    pointers, columns, weights = taken.pointers, taken.columns, taken.weights
    first, length, allowed, allowed_weights = mask.first, mask.length, mask.allowed, mask.weights
    plain, evenly = len(weights) == 0, len(allowed_weights) == 0
    wanted_allowed = len(of_allowed) > 0
    for group in range(len(groups) - 1):
        if ends[group] == ends[group + 1]:
            continue
        for place in range(ends[group], ends[group + 1]):
            slopes[reached[place]] = slope[place]
        if wanted_allowed:
            for one in range(groups[group], groups[group + 1]):
                for entry in range(pointers[pivots[one]], pointers[pivots[one] + 1]):
                    sums[columns[entry]] += values[one] if plain else values[one] * weights[entry]
            for place in range(first[group], first[group] + length[group]):
                of_allowed[place] += slopes[allowed[place]] * sums[allowed[place]]
            for one in range(groups[group], groups[group + 1]):
                for entry in range(pointers[pivots[one]], pointers[pivots[one] + 1]):
                    sums[columns[entry]] = 0.0
        if not evenly:
            for place in range(first[group], first[group] + length[group]):
                slopes[allowed[place]] *= allowed_weights[place]
        _slopes_of_group(groups[group], groups[group + 1], taken, slopes, of_values, of_weights)
        if len(first) > 0:  # facts of the next group may lead to constants outside its mask
            for place in range(ends[group], ends[group + 1]):
                slopes[reached[place]] = 0.0


@loop
def pull_back(
    pointers: Array,
    sources: Array,
    weights: Array,
    state: Array,
    active: Array,
    slope: Array,
    of_state: Array,
    of_weights: Array,
) -> None:
    """Backward pass of :func:`pull`; ``of_state`` and ``of_weights`` are 0 at first, or empty if unused."""
    plain = len(weights) == 0
    needs_state, needs_weights = len(of_state) > 0, len(of_weights) > 0
    many = state.shape[1]
    for row in range(len(pointers) - 1):
        above = slope[row]
        some = False
        for place in range(many):
            if above[place] != 0.0:
                some = True
                break
        if not some:
            continue
        for entry in range(pointers[row], pointers[row + 1]):
            source = sources[entry]
            if not active[source]:
                continue
            if needs_state:
                weight = 1.0 if plain else weights[entry]
                into = of_state[source]
                for place in range(many):
                    into[place] += weight * above[place]
            if needs_weights:
                of_weights[entry] += _dot(state[source], above)


@loop
def _dot(first: Array, second: Array) -> Any:
    """Scalar product, summed by quarters: additions of one sum wait for each other.

    The order is fixed, so that plain Python and compiled code compute the same bits on every processor.
    """
    quarter = len(first) // 4
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    for place in range(quarter):
        one += first[place] * second[place]
        two += first[quarter + place] * second[quarter + place]
        three += first[2 * quarter + place] * second[2 * quarter + place]
        four += first[3 * quarter + place] * second[3 * quarter + place]
    for place in range(4 * quarter, len(first)):
        one += first[place] * second[place]
    return (one + two) + (three + four)


NONE: NDArray[np.float64] = np.empty(0)
NO_MATRIX: NDArray[np.float64] = np.empty((0, 0))
"""Empty arrays for gradients that are not needed."""

NO_MASK = Mask(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32), NONE)
