"""Broadcast tables, block by block: how the algebras without matrix products avoid building them whole.

Owns the walk over a large joint table in pieces that stay in cache, and :class:`Eliminate`, the
differentiable "⊗ the operands, ⊕ the leading dimensions out" of algebras whose ⊗ is +. Only operands and
result are kept for the backward pass; the joint table is built again, block by block.

>>> [len(list(blocks((2, 4, 1000), leading=1, entries=size))) for size in (10_000, 4_000, 100)]
[1, 2, 80]
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any, TypeVar

import torch
from torch import Tensor

from herbrand.contraction.algebra import Shapes, viewed

BLOCK_ENTRIES = 1 << 17
"""Entries of a joint table built at once: 1 MB of float64, what stays in a core's cache."""

FEWEST_IN_PARALLEL = 8
"""Blocks below which starting threads costs more than it saves."""

Block = tuple[slice, ...]
WHOLE = slice(None)
T = TypeVar("T")


def blocks(shape: Sequence[int], leading: int, entries: int) -> Iterator[Block]:
    """Slices of the dimensions after the ``leading`` ones, each covering about ``entries`` of ``shape``."""
    cuts: list[list[slice]] = []
    inner = math.prod(shape)
    for size in shape[leading:]:
        if inner <= entries:
            break
        inner //= size
        width = min(size, max(1, entries // inner))
        cuts.append([slice(start, start + width) for start in range(0, size, width)])
    yield from product(*cuts)


class Softmax(ABC):
    """How an algebra whose ⊗ is + adds over dimensions, and how its result depends on each term."""

    @abstractmethod
    def total(self, joint: Tensor, leading: int) -> Tensor:
        """⊕ over the first ``leading`` dimensions."""

    @abstractmethod
    def shares(self, joint: Tensor, total: Tensor, leading: int) -> Tensor:
        """The derivative of ``total`` with respect to each entry of ``joint``."""


class Eliminate(torch.autograd.Function):
    """⊕ over the first ``leading`` dimensions of the sum of operands viewed in ``shapes``."""

    @staticmethod
    def forward(ctx: Any, algebra: Softmax, shapes: Shapes, leading: int, *operands: Tensor) -> Tensor:
        result = _push_forward(algebra, leading, viewed(operands, shapes))
        ctx.algebra, ctx.shapes, ctx.leading = algebra, shapes, leading
        ctx.save_for_backward(result, *operands)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        result, *operands = ctx.saved_tensors
        aligned, wanted = viewed(operands, ctx.shapes), ctx.needs_input_grad[3:]
        pulled = _pull_back(ctx.algebra, ctx.leading, aligned, result, gradients[0], wanted)
        back = [None if one is None else one.view(to.shape) for one, to in zip(pulled, operands, strict=True)]
        return None, None, None, *back


def eliminate(algebra: Softmax, operands: Sequence[Tensor], shapes: Shapes, leading: int) -> Tensor:
    """⊕ over the first ``leading`` dimensions of the sum of operands, viewed in shapes that broadcast."""
    if torch.is_grad_enabled() and any(operand.requires_grad for operand in operands):
        return Eliminate.apply(algebra, shapes, leading, *operands)
    return _push_forward(algebra, leading, viewed(operands, shapes))


def leading_dims(tensor: Tensor, dims: tuple[int, ...]) -> tuple[list[Tensor], list[tuple[int, ...]], int]:
    """Arguments for :func:`eliminate` that sum one tensor over ``dims``."""
    kept = [dim for dim in range(tensor.dim()) if dim not in dims]
    arranged = tensor.permute(*dims, *kept)
    return [arranged], [tuple(arranged.shape)], len(dims)


def block_workspace(joint: int, result: int) -> int:
    """How many entries a step needs beside its result: a few blocks, each at least as large as one sum."""
    return 3 * max(min(joint, 2 * BLOCK_ENTRIES), joint // max(1, result))


class OneThread:
    """A context in which torch starts no threads.

    Its parallel loops wait for each other; on a machine that others use too, a table of a few thousand
    entries then takes milliseconds instead of microseconds.
    """

    def __enter__(self) -> None:
        self.threads = torch.get_num_threads()
        torch.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        torch.set_num_threads(self.threads)


def _push_forward(algebra: Softmax, leading: int, operands: Sequence[Tensor]) -> Tensor:
    shape = _joint_shape(operands)
    if math.prod(shape) <= BLOCK_ENTRIES:
        with OneThread():
            return algebra.total(_sum(operands), leading)
    result = operands[0].new_empty(shape[leading:])

    def total(block: Block) -> Tensor:
        return algebra.total(_sum([_cut(operand, block, leading) for operand in operands]), leading)

    for block, part in _each(blocks(shape, leading, BLOCK_ENTRIES), total):
        result[block] = part
    return result


def _pull_back(
    algebra: Softmax,
    leading: int,
    operands: Sequence[Tensor],
    result: Tensor,
    gradient: Tensor,
    wanted: Sequence[bool],
) -> list[Tensor | None]:
    shape = _joint_shape(operands)
    if math.prod(shape) <= BLOCK_ENTRIES:
        with OneThread():
            return _shared_out(gradient * algebra.shares(_sum(operands), result, leading), operands, wanted)
    pulled = [torch.zeros_like(one) if wants else None for one, wants in zip(operands, wanted, strict=True)]

    def pull(block: Block) -> list[Tensor | None]:
        pieces = [_cut(operand, block, leading) for operand in operands]
        weights = gradient[block] * algebra.shares(_sum(pieces), result[block], leading)
        return _shared_out(weights, pieces, wanted)

    for block, parts in _each(blocks(shape, leading, BLOCK_ENTRIES), pull):
        for whole, part in zip(pulled, parts, strict=True):
            if whole is not None and part is not None:
                _cut(whole, block, leading).add_(part)
    return pulled


def _each(pieces: Iterable[Block], work: Callable[[Block], T]) -> Iterator[tuple[Block, T]]:
    """Every block and what the work makes of it, in order, so that sums of parts are always rounded alike.

    Many blocks are worked on by threads that do not wait for each other; where autograd records, by none.
    """
    waiting, threads = list(pieces), torch.get_num_threads()
    if torch.is_grad_enabled() or threads == 1 or len(waiting) < FEWEST_IN_PARALLEL:
        with OneThread():
            yield from ((block, work(block)) for block in waiting)
        return

    def unrecorded(block: Block) -> T:
        with torch.no_grad(), OneThread():
            return work(block)

    with ThreadPoolExecutor(threads) as pool:
        yield from zip(waiting, pool.map(unrecorded, waiting), strict=True)


def _shared_out(weights: Tensor, operands: Sequence[Tensor], wanted: Sequence[bool]) -> list[Tensor | None]:
    """Sum ``weights`` over what each operand does not have, from the largest operand down."""
    shapes = [tuple(operands[0].shape)]
    for operand in operands[1:]:
        shapes.append(tuple(map(max, shapes[-1], operand.shape)))
    gradients: list[Tensor | None] = []
    for operand, shape, wants in zip(reversed(operands), reversed(shapes), reversed(wanted), strict=True):
        if weights.shape != shape:
            weights = weights.sum_to_size(shape)
        gradients.append(weights.sum_to_size(operand.shape) if wants else None)
    return gradients[::-1]


def _joint_shape(operands: Sequence[Tensor]) -> tuple[int, ...]:
    """What aligned operands broadcast to: torch.broadcast_shapes takes ten times as long as a small step."""
    return (
        tuple(map(max, *(operand.shape for operand in operands))) if len(operands) > 1 else operands[0].shape
    )


def _sum(operands: Sequence[Tensor]) -> Tensor:
    joint = operands[0]
    for operand in operands[1:]:
        joint = joint + operand
    return joint


def _cut(operand: Tensor, block: Block, leading: int) -> Tensor:
    cuts = (part if size > 1 else WHOLE for part, size in zip(block, operand.shape[leading:], strict=False))
    return operand[(WHOLE,) * leading + tuple(cuts)]
