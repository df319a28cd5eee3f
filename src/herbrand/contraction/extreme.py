"""Algebras whose ⊕ is the maximum or the minimum; the gradient of a sum goes to a single term.

The first of equal extremes takes all of a gradient, so the gradient of a maximum over assignments with
respect to unary log-potentials is a most probable assignment, one-hot.

>>> import torch
>>> first_maximum(torch.tensor([[1.0, 5.0], [3.0, 2.0]]), (0,))
tensor([3., 5.])
"""

from __future__ import annotations

import math

from herbrand.arrays import Tensor, library
from herbrand.contraction.algebra import Algebra, segment_extreme


class Extreme(Algebra):
    """Algebra whose ⊕ is the maximum, or the minimum if ``folds`` is "least"."""

    folds = "largest"
    idempotent = True

    def plus(self, left: Tensor, right: Tensor) -> Tensor:
        chosen = left <= right if self.least_first else left >= right
        return library(left, right).where(chosen, left, right)

    def sum(self, tensor: Tensor, dims: tuple[int, ...]) -> Tensor:
        return -first_maximum(-tensor, dims) if self.least_first else first_maximum(tensor, dims)

    def segment_sum(self, values: Tensor, segments: Tensor, count: int) -> Tensor:
        if self.least_first:
            return -segment_maximum(-values, segments, count, -self.zero)
        return segment_maximum(values, segments, count, self.zero)


def first_maximum(tensor: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Maximum over dimensions; its gradient goes to the first entry that attains it."""
    kept = [dim for dim in range(tensor.dim()) if dim not in dims]
    count = math.prod(tensor.shape[dim] for dim in dims)
    terms = tensor.permute(*dims, *kept).reshape(count, *(tensor.shape[dim] for dim in kept))
    return terms.gather(0, terms.detach().argmax(0, keepdim=True)).squeeze(0)


def segment_maximum(values: Tensor, segments: Tensor, count: int, zero: float) -> Tensor:
    """Maximum of the rows of each segment, ``zero`` for an empty one; its gradient goes to the first row
    that attains it."""
    fixed = values.detach()
    peaks = segment_extreme(fixed, segments, count, zero, "amax")
    used = library(values)
    candidates = used.where(fixed == peaks[segments], row_numbers(fixed), len(fixed))
    first = segment_extreme(candidates, segments, count, len(fixed), "amin")
    padded = used.cat((values, values.new_full((1, *values.shape[1:]), zero)))
    return padded.gather(0, first)


def row_numbers(table: Tensor) -> Tensor:
    """Number of each row, shaped to broadcast."""
    numbers = library(table).arange(len(table), device=table.device)
    return numbers.view(-1, *[1] * (table.dim() - 1))
