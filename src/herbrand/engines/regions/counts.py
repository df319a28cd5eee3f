"""A program as a graphical model over counts: what regions are made of.

Takes a summation of exact counting; gives a :class:`CountGraph`. A variable is an axis: all vectors of counts
that some alike elements can have (those that evidence links are on one axis). Its prior has the number of
ways to have each; what several variables say together are factors. Summing it all out would be exact lifted
inference, whatever is known and however many constants there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.engines.lifted.summation import Layout, Summation
from herbrand.engines.regions.graph import Scope


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


@dataclass(frozen=True, eq=False)
class CountGraph:
    """``factors``: log-tables by scope, no two over the same; ``constant`` is in no region."""

    layout: Layout
    variables: tuple[Variable, ...]
    factors: dict[Scope, np.ndarray]
    constant: float

    def entries(self, scope: Sequence[int]) -> float:
        """The size of a table over these variables."""
        return float(np.prod([float(len(self.variables[v])) for v in scope]))


def count_graph(summation: Summation) -> CountGraph:
    """The graph of a summation that is possible at all."""
    layout = summation.layout()
    whole = {summation.bunches.all[number].pool for number in summation.bunches.whole_pools}
    variables = []
    for axis in layout.axes:
        prior = axis.prior.detach().numpy()
        counts = np.concatenate([axis.counts[pool].numpy() for pool in axis.pools], axis=1)
        alike = len(axis.pools) == 1 and axis.pools[0] in whole
        variables.append(Variable(prior, counts, _weights(prior, counts) if alike else None))
    factors: dict[Scope, np.ndarray] = {}
    constant = float(layout.constant.detach())
    for names, tensor in layout.factors:
        scope, table = settled_left_out(*ascending(names, tensor.detach().numpy()), variables)
        if scope:
            factors[scope] = factors[scope] + table if scope in factors else table
        else:
            constant += float(table)
    return CountGraph(layout, tuple(variables), factors, constant)


def ascending(names: Sequence[str], table: np.ndarray) -> tuple[Scope, np.ndarray]:
    """The axes' numbers in rising order, and the table turned so."""
    numbers = [int(name[1:]) for name in names]
    order = sorted(range(len(numbers)), key=lambda place: numbers[place])
    return tuple(numbers[place] for place in order), np.transpose(table, order)


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
