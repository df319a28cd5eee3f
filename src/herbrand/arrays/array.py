"""NumPy arrays that record how they were computed, for reverse-mode differentiation.

Owns :class:`Array` and the backward walk :func:`gradients`. An operation on arrays of which none is
*watched* is plain NumPy. One on a watched array keeps, for each watched operand, how a change of the result
pulls back to it; :func:`gradients` walks these links once, the latest result first. Only first derivatives
are taken. The methods have the names and the meaning that torch gives them, so that code of the contraction
core runs on either.

>>> x = Array(np.array([1.0, 2.0])).watch()
>>> gradients((x * x).sum(), [x])[0].tolist()
[2.0, 4.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Any

import numpy as np

Pull = Callable[[np.ndarray], np.ndarray]
"""Map from the derivative by a result to the derivative by an operand."""

_ORDER = count()
_RECORDING: ContextVar[bool] = ContextVar("recording", default=True)


@contextmanager
def unrecorded() -> Iterator[None]:
    """Context in which no operation is recorded."""
    token = _RECORDING.set(False)
    try:
        yield
    finally:
        _RECORDING.reset(token)


class Array:
    """NumPy array ``data`` with reverse-mode derivatives. ``watched``: gradients by it, or through it, can be
    asked for. ``parents``: watched operands that it was computed from, each with its pull-back."""

    __slots__ = ("data", "order", "parents", "watched")
    device = None
    __array_priority__ = 100.0  # NumPy's operators leave the work to ours

    def __init__(self, data: np.ndarray, parents: tuple[tuple[Array, Pull], ...] = ()) -> None:
        self.data = data
        self.parents = parents
        self.watched = bool(parents)
        self.order = next(_ORDER) if parents else -1

    def watch(self) -> Array:
        """Allow gradients by this array, and return it."""
        self.watched = True
        return self

    # Properties and conversions

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    @property
    def requires_grad(self) -> bool:
        return self.watched

    @property
    def T(self) -> Array:  # noqa: N802
        return self.permute(tuple(reversed(range(self.data.ndim))))

    def dim(self) -> int:
        return self.data.ndim

    def numel(self) -> int:
        return self.data.size

    def numpy(self) -> np.ndarray:
        return self.data

    def detach(self) -> Array:
        return Array(self.data) if self.watched else self

    def item(self) -> Any:
        return self.data.item()

    def tolist(self) -> Any:
        return self.data.tolist()

    def contiguous(self) -> Array:
        return self

    def to(self, dtype: Any) -> Array:
        return made(self.data.astype(dtype), (self, _same))

    def long(self) -> Array:
        return self.to(np.int64)

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Array]:
        return (self[row] for row in range(len(self.data)))

    def __bool__(self) -> bool:
        return bool(self.data)

    def __float__(self) -> float:
        return float(self.data)

    def __int__(self) -> int:
        return int(self.data)

    def __repr__(self) -> str:
        return f"Array({self.data!r})"

    # Arithmetic

    def __add__(self, other: Operand) -> Array:
        left, right = self.data, data_of(other)
        return made(left + right, (self, _same), (other, _same))

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Array:
        return made(self.data - data_of(other), (self, _same), (other, np.negative))

    def __rsub__(self, other: Operand) -> Array:
        return made(data_of(other) - self.data, (other, _same), (self, np.negative))

    def __mul__(self, other: Operand) -> Array:
        left, right = self.data, data_of(other)
        return made(left * right, (self, lambda g: g * right), (other, lambda g: g * left))

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Array:
        left, right = self.data, data_of(other)
        return made(
            left / right, (self, lambda g: g / right), (other, lambda g: g * (-left / (right * right)))
        )

    def __neg__(self) -> Array:
        return made(-self.data, (self, np.negative))

    def __matmul__(self, other: Operand) -> Array:
        left, right = self.data, data_of(other)
        return made(
            left @ right,
            (self, lambda g: _outer_of_product(g, right, left.shape)),
            (other, lambda g: _inner_of_product(left, g, right.shape)),
        )

    def __eq__(self, other: object) -> Array:  # type: ignore[override]
        return Array(np.equal(self.data, data_of(other)))

    def __ne__(self, other: object) -> Array:  # type: ignore[override]
        return Array(np.not_equal(self.data, data_of(other)))

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Operand) -> Array:
        return Array(self.data < data_of(other))

    def __gt__(self, other: Operand) -> Array:
        return Array(self.data > data_of(other))

    def __ge__(self, other: Operand) -> Array:
        return Array(self.data >= data_of(other))

    def __or__(self, other: Operand) -> Array:
        return Array(self.data | data_of(other))

    def __and__(self, other: Operand) -> Array:
        return Array(self.data & data_of(other))

    def __invert__(self) -> Array:
        return Array(~self.data)

    def abs(self) -> Array:
        return made(np.abs(self.data), (self, lambda g: g * np.sign(self.data)))

    def exp(self) -> Array:
        result = np.exp(np.ascontiguousarray(self.data))  # strided values are rounded otherwise
        return made(result, (self, lambda g: g * result))

    def log(self) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            result = np.log(np.ascontiguousarray(self.data))
        return made(result, (self, lambda g: g / self.data))

    def clamp_min(self, least: float) -> Array:
        return made(np.maximum(self.data, least), (self, lambda g: g * (self.data >= least)))

    def masked_fill(self, mask: Operand, value: float) -> Array:
        where = data_of(mask)
        return made(
            np.where(where, self.data.dtype.type(value), self.data),
            (self, lambda g: np.where(where, 0.0, g)),
        )

    # Sums over dimensions

    def sum(self, dims: Any = None, keepdim: bool = False) -> Array:
        shape, dims = self.data.shape, _dims(dims)
        return made(
            np.asarray(self.data.sum(dims, keepdims=keepdim)),
            (self, lambda g: np.broadcast_to(_restored(g, dims, shape, keepdim), shape)),
        )

    def prod(self, dim: int) -> Array:
        if not self.watched:
            return Array(self.data.prod(dim))
        result = self[(slice(None),) * dim + (0,)]
        for place in range(1, self.data.shape[dim]):
            result = result * self[(slice(None),) * dim + (place,)]
        return result

    def any(self, dims: Any = None) -> Array:
        return Array(np.asarray(self.data.any(_dims(dims))))

    def all(self, dims: Any = None) -> Array:
        return Array(np.asarray(self.data.all(_dims(dims))))

    def amax(self, dims: Any = None) -> Array:
        """Largest entries along ``dims``, not differentiable."""
        return Array(np.asarray(self.data.max(_dims(dims))))

    def max(self) -> Array:
        """Largest entry; the first of equal ones gets the derivative."""
        return self.reshape(-1)[int(self.data.argmax())]

    def argmax(self, dim: int, keepdim: bool = False) -> Array:
        return Array(self.data.argmax(dim, keepdims=keepdim))

    def nonzero(self) -> Array:
        return Array(np.argwhere(self.data))

    def sum_to_size(self, shape: Sequence[int]) -> Array:
        return Array(summed_to(self.data, tuple(shape)))

    # Shape

    def view(self, *shape: Any) -> Array:
        old = self.data.shape
        return made(self.data.reshape(_flat(shape)), (self, lambda g: g.reshape(old)))

    reshape = view

    def flatten(self, first: int = 0, last: int = -1) -> Array:
        last = last % max(self.data.ndim, 1)
        return self.view(*self.shape[:first], -1, *self.shape[last + 1 :])

    def permute(self, *places: Any) -> Array:
        places = _flat(places)
        return made(self.data.transpose(places), (self, lambda g: g.transpose(np.argsort(places))))

    def movedim(self, source: int, target: int) -> Array:
        return made(np.moveaxis(self.data, source, target), (self, lambda g: np.moveaxis(g, target, source)))

    def squeeze(self, dim: int) -> Array:
        return self[(slice(None),) * (dim % self.data.ndim) + (0,)]

    def unsqueeze(self, dim: int) -> Array:
        old = self.data.shape
        return made(np.expand_dims(self.data, dim), (self, lambda g: g.reshape(old)))

    def expand(self, *shape: Any) -> Array:
        sizes = _flat(shape)
        extra = len(sizes) - self.data.ndim
        sizes = tuple(
            self.data.shape[place - extra] if size == -1 else size for place, size in enumerate(sizes)
        )
        return made(np.broadcast_to(self.data, sizes), (self, _same))

    def expand_as(self, other: Array) -> Array:
        return self.expand(other.shape)

    def diagonal(self, dim1: int, dim2: int) -> Array:
        shape = self.data.shape

        def pull(g: np.ndarray) -> np.ndarray:
            back = np.zeros(shape, g.dtype)
            rows = np.arange(min(shape[dim1], shape[dim2]))
            np.moveaxis(back, (dim1, dim2), (0, 1))[rows, rows] = np.moveaxis(g, -1, 0)
            return back

        return made(self.data.diagonal(axis1=dim1, axis2=dim2), (self, pull))

    # Parts

    def __getitem__(self, place: Any) -> Array:
        place = tuple(map(_index, place)) if isinstance(place, tuple) else _index(place)
        return self._part(place, repeats=_is_fancy(place))

    def _part(self, place: Any, repeats: bool) -> Array:
        shape = self.data.shape

        def pull(g: np.ndarray) -> np.ndarray:
            back = np.zeros(shape, g.dtype)
            if repeats:
                np.add.at(back, place, g)
            else:
                back[place] = g
            return back

        return made(np.asarray(self.data[place]), (self, pull))

    def narrow(self, dim: int, start: int, length: int) -> Array:
        return self[(slice(None),) * (dim % self.data.ndim) + (slice(start, start + length),)]

    def split(self, sizes: Sequence[int] | int, dim: int = 0) -> list[Array]:
        lengths = [sizes] * (self.shape[dim] // sizes) if isinstance(sizes, int) else sizes
        if len(lengths) == 1:
            return [self]
        starts = np.cumsum([0, *lengths]).tolist()
        return [self.narrow(dim, start, length) for start, length in zip(starts, lengths, strict=False)]

    def index_select(self, dim: int, index: Operand) -> Array:
        return self[(slice(None),) * (dim % self.data.ndim) + (data_of(index),)]

    def gather(self, dim: int, index: Array) -> Array:
        return self._part(_along(self.data.ndim, dim, index.data), repeats=True)

    # New arrays and updates

    def new_full(self, shape: Sequence[int], value: float) -> Array:
        return Array(np.full(tuple(shape), value, self.data.dtype))

    def new_zeros(self, shape: Sequence[int]) -> Array:
        return Array(np.zeros(shape, self.data.dtype))

    def new_empty(self, shape: Sequence[int]) -> Array:
        return Array(np.empty(shape, self.data.dtype))

    def index_add(self, dim: int, index: Operand, values: Array) -> Array:
        """Copy with ``values`` added at places of the first dimension, which may repeat."""
        assert dim == 0
        places, result = data_of(index), self.data.copy()
        np.add.at(result, places, values.data)
        return made(result, (self, _same), (values, lambda g: g[places]))

    def with_at(self, place: Any, values: Array) -> Array:
        """Copy with ``values`` written at distinct places."""
        result = self.data.copy()
        result[place] = values.data

        def apart(g: np.ndarray) -> np.ndarray:
            g = g.copy()
            g[place] = 0.0
            return g

        return made(result, (self, apart), (values, lambda g: g[place]))

    def __setitem__(self, place: Any, values: Operand) -> None:
        assert not self.watched
        self.data[place] = data_of(values)

    def add_(self, other: Array) -> None:
        """Add in place, to an array that is not watched."""
        assert not self.watched
        self.data += other.data


Operand = Array | np.ndarray | float | int


def data_of(value: Any) -> Any:
    """Bare NumPy array or number of an operand."""
    return value.data if isinstance(value, Array) else value


def made(result: np.ndarray, *sources: tuple[Any, Pull]) -> Array:
    """Result of an operation, linked to its watched ``sources``, each with its pull-back; derivatives are
    later summed to a source's shape."""
    if _RECORDING.get():
        watched = [one for one in sources if isinstance(one[0], Array) and one[0].watched]
        if watched:
            return Array(np.asarray(result), tuple(watched))
    return Array(np.asarray(result))


def is_recording() -> bool:
    """Whether operations on watched arrays are recorded here."""
    return _RECORDING.get()


def is_recorded(arrays: Sequence[Array]) -> bool:
    """Whether an operation on these arrays would be recorded."""
    return _RECORDING.get() and any(array.watched for array in arrays)


def gradients(total: Array, inputs: Sequence[Array]) -> list[np.ndarray | None]:
    """Derivative of the scalar ``total`` by each wanted array; None if it does not depend on it."""
    slopes: dict[int, np.ndarray] = {id(total): np.ones_like(total.data)}
    for array, parents in reversed(_leading_to(total, inputs)):
        slope = slopes.get(id(array))
        if slope is None:
            continue
        for parent, pull in parents:
            pulled = summed_to(pull(slope), parent.data.shape)
            known = slopes.get(id(parent))
            slopes[id(parent)] = pulled if known is None else known + pulled
    return [slopes.get(id(array)) for array in inputs]


def _leading_to(total: Array, inputs: Sequence[Array]) -> list[tuple[Array, list[tuple[Array, Pull]]]]:
    """Arrays on a path from a wanted array to the total, earliest first, with their parents on such paths."""
    leading = {id(array) for array in inputs}
    links = []
    for array in _earliest_first(total):
        parents = [(parent, pull) for parent, pull in array.parents if id(parent) in leading]
        if parents:
            leading.add(id(array))
            links.append((array, parents))
    return links


def summed_to(table: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum a table over the dimensions along which ``shape`` was broadcast to it."""
    if table.shape == shape:
        return table
    extra = table.ndim - len(shape)
    if extra:
        table = table.sum(tuple(range(extra)))
    ones = tuple(d for d, size in enumerate(shape) if size == 1 and table.shape[d] != 1)
    return table.sum(ones, keepdims=True) if ones else table


def _earliest_first(total: Array) -> list[Array]:
    """All arrays that the total was computed from, itself included, each after its parents."""
    seen, waiting = {id(total): total}, [total]
    while waiting:
        for parent, _ in waiting.pop().parents:
            if id(parent) not in seen:
                seen[id(parent)] = parent
                waiting.append(parent)
    return sorted(seen.values(), key=lambda array: array.order)


def _same(g: np.ndarray) -> np.ndarray:
    return g


def _flat(shape: Any) -> tuple[int, ...]:
    """Sizes given one by one or in one sequence."""
    return tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int | np.integer) else tuple(shape)


def _dims(dims: Any) -> Any:
    return tuple(dims) if isinstance(dims, list) else dims


def _restored(g: np.ndarray, dims: Any, shape: tuple[int, ...], kept: bool) -> np.ndarray:
    """Derivative of a sum with the summed dimensions put back, of size one."""
    if kept or dims is None:
        return g
    summed = {d % len(shape) for d in ((dims,) if isinstance(dims, int) else dims)}
    return g.reshape([1 if d in summed else size for d, size in enumerate(shape)])


def _index(place: Any) -> Any:
    return place.data if isinstance(place, Array) else place


def _is_fancy(place: Any) -> bool:
    """Whether the index may select an entry more than once."""
    parts = place if isinstance(place, tuple) else (place,)
    return any(isinstance(part, np.ndarray | list) and np.asarray(part).dtype != bool for part in parts)


def _along(dims: int, dim: int, index: np.ndarray) -> tuple[np.ndarray, ...]:
    """Index of the entries that ``index`` selects along one dimension, as ``gather`` does."""
    grid = list(np.ogrid[tuple(map(slice, index.shape))])
    grid[dim % dims] = index
    return tuple(grid)


def _outer_of_product(g: np.ndarray, right: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Derivative of a matrix product by its left factor."""
    if right.ndim == 1:
        return g[..., None] * right
    if len(shape) == 1:
        return right @ g
    return g @ right.swapaxes(-1, -2)


def _inner_of_product(left: np.ndarray, g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Derivative of a matrix product by its right factor, [inner] or [inner, columns]."""
    if left.ndim == 1:
        return np.multiply.outer(left, g) if len(shape) > 1 else left * g
    rows = left.reshape(-1, left.shape[-1])
    back = rows.T @ g.reshape(math.prod(left.shape[:-1]), -1)
    return back.reshape(shape)
