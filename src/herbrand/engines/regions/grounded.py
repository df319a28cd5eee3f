"""A program as factors over few elements, for regions that take only some elements of their variables.

Takes a summation whose pools have a single class each; gives a :class:`CountGraph` without a layout, since
vectors of all counts are listed only if some region takes all elements of a variable. Each formula becomes
factors over the fewest elements that one grounding names, a number of each pool. A quantifier is over all
elements of its pools.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from herbrand import arrays
from herbrand.engines.lifted.count_axes import FLOAT
from herbrand.engines.lifted.element_groups import ElementGroup
from herbrand.engines.lifted.factors import Factors, usual_pairs
from herbrand.engines.lifted.summation import Summation
from herbrand.engines.lifted.terms import CountTerm, NotLiftableError, Number
from herbrand.engines.regions.counts import CountGraph, add
from herbrand.engines.regions.graph import Region
from herbrand.engines.regions.tables import spread
from herbrand.engines.regions.variables import RegionVariable

MOST_CLASSES = 200
"""Number of classes of constants above which there is too little symmetry for regions to pay."""

MOST_KINDS = 2000
"""Number of kinds of groundings that a formula may have, by the classes of its variables."""

NOTHING = 1e-9
"""Tolerance below which a number of groundings, which is whole, is 0."""


def grounded_graph(summation: Summation, cost: float) -> CountGraph:
    """Graph of a summation; no table has more than ``cost`` entries. Raises
    :class:`~herbrand.engines.lifted.terms.NotLiftableError` if evidence on pairs distinguishes elements."""
    element_groups = summation.element_groups
    if len(element_groups.whole_pools) < len(element_groups.all):
        raise NotLiftableError("evidence on pairs distinguishes constants")
    builder = _Making(summation, cost)
    factors: dict[Region, np.ndarray] = {}
    constant = float(summation.constant().detach())
    for about, table in map(builder.open_part, builder.factors()):
        if about.taken:
            add(factors, about, table)
        else:
            constant += float(table)
    return CountGraph(builder.variables, factors, constant)


@dataclass(frozen=True, eq=False)
class _Making:
    summation: Summation
    cost: float

    @property
    def pools(self) -> dict[int, int]:
        """Variable of each pool."""
        return self.summation.element_groups.last_of

    @cached_property
    def variables(self) -> tuple[RegionVariable, ...]:
        return tuple(
            RegionVariable(len(group), self._weights(group)) for group in self.summation.element_groups.all
        )

    def _weights(self, group: ElementGroup) -> np.ndarray:
        """Log-weights of one element [profile]."""
        tabulated = self.summation.tabulated
        weights = tabulated.own_weights(group.pool, group.klass).detach().numpy()
        return tabulated.cells[group.pool].by_profile(weights)

    def open_part(self, factor: tuple[Region, np.ndarray]) -> tuple[Region, np.ndarray]:
        """Factor over the variables with more than one profile, times the number of choices of elements
        of the others."""
        about, table = factor
        settled = [place for place, (v, _) in enumerate(about.taken) if self.variables[v].all_profiles == 1]
        times = math.prod(
            math.comb(self.variables[v].elements, number)
            for place, (v, number) in enumerate(about.taken)
            if place in settled
        )
        taken = tuple(pair for place, pair in enumerate(about.taken) if place not in settled)
        return Region(taken), times * np.squeeze(table, tuple(settled))

    def factors(self) -> Iterator[tuple[Region, np.ndarray]]:
        """Yield each factor's region and table."""
        for (one, other), table in usual_pairs(self.summation.tabulated).items():
            yield self._pair(one, other, table.detach().numpy())
        for term in self.summation.model.terms.counts:
            if term.single is None or not term.single.literals:
                yield from self._term(term)

    def _pair(self, one: int, other: int, table: np.ndarray) -> tuple[Region, np.ndarray]:
        left, right = self.pools[one], self.pools[other]
        if left != right:
            rows, columns = (self.variables[v].counts(1).argmax(1) for v in (left, right))
            table = table[np.ix_(rows, columns)]
            about = sorted([(left, 1), (right, 1)])
            return Region(tuple(about)), table if left < right else table.T
        counts = self.variables[left].counts(2)
        first, last = counts.argmax(1), counts.shape[1] - 1 - counts[:, ::-1].argmax(1)
        return Region(((left, 2),)), table[first, last]

    def _term(self, term: CountTerm) -> Iterator[tuple[Region, np.ndarray]]:
        """Yield the factors of a formula, one for each kind of grounding."""
        kinds = self._kinds(term)
        numbers = {about: self._alone(term, about, kinds) for about in kinds}
        for about, number in numbers.items():
            some = np.abs(number) > NOTHING
            if not some.any():
                continue
            if term.weight is None:
                yield about, np.where(some, -np.inf, 0.0)
            else:
                yield about, float(self.summation.tabulated.log_weight(term).detach()) * number

    def _kinds(self, term: CountTerm) -> list[Region]:
        """Regions that a grounding can name: numbers of elements of variables; all elements for those
        of a quantifier."""
        bound = {v: self.variables[v].elements for v in self._bound(term)}
        kinds: set[Region] = set()
        for picked in self._picked(term):
            most = {v: min(number, self.variables[v].elements) for v, number in picked.items()}
            free = sorted(set(most) - set(bound))
            for taken in product(*(range(most[v] + 1) for v in free)):
                numbers = {**bound, **{v: n for v, n in zip(free, taken, strict=True) if n}}
                kinds.add(Region(tuple(sorted(numbers.items()))))
            if len(kinds) > MOST_KINDS:
                raise NotLiftableError(f"a formula has more than {MOST_KINDS:,} kinds of groundings")
        for about in kinds:
            entries = math.prod(float(self.variables[v].rows(number)) for v, number in about.taken)
            if entries > self.cost:
                raise NotLiftableError(
                    f"a formula's table over few constants would have {entries:,.0f} entries, and "
                    f"{self.cost:,.0f} are allowed (--cost)"
                )
        return sorted(kinds, key=lambda about: about.size)

    def _bound(self, term: CountTerm) -> set[int]:
        model = self.summation.model
        return {self.pools[p] for slot in term.quantified if slot.literals for p in model.pools_in(slot)}

    def _picked(self, term: CountTerm) -> Iterator[Counter[int]]:
        """Yield the numbers of elements of each variable that one grounding can name."""
        for parts in product(*(list(self._of_number(number)) for number in term.numbers)):
            yield sum(parts, Counter())

    def _of_number(self, number: Number) -> Iterator[Counter[int]]:
        model = self.summation.model
        for _, slots in number:
            for pools in product(*(model.pools_in(slot) for slot in slots if slot.literals)):
                yield Counter(self.pools[pool] for pool in pools)

    def _alone(self, term: CountTerm, about: Region, kinds: list[Region]) -> np.ndarray:
        """Number of groundings that name all of some elements: those within them less those within fewer, by
        inclusion and exclusion."""
        total = np.zeros([self.variables[v].rows(number) for v, number in about.taken])
        bound = self._bound(term)
        free = [(v, number) for v, number in about.taken if v not in bound]
        for fewer in product(*(range(number + 1) for _, number in free)):
            less = {v: n for (v, _), n in zip(free, fewer, strict=True)}
            taken = {v: less.get(v, number) for v, number in about.taken}
            table = self._within(term, taken)
            ways = [
                None if taken[v] == number else self.variables[v].choices(number, taken[v])
                for v, number in about.taken
            ]
            sign = (-1) ** sum(number - less[v] for v, number in free)
            total = total + sign * spread(table, ways)
        return total

    def _within(self, term: CountTerm, taken: Mapping[int, int]) -> np.ndarray:
        """Number of groundings that name only these numbers of elements [row of each variable, ascending]."""
        counts, names = {}, {}
        for pool, variable in self.pools.items():
            number, names[pool] = taken.get(variable, 0), f"c{variable}"
            rows = self.variables[variable].counts(number) if variable in taken else None
            counts[pool] = (
                arrays.zeros((1, self.variables[variable].all_profiles), dtype=FLOAT)
                if rows is None
                else arrays.from_numpy(rows)
            )
        factors = Factors(self.summation.tabulated, counts, names)
        return factors.product(term, tuple(f"c{variable}" for variable in sorted(taken))).detach().numpy()
