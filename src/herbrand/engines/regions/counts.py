"""A program as a graphical model over counts, from which regions are made.

Takes a summation of exact counting; gives a :class:`CountGraph`. A variable is an axis: all vectors of counts
that some interchangeable elements can have (those that evidence links are on one axis). Its prior includes
the number of ways to have each vector; factors are over several variables. Summing everything out would be
exact lifted inference, for any evidence and any number of constants.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.lifted.count_elimination import Structure
from herbrand.engines.lifted.factors import Axes
from herbrand.engines.lifted.summation import CountLayout, Summation
from herbrand.engines.lifted.terms import CountTerm
from herbrand.engines.regions.graph import Region, Scope, whole
from herbrand.engines.regions.variables import RegionVariable

Line = tuple[np.ndarray, np.ndarray]
"""Intercept and slope of a table that is linear along one variable, as tables over the others."""


@dataclass(frozen=True, eq=False)
class CountGraph:
    """Model over counts. ``factors``: log-tables by their regions, one for each region; ``constant``:
    log-weight outside all regions.

    If everything is counted there is a ``layout``, and every factor is about all elements of its variables.
    ``wide``: terms by scope whose tables are not made. ``linear``: for each scope the variables along which
    the sum of its factors is linear.
    """

    variables: tuple[RegionVariable, ...]
    factors: dict[Region, np.ndarray]
    constant: float
    layout: CountLayout | None = None
    wide: dict[Scope, tuple[CountTerm, ...]] = field(default_factory=dict)
    linear: dict[Scope, frozenset[int]] = field(default_factory=dict)

    @cached_property
    def elements(self) -> tuple[int, ...]:
        """Number of elements of each variable that regions can take."""
        return tuple(variable.elements for variable in self.variables)

    @property
    def counted(self) -> CountLayout:
        """Layout of a graph in which everything is counted."""
        assert self.layout is not None
        return self.layout

    @cached_property
    def parts(self) -> tuple[Region, ...]:
        """Region of each factor."""
        return (*self.factors, *map(self.all_of, self.wide))

    def all_of(self, scope: Iterable[int]) -> Region:
        return whole(scope, self.elements)

    def shape(self, region: Region) -> tuple[int, ...]:
        """Shape of a table over a region."""
        return tuple(self.variables[v].rows(number) for v, number in region.taken)

    def entries(self, region: Region) -> float:
        """Number of entries of a table over a region."""
        return float(math.prod(map(float, self.shape(region))))

    def holds_wide(self, region: Region) -> bool:
        """Whether a factor whose table is not made fits in a region."""
        return any(self.all_of(scope).fits(region) for scope in self.wide)

    def made(self, region: Region) -> float:
        """Upper bound on the entries that a cluster makes; for a wide one, those of an intercept
        and a slope."""
        if not self.holds_wide(region):
            return self.entries(region)
        return 2 * self.narrow(region.scope, (part.scope for part in self.parts))

    def narrow(self, scope: Scope, factors: Iterable[Scope]) -> float:
        """Number of entries of a table over a scope without the second longest variable along which all
        factors are linear."""
        sizes = sorted((len(self.variables[v]) for v in self.lines(scope, factors)), reverse=True)
        return self.entries(self.all_of(scope)) / sizes[1]

    def lines(self, scope: Scope, factors: Iterable[Scope]) -> Scope:
        """Variables of a scope along which all its factors are linear; factors over one variable are handled
        separately and do not count."""
        inside = [factor for factor in factors if len(factor) > 1 and set(factor) <= set(scope)]
        bent = {variable for factor in inside for variable in set(factor) - self.linear[factor]}
        return tuple(v for v in scope if v not in bent)

    def table(self, scope: Scope) -> np.ndarray:
        """Table of a factor, computed anew if it is wide."""
        if scope not in self.wide:
            return self.factors[self.all_of(scope)]
        count_factors = self.counted.factors
        tables = (
            ascending(count_factors.scope(term), count_factors.of_counts(term).detach().numpy())
            for term in self.wide[scope]
        )
        return np.sum([settled_left_out(*table, self.variables)[1] for table in tables], axis=0)

    def line(self, scope: Scope, variable: int) -> Line:
        """Intercept and slope of a factor along a variable in which it is linear."""
        place = scope.index(variable)
        if scope not in self.wide:
            table, counts = self.table(scope), self.variables[variable].all_counts[:, 1]
            first, last = table.take(0, place), table.take(-1, place)
            rise = (last - first) / (counts[-1] - counts[0])
            return first - rise * counts[0], rise
        count_factors, (pool,) = self.counted.factors, self.counted.axes[variable].pools
        base, slope = (np.zeros([len(self.variables[v]) for v in scope if v != variable]) for _ in range(2))
        for term in self.wide[scope]:
            for total, tensor in zip((base, slope), count_factors.line(term, pool), strict=True):
                numbers, table = ascending(count_factors.scope(term), tensor.detach().numpy())
                gone = tuple(p for p, v in enumerate(numbers) if v not in scope or v == variable)
                total += np.squeeze(table, gone)
        return base, slope


def count_graph(summation: Summation, most: float = np.inf, budget: Budget = UNLIMITED) -> CountGraph:
    """Count graph of a summation that is not impossible, with everything counted. Tables of more than
    ``most`` entries are not made if one variable can always be summed out instead."""
    layout = summation.layout()
    pools = {summation.element_groups.all[number].pool for number in summation.element_groups.whole_pools}
    variables = []
    for axis in layout.axes:
        prior = axis.prior.detach().numpy()
        counts = np.concatenate([axis.counts[pool].numpy() for pool in axis.pools], axis=1)
        alike = len(axis.pools) == 1 and axis.pools[0] in pools
        count = int(counts[0].sum()) if len(counts) else 0
        if alike and count:
            variables.append(RegionVariable(count, _weights(prior, counts)))
        else:
            variables.append(RegionVariable(count, None, (counts, prior)))
    elements = [variable.elements for variable in variables]
    constant = float(layout.constant.detach())
    structure = _open_structure(layout)
    bounded = {_scope(names) for names in structure.linear if _is_wide(structure, names, most)}
    wide: dict[Scope, tuple[CountTerm, ...]] = {}
    tables, factors = list(layout.pair_tables), dict[Region, np.ndarray]()
    for names, term in budget.each(layout.terms):
        scope = _scope(_open(names, layout))
        if scope in bounded:
            wide[scope] = (*wide.get(scope, ()), term)
        else:
            tables.append((names, layout.factors.of_counts(term)))
    for names, tensor in budget.each(tables):
        scope, table = settled_left_out(*ascending(names, tensor.detach().numpy()), variables)
        if scope:
            add(factors, whole(scope, elements), table)
        else:
            constant += float(table)
    linear = {_scope(names): frozenset(map(axis_number, axes)) for names, axes in structure.linear.items()}
    return CountGraph(tuple(variables), factors, constant, layout, wide, linear)


def add(factors: dict[Region, np.ndarray], about: Region, table: np.ndarray) -> None:
    """Add a table to the factor about the same region."""
    factors[about] = factors[about] + table if about in factors else table


def ascending(names: Sequence[str], table: np.ndarray) -> tuple[Scope, np.ndarray]:
    """Numbers of the axes in ascending order, and the table transposed accordingly."""
    numbers = [axis_number(name) for name in names]
    order = sorted(range(len(numbers)), key=lambda place: numbers[place])
    return tuple(numbers[place] for place in order), np.transpose(table, order)


def _open_structure(layout: CountLayout) -> Structure:
    """Structure of the tables over axes with more than one row, with the axes along which they are linear."""
    opened = ((_open(names, layout), lines) for names, lines in layout.structure.linear.items())
    return Structure.of(layout.sizes, ((scope, lines & frozenset(scope)) for scope, lines in opened))


def _open(names: Axes, layout: CountLayout) -> Axes:
    return tuple(sorted((name for name in names if layout.sizes[name] > 1), key=axis_number))


def _is_wide(structure: Structure, names: Axes, most: float) -> bool:
    """Whether a table is too large to be made and need not be: it, and each table that contains its axes, can
    have one axis summed out."""
    if structure.entries(names) <= most:
        return False
    around = (scope for scope in structure.linear if set(names) <= set(scope))
    return all(structure.narrow(scope) < np.inf for scope in around)


def _scope(names: Axes) -> Scope:
    return tuple(sorted(map(axis_number, names)))


def axis_number(name: str) -> int:
    """Number of an axis of a layout."""
    return int(name[1:])


def settled_left_out(
    scope: Scope, table: np.ndarray, variables: Sequence[RegionVariable]
) -> tuple[Scope, np.ndarray]:
    """Factor without the variables of a single row, whose counts evidence determines."""
    settled = tuple(place for place, variable in enumerate(scope) if len(variables[variable]) == 1)
    return tuple(v for v in scope if len(variables[v]) > 1), np.squeeze(table, settled)


def _weights(prior: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Log-weights of one element [profile], from the single way for all elements to have the same profile."""
    count = counts[0].sum()
    return np.array([prior[counts[:, k] == count][0] / count for k in range(counts.shape[1])])
