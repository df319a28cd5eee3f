"""Sums over a count, for very many tilts at once: K(t) = log Σₖ exp(bₖ + t k), interpolated within a bound.

A clause over independent variables adds w × a product of counts, so given the others it only *tilts* each
count k by t k. Summing k out of a table is then one function of one number, however many others there are. K
is the cumulant generating function of the weights b: convex, analytic, its slope the mean of k.

The bound. Order tilted distributions by t: what is below a low quantile at a piece's left end is below it
throughout, what is above a high quantile at its right end likewise. So within a piece only a window of W
counts matters, and leaving the others out moves K by at most -log(1 - 2 ``TAIL``). Over the window, Σ exp(bₖ
+ z k) has no zero for complex z with an imaginary part y of less than π / W: its terms, turned by the middle
of the window, all point within y W / 2 < π / 2 of one direction. So K is analytic there, and on Bernstein's
ellipse of parameter ρ that reaches ``ANGLE`` / W up, K less a line through the centre is at most M (see
:func:`error_bound`); interpolation in Chebyshev points of degree p errs by at most 4 M ρ^-p / (ρ - 1). Pieces
are as long as keeps ρ: at most 32 for every element counted, for binomial weights fewer than one.

>>> coin = Cumulant.fitted(np.zeros(2), -3.0, 3.0)
>>> bool(abs(coin.at(np.array([1.0]))[0] - math.log(1 + math.e)) < error_bound() + 1e-15)
True
>>> error_bound() < 1e-13
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from herbrand import arrays
from herbrand.arrays import Array
from herbrand.engines.lifted import cumulant_kernels as kernels
from herbrand.loops import often

TAIL = 1e-14
"""Share of a distribution that a window may leave out on either side."""

SPAN = 1.0
"""Half a piece's length times its window's width, at most."""

ANGLE = 2.8
"""Half-height of the ellipse times the window's width; it must be below π."""

DEGREE = 18
SPARE = 1e-15
"""The last coefficients that add up to less are left out: pieces of smooth weights need few."""

_OPERATIONS_A_COUNT = 100
"""Operations for each count when the tilts are divided into pieces."""

FEW = 64
"""Most tilts, or counts, that are summed one by one."""

PLACES = np.arange(DEGREE + 1) + 0.5
POINTS = np.cos(math.pi * PLACES / (DEGREE + 1))
TURN = (
    2 / (DEGREE + 1) * np.cos(math.pi * np.outer(np.arange(DEGREE + 1), PLACES) / (DEGREE + 1))
) * np.where(np.arange(DEGREE + 1) == 0, 0.5, 1.0)[:, None]
"""Matrix from values at the points to Chebyshev coefficients."""


def error_bound() -> float:
    """Bound of an interpolated cumulant's error, without rounding."""
    rise = ANGLE / SPAN  # (ρ - 1/ρ) / 2 times the half length reaches ANGLE / W
    rho = rise + math.sqrt(rise * rise + 1)
    along = (rho + 1 / rho) / 2 * SPAN / 2  # the slope is within W / 2 of the window's middle
    largest = math.hypot(along - math.log(math.cos(ANGLE / 2)), ANGLE / 2)
    return 4 * largest * rho**-DEGREE / (rho - 1) - math.log1p(-2 * TAIL) + SPARE


@dataclass(frozen=True, eq=False)
class Cumulant:
    """The cumulant of ``weights`` [count]: ``edges`` of its pieces, each with a window ``lows`` to ``highs``
    and Chebyshev coefficients: those of the ``values`` that are ``needed``, and of the ``slopes``."""

    weights: np.ndarray
    edges: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    offsets: np.ndarray
    values: np.ndarray
    slopes: np.ndarray
    needed: np.ndarray

    @classmethod
    def fitted(cls, weights: np.ndarray, least: float, most: float) -> Cumulant:
        """Fit the cumulant for tilts from ``least`` to ``most``; some weight must be finite."""
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        divided = often(kernels.pieces, _OPERATIONS_A_COUNT * weights.size)
        edges, lows, highs = divided(weights, least, most, TAIL, SPAN)
        fit = often(kernels.fitted, int((highs - lows + DEGREE).sum()) * DEGREE)
        pieces = fit(weights, edges, lows, highs, POINTS, TURN, SPARE)
        return cls(weights, edges, lows, highs, *pieces)

    def at(self, tilts: np.ndarray) -> np.ndarray:
        """K at each tilt, within :func:`error_bound`."""
        pieces = (self.edges, self.lows, self.highs, self.offsets, self.values, self.needed)
        return often(kernels.evaluated, tilts.size * DEGREE)(tilts.ravel(), *pieces).reshape(tilts.shape)

    def slope(self, tilts: np.ndarray) -> np.ndarray:
        """The mean count at each tilt."""
        sloped = often(kernels.sloped, tilts.size * DEGREE)
        return sloped(tilts.ravel(), self.edges, self.lows, self.highs, self.slopes).reshape(tilts.shape)

    def pulled_back(self, tilts: np.ndarray, gains: np.ndarray) -> np.ndarray:
        """Gradient of the sum of gains times K by each weight."""
        pieces = (self.weights, self.edges, self.lows, self.highs, POINTS, TURN)
        windows = int((self.highs - self.lows + DEGREE).sum())
        back = often(kernels.pulled_back, (tilts.size + windows) * DEGREE)
        return back(tilts.ravel(), _flat(gains), *pieces)


def log_sums(weights: np.ndarray, tilts: np.ndarray) -> np.ndarray:
    """log Σₖ exp(weights[k] + tilt k) for each tilt."""
    weights, tilts = np.ascontiguousarray(weights), np.ascontiguousarray(tilts)
    if _is_small(weights, tilts) or not (weights > -math.inf).any():
        return _one_by_one(tilts, weights)[0].reshape(tilts.shape)
    return Cumulant.fitted(weights, float(tilts.min()), float(tilts.max())).at(tilts)


def differentiable_log_sums(weights: Array, tilts: Array) -> Array:
    """:func:`log_sums` with its gradient by weights and tilts."""
    b, t = (np.ascontiguousarray(operand.data) for operand in (weights, tilts))
    if _is_small(b, t) or not (b > -math.inf).any():
        values, flat_slopes = _one_by_one(t, b)
        pulled_back = often(kernels.pulled_back_one_by_one, t.size * b.size)
        return arrays.made(
            values.reshape(t.shape),
            (weights, lambda g: pulled_back(t.ravel(), _flat(g), b, values)),
            (tilts, lambda g: g * flat_slopes.reshape(t.shape)),
        )
    cumulant = Cumulant.fitted(b, float(t.min()), float(t.max()))
    return arrays.made(
        cumulant.at(t),
        (weights, lambda g: cumulant.pulled_back(t, g)),
        (tilts, lambda g: g * cumulant.slope(t)),
    )


def largest(weights: Array, tilts: Array) -> Array:
    """maxₖ (weights[k] + tilt k) for each tilt: a convex function made of lines, known exactly.

    >>> largest(Array(np.array([0.0, 1.0, 0.5])), Array(np.array([-2.0, 0.0, 2.0]))).tolist()
    [0.0, 1.0, 4.5]
    """
    corners, turns = _hull(weights.detach().numpy())
    counts = arrays.from_numpy(corners[np.searchsorted(turns, tilts.detach().numpy())])
    return weights[counts] + tilts * counts


def _hull(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The counts that are best for some tilt (the upper hull), and the tilt at which each two neighbours are
    equal."""
    corners: list[int] = []
    turns: list[float] = []
    for count in np.flatnonzero(weights > -math.inf).tolist() or [0]:
        while corners:
            turn = (weights[corners[-1]] - weights[count]) / (count - corners[-1])
            if not turns or turn > turns[-1]:
                turns.append(turn)
                break
            corners.pop()
            turns.pop()
        corners.append(count)
    return np.array(corners), np.array(turns)


def _is_small(weights: np.ndarray, tilts: np.ndarray) -> bool:
    return tilts.size <= FEW or weights.size <= FEW


def _one_by_one(tilts: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cumulant and its slope at each tilt, flattened."""
    return often(kernels.summed_one_by_one, 2 * tilts.size * weights.size)(tilts.ravel(), weights)


def _flat(gains: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(gains).ravel()
