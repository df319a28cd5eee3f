"""Bounds of queries that are more than one atom's probability: formulas, and conditional probabilities.

Conditioning is not constraining: ``P(q | e)`` ranges over P(q and e) / P(e) for the distributions with
P(e) > 0. Every method below gives outer bounds, so those of all that apply are intersected:

- an auxiliary factor (section 3.5 of the paper) over the atoms named and those between them: the sentences
  and independences within it, the atoms' intervals, and for ``P(q | e)`` the program scaled to P(e) = 1;
- where the graph above the named atoms is a tree, odds passed along it (:mod:`.trees`), with any number of
  observed atoms;
- where observed atoms are independent of each other given the query's atom, their likelihood ratios
  (:mod:`.trees`), with the rules that join them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.credal.ariel.factors import WIDEST, intervals_at_once, truths_of
from herbrand.engines.credal.ariel.independence import Links, Separations, cells_of
from herbrand.engines.credal.ariel.neighbourhood import Incidence
from herbrand.engines.credal.ariel.trees import (
    BoundedTable,
    Interval,
    Star,
    StarRule,
    Tree,
    log_odds,
    lowered,
    raised,
)
from herbrand.engines.credal.network_part import single_case_intervals
from herbrand.engines.credal.question import ImpossibleConditionError
from herbrand.engines.credal.rounding import UNIT, opposite, stated_ends
from herbrand.engines.credal.shape import (
    TRUE,
    GroundFormula,
    conjunction,
    literals_of,
    negation,
)

CONNECTED_UP_TO = 7
"""Most atoms of an auxiliary factor up to which it includes atoms that connect the named ones."""
SEVERAL = 5
"""Number of observed atoms from which no auxiliary factor is used if another method answers."""
MOST_WALKED = 2_000
"""Most atoms that a search of the graph visits."""
MOST_LITERALS = 4
"""Most literals of a conjunction or disjunction that is bounded literal by literal, given a condition."""
ANY: Interval = (0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Answering:
    """The data to answer queries with: the atoms' intervals after messages, sentences, and independences.

    ``links`` is ``None`` without independences.
    """

    incidence: Incidence
    links: Links | None
    lower: np.ndarray
    upper: np.ndarray
    budget: Budget = UNLIMITED

    def belief(self, atom: int) -> Interval:
        return float(self.lower[atom]), float(self.upper[atom])

    def interval(self, event: GroundFormula, given: Sequence[GroundFormula]) -> Interval:
        """Bounds on P(event | all of ``given``).

        Raises ``ImpossibleConditionError`` if the condition has probability 0.
        """
        evidence, others = _literals(given)
        self._refuse_impossible(evidence)
        if SEVERAL <= len(evidence) <= WIDEST and not others:  # for fewer the auxiliary factor checks this
            scope = tuple(evidence)
            self._refuse_excluded(scope, self.incidence.forms(scope), _holds(given, scope))
        if not event.atoms:
            if others or 0 < len(evidence) < SEVERAL:
                self._auxiliary(event, given)  # raises if the condition is impossible
            sure = float(event.shape == TRUE)
            return sure, sure
        if not given:
            return self._meet(self._auxiliary(event, given), self._conjunction(event, self.belief))
        literal = literals_of(event.shape)
        if others:
            return self._auxiliary(event, given)
        if literal is None or len(literal) != 1:
            return self._meet(self._auxiliary(event, given), self._by_literals(event, given))
        atom, truth = event.atoms[0], literal[0]
        if atom in evidence:
            if len(evidence) < SEVERAL:
                self._auxiliary(event, given)  # raises if the condition is impossible
            sure = float(evidence[atom] == truth)
            return sure, sure
        ways = [way for way in (self._by_tree(atom, evidence), self._by_star(atom, evidence)) if way]
        intervals = [way if truth else opposite(way) for way in ways]
        if not ways or len(evidence) < SEVERAL:
            intervals.append(self._auxiliary(event, given))
        return self._meet(*intervals)

    def _meet(self, *intervals: Interval) -> Interval:
        low, high = max(low for low, _ in intervals), min(high for _, high in intervals)
        return min(low, high), max(low, high)

    def _by_literals(self, event: GroundFormula, given: Sequence[GroundFormula]) -> Interval:
        """Bounds on a conjunction or disjunction of a few literals given a condition, from those of each."""
        if not 1 < len(event.atoms) <= MOST_LITERALS:
            return ANY

        def belief(atom: int) -> Interval:
            return self.interval(GroundFormula(0, (atom,)), given)

        if isinstance(event.shape, tuple) and event.shape[0] == "or":
            fails = conjunction([negation(part) for part in event.shape[1:]])
            return opposite(self._conjunction(GroundFormula(fails, event.atoms), belief))
        return self._conjunction(event, belief)

    def _conjunction(self, event: GroundFormula, belief: Callable[[int], Interval]) -> Interval:
        """Frechet bounds on a conjunction of literals from those of its atoms; [0, 1] for other events."""
        literals = literals_of(event.shape)
        if literals is None:
            return ANY
        beliefs = [belief(event.atoms[column]) for column in literals]
        ends = [b if t else opposite(b) for b, t in zip(beliefs, literals.values(), strict=True)]
        missing = [opposite((low, low))[1] for low, _ in ends if low < 1.0]
        least = 1.0 - math.fsum(missing) - 2 * UNIT if missing else 1.0
        return max(0.0, least), min(high for _, high in ends)

    def _refuse_impossible(self, evidence: Mapping[int, bool]) -> None:
        for atom, truth in evidence.items():
            if self.upper[atom] == 0.0 if truth else self.lower[atom] == 1.0:
                raise ImpossibleConditionError

    def _refuse_excluded(self, scope: Sequence[int], forms: np.ndarray, condition: np.ndarray) -> None:
        """Raise ``ImpossibleConditionError`` if sentences and certain atoms exclude all cases of a scope."""
        box = np.array([self.belief(atom) for atom in scope])
        known = np.concatenate([forms, _certain(box, truths_of(len(scope)))])
        if not (possible_cases(known) & condition).any():
            raise ImpossibleConditionError

    # The auxiliary factor

    def _auxiliary(self, event: GroundFormula, given: Sequence[GroundFormula]) -> Interval:
        named = tuple(dict.fromkeys((*event.atoms, *(a for g in given for a in g.atoms))))
        if len(named) > WIDEST:
            return ANY
        scope = tuple(sorted(self._connected(named)))
        k = len(scope)
        condition = _holds(given, scope)
        event_table = event.table(scope).reshape(-1)
        forms = self.incidence.forms(scope)
        box = np.array([[self.belief(atom) for atom in scope]])
        start, truths = np.array([0, len(forms)]), truths_of(k)
        cells = cells_of(k, self._separations(scope))
        weight = 1.0
        if given:
            self._refuse_excluded(scope, forms, condition)
            scale = condition.astype(float)
            everywhere = np.ones(2**k)
            intervals, failed = intervals_at_once(
                forms, start, truths, scale, everywhere, 1.0, cells, box, self.budget
            )
            if failed < 0 and intervals[0, 1] == 0.0:
                raise ImpossibleConditionError
            weight = float(intervals[0, 0]) if failed < 0 else 0.0
        event_costs = (event_table & condition).astype(float)
        intervals, failed = intervals_at_once(
            forms, start, truths, event_costs, condition.astype(float), weight, cells, box, self.budget
        )
        # a search that finds no point among numbers of very different sizes proves nothing of the condition
        return ANY if failed >= 0 else (float(intervals[0, 0]), float(intervals[0, 1]))

    def _separations(self, scope: Sequence[int]) -> Separations:
        if self.links is None or len(scope) < 2:
            return ()
        return next(separations for _, separations in self.links.separations(np.array([scope])))

    def _connected(self, named: Sequence[int]) -> set[int]:
        """The named atoms, and those on shortest paths from the first to the others while they are few."""
        scope = set(named)
        for goal in named[1:]:
            way = self._way(named[0], goal)
            if len(scope | set(way)) <= CONNECTED_UP_TO:
                scope |= set(way)
        return scope

    def _way(self, start: int, goal: int) -> list[int]:
        """A shortest path from atom to atom through shared sentences; empty where none is near."""
        came: dict[int, int] = {start: start}
        waiting = [start]
        for here in waiting:
            if here == goal or len(came) > MOST_WALKED:
                break
            for other in sorted(self.incidence.neighbours(here)):
                if other not in came:
                    came[other] = here
                    waiting.append(other)
        if goal not in came:
            return []
        way = [goal]
        while way[-1] != start:
            way.append(came[way[-1]])
        return way

    # A tree

    def _by_tree(self, atom: int, evidence: Mapping[int, bool]) -> Interval | None:
        if self.links is None or not self.links.acyclic:
            return None
        return Tree(self._table, self.belief, evidence).posterior(atom)

    def _table(self, atom: int) -> BoundedTable:
        """The bounds of an atom's conditional table given all its parents; of a root, its interval."""
        parents = self._parents(atom)
        if not parents:
            low, high = self.belief(atom)
            return BoundedTable((), (low,), (high,))
        sentences = self.incidence.within((*parents, atom)) if len(parents) < WIDEST else ()
        low, high = single_case_intervals(atom, parents, sentences)
        return BoundedTable(parents, low.tolist(), high.tolist())

    def _parents(self, atom: int) -> tuple[int, ...]:
        assert self.links is not None
        return tuple(self.links.arrows.parents(atom).tolist())

    # A class and its features

    def _by_star(self, atom: int, evidence: Mapping[int, bool]) -> Interval | None:
        if self.links is None or not all(self._hangs_on(feature, atom, evidence) for feature in evidence):
            return None
        rules = self._rules(atom)
        features = {*evidence, *(feature for rule in rules for feature, _ in rule.literals)}
        tables = {feature: self._given_class(feature, atom) for feature in features}
        star = Star(
            self.belief(atom),
            {feature: ends[0] for feature, ends in tables.items()},
            {feature: ends[1] for feature, ends in tables.items()},
            rules,
        )
        return star.posterior(evidence)

    def _hangs_on(self, feature: int, atom: int, others: Mapping[int, bool]) -> bool:
        """Whether a feature is independent of the others given the atom, by its Markov statement.

        False too where it has too many descendants to follow.
        """
        if self._parents(feature) != (atom,):
            return False
        assert self.links is not None
        seen, waiting = {feature}, [feature]
        while waiting:
            here = waiting.pop()
            for child in self.links.arrows.children(here).tolist():
                if child not in seen:
                    seen.add(child)
                    if child != atom:
                        waiting.append(child)
                if len(seen) > MOST_WALKED or (child in others and child != feature):
                    return False
        return True

    def _given_class(self, feature: int, atom: int) -> tuple[Interval, Interval]:
        """Intervals of P(feature | class) and P(feature | not class), by sentences about the two atoms."""
        scope = (atom, feature)
        forms = self.incidence.forms(scope)
        box = np.array([[self.belief(atom), ANY]])
        intervals = []
        for scale in (np.array([0, 0, 1.0, 1]), np.array([1.0, 1, 0, 0])):
            costs = scale * np.array([0, 1.0, 0, 1])
            low_class = self.belief(atom)[0] if scale[3] else opposite(self.belief(atom))[0]
            ends, failed = intervals_at_once(
                forms, np.array([0, len(forms)]), truths_of(2), costs, scale, low_class, cells_of(2, ()), box
            )
            intervals.append(ANY if failed >= 0 else (float(ends[0, 0]), float(ends[0, 1])))
        return intervals[0], intervals[1]

    def _rules(self, atom: int) -> list[StarRule]:
        """Rules from sentences P(class | conjunction of features that are independent given the class)."""
        rules = []
        for sentence in self.incidence.about(atom).tolist():
            group, row = self.incidence.source(sentence)
            sentences = self.incidence.network.groups[group]
            atoms, rule = sentences.atoms[row].tolist(), sentences.table_row
            if rule is None or len(atoms) < 3 or atoms.pop(rule.child) != atom:
                continue
            literals = tuple(zip(atoms, map(bool, rule.truths), strict=True))
            if not all(self._hangs_on(feature, atom, dict(literals)) for feature in atoms):
                continue
            lower, upper = stated_ends(sentences.lower[row], sentences.upper[row])
            low, high = log_odds(float(lower), lowered), log_odds(float(upper), raised)
            rules.append(StarRule(literals, low, high) if rule.positive else StarRule(literals, -high, -low))
        return rules


def possible_cases(forms: np.ndarray) -> np.ndarray:
    """The cases that ``forms @ p >= 0`` does not force to mass 0, by signs alone, free of rounding.

    A form without positive entries excludes the cases where it has a negative one. Then further forms may
    have none among the remaining cases.

    >>> possible_cases(np.array([[0, 0, -1.0], [0, 1.0, -1.0], [-0.5, 0, 0.5]])).tolist()
    [False, True, False]
    """
    possible = np.ones(forms.shape[1], bool)
    while True:
        binding = forms[(forms[:, possible] <= 0).all(axis=1)]
        emptied = possible & (binding < 0).any(axis=0)
        if not emptied.any():
            return possible
        possible &= ~emptied


def _holds(given: Sequence[GroundFormula], scope: Sequence[int]) -> np.ndarray:
    """Whether all of ``given`` holds in each case of a scope that has all their atoms."""
    holds = np.ones(2 ** len(scope), bool)
    for part in given:
        holds &= part.table(scope).reshape(-1)
    return holds


def _certain(box: np.ndarray, truths: np.ndarray) -> np.ndarray:
    """One form for each atom whose probability is exactly 1 or 0."""
    return np.concatenate([truths[box[:, 0] == 1.0] - 1.0, -truths[box[:, 1] == 0.0]])


def _literals(given: Sequence[GroundFormula]) -> tuple[dict[int, bool], list[GroundFormula]]:
    """Split a condition into literals and the parts that are no conjunctions of literals.

    Raises ``ImpossibleConditionError`` where literals contradict each other.
    """
    evidence: dict[int, bool] = {}
    others = []
    for part in given:
        literals = literals_of(part.shape)
        if literals is None:
            others.append(part)
            continue
        for column, truth in literals.items():
            if evidence.setdefault(part.atoms[column], truth) != truth:
                raise ImpossibleConditionError
    return evidence, others
