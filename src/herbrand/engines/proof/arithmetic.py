"""What proofs are counted in: how the weights of facts multiply along a proof and add up over proofs.

One small class a member. Plans touch values through these alone, so the same plan counts, finds the best
proof, or carries gradients (:mod:`herbrand.engines.proof.differentiable`).

>>> counting = Real()
>>> counting.group(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), 2).tolist()
[3.0, 4.0]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from herbrand.engines.proof import kernels
from herbrand.engines.proof.relation import Index, Relation
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.language.syntax import Learned, Rule
from herbrand.loops import often
from herbrand.row_keys import run_starts

MOST_DIGITS = 4200
"""Of an exact count: they double with each call where both sides of a rule are recursive, and Python
writes no more than 4,300."""
LARGEST = 10**MOST_DIGITS

Values = Any
"""An array or tensor with one number a row."""


class Arithmetic(Protocol):
    """``plus``: ⊕ of two arrays of numbers; ``compiled``: values are float64 and the kernels run on their
    :meth:`numbers`; ``plain``: they are no more than these numbers; ``dense``: 0 may stand for no entry, so
    that there may be grids; ``best``: ⊕ is the larger one, as the kernels have it; ``linear``: ⊗ distributes
    over ⊕, so that a weight may be carried into a call."""

    name: str
    plus: np.ufunc
    compiled: bool
    plain: bool
    dense: bool
    best: bool
    linear: bool

    def ones(self, count: int) -> Values: ...

    def fact_weights(self, predicate: str, relation: Relation) -> Values | None:
        """The weight of each row; ``None``: all 1."""
        ...

    def rule_weight(self, place: int, rule: Rule) -> Any: ...

    def ordered(self, index: Index, weights: Values | None) -> Values | None:
        """The weights of a relation's rows in an index's order."""
        ...

    def take(self, values: Values, places: np.ndarray) -> Values: ...

    def multiply(self, left: Values, right: Values) -> Values: ...

    def group(self, values: Values, groups: np.ndarray, count: int) -> Values:
        """⊕ of the values of each of ``count`` groups, none of them empty; ``groups`` ascend."""
        ...

    def concatenate(self, parts: Sequence[Values]) -> Values: ...

    def nonzero(self, values: Values) -> np.ndarray:
        """Which values are not 0, as truth values."""
        ...

    def numbers(self, values: Values) -> np.ndarray:
        """The values as an array: float64, or Python integers."""
        ...

    def made(self, numbers: np.ndarray, reverse: Reverse, *sources: Values | None) -> Values:
        """What a kernel made of the sources' numbers, as values; ``reverse`` is its way back."""
        ...

    def spread(self, values: Values, places: tuple[np.ndarray, ...], shape: tuple[int, int]) -> Values:
        """A matrix with the values at distinct places, and 0 elsewhere."""
        ...

    def added(
        self,
        matrix: Values,
        other: Values,
        rows: np.ndarray | None,
        other_rows: np.ndarray | None,
        owned: bool,
    ) -> Values:
        """⊕ of two matrices, whose ``rows`` hold something (``None``: all of them do); the first is written
        over if it is ``owned``."""
        ...

    def added_at(self, matrix: Values, places: tuple[np.ndarray, ...], values: Values, owned: bool) -> Values:
        """⊕ of a matrix with values at distinct places."""
        ...


class Reverse(Protocol):
    """From the slopes of what a kernel made to those of its sources; ``None`` for what is not needed."""

    def __call__(self, slope: np.ndarray, needed: Sequence[bool]) -> tuple[np.ndarray | None, ...]: ...


def by_runs(plus: np.ufunc, values: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
    """⊕ of the values of each group; 0 for an empty one. ``groups`` ascend."""
    found = np.full(count, 0, values.dtype)
    if len(groups):
        starts = run_starts(groups)
        found[groups[starts]] = plus.reduceat(values, starts)
    return found


def rule_number(rule: Rule) -> float:
    """The weight a rule states; one that is to be learned counts 1 until it is."""
    assert rule.weight is not None
    return 1.0 if isinstance(rule.weight, Learned) else float(rule.weight)


class Real:
    """Sums of products in float64: the number of proofs, or their weighted sum."""

    name: str = "count"
    plus: np.ufunc = np.add
    compiled: bool = True
    plain: bool = True
    dense: bool = True
    best: bool = False
    linear: bool = True

    def ones(self, count: int) -> np.ndarray:
        return np.ones(count)

    def fact_weights(self, predicate: str, relation: Relation) -> np.ndarray | None:
        return relation.weights

    def rule_weight(self, place: int, rule: Rule) -> float:
        return rule_number(rule)

    def ordered(self, index: Index, weights: np.ndarray | None) -> np.ndarray | None:
        return index.in_order(id(weights), weights)

    def take(self, values: np.ndarray, places: np.ndarray) -> np.ndarray:
        return values[places]

    def multiply(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return left * right

    def group(self, values: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
        return np.bincount(groups, values, count) if len(groups) else np.zeros(count)

    def concatenate(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate(parts)

    def nonzero(self, values: np.ndarray) -> np.ndarray:
        return values != 0

    def numbers(self, values: np.ndarray) -> np.ndarray:
        return values

    def made(self, numbers: np.ndarray, reverse: Reverse, *sources: np.ndarray | None) -> np.ndarray:
        return numbers

    def spread(
        self, values: np.ndarray, places: tuple[np.ndarray, ...], shape: tuple[int, int]
    ) -> np.ndarray:
        matrix = np.zeros(shape)
        matrix[places] = values
        return matrix

    @np.errstate(over="ignore")  # reported where answers are read
    def added(
        self,
        matrix: np.ndarray,
        other: np.ndarray,
        rows: np.ndarray | None,
        other_rows: np.ndarray | None,
        owned: bool,
    ) -> np.ndarray:
        if rows is None or other_rows is None:
            return self.plus(matrix, other, out=matrix if owned else None)
        total, add_rows = matrix, often(kernels.add_rows, 2 * matrix.size)
        if not owned:
            total = np.zeros(matrix.shape)
            add_rows(total, matrix, rows, self.best)
        add_rows(total, other, other_rows, self.best)
        return total

    def added_at(
        self, matrix: np.ndarray, places: tuple[np.ndarray, ...], values: np.ndarray, owned: bool
    ) -> np.ndarray:
        matrix = matrix if owned else matrix.copy()
        matrix[places] = self.plus(matrix[places], values)
        return matrix


class Best(Real):
    """The weight of the heaviest proof. Weights may not be negative: a product of two would be a gain."""

    name: str = "max"
    plus: np.ufunc = np.maximum
    best: bool = True

    def fact_weights(self, predicate: str, relation: Relation) -> np.ndarray | None:
        weights = relation.weights
        if weights is not None and len(weights) and weights.min() < 0:
            raise UnsupportedError(
                f"max takes weights of 0 or more, and a fact of {predicate} weighs {weights.min():g}",
                hint="--algebra count takes negative weights",
            )
        return weights

    def rule_weight(self, place: int, rule: Rule) -> float:
        weight = rule_number(rule)
        if weight < 0:
            raise UnsupportedError(
                f"max takes weights of 0 or more, and this rule weighs {weight:g}", span=rule.span
            )
        return weight

    def group(self, values: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
        return by_runs(self.plus, values, groups, count)


class Truth(Best):
    """1 where there is a proof, whatever it weighs."""

    name: str = "boolean"

    def fact_weights(self, predicate: str, relation: Relation) -> np.ndarray | None:
        return None

    def rule_weight(self, place: int, rule: Rule) -> float:
        return 1.0


class Integers(Real):
    """Exact integers, beyond what any float holds; weights must be whole."""

    name: str = "exact count"
    compiled: bool = False
    plain: bool = False
    dense: bool = False

    def ones(self, count: int) -> np.ndarray:
        return np.full(count, 1, dtype=object)

    def fact_weights(self, predicate: str, relation: Relation) -> np.ndarray | None:
        weights = relation.weights
        if weights is None:
            return None
        if not np.array_equal(weights, np.rint(weights)):
            raise UnsupportedError(f"exact counts need whole weights, and facts of {predicate} have others")
        return np.array([int(weight) for weight in weights], dtype=object)

    def rule_weight(self, place: int, rule: Rule) -> int:
        weight = rule_number(rule)
        if not weight.is_integer():
            raise UnsupportedError(f"exact counts need whole weights, not {weight:g}", span=rule.span)
        return int(weight)

    def ordered(self, index: Index, weights: np.ndarray | None) -> np.ndarray | None:
        return weights if weights is None or index.order is None else weights[index.order]

    def multiply(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        product = left * right
        if len(product) and max(product.max(), -product.min()) >= LARGEST:
            raise BudgetError(f"a count has more than {MOST_DIGITS:,} digits", hint="take a smaller --depth")
        return product

    def group(self, values: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
        return by_runs(self.plus, values, groups, count)

    def nonzero(self, values: np.ndarray) -> np.ndarray:
        return (values != 0).astype(bool)


class Independent(Real):
    """The probability that a term holds if all that are added were independent: an approximation."""

    name: str = "independent"
    plus: np.ufunc = np.frompyfunc(lambda left, right: left + right - left * right, 2, 1)
    compiled: bool = False
    plain: bool = False
    dense: bool = False
    linear: bool = False

    def group(self, values: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
        with np.errstate(divide="ignore"):
            failing = np.bincount(groups, np.log1p(-values), count) if len(groups) else np.zeros(count)
        return -np.expm1(failing)
