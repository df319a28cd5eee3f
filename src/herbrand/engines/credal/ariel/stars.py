"""Conditional probabilities of a class whose features are independent given it: linear in log-odds.

The log-odds of the class given observed features are its own plus, for each feature, the log of
P(observation | class) / P(observation | not class). With an interval for each the answer is a sum of ends:
exact where that is all that is said. A rule P(class | conjunction of features) in [l, u] is a linear
constraint on the same terms, so the ends are then small linear programs; a feature's terms for presence and
absence are taken as free of each other, which can only widen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from herbrand.engines.credal.ariel.trees import Interval, chance_of, log_odds

Literal = tuple[int, bool]


class Rule(NamedTuple):
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
    rules: Sequence[Rule] = ()

    def posterior(self, observed: Mapping[int, bool]) -> Interval | None:
        """Bounds on P(class | observed); ``None`` where the rules leave nothing."""
        literals = tuple(observed.items())
        binding = [rule for rule in self.rules if self._binding(rule)]
        ruled = {literal for rule in binding for literal in rule.literals}
        apart = [self.term(literal) for literal in literals if literal not in ruled]
        rest = _total([low for low, _ in apart], -math.inf), _total([high for _, high in apart], math.inf)
        prior = log_odds(self.prior[0]), log_odds(self.prior[1])
        among = [literal for literal in literals if literal in ruled]
        if not binding:
            ends = prior
        else:
            found = self._ruled_ends(binding, prior, sorted(ruled), among)
            if found is None:
                return None
            ends = found
        low, high = ends[0] + rest[0], ends[1] + rest[1]
        return (0.0 if math.isnan(low) else chance_of(low)), (1.0 if math.isnan(high) else chance_of(high))

    def term(self, literal: Literal) -> Interval:
        """The interval of the log-likelihood ratio of an observation."""
        feature, present = literal
        (low, high), (other_low, other_high) = self.given[feature], self.otherwise[feature]
        if not present:
            low, high, other_low, other_high = 1 - high, 1 - low, 1 - other_high, 1 - other_low
        return _log(low) - _log(other_high) if low > 0 else -math.inf, (
            _log(high) - _log(other_low) if other_low > 0 else math.inf
        )

    def _binding(self, rule: Rule) -> bool:
        """Whether the rule's conjunction is sure to be possible, so that the rule says something."""
        return all(
            (low > 0 if present else high < 1)
            for feature, present in rule.literals
            for low, high in (self.given[feature], self.otherwise[feature])
        )

    def _ruled_ends(
        self, rules: Sequence[Rule], prior: Interval, ruled: Sequence[Literal], among: Sequence[Literal]
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
                    limits.append(limit + 1e-9)
        boxes = [prior, *(self.term(literal) for literal in ruled)]
        ends = []
        for sign in (1, -1):
            solved = linprog(sign * costs, np.array(rows) if rows else None, limits or None, bounds=boxes)
            if solved.status == 2:
                return None
            ends.append(sign * solved.fun if solved.status == 0 else -sign * math.inf)
        return ends[0] - 1e-9, ends[1] + 1e-9


def _log(chance: float) -> float:
    return math.log(chance) if chance > 0 else -math.inf


def _total(terms: Sequence[float], contradicted: float) -> float:
    """The sum of terms; ``contradicted`` where infinite ones oppose each other."""
    if math.inf in terms and -math.inf in terms:
        return contradicted
    return math.fsum(t for t in terms if math.isfinite(t)) + sum(t for t in terms if not math.isfinite(t))
