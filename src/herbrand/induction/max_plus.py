"""Quantifiers over a group that is a sum of smaller ones, without ever storing the group.

A ternary group made of binary ones alone is ``sigmoid(A(x, y) + B(y, z) + C(x, z))``, and sigmoid is
monotone, so ``exists z`` is ``sigmoid(A(x, y) + max over z of (B(y, z) + C(x, z)))``: a product of matrices
in the algebra of max and plus. It is computed tile by tile; no tensor of ``m³`` cells exists, neither forward
nor backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from herbrand.induction.reductions import index_type, note_best
from herbrand.induction.tiles import Place, add_sums, addend_at, exclude, tiles


def reduced_sum(
    addends: Sequence[torch.Tensor], bias: torch.Tensor, present: torch.Tensor | None = None
) -> torch.Tensor:
    """``reduced(sigmoid(sum of addends + bias))``; addend ``e`` does not depend on axis ``e``.

    ``addends``: ``r >= 2`` tensors ``[worlds, m * (r - 1), width]``; the result is ``[worlds, m * (r - 1),
    2 width]``."""
    # The last addend and the bias do not depend on the last axis: they are added after it is reduced.
    best = _Best.apply(present, *addends[:-1])
    within = (addends[-1] + bias).unsqueeze(-1)
    return torch.sigmoid(best + within).flatten(-2)


class _Best(torch.autograd.Function):
    """Autograd function of the largest and the smallest sum over the last object axis:
    ``[worlds, m * (r - 1), width, 2]``."""

    @staticmethod
    def forward(ctx: Any, present: torch.Tensor | None, *addends: torch.Tensor) -> torch.Tensor:
        shape = addends[0].shape
        objects, width, arity = shape[1], shape[-1], len(addends) + 1
        result = addends[0].new_empty(*shape, 2)
        kept = any(ctx.needs_input_grad)
        indices = torch.empty(2, *shape, dtype=index_type(objects)) if kept else None
        for place in tiles(shape[0], objects, arity, width):
            tile = _sum(addends, place, kept)
            for which, fill in enumerate((-torch.inf, torch.inf)):
                exclude(tile, fill, arity, place, present)
                note_best(tile, which, place, result, indices)
        ctx.save_for_backward(indices)
        ctx.shapes = shape, len(addends)
        return result

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, gradient: torch.Tensor
    ) -> tuple[Any, ...]:
        (indices,) = ctx.saved_tensors
        shape, count = ctx.shapes
        given = gradient
        results = [given.new_zeros(shape) for _ in range(count)]
        for place in tiles(shape[0], shape[1], count + 1, shape[-1]):
            part = given[place]
            tile = given.new_zeros(*part.shape[:-2], shape[1], shape[-1])
            for which in (0, 1):
                places = indices[which][place].long().unsqueeze(-2)
                tile.scatter_add_(-2, places, part[..., which].unsqueeze(-2))
            add_sums(results, tile, place)
        return (None, *results)


def _sum(addends: Sequence[torch.Tensor], place: Place, kept: bool) -> torch.Tensor:
    """Sum of the addends in a tile. Unless indices are ``kept``, the last object axis is outermost in memory,
    which is faster to reduce. ``torch.broadcast_shapes`` would import sympy, which takes half a second."""
    parts = [addend_at(addend, place, axis).unsqueeze(1 + axis) for axis, addend in enumerate(addends)]
    shape = list(torch.broadcast_tensors(*parts)[0].shape)
    shape[1] = place[1].stop - place[1].start
    if not kept:
        parts = [part.movedim(-2, 1) for part in parts]
        shape.insert(1, shape.pop(-2))
    total = parts[0].new_empty(shape)
    total.copy_(parts[0].expand(shape))
    for part in parts[1:]:
        total += part
    return total if kept else total.movedim(1, -2)
