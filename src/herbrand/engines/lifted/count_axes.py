"""Axes of counts: the count vectors that linked elements can have, each with the total weight of all ways to
get it.

Each group of elements becomes a polynomial over the states of the hubs that it is tied to; hubs are summed
out one after another; polynomials that share a pool are multiplied. A pool that is one group needs no table:
its count vectors are listed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from herbrand import arrays
from herbrand.arrays import Array
from herbrand.engines.lifted.element_groups import ElementGroup, ElementGroups, Tie
from herbrand.engines.lifted.polynomials import (
    Polynomial,
    compositions,
    cropped,
    multiplied,
    of_equals,
    of_rows,
    shape_of_product,
    summed_out,
)
from herbrand.engines.lifted.tabulated import Cells, Tabulated
from herbrand.graphs import linked

FLOAT = arrays.float64


@dataclass(frozen=True, eq=False)
class Clamp:
    """One element of a group (hubs come first in the numbering) is clamped to one profile."""

    element_group: int
    profile: int


@dataclass(frozen=True, eq=False)
class Axis:
    """Pools whose elements evidence links, and all joint count vectors that they can have."""

    pools: tuple[int, ...]
    counts: Mapping[int, Array]
    """Counts of each pool [row, profile]."""
    prior: Array

    def __len__(self) -> int:
        return len(self.prior)

    def by_count(self, weights: Array) -> Array:
        """Weights of rows by the count of the second profile, from 0 on, for an axis of one pool with two
        profiles."""
        (rows,) = self.counts.values()
        elements = int(rows[0].sum())
        return weights.new_full((elements + 1,), -math.inf).with_at(rows[:, 1].long().data, weights)


@dataclass(frozen=True, eq=False)
class Gathering:
    """Computation of the axes. ``states`` and ``ties``: log-weights added to each group's, and to each tie's,
    by which totals are differentiated."""

    tabulated: Tabulated
    element_groups: ElementGroups
    states: Sequence[Array]
    ties: Mapping[tuple[int, Tie], Array]
    clamp: Clamp | None = None

    @property
    def cells(self) -> tuple[Cells, ...]:
        return self.tabulated.cells

    def axes(self) -> list[Axis]:
        """The axes: one for each set of pools that evidence links."""
        clamped = None if self.clamp is None else self.clamp.element_group
        alone = [number for number in self.element_groups.whole_pools if number != clamped]
        joined = linked(self._without_hubs(list(self._polynomials(alone))), lambda one: one.pools)
        return [*map(self._direct, alone), *map(self._axis, joined)]

    def _polynomials(self, alone: Collection[int]) -> Iterator[Polynomial]:
        """A polynomial for each group that is no hub, and one for each hub's weights; groups in ``alone`` are
        left out."""
        hub_count = len(self.element_groups.hubs)
        for number, element_group in enumerate(self.element_groups.all):
            if number in alone:
                continue
            weights = self._weights(number, element_group)
            hubs, table = self._tied(number, element_group, weights)
            if number < hub_count:
                yield self._hub(number, element_group, hubs, table)
                continue
            yield from self._others(number, element_group, hubs, table)

    def _weights(self, number: int, element_group: ElementGroup) -> Array:
        """Log-weights of a group's elements [state]."""
        cells = self.cells[element_group.pool]
        raw = self.tabulated.own_weights(element_group.pool, element_group.klass)
        kept = arrays.from_numpy(np.flatnonzero(cells.state >= 0))
        states = arrays.from_numpy(cells.state[cells.state >= 0])
        return self.tabulated.algebra.segment_sum(raw[kept], states, cells.states) + self.states[number]

    def _tied(
        self, number: int, element_group: ElementGroup, weights: Array
    ) -> tuple[tuple[int, ...], Array]:
        """The weights with those of its ties: [states of each hub ..., state]."""
        hubs = tuple(sorted({tie.hub for tie in element_group.ties}))
        table = weights.view(*[1] * len(hubs), -1)
        for tie in element_group.ties:
            extra = self._correction(element_group, tie) + self.ties[number, tie]
            shape = [extra.shape[0] if hub == tie.hub else 1 for hub in hubs]
            table = table + extra.view(*shape, extra.shape[1])
        return hubs, table

    def _correction(self, element_group: ElementGroup, tie: Tie) -> Array:
        """Log-weight of an unusual pair less that of a usual one [hub's state, element's state]."""
        hub = self.element_groups.hubs[tie.hub]
        if tie.left:
            return self.tabulated.unusual(tie.group, tie.pattern, element_group.pool, hub.pool).T
        return self.tabulated.unusual(tie.group, tie.pattern, hub.pool, element_group.pool)

    def _hub(
        self, number: int, element_group: ElementGroup, hubs: tuple[int, ...], table: Array
    ) -> Polynomial:
        if self.clamp is not None and self.clamp.element_group == number:
            elsewhere = arrays.tensor(
                [k != self.clamp.profile for k in self.cells[element_group.pool].profile_of]
            )
            table = table.masked_fill(elsewhere, -math.inf)
        joint = (*hubs, number)
        order = sorted(range(len(joint)), key=lambda place: joint[place])
        width = self._width(element_group.pool)
        table = table.permute(order)
        return Polynomial(
            tuple(sorted(joint)), (element_group.pool,), (width,), table.reshape(*table.shape, *[1] * width)
        )

    def _others(
        self, number: int, element_group: ElementGroup, hubs: tuple[int, ...], table: Array
    ) -> Iterator[Polynomial]:
        cells = self.cells[element_group.pool]
        profiles = arrays.tensor(cells.profile_of)
        by_profile = self.tabulated.algebra.segment_sum(
            table.movedim(-1, 0), profiles, cells.profiles
        ).movedim(0, -1)
        count = len(element_group)
        width = self._width(element_group.pool)
        if self.clamp is not None and self.clamp.element_group == number:
            count -= 1
            elsewhere = arrays.arange(cells.profiles) != self.clamp.profile
            one = of_equals(by_profile.masked_fill(elsewhere, -math.inf), 1, self.tabulated.algebra)
            yield Polynomial(hubs, (element_group.pool,), (width,), cropped(one, len(hubs)))
        if count and number not in self.element_groups.largest and _slow_at_once(by_profile, count):
            one = cropped(of_equals(by_profile, 1, self.tabulated.algebra), len(hubs))
            yield from [Polynomial(hubs, (element_group.pool,), (width,), one)] * count
        elif count:
            polynomial = cropped(of_equals(by_profile, count, self.tabulated.algebra), len(hubs))
            yield Polynomial(hubs, (element_group.pool,), (width,), polynomial)

    def _width(self, pool: int) -> int:
        return max(0, self.cells[pool].profiles - 1)

    def _direct(self, number: int) -> Axis:
        element_group = self.element_groups.all[number]
        cells = self.cells[element_group.pool]
        weights = self._weights(number, element_group)
        by_profile = self.tabulated.algebra.segment_sum(
            weights, arrays.tensor(cells.profile_of), cells.profiles
        )
        counts = arrays.from_numpy(compositions(len(element_group), cells.profiles).copy()).to(FLOAT)
        return Axis(
            (element_group.pool,),
            {element_group.pool: counts},
            of_rows(by_profile, len(element_group), self.tabulated.algebra),
        )

    def _without_hubs(self, polynomials: Sequence[Polynomial]) -> list[Polynomial]:
        """Sum out all hubs, the one that makes the smallest table first."""
        waiting = dict(enumerate(polynomials))
        around: dict[int, set[int]] = defaultdict(set)
        for number, polynomial in waiting.items():
            for hub in polynomial.hubs:
                around[hub].add(number)
        states = [self.cells[hub.pool].states for hub in self.element_groups.hubs]

        def size_at(hub: int) -> float:
            return shape_of_product(waiting[number].shape for number in around[hub]).size(states)

        sizes = {hub: size_at(hub) for hub in around}
        for count in range(len(waiting), len(waiting) + len(around)):
            hub = min(sizes, key=lambda h: (sizes[h], h))
            touched = [waiting.pop(number) for number in sorted(around[hub])]
            waiting[count] = self._summed_out(touched, hub)
            beside = {other for polynomial in touched for other in polynomial.hubs} - {hub}
            for other in beside:
                around[other] = around[other] - around[hub] | {count}
                sizes[other] = size_at(other)
            del sizes[hub], around[hub]
        return list(waiting.values())

    def _summed_out(self, touched: Sequence[Polynomial], hub: int) -> Polynomial:
        """Multiply the polynomials of a hub and sum it out."""
        smallest, *others = sorted(touched, key=lambda p: p.table.numel())
        joint = smallest
        for other in others:
            joint = multiplied(joint, other, self.tabulated.algebra)
        pool = self.element_groups.hubs[hub].pool
        return summed_out(joint, hub, pool, self.cells[pool].profile_of, self.tabulated.algebra)

    def _axis(self, joined: list[Polynomial]) -> Axis:
        joined.sort(key=lambda p: p.table.numel())
        joint = joined[0]
        for other in joined[1:]:
            joint = multiplied(joint, other, self.tabulated.algebra)
        table = joint.table
        rows = (table.detach() > -math.inf).nonzero()
        prior = table[tuple(rows.T)] if table.dim() else table.view(1)
        if not table.dim():
            rows = rows.new_zeros((1, 0))
        elif not len(rows):
            rows, prior = rows.new_zeros((1, table.dim())), prior.new_full((1,), -math.inf)
        counts, start = {}, 0
        for pool, width in zip(joint.pools, joint.axes, strict=True):
            own = rows[:, start : start + width].to(FLOAT)
            start += width
            counts[pool] = arrays.cat(
                [len(self.tabulated.model.pools[pool]) - own.sum(1, keepdim=True), own], 1
            )
        return Axis(joint.pools, counts, prior)


def _slow_at_once(by_profile: Array, count: int) -> bool:
    """Whether adding equal elements one by one takes fewer steps than all of their counts at once."""
    possible = by_profile.detach() > -math.inf
    profiles = int(possible.reshape(-1, possible.shape[-1]).any(0).sum())
    return profiles > 0 and math.comb(count + profiles - 1, profiles - 1) > 2 * count * profiles
