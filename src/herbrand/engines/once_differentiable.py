"""Gradients whose own derivatives raise an error.

Not torch's ``once_differentiable``: that one lets gradients pass as constants where the cotangent needs no
gradient, as that of a plain sum, and second derivatives then come out as 0, or with parts of them missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from herbrand.errors import UnsupportedError

Gradients = Sequence[Tensor | None]


def differentiable_once(gradients: Gradients, inputs: Sequence[Tensor], what: str, hint: str) -> Gradients:
    """The gradients of a backward pass; under ``create_graph=True`` their own derivatives raise.

    ``inputs``: tables that depend on what the gradients are of, by which autograd comes here.

    >>> class Doubled(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, table):
    ...         ctx.save_for_backward(table)
    ...         return 2 * table
    ...     @staticmethod
    ...     def backward(ctx, slope):
    ...         return differentiable_once([2 * slope], ctx.saved_tensors, "slopes of slopes", "")[0]
    >>> table = torch.ones(1, requires_grad=True)
    >>> (slope,) = torch.autograd.grad(Doubled.apply(table), table, create_graph=True)
    >>> torch.autograd.grad(slope, table)
    Traceback (most recent call last):
    ...
    herbrand.errors.UnsupportedError: slopes of slopes are not supported
    """
    if not torch.is_grad_enabled():  # nobody asked for create_graph=True
        return gradients
    anchors = [table for table in inputs if table.requires_grad]
    there = [table for table in gradients if table is not None]
    guarded = iter(_Guarded.apply((what, hint), len(anchors), *anchors, *there))
    return [None if table is None else next(guarded) for table in gradients]


class _Guarded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, refusal: tuple[str, str], anchors: int, *tables: Tensor) -> tuple[Tensor, ...]:
        ctx.refusal = refusal
        return tuple(table.clone() for table in tables[anchors:])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        what, hint = ctx.refusal
        raise UnsupportedError(f"{what} are not supported", hint=hint)
