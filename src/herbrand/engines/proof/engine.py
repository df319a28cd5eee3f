"""The engine ``proof``, which answers goals with weighted answers.

Its program is a theory's rules with their facts; goals of one shape are answered in one pass.

>>> from herbrand.engines.loop import run
>>> from herbrand.facts.load import fact_sources, load_facts
>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory("uncle(x, y) :- parent(x, z), brother(z, y)")
>>> facts = fact_sources({"parent": [("liam", "ann")], "brother": [("ann", "bob")]})
>>> rules = Proof.of(theory.rules, *load_facts((), check(theory), facts))
>>> run(ByProofs(), rules, Goals('uncle("liam", y)'))["bob"]
1.0
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from herbrand.answers.bindings import Bindings
from herbrand.answers.guarantee import Status
from herbrand.budget import Budget
from herbrand.engines.engine import Cost, Prepared
from herbrand.engines.proof.goals import Goal, NarrowError, Shape, goal_text
from herbrand.engines.proof.query import GoalAnswers, Proof
from herbrand.engines.proof.request import FIXPOINT, Request
from herbrand.engines.proof.table import Table
from herbrand.engines.proof.unrolled import GroundProofs
from herbrand.errors import UnsupportedError
from herbrand.extras import later
from herbrand.language.parse import parse_formula
from herbrand.language.signature import Signature
from herbrand.language.syntax import Formula, Value
from herbrand.program.dependencies import negated_in
from herbrand.program.question import with_own_names

if TYPE_CHECKING:
    from herbrand.answers.explanation import Explanation

_explanation = later("herbrand.engines.proof.explain:explanation")


@dataclass(frozen=True)
class Goals:
    """The question of ``Model.query``: several goals, or one, with lists of constants for its variables.

    ``bindings`` has a list for each of some variables of the one goal.
    """

    asked: str | Formula | tuple[str, ...]
    bindings: Mapping[str, Sequence[Value]] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.asked, tuple):
            if self.bindings is not None:
                raise UnsupportedError("bindings go with one goal, not with a list of goals")
        elif self.bindings is not None and not isinstance(self.bindings, Mapping):
            raise UnsupportedError(
                'bindings are a list of constants for each variable: {"x": ["anna", "bob"]}'
            )

    @classmethod
    def of(cls, goal: Any, bindings: Mapping[str, Sequence[Value]] | None) -> Goals:
        """Check the arguments of ``Model.query``; raise UnsupportedError for anything but goals."""
        if isinstance(goal, str | Formula):
            return cls(goal, bindings)
        several = isinstance(goal, Iterable) and not isinstance(goal, Mapping)
        goals: tuple[Any, ...] = tuple(goal) if several else (goal,)
        if not all(isinstance(one, str) for one in goals):
            raise UnsupportedError(f"a goal is text, or a list of texts, and not {goal!r}")
        return cls(goals, bindings)

    @property
    def each(self) -> tuple[str | Formula, ...]:
        return self.asked if isinstance(self.asked, tuple) else (self.asked,)

    def negated(self, signature: Signature) -> frozenset[str]:
        """Predicates that the goals negate."""
        texts = (one for one in self.each if isinstance(one, str))
        valued = signature.valued_names
        formulas = [parse_formula(one, "<query>", valued, computes=True) for one in texts]
        formulas += [one for one in self.each if isinstance(one, Formula)]
        return frozenset(name for x in formulas for name in negated_in(with_own_names(x, signature)))


@dataclass(frozen=True)
class SameShape:
    """Goals of one shape: the place of each among all goals, and the constants of each."""

    shape: Shape
    places: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class GoalsState:
    """The state of the engine: goals by shape, and after the only step the answers for each shape."""

    rules: Proof
    goals: Goals
    shapes: tuple[SameShape, ...]
    answers: tuple[GoalAnswers, ...] = ()


@dataclass(frozen=True)
class ByProofs:
    """The engine that sums over proofs, with the options of ``request``."""

    request: Request = field(default_factory=Request)
    name: str = field(default="proof", init=False)

    @classmethod
    def with_settings(cls, request: Request) -> ByProofs:
        return cls(request)

    @property
    def budget(self) -> Budget:
        return self.request.budget

    def prepare(self, rules: Proof, goals: Goals, within: Budget) -> Prepared[GoalsState]:
        cost = Cost(guarantee=self.request.guarantee(truncated=False))
        return Prepared(partial(self._read, rules, goals), lambda: cost)

    def step(self, state: GoalsState) -> GoalsState:
        answers = (state.rules.found(same.shape, same.rows, self.request) for same in state.shapes)
        return replace(state, answers=tuple(answers))

    def residual(self, state: GoalsState) -> float:
        return 0.0

    def read(self, state: GoalsState, status: Status) -> Bindings | tuple[Bindings, ...]:
        """Read the answers of the goal, or of each goal, heaviest first."""
        rules, goals = state.rules, state.goals
        if goals.bindings:
            ((same,), (answer,)) = state.shapes, state.answers
            return rules.bindings(same.shape, answer, self.request, same.rows, tuple(goals.bindings))
        answers: dict[int, Bindings] = {}
        for same, answer in zip(state.shapes, state.answers, strict=True):
            for place, own in zip(same.places, _by_goal(answer, len(same.places)), strict=True):
                answers[place] = rules.bindings(same.shape, own, self.request)
        several = tuple(answers[place] for place in sorted(answers))
        return several if isinstance(goals.asked, tuple) else several[0]

    def explain(self, state: GoalsState, status: Status) -> Explanation:
        """Explain a goal without variables by its ``request.top`` heaviest proofs.

        Raises UnsupportedError for goals with variables, other algebras than ``count``, and the fixpoint.
        """
        request = self.request
        if request.algebra != "count" or request.depth == FIXPOINT:
            raise UnsupportedError("proofs are explained in the count algebra and within a depth")
        ((same,), (goal,)) = state.shapes, state.goals.each
        if same.shape.variables:
            first = same.shape.variables[0]
            raise UnsupportedError(
                f"one answer is explained at a time, and {first} is a variable",
                hint=f"put a constant for {first}, or _ if it does not matter",
            )
        (answer,) = self.step(state).answers
        weight = float(answer.table.values[0]) if len(answer.table) else 0.0
        ground = GroundProofs(state.rules.plans, request.budget, int(request.depth) + 2)
        graph, root = ground.of(state.rules.plans.with_goal(same.shape.clause), same.rows[0])
        note = "deeper proofs are not counted; allow more by --depth" if answer.truncated else ""
        text = goal_text(goal, state.rules.program)
        return _explanation(state.rules.program, text, graph, root, weight, request.top, note)

    def _read(self, rules: Proof, goals: Goals) -> GoalsState:
        names = tuple(goals.bindings or ())
        try:
            read = [rules.read(goal, names) for goal in goals.each]
            if goals.bindings:
                rows = tuple(rules.rows_of(read[0], goals.bindings))
                return GoalsState(rules, goals, (SameShape(read[0].shape, (0,), rows),))
        except NarrowError as narrow:
            return self._read(rules.wider(narrow), goals)
        return GoalsState(rules, goals, tuple(_same_shapes(rules, read)))


def _same_shapes(rules: Proof, goals: Sequence[Goal]) -> Iterable[SameShape]:
    places: dict[Any, list[int]] = {}
    for place, goal in enumerate(goals):
        key = rules.plans.with_goal(goal.shape.clause), goal.shape.variables
        places.setdefault(key, []).append(place)
    for same in places.values():
        yield SameShape(goals[same[0]].shape, tuple(same), tuple(goals[place].inputs for place in same))


def _by_goal(answer: GoalAnswers, count: int) -> Iterable[GoalAnswers]:
    """Split the answers of goals of one shape by goal."""
    table = answer.table
    ends = np.searchsorted(table.columns[0], np.arange(count + 1))
    for number in range(count):
        part = slice(ends[number], ends[number + 1])
        own = Table(table.names, tuple(column[part] for column in table.columns), table.values[part])
        yield replace(answer, table=own)
