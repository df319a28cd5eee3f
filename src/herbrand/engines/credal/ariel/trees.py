"""Conditional probabilities where the graph over atoms is a tree: bounds on odds passed along its links.

The input is the conditional table of each atom given its parents, as intervals row by row, and evidence.
Every atom sends a message towards the query, from the evidence on its side: to a child an interval for its
probability, to a parent one for log P(evidence | parent) - log P(evidence | not parent). All are extreme at
ends of the incoming messages (2U, Fagiuoli and Zaffalon 1998): exact where the network has no sentences but
the tables' rows, and outer bounds else, since other sentences are ignored. Every end is rounded outward;
evidence may have any small probability, since only log ratios are passed.

A star is a class whose features are independent given it: linear in log-odds. The log-odds of the class given
observed features are its prior's plus, for each feature, the log of P(observation | class) / P(observation |
not class). With an interval for each the answer is a sum of ends: exact where there are no other sentences. A
rule P(class | conjunction of features) in [l, u] is a linear constraint on the same terms, so the ends are
then small linear programs; a feature's terms for presence and absence are treated as independent variables,
which can only widen the interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from herbrand.engines.credal.proved_linear import least
from herbrand.engines.credal.rounding import UNIT, opposite
from herbrand.engines.highs import LinearProgram
from herbrand.graphs import reached

Interval = tuple[float, float]
ANYTHING = -math.inf, math.inf
LOGARITHM = 32 * UNIT
"""Relative error of a logarithm, and of a sum of two (library functions: 4 units)."""
MOST_PARENTS = 8
"""Most parents of an atom whose cases are enumerated."""
ROUNDINGS = 40
"""Most roundings of a sum over the cases of ``MOST_PARENTS`` parents; the sum itself is rounded once."""
MOST_ODDS = 600.0
"""Size of a finite log ratio above which its exponential may over- or underflow."""
SMALLEST = 1e-300
"""Least upper end of a probability that is not proved to be 0, if its exponential underflows."""


class BoundedTable(NamedTuple):
    """A conditional table: ``low[i]``, ``high[i]`` bound P(atom | case i of the parents).

    The first parent is the high bit of a case's number.
    """

    parents: tuple[int, ...]
    low: Sequence[float]
    high: Sequence[float]


@dataclass(frozen=True, eq=False)
class Tree:
    """A network as tables of its atoms, and evidence, for queries whose relevant atoms form a tree.

    ``marginal`` gives an interval for the unconditional probability of an atom.
    """

    table: Callable[[int], BoundedTable]
    marginal: Callable[[int], Interval]
    evidence: Mapping[int, bool]

    def posterior(self, query: int) -> Interval | None:
        """Bounds on P(query | evidence); ``None`` where the relevant atoms form no tree."""
        tables = self._relevant(query)
        order, towards = _walk(query, tables)
        if order is None:
            return None
        children: dict[int, list[int]] = {atom: [] for atom in tables}
        for atom in order:
            for parent in tables[atom].parents:
                children[parent].append(atom)
        down: dict[int, tuple[Interval, bool]] = {}
        up: dict[int, Interval] = {}
        for atom in reversed(order):
            below = self._below(atom, [up[c] for c in children[atom] if c != towards[atom]])
            goal = towards[atom]
            parents = [p for p in tables[atom].parents if p != goal]
            informed_above = any(down[p][1] for p in parents)
            if goal in tables[atom].parents:
                up[atom] = _to_parent(tables[atom], goal, {p: down[p][0] for p in parents}, below)
            else:
                prior = _mixed(tables[atom], {p: down[p][0] for p in parents})
                if not informed_above:  # the prior is unconditional, as the marginal is
                    low, high = self.marginal(atom)
                    prior = min(max(prior[0], low), high), max(min(prior[1], high), low)
                informed = informed_above or atom in self.evidence or any(c != goal for c in children[atom])
                down[atom] = _updated(prior, below), informed
        return down[query][0]

    def _relevant(self, query: int) -> dict[int, BoundedTable]:
        """The tables of the query's and the evidence's atoms and of all their ancestors."""
        tables: dict[int, BoundedTable] = {}

        def parents(atom: int) -> tuple[int, ...]:
            tables[atom] = self.table(atom)
            return tables[atom].parents

        reached([query, *self.evidence], parents)
        return tables

    def _below(self, atom: int, incoming: Sequence[Interval]) -> Interval:
        """The log ratio of the evidence at and below an atom."""
        if atom in self.evidence:
            sure = math.inf if self.evidence[atom] else -math.inf
            return sure, sure
        low, high = (
            _total([low for low, _ in incoming], -math.inf),
            _total([high for _, high in incoming], math.inf),
        )
        return lowered(low, low), raised(high, high)


def _walk(query: int, tables: Mapping[int, BoundedTable]) -> tuple[list[int] | None, dict[int, int | None]]:
    """The atoms connected to the query, nearer ones first, and for each the next atom on the path to it.

    The order is None where two paths lead to an atom.
    """
    near: dict[int, list[int]] = {atom: [] for atom in tables}
    for atom, table in tables.items():
        for parent in table.parents:
            near[atom].append(parent)
            near[parent].append(atom)
    towards: dict[int, int | None] = {query: None}
    order = [query]
    for atom in order:
        for other in near[atom]:
            if other == towards[atom]:
                continue
            if other in towards:
                return None, towards
            towards[other] = atom
            order.append(other)
    return order, towards


def _mixed(table: BoundedTable, parents: Mapping[int, Interval]) -> Interval:
    """The interval of P(atom) for independent parents, each in its interval."""
    if len(table.parents) > MOST_PARENTS:
        return 0.0, 1.0
    ends = [_weights(table.parents, corner) for corner in product(*(parents[p] for p in table.parents))]
    low = min(math.fsum(w * p for w, p in zip(weights, table.low, strict=True)) for weights in ends)
    high = max(math.fsum(w * p for w, p in zip(weights, table.high, strict=True)) for weights in ends)
    low, high = _widened(low, high, ROUNDINGS)
    return (1.0 if min(table.low) == 1.0 else low), high


def _widened(low: float, high: float, roundings: int) -> Interval:
    """Ends rounded outward, if they are sums of products of non-negative numbers with so many roundings."""
    share = 2 * roundings * UNIT
    return low * (1 - share), min(high * (1 + share), 1.0) if high <= 1.0 else high * (1 + share)


def _weights(parents: Sequence[int], corner: Sequence[float]) -> list[float]:
    """The probability of each case of independent parents."""
    weights = [1.0]
    for chance in corner:
        weights = [w * share for w in weights for share in (1.0 - chance, chance)]
    return weights


def _to_parent(table: BoundedTable, goal: int, others: Mapping[int, Interval], below: Interval) -> Interval:
    """The interval of the log ratio of the evidence at and behind a child, given one of its parents.

    ``below``: the child's own log ratio; ``others``: the intervals of the other parents.
    """
    if len(table.parents) > MOST_PARENTS:
        return ANYTHING
    if any(MOST_ODDS < abs(end) < math.inf for end in below):
        return ANYTHING
    names = [p for p in table.parents if p != goal]
    place = table.parents.index(goal)
    lowest, highest = math.inf, -math.inf
    for ratio in set(below):
        # likelihoods up to a factor, the larger one 1, so that no exponential overflows
        holds, fails = (1.0, math.exp(-ratio)) if ratio > 0 else (math.exp(ratio), 1.0)
        ends = (table.low, table.high) if holds >= fails else (table.high, table.low)
        for corner in product(*(others[p] for p in names)):
            weights = _weights(names, corner)
            (least_not, least), (most_not, most) = (
                [
                    math.fsum(w * (holds * p + fails * (1.0 - p)) for w, p in zip(weights, rows, strict=True))
                    for rows in (_rows(column, place, len(table.parents), truth) for truth in (0, 1))
                ]
                for column in ends
            )
            lowest = min(lowest, _log_ratio(least, most_not, lowered, -math.inf))
            highest = max(highest, _log_ratio(most, least_not, raised, math.inf))
    return lowest, highest


def _rows(column: Sequence[float], place: int, parents: int, truth: int) -> list[float]:
    """The rows of a table in which one parent has a truth value."""
    return [p for case, p in enumerate(column) if case >> (parents - 1 - place) & 1 == truth]


def lowered(value: float, *numbers: float) -> float:
    """A sum or difference of logarithms ``numbers``, lowered by more than all their rounding errors."""
    return value - _rounding(value, numbers)


def raised(value: float, *numbers: float) -> float:
    """The same, rounded up."""
    return value + _rounding(value, numbers)


def _rounding(value: float, numbers: Sequence[float]) -> float:
    return LOGARITHM * (4.0 + math.fsum(map(abs, numbers))) if math.isfinite(value) else 0.0


def _log_ratio(one: float, other: float, outward: Callable[..., float], neither: float) -> float:
    """log one - log other, rounded outward; ``neither`` where both are 0.

    Both may have ``ROUNDINGS`` roundings.
    """
    if one <= 0.0:
        return neither if other <= 0.0 else -math.inf
    if other <= 0.0:
        return math.inf
    logs = math.log(one), math.log(other)
    return outward(logs[0] - logs[1], *logs)


def log_odds(chance: float, outward: Callable[..., float]) -> float:
    """The log-odds of a probability, ``lowered`` or ``raised``; infinite for 0 and 1."""
    return _log_ratio(chance, 1.0 - chance, outward, 0.0)


def chances_of(low: float, high: float) -> Interval:
    """The interval of probabilities with log-odds between these; a NaN end gives no bound."""
    least = 0.0 if math.isnan(low) else _chance_of(low)
    most = 1.0 if math.isnan(high) else _chance_of(high)
    least, most = _widened(least, most, 8)
    certain = 1.0 if low == math.inf else least
    return certain, 0.0 if high == -math.inf else max(most, SMALLEST)


def _chance_of(odds: float) -> float:
    """The probability with these log-odds; the exponent is never positive, so that it cannot overflow."""
    if odds > 0:
        return 1.0 / (1.0 + math.exp(-odds))
    raised = math.exp(odds)
    return raised / (1.0 + raised)


def _updated(prior: Interval, ratio: Interval) -> Interval:
    """The interval of a probability updated by a log-likelihood ratio (Bayes's rule in log-odds)."""
    if ratio in ((math.inf, math.inf), (-math.inf, -math.inf)):
        sure = float(ratio[0] > 0)
        return sure, sure
    odds = log_odds(prior[0], lowered), log_odds(prior[1], raised)
    return chances_of(lowered(odds[0] + ratio[0], odds[0]), raised(odds[1] + ratio[1], odds[1]))


Literal = tuple[int, bool]


class StarRule(NamedTuple):
    """Bounds on the log-odds of the class given a conjunction of features."""

    literals: tuple[Literal, ...]
    low: float
    high: float


@dataclass(frozen=True)
class Star:
    """A class whose features are independent given it, with rules on conjunctions of them.

    ``given``, ``otherwise``: intervals of P(feature | class) and P(feature | not class).
    """

    prior: Interval
    given: Mapping[int, Interval]
    otherwise: Mapping[int, Interval]
    rules: Sequence[StarRule] = ()

    def posterior(self, observed: Mapping[int, bool]) -> Interval | None:
        """Bounds on P(class | observed); ``None`` where the rules contradict the intervals."""
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
            ruled_ends = self._ruled_ends(binding, prior, sorted(ruled), among)
            if ruled_ends is None:
                return None
            ends = ruled_ends
        low, high = ends[0] + rest[0], ends[1] + rest[1]
        return chances_of(lowered(low, low, ends[0], rest[0]), raised(high, high, ends[1], rest[1]))

    def term(self, literal: Literal) -> Interval:
        """The interval of the log-likelihood ratio of an observed feature."""
        feature, present = literal
        ends = self.given[feature], self.otherwise[feature]
        (low, high), (other_low, other_high) = ends if present else map(opposite, ends)
        return (
            _log_ratio(low, other_high, lowered, 0.0) if low > 0 else -math.inf,
            _log_ratio(high, other_low, raised, 0.0) if other_low > 0 else math.inf,
        )

    def _binding(self, rule: StarRule) -> bool:
        """Whether the rule's conjunction is proved to be possible; else the rule may be vacuous."""
        return all(
            (low > 0 if present else high < 1)
            for feature, present in rule.literals
            for low, high in (self.given[feature], self.otherwise[feature])
        )

    def _ruled_ends(
        self, rules: Sequence[StarRule], prior: Interval, ruled: Sequence[Literal], among: Sequence[Literal]
    ) -> Interval | None:
        """The ends of the prior's log-odds plus the observed terms ``among`` those in rules.

        ``None`` where the rules are proved to contradict the intervals.
        """
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
        table = csr_array(np.array(rows).reshape(-1, len(costs)))
        program = LinearProgram(table, np.full(len(limits), -math.inf), np.array(limits), *np.array(boxes).T)
        low, high = (least(sign * costs, program).bound for sign in (1, -1))
        return None if math.inf in (low, high) else (low, -high)


def _total(terms: Sequence[float], contradicted: float) -> float:
    """The sum of terms; ``contradicted`` where it has both infinities."""
    if math.inf in terms and -math.inf in terms:
        return contradicted
    return math.fsum(t for t in terms if math.isfinite(t)) + sum(t for t in terms if not math.isfinite(t))
