"""A program as a graphical model over counts: what regions are made of.

Takes a summation of exact counting; gives a :class:`CountGraph`. A variable is an axis: all vectors of counts
that some alike elements can have (those that evidence links are on one axis). Its prior has the number of
ways to have each; what several variables say together are factors. Summing it all out would be exact lifted
inference, whatever is known and however many constants there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.engines.lifted.cumulated import Structure
from herbrand.engines.lifted.factors import Axes
from herbrand.engines.lifted.summation import Layout, Summation
from herbrand.engines.lifted.terms import CountTerm
from herbrand.engines.regions.graph import Scope

Line = tuple[np.ndarray, np.ndarray]
"""Base and slope of a table along one variable, over the others."""


@dataclass(frozen=True, eq=False)
class Variable:
    """``prior`` [row]: log of all ways, with their weights, to have a vector of ``counts`` [row, profile].

    ``weights`` [profile]: log-weights of one element, where all elements are alike and independent but for
    what factors say; else ``None``: they can only be told of together.
    """

    prior: np.ndarray
    counts: np.ndarray
    weights: np.ndarray | None

    def __len__(self) -> int:
        return len(self.prior)

    @cached_property
    def elements(self) -> int:
        """How many elements are counted."""
        return int(self.counts[0].sum()) if len(self.counts) else 0

    def by_count(self, weights: np.ndarray) -> np.ndarray:
        """Weights of rows by the count of the second of two profiles, from 0 on."""
        found = np.full(self.elements + 1, -np.inf)
        found[self.counts[:, 1].astype(np.int64)] = weights
        return found


@dataclass(frozen=True, eq=False)
class CountGraph:
    """``factors``: log-tables by scope, no two over the same; ``constant`` is in no region. ``wide``: by
    scope the terms whose tables are not made. ``linear``: for each scope the variables along which all that
    is said over it is a line."""

    layout: Layout
    variables: tuple[Variable, ...]
    factors: dict[Scope, np.ndarray]
    constant: float
    wide: dict[Scope, tuple[CountTerm, ...]]
    linear: dict[Scope, frozenset[int]]

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Of all factors."""
        return (*self.factors, *self.wide)

    def entries(self, scope: Iterable[int]) -> float:
        """The size of a table over these variables."""
        return float(np.prod([float(len(self.variables[v])) for v in scope]))

    def made(self, scope: Scope) -> float:
        """How many entries a cluster over these variables makes at most: of a wide one, two lines'."""
        if not any(set(factor) <= set(scope) for factor in self.wide):
            return self.entries(scope)
        sizes = sorted((len(self.variables[v]) for v in self.lines(scope, self.scopes)), reverse=True)
        return 2 * self.entries(scope) / sizes[1]

    def lines(self, scope: Scope, factors: Iterable[Scope]) -> Scope:
        """The variables along which all factors within a scope are lines; those over one variable are said of
        it alone, and bend nothing."""
        inside = [factor for factor in factors if len(factor) > 1 and set(factor) <= set(scope)]
        bent = {variable for factor in inside for variable in set(factor) - self.linear[factor]}
        return tuple(v for v in scope if v not in bent)

    def table(self, scope: Scope) -> np.ndarray:
        """A factor's table, made anew if it is wide."""
        if scope in self.factors:
            return self.factors[scope]
        made = self.layout.factors
        tables = (
            ascending(made.scope(term), made.of_counts(term).detach().numpy()) for term in self.wide[scope]
        )
        return np.sum([settled_left_out(*table, self.variables)[1] for table in tables], axis=0)

    def line(self, scope: Scope, variable: int) -> Line:
        """A factor as a line along a variable that it is linear in."""
        place = scope.index(variable)
        if scope in self.factors:
            table, counts = self.factors[scope], self.variables[variable].counts[:, 1]
            first, last = table.take(0, place), table.take(-1, place)
            rise = (last - first) / (counts[-1] - counts[0])
            return first - rise * counts[0], rise
        made, (pool,) = self.layout.factors, self.layout.axes[variable].pools
        base, slope = (np.zeros([len(self.variables[v]) for v in scope if v != variable]) for _ in range(2))
        for term in self.wide[scope]:
            for total, tensor in zip((base, slope), made.line(term, pool), strict=True):
                numbers, table = ascending(made.scope(term), tensor.detach().numpy())
                gone = tuple(p for p, v in enumerate(numbers) if v not in scope or v == variable)
                total += np.squeeze(table, gone)
        return base, slope


def count_graph(summation: Summation, most: float = np.inf) -> CountGraph:
    """The graph of a summation that is possible at all; tables of more than ``most`` entries are not made
    where one variable can always be summed out."""
    layout = summation.layout()
    whole = {summation.bunches.all[number].pool for number in summation.bunches.whole_pools}
    variables = []
    for axis in layout.axes:
        prior = axis.prior.detach().numpy()
        counts = np.concatenate([axis.counts[pool].numpy() for pool in axis.pools], axis=1)
        alike = len(axis.pools) == 1 and axis.pools[0] in whole
        variables.append(Variable(prior, counts, _weights(prior, counts) if alike else None))
    constant = float(layout.constant.detach())
    structure = _open_structure(layout)
    bounded = {_scope(names) for names in structure.linear if _is_wide(structure, names, most)}
    wide: dict[Scope, tuple[CountTerm, ...]] = {}
    tables, factors = list(layout.pair_tables), dict[Scope, np.ndarray]()
    for names, term in layout.terms:
        scope = _scope(_open(names, layout))
        if scope in bounded:
            wide[scope] = (*wide.get(scope, ()), term)
        else:
            tables.append((names, layout.factors.of_counts(term)))
    for names, tensor in tables:
        scope, table = settled_left_out(*ascending(names, tensor.detach().numpy()), variables)
        if scope:
            factors[scope] = factors[scope] + table if scope in factors else table
        else:
            constant += float(table)
    linear = {_scope(names): frozenset(map(_number, axes)) for names, axes in structure.linear.items()}
    return CountGraph(layout, tuple(variables), factors, constant, wide, linear)


def ascending(names: Sequence[str], table: np.ndarray) -> tuple[Scope, np.ndarray]:
    """The axes' numbers in rising order, and the table turned so."""
    numbers = [_number(name) for name in names]
    order = sorted(range(len(numbers)), key=lambda place: numbers[place])
    return tuple(numbers[place] for place in order), np.transpose(table, order)


def _open_structure(layout: Layout) -> Structure:
    """Which tables there are over axes of more than one row, and along which of these they are lines."""
    linear: dict[Axes, frozenset[str]] = {}
    for names, lines in layout.structure.linear.items():
        scope = _open(names, layout)
        linear[scope] = linear.get(scope, lines) & lines & frozenset(scope)
    return Structure(layout.sizes, linear)


def _open(names: Axes, layout: Layout) -> Axes:
    return tuple(sorted((name for name in names if layout.sizes[name] > 1), key=_number))


def _is_wide(structure: Structure, names: Axes, most: float) -> bool:
    """Whether a table is too large to be made, and need not be: neither it nor any that it is inside of."""
    around = [scope for scope in structure.linear if set(names) <= set(scope)]
    return structure.entries(names) > most and all(structure.narrow(scope) < np.inf for scope in around)


def _scope(names: Axes) -> Scope:
    return tuple(sorted(map(_number, names)))


def _number(name: str) -> int:
    return int(name[1:])


def settled_left_out(
    scope: Scope, table: np.ndarray, variables: Sequence[Variable]
) -> tuple[Scope, np.ndarray]:
    """A factor over the variables that have more than one row: where evidence settles all, none is left."""
    settled = tuple(place for place, variable in enumerate(scope) if len(variables[variable]) == 1)
    return tuple(v for v in scope if len(variables[v]) > 1), np.squeeze(table, settled)


def _weights(prior: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """One element's log-weights: there is one way only for all of them to be in the same profile."""
    count = counts[0].sum()
    return np.array([prior[counts[:, k] == count][0] / count for k in range(counts.shape[1])])
