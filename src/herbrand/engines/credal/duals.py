"""Linear programs whose optimum is proved: HiGHS finds multipliers of the rows, and these are checked.

Whatever multipliers y one takes,

    c x  >=  sum over rows of y * its end  +  sum over variables of the least of (c - y A) x in its range,

so the multipliers that a floating-point solver found prove a bound once every rounding error of the right
side is taken off (Neumaier and Shcherbina 2004). The program is first scaled by powers of two to the size of
its variables' ranges, so that errors are relative to what each probability can be.

>>> rows = csr_array(np.array([[1.0, 1.0]]))
>>> one = np.ones(1)
>>> bound, point = least(np.array([1.0, 2.0]), LinearProgram(rows, one, one, np.zeros(2), np.ones(2)))
>>> 1 - 1e-13 <= bound <= 1, np.abs(point).tolist()
(True, [1.0, 0.0])
"""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_array

from herbrand.engines.credal.rational import proved_exactly
from herbrand.engines.credal.rounding import UNIT
from herbrand.engines.highs import optimum
from herbrand.engines.linear_program import LinearProgram, power

EXACTNESS = 1e-10
"""HiGHS's tolerances, in units of the ranges."""
MOST_ELASTIC = 4.0


def least(cost: np.ndarray, program: LinearProgram) -> tuple[float, np.ndarray | None]:
    """A proved lower bound of ``cost @ x``, and a point that nearly attains it, if one was found.

    Plus infinity where it is proved that there is no point, minus infinity where nothing is proved.
    """
    scaled, unit = program.scaled()
    costs = cost * unit
    size = float(power(np.abs(costs).max(initial=0.0)))
    found = optimum(costs / size, scaled, exactness=EXACTNESS)
    if found.infeasible:
        return (math.inf if _infeasible(scaled) else -math.inf), None
    if found.multipliers is None or found.point is None:
        return -math.inf, None
    bound = proved(costs / size, scaled, found.multipliers)
    if bound == -math.inf:
        bound = proved_exactly(costs / size, scaled, found.multipliers)
    return bound * size, found.point * unit


def proved(cost: np.ndarray, program: LinearProgram, multipliers: np.ndarray) -> float:
    """What multipliers of the rows prove of the least ``cost @ x``."""
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


def _infeasible(program: LinearProgram) -> bool:
    """Whether it is proved that no point satisfies the rows: even the least violation of them is positive."""
    count = len(program.row_lower)
    entries = program.rows.tocoo()
    finite_lower, finite_upper = np.isfinite(program.row_lower), np.isfinite(program.row_upper)
    width = len(program.lower)
    index = np.arange(count)
    row = np.concatenate([entries.row, index[finite_lower], index[finite_upper]])
    column = np.concatenate(
        [entries.col, np.full(finite_lower.sum(), width), np.full(finite_upper.sum(), width + 1)]
    )
    data = np.concatenate([entries.data, np.ones(finite_lower.sum()), -np.ones(finite_upper.sum())])
    rows = csr_array((data, (row, column)), shape=(count, width + 2))
    elastic = np.full(2, MOST_ELASTIC)
    grown = LinearProgram(
        rows,
        program.row_lower,
        program.row_upper,
        np.concatenate([program.lower, np.zeros(2)]),
        np.concatenate([program.upper, elastic]),
    )
    cost = np.concatenate([np.zeros(width), np.ones(2)])
    multipliers = optimum(cost, grown, exactness=EXACTNESS).multipliers
    return multipliers is not None and proved(cost, grown, multipliers) > 0


def _times(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.where((left == 0) | (right == 0), 0.0, left * right)
