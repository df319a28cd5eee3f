"""The heaviest product: ⊕ is max and ⊗ is × of non-negative numbers.

>>> import torch
>>> ALGEBRA.eliminate([torch.tensor([0.2, 0.5]), torch.tensor([0.9, 0.1])], shapes=[(2,), (2,)], leading=1)
tensor(0.1800)
"""

from __future__ import annotations

from typing import Any

from herbrand.arrays import Tensor
from herbrand.contraction.algebra import StatedWeights
from herbrand.contraction.extreme import Extreme


class MaxProduct(Extreme):
    """Maximum of products. Weights may not be negative: the product of two would be positive."""

    name = "max_product"
    zero, one = 0.0, 1.0
    takes = StatedWeights(
        lambda weights: weights >= 0,
        "max takes weights of 0 or more, and a fact of {predicate} weighs {weight:g}",
        "max takes weights of 0 or more, and this rule weighs {weight:g}",
        hint="--algebra count takes negative weights",
    )

    def times(self, left: Any, right: Any) -> Any:
        return left * right

    def product_of_rows(self, tensor: Tensor) -> Tensor:
        return tensor.prod(0)


ALGEBRA = MaxProduct()
