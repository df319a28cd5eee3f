"""How many elements are in which class, as polynomials: tables of log-coefficients over counts.

A :class:`Polynomial` has, for each assignment of states to some hubs and each vector of counts, the log of
the summed weights of all ways to reach it. Each pool of elements has one axis for every profile but its
first, whose count is what is left. Multiplying puts elements together: a convolution over counts.

>>> import torch
>>> from herbrand.contraction.algebra import algebra_named
>>> coin = torch.zeros(1, 2, dtype=torch.float64)
>>> three = of_equals(coin[0], 3, algebra_named("log"))
>>> three.exp().round()
tensor([1., 3., 3., 1.], dtype=torch.float64)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from herbrand.contraction.algebra import Algebra

STACKED = 1 << 24
"""Entries that are added up at once."""


@dataclass(frozen=True, eq=False)
class Polynomial:
    """``table`` [states of each hub in ``hubs`` ..., counts of each pool's profiles but the first ...].

    ``axes`` gives each pool, in the order of ``pools``, its number of axes.
    """

    hubs: tuple[int, ...]
    pools: tuple[int, ...]
    axes: tuple[int, ...]
    table: Tensor

    @property
    def counts(self) -> tuple[int, ...]:
        """The shape of the part that counts."""
        return tuple(self.table.shape[len(self.hubs) :])


@lru_cache(maxsize=64)
def compositions(total: int, parts: int) -> np.ndarray:
    """All ways to split ``total`` into ``parts`` counts, [way, part], read-only."""
    if parts == 1:
        rows = np.array([[total]], dtype=np.int64)
    else:
        count = math.comb(total + parts - 1, parts - 1)
        rows = np.empty((count, parts), dtype=np.int64)
        start = 0
        for first in range(total + 1):
            rest = compositions(total - first, parts - 1) if parts > 2 else np.array([[total - first]])
            rows[start : start + len(rest), 0] = first
            rows[start : start + len(rest), 1:] = rest
            start += len(rest)
    rows.flags.writeable = False
    return rows


@lru_cache(maxsize=64)
def log_ways(total: int, parts: int) -> Tensor:
    """The log multinomial coefficient of each composition."""
    factorials = torch.lgamma(torch.arange(total + 1, dtype=torch.float64) + 1)
    return factorials[total] - factorials[torch.from_numpy(compositions(total, parts).copy())].sum(1)


def times_counts(counts: Tensor, weights: Tensor) -> Tensor:
    """``counts`` [row, k] times log-``weights`` [..., k] summed, [..., row]; 0 times minus infinity is 0."""
    impossible = weights == -torch.inf
    total = weights.masked_fill(impossible, 0.0) @ counts.T
    if impossible.any():
        total = total.masked_fill(impossible.to(counts.dtype) @ counts.T > 0, -torch.inf)
    return total


def of_rows(weights: Tensor, count: int, algebra: Algebra) -> Tensor:
    """Log-coefficients of ``count`` alike elements for each composition; ``weights`` [..., profile]."""
    parts = weights.shape[-1]
    counts = torch.from_numpy(compositions(count, parts).copy()).to(torch.float64)
    total = times_counts(counts, weights)
    return total if algebra.idempotent else total + log_ways(count, parts)


def of_equals(weights: Tensor, count: int, algebra: Algebra) -> Tensor:
    """The same as a table over counts of all profiles but the first."""
    parts, leading = weights.shape[-1], weights.shape[:-1]
    possible = (weights.detach() > -torch.inf).reshape(-1, parts).any(0).nonzero().flatten()
    if not len(possible):
        return weights.new_full((*leading, *[1] * (parts - 1)), -torch.inf)
    rows = torch.zeros((math.comb(count + len(possible) - 1, len(possible) - 1), parts), dtype=torch.int64)
    rows[:, possible] = torch.from_numpy(compositions(count, len(possible)).copy())
    shape = [count + 1 if profile in possible else 1 for profile in range(1, parts)]
    places = torch.zeros(len(rows), dtype=torch.int64)
    for column, size in zip(rows.T[1:], shape, strict=True):
        places = places * size + column
    flat = weights.new_full((*leading, math.prod(shape)), -torch.inf)
    index = places.expand(*leading, -1)
    return flat.scatter(-1, index, of_rows(weights[..., possible], count, algebra)).view((*leading, *shape))


def cropped(table: Tensor, leading: int) -> Tensor:
    """Without the trailing counts that are impossible whatever the hubs' states are."""
    if table.dim() == leading:
        return table
    possible = table.detach() > -torch.inf
    for axis in range(leading, table.dim()):
        others = [i for i in range(table.dim()) if i != axis]
        along = possible.any(others[0]) if len(others) == 1 else possible.amax(others) if others else possible
        last = int(along.nonzero().max()) + 1 if bool(along.any()) else 1
        if last < table.shape[axis]:
            table = table.narrow(axis, 0, last)
            possible = possible.narrow(axis, 0, last)
    return table


def multiplied(left: Polynomial, right: Polynomial, algebra: Algebra) -> Polynomial:
    """Both put together: hubs' states agree, counts add up."""
    hubs = tuple(sorted({*left.hubs, *right.hubs}))
    axes = dict(zip((*left.pools, *right.pools), (*left.axes, *right.axes), strict=True))
    pools = tuple(sorted(axes))
    widths = tuple(axes[pool] for pool in pools)
    one, two = (_aligned(polynomial, hubs, pools, widths) for polynomial in (left, right))
    return Polynomial(hubs, pools, widths, _convolved(one, two, len(hubs), algebra))


def _aligned(
    polynomial: Polynomial, hubs: Sequence[int], pools: Sequence[int], axes: Sequence[int]
) -> Tensor:
    shape = dict(zip(polynomial.hubs, polynomial.table.shape, strict=False))
    sizes = [shape.get(hub, 1) for hub in hubs]
    counts = iter(polynomial.counts)
    own = {
        p: [next(counts) for _ in range(a)] for p, a in zip(polynomial.pools, polynomial.axes, strict=True)
    }
    for pool, width in zip(pools, axes, strict=True):
        sizes += own.get(pool, [1] * width)
    return polynomial.table.reshape(sizes)


def _convolved(left: Tensor, right: Tensor, leading: int, algebra: Algebra) -> Tensor:
    """Aligned tables put together: the one with fewer possible counts is walked over."""
    entries = [_possible(table, leading) for table in (left, right)]
    if len(entries[0]) < len(entries[1]):
        left, right, entries = right, left, entries[::-1]
    shape = [a + b - 1 for a, b in zip(left.shape[leading:], right.shape[leading:], strict=True)]
    hubs = [max(a, b) for a, b in zip(left.shape[:leading], right.shape[:leading], strict=True)]
    total: Tensor | None = None
    chunk = max(1, STACKED // max(1, math.prod(hubs) * math.prod(shape)))
    places = entries[1]
    for start in range(0, len(places), chunk):
        shifted = [
            _shifted(
                left + right[(..., *place)].reshape([*right.shape[:leading], *[1] * len(shape)]),
                place,
                shape,
                leading,
            )
            for place in map(tuple, places[start : start + chunk].tolist())
        ]
        part = shifted[0] if len(shifted) == 1 else algebra.sum(torch.stack(shifted), (0,))
        total = part if total is None else algebra.add(total, part)
    return left.new_full((*hubs, *shape), -torch.inf) if total is None else total


def _possible(table: Tensor, leading: int) -> Tensor:
    """Counts that are possible for some states of the hubs."""
    possible = table.detach() > -torch.inf
    return (
        possible.any(0).nonzero()
        if leading == 1
        else possible.flatten(0, leading - 1).any(0).nonzero()
        if leading
        else possible.nonzero()
    )


def _shifted(table: Tensor, by: Sequence[int], shape: Sequence[int], leading: int) -> Tensor:
    """The table with counts raised ``by`` so many, in a larger ``shape``."""
    pads: list[int] = []
    for axis in reversed(range(len(shape))):
        size = table.shape[leading + axis]
        pads += [by[axis], shape[axis] - size - by[axis]]
    return torch.nn.functional.pad(table, pads, value=-torch.inf) if any(pads) else table


def summed_out(
    polynomial: Polynomial, hub: int, pool: int, profile_of: Sequence[int], algebra: Algebra
) -> Polynomial:
    """A hub's states summed, its element counted in the profile of each."""
    place = polynomial.hubs.index(hub)
    hubs = tuple(h for h in polynomial.hubs if h != hub)
    table = polynomial.table.movedim(place, 0)
    leading = len(hubs)
    counts = list(polynomial.counts)
    at = sum(polynomial.axes[: polynomial.pools.index(pool)])
    width = polynomial.axes[polynomial.pools.index(pool)]
    shape = [size + 1 if at <= i < at + width else size for i, size in enumerate(counts)]
    parts = []
    for profile in sorted(set(profile_of)):
        states = torch.tensor([s for s, k in enumerate(profile_of) if k == profile])
        part = algebra.sum(table.index_select(0, states), (0,))
        by = [int(profile > 0 and i == at + profile - 1) for i in range(len(counts))]
        parts.append(_shifted(part, by, shape, leading))
    total = parts[0] if len(parts) == 1 else algebra.sum(torch.stack(parts), (0,))
    return Polynomial(hubs, polynomial.pools, polynomial.axes, cropped(total, leading))
