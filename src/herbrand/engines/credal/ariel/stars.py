"""Conditional probabilities of a class whose features are independent given it: linear in log-odds.

The log-odds of the class given observed features are its own plus, for each feature, the log of
P(observation | class) / P(observation | not class). With an interval for each the answer is a sum of ends:
exact where that is all that is said. A rule P(class | conjunction of features) in [l, u] is a linear
constraint on the same terms, so the ends are then small linear programs; a feature's terms for presence and
absence are taken as free of each other, which can only widen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from herbrand.engines.credal.ariel.trees import Interval, chances_of, log_odds, lowered, raised
from herbrand.engines.credal.rounding import UNIT, opposite
from herbrand.engines.highs import optimum
from herbrand.engines.linear_program import LinearProgram

Literal = tuple[int, bool]


class StarRule(NamedTuple):
    """Bounds on the log-odds of the class where all these features are as said."""

    literals: tuple[Literal, ...]
    low: float
    high: float


@dataclass(frozen=True)
class Star:
    """``given``, ``otherwise``: intervals of P(feature | class) and P(feature | not class)."""

    prior: Interval
    given: Mapping[int, Interval]
    otherwise: Mapping[int, Interval]
    rules: Sequence[StarRule] = ()

    def posterior(self, observed: Mapping[int, bool]) -> Interval | None:
        """Bounds on P(class | observed); ``None`` where the rules leave nothing."""
        literals = tuple(observed.items())
        binding = [rule for rule in self.rules if self._binding(rule)]
        ruled = {literal for rule in binding for literal in rule.literals}
        apart = [self.term(literal) for literal in literals if literal not in ruled]
        rest = _total([low for low, _ in apart], -math.inf), _total([high for _, high in apart], math.inf)
        prior = log_odds(self.prior[0], lowered), log_odds(self.prior[1], raised)
        among = [literal for literal in literals if literal in ruled]
        if not binding:
            ends = prior
        else:
            found = self._ruled_ends(binding, prior, sorted(ruled), among)
            if found is None:
                return None
            ends = found
        low, high = ends[0] + rest[0], ends[1] + rest[1]
        return chances_of(lowered(low, low, ends[0], rest[0]), raised(high, high, ends[1], rest[1]))

    def term(self, literal: Literal) -> Interval:
        """The interval of the log-likelihood ratio of an observation."""
        feature, present = literal
        (low, high), (other_low, other_high) = self.given[feature], self.otherwise[feature]
        if not present:
            (low, high), (other_low, other_high) = (
                opposite((low, high)),
                opposite((other_low, other_high)),
            )
        return (
            _difference(low, other_high, lowered) if low > 0 else -math.inf,
            _difference(high, other_low, raised) if other_low > 0 else math.inf,
        )

    def _binding(self, rule: StarRule) -> bool:
        """Whether the rule's conjunction is sure to be possible, so that the rule says something."""
        return all(
            (low > 0 if present else high < 1)
            for feature, present in rule.literals
            for low, high in (self.given[feature], self.otherwise[feature])
        )

    def _ruled_ends(
        self, rules: Sequence[StarRule], prior: Interval, ruled: Sequence[Literal], among: Sequence[Literal]
    ) -> Interval | None:
        """The ends of the prior's log-odds plus the observed terms that rules speak of."""
        place = {literal: 1 + i for i, literal in enumerate(ruled)}
        costs = np.zeros(1 + len(ruled))
        costs[[0, *(place[literal] for literal in among)]] = 1
        rows, limits = [], []
        for rule in rules:
            row = np.zeros(len(costs))
            row[[0, *(place[literal] for literal in rule.literals)]] = 1
            for sign, limit in ((1, rule.high), (-1, -rule.low)):
                if math.isfinite(limit):
                    rows.append(sign * row)
                    limits.append(limit)
        boxes = [prior, *(self.term(literal) for literal in ruled)]
        least, most = (_least(sign * costs, rows, limits, boxes) for sign in (1, -1))
        return None if least is None or most is None else (least, -most)


def _least(
    costs: np.ndarray, rows: Sequence[np.ndarray], limits: Sequence[float], boxes: Sequence[Interval]
) -> float | None:
    """At most the least ``costs @ x`` with ``rows @ x <= limits`` and x in boxes; ``None``: there is no x.

    Proved by the solver's prices: any prices that are not negative prove a bound. Where an end of a box is
    infinite they have to fit to the last bit, so prices a little above and below are tried as well.
    """
    if not rows:
        return _proved(costs, np.zeros((0, len(costs))), np.zeros(0), np.zeros(0), boxes)
    table, most = np.array(rows), np.array(limits)
    ends = np.array(boxes).T
    found = optimum(costs, LinearProgram(csr_array(table), np.full(len(most), -math.inf), most, *ends))
    if found.infeasible:
        return None
    if found.multipliers is None:
        return -math.inf
    prices = np.maximum(-found.multipliers, 0.0)
    return max(_proved(costs, table, most, prices * (1 + share), boxes) for share in (0.0, 1e-9, -1e-9))


def _proved(
    costs: np.ndarray, rows: np.ndarray, limits: np.ndarray, prices: np.ndarray, boxes: Sequence[Interval]
) -> float:
    """What prices prove: the least that is left of the costs in the boxes, less what they charge for."""
    terms = [-price * limit for price, limit in zip(prices.tolist(), limits.tolist(), strict=True)]
    for column, (low, high) in enumerate(boxes):
        parts = [float(costs[column]), *(prices * rows[:, column]).tolist()]
        left, off = math.fsum(parts), 8 * UNIT * math.fsum(map(abs, parts[1:]))
        ends = [(left + error) * end for error in (-off, off) for end in (low, high) if left + error != 0]
        terms.append(min(ends, default=0.0))
    return lowered(math.fsum(terms), *terms) if all(map(math.isfinite, terms)) else -math.inf


def _difference(one: float, other: float, outward: Callable[..., float]) -> float:
    """log one - log other, rounded outward; not both are 0."""
    logs = [math.log(chance) if chance > 0 else -math.inf for chance in (one, other)]
    return outward(logs[0] - logs[1], *logs)


def _total(terms: Sequence[float], contradicted: float) -> float:
    """The sum of terms; ``contradicted`` where infinite ones oppose each other."""
    if math.inf in terms and -math.inf in terms:
        return contradicted
    return math.fsum(t for t in terms if math.isfinite(t)) + sum(t for t in terms if not math.isfinite(t))
