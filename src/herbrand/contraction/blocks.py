"""Broadcast tables block by block, for algebras without matrix products, so that they are never built whole.

Owns the walk over a large joint table in pieces that stay in cache, and :func:`eliminate`, the
differentiable "⊗ the operands, ⊕ the leading dimensions out" of algebras whose ⊗ is +. Only operands and
result are kept for the backward pass; the joint table is built again, block by block.

>>> [len(list(blocks((2, 4, 1000), leading=1, entries=size))) for size in (10_000, 4_000, 100)]
[1, 2, 80]
"""

from __future__ import annotations

import importlib
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from itertools import product
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from herbrand import arrays
from herbrand.arrays import Array, Tensor, library
from herbrand.arrays.array import Pull
from herbrand.contraction.algebra import Algebra, Shapes, viewed

BLOCK_ENTRIES = 1 << 17
"""Entries of a joint table that are built at once: 1 MB of float64, which stays in a core's cache."""

FEWEST_IN_PARALLEL = 8
"""Number of blocks below which starting threads costs more than it saves."""

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


class Softmax(Algebra):
    """An algebra whose ⊗ is +, with its sum over dimensions and the derivative of that by each term."""

    zero, one = -math.inf, 0.0

    def times(self, left: Any, right: Any) -> Any:
        return left + right

    def product_of_rows(self, tensor: Tensor) -> Tensor:
        return tensor.sum(0)

    def eliminate(self, operands: Sequence[Tensor], shapes: Shapes, leading: int) -> Tensor:
        return (
            eliminate(self, operands, shapes, leading) if leading else self.product(viewed(operands, shapes))
        )

    def workspace(self, joint: int, result: int, factors: int) -> int:
        return block_workspace(joint, result)

    @abstractmethod
    def total(self, joint: Tensor, leading: int) -> Tensor:
        """⊕ over the first ``leading`` dimensions."""

    @abstractmethod
    def shares(self, joint: Tensor, total: Tensor, leading: int) -> Tensor:
        """The derivative of ``total`` with respect to each entry of ``joint``."""


def eliminate(algebra: Softmax, operands: Sequence[Tensor], shapes: Shapes, leading: int) -> Tensor:
    """⊕ over the first ``leading`` dimensions of the sum of operands, viewed in shapes that broadcast."""
    if not isinstance(operands[0], Array):
        return _torch().eliminate(algebra, operands, shapes, leading)
    if not arrays.is_recorded(operands):
        return push_forward(algebra, leading, viewed(operands, shapes))
    return _recorded(algebra, operands, shapes, leading)


def _recorded(algebra: Softmax, operands: Sequence[Array], shapes: Shapes, leading: int) -> Array:
    """The same for arrays of which some are watched; one backward pass yields the derivatives by
    all of them."""
    bare = viewed([operand.detach() for operand in operands], shapes)
    result = push_forward(algebra, leading, bare)
    needs_gradient = [operand.watched for operand in operands]
    pulled: list[Tensor | None] = []

    def pull(place: int) -> Pull:
        def back(slope: np.ndarray) -> np.ndarray:
            if not pulled:
                pulled.extend(pull_back(algebra, leading, bare, result, Array(slope), needs_gradient))
            gradient = pulled[place]
            assert gradient is not None
            return gradient.data.reshape(operands[place].shape)

        return back

    return arrays.made(result.data, *((operand, pull(place)) for place, operand in enumerate(operands)))


def leading_dims(tensor: Tensor, dims: tuple[int, ...]) -> tuple[list[Tensor], list[tuple[int, ...]], int]:
    """Arguments for :func:`eliminate` that sum one tensor over ``dims``."""
    kept = [dim for dim in range(tensor.dim()) if dim not in dims]
    arranged = tensor.permute(*dims, *kept)
    return [arranged], [tuple(arranged.shape)], len(dims)


def block_workspace(joint: int, result: int) -> int:
    """Number of entries that a step needs beside its result: a few blocks, each at least as large
    as one sum."""
    return 3 * max(min(joint, 2 * BLOCK_ENTRIES), joint // max(1, result))


def push_forward(algebra: Softmax, leading: int, operands: Sequence[Tensor]) -> Tensor:
    """⊕ over the first ``leading`` dimensions of the sum of operands that broadcast."""
    shape = _joint_shape(operands)
    if math.prod(shape) <= BLOCK_ENTRIES:
        with _one_thread(operands[0]):
            return algebra.total(_sum(operands), leading)
    result = operands[0].new_empty(shape[leading:])

    def total(block: Block) -> Tensor:
        return algebra.total(_sum([_cut(operand, block, leading) for operand in operands]), leading)

    for block, part in _each(blocks(shape, leading, BLOCK_ENTRIES), total, result):
        result[block] = part
    return result


def pull_back(
    algebra: Softmax,
    leading: int,
    operands: Sequence[Tensor],
    result: Tensor,
    gradient: Tensor,
    needs_gradient: Sequence[bool],
) -> list[Tensor | None]:
    """The derivative by each wanted operand, from that by the result."""
    shape = _joint_shape(operands)
    if math.prod(shape) <= BLOCK_ENTRIES:
        with _one_thread(operands[0]):
            return _shared_out(
                gradient * algebra.shares(_sum(operands), result, leading), operands, needs_gradient
            )
    zeros = library(*operands).zeros_like
    pulled = [zeros(one) if wants else None for one, wants in zip(operands, needs_gradient, strict=True)]

    def pull(block: Block) -> list[Tensor | None]:
        pieces = [_cut(operand, block, leading) for operand in operands]
        weights = gradient[block] * algebra.shares(_sum(pieces), result[block], leading)
        return _shared_out(weights, pieces, needs_gradient)

    for block, parts in _each(blocks(shape, leading, BLOCK_ENTRIES), pull, result):
        for whole, part in zip(pulled, parts, strict=True):
            if whole is not None and part is not None:
                _cut(whole, block, leading).add_(part)
    return pulled


def _each(pieces: Iterable[Block], work: Callable[[Block], T], like: Tensor) -> Iterator[tuple[Block, T]]:
    """Yield every block with ``work(block)``, in order, so that sums of parts are always rounded alike.

    Many blocks are shared among threads that do not wait for each other; never while autograd records.
    """
    used, waiting = library(like), list(pieces)
    threads = used.get_num_threads()
    if used.is_grad_enabled() or threads == 1 or len(waiting) < FEWEST_IN_PARALLEL:
        with _one_thread(like):
            yield from ((block, work(block)) for block in waiting)
        return

    def unrecorded(block: Block) -> T:
        with used.no_grad(), _one_thread(like):
            return work(block)

    with ThreadPoolExecutor(threads) as pool:
        yield from zip(waiting, pool.map(unrecorded, waiting), strict=True)


def _one_thread(like: Tensor) -> AbstractContextManager[None]:
    """Context in which an operation uses one thread; NumPy's always do."""
    return nullcontext() if isinstance(like, Array) else one_thread()


def one_thread() -> AbstractContextManager[None]:
    """Context in which torch uses one thread."""
    return _torch().OneThread()


@lru_cache(maxsize=1)
def _torch() -> ModuleType:
    return importlib.import_module("herbrand.contraction.torch_blocks")


def _shared_out(
    weights: Tensor, operands: Sequence[Tensor], needs_gradient: Sequence[bool]
) -> list[Tensor | None]:
    """Sum ``weights`` over the dimensions that each operand lacks, from the last operand, the largest,
    to the first."""
    shapes = [tuple(operands[0].shape)]
    for operand in operands[1:]:
        shapes.append(tuple(map(max, shapes[-1], operand.shape)))
    gradients: list[Tensor | None] = []
    for operand, shape, wants in zip(
        reversed(operands), reversed(shapes), reversed(needs_gradient), strict=True
    ):
        if weights.shape != shape:
            weights = weights.sum_to_size(shape)
        gradients.append(weights.sum_to_size(operand.shape) if wants else None)
    return gradients[::-1]


def _joint_shape(operands: Sequence[Tensor]) -> tuple[int, ...]:
    """Shape to which aligned operands broadcast; torch.broadcast_shapes takes ten times as long as
    a small step."""
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
