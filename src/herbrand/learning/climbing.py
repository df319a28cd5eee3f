"""Maximise a concave function less a penalty: by Newton's method, or by L-BFGS for many weights.

Newton's method needs second derivatives and converges in a dozen steps, whatever the scales of weights.
L-BFGS scales weights by the function's own curvature. A weight under an L1 penalty is represented as the
difference of two non-negative numbers, so that the function stays smooth and weights can become exactly 0.

>>> slope = Slope(lambda w: (-float((w - 2) @ (w - 2)), -2 * (w - 2)), lambda w: 2 * np.ones(1))
>>> top = climb(slope, 1, Penalty(l1=1.0))
>>> top.weights.round(3).tolist(), top.converged
([1.5], True)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from herbrand.answers.guarantee import out_of_iterations, out_of_time
from herbrand.budget import UNLIMITED, Budget

MOST_NEWTON = 500
"""Most weights for Newton's method, which solves a system over them; L-BFGS is faster beyond."""
MOST_HALVINGS = 40
FLAT = 1e-6
"""If the curvature in a weight falls to less than this share of that at 0, the weight goes to infinity."""

RISES = 1e-12
"""Least relative rise of the function that is more than rounding."""
MOST_WAYS = 200
"""Most weights for which each is tested separately."""

ENDLESS = "the data decide a weight so firmly that it grows without end; draw it back by --l2"


@dataclass(frozen=True)
class Slope:
    """A concave function: value and gradient, an upper bound of its curvature in each weight, and its second
    derivatives; ``newton``: these are cheap enough to use in every step."""

    value_and_gradient: Callable[[np.ndarray], tuple[float, np.ndarray]]
    curvature: Callable[[np.ndarray], np.ndarray]
    hessian: Callable[[np.ndarray], np.ndarray] | None = None
    newton: bool = True


@dataclass(frozen=True)
class Penalty:
    """A penalty on weights: ``l2`` / 2 times the sum of squares, and ``l1`` times the sum of magnitudes."""

    l2: float = 0.0
    l1: float = 0.0

    def of(self, weights: np.ndarray) -> float:
        """The penalty at these weights."""
        return self.l2 / 2 * float(weights @ weights) + self.l1 * float(np.abs(weights).sum())


@dataclass(frozen=True)
class Patience:
    """When to stop: when the gradient shows the function to be within ``tolerance`` of its maximum, or at a
    limit.

    ``taken``: steps of an earlier climb, which count. After each step ``keep`` is called with value and
    weights, and ``watch`` with the value less the penalty, which may fall only under an L1 penalty: L-BFGS
    takes a weight for two magnitudes, and penalises both.
    """

    tolerance: float = 1e-9
    iterations: int = 1000
    budget: Budget = UNLIMITED
    watch: Callable[[int, float], None] | None = None
    taken: int = 0
    keep: Callable[[int, float, np.ndarray], None] | None = None


@dataclass(frozen=True, eq=False)
class Top:
    """The maximum; ``value`` is that of the function without the penalty."""

    weights: np.ndarray
    value: float
    iterations: int
    converged: bool
    advice: str = ""


def climb(
    slope: Slope,
    size: int,
    penalty: Penalty,
    patience: Patience = Patience(),
    start: np.ndarray | None = None,
) -> Top:
    """Maximise the function less the penalty, beginning at ``start`` (0 if not given), which matters if it is
    not concave."""
    if not size:
        return Top(np.empty(0), slope.value_and_gradient(np.empty(0))[0], 0, True)
    start = np.zeros(size) if start is None else start
    if patience.taken >= patience.iterations:
        return Top(
            start,
            slope.value_and_gradient(start)[0],
            patience.taken,
            False,
            out_of_iterations(patience.taken),
        )
    if slope.hessian is not None and slope.newton and not penalty.l1 and size <= MOST_NEWTON:
        return _newton(slope, slope.hessian, penalty.l2, patience, start)
    return _quasi_newton(slope, size, penalty, patience, start)


class _Clock:
    """Counts and reports steps, and checks the limits."""

    def __init__(self, patience: Patience, penalty: Penalty) -> None:
        self.patience, self.penalty = patience, penalty
        self.steps = patience.taken

    def step(self, value: float, weights: np.ndarray) -> str:
        """Count a step; return the advice for the limit that is reached, or an empty text."""
        self.steps += 1
        if self.patience.keep is not None:
            self.patience.keep(self.steps, value, weights)
        if self.patience.watch is not None:
            self.patience.watch(self.steps, value - self.penalty.of(weights))
        if self.steps >= self.patience.iterations:
            return out_of_iterations(self.steps)
        if self.patience.budget.ended:
            return out_of_time(self.patience.budget.elapsed)
        return ""


def _newton(
    slope: Slope,
    hessian: Callable[[np.ndarray], np.ndarray],
    l2: float,
    patience: Patience,
    weights: np.ndarray,
) -> Top:
    clock = _Clock(patience, Penalty(l2))

    def objective(point: np.ndarray) -> tuple[float, float, np.ndarray]:
        value, gradient = slope.value_and_gradient(point)
        return value, value - l2 / 2 * float(point @ point), gradient - l2 * point

    value, height, gradient = objective(weights)
    while True:
        curvature = -hessian(weights) + l2 * np.eye(len(weights))
        # A weight that nothing depends on makes the system singular: least squares leave it unchanged.
        direction = np.linalg.lstsq(curvature, gradient, rcond=1e-13)[0]
        promised = float(gradient @ direction)
        if promised <= patience.tolerance * max(1.0, abs(height)):
            return _ended(slope, weights, value, clock, "", l2)
        length = 1.0
        for _ in range(MOST_HALVINGS):
            trial = objective(weights + length * direction)
            # Armijo's condition: accept a ten-thousandth of the rise that the slope predicts.
            if trial[1] >= height + 1e-4 * length * promised:
                break
            length /= 2
        else:
            return _ended(slope, weights, value, clock, "", l2)
        weights, (value, height, gradient) = weights + length * direction, trial
        if advice := clock.step(value, weights):
            return _ended(slope, weights, value, clock, advice, l2)


def _ended(slope: Slope, weights: np.ndarray, value: float, clock: _Clock, advice: str, pull: float) -> Top:
    """The result; without a penalty the maximum may lie at infinity, which is no convergence."""
    if not pull and (_is_flat(slope, weights) or (not advice and _is_endless(slope, weights, value))):
        advice = ENDLESS
    return Top(weights, value, clock.steps, not advice, advice)


def _is_flat(slope: Slope, weights: np.ndarray) -> bool:
    return bool((slope.curvature(weights) < FLAT * slope.curvature(np.zeros(len(weights)))).any())


def _is_endless(slope: Slope, weights: np.ndarray, value: float) -> bool:
    """Whether the function still rises if all weights, or single ones, grow further: then it has no
    maximum."""
    further = np.sign(weights) * np.maximum(np.abs(weights), 1.0)
    few = len(weights) <= MOST_WAYS
    ways = [further, *(np.diag(further) if few else ())]
    if few and slope.hessian is not None:
        ways.append(_flat_part(-slope.hessian(np.zeros(len(weights))), -slope.hessian(weights), weights))
    least = value + RISES * max(1.0, abs(value))

    def at(share: float, way: np.ndarray) -> float:
        return slope.value_and_gradient(weights + share * way)[0]

    return any(least < at(0.1, way) < at(1.0, way) for way in ways)


def _flat_part(at_zero: np.ndarray, there: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The part of the weights along directions whose curvature has become much smaller than it was at 0."""
    bends, axes = np.linalg.eigh(at_zero)
    kept = bends > FLAT * max(0.0, float(bends.max(initial=0.0)))
    scale = np.sqrt(bends[kept])
    own = axes[:, kept].T @ there @ axes[:, kept] / np.outer(scale, scale)
    ratios, ways = np.linalg.eigh(own)
    flat = ways[:, ratios < FLAT]
    return axes[:, kept] @ (flat @ (flat.T @ (axes[:, kept].T @ weights * scale)) / scale)


class _Enough(Exception):  # noqa: N818 (no error)
    """Leaves the optimiser when a limit is reached."""


def _quasi_newton(slope: Slope, size: int, penalty: Penalty, patience: Patience, start: np.ndarray) -> Top:
    clock = _Clock(patience, penalty)
    curvature = slope.curvature(np.zeros(size)) + penalty.l2
    split = penalty.l1 > 0
    # In units in which the curvature in every weight is equal, L-BFGS needs far fewer steps. Magnitudes keep
    # units of at most 10: in larger ones each is near 0, where L-BFGS takes it to be at its bound already.
    flattest = 0.01 if split else 1e-8 * max(1e-300, float(curvature.max()))
    unit = 1 / np.sqrt(np.maximum(curvature, flattest))
    point, advice = start / unit, ""
    if split:
        # Magnitudes are not smooth at 0: as differences of two non-negative numbers they are linear.
        point = np.concatenate([np.maximum(point, 0), np.maximum(-point, 0)])

    def weights_of(point: np.ndarray) -> np.ndarray:
        return unit * (point[:size] - point[size:] if split else point)

    def loss(point: np.ndarray) -> tuple[float, np.ndarray]:
        weights = weights_of(point)
        value, gradient = slope.value_and_gradient(weights)
        below = -value + penalty.l2 / 2 * float(weights @ weights)
        down = unit * (-gradient + penalty.l2 * weights)
        if not split:
            return below, down
        corner = penalty.l1 * np.concatenate([unit, unit])
        return below + float(corner @ point), np.concatenate([down, -down]) + corner

    def report(current: np.ndarray) -> None:
        nonlocal point, advice
        point = current.copy()
        weights = weights_of(point)
        if advice := clock.step(slope.value_and_gradient(weights)[0], weights):
            raise _Enough

    steepest = float(np.abs(loss(point)[1]).max())
    try:
        solution = minimize(
            loss,
            point,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, None)] * len(point) if split else None,
            callback=report,
            options={
                "maxiter": patience.iterations + 1,
                "maxfun": 20 * patience.iterations,
                "maxcor": 20,
                "ftol": 1e-14,
                # The remaining gain is about the square of the slope, hence the root.
                "gtol": np.sqrt(patience.tolerance) * 0.1 * max(1.0, steepest),
            },
        )
        point = solution.x
    except _Enough:
        pass
    weights = weights_of(point)
    value = slope.value_and_gradient(weights)[0]
    return _ended(slope, weights, value, clock, advice, penalty.l2 + penalty.l1)
