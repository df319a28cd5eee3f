"""Truth values: ⊕ is or, ⊗ is and.

Matrix products run in floating point: a sum of non-negative terms is zero exactly when each term is, so no
rounding can change an answer.

>>> import torch
>>> edges = torch.tensor([[False, True], [True, False]])
>>> ALGEBRA.eliminate([edges, edges], shapes=[(2, 2, 1), (2, 1, 2)], leading=1)
tensor([[ True, False],
        [False,  True]])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from herbrand.arrays import Tensor, library
from herbrand.contraction.algebra import Algebra, Shapes, linear_eliminate, viewed


class Boolean(Algebra):
    name = "boolean"
    zero, one = 0, 1
    folds = "some"
    idempotent = True
    linear = True
    weighs = False
    dtypes = ("bool",)

    def plus(self, left: Tensor, right: Tensor) -> Tensor:
        return left | right

    def times(self, left: Any, right: Any) -> Any:
        return left & right

    def sum(self, tensor: Tensor, dims: tuple[int, ...]) -> Tensor:
        return tensor.any(dims)

    def segment_sum(self, values: Tensor, segments: Tensor, count: int) -> Tensor:
        numbers = values.long()
        return numbers.new_zeros((count, *values.shape[1:])).index_add(0, segments, numbers) > 0

    def product_of_rows(self, tensor: Tensor) -> Tensor:
        return tensor.all(0)

    def eliminate(self, operands: Sequence[Tensor], shapes: Shapes, leading: int) -> Tensor:
        if not leading:
            return self.product(viewed(operands, shapes))
        return self.through_numbers(
            lambda *numbers: linear_eliminate(viewed(numbers, shapes), leading), *operands
        )

    def workspace(self, joint: int, result: int, factors: int) -> int:
        return 4 * joint if factors > 2 else joint

    def through_numbers(self, kernel: Callable[..., Tensor], *operands: Tensor) -> Tensor:
        return kernel(*(operand.to(library(operand).float32) for operand in operands)) > 0


ALGEBRA = Boolean()
