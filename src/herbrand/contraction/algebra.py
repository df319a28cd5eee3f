"""The interface of algebras: commutative semirings in which sums of products are computed.

⊗ is written once, and serves arrays, tensors of torch, rows of proofs and expressions
over relations. ⊕ over rows, in memory or in a database, is a row of :data:`~herbrand.relations.fold.FOLDS`; ⊕
over tensors are the methods ``plus``, ``sum`` and ``segment_sum``. An algebra named ``log`` is the
``ALGEBRA`` of the module ``algebras/log.py``, so a new member is one new file; one that lives outside this
package is added by :func:`register`.

>>> from herbrand import arrays
>>> log = algebra_named("log")
>>> log.sum(arrays.zeros((4, 2)), dims=(0,)).tolist()
[1.3862943611198906, 1.3862943611198906]
>>> log.group(np.zeros(4), np.array([0, 0, 0, 1]), 2).round(6).tolist()
[1.098612, 0.0]
"""

from __future__ import annotations

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from herbrand import arrays
from herbrand.arrays import Array, Tensor, library
from herbrand.contraction.algebras import ADDED, is_member
from herbrand.errors import Span, UnsupportedError
from herbrand.options.algebras import QUERY_ALGEBRAS
from herbrand.relations.expression import Expression, literal
from herbrand.relations.fold import FOLDS, Fold

Shapes = Sequence[tuple[int, ...]]

MANY = 3
"""Number of factors of one shape above which they are stacked and multiplied at once."""

KINDS: Mapping[str, type[bool] | type[int]] = {"bool": bool, "int64": int}
"""Python types of the numbers of dtypes that are not floats."""

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class StatedWeights:
    """Weights of facts and rules that an algebra takes, and its error messages for others. ``fit``: test of
    an array or of an expression over relations; ``fact`` and ``rule``: messages with gaps for the
    ``predicate`` and the ``weight``."""

    fit: Callable[[Any], Any]
    fact: str
    rule: str
    hint: str = ""

    def refusal(self, weight: float, predicate: str = "", span: Span | None = None) -> UnsupportedError:
        """Error for a fact of the predicate with this weight; without a predicate, for the
        rule at ``span``."""
        message = (self.fact if predicate else self.rule).format(predicate=predicate, weight=weight)
        return UnsupportedError(message, span=span, hint=self.hint if predicate else "")


class Algebra(ABC):
    """A commutative semiring. Members hold no state.

    Rules and relations need ``zero``, ``one``, ``folds`` and :meth:`times`; contractions of tensors also need
    :meth:`plus`, :meth:`sum` and :meth:`segment_sum`.
    """

    name: ClassVar[str]
    zero: ClassVar[float]
    one: ClassVar[float]
    folds: ClassVar[str | None] = None
    """⊕ over rows, by its name in :data:`~herbrand.relations.fold.FOLDS`."""
    has_subtraction: ClassVar[bool] = False
    idempotent: ClassVar[bool] = False
    linear: ClassVar[bool] = False
    """Whether sums of products can be computed by ordinary arithmetic, by :meth:`through_numbers`."""
    distributes: ClassVar[bool] = True
    """Whether ⊗ distributes over ⊕; if not, sums of products depend on the order of operations."""
    weighs: ClassVar[bool] = True
    """Whether weights count; if not, rows are only present or absent."""
    takes: ClassVar[StatedWeights | None] = None
    """Weights of facts and rules that it takes; None if all."""
    dtypes: ClassVar[tuple[str, ...]] = ("float64", "float32")
    """Allowed dtypes of tensors; constants have the first."""
    rows: ClassVar[type] = float
    """Type of the weights of proofs in rows; ``object`` for Python's integers."""

    @abstractmethod
    def times(self, left: Any, right: Any) -> Any:
        """left ⊗ right: of NumPy arrays, tensors that broadcast, or expressions over rows of relations."""

    # Rows: of proofs, and of relations in memory or in a database

    def fold(self, value: Expression) -> Fold:
        """⊕ over a group of rows of a relation; raises for an algebra without a fold."""
        if self.folds is None:
            raise UnsupportedError(
                f"the algebra {self.name} is not written over relations",
                hint="name its fold, or leave out --on",
            )
        return Fold(self.folds, literal(value))

    def group(self, values: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
        """⊕ of the values of each of ``count`` groups, none of them empty."""
        assert self.folds is not None
        return FOLDS[self.folds].array(values, groups, count)

    @property
    def pair(self) -> np.ufunc:
        """⊕ of two arrays of rows."""
        assert self.folds is not None
        return FOLDS[self.folds].pair

    @property
    def least_first(self) -> bool:
        """Whether the smaller of two answers is the better one."""
        return self.folds == "least"

    def repeated(self, value: Expression, times: int) -> Expression:
        """:meth:`repeat` for a value in a row of a relation."""
        if times == 1 or self.idempotent:
            return value
        return self.times(value, self.constant(times))

    def constant(self, value: float) -> Expression:
        """Expression for a number of this algebra in each row of a relation."""
        return literal(self.value(value))

    def value(self, number: float) -> bool | int | float:
        """A number as Python's type for the algebra's values."""
        kind = KINDS.get(self.dtypes[0], float)
        return kind(number)

    # Tensors

    def plus(self, left: Tensor, right: Tensor) -> Tensor:
        """left ⊕ right, broadcast."""
        raise self._not_over_tensors()

    def sum(self, tensor: Tensor, dims: tuple[int, ...]) -> Tensor:
        """⊕ over dimensions, none of them empty."""
        raise self._not_over_tensors()

    def segment_sum(self, values: Tensor, segments: Tensor, count: int) -> Tensor:
        """⊕ of the rows of ``values`` [n, ...] of each segment, [count, ...]; ``zero`` for an empty one."""
        raise self._not_over_tensors()

    def _not_over_tensors(self) -> UnsupportedError:
        return UnsupportedError(f"the algebra {self.name} is not written over tensors")

    def product(self, tensors: Sequence[Tensor]) -> Tensor:
        """⊗ of broadcastable tensors, from left to right."""
        if len(tensors) > MANY and all(tensor.shape == tensors[0].shape for tensor in tensors):
            return self.product_of_rows(library(tensors[0]).stack(tuple(tensors)))
        return reduce(self.times, tensors)

    def product_of_rows(self, tensor: Tensor) -> Tensor:
        """⊗ over the first dimension."""
        return reduce(self.times, tensor)

    def repeat(self, tensor: Tensor, times: int) -> Tensor:
        """⊕ of ``times`` equal copies; at least one."""
        if self.idempotent:
            return tensor
        raise NotImplementedError

    def eliminate(self, operands: Sequence[Tensor], shapes: Shapes, leading: int) -> Tensor:
        """⊕ over the first ``leading`` dimensions of the ⊗ of operands, viewed in ``shapes`` that broadcast.

        Operands come smallest first, so that partial products stay small.
        """
        product = self.product(viewed(operands, shapes))
        return self.sum(product, tuple(range(leading))) if leading else product

    def workspace(self, joint: int, result: int, factors: int) -> int:
        """Entries that :meth:`eliminate` needs beside its result, for a joint table of ``joint`` entries."""
        return joint if factors == 1 else 2 * joint

    def through_numbers(self, kernel: Callable[..., Tensor], *operands: Tensor) -> Tensor:
        """Run a kernel of ordinary + and × so that its result is that of ⊕ and ⊗."""
        raise NotImplementedError

    def full(self, shape: Sequence[int], value: float, like: Tensor | None = None) -> Tensor:
        """Constant tensor with the dtype and device of ``like``."""
        if like is None:
            return arrays.full(shape, value, dtype=getattr(arrays, self.dtypes[0]))
        return library(like).full(tuple(shape), value, dtype=like.dtype, device=like.device)


def viewed(operands: Sequence[Tensor], shapes: Shapes) -> list[Tensor]:
    """Views of the operands in the given shapes, without a copy."""
    return [operand.view(shape) for operand, shape in zip(operands, shapes, strict=True)]


def segment_extreme(values: Tensor, segments: Tensor, count: int, start: float, which: str) -> Tensor:
    """Largest ("amax") or smallest ("amin") of ``start`` and the rows of ``values`` [n, ...] of each
    segment, [count, ...]."""
    if isinstance(values, Array):
        return arrays.segment_extreme(values, segments, count, start, which)
    places = segments.view(-1, *[1] * (values.dim() - 1)).expand_as(values)
    return values.new_full((count, *values.shape[1:]), start).scatter_reduce(0, places, values, which)


def linear_eliminate(operands: Sequence[Tensor], leading: int) -> Tensor:
    """Sum of products of numbers over the leading dimensions, by a matrix product if there are two
    factors or more."""
    if not leading:
        return math.prod(operands[1:], start=operands[0])
    if len(operands) == 1:
        return operands[0].sum(tuple(range(leading)))
    partial: Tensor = math.prod(operands[1:-1], start=operands[0])
    if isinstance(partial, Array):
        return arrays.einsum(_equation(partial.dim(), leading), partial, operands[-1])
    if (
        _spare().is_lent()
        and leading == 1
        and operands[-1].dim() == 2
        and partial.shape == (len(operands[-1]), 1)
    ):
        return _spare().times_table(partial[:, 0], operands[-1])
    return library(partial).einsum(_equation(partial.dim(), leading), partial, operands[-1])


@lru_cache(maxsize=1)
def _spare() -> ModuleType:
    """The module of tables that a backward pass of torch may overwrite, imported only for
    tensors of torch."""
    return importlib.import_module("herbrand.contraction.reused_memory")


@lru_cache(maxsize=256)
def _equation(rank: int, leading: int) -> str:
    return f"{LETTERS[:rank]},{LETTERS[:rank]}->{LETTERS[leading:rank]}"


def register(algebra: Algebra) -> None:
    """Register an algebra that is defined elsewhere, for contractions and queries of this process."""
    if is_member(algebra.name) or QUERY_ALGEBRAS.get(algebra.name, algebra.name) != algebra.name:
        raise ValueError(f"there is an algebra {algebra.name!r} already")
    ADDED[algebra.name] = algebra
    QUERY_ALGEBRAS[algebra.name] = algebra.name


def algebra_named(name: str) -> Algebra:
    """The member that ``algebras/<name>.py`` defines, or a registered algebra."""
    added = ADDED.get(name)
    return added if isinstance(added, Algebra) else _own_algebra(name)


@lru_cache
def _own_algebra(name: str) -> Algebra:
    return importlib.import_module(f"herbrand.contraction.algebras.{name}").ALGEBRA
