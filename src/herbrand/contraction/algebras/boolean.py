"""Truth values: ⊕ is or, ⊗ is and.

Matrix products run in floating point: a sum of non-negative terms is zero exactly when each term is, so no rounding
can change an answer.

>>> import torch
>>> edges = torch.tensor([[False, True], [False, False]])
>>> ALGEBRA.eliminate([edges.unsqueeze(2), edges.T.unsqueeze(1)], leading=1)
tensor([[False, False],
        [False,  True]])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from herbrand.contraction.algebra import Algebra, linear_eliminate


class Boolean(Algebra):
    name = "boolean"
    zero, one = 0, 1
    idempotent = True
    linear = True
    dtypes = (torch.bool,)

    def add(self, left: Tensor, right: Tensor) -> Tensor:
        return left | right

    def multiply(self, left: Tensor, right: Tensor) -> Tensor:
        return left & right

    def sum(self, tensor: Tensor, dims: tuple[int, ...]) -> Tensor:
        return tensor.any(dims)

    def segment_sum(self, values: Tensor, segments: Tensor, count: int) -> Tensor:
        found = torch.zeros((count, *values.shape[1:]), dtype=torch.uint8, device=values.device)
        return found.index_reduce(0, segments, values.to(torch.uint8), "amax").bool()

    def product_of_rows(self, tensor: Tensor) -> Tensor:
        return tensor.all(0)

    def eliminate(self, operands: Sequence[Tensor], leading: int) -> Tensor:
        if not leading:
            return self.product(operands)
        return self.through_numbers(lambda *numbers: linear_eliminate(numbers, leading), *operands)

    def through_numbers(self, kernel: Callable[..., Tensor], *operands: Tensor) -> Tensor:
        return kernel(*(operand.to(torch.float32) for operand in operands)) > 0


ALGEBRA = Boolean()
