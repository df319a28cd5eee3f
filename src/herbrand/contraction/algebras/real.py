"""Ordinary arithmetic: sums of products of float64 or float32 numbers.

>>> import torch
>>> ALGEBRA.eliminate([torch.ones(3, 2), torch.full((3,), 0.5)], shapes=[(3, 2), (3, 1)], leading=1)
tensor([1.5000, 1.5000])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from herbrand.arrays import Tensor
from herbrand.contraction.algebra import Algebra, Shapes, linear_eliminate, viewed


class Real(Algebra):
    name = "real"
    zero, one = 0.0, 1.0
    folds = "total"
    has_subtraction = True
    linear = True

    def plus(self, left: Tensor, right: Tensor) -> Tensor:
        return left + right

    def times(self, left: Any, right: Any) -> Any:
        return left * right

    def sum(self, tensor: Tensor, dims: tuple[int, ...]) -> Tensor:
        return tensor.sum(dims)

    def segment_sum(self, values: Tensor, segments: Tensor, count: int) -> Tensor:
        return values.new_zeros((count, *values.shape[1:])).index_add(0, segments, values)

    def product_of_rows(self, tensor: Tensor) -> Tensor:
        return tensor.prod(0)

    def repeat(self, tensor: Tensor, times: int) -> Tensor:
        return tensor * float(times)  # torch does not take whole numbers beyond 64 bits

    def eliminate(self, operands: Sequence[Tensor], shapes: Shapes, leading: int) -> Tensor:
        return (
            linear_eliminate(viewed(operands, shapes), leading)
            if leading
            else self.product(viewed(operands, shapes))
        )

    def workspace(self, joint: int, result: int, factors: int) -> int:
        return joint if factors > 2 else 0

    def through_numbers(self, kernel: Callable[..., Tensor], *operands: Tensor) -> Tensor:
        return kernel(*operands)


ALGEBRA = Real()
