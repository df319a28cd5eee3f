"""Tables over counts: log-weights of pairs, and of formulas about several elements, for each count vector."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from herbrand import arrays
from herbrand.arrays import Array
from herbrand.engines.lifted.exchangeable_model import ExchangeableModel
from herbrand.engines.lifted.polynomials import times_counts
from herbrand.engines.lifted.tabulated import Cells, Tabulated
from herbrand.engines.lifted.terms import CountTerm, Number, Slot, Some

FLOAT = arrays.float64

Axes = tuple[str, ...]
"""The names of a table's axes."""


def usual_pairs(tabulated: Tabulated) -> dict[tuple[int, int], Array]:
    """Log-weight of a usual pair of elements of two pools [profile, profile], without flat tables, which are
    folded into the elements' weights."""
    tables: dict[tuple[int, int], Array] = {}
    for link in tabulated.tables:
        one, other = link[1:]
        if link in tabulated.flat:
            continue
        table = tabulated.default(link)
        if (other, one) in tables and one != other:
            one, other, table = other, one, table.T
        tables[one, other] = tables[one, other] + table if (one, other) in tables else table
    return tables


@dataclass(frozen=True, eq=False)
class Factors:
    """Tables over counts. ``counts`` [row, profile] and ``names`` (of its axis) of each pool. ``pairs``:
    zeros added to the tables of usual pairs, by which the total is differentiated."""

    tabulated: Tabulated
    counts: Mapping[int, Array]
    names: Mapping[int, str]
    pairs: dict[tuple[int, int], Array] = field(default_factory=dict)

    @property
    def model(self) -> ExchangeableModel:
        return self.tabulated.model

    @property
    def cells(self) -> tuple[Cells, ...]:
        return self.tabulated.cells

    def of_pairs(self) -> Iterator[tuple[Axes, Array]]:
        """Log-weights of all usual pairs between each two pools."""
        tables = usual_pairs(self.tabulated)
        for (one, other), table in tables.items():
            self.pairs[one, other] = arrays.zeros_like(table).detach().watch()
            table = table + self.pairs[one, other]
            if self.names[one] == self.names[other]:
                yield (self.names[one],), _within(self.counts[one], self.counts[other], table, one == other)
            else:
                between = times_counts(self.counts[other], times_counts(self.counts[one], table.T).T)
                yield (self.names[one], self.names[other]), between

    def scope(self, term: CountTerm) -> Axes:
        """The axes on which a term about several elements depends."""
        return tuple(dict.fromkeys(self.names[pool] for pool in sorted(self.model.pools_with(term))))

    def of_counts(self, term: CountTerm) -> Array:
        """Log-weights of a formula about several elements that no binary atom links, over its scope."""
        table = self.product(term, self.scope(term))
        if term.weight is None:
            return arrays.zeros_like(table).masked_fill(table > 0, -math.inf)
        return self.tabulated.log_weight(term) * table

    def line(self, term: CountTerm, pool: int) -> tuple[Array, Array]:
        """The table of a term that is linear in a pool's counts, as base + slope × the count of its second
        profile; both are over the scope, with one row along the pool's axis."""
        count = float(len(self.model.pools[pool]))
        ends = arrays.tensor([[count, 0.0], [0.0, count]], dtype=FLOAT)
        table = replace(self, counts={**self.counts, pool: ends}).of_counts(term)
        first, last = table.split(1, self.scope(term).index(self.names[pool]))
        return first, (last - first) / count

    def product(self, term: CountTerm, scope: Axes) -> Array:
        """Number of groundings of a term that hold, over its scope."""
        sizes = {self.names[pool]: len(self.counts[pool]) for pool in self.model.pools_with(term)}
        table = arrays.ones([sizes[name] for name in scope], dtype=FLOAT)
        for number in term.numbers:
            table = table * self._number(number, scope)
        for condition in term.conditions:
            table = table * self._condition(condition, scope)
        return table

    def _condition(self, some: Some, scope: Axes) -> Array:
        holds = arrays.zeros([1] * len(scope), dtype=arrays.bool)
        for piece in some.pieces:
            product = arrays.ones([1] * len(scope), dtype=FLOAT)
            for number in piece:
                product = product * self._number(number, scope)
            holds = holds | (product > 0)
        return (holds == some.some).to(FLOAT)

    def _number(self, number: Number, scope: Axes) -> Array:
        total = arrays.zeros([1] * len(scope), dtype=FLOAT)
        for times, slots in number:
            product = arrays.full([1] * len(scope), float(times), dtype=FLOAT)
            for slot in slots:
                product = product * self._slot(slot, scope)
            total = total + product
        return total

    def _slot(self, slot: Slot, scope: Axes) -> Array:
        """Number of elements in a slot, over the scope's axes."""
        if not slot.literals:
            return arrays.full([1] * len(scope), float(self.model.elements_in(slot)), dtype=FLOAT)
        total = arrays.zeros([1] * len(scope), dtype=FLOAT)
        for pool in self.model.pools_in(slot):
            holds = self.model.families[self.model.pools[pool].family].holding(slot.literals)
            of_profile = arrays.from_numpy(holds[self.cells[pool].first_of(True)].astype(float))
            shape = [-1 if name == self.names[pool] else 1 for name in scope]
            total = total + (self.counts[pool] @ of_profile).view(shape)
        return total


def _within(left: Array, right: Array, table: Array, same: bool) -> Array:
    """Log-weight of all pairs of elements on one axis, for each of its count vectors [row]."""
    total = arrays.zeros(len(left), dtype=FLOAT)
    for i in range(table.shape[0]):
        for j in range(i if same else 0, table.shape[1]):
            pairs = left[:, i] * (left[:, i] - 1) / 2 if same and i == j else left[:, i] * right[:, j]
            total = total + times_counts(pairs[:, None], table[i, j].view(1))
    return total
