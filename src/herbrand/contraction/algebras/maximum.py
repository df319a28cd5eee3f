"""The heaviest term: ⊕ is max and ⊗ is + of log weights.

>>> import torch
>>> weights = torch.tensor([1.0, 3.0, 3.0], requires_grad=True)
>>> ALGEBRA.sum(weights, (0,)).backward()
>>> weights.grad
tensor([0., 1., 0.])
"""

from __future__ import annotations

from herbrand.arrays import Tensor, library
from herbrand.contraction.blocks import Softmax
from herbrand.contraction.extreme import Extreme, row_numbers


class Maximum(Extreme, Softmax):
    name = "maximum"

    def total(self, joint: Tensor, leading: int) -> Tensor:
        if leading == 1 and joint.shape[0] == 2:
            return library(joint).maximum(joint[0], joint[1])
        return joint.amax(tuple(range(leading)))

    def shares(self, joint: Tensor, total: Tensor, leading: int) -> Tensor:
        terms = joint.detach().flatten(0, leading - 1)
        chosen = terms.argmax(0, keepdim=True)
        rows = row_numbers(terms)
        return ((rows == chosen) & (total > self.zero)).to(joint.dtype).view(joint.shape)


ALGEBRA = Maximum()
