"""A program over probabilities: linear rows, and products of two variables that a third must equal.

Variables are tables over clusters; the objective is a linear function of them. Without products it is a
linear program.

Ranges of its variables are tightened by propagation through rows and products, every step rounded outward.
They are at the scale of each variable: a product of a probability of at most 1e-6 and one of at most 1e-4 is
at most 1e-10. There is no search, so a range may be wider than the tightest.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from herbrand.engines.credal.rounding import UNIT, product
from herbrand.engines.highs import LinearProgram


@dataclass(frozen=True, eq=False)
class PolynomialProgram(LinearProgram):
    """A linear program in which v[w] = v[a] * v[b] for each (w, a, b) of ``products``."""

    products: np.ndarray  # [product, 3]

    @property
    def size(self) -> int:
        return len(self.lower)


class Assembly:
    """A builder of a program: it collects variables, rows and products."""

    def __init__(self) -> None:
        self._lower: list[np.ndarray] = []
        self._upper: list[np.ndarray] = []
        self._entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # row, variable, factor
        self._ends: list[tuple[np.ndarray, np.ndarray]] = []
        self._products: list[np.ndarray] = []
        self.size = 0
        self._rows = 0

    def variables(self, count: int, lower: float | np.ndarray, upper: float | np.ndarray) -> np.ndarray:
        """Add variables with these ranges; return their numbers."""
        self._lower.append(np.broadcast_to(np.asarray(lower, float), (count,)))
        self._upper.append(np.broadcast_to(np.asarray(upper, float), (count,)))
        self.size += count
        return np.arange(self.size - count, self.size)

    def row(self, variables: np.ndarray, factors: np.ndarray, lower: float, upper: float) -> None:
        """Add the row ``lower <= factors @ variables <= upper``; a variable may occur repeatedly."""
        self.rows(
            np.zeros(len(variables), np.int64), variables, factors, np.array([lower]), np.array([upper])
        )

    def rows(
        self,
        row: np.ndarray,
        variables: np.ndarray,
        factors: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
    ) -> None:
        """Add several rows; ``row`` is the number, among these, of each entry's row."""
        self._entries.append((self._rows + row, np.asarray(variables), np.asarray(factors, float)))
        self._ends.append((lower, upper))
        self._rows += len(lower)

    def shares(self, whole: np.ndarray, parts: np.ndarray, which: np.ndarray) -> None:
        """Add rows: each of ``whole`` is the sum of the ``parts`` that ``which`` assigns to it."""
        count = len(whole)
        self.rows(
            np.concatenate([np.arange(count), which]),
            np.concatenate([whole, parts]),
            np.repeat([1.0, -1.0], [count, len(parts)]),
            np.zeros(count),
            np.zeros(count),
        )

    def products(self, results: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
        """Add the constraints that each of ``results`` is the product of its ``left`` and ``right``."""
        self._products.append(np.stack([results, left, right], axis=1))

    def program(self) -> PolynomialProgram:
        none = np.empty(0, np.int64)
        entries = zip(*(self._entries or [(none, none, np.empty(0))]), strict=True)
        row, variables, factors = map(np.concatenate, entries)
        rows = csr_array((factors, (row, variables)), shape=(self._rows, self.size))
        rows.sum_duplicates()
        rows.eliminate_zeros()
        row_lower, row_upper = map(np.concatenate, zip(*(self._ends or [(np.empty(0),) * 2]), strict=True))
        return PolynomialProgram(
            rows,
            row_lower,
            row_upper,
            np.concatenate(self._lower),
            np.concatenate(self._upper),
            np.concatenate(self._products or [np.empty((0, 3), np.int64)]),
        )


ROUNDS = 30
"""Most rounds of propagation."""
MOVED = 1e-3
"""Share by which some range must shrink in a round for another round to follow."""


def tightened(program: PolynomialProgram, until: float = math.inf) -> PolynomialProgram | None:
    """Tighten the ranges of a program by its rows and products; ``None`` where one is proved to be empty.

    Only the first round may begin after ``until``, a moment of the monotonic clock: a round over a table of
    16 atoms takes 60 ms. The ranges hold after each round.
    """
    lower, upper = program.lower.copy(), program.upper.copy()
    rows = _Rows(program)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        for _ in range(ROUNDS):
            before = lower.copy(), upper.copy()
            rows.tighten(lower, upper)
            _tighten_products(program.products, lower, upper)
            if (lower > upper).any():
                return None
            span = before[1] - before[0]
            if not (upper - lower < (1 - MOVED) * span).any() or time.monotonic() > until:
                break
    return replace(program, lower=lower, upper=upper)


class _Rows:
    """The entries of a program's rows, for propagating bounds from each row to its variables."""

    def __init__(self, program: PolynomialProgram) -> None:
        entries = program.rows.tocoo()
        self.row, self.column, self.factor = entries.row, entries.col, entries.data
        self.count = len(program.row_lower)
        self.ends = program.row_upper, program.row_lower
        self.rising = self.factor > 0
        self.error = (np.bincount(self.row, minlength=self.count) + 4) * 4 * UNIT

    def tighten(self, lower: np.ndarray, upper: np.ndarray) -> None:
        """Tighten ranges in place: a row's term is at most the row's end less the minimum of the others."""
        at_lower, at_upper = self.factor * lower[self.column], self.factor * upper[self.column]
        least = np.where(self.rising, at_lower, at_upper)
        most = np.where(self.rising, at_upper, at_lower)
        self._from(self.ends[0], least, 1.0, lower, upper)
        self._from(self.ends[1], most, -1.0, lower, upper)

    def _from(
        self, end: np.ndarray, shares: np.ndarray, sign: float, lower: np.ndarray, upper: np.ndarray
    ) -> None:
        finite = np.isfinite(shares)
        known = np.where(finite, shares, 0.0)
        total = np.bincount(self.row, known, self.count)
        size = np.bincount(self.row, np.abs(known), self.count) + np.where(np.isfinite(end), np.abs(end), 0.0)
        open_ones = np.bincount(self.row, ~finite, self.count)
        slack = (self.error * size)[self.row]
        limit = (end[self.row] - (total[self.row] - known) + sign * slack) / self.factor
        usable = ((open_ones[self.row] - ~finite) == 0) & np.isfinite(limit)
        above = self.rising if sign > 0 else ~self.rising
        np.minimum.at(upper, self.column[above & usable], _up(limit[above & usable]))
        np.maximum.at(lower, self.column[~above & usable], _down(limit[~above & usable]))


def _tighten_products(products: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
    """Tighten the ranges of products and their factors in place; none of them is negative."""
    if not len(products):
        return
    result, left, right = products.T
    np.minimum.at(upper, result, product(upper[left], upper[right], np.inf))
    np.maximum.at(lower, result, product(lower[left], lower[right], 0.0))
    for one, other in ((left, right), (right, left)):
        above = lower[other] > 0
        np.minimum.at(upper, one[above], _up(upper[result[above]] / lower[other[above]]))
        above = (upper[other] > 0) & (lower[result] > 0)
        np.maximum.at(lower, one[above], _down(lower[result[above]] / upper[other[above]]))


def _up(values: np.ndarray) -> np.ndarray:
    return np.where(values == 0, 0.0, np.nextafter(values, np.inf))


def _down(values: np.ndarray) -> np.ndarray:
    return np.where(values == 0, 0.0, np.nextafter(values, -np.inf))
