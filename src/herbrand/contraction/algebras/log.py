"""Log weights: ⊕ is log-sum-exp and ⊗ is +; -inf is the weight of the impossible.

Safe for entries of -inf: the sum of impossible terms is -inf, and its gradient is zero, never NaN.

>>> import torch
>>> impossible = torch.full((2,), -torch.inf, requires_grad=True)
>>> total = ALGEBRA.sum(impossible, (0,))
>>> total.backward()
>>> total.item(), impossible.grad
(-inf, tensor([0., 0.]))
"""

from __future__ import annotations

import math

from herbrand.arrays import FEW, Tensor, library
from herbrand.contraction.algebra import segment_extreme
from herbrand.contraction.blocks import Softmax, eliminate, leading_dims
from herbrand.relations.expression import Expression

MOST_PAIRWISE = 4
"""Number of larger terms up to which adding pair by pair beats torch.logsumexp, as it
needs no temporaries."""


class Log(Softmax):
    name = "log"
    folds = "log_sum"

    def plus(self, left: Tensor, right: Tensor) -> Tensor:
        used = library(left, right)
        return self.sum(used.stack(used.broadcast_tensors(left, right)), (0,))

    def sum(self, tensor: Tensor, dims: tuple[int, ...]) -> Tensor:
        return eliminate(self, *leading_dims(tensor, dims))

    def segment_sum(self, values: Tensor, segments: Tensor, count: int) -> Tensor:
        peaks = segment_extreme(values.detach(), segments, count, self.zero, "amax")
        peaks = peaks.masked_fill(peaks == -math.inf, 0)
        total = library(values).zeros_like(peaks).index_add(0, segments, (values - peaks[segments]).exp())
        empty = total == 0
        return (total.masked_fill(empty, 1).log() + peaks).masked_fill(empty, -math.inf)

    def repeat(self, tensor: Tensor, times: int) -> Tensor:
        return tensor + math.log(times)

    def total(self, joint: Tensor, leading: int) -> Tensor:
        used = library(joint)
        if leading == 1 and joint.shape[0] <= MOST_PAIRWISE and joint.numel() > FEW:
            result = joint[0]
            for index in range(1, joint.shape[0]):
                result = used.logaddexp(result, joint[index])
            return result
        return used.logsumexp(joint, tuple(range(leading)))

    def shares(self, joint: Tensor, total: Tensor, leading: int) -> Tensor:
        # The finite lower limit makes the shares 0 where all terms are -inf, not nan.
        return (joint - total.clamp_min(library(total).finfo(total.dtype).min)).exp()

    def repeated(self, value: Expression, times: int) -> Expression:
        return value if times == 1 else value + math.log(times)


ALGEBRA = Log()
