"""The linear part of a logic unit: every permutation of the arguments times its own weights, summed.

The original layer lays all ``r!`` permutations of a group side by side and multiplies once. Here the
permutations exist only for a tile at a time, and only the result is kept for the backward pass. Predicates of
one argument less come in as ``addends``: they are multiplied at their own size, and addend ``e``, which does
not depend on axis ``e``, is broadcast along it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import factorial
from typing import Any, Literal

import torch
from torch.autograd.function import once_differentiable

from herbrand.induction.tiles import TILE, Place, add_sums, addend_at, tile_of, tiles

Activation = Literal["sigmoid", "relu", "none"]


def permuted_product(
    blocks: Sequence[torch.Tensor],
    weight: torch.Tensor | None,
    addends: Sequence[torch.Tensor],
    bias: torch.Tensor | None,
    activation: Activation,
    objects: int,
) -> torch.Tensor:
    """``activation(sum over permutations p of concat(blocks)[p] @ weight[p] + addends + bias)``.

    ``blocks``: tensors ``[worlds, m * r, channels]``. ``weight``: ``[width, r! * channels of all blocks]``,
    permutations in the order of ``itertools.permutations``. ``addends``: none, or ``r`` tensors
    ``[worlds, m * (r - 1), width]``. At least one block or addend is needed.
    """
    arity = blocks[0].dim() - 2 if blocks else addends[0].dim() - 1
    return _Product.apply(  # pyright: ignore[reportReturnType]
        arity, objects, activation, len(blocks), weight, bias, *blocks, *addends
    )


def expanded_addends(
    blocks: Sequence[torch.Tensor], weight: torch.Tensor, arity: int, objects: int
) -> tuple[torch.Tensor, ...]:
    """Products of ``arity - 1``-ary blocks with their weights: one for each axis of the result, on which it
    does not depend.

    ``weight``: ``[width, arity!, channels]``. A permutation that puts the new last axis at ``e`` leaves a
    permutation of the others; those with the same ``e`` are summed at the smaller size.
    """
    orders = list(permutations(range(arity)))
    addends = []
    for axis in range(arity):
        own = {
            _without(order, axis): number for number, order in enumerate(orders) if order[axis] == arity - 1
        }
        columns = [own[order] for order in permutations(range(arity - 1))]
        flat = weight[:, columns].flatten(1)
        addends.append(permuted_product(blocks, flat, (), None, "none", objects))
    return tuple(addends)


def _without(order: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return order[:axis] + order[axis + 1 :]


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        arity: int,
        objects: int,
        activation: Activation,
        count: int,
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
        *tensors: torch.Tensor,
    ) -> torch.Tensor:
        blocks, addends = tensors[:count], tensors[count:]
        width = _width(weight, addends)
        given = blocks[0] if blocks else addends[0]
        result = given.new_empty(given.shape[0], *[objects] * arity, width)
        in_pairs = _in_pairs(blocks, weight, arity, objects)
        wide = _both_orders(weight) if in_pairs and weight is not None else None
        for place in _places(result, arity, weight, in_pairs):
            tile = tile_of(result, place, arity)
            _start(tile, place, addends, bias)
            if wide is not None:
                _add_pairs(tile, (_side_by_side(blocks, place) @ wide).view(*tile.shape[:-1], -1))
            elif weight is not None:
                tile.view(-1, width).addmm_(_permuted(blocks, place, arity), weight.T)
            _activate(tile, activation)
        ctx.arity, ctx.activation, ctx.count = arity, activation, count
        ctx.save_for_backward(result, weight, *blocks)
        ctx.with_bias = bias is not None
        return result

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, gradient: torch.Tensor
    ) -> tuple[Any, ...]:
        result, weight, *blocks = ctx.saved_tensors
        arity, count, width = ctx.arity, ctx.count, result.shape[-1]
        gradient = gradient.contiguous()
        needed = ctx.needs_input_grad[6:]
        to_weight = None if weight is None else torch.zeros_like(weight)
        to_bias = result.new_zeros(width)
        to_blocks = [torch.zeros_like(b) if needed[i] else None for i, b in enumerate(blocks)]
        smaller = (result.shape[0], *result.shape[2:-1], width)
        to_addends = [result.new_zeros(smaller) if n else None for n in needed[count:]]
        in_pairs = _in_pairs(blocks, weight, arity, result.shape[1])
        wide = _both_orders(weight) if in_pairs else None
        to_wide = None if wide is None else torch.zeros_like(wide)
        for place in _places(result, arity, weight, in_pairs):
            tile = _through(tile_of(gradient, place, arity), tile_of(result, place, arity), ctx.activation)
            flat = tile.view(-1, width)
            to_bias += flat.sum(0)
            add_sums(to_addends, tile, place)
            if wide is not None and to_wide is not None:
                both = torch.cat([tile, tile.transpose(1, 2)], -1).view(-1, 2 * width)
                to_wide.addmm_(_side_by_side(blocks, place).T, both)
                _add_side_by_side(to_blocks, blocks, both @ wide.T, place)
            elif weight is not None and to_weight is not None:
                to_weight.addmm_(flat.T, _permuted(blocks, place, arity))
                _add_permuted(to_blocks, blocks, flat @ weight, place, arity)
        if to_wide is not None:
            to_weight = to_wide.view(-1, 2, width).permute(2, 1, 0).flatten(1)
        return (*[None] * 4, to_weight, to_bias if ctx.with_bias else None, *to_blocks, *to_addends)


def _width(weight: torch.Tensor | None, addends: Sequence[torch.Tensor]) -> int:
    return addends[0].shape[-1] if weight is None else weight.shape[0]


def _places(result: torch.Tensor, arity: int, weight: torch.Tensor | None, in_pairs: bool) -> list[Place]:
    width = max(result.shape[-1], 0 if weight is None else weight.shape[1])
    objects = result.shape[1] if arity else 1
    # A product in pairs is added transposed, so a tile must hold whole worlds.
    floats = max(TILE, width * objects**2) if in_pairs else TILE
    return list(tiles(result.shape[0], objects, arity, width, floats))


# Pairs: for binary predicates in small worlds, both orders of the arguments are one product, whose
# second half is added transposed. No input is copied for the other order; for ternary units, with six
# orders, this was slower (docs/decisions/induction.md).


def _in_pairs(blocks: Sequence[torch.Tensor], weight: torch.Tensor | None, arity: int, objects: int) -> bool:
    return arity == 2 and bool(blocks) and weight is not None and objects**2 * weight.shape[1] <= 8 * TILE


def _both_orders(weight: torch.Tensor | None) -> torch.Tensor:
    """Weights of (x, y) and, beside them, those of (y, x): ``[channels, 2 * width]``."""
    assert weight is not None
    return weight.view(weight.shape[0], 2, -1).permute(2, 1, 0).flatten(1)


def _side_by_side(blocks: Sequence[torch.Tensor], place: Place) -> torch.Tensor:
    """Channels of all blocks in the worlds of a tile: ``[cells, channels]``."""
    views = [block[place[0]] for block in blocks]
    return (views[0] if len(views) == 1 else torch.cat(views, -1)).flatten(0, -2)


def _add_pairs(tile: torch.Tensor, both: torch.Tensor) -> None:
    width = tile.shape[-1]
    tile += both[..., :width]
    tile += both[..., width:].transpose(1, 2)


def _add_side_by_side(
    gradients: Sequence[torch.Tensor | None],
    blocks: Sequence[torch.Tensor],
    flat: torch.Tensor,
    place: Place,
) -> None:
    start = 0
    for gradient, block in zip(gradients, blocks, strict=True):
        if gradient is not None:
            target = gradient[place[0]]
            target += flat[:, start : start + block.shape[-1]].view(target.shape)
        start += block.shape[-1]


def _start(
    tile: torch.Tensor, place: Place, addends: Sequence[torch.Tensor], bias: torch.Tensor | None
) -> None:
    if bias is None:
        tile.zero_()
    else:
        tile.copy_(bias.expand_as(tile))
    for axis, addend in enumerate(addends):
        tile += addend_at(addend, place, axis).unsqueeze(1 + axis)


def _permuted(blocks: Sequence[torch.Tensor], place: Place, arity: int) -> torch.Tensor:
    """Channels of all blocks in each order of the arguments: ``[cells of the tile, r! * channels]``."""
    views = [view for order in permutations(range(arity)) for view in _views(blocks, order, place)]
    if len(views) == 1:
        return views[0].reshape(-1, views[0].shape[-1])
    return torch.cat(views, -1).flatten(0, -2)


def _views(blocks: Sequence[torch.Tensor], order: tuple[int, ...], place: Place) -> list[torch.Tensor]:
    axes = (0, *(1 + axis for axis in order), len(order) + 1)
    return [tile_of(block.permute(axes), place, len(order)) for block in blocks]


def _add_permuted(
    gradients: Sequence[torch.Tensor | None],
    blocks: Sequence[torch.Tensor],
    flat: torch.Tensor,
    place: Place,
    arity: int,
) -> None:
    total = flat.shape[1] // factorial(arity)
    for number, order in enumerate(permutations(range(arity))):
        start = number * total
        axes = (0, *(1 + axis for axis in order), arity + 1)
        for gradient, block in zip(gradients, blocks, strict=True):
            if gradient is not None:
                target = tile_of(gradient.permute(axes), place, arity)
                target += flat[:, start : start + block.shape[-1]].view(target.shape)
            start += block.shape[-1]


def _activate(tile: torch.Tensor, activation: Activation) -> None:
    if activation == "sigmoid":
        tile.sigmoid_()
    elif activation == "relu":
        tile.relu_()


def _through(gradient: torch.Tensor, value: torch.Tensor, activation: Activation) -> torch.Tensor:
    """Gradient with respect to the input of the activation, from that of its output, ``value``."""
    match activation:
        case "sigmoid":
            return torch.ops.aten.sigmoid_backward(gradient, value)
        case "relu":
            return gradient * (value > 0)
    return gradient
