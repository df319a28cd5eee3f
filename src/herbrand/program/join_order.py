"""In which order a clause's literals are joined: the cheapest by estimate, over all orders.

The estimate after a set of literals depends on the set alone, so the best order is found set by set. Rows
are expanded by a literal and then summed down to the variables that are still needed.

>>> sizes = {"x": 100, "z": 100, "y": 100}
>>> edge, far = Candidate(("z", "y"), 300.0), Candidate(("x", "z"), 200.0)
>>> best_order([edge, far], {"x"}, {"y"}, sizes).places
(1, 0)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

KEPT = 4.0
"""Rows that keep the variable they were joined on are written out; those that sum it at once are not."""

CROSSED = 1e3
"""How much worse a join over no variable is than its number of rows shows."""

SORTED = 5.0
"""What it takes to sort a row of a relation that is loaded whole, but not in the order of what is kept."""

MOST_EXACT = 11
"""Above so many literals the order is greedy."""


@dataclass(frozen=True)
class Candidate:
    """The variables of a literal and about how many rows it has; ``asked``: a call, better made bound."""

    variables: tuple[str, ...]
    rows: float
    asked: bool = False


@dataclass(frozen=True)
class Order:
    """The candidates' places in the order to join them, and about what that takes."""

    cost: float
    places: tuple[int, ...]


def best_order(
    candidates: Sequence[Candidate],
    bound: Collection[str],
    outputs: Collection[str],
    sizes: Mapping[str, int],
) -> Order:
    """``bound`` are known before, ``outputs`` are kept."""
    if len(candidates) < 2:
        return Order(0.0, tuple(range(len(candidates))))
    search = _Search(candidates, frozenset(bound), frozenset(outputs), sizes)
    return search.exact() if len(candidates) <= MOST_EXACT else search.greedy()


@dataclass(frozen=True)
class _Done:
    """After a set of literals: the variables that are known, those still needed, and about how many rows are
    left, for one choice of the bound variables."""

    known: frozenset[str]
    live: frozenset[str]
    rows: float


@dataclass(frozen=True)
class _Search:
    candidates: Sequence[Candidate]
    bound: frozenset[str]
    outputs: frozenset[str]
    sizes: Mapping[str, int]
    reached: dict[frozenset[int], _Done] = field(default_factory=dict)

    def exact(self) -> Order:
        best = {frozenset[int](): Order(0.0, ())}
        for _ in self.candidates:
            longer: dict[frozenset[int], Order] = {}
            for done, partial in best.items():
                for place in range(len(self.candidates)):
                    if place in done:
                        continue
                    cost = partial.cost + self._cost(done, place)
                    now = done | {place}
                    if now not in longer or cost < longer[now].cost:
                        longer[now] = Order(cost, (*partial.places, place))
            best = longer
        return next(iter(best.values()))

    def greedy(self) -> Order:
        done: frozenset[int] = frozenset()
        order, cost = (), 0.0
        while len(order) < len(self.candidates):
            left = [place for place in range(len(self.candidates)) if place not in done]
            costs = {place: self._cost(done, place) for place in left}
            place = min(left, key=costs.__getitem__)
            order, cost, done = (*order, place), cost + costs[place], done | {place}
        return Order(cost, order)

    def _cost(self, done: frozenset[int], place: int) -> float:
        """What joining one more literal takes."""
        candidate = self.candidates[place]
        before, after = self._after(done), self._after(done | {place})
        names = set(candidate.variables)
        made = before.rows * self._matches(candidate, before.known)
        wide = (before.live | names) - self.bound
        cost = before.rows + made * (KEPT if len(wide) > 2 and wide <= after.live | self.outputs else 1.0)
        if names and not names & before.known and (before.known or done):
            cost *= CROSSED
        if candidate.asked and not names <= before.known:
            cost *= 2.0 if names & before.known else CROSSED
        if not done and not names & before.known and names and candidate.variables[0] not in self.outputs:
            cost += SORTED * made
        return cost

    def _matches(self, candidate: Candidate, known: Collection[str]) -> float:
        rows = candidate.rows
        for name in set(candidate.variables) & set(known):
            rows /= max(1, self.sizes[name])
        return rows

    def _after(self, done: frozenset[int]) -> _Done:
        if done not in self.reached:
            self.reached[done] = self._done(done)
        return self.reached[done]

    def _done(self, done: frozenset[int]) -> _Done:
        known, rows = set(self.bound), 1.0
        for place in sorted(done):
            rows *= self._matches(self.candidates[place], known)
            known |= set(self.candidates[place].variables)
        waiting = (one.variables for place, one in enumerate(self.candidates) if place not in done)
        live = known & self.outputs.union(*waiting)
        most = math.prod(max(1, self.sizes[name]) for name in live - self.bound)
        return _Done(frozenset(known), frozenset(live), min(rows, float(most)))
