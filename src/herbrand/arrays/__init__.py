"""The part of torch's interface that the core needs, on NumPy, with derivatives: no torch is imported.

`array` has the type :class:`Array` and the backward walk; this module has the functions that make arrays or
take several. :func:`library` returns torch or this module, whichever an operand belongs to, so that plans of
the contraction core run on both.

>>> import herbrand.arrays as arrays
>>> x = arrays.from_numpy(np.zeros(2)).watch()
>>> gradients(arrays.logsumexp(x, (0,)), [x])[0].tolist()
[0.5, 0.5]
"""

from __future__ import annotations

import builtins
import math
import os
import sys
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, TypeAlias

import numpy as np

from herbrand.arrays.array import (
    Array,
    Operand,
    data_of,
    gradients,
    is_recorded,
    is_recording,
    made,
    unrecorded,
)
from herbrand.arrays.array import unrecorded as no_grad
from herbrand.extras import imported

__all__ = [
    "Array",
    "Tensor",
    "arange",
    "broadcast_tensors",
    "cat",
    "einsum",
    "eye",
    "from_numpy",
    "full",
    "get_num_threads",
    "gradients",
    "is_recorded",
    "library",
    "log_of_sums",
    "logaddexp",
    "logsumexp",
    "made",
    "maximum",
    "no_grad",
    "ones",
    "softmax",
    "stack",
    "tensor",
    "torch",
    "type_name",
    "unrecorded",
    "where",
    "zeros",
    "zeros_like",
]

float64, float32, int64, bool = np.dtype("f8"), np.dtype("f4"), np.dtype("i8"), np.dtype("?")
Tensor: TypeAlias = Any
"""An :class:`Array` or a tensor of torch: code that takes either gets its functions from :func:`library`."""

inf, finfo = math.inf, np.finfo
FEW = 512
"""Size of a table up to which one loop is faster than several vectorised passes."""


def library(*operands: Any) -> Any:
    """torch if an operand is not an :class:`Array`, else this module."""
    if all(isinstance(operand, Array) for operand in operands):
        return sys.modules[__name__]
    return torch()


@lru_cache(maxsize=1)
def torch() -> Any:
    """The torch library, imported when first needed; raises ``UnsupportedError`` if it is not installed."""
    return imported("torch")


@cache
def type_name(dtype: Any) -> str:
    """Name of a dtype in either library."""
    return str(dtype).removeprefix("torch.")


def from_numpy(values: np.ndarray) -> Array:
    return Array(values)


def tensor(values: Any, dtype: Any = None, device: Any = None) -> Array:
    return Array(np.array(values, dtype=dtype))


def zeros(shape: Any, dtype: Any = float64) -> Array:
    return Array(np.zeros(shape, dtype))


def ones(shape: Any, dtype: Any = float64) -> Array:
    return Array(np.ones(shape, dtype))


def full(shape: Sequence[int], value: float, dtype: Any = float64, device: Any = None) -> Array:
    return Array(np.full(tuple(shape), value, dtype))


def zeros_like(array: Array) -> Array:
    return Array(np.zeros_like(array.data))


def eye(size: int, dtype: Any = float64, device: Any = None) -> Array:
    return Array(np.eye(size, dtype=dtype))


def arange(*ends: int, dtype: Any = None, device: Any = None) -> Array:
    return Array(np.arange(*ends, dtype=dtype))


def stack(arrays: Sequence[Array], dim: int = 0) -> Array:
    """Stack the arrays along a new dimension."""

    def part(place: int) -> Any:
        return lambda g: g[(slice(None),) * (dim % g.ndim) + (place,)]  # np.take would copy all of it first

    return made(
        np.stack([array.data for array in arrays], axis=dim),
        *((array, part(place)) for place, array in enumerate(arrays)),
    )


def cat(arrays: Sequence[Array], dim: int = 0) -> Array:
    """Concatenate the arrays along a dimension."""
    ends = np.cumsum([array.shape[dim] for array in arrays]).tolist()

    def part(place: int) -> Any:
        cut = slice(ends[place] - arrays[place].shape[dim], ends[place])
        return lambda g: g[(slice(None),) * (dim % g.ndim) + (cut,)]

    return made(
        np.concatenate([array.data for array in arrays], axis=dim),
        *((array, part(place)) for place, array in enumerate(arrays)),
    )


def where(condition: Operand, left: Operand, right: Operand) -> Array:
    chosen = data_of(condition)
    return made(
        np.where(chosen, data_of(left), data_of(right)),
        (left, lambda g: np.where(chosen, g, 0.0)),
        (right, lambda g: np.where(chosen, 0.0, g)),
    )


def broadcast_tensors(*arrays: Array) -> list[Array]:
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    return [array.expand(shape) for array in arrays]


def einsum(equation: str, left: Array, right: Array) -> Array:
    """Sum of products of two arrays; each index occurs at most once in a term."""
    inputs, output = equation.split("->")
    first, second = inputs.split(",")
    one, other = left.data, right.data

    def pull(into: str, table: np.ndarray, axes: str, shape: tuple[int, ...]) -> Any:
        return lambda g: _product(f"{output},{axes}->{into}", g, table, shape)

    return made(
        _product(equation, one, other),
        (left, pull(first, other, second, one.shape)),
        (right, pull(second, one, first, other.shape)),
    )


def maximum(left: Array, right: Array) -> Array:
    """Larger of the two, entry by entry; at ties the left one has the derivative."""
    return where(left.data >= right.data, left, right)


def logaddexp(left: Array, right: Array) -> Array:
    """log(exp left + exp right), not differentiable."""
    return Array(np.logaddexp(left.data, right.data))


def log_of_sums(table: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    """Log of the sum of exponentials over ``dims``; -inf where all terms are."""
    if table.size <= FEW:
        return np.logaddexp.reduce(table, dims)
    peak = table.max(dims, keepdims=True)
    peak = np.where(peak == -np.inf, 0.0, peak)
    with np.errstate(divide="ignore", over="ignore"):
        total = np.log(np.exp(np.subtract(table, peak, order="C")).sum(dims))
    return total + peak.reshape(total.shape)


def logsumexp(array: Array, dims: Any) -> Array:
    """Log of the sum of exponentials; where all terms are -inf, so is the result, and its derivative is 0."""
    table = array.data
    axes = tuple(d % table.ndim for d in ((dims,) if isinstance(dims, int) else dims))
    total = log_of_sums(table, axes)
    kept = tuple(1 if d in axes else size for d, size in enumerate(table.shape))

    def pull(g: np.ndarray) -> np.ndarray:
        # The finite lower limit makes the derivative 0 where all terms are -inf, not nan.
        level = np.maximum(total, np.finfo(total.dtype).min).reshape(kept)
        return g.reshape(kept) * np.exp(table - level)

    return made(total, (array, pull))


def softmax(array: Array, dim: int) -> Array:
    """Softmax along a dimension, not differentiable."""
    weights = np.exp(array.data - array.data.max(dim, keepdims=True))
    return Array(weights / weights.sum(dim, keepdims=True))


def segment_extreme(values: Array, segments: Operand, count: int, start: float, which: str) -> Array:
    """Largest ("amax") or smallest ("amin") of ``start`` and the rows of each segment, not differentiable."""
    result = np.full((count, *values.shape[1:]), start, values.dtype)
    (np.maximum if which == "amax" else np.minimum).at(result, data_of(segments), values.data)
    return Array(result)


def is_grad_enabled() -> builtins.bool:
    """Whether operations on watched arrays are recorded."""
    return is_recording()


def get_num_threads() -> int:
    """Number of threads that may share a large table: ``OMP_NUM_THREADS`` (a list has one for each level of
    nesting), else all processors."""
    requested = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(requested) if requested.isdecimal() and int(requested) else os.cpu_count() or 1


def _product(
    equation: str, left: np.ndarray, right: np.ndarray, shape: tuple[int, ...] | None = None
) -> np.ndarray:
    """Einsum of two arrays, broadcast to ``shape`` along indices that neither of them has."""
    result = np.einsum(equation, left, right)
    return result if shape is None or result.shape == shape else np.broadcast_to(result, shape)
