"""Answers of goals by rules over facts in a database: joins in rounds, bottom-up.

A predicate's proofs within k calls are joins of its rules' bodies, in which derived predicates are replaced
by their proofs within k - 1 calls; so each round is one relation for each predicate, and k is the number of
rounds. The goal becomes one query over the last round. Boolean rounds to the fixpoint are semi-naive
(:func:`~herbrand.program.clause_rows.least_model`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from herbrand.answers.bindings import Bindings
from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Guarantee, Status
from herbrand.budget import Budget
from herbrand.contraction.algebra import Algebra
from herbrand.engines.circuit.whole_tables import DrawnClauses, NotInStepsError
from herbrand.engines.engine import Cost, Prepared
from herbrand.engines.proof.arithmetic import refuse_overflow
from herbrand.engines.proof.chances import check_rule_weights, no_probability, refuse_uncertain_aggregates
from herbrand.engines.proof.engine import Goals
from herbrand.engines.proof.fixpoint import SAME, Patience, advice_without_end
from herbrand.engines.proof.goals import Goal, NarrowError, read_goal
from herbrand.engines.proof.horn_program import HornProgram, denied_but_derived, rule_number
from herbrand.engines.proof.request import FIXPOINT, PROBABILITY, Request
from herbrand.errors import LanguageError, UnsupportedError
from herbrand.facts.column import Constants
from herbrand.graphs import reached
from herbrand.language.signature import Signature
from herbrand.language.syntax import Choice, FactRows, Formula, Rule
from herbrand.program.bindings import WEIGHT
from herbrand.program.clause_rows import FALSE, ClauseRows, Tables, columns_in, least_model
from herbrand.program.clauses import Clause
from herbrand.program.dependencies import derived_by, strata
from herbrand.program.independent_steps import Steps, steps_of
from herbrand.relations.expression import Expression, column, greater, magnitude
from herbrand.relations.fold import largest, least
from herbrand.relations.relation import Relation
from herbrand.relations.stored import Scratch, Stored
from herbrand.scale.fact_relations import StoredFactRelations
from herbrand.scale.facts import StoredFacts


@dataclass(frozen=True, eq=False)
class StoredRules:
    """The rules of a theory over facts in a database."""

    program: HornProgram
    stored: StoredFacts
    given: tuple[FactRows, ...] = ()

    @classmethod
    def of(
        cls,
        rules: Sequence[Rule],
        signature: Signature,
        stored: StoredFacts,
        given: tuple[FactRows, ...] = (),
        choices: Sequence[Choice] = (),
        queried: Collection[str] = (),
    ) -> StoredRules:
        """Build the clauses. ``given``: literals that are among the facts. ``choices``: lowered too, if the
        ``queried`` predicates depend on them."""
        if choices:
            return cls(_drawn((*choices, *rules), signature, stored, queried), stored, given)
        counts = {name: tables.counts for name, tables in stored.tables.items()}
        program = HornProgram.of(
            rules, signature, stored.facts, lambda name: bool(counts[name][0] or counts[name][2])
        )
        return cls(program, stored, given)

    def ask_all(self, goals: Sequence[str | Formula], request: Request) -> tuple[Bindings, ...]:
        """Answer each goal, all from the same rounds."""
        semiring = request.semiring
        began = time.perf_counter()
        self.program.refuse_given(self.given, request.algebra)
        read = [self._read(goal) for goal in goals]
        with Scratch(self.stored.database, "proofs", temporary=True) as scratch:
            if request.algebra == PROBABILITY:
                rounds, truncated = Rounds(self, semiring, (), scratch), False
                pairs = [rounds.by_steps(goal, self._steps(goal, rounds, request), request) for goal in read]
            else:
                rounds = Rounds(self, semiring, self.reached(one.shape.clause for one in read), scratch)
                for name in self.program.reached(one.shape.clause for one in read):
                    self._refuse_denied(name, rounds, request)
                    rounds.check_weights(name)
                last, truncated = rounds.run(request.depth)
                pairs = [rounds.answers(goal, last, request) for goal in read]
        seconds = time.perf_counter() - began
        return tuple(
            self._answers(one, columns, request, rounds, truncated, seconds)
            for one, columns in zip(read, pairs, strict=True)
        )

    def _steps(self, goal: Goal, rounds: Rounds, request: Request) -> Steps:
        """The goal as steps of independent events, the only way to compute probabilities on a database."""
        program, clause = self.program, goal.shape.clause
        reached = sorted(program.reached([clause]))
        tables = {name: self.stored.tables[name] for name in reached}
        uncertain = {name for name, table in tables.items() if table.weighted or table.counts[2]}
        for name in sorted(uncertain):
            rounds.check_probabilities(name)
        check_rule_weights(program, reached)
        soft = [name for name, table in self.stored.tables.items() if table.counts[2]]
        refuse_uncertain_aggregates(program, reached, [*self.stored.weighted_predicates(), *soft])
        conditioned = bool(self.given) or any(
            any(table.counts) if program.is_derived(name) else table.counts[1] and name in uncertain
            for name, table in tables.items()
        )
        if program.of_choices:  # beside choices facts must be certain, and unlisted ones false
            conditioned |= bool(uncertain) or any(
                self.stored.facts.tables[name].world == "open"
                for name in reached
                if not program.is_derived(name)
            )
        depth = None if request.depth == FIXPOINT or program.of_choices else int(request.depth)
        steps = None if conditioned else steps_of(program, clause, asked_with(goal), uncertain, depth)
        if steps is None:
            raise _not_in_steps(program.of_choices)
        return steps

    def _refuse_denied(self, name: str, rounds: Rounds, request: Request) -> None:
        """Raise UnsupportedError if an atom that is stated to be false has a proof."""
        if not self.program.is_derived(name) or not self.stored.tables[name].counts[1]:
            return
        false = rounds.source.false(name)
        denied = false.matching(rounds.complete(name), false.columns).rows()
        if denied:
            predicate = self.program.signature.predicates[name]
            values = self.stored.facts.constants(predicate.types, denied[0])
            raise denied_but_derived(name, values, request.algebra)

    def _read(self, goal: str | Formula) -> Goal:
        try:
            return read_goal(goal, self.program)
        except NarrowError as narrow:
            raise LanguageError([narrow.mistake]) from None

    def reached(self, clauses: Iterable[Clause]) -> list[str]:
        """Derived predicates that clauses depend on, negated atoms left out."""
        program = self.program
        return reached(program.called(clauses), lambda name: program.called(program.clauses[name]))

    def _answers(
        self,
        goal: Goal,
        answers: tuple[list[Constants], np.ndarray],
        request: Request,
        rounds: Rounds,
        truncated: bool,
        seconds: float,
    ) -> Bindings:
        columns, weights = answers
        where = self.stored.database.name
        advice = "" if rounds.converged else advice_without_end(request.algebra)
        status = Status(rounds.converged, rounds.count, seconds, advice, where=where)
        guarantee = request.guarantee(truncated) if rounds.converged else Guarantee.APPROXIMATION
        by_name = dict(zip(goal.shape.found, columns, strict=True))
        ordered = tuple(by_name[name] for name in goal.shape.variables)
        answer = Bindings("proof", guarantee, status, goal.shape.variables, ordered, weights, truncated)
        return answer.normalized(request.normalize).top(request.top)


@dataclass(frozen=True, eq=False)
class StoredGoalsState:
    """Goals, and after the only step the answers of each."""

    rules: StoredRules
    goals: Goals
    answers: tuple[Bindings, ...] = ()


@dataclass(frozen=True)
class StoredProofs:
    """The engine ``proof`` on a database."""

    request: Request
    name: str = field(default="proof", init=False)

    @classmethod
    def with_settings(cls, request: Request) -> StoredProofs:
        return cls(request)

    @property
    def budget(self) -> Budget:
        return self.request.budget

    def prepare(self, rules: StoredRules, goals: Goals, within: Budget) -> Prepared[StoredGoalsState]:
        cost = Cost(guarantee=self.request.guarantee(truncated=False))
        return Prepared.ready(StoredGoalsState(rules, goals), cost)

    def step(self, state: StoredGoalsState) -> StoredGoalsState:
        return replace(state, answers=state.rules.ask_all(state.goals.each, self.request))

    def residual(self, state: StoredGoalsState) -> float:
        return 0.0

    def read(self, state: StoredGoalsState, status: Status) -> Bindings | tuple[Bindings, ...]:
        return state.answers if isinstance(state.goals.asked, tuple) else state.answers[0]

    def explain(self, state: StoredGoalsState, status: Status) -> Explanation:
        raise UnsupportedError("proofs are explained in memory only", hint="leave out --on")


@dataclass(eq=False)
class Rounds:
    """One evaluation in one semiring; its tables are dropped with the scratch. ``needed``: derived predicates
    that the goals depend on, negated atoms left out."""

    rules: StoredRules
    semiring: Algebra
    needed: Sequence[str]
    scratch: Scratch
    count: int = 0
    converged: bool = True
    _complete: dict[str, Relation] = field(default_factory=dict)

    @cached_property
    def source(self) -> StoredFactRelations:
        return StoredFactRelations(
            self.rules.stored, self.program.signature, self.scratch, self.semiring.weighs
        )

    @cached_property
    def rows(self) -> ClauseRows:
        return ClauseRows(self.source, self.complete, self.semiring, self.program.chances)

    @property
    def program(self) -> HornProgram:
        return self.rules.program

    def run(self, depth: int | str) -> tuple[Tables, bool]:
        """Relations of the derived predicates to answer the goals from, and whether deeper proofs were cut
        off."""
        heights = [self.program.height(name) for name in self.needed]
        known = [1 + height for height in heights if height is not None]
        allowed = math.inf if depth == FIXPOINT else int(depth) + 1
        if len(known) == len(heights) and max(known, default=0) <= allowed:
            self.count = max(known, default=0)
            return self._nested(dict(zip(self.needed, known, strict=True))), False
        if depth == FIXPOINT and not self.semiring.weighs:
            return {name: self.complete(name) for name in self.needed}, False
        now: Tables = {name: self._empty(name) for name in self.needed}
        patience = Patience(self.semiring.idempotent)
        self.count = 0
        while True:
            before, now = now, self._round(now)
            self.count += 1
            if self._are_same(before, now):
                return now, False
            if self.count == allowed:
                return now, not self._are_same(now, self._round(now))
            if depth == FIXPOINT and patience.is_over(self.count, sum(rows.count() for rows in now.values())):
                self.converged = False
                return now, False

    def _nested(self, heights: Mapping[str, int]) -> Tables:
        """Without recursion nothing is stored: each predicate is a query over those that it calls."""
        tables: dict[str, Relation] = {}
        for name in sorted(self.needed, key=lambda name: heights[name]):  # called predicates first
            tables[name] = self._predicate(name, tables)
        return tables

    def _round(self, now: Tables) -> Tables:
        return {name: self._predicate(name, now).kept() for name in self.needed}

    def _predicate(self, name: str, tables: Tables) -> Relation:
        """One round of a predicate, without rows of weight zero."""
        clauses = self.program.clauses[name]
        if not clauses:
            return self._empty(name)
        rows = self.rows.predicate(clauses, tables)
        return rows.where(self._is_not_zero) if self.semiring.weighs else rows

    @property
    def _is_not_zero(self) -> Expression:
        return column(WEIGHT) != self.semiring.constant(self.semiring.zero)

    def _empty(self, name: str) -> Relation:
        rows = self.source.facts(name).where(FALSE)
        return (
            rows.let(**{WEIGHT: self.semiring.constant(self.semiring.zero)}) if self.semiring.weighs else rows
        )

    def complete(self, predicate: str) -> Relation:
        """All atoms of a predicate that have a proof at any depth."""
        if not self.program.is_derived(predicate):
            facts = self.source.facts(predicate)
            return facts.only(*columns_in(facts))
        if predicate not in self._complete:
            self._run_strata(predicate)
        return self._complete[predicate]

    def _run_strata(self, predicate: str) -> None:
        """Complete a predicate and all that it depends on, each stratum before the next."""
        resting = {predicate, *self.program.reached(self.program.clauses[predicate])}
        source = StoredFactRelations(self.rules.stored, self.program.signature, self.scratch)
        rows = ClauseRows(source, self.complete)
        for stratum in strata(self.program.rules):
            heads = {rule.head.predicate for rule in stratum} & resting - self._complete.keys()
            clauses = {name: self.program.clauses[name] for name in sorted(heads)}
            nothing = {name: source.facts(name).where(FALSE) for name in clauses}
            model = least_model(clauses, rows, {**self._complete, **nothing})
            self._complete |= model.tables
            self.count += model.rounds

    def _are_same(self, before: Tables, after: Tables) -> bool:
        return all(self._same(before[name], after[name]) for name in self.needed)

    def _same(self, before: Relation, after: Relation) -> bool:
        """Whether two rounds have the same rows, with weights that differ by rounding only."""
        number = before.count()
        if number != after.count():
            return False
        by = columns_in(before)
        if not self.semiring.weighs:
            return before.matching(after, by).count() == number
        both = before.join(after.renamed(later=WEIGHT), by)
        apart = magnitude(column(WEIGHT) - column("later"))
        limit = greater(magnitude(column(WEIGHT)), magnitude(column("later"))) * SAME
        return both.where(apart <= limit).count() == number

    def answers(self, goal: Goal, tables: Tables, request: Request) -> tuple[list[Constants], np.ndarray]:
        """Constants of each answer variable, and the weights, best first."""
        clause = goal.shape.clause
        rows = self.rows.of(replace(clause, constants={**clause.constants, **asked_with(goal)}), tables)
        return self._fetched(goal, rows, request)

    def by_steps(self, goal: Goal, steps: Steps, request: Request) -> tuple[list[Constants], np.ndarray]:
        """The same from steps of independent events."""
        return self._fetched(goal, steps.rows(self.rows), request)

    def check_probabilities(self, predicate: str) -> None:
        """Raise an error if a fact has a weight that is no probability."""
        weight = column(WEIGHT)
        wrong = self.source.facts(predicate).where((weight < 0.0) | (weight > 1.0))
        worst = wrong.scalar(largest(weight))
        if math.isfinite(worst):
            raise no_probability(predicate, worst)

    def check_weights(self, predicate: str) -> None:
        """Raise an error if a fact or a rule has a weight that the algebra does not accept."""
        takes, weight = self.semiring.takes, column(WEIGHT)
        if takes is None:
            return
        if self.rules.stored.tables[predicate].weighted:
            worst = self.source.facts(predicate).where(~takes.fit(weight)).scalar(least(weight))
            if math.isfinite(worst):
                raise takes.refusal(worst, predicate)
        for rule in self.program.weighted:
            if rule.head.predicate == predicate and not takes.fit(number := rule_number(rule)):
                raise takes.refusal(number, span=rule.span)

    def _fetched(self, goal: Goal, rows: Relation, request: Request) -> tuple[list[Constants], np.ndarray]:
        inputs = asked_with(goal)
        if any(inputs[name] != i for name, i in zip(goal.shape.clause.head, goal.inputs, strict=False)):
            rows = rows.where(FALSE)
        rows = rows.where(self._is_not_zero) if self.semiring.weighs else rows.let(**{WEIGHT: 1.0})
        assert isinstance(rows, Stored)
        types, first = goal.shape.clause.types, len(goal.shape.inputs)
        order = [WEIGHT if self.semiring.least_first else f"{WEIGHT} DESC"]
        for name in goal.shape.variables:
            column_name = f"a{first + goal.shape.found.index(name)}"
            # Closed types keep their declared order; in open ones computed constants come last, so sort by
            # value.
            closed = self.program.signature.types[types[name]].values is not None
            order.append(column_name if closed else f"{column_name}_value")
        limit = "" if request.top is None or request.normalize != "none" else f" LIMIT {request.top}"
        kinds = {f"a{n}": types[name] for n, name in enumerate(goal.shape.clause.head[first:], first)}
        data = self.rules.stored.named(rows.text, kinds, order, limit)
        weights = data[WEIGHT].to_numpy().astype(np.float64)
        if self.converged:
            refuse_overflow(weights, counts=False)
        return [Constants(data[f"{column_name}_value"]) for column_name in kinds], weights


def _drawn(
    statements: Sequence[Choice | Rule], signature: Signature, stored: StoredFacts, queried: Collection[str]
) -> HornProgram:
    """Rules and choices as clauses, restricted to those that the asked predicates depend on."""
    evidence = any(any(stored.tables[name].counts) for name in derived_by(statements))
    try:
        if evidence:
            raise NotInStepsError
        drawn = DrawnClauses(statements, signature, stored.facts, queried)
        with Scratch(stored.database, "numbers") as scratch:
            drawn.refuse_improbable(StoredFactRelations(stored, signature, scratch))
    except NotInStepsError:
        raise _not_in_steps(choices=True) from None
    return HornProgram(signature, stored.facts, drawn.clauses, chances=drawn.chances, of_choices=True)


def _not_in_steps(choices: bool) -> UnsupportedError:
    what = "choices (::) have" if choices else "the probability algebra takes"
    return UnsupportedError(
        f"on a database {what} what joins of independent {'choices' if choices else 'facts'} add up to: no "
        "uncertain predicate twice, many-valued or after 'not', variables nested, no recursion, no evidence"
        f"{', no two heads of one choice' if choices else ''}",
        hint="leave out --on" if choices else "leave out --on, or one of --algebra count, boolean, max",
    )


def asked_with(goal: Goal) -> dict[str, int]:
    """The constants that a goal has for variables of its clause."""
    return dict(zip(goal.shape.clause.head, goal.inputs, strict=False))
