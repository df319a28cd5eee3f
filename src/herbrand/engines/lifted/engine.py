"""Exact inference by counting: the cost grows with a power of the number of constants, not exponentially.

Guarantee: ``exact``, up to rounding. Counting refuses links between three variables, atoms of three
arguments, quantifiers over pairs, and evidence that leaves no symmetry. Then :func:`lifted` falls back to
ground elimination where that is affordable, and the answer says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

from herbrand.answers.explanation import Explanation, Reason
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee, Status
from herbrand.answers.marginals import Marginals, Row
from herbrand.budget import UNLIMITED, Budget, readable
from herbrand.engines.contradiction import contradiction, no_weight, proved_contradiction
from herbrand.engines.engine import REFUSALS, Cost, Prepared, Refusal, Settings, first_state
from herbrand.engines.exact import Exact, operations_in
from herbrand.engines.fallback import Fallback
from herbrand.engines.lifted.attribution import attributed
from herbrand.engines.lifted.problem import Problem, Solution, posed, problem_of, solved, unweighted
from herbrand.engines.lifted.terms import NotLiftableError
from herbrand.engines.reading import ChosenWorld, ExplainedAtom, forced, looked_up
from herbrand.errors import BudgetError, ContradictionError, HerbrandError
from herbrand.language.show import show_formula
from herbrand.language.syntax import Formula, Truth
from herbrand.program.alike_constants import AlikeConstants
from herbrand.program.expansion import instances
from herbrand.program.ground import refuse_long_answer
from herbrand.program.lower import forbidding
from herbrand.program.normal_form import refuse_many_cases
from herbrand.program.program import Program
from herbrand.program.question import Question

TOTAL_ONLY = Question(atoms=(), formulas=(Truth(True),))
"""Question for the cost of a partition alone, where no atom is read."""


@dataclass(frozen=True, eq=False)
class LiftedState:
    """A problem to be solved by counting, and after the one step its solution."""

    lasting: ClassVar[bool] = True
    question: Question
    problem: Problem
    solution: Solution | None = None
    formulas: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Lifted:
    """The counting engine, within the budget's memory and ``most_operations``."""

    budget: Budget = UNLIMITED
    most_operations: float = Exact.most_operations
    name: str = field(default="lifted", init=False)
    whole_tables: bool = field(default=True, init=False)

    @classmethod
    def with_settings(cls, settings: Settings) -> Fallback:
        return lifted(settings.budget)

    @property
    def exact(self) -> Exact:
        """Ground elimination within the same limits."""
        return Exact(self.budget, self.most_operations)

    def prepare(
        self, program: Program, question: Question, within: Budget
    ) -> Prepared[LiftedState] | Refusal:
        try:
            refuse_many_cases(question.formulas)
            state = self._posed(program, question, within)
        except REFUSALS as error:
            return Refusal(error)
        except ContradictionError:  # an answer, too: raised where the run begins
            begin = partial(self._posed, program, question, self.budget)
            return Prepared(begin, lambda: Cost(guarantee=Guarantee.EXACT))
        return Prepared(lambda: state, lambda: _cost(state))

    def _posed(self, program: Program, question: Question, within: Budget) -> LiftedState:
        problem = posed(program, question.most_probable, within)
        return LiftedState(question, self._affordable(problem, question, within))

    def step(self, state: LiftedState) -> LiftedState:
        solution = solved(state.problem, self.budget.for_answering())
        if solution.total == -math.inf:
            raise self._contradiction(state.problem)
        return replace(state, solution=solution, formulas=self._formula_rows(state, solution))

    def residual(self, state: LiftedState) -> float:
        return 0.0

    def read(self, state: LiftedState, status: Status) -> Marginals:
        assert state.solution is not None
        solution, likeliest = state.solution, state.question.most_probable
        refuse_long_answer(state.problem.evidence, state.question, self.budget)
        return Marginals(
            self.name,
            Guarantee.EXACT,
            status,
            tuple(looked_up(state.problem.evidence, solution.of, state.question)),
            state.formulas,
            None if likeliest else solution.total,
            None if likeliest else PartitionGuarantee.EXACT,
            likeliest,
            solution.total if likeliest else None,
        )

    def explain(self, state: LiftedState, status: Status) -> Explanation:
        """Share out the log-odds among the statements, each with all its groundings."""
        problem, question = state.problem, state.question
        queried = ExplainedAtom.of(question, problem.evidence)
        shares = attributed(
            problem.evidence, queried, lambda supposing: self._affordable(supposing, TOTAL_ONLY)
        )
        reasons = shares.reasons
        if not math.isfinite(shares.value):
            reasons = self._forcing(problem, question, status, shares.value)
        return queried.explained(shares.value, self.name, Guarantee.EXACT, reasons, shares.base)

    def _forcing(
        self, problem: Problem, question: Question, status: Status, log_odds: float
    ) -> tuple[Reason, ...]:
        """The statements that force an answer, by ground elimination where that is affordable."""
        try:
            ground = first_state(self.exact, problem.evidence.program, question)
            return self.exact.explain(ground, status).reasons
        except REFUSALS:
            return (forced(log_odds),)

    def _affordable(self, problem: Problem, question: Question, within: Budget = UNLIMITED) -> Problem:
        """The problem itself. Raises :class:`NotLiftableError` where counting would exceed the limits."""
        allowed, cost = self.budget.bytes, problem.cost(question, within)
        if cost.bytes > allowed:
            needed = readable(cost.bytes) if math.isfinite(cost.bytes) else "more than any machine has"
            raise NotLiftableError(f"counting needs {needed} and may use {readable(allowed)}")
        most = operations_in(self.budget, self.most_operations)
        if cost.operations > most:
            raise NotLiftableError(
                f"counting would take about {cost.operations:.0e} operations; at most {most:.0e} are allowed"
            )
        return problem

    def _contradiction(self, problem: Problem) -> HerbrandError:
        """The error for a total of minus infinity: a contradiction only where hard statements alone, counted
        without weights, leave no world; a smallest set of them is found by ground inference where that is
        affordable."""
        program, allowed = problem.evidence.program, self.budget
        try:
            satisfiable = self._affordable(unweighted(problem), TOTAL_ONLY).total > -math.inf
        except NotLiftableError:
            return contradiction(program, allowed, self.name)
        return no_weight() if satisfiable else proved_contradiction(program, allowed)

    def _formula_rows(self, state: LiftedState, solution: Solution) -> tuple[Row, ...]:
        """Rows with the probability of every instance of the queried formulas."""
        evidence = state.problem.evidence
        world, alike = ChosenWorld(evidence, solution.of, self.budget), AlikeConstants(evidence)
        rows: list[Row] = []
        for stated in state.question.formulas:
            listed = list(instances(stated, evidence.program))
            closed = [instance.closed for instance in listed]
            if state.problem.most:
                shares = [self._in_world(world, solution, formula) for formula in closed]
            else:
                shares = self._shares(alike, solution, closed)
            rows += (Row(show_formula(f.written), None, (), p) for f, p in zip(listed, shares, strict=True))
        return tuple(rows)

    def _shares(self, alike: AlikeConstants, solution: Solution, closed: Sequence[Formula]) -> list[float]:
        """Probability of each instance of a formula, counted once for all instances whose constants are
        exchangeable."""
        patterns = list(map(alike.pattern, closed))
        examples = dict(zip(patterns, closed, strict=True))
        known = {pattern: self._probability(solution, one) for pattern, one in examples.items()}
        return [known[pattern] for pattern in patterns]

    def _probability(self, solution: Solution, formula: Formula) -> float:
        return min(1.0, math.exp(self._supposing(solution.problem, formula) - solution.total))

    def _in_world(self, world: ChosenWorld, solution: Solution, formula: Formula) -> float:
        """1 or 0 in the most probable world; where that is too large to evaluate, 1 if some such world
        satisfies the formula."""
        try:
            return float(world.holds(formula))
        except BudgetError:
            with_formula = self._supposing(solution.problem, formula)
            return float(math.isclose(with_formula, solution.total, abs_tol=1e-9))

    def _supposing(self, problem: Problem, formula: Formula) -> float:
        """The total of the worlds in which the formula holds."""
        program = problem.evidence.program
        forbidden = forbidding(program, formula)
        supposing = problem_of(program, problem.evidence, forbidden, problem.most, budget=self.budget)
        return self._affordable(supposing, TOTAL_ONLY).total


def _cost(state: LiftedState) -> Cost:
    cost = state.problem.cost(state.question)
    return Cost(cost.operations, cost.bytes, Guarantee.EXACT)


def lifted(budget: Budget = UNLIMITED, most_operations: float = Lifted.most_operations) -> Fallback:
    """Counting, with ground elimination for what it refuses."""
    counting = Lifted(budget, most_operations)
    second_label, refusal = "answered by ground elimination", "lifted inference does not apply"
    return Fallback(counting, counting.exact, second_label, refusal)
