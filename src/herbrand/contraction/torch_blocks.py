"""Autograd and threads of torch for :mod:`herbrand.contraction.blocks`.

Imported when the first tensor of torch is summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from herbrand.contraction.algebra import Shapes, viewed
from herbrand.contraction.blocks import Softmax, pull_back, push_forward


class OneThread:
    """Context in which torch starts no threads.

    Its parallel loops wait for each other; on a machine that others use too, a table of a few thousand
    entries then takes milliseconds instead of microseconds.
    """

    def __enter__(self) -> None:
        self.threads = torch.get_num_threads()
        torch.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        torch.set_num_threads(self.threads)


class Eliminate(torch.autograd.Function):
    """⊕ over the first ``leading`` dimensions of the sum of operands viewed in ``shapes``."""

    @staticmethod
    def forward(ctx: Any, algebra: Softmax, shapes: Shapes, leading: int, *operands: Tensor) -> Tensor:
        result = push_forward(algebra, leading, viewed(operands, shapes))
        ctx.algebra, ctx.shapes, ctx.leading = algebra, shapes, leading
        ctx.save_for_backward(result, *operands)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        result, *operands = ctx.saved_tensors
        aligned, needs_gradient = viewed(operands, ctx.shapes), ctx.needs_input_grad[3:]
        pulled = pull_back(ctx.algebra, ctx.leading, aligned, result, gradients[0], needs_gradient)
        back = [None if one is None else one.view(to.shape) for one, to in zip(pulled, operands, strict=True)]
        return None, None, None, *back


def eliminate(algebra: Softmax, operands: Sequence[Tensor], shapes: Shapes, leading: int) -> Tensor:
    """⊕ over the first ``leading`` dimensions of the sum of tensors, viewed in shapes that broadcast."""
    if torch.is_grad_enabled() and any(operand.requires_grad for operand in operands):
        return Eliminate.apply(algebra, shapes, leading, *operands)
    return push_forward(algebra, leading, viewed(operands, shapes))
