"""Loopy belief propagation on the factor graph of a program, lifted by its symmetries.

Guarantee: ``exact`` where the ground factor graph is a forest, else ``approximation``, for marginals and for
the Bethe log-partition alike. Cost of a round: the tables of one factor a class, whatever the domains' sizes;
with no symmetry left it is the cost of ground messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee, Status
from herbrand.answers.marginals import Marginals
from herbrand.budget import UNLIMITED, Budget, refuse_beyond
from herbrand.engines.belief.explanation import explained
from herbrand.engines.belief.forest import forest_order
from herbrand.engines.belief.messages import bethe, flood, log_beliefs, no_messages, sweep
from herbrand.engines.belief.pace import BEGUN, Pace
from herbrand.engines.contradiction import proved_contradiction
from herbrand.engines.engine import REFUSALS, Cost, Prepared, Refusal, Settings
from herbrand.engines.loop import Schedule
from herbrand.engines.reading import looked_up
from herbrand.errors import UnsupportedError, counted, few_of
from herbrand.factors.compiled import Compiled, compiled
from herbrand.factors.graph import Array
from herbrand.factors.pieces import LARGEST_TABLE
from herbrand.factors.possible_values import possible_values
from herbrand.language.show import statement_text
from herbrand.program.ground import BYTES_AN_ATOM
from herbrand.program.program import Program
from herbrand.program.question import Question, refuse_formulas

ROUNDS_EXPECTED = 50
GENTLER = (0.0, 0.5, 0.9)
"""Dampings of the restarts, factor after factor, after messages have run away."""


@dataclass(frozen=True, eq=False)
class BeliefState:
    """Messages from factors to axes, and the pace of the run.

    ``order``: factors of a forest, leaves first, None if there are cycles; ``rounds``: number of rounds
    taken in all.
    """

    lasting: ClassVar[bool] = True
    question: Question
    compiled: Compiled
    order: Array | None
    messages: Array
    pace: Pace = BEGUN
    rounds: int = 0


@dataclass(frozen=True)
class BeliefPropagation:
    """Settings of belief propagation. ``schedule``: all messages at once, or factor after factor; if None,
    all at once until they run away. ``damping``: share of the old log-message that is kept; if None, it is
    raised automatically where rounds do not help."""

    budget: Budget = UNLIMITED
    schedule: str | None = None
    damping: float | None = None
    lift: bool = True
    name: str = field(default="bp", init=False)
    whole_tables: bool = field(default=True, init=False)

    @classmethod
    def with_settings(cls, settings: Settings) -> BeliefPropagation:
        return cls(settings.budget, settings.schedule, settings.damping)

    def prepare(
        self, program: Program, question: Question, within: Budget
    ) -> Prepared[BeliefState] | Refusal:
        try:
            state = self._compiled(program, question, within)
        except REFUSALS as error:
            return Refusal(error)
        graph = state.compiled.graph
        classes = counted(state.compiled.class_count, "class", "classes")
        detail = f"{classes} of {counted(state.compiled.atom_count, 'latent atom')}"
        return Prepared.ready(state, Cost(graph.operations * ROUNDS_EXPECTED, graph.bytes, detail=detail))

    def _compiled(self, program: Program, question: Question, within: Budget) -> BeliefState:
        refuse_what_is_no_marginal(question, self.name)
        memory = within.bytes
        network = compiled(program, within, self.lift)
        if question.everything:
            what = f"the probabilities of all {network.atom_count:,} latent atoms need"
            hint = "ask for some of them by --query, or allow more by --memory"
            refuse_beyond(network.atom_count * BYTES_AN_ATOM, memory, what, hint)
        if possible_values(network.graph) is None:
            raise proved_contradiction(network.program, within)
        return BeliefState(
            question,
            network,
            forest_order(network.graph),
            no_messages(network.graph),
            Pace(self.damping or 0.0),
        )

    def step(self, state: BeliefState) -> BeliefState:
        graph, before = state.compiled.graph, state.rounds
        if state.order is not None:
            inwards, _ = sweep(graph, state.messages, state.order, 0.0)
            messages, _ = sweep(graph, inwards, state.order[::-1].copy(), 0.0)
            moved = 0.0
        elif self._schedule(state) == Schedule.sequential:
            order = np.arange(graph.factor_count)
            messages, moved = sweep(graph, state.messages, order, state.pace.damping, before)
        else:
            messages, moved = flood(graph, state.messages, state.pace.damping, before)
        return self._paced(state, messages, moved)

    def _schedule(self, state: BeliefState) -> str:
        """Schedule of the user, or all at once until that has run away."""
        return self.schedule or (Schedule.sequential if state.pace.restarts else Schedule.parallel)

    def _paced(self, state: BeliefState, messages: Array, moved: float) -> BeliefState:
        """The state after a round; messages that run away begin again with more damping."""
        pace, again = state.pace.after(moved, self.damping, self._gentler)
        first = no_messages(state.compiled.graph) if again else messages
        return replace(state, messages=first, pace=pace, rounds=state.rounds + 1)

    @property
    def _gentler(self) -> tuple[float, ...]:
        """Dampings of the runs after the first, without those that would repeat it."""
        if self.damping is not None:
            return () if self.schedule else (self.damping,)
        return GENTLER[1:] if self.schedule == Schedule.sequential else GENTLER

    def residual(self, state: BeliefState) -> float:
        return state.pace.moved

    def read(self, state: BeliefState, status: Status) -> Marginals:
        network = state.compiled
        beliefs = log_beliefs(network.graph, state.messages).probabilities(network.graph)
        log_partition = bethe(network.graph, state.messages)

        def look_up(predicate: str, codes: Array) -> Array:
            axes = network.axis_class[network.axes_of(predicate, codes)]
            return beliefs[axes, : network.program.value_count(predicate)]

        exact = state.order is not None
        return Marginals(
            self.name,
            Guarantee.EXACT if exact else Guarantee.APPROXIMATION,
            replace(status, advice=_with_note(status.advice, network)),
            tuple(looked_up(network.evidence, look_up, state.question)),
            (),
            log_partition,
            PartitionGuarantee.EXACT if exact else PartitionGuarantee.APPROXIMATION,
        )

    def explain(self, state: BeliefState, status: Status) -> Explanation:
        """Explain the log-odds of the queried atom by the messages of the factors around it."""
        guarantee = Guarantee.EXACT if state.order is not None else Guarantee.APPROXIMATION
        return explained(state.compiled, state.question, state.messages, guarantee, self.name)


def _with_note(advice: str, compiled: Compiled) -> str:
    """The advice, with the statements whose influence messages understate."""
    if not compiled.apart:
        return advice
    program = compiled.program
    texts = [statement_text(program.statements[number]) for number in compiled.apart]
    note = (
        f"over more joint values than a table may have ({LARGEST_TABLE:,}), so that messages treat each case "
        f"as a factor of its own, which is less exact: {few_of(texts, '; ', 3)}"
    )
    return f"{advice}; {note}" if advice else note


def refuse_what_is_no_marginal(question: Question, engine: str) -> None:
    """Raise UnsupportedError for questions that messages cannot answer: the most probable
    world, and formulas."""
    if question.most_probable:
        raise UnsupportedError(
            f"{engine} gives marginals, no most probable world",
            hint="use --engine exact or lifted for --map",
        )
    refuse_formulas(question, engine, "use --engine exact, or name the formula: hard: asked(x) <=> ...")
