"""Differentiable products of compressed sparse matrices, on values alone.

Two multilinear forms and their derivatives are all there is, so any number of derivatives can be taken:

* Σ over entries e at (i, j) of values[e] left[i] · right[j]: by rows :func:`row_sums`, by entries
  ``_Sampled``;
* Σ over triangles of left[i, j] right[j, k] mask[i, k]: each derivative is the same form at another's
  entries.

>>> import numpy as np
>>> from herbrand.contraction.joins import Rows
>>> rows = Rows.of(np.array([0, 0, 1]), np.array([0, 1, 1]), (2, 2))
>>> row_sums(rows, torch.tensor([1.0, 2.0, 3.0]), torch.tensor([[10.0], [1.0]]))
tensor([[12.],
        [ 3.]])
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from herbrand.contraction import kernels
from herbrand.contraction.joins import Compressed, Rows, Triangle
from herbrand.loops import compiled, often

MASK, LEFT, RIGHT = 0, 1, 2


def row_sums(rows: Rows, values: Tensor, table: Tensor) -> Tensor:
    """Sum of each row's entries times the rows of ``table`` [inner, columns] that they meet."""
    return _RowSums.apply(rows, _in_order(rows.matrix, values), table)


def triangle_at_mask(triangle: Triangle, left: Tensor, right: Tensor) -> Tensor:
    """The product of the matrices ``left`` and ``right`` at every entry of the mask."""
    sums = _Triangle.apply(
        triangle, MASK, None, _in_order(triangle.left, left), _in_order(triangle.right, right)
    )
    inverse = triangle.mask.inverse
    return sums if inverse is None else sums[torch.from_numpy(inverse)]


class _RowSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Rows, values: Tensor, table: Tensor) -> Tensor:
        ctx.rows = rows
        ctx.save_for_backward(values, table)
        matrix = rows.matrix.with_values(values.detach().numpy())
        return torch.from_numpy((matrix.T if rows.flipped else matrix) @ table.detach().contiguous().numpy())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        values, table = ctx.saved_tensors
        _, for_values, for_table = ctx.needs_input_grad
        return (
            None,
            _Sampled.apply(ctx.rows, gradients[0], table) if for_values else None,
            _RowSums.apply(ctx.rows.transposed, values, gradients[0]) if for_table else None,
        )


class _Sampled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Rows, left: Tensor, right: Tensor) -> Tensor:
        ctx.rows = rows
        ctx.save_for_backward(left, right)
        outer, inner = (right, left) if rows.flipped else (left, right)
        pair = (outer.detach().contiguous().numpy(), inner.detach().contiguous().numpy())
        sampled = often(kernels.sampled_products, len(rows.matrix.columns) * pair[0].shape[1])
        return torch.from_numpy(sampled(rows.matrix.pointers, rows.matrix.columns, *pair))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        left, right = ctx.saved_tensors
        _, for_left, for_right = ctx.needs_input_grad
        return (
            None,
            _RowSums.apply(ctx.rows, gradients[0], right) if for_left else None,
            _RowSums.apply(ctx.rows.transposed, gradients[0], left) if for_right else None,
        )


class _Triangle(torch.autograd.Function):
    """Derivative of the form by the values of ``target``, whose own are None."""

    @staticmethod
    def forward(ctx: Any, triangle: Triangle, target: int, *values: Tensor | None) -> Tensor:
        ctx.triangle, ctx.target = triangle, target
        ctx.save_for_backward(*values)
        return _run_triangle(triangle, target, values)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        known = list(ctx.saved_tensors)
        known[ctx.target] = gradients[0]
        pulled: list[Tensor | None] = [None, None]
        for role, needed in enumerate(ctx.needs_input_grad[2:]):
            others = [None if other == role else value for other, value in enumerate(known)]
            pulled.append(_Triangle.apply(ctx.triangle, role, *others) if needed else None)
        return tuple(pulled)


def _run_triangle(triangle: Triangle, target: int, values: tuple[Tensor | None, ...]) -> Tensor:
    left, right, mask = triangle.left, triangle.right, triangle.mask
    given = [None if value is None else value.detach().contiguous() for value in values]
    like = next(value for value in given if value is not None)
    sums = like.new_zeros(len((mask, left, right)[target].columns))
    third, one, other = (sums if value is None else value for value in given)
    rows = (left.pointers, left.columns, one.numpy())
    masked = (mask.pointers, mask.columns, third.numpy())
    if not triangle.by_entries:
        columns = (right.pointers, right.columns, other.numpy())
        compiled(kernels.triangle_by_rows)(target, *rows, *columns, *masked, right.shape[1], sums.numpy())
        return sums
    flipped = triangle.right_by_columns
    columns = (flipped.pointers, flipped.columns, _in_order(flipped, other).numpy())
    compiled(kernels.triangle_by_entries)(target, *rows, *columns, *masked, sums.numpy())
    if target == RIGHT and flipped.inverse is not None:
        return sums[torch.from_numpy(flipped.inverse)]
    return sums


def _in_order(matrix: Compressed, values: Tensor) -> Tensor:
    """Values in the order of a compressed matrix's entries."""
    return values if matrix.order is None else values[torch.from_numpy(matrix.order)]
