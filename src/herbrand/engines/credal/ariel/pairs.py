"""Bounds on two atoms from linear forms over their four joint states: closed forms, compiled.

Most messages are such programs of two variables. The joint distribution of atoms a and b is
q = (q00, q01, q10, q11), the first index for a; a *form* g is four numbers with g · q >= 0. A box is the four
numbers (lower a, upper a, lower b, upper b). :func:`tighten_linked` allows any q: q11 is eliminated
(Fourier and Motzkin) and the box is clipped by the resulting half-planes in P(a) and P(b).
:func:`tighten_unlinked` allows products only: the forms are then bilinear in P(a) and P(b), and an extreme
point lies where a curve meets an edge of the box or another curve.

Rounding goes outward. The value of a form whose numbers are at most ``size`` has an error of at most
``SLACK * size`` at every point, so a point within that counts as inside; the size is that of the summands,
not of the sum. The meeting point of a curve has the error that follows from this one, and the box is widened
by it.

>>> forms = np.array([[0, 0, 0, 1.0]]) - 0.4  # P(a and b) >= 0.4
>>> box = np.array([0.0, 0.5, 0.0, 1.0])
>>> tighten_unlinked(forms, box), [round(float(x), 6) for x in box]
(True, [0.4, 0.5, 0.8, 1.0])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herbrand.engines.credal.ariel.copies import copy_row
from herbrand.engines.credal.rounding import UNIT
from herbrand.loops import loop

Array = NDArray[Any]

SLACK = 512 * UNIT
"""Relative error of the value of a form, or of two with one variable eliminated: some 100 roundings."""
CHANCES = np.array([[0.0, 0, 0, 1], [1, -1, -1, 1], [0, 1, 0, -1], [0, 0, 1, -1]])
"""The forms q11, q00, q10 and q01 >= 0, in terms of one, a, b and q11."""
MOST_CORNERS = 96
"""Most corners of a polygon; each half-plane adds at most one, and further forms are left out, which is
sound."""


@loop
def tighten_linked(forms: Array, box: Array) -> bool:
    """Shrink the box in place to the values of P(a) and P(b) over all q with ``forms @ q >= 0``.

    False where there is no such q. ``forms``: [m, 4].
    """
    xs, ys = np.empty(MOST_CORNERS), np.empty(MOST_CORNERS)
    new_xs, new_ys = np.empty(MOST_CORNERS), np.empty(MOST_CORNERS)
    xs[0], ys[0] = box[0], box[2]
    xs[1], ys[1] = box[1], box[2]
    xs[2], ys[2] = box[1], box[3]
    xs[3], ys[3] = box[0], box[3]
    count = len(box)  # four; a literal 4 has another type, for which numba would compile `_clip` again
    m = len(forms)
    bounds = np.empty((m + 4, 4))  # coefficients of one, a, b and q11, with q in terms of a, b and q11
    sizes = np.ones(m + 4)
    for i in range(4):
        copy_row(CHANCES[i], bounds[i], 4)
    for i in range(m):
        sizes[i + 4] = _curve(forms[i], bounds[i + 4])
    for i in range(m + 4):
        rise = bounds[i, 3]
        if abs(rise) <= SLACK / 4 * sizes[i]:
            count = _clip(xs, ys, count, bounds[i, 0], bounds[i, 1], bounds[i, 2], sizes[i], new_xs, new_ys)
            xs, new_xs = new_xs, xs
            ys, new_ys = new_ys, ys
        elif rise > 0.0:
            for j in range(m + 4):
                fall = -bounds[j, 3]
                # two of CHANCES add up to a, b, 1 - a or 1 - b >= 0, which the box implies
                if fall > SLACK / 4 * sizes[j] and (i > 1 or j < 2 or j > 3):
                    one = fall * bounds[i, 0] + rise * bounds[j, 0]
                    by_a = fall * bounds[i, 1] + rise * bounds[j, 1]
                    by_b = fall * bounds[i, 2] + rise * bounds[j, 2]
                    size = fall * sizes[i] + rise * sizes[j]
                    count = _clip(xs, ys, count, one, by_a, by_b, size, new_xs, new_ys)
                    xs, new_xs = new_xs, xs
                    ys, new_ys = new_ys, ys
        if count == 0:
            return False
    low_a, high_a, low_b, high_b = 2.0, -1.0, 2.0, -1.0
    for i in range(count):
        low_a, high_a = min(low_a, xs[i]), max(high_a, xs[i])
        low_b, high_b = min(low_b, ys[i]), max(high_b, ys[i])
    box[0], box[1], box[2], box[3] = low_a, high_a, low_b, high_b
    return True


@loop
def _curve(form: Array, curve: Array) -> float:
    """Write ``form @ q`` as coefficients of one, a, b and q11; return the largest of the form's numbers."""
    g00, g01, g10, g11 = form[0], form[1], form[2], form[3]
    curve[0], curve[1], curve[2], curve[3] = g00, g10 - g00, g01 - g00, (g11 - g10) - (g01 - g00)
    return max(max(abs(g00), abs(g01)), max(abs(g10), abs(g11)))


@loop
def _clip(
    xs: Array,
    ys: Array,
    count: int,
    one: float,
    by_x: float,
    by_y: float,
    size: float,
    new_xs: Array,
    new_ys: Array,
) -> int:
    """Clip a convex polygon to ``one + by_x x + by_y y >= 0``; return its new number of corners.

    A new corner lies where the value is minus the slack, up to the rounding of that value. So the clipping
    line is outside the true one even if it is nearly parallel to the edge that it cuts.
    """
    slack = SLACK * size
    if max(abs(one), abs(by_x), abs(by_y)) <= slack or count + 2 > MOST_CORNERS:
        copy_row(xs, new_xs, count)
        copy_row(ys, new_ys, count)
        return count
    corners = 0
    before_x, before_y = xs[count - 1], ys[count - 1]
    before = one + by_x * before_x + by_y * before_y + slack
    for i in range(count):
        here = one + by_x * xs[i] + by_y * ys[i] + slack
        if (here >= 0.0) != (before >= 0.0):
            part = before / (before - here)
            new_xs[corners] = before_x + part * (xs[i] - before_x)
            new_ys[corners] = before_y + part * (ys[i] - before_y)
            corners += 1
        if here >= 0.0:
            new_xs[corners], new_ys[corners] = xs[i], ys[i]
            corners += 1
        before_x, before_y, before = xs[i], ys[i], here
    return corners


@loop
def tighten_unlinked(forms: Array, box: Array) -> bool:
    """Shrink the box in place to the values of P(a) and P(b) over all products q with ``forms @ q >= 0``.

    False where there is no such q. ``forms``: [m, 4].
    """
    curves = np.empty((len(forms), 4))  # one, a, b, a b
    sizes = np.empty(len(forms))
    for i in range(len(forms)):
        sizes[i] = _curve(forms[i], curves[i])
    low, high = _reach(curves, sizes, box[0], box[1], box[2], box[3])
    if low > high:
        return False
    box[0], box[1] = low, high
    for i in range(len(curves)):
        curves[i, 1], curves[i, 2] = curves[i, 2], curves[i, 1]
    low, high = _reach(curves, sizes, box[2], box[3], box[0], box[1])
    if low > high:
        return False
    box[2], box[3] = low, high
    return True


@loop
def _reach(
    curves: Array, sizes: Array, low_x: float, high_x: float, low_y: float, high_y: float
) -> tuple[float, float]:
    """The least and the largest x in the box for which some y satisfies every curve; crossed where none does.

    A curve that is nearly constant along an edge, and two curves that nearly coincide, need no meeting point:
    within the slack, the region that they bound extends to where another edge or curve bounds it.
    """
    best = np.array([2.0, -1.0])
    _try(curves, sizes, low_x, 0.0, low_x, high_x, low_y, high_y, best)
    _try(curves, sizes, high_x, 0.0, low_x, high_x, low_y, high_y, best)
    if best[0] == low_x and best[1] == high_x:
        return best[0], best[1]
    m = len(curves)
    for i in range(m):
        for y in (low_y, high_y):
            slope = curves[i, 1] + curves[i, 3] * y
            if abs(slope) > SLACK * sizes[i]:
                x = -(curves[i, 0] + curves[i, 2] * y) / slope
                off = SLACK * sizes[i] / abs(slope)
                _try(curves, sizes, x, off, low_x, high_x, low_y, high_y, best)
        for j in range(i):
            _try_crossings(curves, sizes, i, j, low_x, high_x, low_y, high_y, best)
    return best[0], best[1]


@loop
def _try_crossings(
    curves: Array,
    sizes: Array,
    i: int,
    j: int,
    low_x: float,
    high_x: float,
    low_y: float,
    high_y: float,
    best: Array,
) -> None:
    """Try the points where two curves (p + q x) + (r + s x) y = 0 meet.

    There (p + q x)(r' + s' x) = (p' + q' x)(r + s x), a quadratic equation in x.
    """
    p, q, r, s = curves[i, 0], curves[i, 1], curves[i, 2], curves[i, 3]
    p2, q2, r2, s2 = curves[j, 0], curves[j, 1], curves[j, 2], curves[j, 3]
    square = q * s2 - q2 * s
    linear = p * s2 + q * r2 - p2 * s - q2 * r
    constant = p * r2 - p2 * r
    error = SLACK * sizes[i] * sizes[j]  # of the polynomial, at any x from 0 to 1
    if abs(square) <= 4.0 * error:
        if abs(linear) > 16.0 * error:
            off = 8.0 * error / abs(linear)
            _try(curves, sizes, -constant / linear, off, low_x, high_x, low_y, high_y, best)
            return
        if abs(linear) + abs(square) == 0.0 or abs(constant) <= 32.0 * error:
            return
    inside = linear * linear - 4.0 * square * constant
    if inside < -32.0 * error * (abs(linear) + abs(square) + abs(constant)):
        return
    slope = np.sqrt(max(inside, 0.0))
    off = 8.0 * error / max(slope, np.sqrt(abs(square) * error))
    # equal signs are added, so that nothing cancels; the other root is constant / root by Vieta
    root = -0.5 * (linear + (slope if linear >= 0.0 else -slope))
    if abs(square) > 0.0:
        _try(curves, sizes, root / square, off, low_x, high_x, low_y, high_y, best)
    if abs(root) > 0.0:
        _try(curves, sizes, constant / root, off, low_x, high_x, low_y, high_y, best)


@loop
def _try(
    curves: Array,
    sizes: Array,
    x: float,
    off: float,
    low_x: float,
    high_x: float,
    low_y: float,
    high_y: float,
    best: Array,
) -> None:
    """Widen ``best`` by x where x is in the box and some y satisfies every curve; ``off``: the error of x."""
    if not (low_x - off <= x <= high_x + off):
        return
    least, most = max(low_x, x - off), min(high_x, x + off)
    if best[0] <= least and most <= best[1]:
        return
    x = min(max(x, low_x), high_x)
    low, high = low_y, high_y
    for i in range(len(curves)):
        slack = SLACK * sizes[i]
        constant = curves[i, 0] + curves[i, 1] * x + slack
        constant += 2.0 * off * (abs(curves[i, 1]) + abs(curves[i, 3]))
        slope = curves[i, 2] + curves[i, 3] * x
        if abs(slope) <= slack:
            if constant + slack < 0.0:
                return
        elif slope > 0.0:
            low = max(low, -constant / slope)
        else:
            high = min(high, -constant / slope)
    if low <= high + 8.0 * UNIT:
        best[0], best[1] = min(best[0], least), max(best[1], most)
