"""Tiles of large tensors, which stay in cache, and the diagonals of a tile.

A group of ``r``-ary predicates over ``m`` objects is a tensor ``[worlds, m, ..., m, channels]`` with ``r``
object axes. A tile is some worlds with all their objects, or one world and a range of its first object
axis.

>>> list(tiles(worlds=2, objects=3, arity=2, width=4, floats=16))  # doctest: +ELLIPSIS
[(slice(0, 1, None), slice(0, 1, None)), (slice(0, 1, None), slice(1, 2, None)), ...]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import torch

TILE = 1 << 18
"""Numbers in a tile: one megabyte of float32, about the cache of one core."""

Place = tuple[slice, slice]
"""The worlds and the range of the first object axis that a tile holds."""


def tiles(worlds: int, objects: int, arity: int, width: int, floats: int = TILE) -> Iterator[Place]:
    """Places that cover a tensor whose cells hold ``width`` numbers, each of about ``floats`` numbers."""
    row = width * objects ** max(arity - 1, 0)
    whole = row * objects if arity else row
    if arity == 0 or whole <= floats:
        step = max(1, floats // max(whole, 1))
        for first in range(0, worlds, step):
            yield slice(first, min(first + step, worlds)), slice(0, objects)
        return
    step = max(1, floats // row)
    for world in range(worlds):
        for first in range(0, objects, step):
            yield slice(world, world + 1), slice(first, min(first + step, objects))


def tile_of(tensor: torch.Tensor, place: Place, arity: int) -> torch.Tensor:
    """The view of a tensor at a place."""
    return tensor[place] if arity else tensor[place[0]]


def addend_at(addend: torch.Tensor, place: Place, axis: int) -> torch.Tensor:
    """View at a place of a tensor that lacks one object axis, on which it does not depend."""
    return addend[place[0]] if axis == 0 else addend[place]


def add_sums(gradients: Sequence[torch.Tensor | None], tile: torch.Tensor, place: Place) -> None:
    """Add a tile's gradient to that of each addend, summed along the axis on which it does not depend."""
    for axis, gradient in enumerate(gradients):
        if gradient is not None:
            target = addend_at(gradient, place, axis)
            target += tile.sum(1 + axis)


def fill_diagonals(tile: torch.Tensor, value: float, arity: int, first: int = 0) -> None:
    """Overwrite cells in which two objects are the same; the tile's first object axis starts at ``first``."""
    for left, right in combinations(range(1, 1 + arity), 2):
        torch.diagonal(tile, first if left == 1 else 0, left, right).fill_(value)


def exclude(tile: torch.Tensor, value: float, arity: int, place: Place, present: torch.Tensor | None) -> None:
    """Overwrite cells that a quantifier over the last object axis must skip: repeated and absent objects."""
    fill_diagonals(tile, value, arity, place[1].start if arity > 1 else 0)
    if present is not None:
        absent = ~present[place[0]]
        tile.masked_fill_(absent.view(len(absent), *([1] * (arity - 1)), -1, 1), value)
