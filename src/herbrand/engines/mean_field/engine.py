"""Mean field: the product distribution nearest to the model, by messages contracted over logical variables.

Guarantee: marginals are an ``approximation``; the log-partition is a certified lower bound. The cost of a
step is that of the contraction of each template, whatever its number of groundings. The most probable world
is sought by annealing and then improved atom by atom.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee, Status
from herbrand.answers.marginals import Marginals
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.engine import Cost, Prepared, Refusal, Settings
from herbrand.engines.loop import Schedule
from herbrand.engines.mean_field.colouring import AtomClass, colouring
from herbrand.engines.mean_field.explanation import explained
from herbrand.engines.mean_field.formulas import formula_rows
from herbrand.engines.mean_field.outline import Outline, outlined
from herbrand.engines.mean_field.problem import Problem, problem_of
from herbrand.engines.mean_field.reading import queried_tables
from herbrand.engines.mean_field.run import MeanFieldRun, in_parallel, in_turn, started
from herbrand.errors import BudgetError, HerbrandError, UnsupportedError
from herbrand.extras import require
from herbrand.program.program import Program
from herbrand.program.question import Question

SMALL_ENOUGH = 2_000
"""Most classes of atoms for which worlds are improved class by class; beyond it whole predicates move."""

ANNEALING_STEPS = 60
# Factors of all messages in the first and the last annealing step, in geometric progression between.
FIRST_SHARPNESS, LAST_SHARPNESS = 0.5, 20.0


@dataclass(frozen=True, eq=False)
class MeanFieldState:
    """The runs from all starts. ``steps``: those taken; ``classes``: atoms that may move at once, where
    needed."""

    problem: Problem
    question: Question
    runs: tuple[MeanFieldRun, ...]
    steps: int = 0
    classes: tuple[AtomClass, ...] | None = None

    @property
    def best(self) -> MeanFieldRun:
        """The run with the highest bound."""
        if len(self.runs) == 1:
            return self.runs[0]
        return max(self.runs, key=lambda run: bound(self.problem, run))


@dataclass(frozen=True)
class MeanField:
    """The engine. ``schedule``: ``parallel``, or ``sequential``, under which the bound never falls.

    ``damping``: the part of the old logits that a parallel step keeps; if None the stride adapts to the
    bound's slope. ``starts``: number of runs; the first from the soft evidence alone, others from random
    logits; the one with the highest bound is kept. ``clip``: a statement moves an atom's log-odds by less
    than this times its weight. That is another model than the theory
    (:mod:`herbrand.engines.mean_field.clipping`): it has no bound, and no worlds.
    """

    budget: Budget = UNLIMITED
    schedule: str = Schedule.parallel
    damping: float | None = None
    starts: int = 1
    seed: int = 0
    clip: float | None = None
    name: str = field(default="mean-field", init=False)
    whole_tables: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        if self.clip is not None and (self.schedule == "sequential" or self.starts > 1):
            asked = "the sequential schedule raises" if self.schedule == "sequential" else "starts compare"
            raise UnsupportedError(
                f"{asked} a bound on log Z, and clipped messages have none",
                hint="leave out --clip, or take one parallel run",
            )

    @classmethod
    def with_settings(cls, settings: Settings) -> MeanField:
        require("torch")  # only a run imports it
        return cls(
            settings.budget,
            cls.schedule if settings.schedule is None else settings.schedule,
            settings.damping,
            settings.starts or 1,
            settings.seed,
            settings.clip,
        )

    def prepare(
        self, program: Program, question: Question, within: Budget
    ) -> Prepared[MeanFieldState] | Refusal:
        if self.clip is not None and question.most_probable:
            why = "with clipped messages worlds have no weights to compare"
            return Refusal(UnsupportedError(why, hint="leave out --clip"))
        try:
            # a formula as it is has exact messages, and hard statements that tie its parts have none
            outline = outlined(program.undivided, within, clip=self.clip)
            cost = Cost(outline.operations, outline.bytes)  # a contraction that does not fit raises
            begin = partial(self._started, outline, question, within)
            if self.schedule == Schedule.sequential:  # raises BudgetError for too many atoms to colour
                return Prepared.ready(begin(), cost)
        except HerbrandError as error:  # also a contradiction among hard statements
            return Refusal(error)
        return Prepared(begin, lambda: cost)

    def _started(self, outline: Outline, question: Question, within: Budget) -> MeanFieldState:
        problem = problem_of(outline, within, self.clip)
        seeds = [None, *(self.seed + number for number in range(1, self.starts))]
        stride = 1.0 if self.damping is None else 1 - self.damping
        classes = colouring(problem, within) if self.schedule == Schedule.sequential else None
        return MeanFieldState(
            problem, question, tuple(started(problem, stride, seed) for seed in seeds), 0, classes
        )

    def step(self, state: MeanFieldState) -> MeanFieldState:
        advance = self._towards_world if state.question.most_probable else self._towards_fixed_point
        return advance(state)

    def _towards_fixed_point(self, state: MeanFieldState) -> MeanFieldState:
        return self._each(state, lambda run: self._updated(state, run))

    def _updated(self, state: MeanFieldState, run: MeanFieldRun, sharpness: float = 1.0) -> MeanFieldRun:
        if state.classes is not None and self.schedule == "sequential":
            return in_turn(state.problem, run, state.classes, sharpness)
        return in_parallel(state.problem, run, self.damping is None, sharpness)

    def _towards_world(self, state: MeanFieldState) -> MeanFieldState:
        """Anneal first; then move each class to its best values until none changes."""
        if state.steps < ANNEALING_STEPS:
            share = state.steps / (ANNEALING_STEPS - 1)
            sharpness = FIRST_SHARPNESS * (LAST_SHARPNESS / FIRST_SHARPNESS) ** share
            after = self._each(state, lambda run: self._updated(state, run, sharpness))
            return replace(after, runs=tuple(replace(run, moved=math.inf) for run in after.runs))
        if state.classes is None:
            state = replace(state, classes=self._classes(state.problem))
        classes = state.classes or ()
        return self._each(state, lambda run: in_turn(state.problem, run, classes, math.inf))

    def _classes(self, problem: Problem) -> tuple[AtomClass, ...]:
        """Classes for the last improvements; whole predicates where there would be too many classes."""
        try:
            classes = colouring(problem, self.budget)
        except BudgetError:
            classes = ()
        if 0 < len(classes) <= SMALL_ENOUGH:
            return classes
        return tuple(AtomClass(name, None) for name in problem.unknowns.tables)

    def _each(self, state: MeanFieldState, update: Callable[[MeanFieldRun], MeanFieldRun]) -> MeanFieldState:
        return replace(state, runs=tuple(map(update, state.runs)), steps=state.steps + 1)

    def residual(self, state: MeanFieldState) -> float:
        return max(run.moved for run in state.runs)

    def read(self, state: MeanFieldState, status: Status) -> Marginals:
        problem, question, run = state.problem, state.question, state.best
        likeliest = question.most_probable
        bounded = None if self.clip is not None else bound(problem, run)
        return Marginals(
            self._model,
            Guarantee.APPROXIMATION,
            status,
            tuple(queried_tables(problem, run.marginals, question, likeliest)),
            formula_rows(problem, run.marginals, question, self.budget.for_answering()),
            None if likeliest else bounded,
            None if likeliest or bounded is None else PartitionGuarantee.LOWER,
            likeliest,
            bounded if likeliest else None,
        )

    @property
    def _model(self) -> str:
        """The engine's name, with the clip if there is one, as that is another model than the theory."""
        return self.name if self.clip is None else f"{self.name} (clip {self.clip:g})"

    def explain(self, state: MeanFieldState, status: Status) -> Explanation:
        """The groundings that move the queried atom, each with what it adds to the atom's log-odds."""
        return explained(state.problem, state.best.marginals, state.question, self._model)


def bound(problem: Problem, run: MeanFieldRun) -> float:
    """The expected log-weight plus the entropy: at most log Z; for a world, its log-weight."""
    value, _ = problem.messages(run.marginals, problem.weights)
    return (
        value + problem.unknowns.opinions(run.marginals) + problem.unknowns.entropy(run.logits, run.marginals)
    )
