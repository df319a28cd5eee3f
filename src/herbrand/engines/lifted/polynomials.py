"""Polynomials over counts: tables of log-coefficients of the numbers of elements in each class.

A :class:`Polynomial` has, for each assignment of states to some hubs and each count vector, the log of the
summed weights of all ways to get it. Each pool of elements has one axis for every profile but its first,
whose count is the remainder. Multiplying combines elements: a convolution over counts.

>>> from herbrand import arrays
>>> from herbrand.contraction.algebra import algebra_named
>>> coin = arrays.zeros((1, 2))
>>> three = of_equals(coin[0], 3, algebra_named("log"))
>>> three.exp().numpy().round().tolist()
[1.0, 3.0, 3.0, 1.0]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from herbrand import arrays
from herbrand.arrays import Array
from herbrand.arrays.array import Pull, summed_to
from herbrand.contraction.algebra import Algebra


@dataclass(frozen=True)
class PolynomialShape:
    """Shape of a polynomial: its hubs, and for each pool the number of counts along each of its axes."""

    hubs: frozenset[int]
    counts: dict[int, tuple[int, ...]]

    @property
    def entries(self) -> float:
        return math.prod((count for shape in self.counts.values() for count in shape), start=1.0)

    def size(self, states: Sequence[int]) -> float:
        """Entries for all states of its hubs; ``states``: number of states of each hub."""
        return math.prod((states[hub] for hub in self.hubs), start=self.entries)


def shape_of_product(shapes: Iterable[PolynomialShape]) -> PolynomialShape:
    hubs: set[int] = set()
    counts: dict[int, tuple[int, ...]] = {}
    for shape in shapes:
        hubs |= shape.hubs
        for pool, own in shape.counts.items():
            known = counts.get(pool, (1,) * len(own))
            counts[pool] = tuple(a + b - 1 for a, b in zip(known, own, strict=True))
    return PolynomialShape(frozenset(hubs), counts)


@dataclass(frozen=True, eq=False)
class Polynomial:
    """A polynomial over counts: ``table`` [states of each hub in ``hubs`` ..., counts of each pool's profiles
    but the first ...].

    ``axes``: number of axes of each pool, in the order of ``pools``.
    """

    hubs: tuple[int, ...]
    pools: tuple[int, ...]
    axes: tuple[int, ...]
    table: Array

    @property
    def counts(self) -> tuple[int, ...]:
        """Shape of the table without the axes of hubs."""
        return tuple(self.table.shape[len(self.hubs) :])

    @property
    def shape(self) -> PolynomialShape:
        sizes = iter(self.counts)
        widths = zip(self.pools, self.axes, strict=True)
        counts = {pool: tuple(next(sizes) for _ in range(width)) for pool, width in widths}
        return PolynomialShape(frozenset(self.hubs), counts)


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
def log_ways(total: int, parts: int) -> Array:
    """Log multinomial coefficient of each composition."""
    factorials = np.array([math.lgamma(count + 1) for count in range(total + 1)])
    return arrays.from_numpy(factorials[total] - factorials[compositions(total, parts)].sum(1))


def times_counts(counts: Array, weights: Array) -> Array:
    """``counts`` [row, k] times log-``weights`` [..., k], summed, [..., row]; 0 times minus infinity is 0."""
    impossible = weights == -math.inf
    total = weights.masked_fill(impossible, 0.0) @ counts.T
    if impossible.any():
        total = total.masked_fill(impossible.to(counts.dtype) @ counts.T > 0, -math.inf)
    return total


def of_rows(weights: Array, count: int, algebra: Algebra) -> Array:
    """Log-coefficients of ``count`` equal elements for each composition; ``weights`` [..., profile]."""
    parts = weights.shape[-1]
    counts = arrays.from_numpy(compositions(count, parts).copy()).to(arrays.float64)
    total = times_counts(counts, weights)
    return total if algebra.idempotent else total + log_ways(count, parts)


def of_equals(weights: Array, count: int, algebra: Algebra) -> Array:
    """The same as a table over counts of all profiles but the first."""
    parts, leading = weights.shape[-1], weights.shape[:-1]
    possible = np.flatnonzero((weights.detach() > -math.inf).data.reshape(-1, parts).any(axis=0))
    if not len(possible):
        return weights.new_full((*leading, *[1] * (parts - 1)), -math.inf)
    rows = np.zeros((math.comb(count + len(possible) - 1, len(possible) - 1), parts), dtype=np.int64)
    rows[:, possible] = compositions(count, len(possible))
    shape = [count + 1 if profile in possible else 1 for profile in range(1, parts)]
    places = np.zeros(len(rows), dtype=np.int64)
    for column, size in zip(rows.T[1:], shape, strict=True):
        places = places * size + column
    flat = weights.new_full((*leading, math.prod(shape)), -math.inf)
    coefficients = of_rows(weights[..., possible], count, algebra)
    return flat.with_at((..., places), coefficients).view((*leading, *shape))


def cropped(table: Array, leading: int) -> Array:
    """The table without trailing counts that are impossible for all states of the hubs."""
    possible = (table.detach() > -math.inf).data.reshape(math.prod(table.shape[:leading]), -1).any(axis=0)
    places = np.flatnonzero(possible)  # few of many: tables over many profiles are nearly empty
    for axis in reversed(range(leading, table.dim())):
        places, counts = np.divmod(places, table.shape[axis])
        table = table.narrow(axis, 0, int(counts.max(initial=0)) + 1)
        places = places[np.append(True, places[1:] != places[:-1])[: len(places)]]
    return table


def multiplied(left: Polynomial, right: Polynomial, algebra: Algebra) -> Polynomial:
    """The product of two polynomials: states of hubs agree, counts add up."""
    hubs = tuple(sorted({*left.hubs, *right.hubs}))
    axes = dict(zip((*left.pools, *right.pools), (*left.axes, *right.axes), strict=True))
    pools = tuple(sorted(axes))
    widths = tuple(axes[pool] for pool in pools)
    one, two = (_aligned(polynomial, hubs, pools, widths) for polynomial in (left, right))
    return Polynomial(hubs, pools, widths, _convolved(one, two, len(hubs), algebra))


def _aligned(polynomial: Polynomial, hubs: Sequence[int], pools: Sequence[int], axes: Sequence[int]) -> Array:
    shape = dict(zip(polynomial.hubs, polynomial.table.shape, strict=False))
    sizes, counts = [shape.get(hub, 1) for hub in hubs], polynomial.shape.counts
    for pool, width in zip(pools, axes, strict=True):
        sizes += counts.get(pool, (1,) * width)
    return polynomial.table.reshape(sizes)


def _convolved(left: Array, right: Array, leading: int, algebra: Algebra) -> Array:
    """Convolve aligned tables; the loop is over the one with fewer possible counts.

    Only the result is kept for derivatives: what each step added is computed again on the way back.
    """
    entries = [_possible(table, leading) for table in (left, right)]
    if len(entries[0]) < len(entries[1]):
        left, right, entries = right, left, entries[::-1]
    counts = [a + b - 1 for a, b in zip(left.shape[leading:], right.shape[leading:], strict=True)]
    hubs = [max(a, b) for a, b in zip(left.shape[:leading], right.shape[:leading], strict=True)]
    walk = _Walk(left.data, right.data, leading, entries[1].tolist())
    result = np.full((*hubs, *counts), -math.inf)
    for window, _, joint in walk.steps():
        algebra.pair(result[window], joint, out=result[window])
    slopes: list[np.ndarray] = []

    def pull(side: int) -> Pull:
        def back(slope: np.ndarray) -> np.ndarray:
            if not slopes:
                slopes.extend(walk.back(result, slope, algebra.idempotent))
            return slopes[side]

        return back

    return arrays.made(result, (left, pull(0)), (right, pull(1)))


@dataclass(frozen=True, eq=False)
class _Walk:
    """A convolution of ``left`` with ``right``, whose entries at these ``places`` are added one by one."""

    left: np.ndarray
    right: np.ndarray
    leading: int
    places: Sequence[Sequence[int]]

    @property
    def beside(self) -> tuple[int, ...]:
        """Shape of an entry of ``right``, to be broadcast along the counts of ``left``."""
        return (*self.right.shape[: self.leading], *[1] * (self.left.ndim - self.leading))

    def steps(self) -> Iterator[tuple[Any, Any, np.ndarray]]:
        """For each step: the window it adds to, the entry that it takes, and what it adds."""
        sizes = self.left.shape[self.leading :]
        for place in self.places:
            window = (..., *(slice(at, at + size) for at, size in zip(place, sizes, strict=True)))
            entry = (..., *place)
            yield window, entry, self.left + self.right[entry].reshape(self.beside)

    def back(self, result: np.ndarray, slope: np.ndarray, best: bool) -> tuple[np.ndarray, np.ndarray]:
        """The derivatives by both tables; of several equal ``best`` steps the first gets all."""
        to_left, to_right = np.zeros_like(self.left), np.zeros_like(self.right)
        free = result > -math.inf
        for window, entry, joint in self.steps():
            part = slope[window] * _share(joint, result[window], free[window], best)
            to_left += summed_to(part, to_left.shape)
            to_right[entry] += summed_to(part, self.beside).reshape(to_right[entry].shape)
        return to_left, to_right


def _possible(table: Array, leading: int) -> Array:
    """Counts that are possible for some states of the hubs."""
    possible = table.detach() > -math.inf
    return (
        possible.any(0).nonzero()
        if leading == 1
        else possible.flatten(0, leading - 1).any(0).nonzero()
        if leading
        else possible.nonzero()
    )


def _share(part: np.ndarray, whole: np.ndarray, free: np.ndarray, best: bool) -> np.ndarray:
    """Share of each entry of ``whole`` that ``part`` makes; of several equal ``best`` parts the first gets
    all, and the entry is no longer ``free``."""
    if not best:
        return np.exp(part - np.where(free, whole, math.inf))
    share = free & (part == whole)
    free &= ~share
    return share.astype(float)


def _laid_together(
    parts: Sequence[Array], raised: Sequence[Sequence[int]], counts: Sequence[int], algebra: Algebra
) -> Array:
    """Add tables up in one over these ``counts``, each shifted by ``raised``.

    As in a convolution, only the result is kept for derivatives.
    """
    leading = parts[0].dim() - len(counts)
    windows = [
        (..., *(slice(by, by + size) for by, size in zip(own, part.shape[leading:], strict=True)))
        for part, own in zip(parts, raised, strict=True)
    ]
    result = np.full((*parts[0].shape[:leading], *counts), -math.inf)
    for part, window in zip(parts, windows, strict=True):
        algebra.pair(result[window], part.data, out=result[window])
    shares: list[np.ndarray] = []

    def pull(place: int) -> Pull:
        def back(slope: np.ndarray) -> np.ndarray:
            if not shares:
                free = result > -math.inf
                shares.extend(
                    _share(part.data, result[window], free[window], algebra.idempotent)
                    for part, window in zip(parts, windows, strict=True)
                )
            return slope[windows[place]] * shares[place]

        return back

    return arrays.made(result, *((part, pull(place)) for place, part in enumerate(parts)))


def summed_out(
    polynomial: Polynomial, hub: int, pool: int, profile_of: Sequence[int], algebra: Algebra
) -> Polynomial:
    """Sum a hub out, with its element counted in the profile of each of its states."""
    place = polynomial.hubs.index(hub)
    hubs = tuple(h for h in polynomial.hubs if h != hub)
    table = polynomial.table.movedim(place, 0)
    counts = list(polynomial.counts)
    at = sum(polynomial.axes[: polynomial.pools.index(pool)])
    width = polynomial.axes[polynomial.pools.index(pool)]
    shape = [size + 1 if at <= i < at + width else size for i, size in enumerate(counts)]
    parts: list[Array] = []
    raised: list[list[int]] = []
    for profile in sorted(set(profile_of)):
        states = arrays.tensor([s for s, k in enumerate(profile_of) if k == profile])
        part = algebra.sum(table.index_select(0, states), (0,))
        parts.append(part)
        raised.append([int(profile > 0 and i == at + profile - 1) for i in range(len(counts))])
    total = _laid_together(parts, raised, shape, algebra)
    return Polynomial(hubs, polynomial.pools, polynomial.axes, cropped(total, len(hubs)))
