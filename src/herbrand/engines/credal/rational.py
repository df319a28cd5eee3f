"""The proof of a linear bound in rational arithmetic, where variables have no upper end.

Then the least bit that rounding leaves of ``c - y A`` at such a variable costs the whole bound. So the
multipliers that a solver found are corrected: those that matter solve exactly the equations that they seem to
solve, and what they prove is added up in fractions.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from herbrand.engines.linear_program import LinearProgram

SEEN = 1e-9
"""Multipliers and differences smaller than this are taken for zeros that rounding has moved."""
MOST_EQUATIONS = 200


def proved_exactly(cost: np.ndarray, program: LinearProgram, multipliers: np.ndarray) -> float:
    """What multipliers, corrected, prove of the least ``cost @ x``; minus infinity where nothing."""
    rows = program.rows.tocsc()
    open_ones = np.flatnonzero(~np.isfinite(program.upper))
    used = np.flatnonzero(np.abs(multipliers) > SEEN)
    left = cost - program.rows.T @ multipliers
    seemingly = [int(column) for column in open_ones if abs(left[column]) <= SEEN]
    if len(seemingly) > MOST_EQUATIONS:
        return -math.inf
    wanted = {int(row): Fraction(float(multipliers[row])) for row in used}
    equations = []
    for column in seemingly:
        inside = slice(rows.indptr[column], rows.indptr[column + 1])
        entries = zip(rows.indices[inside].tolist(), rows.data[inside].tolist(), strict=True)
        equations.append(
            ({row: Fraction(a) for row, a in entries if row in wanted}, Fraction(float(cost[column])))
        )
    exact = solved(equations, wanted)
    return -math.inf if exact is None else _bound(cost, program, exact)


Equation = tuple[dict[int, Fraction], Fraction]


def solved(equations: list[Equation], near: dict[int, Fraction]) -> dict[int, Fraction] | None:
    """A solution of sparse equations: those that they leave free are as in ``near``; ``None``: there is none.

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
    found = dict(near)
    for chosen, left, right in reversed(triangle):
        found[chosen] = right - sum((share * found[unknown] for unknown, share in left.items()), Fraction(0))
    return found


def _bound(cost: np.ndarray, program: LinearProgram, multipliers: dict[int, Fraction]) -> float:
    """The sum of what each row and each variable contributes, exactly, rounded down."""
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
