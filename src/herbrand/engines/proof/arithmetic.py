"""An algebra's ⊕ and ⊗ on the weighted rows of proofs, and the weights of facts and rules in it.

Plans use values only through an :class:`Arithmetic`, so the same plan counts, finds the best proof, or
carries gradients (:mod:`herbrand.engines.proof.differentiable`). Any algebra of
:mod:`herbrand.contraction.algebras` works; compiled loops exist for :data:`LOOPS`.

>>> counting = Numbers.of("real")
>>> counting.group(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), 2).tolist()
[3.0, 4.0]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from herbrand.contraction.algebra import Algebra, algebra_named
from herbrand.engines.proof import kernels
from herbrand.engines.proof.horn_program import Index, IndexedFacts, rule_number
from herbrand.errors import Span, UnsupportedError
from herbrand.language.syntax import Rule
from herbrand.loops import often

Values = Any
"""An array or tensor with one number for each row."""

LOOPS: Mapping[str, bool] = {"real": False, "max_product": True}
"""The algebras with compiled loops, and whether their ⊕ is the maximum."""


class Reverse(Protocol):
    """The backward pass of a kernel: from the gradient of its result to those of its sources.

    ``None`` for sources whose gradient is not ``needed``.
    """

    def __call__(self, slope: np.ndarray, needed: Sequence[bool]) -> tuple[np.ndarray | None, ...]: ...


class Arithmetic(ABC):
    """An algebra over one kind of arrays, with the weights of facts and rules.

    ``compiled``: whether values are float64, so that compiled loops run on their :meth:`numbers`, with the
    maximum as ⊕ if ``best``. ``plain``: whether values are only these numbers, without gradients. ``dense``:
    whether 0 may mean no entry, so that states may be grids.
    """

    plain: bool
    dense: bool

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self.compiled, self.best = algebra.name in LOOPS, LOOPS.get(algebra.name, False)
        self._ordered: dict[int, tuple[Index, Values]] = {}

    @np.errstate(over="ignore")  # overflow is reported when answers are read
    def multiply(self, left: Values, right: Values) -> Values:
        return self.algebra.times(left, right)

    def ordered(self, index: Index, weights: Values | None) -> Values | None:
        """The weights of a relation's rows in an index's order, cached."""
        if weights is None or index.order is None:
            return weights
        if weights is index.relation.weights:  # stated weights: the index caches them for all questions
            return index.in_order("weights", weights)
        if id(index) not in self._ordered:
            self._ordered[id(index)] = index, self.take(weights, index.order)
        return self._ordered[id(index)][1]

    @abstractmethod
    def ones(self, count: int) -> Values: ...

    @abstractmethod
    def fact_weights(self, predicate: str, relation: IndexedFacts) -> Values | None:
        """The weight of each row; ``None`` if all are one."""

    @abstractmethod
    def rule_weight(self, place: int, rule: Rule) -> Any: ...

    @abstractmethod
    def take(self, values: Values, places: np.ndarray) -> Values: ...

    @abstractmethod
    def group(self, values: Values, groups: np.ndarray, count: int) -> Values:
        """⊕ of the values of each of ``count`` groups, none of which is empty."""

    @abstractmethod
    def concatenate(self, parts: Sequence[Values]) -> Values: ...

    @abstractmethod
    def nonzero(self, values: Values) -> np.ndarray:
        """Whether each value is not zero."""

    @abstractmethod
    def numbers(self, values: Values) -> np.ndarray:
        """The values as an array."""

    @abstractmethod
    def made(self, numbers: np.ndarray, reverse: Reverse, *sources: Values | None) -> Values:
        """The result of a kernel on the sources' numbers, as values; ``reverse`` is its backward pass."""

    # Matrices, where ``dense``

    @abstractmethod
    def spread(self, values: Values, places: tuple[np.ndarray, ...], shape: tuple[int, int]) -> Values:
        """A matrix with the values at distinct places, and 0 elsewhere."""

    @abstractmethod
    def added(
        self,
        matrix: Values,
        other: Values,
        rows: np.ndarray | None,
        other_rows: np.ndarray | None,
        owned: bool,
    ) -> Values:
        """⊕ of two matrices; ``rows`` and ``other_rows`` have their nonzero rows (``None``: possibly all).

        The first is overwritten if it is ``owned``.
        """

    @abstractmethod
    def added_at(self, matrix: Values, places: tuple[np.ndarray, ...], values: Values, owned: bool) -> Values:
        """⊕ of a matrix with values at distinct places; the matrix is overwritten if it is ``owned``."""


class Numbers(Arithmetic):
    """The arithmetic of NumPy arrays. ``weighted``: whether facts and rules have their weights, else one."""

    def __init__(self, algebra: Algebra, weighted: bool = True) -> None:
        super().__init__(algebra)
        self.plain = self.dense = self.compiled
        self.weighted = weighted

    @classmethod
    def of(cls, name: str) -> Numbers:
        """The arithmetic of a named algebra; truth values are computed as ``max_product`` of weights 1."""
        algebra = algebra_named(name)
        return cls(algebra) if algebra.weighs else cls(algebra_named("max_product"), weighted=False)

    def ones(self, count: int) -> np.ndarray:
        return np.full(count, self.algebra.one, self.algebra.rows)

    def fact_weights(self, predicate: str, relation: IndexedFacts) -> np.ndarray | None:
        if relation.weights is None or not self.weighted:
            return None
        return self._taken(relation.weights, predicate)

    def rule_weight(self, place: int, rule: Rule) -> Any:
        if not self.weighted:
            return self.algebra.one
        return self._taken(np.array([rule_number(rule)]), span=rule.span)[0]

    def _taken(self, weights: np.ndarray, predicate: str = "", span: Span | None = None) -> np.ndarray:
        """Check the stated weights of facts or a rule; raise UnsupportedError if the algebra refuses one."""
        takes = self.algebra.takes
        if takes is not None and not (fit := takes.fit(weights)).all():
            raise takes.refusal(weights[~fit].min(), predicate, span)
        return weights if self.algebra.rows is float else np.array([*map(int, weights)], object)

    def take(self, values: np.ndarray, places: np.ndarray) -> np.ndarray:
        return values[places]

    def group(self, values: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
        return self.algebra.group(values, groups, count)

    def concatenate(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate(parts)

    def nonzero(self, values: np.ndarray) -> np.ndarray:
        return (values != self.algebra.zero).astype(bool, copy=False)

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

    @np.errstate(over="ignore")  # overflow is reported when answers are read
    def added(
        self,
        matrix: np.ndarray,
        other: np.ndarray,
        rows: np.ndarray | None,
        other_rows: np.ndarray | None,
        owned: bool,
    ) -> np.ndarray:
        if rows is None or other_rows is None:
            return self.algebra.pair(matrix, other, out=matrix if owned else None)
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
        matrix[places] = self.algebra.pair(matrix[places], values)
        return matrix


def refuse_overflow(weights: np.ndarray, counts: bool) -> None:
    """Raise UnsupportedError if the weight of an answer is larger than any float.

    ``counts``: whether exact integers could hold it, for the hint.
    """
    if weights.dtype != object and not np.isfinite(weights).all():
        raise UnsupportedError(
            "a weight is larger than any float",
            hint=("count in exact integers by --exact, or " if counts else "") + "take a smaller --depth",
        )
