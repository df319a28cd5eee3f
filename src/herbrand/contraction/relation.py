"""Relations that are contracted: tables of numbers, dense, or sparse over a constant background.

Owns :class:`Dense` and :class:`Sparse`, both checked when built. A sparse relation is a background value
everywhere and exceptions at the entries of its :class:`Support`; the support is shared by relations that
differ in values only, and everything that is worked out from it once (sorted keys, compressed rows) is kept
with it.

>>> friends = Sparse.of([(1, 0), (0, 1), (1, 0)], [1.0, 1.0, 2.0], (2, 2))
>>> friends.to_dense()
tensor([[0., 1.],
        [3., 0.]], dtype=torch.float64)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeGuard, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herbrand.arrays import Array, Tensor, library, torch, type_name
from herbrand.contraction.algebra import Algebra, algebra_named
from herbrand.row_keys import fit, row_keys, unique_rows

Integers = NDArray[np.int64]
T = TypeVar("T")
_PARTNERS = object()


@dataclass(frozen=True, eq=False)
class Dense:
    """A table that holds every entry."""

    tensor: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def values(self) -> Tensor:
        return self.tensor

    @property
    def dtype(self) -> str:
        """Name of the dtype."""
        return type_name(self.tensor.dtype)

    @property
    def on_accelerator(self) -> bool:
        return _on_accelerator(self.tensor)

    @property
    def requires_grad(self) -> bool:
        return self.tensor.requires_grad

    def to_dense(self) -> Tensor:
        """The table itself."""
        return self.tensor


@dataclass(frozen=True, eq=False)
class Support:
    """The listed entries of a table: ``indices`` [n, k], sorted and unique. Compared by identity.

    Index structures that executors compute from supports are cached in them, by :meth:`once`.
    """

    indices: Integers = field(repr=False)
    shape: tuple[int, ...]
    _known: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(int(size) for size in self.shape))
        if self.indices.dtype != np.int64 or self.indices.ndim != 2:
            raise ValueError(
                f"indices must be an int64 array [n, k], not {self.indices.dtype} {self.indices.shape}"
            )
        if self.indices.shape[1] != len(self.shape):
            raise ValueError(
                f"indices have {self.indices.shape[1]} columns for a table of {len(self.shape)} axes"
            )
        _check_range(self.indices, self.shape)
        if not _strictly_increasing(self.indices, self.shape):
            raise ValueError("indices must be sorted and unique; Sparse.of sorts and adds up duplicates")

    def __len__(self) -> int:
        return len(self.indices)

    @cached_property
    def keys(self) -> Integers:
        """Position of each entry in the dense table; raises OverflowError if 64 bits do not suffice."""
        return positions(self.indices, self.shape)

    def once(self, key: Hashable, make: Callable[[], T], *partners: Support) -> T:
        """``make()``, computed once for this key and these partners and then cached.

        Cached for as long as this support and all partners live, so the value must not refer to a partner.
        """
        known = self._known
        for partner in partners:
            known = known.setdefault(_PARTNERS, WeakKeyDictionary()).setdefault(partner, {})
        if key not in known:
            known[key] = make()
        return known[key]


@dataclass(frozen=True, eq=False)
class Sparse:
    """Table with ``values`` [n] at the entries of ``support``, and ``default`` everywhere else.

    ``Sparse.of`` builds one from raw rows. ``default`` may be a scalar tensor, which then takes part in
    gradients.
    """

    support: Support
    values: Tensor
    default: float | Tensor = 0.0

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.support),):
            raise ValueError(
                f"{len(self.support)} entries need as many values, not {tuple(self.values.shape)}"
            )
        if _is_tensor(self.default) and self.default.dim():
            raise ValueError(f"the default is one number, not a tensor of shape {tuple(self.default.shape)}")

    @classmethod
    def of(
        cls,
        indices: ArrayLike | Tensor,
        values: ArrayLike | Tensor,
        shape: Sequence[int],
        default: float | Tensor = 0.0,
        algebra: str = "real",
    ) -> Sparse:
        """Build from rows in any order; values of equal rows are added up in the algebra."""
        rows = np.asarray(indices, dtype=np.int64)
        rows = rows.reshape(len(rows), len(shape))
        shape = tuple(int(size) for size in shape)
        member = algebra_named(algebra)
        backend = torch()
        weights: Tensor = (
            values
            if isinstance(values, backend.Tensor)
            else backend.as_tensor(values, dtype=getattr(backend, member.dtypes[0]))
        )
        if weights.shape != (len(rows),):
            raise ValueError(f"{len(rows)} rows need as many values, not {tuple(weights.shape)}")
        _check_range(rows, shape)
        if _strictly_increasing(rows, shape):
            return cls(Support(rows, shape), weights, default)
        unique, places = unique_rows(rows, shape)
        summed = member.segment_sum(weights, backend.from_numpy(places).to(weights.device), len(unique))
        return cls(Support(unique, shape), summed, default)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.support.shape

    @property
    def dtype(self) -> str:
        """Name of the dtype."""
        return type_name(self.values.dtype)

    @property
    def on_accelerator(self) -> bool:
        return _on_accelerator(self.values)

    @property
    def requires_grad(self) -> bool:
        return self.values.requires_grad or (_is_tensor(self.default) and self.default.requires_grad)

    @property
    def indices(self) -> Integers:
        return self.support.indices

    def with_values(self, values: Tensor, default: float | Tensor | None = None) -> Sparse:
        """The same entries with other values; the cached index structures of the support are shared."""
        return Sparse(self.support, values, self.default if default is None else default)

    def to_dense(self) -> Tensor:
        """The whole table."""
        size = math.prod(self.shape)
        backend, device = torch(), self.values.device
        background = backend.as_tensor(self.default, dtype=self.values.dtype, device=device).expand(size)
        keys = backend.from_numpy(self.support.keys).to(device)
        return background.index_put((keys,), self.values).reshape(self.shape)


Relation = Dense | Sparse


def has_background(relation: Relation, algebra: Algebra) -> bool:
    """Whether a relation is sparse and its default is not the algebra's zero, or is differentiated."""
    if isinstance(relation, Dense):
        return False
    default = relation.default
    return bool(default != algebra.zero) or (_is_tensor(default) and default.requires_grad)


def converted(relation: Relation, dtype: str) -> Relation:
    """The relation with values of another dtype."""
    if relation.dtype == dtype:
        return relation
    if isinstance(relation, Dense):
        return Dense(relation.tensor.to(getattr(library(relation.tensor), dtype)))
    default, kind = relation.default, getattr(torch(), dtype)
    cast = default.to(kind) if _is_tensor(default) else torch().tensor(default, dtype=kind).item()
    return relation.with_values(relation.values.to(kind), cast)


def _is_tensor(value: Any) -> TypeGuard[Tensor]:
    return hasattr(value, "requires_grad")


def _on_accelerator(tensor: Tensor) -> bool:
    return not isinstance(tensor, Array) and tensor.device.type != "cpu"


def positions(rows: Integers, shape: Sequence[int]) -> Integers:
    """Position of each row in a dense table; raises ``OverflowError`` if 64 bits do not suffice."""
    if not fit(shape):
        raise OverflowError(f"a table of shape {tuple(shape)} has more entries than 64 bits can number")
    return row_keys(list(rows.T), shape, len(rows))


def _check_range(rows: Integers, shape: Sequence[int]) -> None:
    for column, size in enumerate(shape):
        if len(rows) and not (rows[:, column].min() >= 0 and rows[:, column].max() < size):
            raise ValueError(f"an index of axis {column} is outside 0 .. {size - 1}")


def _strictly_increasing(rows: Integers, shape: Sequence[int]) -> bool:
    keys = row_keys(list(rows.T), shape, len(rows))
    return bool((keys[1:] > keys[:-1]).all())
