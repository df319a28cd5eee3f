"""The compiled loops of :mod:`~herbrand.engines.lifted.cumulants`.

``weights`` [count] are logarithms; each piece has a window ``lows`` to ``highs`` of counts that matter.
"""

from __future__ import annotations

import math

import numpy as np

from herbrand.loops import loop

Array = np.ndarray
FIRST_ROOM = 64
NOTHING = -100.0
"""Logarithm of a share so small that the sum of all such shares is far below any tail."""

RENEWED = 16
"""Multiplications after which a power is computed afresh, before rounding errors build up."""


@loop
def log_sum(weights: Array, tilt: float, low: int, high: int) -> tuple[float, float]:
    """log Σ exp(weights[k] + tilt k) over a window, and the mean of k."""
    largest = -math.inf
    for k in range(low, high + 1):
        largest = max(largest, weights[k] + tilt * k)
    if largest == -math.inf:
        return -math.inf, 0.0
    total, moment = 0.0, 0.0
    for k in range(low, high + 1):
        share = math.exp(weights[k] + tilt * k - largest)
        total += share
        moment += share * (k - low)
    return largest + math.log(total), low + moment / total


@loop
def quantiles(weights: Array, tilt: float, low: int, tail: float) -> tuple[int, int]:
    """The counts from ``low`` on below and above which at most ``tail`` of the weight lies."""
    size = len(weights)
    largest = -math.inf
    for k in range(low, size):
        largest = max(largest, weights[k] + tilt * k)
    shares = np.zeros(size - low)
    total = 0.0
    for k in range(low, size):
        below = weights[k] + tilt * k - largest
        if below > NOTHING:
            shares[k - low] = math.exp(below)
            total += shares[k - low]
    first, left = 0, shares[0]
    while left <= tail * total:
        first += 1
        left += shares[first]
    last = size - 1 - low
    right = shares[last]
    while right <= tail * total:
        last -= 1
        right += shares[last]
    return low + first, low + last


@loop
def _alone_until(weights: Array, low: int, tail: float) -> float:
    """Largest tilt at which all larger counts together have at most ``tail`` of the weight of ``low``."""
    least = math.log(tail / max(1, len(weights) - 1 - low))
    until = math.inf
    for k in range(low + 1, len(weights)):
        until = min(until, (least - weights[k] + weights[low]) / (k - low))
    return until


@loop
def pieces(weights: Array, least: float, most: float, tail: float, span: float) -> tuple[Array, Array, Array]:
    """Divide the tilts from ``least`` to ``most`` into pieces; their edges, and the window of each: half its
    length times the width of its window is at most ``span``."""
    edges = np.empty(FIRST_ROOM + 1)
    lows, highs = np.empty(FIRST_ROOM, np.int64), np.empty(FIRST_ROOM, np.int64)
    edges[0], count, low = least, 0, 0
    while count == 0 or edges[count] < most:
        if count == len(lows):
            edges = np.concatenate((edges, np.empty(count)))
            lows = np.concatenate((lows, np.empty(count, np.int64)))
            highs = np.concatenate((highs, np.empty(count, np.int64)))
        here = edges[count]
        low, high = quantiles(weights, here, low, tail)
        if low == high:
            after = min(most, _alone_until(weights, low, tail))
            if after <= here:  # the next count is about to matter
                after, high = _bounded(weights, here, most, low, low + 1, tail, span)
        else:
            after, high = _bounded(weights, here, most, low, high, tail, span)
        edges[count + 1], lows[count], highs[count] = after, low, high
        count += 1
    return edges[: count + 1].copy(), lows[:count].copy(), highs[:count].copy()


@loop
def _bounded(
    weights: Array, here: float, most: float, low: int, high: int, tail: float, span: float
) -> tuple[float, int]:
    """End of a piece, and its largest count: what is negligible at its end is so before it."""
    after = min(most, here + 2 * span / (high - low))
    high = max(high, quantiles(weights, after, low, tail)[1])
    # nextafter: a piece must advance even where its length would round to nothing.
    return min(after, max(np.nextafter(here, math.inf), here + 2 * span / (high - low))), high


@loop
def fitted(
    weights: Array, edges: Array, lows: Array, highs: Array, points: Array, turn: Array, spare: float
) -> tuple[Array, Array, Array, Array]:
    """Fit each piece: the value at its anchor; the Chebyshev coefficients of the remainder after subtracting
    that and the window's middle times the distance from the anchor; those of the slope; and how many of the
    former are needed for the others to add up to at most ``spare``."""
    count, degree = len(lows), len(points)
    offsets = np.empty(count)
    values, slopes = np.zeros((count, degree)), np.zeros((count, degree))
    shares, needed = np.empty(len(weights)), np.empty(count, np.int64)
    for p in range(count):
        low, high, anchor = lows[p], highs[p], _anchor(edges, p)
        offsets[p] = log_sum(weights, anchor, low, high)[0]
        for k in range(low, high + 1):
            shares[k] = math.exp(weights[k] + anchor * k - offsets[p])
        middle = (low + high) / 2
        centre, half = (edges[p] + edges[p + 1]) / 2, (edges[p + 1] - edges[p]) / 2
        for j in range(degree):
            total, mean = _moved(shares, low, high, centre - anchor + half * points[j])
            for m in range(degree):
                values[p, m] += turn[m, j] * math.log(total)
                slopes[p, m] += turn[m, j] * (mean - middle)
        left, m = spare, degree
        while m > 1 and left >= abs(values[p, m - 1]):
            m -= 1
            left -= abs(values[p, m])
        needed[p] = m
    return offsets, values, slopes, needed


@loop
def _anchor(edges: Array, p: int) -> float:
    """The point of a piece with the smallest absolute tilt, so that products with it keep their digits."""
    return min(max(0.0, edges[p]), edges[p + 1])


@loop
def _moved(shares: Array, low: int, high: int, way: float) -> tuple[float, float]:
    """Sum of shares tilted by ``way`` around the window's middle, and the mean count.

    A window of one count may be tilted by more than any number has as its logarithm.
    """
    middle = (low + high) / 2
    step = math.exp(way) if low < high else 1.0
    total, moment, factor = 0.0, 0.0, 0.0
    for k in range(low, high + 1):
        factor = math.exp(way * (k - middle)) if (k - low) % RENEWED == 0 else factor * step
        share = shares[k] * factor
        total += share
        moment += share * (k - middle)
    return total, middle + moment / total


@loop
def _piece(edges: Array, tilt: float, guess: int) -> int:
    """The piece of a tilt; the neighbours of ``guess`` are tried before a binary search."""
    low, high = 0, len(edges) - 2
    for near in (guess, guess + 1, guess - 1):
        if low <= near <= high and edges[near] <= tilt <= edges[near + 1]:
            return near
    while low < high:
        middle = (low + high + 1) // 2
        if edges[middle] <= tilt:
            low = middle
        else:
            high = middle - 1
    return low


@loop
def _place(edges: Array, tilt: float, p: int) -> float:
    """Position of a tilt in its piece, from -1 to 1; 0 in a piece so short that it has rounded to a point."""
    half = (edges[p + 1] - edges[p]) / 2
    return 0.0 if half == 0 else min(1.0, max(-1.0, (tilt - (edges[p] + edges[p + 1]) / 2) / half))


@loop
def _clenshaw(coefficients: Array, needed: int, x: float) -> float:
    # Clenshaw's recurrence for a sum of Chebyshev polynomials.
    one, two = 0.0, 0.0
    for m in range(needed - 1, 0, -1):
        one, two = coefficients[m] + 2 * x * one - two, one
    return coefficients[0] + x * one - two


@loop
def evaluated(
    tilts: Array, edges: Array, lows: Array, highs: Array, offsets: Array, values: Array, needed: Array
) -> Array:
    """The cumulant at each tilt."""
    logs = np.empty(len(tilts))
    p = 0
    for i in range(len(tilts)):
        p = _piece(edges, tilts[i], p)
        way = tilts[i] - _anchor(edges, p)
        logs[i] = (
            offsets[p]
            + (lows[p] + highs[p]) / 2 * way
            + _clenshaw(values[p], needed[p], _place(edges, tilts[i], p))
        )
    return logs


@loop
def sloped(tilts: Array, edges: Array, lows: Array, highs: Array, slopes: Array) -> Array:
    """The cumulant's slope at each tilt: the mean count."""
    logs = np.empty(len(tilts))
    p = 0
    for i in range(len(tilts)):
        p = _piece(edges, tilts[i], p)
        logs[i] = (lows[p] + highs[p]) / 2 + _clenshaw(slopes[p], slopes.shape[1], _place(edges, tilts[i], p))
    return logs


@loop
def pulled_back(
    tilts: Array,
    gains: Array,
    weights: Array,
    edges: Array,
    lows: Array,
    highs: Array,
    points: Array,
    turn: Array,
) -> Array:
    """Gradient of Σ gains × cumulant by each weight, through the values at the pieces' points."""
    count, degree = len(lows), len(points)
    gathered = np.zeros((count, degree))
    p = 0
    for i in range(len(tilts)):
        p = _piece(edges, tilts[i], p)
        x = _place(edges, tilts[i], p)
        one, two = 1.0, x
        for m in range(degree):
            gathered[p, m] += gains[i] * one
            one, two = two, 2 * x * two - one
    gradient = np.zeros(len(weights))
    for p in range(count):
        centre, half = (edges[p] + edges[p + 1]) / 2, (edges[p + 1] - edges[p]) / 2
        for j in range(degree):
            gain = 0.0
            for m in range(degree):
                gain += turn[m, j] * gathered[p, m]
            if gain == 0.0:
                continue
            tilt = centre + half * points[j]
            total = log_sum(weights, tilt, lows[p], highs[p])[0]
            for k in range(lows[p], highs[p] + 1):
                gradient[k] += gain * math.exp(weights[k] + tilt * k - total)
    return gradient


@loop
def summed_one_by_one(tilts: Array, weights: Array) -> tuple[Array, Array]:
    """The cumulant and its slope at each tilt, without pieces."""
    values, slopes = np.empty(len(tilts)), np.empty(len(tilts))
    for i in range(len(tilts)):
        values[i], slopes[i] = log_sum(weights, tilts[i], 0, len(weights) - 1)
    return values, slopes


@loop
def pulled_back_one_by_one(tilts: Array, gains: Array, weights: Array, values: Array) -> Array:
    """Gradient of Σ gains × cumulant by each weight, without pieces."""
    gradient = np.zeros(len(weights))
    for i in range(len(tilts)):
        if gains[i] != 0.0:
            for k in range(len(weights)):
                gradient[k] += gains[i] * math.exp(weights[k] + tilts[i] * k - values[i])
    return gradient
