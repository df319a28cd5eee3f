"""Quantifiers: from ``r + 1``-ary predicates to ``r``-ary ones, over objects other than the arguments.

``exists`` is the largest value and ``forall`` the smallest along the last object axis. Cells in which two
objects are the same are excluded: they are filled with 0 for the largest and with 1 for the smallest, as are
objects that a smaller world of the batch lacks. With nothing left to quantify over, ``exists`` is 0 and
``forall`` 1.

>>> likes = torch.tensor([[[0.9, 0.2], [0.4, 0.8]]]).unsqueeze(-1)      # [worlds, x, y, channels]
>>> reduced(likes)                                 # of each x: likes some other y, likes every other y
tensor([[[0.2000, 0.2000],
         [0.4000, 0.4000]]])
"""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import once_differentiable

from herbrand.induction.tiles import exclude, tile_of, tiles


def reduced(group: torch.Tensor, present: torch.Tensor | None = None) -> torch.Tensor:
    """Compute ``[worlds, m * r, 2 channels]`` from ``[worlds, m * (r + 1), channels]``: exists and forall of
    each channel in turn.

    ``present``: ``[worlds, m]``, mask of the objects in each world; ``None`` for all of them.
    """
    return _Reduction.apply(group, present)  # pyright: ignore[reportReturnType]


def index_type(objects: int) -> torch.dtype:
    """Smallest integer type that holds the index of an object."""
    return torch.int16 if objects < 2**15 else torch.int32


def laid_out(tile: torch.Tensor, kept: bool) -> torch.Tensor:
    """Copy a tile. Unless indices are ``kept``, the last object axis is outermost in memory, over which a
    reduction is eight times faster."""
    if kept:
        return tile.clone(memory_format=torch.contiguous_format)
    return tile.movedim(-2, 1).clone(memory_format=torch.contiguous_format).movedim(1, -2)


def note_best(
    tile: torch.Tensor, which: int, here: Any, result: torch.Tensor, indices: torch.Tensor | None
) -> None:
    """Store the largest (0) or the smallest (1) value along the last object axis, and its index if those are
    kept."""
    if indices is None:
        result[here][..., which] = torch.amax(tile, -2) if which == 0 else torch.amin(tile, -2)
        return
    values, places = torch.max(tile, -2) if which == 0 else torch.min(tile, -2)
    result[here][..., which] = values
    indices[which][here] = places.to(indices.dtype)


class _Reduction(torch.autograd.Function):
    """Autograd function of :func:`reduced`: it keeps the indices of extrema, and no copy of the group."""

    @staticmethod
    def forward(ctx: Any, group: torch.Tensor, present: torch.Tensor | None) -> torch.Tensor:
        arity, objects, channels = group.dim() - 2, group.shape[1], group.shape[-1]
        shape = (*group.shape[:-2], channels)
        result = group.new_empty(*shape, 2)
        kept = ctx.needs_input_grad[0]
        indices = torch.empty(2, *shape, dtype=index_type(objects)) if kept else None
        outer, cell = (arity, channels) if arity > 1 else (0, objects * channels)
        for place in tiles(group.shape[0], objects, outer, cell):
            here = place if outer else place[0]
            tile = laid_out(tile_of(group, place, outer), kept)
            for which, fill in enumerate((0.0, 1.0)):
                exclude(tile, fill, arity, place, present)
                note_best(tile, which, here, result, indices)
        ctx.save_for_backward(indices, present)
        ctx.group_shape = group.shape
        return result.flatten(-2)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, gradient: torch.Tensor
    ) -> tuple[torch.Tensor, None]:
        indices, present = ctx.saved_tensors
        shape = ctx.group_shape
        by_quantifier = gradient.unflatten(-1, (shape[-1], 2))
        result = gradient.new_zeros(shape)
        for which in (0, 1):
            places = indices[which].long().unsqueeze(-2)
            result.scatter_add_(-2, places, by_quantifier[..., which].unsqueeze(-2))
        exclude(result, 0.0, len(shape) - 2, (slice(0, shape[0]), slice(0, shape[1])), present)
        return result, None
