"""Exact counts: + and × of int64, refused where a count could leave the range.

Rows of proofs hold Python's integers instead, of up to :data:`MOST_DIGITS` digits. Of tensors a sum of
products is first computed in float64 on absolute values. Below 2⁵³ that is already exact; up to 2⁶³ it proves
that the same computation in int64 cannot overflow; above, the count is refused.

>>> import torch
>>> ALGEBRA.times(torch.tensor(2**40), torch.tensor(2**20)) == 2**60
tensor(True)
>>> ALGEBRA.times(torch.tensor(2**40), torch.tensor(2**30))
Traceback (most recent call last):
    ...
herbrand.errors.UnsupportedError: a count of about 1.2e+21 does not fit in 64 bits
  use the real algebra, which rounds to 16 digits
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from herbrand.arrays import Tensor, library
from herbrand.contraction.algebra import Algebra, Shapes, StatedWeights, linear_eliminate, viewed
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.relations.expression import Expression

EXACT_FLOATS = 2.0**53
SAFE_INTEGERS = 2.0**63 * (1 - 1e-9)
"""2⁶³ less the rounding of any float64 sum that this library can hold."""
MOST_DIGITS = 4200
"""Digits that a count of proofs may have. Proofs double with each call where both sides of a rule are
recursive, and Python writes at most 4,300 digits."""
LARGEST = 10**MOST_DIGITS


class Counting(Algebra):
    name = "counting"
    zero, one = 0, 1
    folds = "total"
    has_subtraction = True
    linear = True
    dtypes = ("int64",)
    rows = object
    takes = StatedWeights(
        lambda weights: weights == np.rint(weights),
        "exact counts need whole weights, and facts of {predicate} have others",
        "exact counts need whole weights, not {weight:g}",
    )

    def plus(self, left: Tensor, right: Tensor) -> Tensor:
        return self.through_numbers(operator.add, left, right)

    def times(self, left: Any, right: Any) -> Any:
        if isinstance(left, Expression):
            return left * right
        if isinstance(left, np.ndarray):
            return _written(left * right)
        return self.through_numbers(operator.mul, left, right)

    def sum(self, tensor: Tensor, dims: tuple[int, ...]) -> Tensor:
        return self.through_numbers(lambda numbers: numbers.sum(dims), tensor)

    def segment_sum(self, values: Tensor, segments: Tensor, count: int) -> Tensor:
        def kernel(numbers: Tensor) -> Tensor:
            return numbers.new_zeros((count, *numbers.shape[1:])).index_add(0, segments, numbers)

        return self.through_numbers(kernel, values)

    def repeat(self, tensor: Tensor, times: int) -> Tensor:
        return self.through_numbers(lambda numbers: numbers * times, tensor)

    def product_of_rows(self, tensor: Tensor) -> Tensor:
        return self.through_numbers(lambda numbers: numbers.prod(0), tensor)

    def eliminate(self, operands: Sequence[Tensor], shapes: Shapes, leading: int) -> Tensor:
        return self.through_numbers(
            lambda *numbers: linear_eliminate(viewed(numbers, shapes), leading), *operands
        )

    def workspace(self, joint: int, result: int, factors: int) -> int:
        return 2 * joint if factors > 2 else 0

    def through_numbers(self, kernel: Callable[..., Tensor], *operands: Tensor) -> Tensor:
        used = library(*operands)
        bounds = kernel(*(operand.abs().to(used.float64) for operand in operands))
        largest = bounds.max().item() if bounds.numel() else 0.0
        if largest < EXACT_FLOATS:
            if not any((operand < 0).any() for operand in operands):
                return bounds.to(used.int64)
            return kernel(*(operand.to(used.float64) for operand in operands)).to(used.int64)
        if largest < SAFE_INTEGERS:
            return kernel(*operands)
        raise UnsupportedError(
            f"a count of about {largest:.1e} does not fit in 64 bits",
            hint="use the real algebra, which rounds to 16 digits",
        )


def _written(counts: np.ndarray) -> np.ndarray:
    """The counts; raises BudgetError if one has more digits than Python writes."""
    if len(counts) and max(counts.max(), -counts.min()) >= LARGEST:
        raise BudgetError(f"a count has more than {MOST_DIGITS:,} digits", hint="take a smaller --depth")
    return counts


ALGEBRA = Counting()
