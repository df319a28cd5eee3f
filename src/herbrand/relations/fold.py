"""Folds: aggregates over the rows of a group. Each is one row of :data:`FOLDS`, in NumPy and in SQL side by
side.

A fold of no rows is the fold's identity, so that folds are the additions of semirings.

>>> folded(total(column("x")), {"x": np.array([1.0, 2.0, 4.0])}, np.array([0, 1, 1]), 2).tolist()
[1.0, 6.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from herbrand.errors import HerbrandError
from herbrand.relations.expression import (
    LARGEST,
    Array,
    Expression,
    Given,
    Kind,
    Kinds,
    column,
    evaluated,
    kind_of,
    kind_of_array,
    literal,
    too_large,
)

__all__ = ["Fold", "any_of", "column", "count", "largest", "least", "log_sum", "some", "total"]


@dataclass(frozen=True, eq=False)
class Fold:
    """A fold by its name in :data:`FOLDS`, and the expression whose values it folds."""

    name: str
    of: Expression

    def kind(self, kinds: Kinds) -> Kind:
        """Kind of the result; raises if the fold does not take such values."""
        kind = kind_of(self.of, kinds)
        if kind not in FOLDS[self.name].kinds.split():
            raise HerbrandError(f"'{self.name}' is no fold of values of kind {kind}")
        return kind

    def identity(self, kinds: Kinds) -> Any:
        """Result of folding no rows; None where whole numbers or texts have none."""
        kind = self.kind(kinds)
        identity = FOLDS[self.name].identity
        if self.name in ("largest", "least"):
            return identity if kind == "float" else None
        return int(identity) if kind == "int" else bool(identity) if kind == "bool" else identity


def total(of: Given) -> Fold:
    """Sum of the values."""
    return Fold("total", literal(of))


def largest(of: Given) -> Fold:
    return Fold("largest", literal(of))


def least(of: Given) -> Fold:
    return Fold("least", literal(of))


def count() -> Fold:
    """Number of rows."""
    return Fold("total", literal(1))


def some(condition: Given) -> Fold:
    """Whether the condition is true in some row."""
    return Fold("some", literal(condition))


def log_sum(of: Given) -> Fold:
    """Logarithm of the sum of exponentials."""
    return Fold("log_sum", literal(of))


def any_of(of: Given) -> Fold:
    """Probability that at least one of several independent events happens."""
    return Fold("any_of", literal(of))


def _sums(values: Array, groups: Array, size: int) -> Array:
    if values.dtype == object:  # Python's integers, of any size
        sums = np.zeros(size, object)
        np.add.at(sums, groups, values)
        return sums
    if values.dtype != np.int64:
        # bincount of no rows gives integers
        return np.bincount(groups, values, size).astype(float, copy=False)
    bound = len(values) * max(abs(int(values.max(initial=0))), abs(int(values.min(initial=0))))
    if bound < 2**53:  # floats hold these exactly, and bincount adds floats
        return np.bincount(groups, values, size).astype(np.int64)
    sums = np.zeros(size, object if bound > LARGEST else np.int64)
    np.add.at(sums, groups, values.astype(sums.dtype))
    if sums.dtype == object and not all(-LARGEST - 1 <= x <= LARGEST for x in sums):
        raise too_large()
    return sums.astype(np.int64)


def _largest(values: Array, groups: Array, size: int) -> Array:
    return _extremes(np.maximum, values, groups, size)


def _least(values: Array, groups: Array, size: int) -> Array:
    return _extremes(np.minimum, values, groups, size)


def _extremes(pair: np.ufunc, values: Array, groups: Array, size: int) -> Array:
    if kind_of_array(values) == "text":
        return _of_ranks(values, lambda ranks: _extremes(pair, ranks, groups, size))
    extremes = np.full(size, _replaced(values, pair is np.minimum))
    pair.at(extremes, groups, values)
    return extremes


def _of_ranks(values: Array, fold: Callable[[Array], Array]) -> Array:
    """Fold texts by folding their ranks among the distinct ones."""
    known, ranks = np.unique(values, return_inverse=True)
    return known[fold(ranks.reshape(-1).astype(np.int64))]


def _replaced(values: Array, high: bool) -> Any:
    """Initial value of an extreme, which any value replaces."""
    if values.dtype.kind == "f":
        return math.inf if high else -math.inf
    info = np.iinfo(np.int64)
    return np.int64(info.max if high else info.min)


def _some(values: Array, groups: Array, size: int) -> Array:
    return np.bincount(groups[values], minlength=size) > 0


def _log_sums(values: Array, groups: Array, size: int) -> Array:
    """Logarithm of each group's sum of exponentials: its largest value is taken out first, and is the result
    if it is infinite."""
    peaks = _largest(values, groups, size)
    finite = np.where(np.isfinite(peaks), peaks, 0.0)
    sums = finite + np.log(np.bincount(groups, np.exp(values - finite[groups]), size))
    return np.where(np.isfinite(peaks), sums, peaks)


def _any_of(values: Array, groups: Array, size: int) -> Array:
    """Probability that some event of each group happens; that of a single event is kept to the last digit."""
    with np.errstate(divide="ignore"):
        several = -np.expm1(np.bincount(groups, np.log1p(-values), size))
    return np.where(np.bincount(groups, minlength=size) == 1, np.bincount(groups, values, size), several)


_FAILS = (
    "SUM(CASE WHEN {0} < 1e-4 THEN -{0} * (1 + {0} * (0.5 + {0} / 3)) ELSE LN(GREATEST(1 - {0}, 1e-300)) END)"
)
"""Log-probability that no event happens, in SQL: by its series for small p, where 1 - p would lose digits."""


@dataclass(frozen=True)
class FoldMeaning:
    """One fold in NumPy and in SQL.

    ``array(values, groups, size)`` folds the rows of each group, ``pair`` combines two values; ``sql`` has a
    gap for the value. ``kinds``: kinds of values that it takes; ``identity``: fold of no rows. ``peaked``:
    the largest value of the group is computed first and fills the second gap of ``sql``.
    """

    array: Callable[[Array, Array, int], Array]
    pair: np.ufunc
    sql: str
    kinds: str
    identity: float
    peaked: bool = False


FOLDS: Mapping[str, FoldMeaning] = {
    "total": FoldMeaning(_sums, np.add, "SUM({0})", "int float", 0.0),
    "largest": FoldMeaning(_largest, np.maximum, "MAX({0})", "int float text", -math.inf),
    "least": FoldMeaning(_least, np.minimum, "MIN({0})", "int float text", math.inf),
    "some": FoldMeaning(_some, np.logical_or, "BOOL_OR({0})", "bool", False),
    "log_sum": FoldMeaning(
        _log_sums,
        np.logaddexp,
        "CASE WHEN ABS(MAX({1})) < CAST('inf' AS DOUBLE) "
        "THEN MAX({1}) + LN(SUM(EXP({0} - {1}))) ELSE MAX({1}) END",
        "float",
        -math.inf,
        peaked=True,
    ),
    "any_of": FoldMeaning(
        _any_of,
        np.frompyfunc(lambda p, q: p + q - p * q, 2, 1),
        "CASE WHEN COUNT(*) = 1 THEN MAX({0}) "
        f"WHEN {_FAILS} > -1e-4 THEN -{_FAILS} * (1 + {_FAILS} * (0.5 + {_FAILS} / 6)) "
        f"ELSE 1 - EXP({_FAILS}) END",
        "float",
        0.0,
    ),
}


def folded(fold: Fold, columns: Mapping[str, Array], groups: Array, size: int) -> Array:
    """Fold of each group's rows; ``groups`` [row] is the number of each row's group, and none is empty."""
    fold.kind({name: kind_of_array(values) for name, values in columns.items()})
    values = evaluated(fold.of, columns, len(groups))
    with np.errstate(all="ignore"):
        return FOLDS[fold.name].array(values, groups, size)
