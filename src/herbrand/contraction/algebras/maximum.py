"""The heaviest term: ⊕ is max and ⊗ is + of log weights.

The gradient is one choice: the first of equal maxima takes all of it, so the gradient of a maximum over
assignments with respect to unary log-potentials is a most probable assignment, one-hot.

>>> import torch
>>> weights = torch.tensor([1.0, 3.0, 3.0], requires_grad=True)
>>> ALGEBRA.sum(weights, (0,)).backward()
>>> weights.grad
tensor([0., 1., 0.])
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from herbrand.arrays import Tensor, library
from herbrand.contraction.algebra import Algebra, Shapes, segment_extreme, viewed
from herbrand.contraction.blocks import Softmax, block_workspace, eliminate
from herbrand.relations.expression import Expression
from herbrand.relations.fold import Fold, largest


class Maximum(Algebra, Softmax):
    name = "maximum"
    zero, one = -math.inf, 0.0
    idempotent = True

    def add(self, left: Tensor, right: Tensor) -> Tensor:
        used = library(left, right)
        return self.sum(used.stack(used.broadcast_tensors(left, right)), (0,))

    def multiply(self, left: Tensor, right: Tensor) -> Tensor:
        return left + right

    def sum(self, tensor: Tensor, dims: tuple[int, ...]) -> Tensor:
        return first_maximum(tensor, dims)

    def segment_sum(self, values: Tensor, segments: Tensor, count: int) -> Tensor:
        return segment_maximum(values, segments, count, self.zero)

    def product_of_rows(self, tensor: Tensor) -> Tensor:
        return tensor.sum(0)

    def eliminate(self, operands: Sequence[Tensor], shapes: Shapes, leading: int) -> Tensor:
        return (
            eliminate(self, operands, shapes, leading) if leading else self.product(viewed(operands, shapes))
        )

    def workspace(self, joint: int, result: int, factors: int) -> int:
        return block_workspace(joint, result)

    def total(self, joint: Tensor, leading: int) -> Tensor:
        if leading == 1 and joint.shape[0] == 2:
            return library(joint).maximum(joint[0], joint[1])
        return joint.amax(tuple(range(leading)))

    def shares(self, joint: Tensor, total: Tensor, leading: int) -> Tensor:
        terms = joint.detach().flatten(0, leading - 1)
        chosen = terms.argmax(0, keepdim=True)
        rows = _rows(terms)
        return ((rows == chosen) & (total > self.zero)).to(joint.dtype).view(joint.shape)

    def plus(self, value: Expression) -> Fold:
        return largest(value)

    def times(self, left: Expression, right: Expression) -> Expression:
        return left + right


def first_maximum(tensor: Tensor, dims: tuple[int, ...]) -> Tensor:
    """The maximum over dimensions; its gradient goes to the first entry that attains it."""
    kept = [dim for dim in range(tensor.dim()) if dim not in dims]
    count = math.prod(tensor.shape[dim] for dim in dims)
    terms = tensor.permute(*dims, *kept).reshape(count, *(tensor.shape[dim] for dim in kept))
    return terms.gather(0, terms.detach().argmax(0, keepdim=True)).squeeze(0)


def segment_maximum(values: Tensor, segments: Tensor, count: int, zero: float) -> Tensor:
    """The maximum of the rows of each segment; its gradient goes to the first row that attains it."""
    fixed = values.detach()
    peaks = segment_extreme(fixed, segments, count, zero, "amax")
    used = library(values)
    candidates = used.where(fixed == peaks[segments], _rows(fixed), len(fixed))
    first = segment_extreme(candidates, segments, count, len(fixed), "amin")
    padded = used.cat((values, values.new_full((1, *values.shape[1:]), zero)))
    return padded.gather(0, first)


def _rows(table: Tensor) -> Tensor:
    """The number of each row, to be broadcast."""
    numbers = library(table).arange(len(table), device=table.device)
    return numbers.view(-1, *[1] * (table.dim() - 1))


ALGEBRA = Maximum()
