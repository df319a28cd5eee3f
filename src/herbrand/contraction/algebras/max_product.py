"""The heaviest product: ⊕ is max and ⊗ is × of non-negative numbers.

>>> import torch
>>> ALGEBRA.eliminate([torch.tensor([0.2, 0.5]), torch.tensor([0.9, 0.1])], shapes=[(2,), (2,)], leading=1)
tensor(0.1800)
"""

from __future__ import annotations

from herbrand.arrays import Tensor, library
from herbrand.contraction.algebra import Algebra
from herbrand.contraction.algebras.maximum import first_maximum, segment_maximum
from herbrand.relations.expression import Expression
from herbrand.relations.fold import Fold, largest


class MaxProduct(Algebra):
    name = "max_product"
    zero, one = 0.0, 1.0
    idempotent = True

    def add(self, left: Tensor, right: Tensor) -> Tensor:
        return library(left, right).where(left >= right, left, right)

    def multiply(self, left: Tensor, right: Tensor) -> Tensor:
        return left * right

    def sum(self, tensor: Tensor, dims: tuple[int, ...]) -> Tensor:
        return first_maximum(tensor, dims)

    def segment_sum(self, values: Tensor, segments: Tensor, count: int) -> Tensor:
        return segment_maximum(values, segments, count, self.zero)

    def product_of_rows(self, tensor: Tensor) -> Tensor:
        return tensor.prod(0)

    def plus(self, value: Expression) -> Fold:
        return largest(value)

    def times(self, left: Expression, right: Expression) -> Expression:
        return left * right


ALGEBRA = MaxProduct()
