"""The sum over all counts: axes of counts, and tables over them, contracted.

Takes a :class:`Tabulated` model; gives :class:`Sums`. Everything is differentiable, so the expected number of
elements in each state, and of pairs in each two profiles, is a gradient of the total. In the max algebra the
total is the largest log-weight, and these numbers are those of one best world.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from herbrand import arrays
from herbrand.arrays import Array
from herbrand.budget import ANY_MACHINE
from herbrand.contraction import Contraction, Dense, Statistics, plan, run
from herbrand.engines.lifted.count_axes import FLOAT, Axis, Clamp, Gathering
from herbrand.engines.lifted.count_elimination import Structure
from herbrand.engines.lifted.cumulants import differentiable_log_sums, largest
from herbrand.engines.lifted.element_groups import Tie, element_groups_of
from herbrand.engines.lifted.factors import Axes, Factors
from herbrand.engines.lifted.tabulated import Tabulated
from herbrand.engines.lifted.terms import CountTerm

K = TypeVar("K")


@dataclass(frozen=True, eq=False)
class Sums:
    """The total and expected numbers. ``states`` [state]: elements of each group, hubs first. ``ties`` [hub's
    state, element's state]: pairs. ``pairs`` [profile, profile]: pairs between two pools."""

    total: Array
    states: tuple[np.ndarray, ...]
    ties: Mapping[tuple[int, Tie], np.ndarray]
    pairs: Mapping[tuple[int, int], np.ndarray]


@dataclass(frozen=True, eq=False)
class CountLayout:
    """Axes of counts and the tables over them, before anything is summed; axis i is named ``c{i}``.

    ``pair_tables`` contain zeros (``pairs``) that were added to the tables of usual pairs to differentiate by
    them. ``terms``: those about several elements that no binary atom links; their tables are made when
    needed.
    """

    gathering: Gathering
    constant: Array
    axes: tuple[Axis, ...]
    factors: Factors
    pair_tables: tuple[tuple[Axes, Array], ...]
    terms: tuple[tuple[Axes, CountTerm], ...]

    @property
    def pairs(self) -> Mapping[tuple[int, int], Array]:
        return self.factors.pairs

    @cached_property
    def sizes(self) -> dict[str, int]:
        return {f"c{i}": len(axis) for i, axis in enumerate(self.axes)}

    def axis_of(self, pool: int) -> int:
        """Number of the axis that counts a pool."""
        return next(number for number, axis in enumerate(self.axes) if pool in axis.pools)

    def linear_in(self, term: CountTerm) -> frozenset[str]:
        """The axes in which a term's table is linear, among those of one pool with two profiles."""
        pools, cells = self.gathering.tabulated.model.linear_in(term), self.gathering.cells
        return frozenset(self._single[p] for p in pools if p in self._single and cells[p].profiles == 2)

    @cached_property
    def _single(self) -> dict[int, str]:
        """Name of the axis of each pool that has one by itself."""
        return {axis.pools[0]: f"c{i}" for i, axis in enumerate(self.axes) if len(axis.pools) == 1}

    @cached_property
    def structure(self) -> Structure:
        """The scopes of all tables, and the axes in which they are linear."""
        pairs = ((scope, frozenset[str]()) for scope, _ in self.pair_tables)
        terms = ((scope, self.linear_in(term)) for scope, term in self.terms)
        return Structure.of(self.sizes, (*pairs, *terms))

    def tables(self, summed: Axes = ()) -> Iterator[tuple[Axes, Array]]:
        """All factors of the sum; the axes ``summed`` are summed out by their cumulants first."""
        yield (), self.constant
        for number, axis in enumerate(self.axes):
            name = f"c{number}"
            yield self._summed_out(axis, name) if name in summed else ((name,), axis.prior)
        for scope, table in self.pair_tables:
            if not set(scope) & set(summed):
                yield scope, table
        for scope, term in self.terms:
            if not set(scope) & set(summed):
                yield scope, self.factors.of_counts(term)

    def _summed_out(self, axis: Axis, name: str) -> tuple[Axes, Array]:
        """The sum over this axis's counts, over the other axes of its terms."""
        rest = self.structure.neighbours(name)
        base = slope = arrays.zeros([self.sizes[other] for other in rest], dtype=FLOAT)
        alone = axis.prior + sum(table for scope, table in self.pair_tables if scope == (name,))
        for scope, term in self.terms:
            if scope == (name,):
                alone = alone + self.factors.of_counts(term)
            elif name in scope:
                first, rise = (
                    over(table, scope, (*rest, name)).squeeze(-1)
                    for table in self.factors.line(term, axis.pools[0])
                )
                base, slope = base + first, slope + rise
        by_count, most = axis.by_count(alone), self.gathering.tabulated.algebra.name == "maximum"
        return rest, base + (largest(by_count, slope) if most else differentiable_log_sums(by_count, slope))


def over(table: Array, scope: Axes, whole: Axes) -> Array:
    """The table reshaped over more axes, in their order, to be broadcast."""
    order = sorted(range(len(scope)), key=lambda place: whole.index(scope[place]))
    sizes = dict(zip(scope, table.shape, strict=True))
    return table.permute(order).reshape([sizes.get(name, 1) for name in whole])


class Summation:
    """One summation, which may be repeated with an element clamped."""

    def __init__(self, tabulated: Tabulated) -> None:
        self.tabulated = tabulated
        self.model = tabulated.model
        self.element_groups = element_groups_of(tabulated)

    @property
    def impossible(self) -> bool:
        """Whether evidence and hard statements leave some element without a possible cell."""
        weights = (self.tabulated.own_weights(g.pool, g.klass) for g in self.element_groups.all)
        return any(not bool((own.detach() > -math.inf).any()) for own in weights)

    def total(self) -> Array:
        """The log-partition, or the largest log-weight."""
        if self.impossible:
            return arrays.tensor(-math.inf, dtype=FLOAT)
        return self._total(self.layout())

    def sums(self, clamp: Clamp | None = None) -> Sums:
        """The total with all expected numbers."""
        layout = self.layout(clamp)
        return expectations(layout, self._total(layout))

    def layout(self, clamp: Clamp | None = None) -> CountLayout:
        """The axes and tables of the sum."""
        gathering = self._gathering(clamp)
        axes = gathering.axes()
        factors = _factors(self.tabulated, axes)
        terms = tuple(
            (factors.scope(term), term)
            for term in self.model.terms.counts
            if term.single is None or not term.single.literals
        )
        pairs = tuple(factors.of_pairs())
        return CountLayout(gathering, self.constant(), tuple(axes), factors, pairs, terms)

    def _gathering(self, clamp: Clamp | None) -> Gathering:
        cells, element_groups = self.tabulated.cells, self.element_groups
        states = [_zeros(cells[element_group.pool].states) for element_group in element_groups.all]
        ties = {
            (number, tie): _zeros(
                cells[element_groups.hubs[tie.hub].pool].states, cells[element_group.pool].states
            )
            for number, element_group in enumerate(element_groups.all)
            for tie in element_group.ties
        }
        return Gathering(self.tabulated, element_groups, states, ties, clamp)

    def _total(self, layout: CountLayout) -> Array:
        algebra = self.tabulated.algebra.name
        summed = layout.structure.cheapest(algebra).summed
        sizes = {name: size for name, size in layout.sizes.items() if name not in summed}
        scopes, tables = zip(*layout.tables(summed), strict=True)
        contraction = Contraction(scopes, (), sizes, algebra=algebra)
        contraction_plan = plan(contraction, [Statistics()] * len(scopes), ANY_MACHINE, gradient=True)
        return run(contraction_plan, [Dense(table.contiguous()) for table in tables]).to_dense()

    def constant(self) -> Array:
        """Log-weight of unusual pairs whose elements have one state each."""
        total = arrays.zeros((), dtype=FLOAT)
        for (group, pattern, left, right), times in self.element_groups.settled.items():
            total = total + times * self.tabulated.unusual(group, pattern, left, right)[0, 0]
        return total


def expectations(layout: CountLayout, total: Array) -> Sums:
    """Expected numbers, as the gradient of ``total``, or of anything with the same gradient."""
    numbered = dict(enumerate(layout.gathering.states))
    ties, pairs = layout.gathering.ties, layout.pairs
    inputs = [*numbered.values(), *ties.values(), *pairs.values()]
    slopes = iter(arrays.gradients(total, inputs))

    def expected(tensors: Mapping[K, Array]) -> dict[K, np.ndarray]:
        return {key: _number(next(slopes), tensor) for key, tensor in tensors.items()}

    return Sums(total.detach(), tuple(expected(numbered).values()), expected(ties), expected(pairs))


def _factors(tabulated: Tabulated, axes: list[Axis]) -> Factors:
    names = {pool: f"c{i}" for i, axis in enumerate(axes) for pool in axis.pools}
    return Factors(tabulated, {pool: c for axis in axes for pool, c in axis.counts.items()}, names)


def _zeros(*shape: int) -> Array:
    return arrays.zeros(shape, dtype=FLOAT).watch()


def _number(slope: np.ndarray | None, tensor: Array) -> np.ndarray:
    return np.zeros(tensor.shape) if slope is None else slope
