"""A search for clauses that describe labelled tuples in few bits (minimum description length).

Bodies grow in phases (:func:`phases`): short ones first, then longer ones, and at last by wider beams. Each
phase goes through the same stages while another theory may describe the labels in fewer bits:

1. *whole*: a beam (:mod:`herbrand.induction.beam`) over all examples fills a pool of clauses, from which a
   theory is chosen (:mod:`herbrand.induction.cover`);
2. *recursion*: the target occurs in bodies (:mod:`herbrand.induction.recursion`);
3. *exceptions*: clauses that cover negatives are tried with exceptions: an invented predicate, learned in the
   same way, is negated in the body;
4. *rest*: a beam looks for the positives that the theory misses, first all together, then one at a time; one
   that no clause covers is set aside.

>>> from herbrand.induction.database import World
>>> database = Database.of([World(4, {"edge": [(0, 1), (1, 2), (2, 3)]})])
>>> examples = Examples.of("two_steps", np.array([[0, 2], [1, 3]]), 2, database)
>>> [statement_text(clause.to_rule()) for clause in search(examples, database).clauses]
['two_steps(x, y) :- edge(z, y), edge(x, z)']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf

import numpy as np

from herbrand.induction.beam import Aim, Beam, Setting
from herbrand.induction.cover import Candidate, Errors, best_theory, description, exact_cover, union
from herbrand.induction.database import Database, Rows
from herbrand.induction.evaluation import Clause, Literal, covered, evaluated
from herbrand.induction.examples import Examples
from herbrand.induction.limits import Effort, Limits
from herbrand.induction.pool import Pool
from herbrand.induction.recursion import Recursion, reads
from herbrand.induction.refinement import Partial
from herbrand.induction.simpler import covering, simplified
from herbrand.induction.thresholds import moved
from herbrand.induction.vocabulary import LITERAL
from herbrand.language.show import statement_text as statement_text

ROUNDS = 4
"""Most rounds of a search; after each, negatives outside the sample that the rules derive join it."""

LEAST = 13.5
"""Bits of the shortest theory with an exception or with recursion: two clauses with three literals."""

FEWEST = 100
"""Negatives that may join a sample in one round, however small ``Limits.sample`` is."""

ALONE = 300
"""Most steps for the search from single positives, for each bit of the labels: few labels do not distinguish
many clauses, however long the search is."""

WORTHY = 0.8
"""Share of the bits of the bare labels above which the search goes on from single positives."""

EXCEPTED = 10
"""Most clauses that are tried with exceptions in a phase."""

ASIDE = 6
"""Positives in a row without a better theory after which the stage *rest* ends."""


@dataclass(frozen=True)
class SearchResult:
    """Result of a search. ``clauses``: those of invented predicates first; ``missed``: positives that they
    miss; ``wrong``: negatives that they cover; ``ties``: for a clause, others that cover the same examples in
    about as many bits."""

    clauses: tuple[Clause, ...]
    missed: int
    wrong: int
    ties: dict[Clause, tuple[Clause, ...]] = field(default_factory=dict)

    @property
    def errors(self) -> int:
        """Number of labels on which the rules are wrong."""
        return self.missed + self.wrong

    @property
    def literals(self) -> int:
        """Number of literals of the rules, heads included."""
        return sum(1 + clause.literals for clause in self.clauses)


def search(
    examples: Examples,
    database: Database,
    limits: Limits | None = None,
    predicates: Sequence[str] | None = None,
    level: int = 0,
) -> SearchResult:
    """Search for clauses that describe the positives, within the limits.

    ``predicates``: those that bodies may use, by default all but the target; ``level``: depth of
    exceptions.
    """
    limits = limits or Limits()
    database = database.without(examples.target)
    used = [p for p in predicates or database.tables if p != examples.target and p in database.tables]
    rng = np.random.default_rng(len(examples.rows))
    chosen = _sampled(examples.positive, limits.sample, rng)
    best: SearchResult | None = None
    for _ in range(ROUNDS):
        setting = Setting(examples.take(chosen), database, tuple(used), level < limits.exceptions)
        theory = _Learner(setting, limits, level).learned()
        theory_found = _finished(theory, examples, database)
        if best is None or theory_found.errors < best.errors:
            best = theory_found
        more = _wrongly(theory_found, examples, database, chosen)
        if not len(more) or limits.over:
            break
        chosen = np.sort(np.concatenate([chosen, more[: max(limits.sample, FEWEST)]]))
    assert best is not None
    return best


def _sampled(positive: np.ndarray, most: int, rng: np.random.Generator) -> Rows:
    """Indices of at most ``most`` random examples of each label."""
    parts = []
    for kind in (positive, ~positive):
        places = np.flatnonzero(kind)
        parts.append(rng.choice(places, most, replace=False) if len(places) > most else places)
    return np.sort(np.concatenate(parts))


def _wrongly(result: SearchResult, examples: Examples, database: Database, chosen: Rows) -> Rows:
    """Indices of negatives outside the sample that the clauses derive."""
    if len(chosen) == len(examples.rows) or not result.wrong:
        return chosen[:0]
    wrong = covering(result.clauses, examples, evaluated(result.clauses, database)) & ~examples.positive
    wrong[chosen] = False
    return np.flatnonzero(wrong)


def _finished(theory: Sequence[Candidate], examples: Examples, database: Database) -> SearchResult:
    """Evaluate a theory over all examples, after simplifying clauses without exceptions or recursion."""
    clauses: list[Clause] = []
    ties: dict[Clause, tuple[Clause, ...]] = {}
    for one in theory:
        clause = one.clause
        if not one.helpers and not reads(clause, examples.target):
            clause = simplified(clause, examples, database)
        clauses += [helper for helper in one.helpers if helper not in clauses]
        if clause not in clauses:
            clauses.append(clause)
            ties[clause] = tuple(other for other in one.ties if other != clause)
    covers = covering(clauses, examples, evaluated(clauses, database))
    errors = Errors.of(covers, examples.positive)
    return SearchResult(tuple(clauses), errors.missed, errors.wrong, {c: t for c, t in ties.items() if t})


@dataclass(frozen=True)
class Phase:
    """A phase of the search: bodies of at most ``literals``, joins that make at most ``spread`` bindings of
    one on average, beams ``wider`` by this factor, and a ``share`` of the work that is left."""

    literals: int
    spread: float
    wider: int
    share: float


LONGEST = 99
PHASES = (
    Phase(3, 10, 1, 0.4),
    Phase(5, 30, 2, 0.5),
    Phase(LONGEST, inf, 1, 0.5),
    Phase(LONGEST, inf, 2, 0.6),
    Phase(LONGEST, inf, 4, 1.0),
)
WHOLE, RECURSION, EXCEPTIONS = 0.4, 0.4, 0.2
"""Shares of the work left to a phase for its stages; the last stage has the rest."""


def phases(most: int) -> list[Phase]:
    """The phases of a search for bodies of at most ``most`` literals."""
    fitting = [replace(phase, literals=min(phase.literals, most)) for phase in PHASES]
    # Phases that the cap makes equal become one, with the spread and share of the last.
    return list({(phase.literals, phase.wider): phase for phase in fitting}.values())


class _Learner:
    """State of a search on one sample: a pool of clauses, and the theory chosen from it. ``recursive``: bits
    and clauses of the best recursive theory, if one was shorter; ``done``: whether it has no errors."""

    def __init__(self, setting: Setting, limits: Limits, level: int) -> None:
        self.setting, self.limits, self.level = setting, limits, level
        self.positive = setting.examples.positive
        self.pool = Pool(len(self.positive))
        self.excepted: list[Candidate] = []
        self.theory: list[Candidate] = []
        self.recursive: tuple[float, list[Candidate]] | None = None
        self.done = False
        self._looked_at: set[Clause] = set()

    def learned(self) -> list[Candidate]:
        if not self.positive.any() or self.limits.over:
            return []
        stages = (
            (WHOLE, self._whole),
            (RECURSION, self._recursion),
            (EXCEPTIONS, self._exceptions),
            (1.0, self._rest),
        )
        for phase in phases(self.limits.literals):
            beam = self.limits.beam * phase.wider
            limits = self.limits.part(phase.share, literals=phase.literals, spread=phase.spread, beam=beam)
            for share, stage in stages:
                if self._worth_more(limits):
                    stage(limits.part(share))
        if self.level == 0 and not self.done:
            self._each_alone()
        if self.recursive is not None and self.recursive[0] < description(self.theory, self.positive):
            return self.recursive[1]
        return self.theory

    @cached_property
    def _root(self) -> Partial:
        return self.setting.root()

    def _explore(
        self, limits: Limits, beside: Sequence[Candidate], seed: int | None = None, enough: float = inf
    ) -> None:
        """Run one beam for the positives that the clauses ``beside`` leave, and choose the theory anew."""
        aim = Aim.beside(beside, self.positive, seed, enough)
        Beam(self.setting, aim, limits, self.pool).run(self._root)
        self._choose()

    def _choose(self) -> None:
        """Choose the best theory of the pool; simplify its clauses and choose again until none changes."""
        self.pool.shrink(self.positive, {Pool.key(one.covers) for one in self.theory})
        while True:
            candidates = self._candidates()
            self.theory = best_theory(candidates, self.positive, self.limits.noise, self.limits.clauses)
            others = [self._simplify(one) for one in self.theory if not one.helpers]
            if not any(others):
                return

    def _simplify(self, one: Candidate) -> bool:
        """Put a clause of the theory into the pool, simplified and with better thresholds; True if that is
        another clause. Each clause is tried once."""
        if one.clause in self._looked_at:
            return False
        self._looked_at.add(one.clause)
        examples, database = self.setting.examples, self.setting.database
        others = union([other for other in self.theory if other is not one], len(self.positive))
        simpler = simplified(moved(one.clause, examples, database, others), examples, database)
        if simpler == one.clause:
            return False
        self._looked_at.add(simpler)
        bits = one.bits - LITERAL * (one.clause.literals - simpler.literals)
        self.pool.add(Pool.key(covered(simpler, database, examples.rows)), bits, simpler)
        return True

    def _candidates(self) -> list[Candidate]:
        return [*self.pool.candidates(), *self.excepted]

    def _errors(self) -> Errors:
        return Errors.left_by(self.theory, self.positive)

    def _worth_more(self, limits: Limits) -> bool:
        """Whether another theory may describe the examples in fewer bits."""
        if limits.over or self.done:
            return False
        clauses = sum(1 + len(one.helpers) for one in self.theory)
        longer = clauses > 2 or self._errors().total > 0
        return longer and description(self.theory, self.positive) > LEAST

    def _explained(self) -> bool:
        """Whether no further clause can pay, since the errors cost less than the shortest clause; without
        noise, or with errors beyond it, whether there are no errors."""
        errors = self._errors()
        if not self.limits.noise or not self.theory or not errors.within(self.limits.noise):
            return bool(self.theory) and not errors.total
        return errors.bits - 1 < 2 * LITERAL

    # The stages

    def _whole(self, limits: Limits) -> None:
        self._explore(limits, [])

    def _rest(self, limits: Limits) -> None:
        """Search for the positives that the theory misses; if it has exceptions or covers negatives, also for
        those that clauses without either miss. Both times for all together first, then for one at a time."""
        self._explain(limits, False)
        if self._errors().wrong or any(one.helpers for one in self.theory):
            self._explain(limits, True)

    def _explain(self, limits: Limits, clean: bool) -> None:
        together, tried, failures = True, set[int](), 0
        while not limits.over and failures < ASIDE and (clean or not self._explained()):
            own, before = self._own(clean), self._standing(clean)
            left = np.flatnonzero(self.positive & ~union(own, len(self.positive))).tolist()
            seed = None if together else next((place for place in left if place not in tried), None)
            if not left or (seed is None and not together):
                return
            self._explore(limits, own, seed)
            better = self._standing(clean) < before
            together = together and better
            if seed is not None:
                tried.add(seed)
                failures = 0 if better else failures + 1

    def _own(self, clean: bool) -> list[Candidate]:
        """The theory, or with ``clean`` the best one of clauses that cover no negative and have no
        exceptions."""
        if not clean:
            return self.theory
        return exact_cover(self.pool.candidates(), self.positive, self.limits.clauses)

    def _standing(self, clean: bool) -> float:
        """Score to minimise: with ``clean`` the positives missed, without noise the errors, else the bits."""
        if clean:
            return float((self.positive & ~union(self._own(clean), len(self.positive))).sum())
        if not self.limits.noise:
            return self._errors().total
        return round(description(self.theory, self.positive), 6)

    def _each_alone(self) -> None:
        """Search from each positive in turn, as if there were no theory, while the theory is hardly shorter
        than the bare labels. One positive is enough where there are no errors: a shorter clause that leaves
        none covers it too."""
        nothing = description([], self.positive)
        effort = Effort(most=ALONE * nothing, whole=self.limits.effort)
        for wider in (0.5, 1, 2):
            limits = replace(self.limits, beam=max(int(wider * self.limits.beam), 4), effort=effort)
            for seed in np.flatnonzero(self.positive).tolist():
                if limits.over or description(self.theory, self.positive) < WORTHY * nothing:
                    return
                self._explore(limits, [], seed, self._enough())
                if not self._errors().total:
                    break

    def _enough(self) -> float:
        """Bits from which on a clause cannot be in a theory that replaces this one."""
        errors = self._errors()
        good = self.limits.noise and errors.within(self.limits.noise)
        return description(self.theory, self.positive) - 1 if good or not errors.total else inf

    def _recursion(self, limits: Limits) -> None:
        vocabulary = self._root.vocabulary
        others = vocabulary.reached(limits.spread) & set(vocabulary.head)
        if self.level or not limits.recursive or self.setting.examples.of_worlds or not others:
            return  # without another object of a kind of the head's, the target could only repeat the head
        plain = [c for c in self._candidates() if not (c.covers & ~self.positive).any()]
        bits = description(self.theory, self.positive)
        bits = bits if self.recursive is None else min(bits, self.recursive[0])
        recursion = Recursion(self.setting, plain, replace(limits, beam=limits.beam // 2), bits)
        theory = recursion.run()
        if theory is not None:
            self.recursive = recursion.bits, theory
            self.done = not recursion.errors(theory).total

    def _exceptions(self, limits: Limits) -> None:
        """Try clauses that cover negatives with the negation of an invented predicate for these
        exceptions."""
        if not self.setting.excepted:
            return
        enough = limits.effort.left / 3
        for key, (_, bits, clause) in self.pool.widest(EXCEPTED):
            if not limits.over and description(self.theory, self.positive) >= bits + 2 * LITERAL:
                candidate = self._with_exceptions(clause, bits, self.pool.covers(key), limits, enough)
                if candidate is not None:
                    self.excepted.append(candidate)
                    self._choose()

    def _with_exceptions(
        self, clause: Clause, bits: float, covers: np.ndarray, limits: Limits, steps: float
    ) -> Candidate | None:
        examples, database = self.setting.examples, self.setting.database
        name = _fresh(examples.target, database)
        inner = replace(examples.take(covers), target=name, positive=~self.positive[covers])
        effort = Effort(most=steps, whole=limits.effort)
        limits = replace(
            limits, beam=max(limits.beam // 3, 4), literals=min(limits.literals, 6), effort=effort
        )
        inner_rules = search(inner, database, limits, self.setting.predicates, self.level + 1)
        if not inner_rules.clauses:
            return None
        literal = Literal(name, clause.variables, True)
        whole = replace(clause, body=(*clause.body, literal))
        exact = covered(whole, evaluated(inner_rules.clauses, database), examples.rows)
        cost = bits + sum(LITERAL * (1 + one.literals) for one in inner_rules.clauses)
        return Candidate(whole, cost, exact, inner_rules.clauses)


def _fresh(target: str, database: Database) -> str:
    number = 1
    while f"{target}_except_{number}" in database.tables:
        number += 1
    return f"{target}_except_{number}"
