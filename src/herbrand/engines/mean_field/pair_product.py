"""The product of two torch tensors, summed over the axes that the result lacks; a matrix product if possible.

It is planned once from names of axes; a run is a few calls of torch, which autograd, ``vmap``,
``torch.compile`` and ``torch.export`` follow. The axis ``BATCH`` has any size.

>>> step = PairProduct.of(("x", "y"), ("y", "z"), ("x", "z"), {"x": 2, "y": 3, "z": 4})
>>> step(torch.ones(2, 3), torch.ones(3, 4)).tolist()
[[3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Axes = tuple[str, ...]

BATCH = "*"

MULTIPLIED, ADDED, GATHERED = 0.1, 1.0, 8.0
"""Relative times of one entry: within a matrix product, in a plain pass over a table, and read by an
index."""


@dataclass(frozen=True)
class Arranged:
    """Sum over ``summed`` dimensions, permute the others, then view them in ``shape`` (-1 for the batch)."""

    summed: tuple[int, ...]
    order: tuple[int, ...] | None
    shape: tuple[int, ...] | None

    @staticmethod
    def of(axes: Axes, groups: Sequence[Axes], sizes: Mapping[str, int]) -> Arranged:
        """Plan one dimension for each group of axes; axes in no group are summed out."""
        permutation = [axis for group in groups for axis in group]
        kept = [axis for axis in axes if axis in permutation]
        summed = tuple(place for place, axis in enumerate(axes) if axis not in permutation)
        order = tuple(kept.index(axis) for axis in permutation)
        plain = order == tuple(range(len(order)))
        grouped = all(len(group) == 1 for group in groups)
        shape = None if grouped else tuple(_size(group, sizes) for group in groups)
        return Arranged(summed, None if plain else order, shape)

    def __call__(self, tensor: Tensor) -> Tensor:
        if self.summed:
            tensor = tensor.sum(self.summed)
        if self.order is not None:
            tensor = tensor.permute(self.order)
        return tensor if self.shape is None else tensor.reshape(self.shape)


def _size(group: Axes, sizes: Mapping[str, int]) -> int:
    return -1 if BATCH in group else math.prod(sizes[axis] for axis in group)


@dataclass(frozen=True)
class PairProduct:
    """A planned product. ``kind``: the number of dimensions of the matrix product (2 or 3), 1 where each of a
    table's rows is multiplied by a matrix, or 0 for a product entry by entry.

    ``shape`` and ``order`` bring a matrix product's result into the axes of the result.
    """

    left: Arranged
    right: Arranged
    kind: int
    shape: tuple[int, ...] | None
    order: tuple[int, ...] | None
    cost: float

    @staticmethod
    def of(left: Axes, right: Axes, output: Axes, sizes: Mapping[str, int]) -> PairProduct:
        both = set(left) & set(right)
        summed = tuple(a for a in left if a in both and a not in output)
        batch = tuple(a for a in output if a in both)
        first = tuple(a for a in output if a in left and a not in both)
        second = tuple(a for a in output if a in right and a not in both)
        every = math.prod(sizes.get(axis, 1) for axis in {*summed, *output})
        if not summed:
            ends = [tuple((a,) if a in axes else () for a in output) for axes in (left, right)]
            one, other = (Arranged.of(a, end, sizes) for a, end in zip((left, right), ends, strict=True))
            return PairProduct(one, other, 0, None, None, ADDED * every)
        lead = (batch,) if batch else ()
        output_axes = (*batch, *first, *second)
        rows = left == (*first, *summed) and len(summed) == len(second) == 1
        simple = rows or (len(first) == len(second) == 1 and len(batch) <= 1)
        groups = tuple((axis,) for axis in left) if rows else (*lead, first, summed)
        return PairProduct(
            Arranged.of(left, groups, sizes),
            Arranged.of(right, (*lead, summed, second), sizes),
            3 if batch else 1 if rows else 2,
            None if simple else tuple(_size((a,), sizes) for a in output_axes),
            None if output_axes == output else tuple(output_axes.index(axis) for axis in output),
            MULTIPLIED * every,
        )

    def __call__(self, left: Tensor, right: Tensor) -> Tensor:
        left, right = self.left(left), self.right(right)
        if not self.kind:
            return left * right
        multiply = torch.bmm if self.kind == 3 else torch.matmul if self.kind == 1 else torch.mm
        product = multiply(left, right)
        if self.shape is not None:
            product = product.reshape(self.shape)
        return product if self.order is None else product.permute(self.order)

    @property
    def plain(self) -> bool:
        """Whether a batched matrix product gives the result without reordering."""
        return self.kind == 3 and self.shape is None and self.order is None

    def added(self, total: Tensor, left: Tensor, right: Tensor, sign: float) -> Tensor:
        """``total`` plus ``sign`` times the result; in one pass for plain products."""
        if self.plain:
            return torch.baddbmm(total, self.left(left), self.right(right), alpha=sign)
        return torch.add(total, self(left, right), alpha=sign)


@dataclass(frozen=True)
class Shift:
    """A product with a known matrix whose entries are on a few of its diagonals.

    ``offsets``: how far each diagonal moves entries along ``dim``; ``masked``: whether it has gaps, which are
    multiplied by the next of the masks.
    """

    dim: int
    size: int
    offsets: tuple[int, ...]
    masked: tuple[bool, ...]

    def __call__(self, tensor: Tensor, *masks: Tensor) -> Tensor:
        after = tensor.dim() - 1 - self.dim
        before, behind = max(0, *self.offsets), max(0, *(-offset for offset in self.offsets))
        padded = torch.nn.functional.pad(tensor, (0, 0) * after + (before, behind))
        total, left = None, iter(masks)
        for offset, masked in zip(self.offsets, self.masked, strict=True):
            part = padded.narrow(self.dim, before - offset, self.size)
            if masked:
                part = part * next(left).view(-1, *[1] * after)
            total = part if total is None else total + part
        assert total is not None
        return total
