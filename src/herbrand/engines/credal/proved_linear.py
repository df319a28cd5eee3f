"""Linear programs with a proved optimum: HiGHS computes multipliers of the rows, and these are checked.

For any multipliers y,

    c x  >=  sum over rows of y * its end  +  sum over variables of the least of (c - y A) x in its range,

so the multipliers of a floating-point solver prove a bound once every rounding error of the right side is
subtracted (Neumaier and Shcherbina 2004). The program is first scaled by powers of two to the size of
its variables' ranges, so that errors are relative to the largest value of each probability.

>>> rows = csr_array(np.array([[1.0, 1.0]]))
>>> one = np.ones(1)
>>> found = least(np.array([1.0, 2.0]), LinearProgram(rows, one, one, np.zeros(2), np.ones(2)))
>>> 1 - 1e-13 <= found.bound <= 1, np.abs(found.point).tolist()
(True, [1.0, 0.0])

Where a variable is unbounded on one side, a bound is proved in rational arithmetic: there any rounding
residue of ``c - y A`` makes the bound infinite. So the solver's multipliers are corrected to solve exactly
the equations that they solve approximately, and the bound is summed in fractions.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack

from herbrand.engines.credal.rounding import UNIT
from herbrand.engines.highs import LinearProgram, Optimum, optimum, power

EXACTNESS = 1e-10
"""HiGHS's tolerances, in units of the ranges."""
FINE = 2.0**-43
"""Largest violation of a point, in units of the ranges, that needs no further refinement."""
POINT_ERROR = 2.0**-50
"""Violation of a point that rounding can hide."""
MARGIN = 0.25
"""Size that the largest violation has after zooming, in units of the ranges."""
MOST_ROUNDS = 12
"""Most rounds of iterative refinement."""
SECONDS_AN_ENTRY = 3e-7
"""Seconds an entry of the rows that a program takes before and after the solver asks its clock: 0.4 s for a
table of 16 atoms."""
MOST_ZOOM, LESS_ZOOM = 2.0**32, 2.0**-4
"""Largest zoom of a refinement, and the factor of the next one where a zoom brings no better point."""


class Least(NamedTuple):
    """The proved minimum of a linear program: no feasible point costs less than ``bound``.

    ``bound`` is infinite if the program is infeasible, minus infinite if nothing is proved. ``point`` nearly
    attains it, or is None. ``cost`` estimates, by the multipliers, the most that an exactly feasible point
    nearby costs; infinite where no point is accurate enough.
    """

    bound: float
    point: np.ndarray | None = None
    cost: float = math.inf


def least(
    cost: np.ndarray,
    program: LinearProgram,
    until: float = math.inf,
    *,
    finely: bool = False,
    rounds: int = MOST_ROUNDS,
) -> Least:
    """Minimise ``cost @ x`` and prove the minimum; ``until``: a moment of the monotonic clock. Nothing is
    solved or proved where too little time is left to hand the program to the solver.

    ``finely``: whether the point is refined even if it is accurate enough for the bound, for its cost.
    Points that violate rows or ranges are improved by ``rounds`` of iterative refinement (Gleixner and others
    2016) at most.
    """
    if _seconds_left(program, until) <= 0:
        return Least(-math.inf)
    scaled, unit = program.scaled
    costs = cost * unit
    largest = np.abs(costs[(program.lower != 0) | (program.upper != 0)]).max(initial=0.0)
    size = float(power(largest))
    costs = costs / size
    solution = _solved(costs, scaled, until)
    if solution.infeasible:
        return Least(math.inf if _infeasible(scaled, until) else -math.inf)
    if solution.multipliers is None or solution.point is None:
        return Least(-math.inf)
    point, multipliers = solution.point, solution.multipliers
    off, most = _off(scaled, point), MOST_ZOOM
    for number in range(rounds):
        if off.max() <= (0.0 if finely and not number else FINE) or most < 1:
            break
        zoom = min(float(power(MARGIN / off.max())), most)
        closer = _solved(costs, _zoomed(scaled, point, zoom), until)
        if closer.infeasible and _infeasible(scaled, until, point, zoom):
            return Least(math.inf)
        nearer = None if closer.point is None else point + closer.point / zoom
        left = off if nearer is None else _off(scaled, nearer)
        if nearer is None or closer.multipliers is None or left.max() >= off.max():
            most = zoom * LESS_ZOOM
            continue
        point, multipliers, off = nearer, closer.multipliers, left
    doubt = _sensitivity(costs, scaled, multipliers) @ (off + POINT_ERROR) + POINT_ERROR * np.abs(
        costs
    ) @ np.abs(point)
    reached = float(costs @ point + doubt)
    bound = proved(costs, scaled, multipliers)
    if bound == -math.inf:
        bound = proved_exactly(costs, scaled, multipliers)
    return Least(bound * size, point * unit, reached * size if off.max() <= FINE else math.inf)


def _solved(cost: np.ndarray, program: LinearProgram, until: float) -> Optimum:
    seconds = _seconds_left(program, until)
    if seconds <= 0:
        return Optimum(infeasible=False)
    return optimum(cost, program, seconds=None if seconds == math.inf else seconds, exactness=EXACTNESS)


def _seconds_left(program: LinearProgram, until: float) -> float:
    """Seconds that the solver may take for a program, less those of handing it over."""
    return until - time.monotonic() - SECONDS_AN_ENTRY * program.rows.nnz


def _off(program: LinearProgram, point: np.ndarray) -> np.ndarray:
    """Violation of each row, then of each range, by a point."""
    sums = program.rows @ point
    rows = np.maximum(program.row_lower - sums, sums - program.row_upper)
    return np.maximum(np.concatenate([rows, np.maximum(program.lower - point, point - program.upper)]), 0.0)


def _sensitivity(cost: np.ndarray, program: LinearProgram, multipliers: np.ndarray) -> np.ndarray:
    """Sensitivity of the minimum to the end of each row, then of each range; 0 for ranges of one number."""
    left = np.where(program.upper > program.lower, cost - program.rows.T @ multipliers, 0.0)
    return np.abs(np.concatenate([multipliers, left]))


def _zoomed(program: LinearProgram, point: np.ndarray, zoom: float) -> LinearProgram:
    """The program in terms of the difference from a point, ``zoom`` times as large."""
    sums = program.rows @ point
    return LinearProgram(
        program.rows,
        (program.row_lower - sums) * zoom,
        (program.row_upper - sums) * zoom,
        (program.lower - point) * zoom,
        (program.upper - point) * zoom,
    )


def proved(cost: np.ndarray, program: LinearProgram, multipliers: np.ndarray) -> float:
    """Lower bound of ``cost @ x`` that multipliers prove, all rounding subtracted; -inf for none."""
    usable = np.where(multipliers > 0, np.isfinite(program.row_lower), np.isfinite(program.row_upper))
    y = np.where(usable, multipliers, 0.0)
    terms = y * np.where(y > 0, program.row_lower, np.where(y < 0, program.row_upper, 0.0))
    rows = program.rows
    at = np.repeat(np.arange(len(program.row_lower)), np.diff(rows.indptr))
    shares, count = rows.data * y[at], len(cost)
    rest = cost - np.bincount(rows.indices, shares, count)
    size = np.abs(cost) + np.bincount(rows.indices, np.abs(shares), count)
    # one rounding in each factor, product and sum, and in the factors themselves where statements were joined
    error = (np.bincount(rows.indices, minlength=count) + 6) * 2 * UNIT * size
    smallest = np.minimum(
        np.minimum(_times(rest - error, program.lower), _times(rest - error, program.upper)),
        np.minimum(_times(rest + error, program.lower), _times(rest + error, program.upper)),
    )
    everything = np.concatenate([terms, smallest])
    if not np.isfinite(everything).all():
        return -math.inf
    return math.fsum(everything.tolist()) - 8 * UNIT * math.fsum(np.abs(everything).tolist())


def _infeasible(
    whole: LinearProgram, until: float, point: np.ndarray | None = None, zoom: float = 1.0
) -> bool:
    """Whether the program is proved to be infeasible: the minimal violation of its rows is positive.

    The multipliers are those of the program as it is, or zoomed around a nearly feasible point. Each end of
    a row is a row of its own: equations that stay one row would all have to miss by the same amount, which
    may be impossible.
    """
    program = whole if point is None else _zoomed(whole, point, zoom)
    below = np.flatnonzero(np.isfinite(program.row_lower))
    above = np.flatnonzero(np.isfinite(program.row_upper))
    ends = np.concatenate([below, above])
    violation = np.repeat([1.0, -1.0], [len(below), len(above)])
    grown = LinearProgram(
        csr_array(hstack([program.rows[ends], csr_array(violation[:, None])])),
        np.concatenate([program.row_lower[below], np.full(len(above), -np.inf)]),
        np.concatenate([np.full(len(below), np.inf), program.row_upper[above]]),
        np.append(program.lower, 0.0),
        np.append(program.upper, np.inf),
    )
    width = len(program.lower)
    multipliers = _solved(np.append(np.zeros(width), 1.0), grown, until).multipliers
    if multipliers is None:
        return False
    of_rows = np.bincount(ends, multipliers, len(program.row_lower))
    return proved(np.zeros(width), whole, of_rows) > 0


def _times(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.where((left == 0) | (right == 0), 0.0, left * right)


SEEN = 1e-9
"""Size up to which multipliers and differences count as zeros with rounding errors."""
MOST_EQUATIONS = 200
"""Most equations that are solved in fractions."""


def proved_exactly(cost: np.ndarray, program: LinearProgram, multipliers: np.ndarray) -> float:
    """Lower bound of ``cost @ x`` that corrected multipliers prove, in fractions; minus infinity for none."""
    rows = program.rows.tocsc()
    open_ones = np.flatnonzero(~np.isfinite(program.lower) | ~np.isfinite(program.upper))
    used = np.flatnonzero(np.abs(multipliers) > SEEN)
    left = cost - program.rows.T @ multipliers
    seemingly = [int(column) for column in open_ones if abs(left[column]) <= SEEN]
    if len(seemingly) > MOST_EQUATIONS:
        return -math.inf
    exact_multipliers = {int(row): Fraction(float(multipliers[row])) for row in used}
    equations = []
    for column in seemingly:
        inside = slice(rows.indptr[column], rows.indptr[column + 1])
        entries = zip(rows.indices[inside].tolist(), rows.data[inside].tolist(), strict=True)
        equations.append(
            (
                {row: Fraction(a) for row, a in entries if row in exact_multipliers},
                Fraction(float(cost[column])),
            )
        )
    exact = solved(equations, exact_multipliers)
    return -math.inf if exact is None else _bound(cost, program, exact)


Equation = tuple[dict[int, Fraction], Fraction]


def solved(equations: list[Equation], near: dict[int, Fraction]) -> dict[int, Fraction] | None:
    """Solve sparse equations; free unknowns keep their values in ``near``; ``None`` if there is no solution.

    >>> half = Fraction(1, 2)
    >>> solved([({0: half, 1: half}, Fraction(1))], {0: Fraction(9), 1: Fraction(3)})
    {0: Fraction(-1, 1), 1: Fraction(3, 1)}
    """
    triangle: list[tuple[int, dict[int, Fraction], Fraction]] = []
    waiting = [(dict(left), right) for left, right in equations]
    while waiting:
        waiting.sort(key=lambda equation: -len(equation[0]))
        left, right = waiting.pop()
        left = {unknown: factor for unknown, factor in left.items() if factor}
        if not left:
            if right:
                return None
            continue
        chosen = min(left)
        factor = left.pop(chosen)
        left = {unknown: other / factor for unknown, other in left.items()}
        right /= factor
        triangle.append((chosen, left, right))
        reduced = []
        for other, value in waiting:
            times = other.pop(chosen, None)
            if times:
                for unknown, share in left.items():
                    other[unknown] = other.get(unknown, Fraction(0)) - times * share
                value -= times * right
            reduced.append((other, value))
        waiting = reduced
    values = dict(near)
    for chosen, left, right in reversed(triangle):
        values[chosen] = right - sum(
            (share * values[unknown] for unknown, share in left.items()), Fraction(0)
        )
    return values


def _bound(cost: np.ndarray, program: LinearProgram, multipliers: dict[int, Fraction]) -> float:
    """Sum the contributions of rows and variables to the bound exactly; round the total down."""
    total = Fraction(0)
    rest = [Fraction(float(c)) for c in cost]
    rows = program.rows
    for row, multiplier in multipliers.items():
        if not multiplier:
            continue
        end = float(program.row_lower[row] if multiplier > 0 else program.row_upper[row])
        if not math.isfinite(end):
            return -math.inf
        total += multiplier * Fraction(end)
        for at in range(rows.indptr[row], rows.indptr[row + 1]):
            rest[rows.indices[at]] -= multiplier * Fraction(float(rows.data[at]))
    for left, lower, upper in zip(rest, program.lower.tolist(), program.upper.tolist(), strict=True):
        end = lower if left > 0 else upper
        if left and not math.isfinite(end):
            return -math.inf
        total += left * Fraction(end) if left else 0
    return float(np.nextafter(float(total), -np.inf))
