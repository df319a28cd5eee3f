"""Choose the order in which a clause's literals are joined: the cheapest by estimate, over all orders.

The estimated rows after joining a set of literals depend only on the set, so dynamic programming over sets
gives the best order. Rows are expanded by a literal and then summed down to the variables still needed.

>>> sizes = {"x": 100, "z": 100, "y": 100}
>>> edge, far = Candidate(("z", "y"), 300.0), Candidate(("x", "z"), 200.0)
>>> best_order([edge, far], {"x"}, {"y"}, sizes).places
(1, 0)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

KEPT = 4.0
"""Relative cost of a result row that is stored because nothing is summed out; rows summed at once cost 1."""

CROSSED = 1e3
"""Factor on the cost of a join over no shared variable, to avoid cross products unless necessary."""

SORTED = 5.0
"""Relative cost of sorting a row of a relation that is loaded first, but not in the order of the outputs."""

DERIVED_SHARE = 0.05
"""Share of all possible rows for which a derived predicate is assumed to hold."""

MOST_EXACT = 11
"""Most literals for which all orders are compared; beyond that the order is greedy."""

MOST_KEPT = 1024
"""Size of the cache of orders."""


@dataclass(frozen=True)
class Candidate:
    """Variables of a literal and its estimated number of rows; ``asked``: a call, better made with bound
    variables."""

    variables: tuple[str, ...]
    rows: float
    asked: bool = False


@dataclass(frozen=True)
class Order:
    """Indices of the candidates in the order to join them, and the estimated cost."""

    cost: float
    places: tuple[int, ...]


def best_order(
    candidates: Sequence[Candidate],
    bound: Collection[str],
    outputs: Collection[str],
    sizes: Mapping[str, int],
) -> Order:
    """The cheapest order of the candidates: ``bound`` variables are known before, ``outputs`` are kept."""
    if len(candidates) < 2:
        return Order(0.0, tuple(range(len(candidates))))
    return _found(tuple(candidates), frozenset(bound), frozenset(outputs), frozenset(sizes.items()))


@lru_cache(maxsize=MOST_KEPT)
def _found(
    candidates: tuple[Candidate, ...],
    bound: frozenset[str],
    outputs: frozenset[str],
    sizes: frozenset[tuple[str, int]],
) -> Order:
    """Cached search: a rule is joined again in each round of a fixpoint."""
    search = _Search(candidates, bound, outputs, dict(sizes))
    return search.exact() if len(candidates) <= MOST_EXACT else search.greedy()


class _Search:
    """Search over orders. Sets of literals and of variables are bit masks, as building sets of names would
    take longer than joining a rule of few rows."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        bound: Collection[str],
        outputs: Collection[str],
        sizes: Mapping[str, int],
    ) -> None:
        names = dict.fromkeys([*bound, *outputs, *(name for one in candidates for name in one.variables)])
        bit = {name: 1 << place for place, name in enumerate(names)}
        self._candidates = candidates
        self._variables = [_bits(one.variables, bit) for one in candidates]
        self._leads = [_bits(one.variables[:1], bit) for one in candidates]
        self._bound, self._outputs = _bits(bound, bit), _bits(outputs, bit)
        self._sizes = [(bit[name], max(1, sizes[name])) for name in names if name in sizes]
        self._reached: dict[int, tuple[int, int, float]] = {}

    def exact(self) -> Order:
        best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
        for _ in self._candidates:
            longer: dict[int, tuple[float, tuple[int, ...]]] = {}
            for done, (before, places) in best.items():
                for place in range(len(self._candidates)):
                    now = done | 1 << place
                    if now == done:
                        continue
                    cost = before + self._cost(done, place)
                    if now not in longer or cost < longer[now][0]:
                        longer[now] = cost, (*places, place)
            best = longer
        return Order(*next(iter(best.values())))

    def greedy(self) -> Order:
        done, order, cost = 0, (), 0.0
        while len(order) < len(self._candidates):
            left = [place for place in range(len(self._candidates)) if not done & 1 << place]
            costs = {place: self._cost(done, place) for place in left}
            place = min(left, key=costs.__getitem__)
            order, cost, done = (*order, place), cost + costs[place], done | 1 << place
        return Order(cost, order)

    def _cost(self, done: int, place: int) -> float:
        """Estimated cost of joining one more literal after the set ``done``."""
        candidate, names = self._candidates[place], self._variables[place]
        known, live, rows = self._after(done)
        _, later, _ = self._after(done | 1 << place)
        row_count = rows * self._matches(place, known)
        wide = (live | names) & ~self._bound
        kept = wide.bit_count() > 2 and not wide & ~(later | self._outputs)
        cost = rows + row_count * (KEPT if kept else 1.0)
        shared = names & known
        if names and not shared and (known or done):
            cost *= CROSSED
        if candidate.asked and shared != names:
            cost *= 2.0 if shared else CROSSED
        if not done and names and not shared and not self._leads[place] & self._outputs:
            cost += SORTED * row_count
        return cost

    def _matches(self, place: int, known: int) -> float:
        return self._candidates[place].rows / self._count(self._variables[place] & known)

    def _count(self, variables: int) -> float:
        """Number of assignments of constants to these variables."""
        return math.prod([float(size) for bit, size in self._sizes if bit & variables])

    def _after(self, done: int) -> tuple[int, int, float]:
        """State after joining a set of literals: bound variables, those still needed, and the estimated
        number of rows, for one assignment of the variables bound before."""
        if done not in self._reached:
            known, waiting, rows = self._bound, self._outputs, 1.0
            for place, names in enumerate(self._variables):
                if done & 1 << place:
                    rows *= self._matches(place, known)
                    known |= names
                else:
                    waiting |= names
            live = known & waiting
            self._reached[done] = known, live, min(rows, self._count(live & ~self._bound))
        return self._reached[done]


def _bits(names: Iterable[str], bit: Mapping[str, int]) -> int:
    bits = 0
    for name in names:
        bits |= bit[name]
    return bits
