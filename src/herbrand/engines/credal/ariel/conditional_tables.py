"""Bounds of a child and its two parents from an interval for each row of its conditional table: closed forms.

``low[i]``, ``high[i]`` bound P(child | case i of the parents), the first parent being the high bit. For
the child: with independent parents P(child) is multilinear in the parents' probabilities, so its extremes lie
at corners of their box; with dependent ones an extreme lies at a corner or at a kink of the parents' greatest
or least overlap (the Frechet bounds). For the parents: those q with ``low @ q <= upper P(child)`` and
``high @ q >= lower P(child)``, two forms for :mod:`herbrand.engines.credal.ariel.pairs`.

>>> low, high = np.array([0.1, 0.5, 0.5, 0.8]), np.array([0.2, 0.6, 0.6, 0.9])
>>> box = np.array([0.0, 1.0, 0.4, 0.5, 0.2, 0.2])
>>> tighten_table(low, high, True, box), [round(float(x), 3) for x in box]
(True, [0.332, 0.47, 0.4, 0.5, 0.2, 0.2])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herbrand.engines.credal.ariel.pairs import tighten_linked, tighten_unlinked
from herbrand.engines.credal.rounding import UNIT
from herbrand.loops import loop

Array = NDArray[Any]

CROSSED = 1e-11
"""Ends that cross by more than this are a contradiction."""
ROUNDINGS = 32 * UNIT
"""Largest relative rounding error of the child's probability, computed for given parents' probabilities."""


@loop
def tighten_table(low: Array, high: Array, unlinked: bool, box: Array) -> bool:
    """Tighten the box of the lower and upper ends of child, first and second parent in place.

    False where no distribution is left.
    """
    parents = box[2:]
    least, most = child_interval(low, high, parents[:2], parents[2:], unlinked)
    if least > box[0]:
        box[0] = least
    if most < box[1]:
        box[1] = most
    if box[0] > box[1] + CROSSED:
        return False
    forms = np.empty((2, 4))
    bits = 0
    if box[1] < 1.0:
        for i in range(4):
            forms[bits, i] = _difference_above(box[1], low[i])
        bits += 1
    if box[0] > 0.0:
        for i in range(4):
            forms[bits, i] = _difference_above(high[i], box[0])
        bits += 1
    if unlinked:
        return tighten_unlinked(forms[:bits], parents)
    return tighten_linked(forms[:bits], parents)


@loop
def _difference_above(one: float, other: float) -> float:
    """An upper bound of ``one - other``; exact for equal numbers."""
    return one - other + UNIT * abs(one - other) if one != other else 0.0


@loop
def child_interval(
    low: Array, high: Array, first: Array, second: Array, unlinked: bool
) -> tuple[float, float]:
    """The interval of the child from the parents' intervals, rounded outward."""
    # also by P(not child), whose relative error is far smaller where the child is nearly certain
    least = max(
        _extreme(low, first, second, unlinked, -1.0) * (1.0 - ROUNDINGS),
        1.0 - _extreme(1.0 - low, first, second, unlinked, 1.0) * (1.0 + ROUNDINGS) - UNIT,
    )
    most = min(
        _extreme(high, first, second, unlinked, 1.0) * (1.0 + ROUNDINGS),
        1.0 - _extreme(1.0 - high, first, second, unlinked, -1.0) * (1.0 - ROUNDINGS) + UNIT,
    )
    if (low == 1.0).all():
        least = 1.0
    if (high == 0.0).all():
        most = 0.0
    return max(least, 0.0), min(most, 1.0)


@loop
def _extreme(column: Array, first: Array, second: Array, unlinked: bool, sign: float) -> float:
    """The maximum (``sign`` 1) or minimum (-1) of ``column @ q`` over parents in their box.

    For independent parents its relative error is at most ``ROUNDINGS``, since all terms are positive. For
    dependent ones the possible error of subtractions is added, or subtracted for a minimum.
    """
    best = np.inf if sign < 0.0 else -np.inf
    twist = sign * (column[3] - column[2] - column[1] + column[0])
    for i in range(2):
        for j in range(2):
            best = _better(best, _value(column, first[i], second[j], unlinked, twist), sign)
    if not unlinked:
        for i in range(2):  # the kinks of the overlap's Frechet bounds: a = b, or a + b = 1
            other = first[i] if twist > 0.0 else 1.0 - first[i]
            if second[0] < other < second[1]:
                best = _better(best, _value(column, first[i], other, unlinked, twist), sign)
            other = second[i] if twist > 0.0 else 1.0 - second[i]
            if first[0] < other < first[1]:
                best = _better(best, _value(column, other, second[i], unlinked, twist), sign)
        best += sign * ROUNDINGS * column.max()
    return max(best, 0.0)


@loop
def _better(best: float, value: float, sign: float) -> float:
    return max(best, value) if sign > 0.0 else min(best, value)


@loop
def _value(column: Array, a: float, b: float, unlinked: bool, twist: float) -> float:
    if unlinked:
        return (1.0 - a) * ((1.0 - b) * column[0] + b * column[1]) + a * (
            (1.0 - b) * column[2] + b * column[3]
        )
    overlap = min(a, b) if twist > 0.0 else max(0.0, a + b - 1.0)
    neither = max(0.0, 1.0 - max(a, b) if twist > 0.0 else 1.0 - a - b)
    return neither * column[0] + (b - overlap) * column[1] + (a - overlap) * column[2] + overlap * column[3]
