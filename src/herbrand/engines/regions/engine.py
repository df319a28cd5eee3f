"""Lifted generalized belief propagation: regions hold sets of alike atoms and tell each other of counts.

Guarantee: ``exact`` where the regions form a tree, one region included; else ``approximation``, for marginals
and log-partition alike. What cannot be counted, or has no formula whose table over counts is within the cost,
gets the messages of belief propagation, at its cost; the answer says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee
from herbrand.answers.marginals import Marginals
from herbrand.answers.status import Status
from herbrand.contraction.memory import budget, readable
from herbrand.engines.asked import Asked
from herbrand.engines.belief.engine import BeliefPropagation, refuse_what_is_no_marginal
from herbrand.engines.belief.engine import State as GroundState
from herbrand.engines.belief.refuted import contradiction
from herbrand.engines.engine import Settings, Support
from herbrand.engines.lifted.costs import axes_of, largest_table
from herbrand.engines.lifted.problem import Problem, Solution, problem_of
from herbrand.engines.lifted.shares import Shares
from herbrand.engines.lifted.summation import Summation
from herbrand.engines.lifted.terms import NotLiftableError
from herbrand.engines.reading import looked_up
from herbrand.engines.regions.construction import merged, one_a_formula
from herbrand.engines.regions.counts import count_graph
from herbrand.engines.regions.expected import Beliefs, Believed
from herbrand.engines.regions.explanation import explained
from herbrand.engines.regions.graph import region_graph
from herbrand.engines.regions.messages import Propagation
from herbrand.engines.regions.runs import Run, Schedule, begun, stepped
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.program.evidence import Evidence
from herbrand.program.ground import BYTES_AN_ATOM
from herbrand.program.program import Program
from herbrand.program.question import Question

COST = 1e5
"""Clusters are merged up to so many entries unless told otherwise."""

LARGEST_FORMULA = 2e7
"""A single formula's table may have so many entries unless told otherwise."""

SCHEDULE = Schedule.sequential
STARTS = 2
ROUNDS_A_START = 300
EXPECTED_ROUNDS = 50
AT_REST = 1e-10
"""Regions without cycles are exact once they agree; until then they go on."""

BYTES_A_NUMBER = 8
TABLES_AT_ONCE = 4


@dataclass(frozen=True, eq=False)
class Part:
    """One summation and its regions; ``gentler`` ones are for where these do not come to rest."""

    summation: Summation
    propagation: Propagation
    gentler: tuple[Propagation, ...]


@dataclass(frozen=True, eq=False)
class State:
    """``runs``: for each part its starts. Where ``ground`` is set, why not and the messages instead."""

    question: Question
    problem: Problem | None = None
    parts: tuple[Part, ...] = ()
    runs: tuple[tuple[Run, ...], ...] = ()
    ground: GroundState | None = None
    reason: str = ""


@dataclass(frozen=True)
class Regions:
    """``cost`` bounds the entries of a region's table. ``joint``: regions tell each other of counts, else of
    one element at a time; ``merge``: formulas are put together in clusters. ``starts`` begin from different
    messages, and the one with the largest region free energy is taken: a heuristic, not a bound."""

    memory: int | None = None
    cost: float | None = None
    schedule: str | None = None
    damping: float | None = None
    starts: int = STARTS
    seed: int = 0
    tolerance: float = 1e-6
    joint: bool = True
    merge: bool = True
    name: str = field(default="regions", init=False)

    def __post_init__(self) -> None:
        self._ground  # noqa: B018  # which checks schedule and damping

    @classmethod
    def with_settings(cls, settings: Settings) -> Regions:
        return cls(
            settings.memory,
            settings.cost,
            settings.schedule,
            settings.damping,
            settings.starts or cls.starts,
            settings.seed,
            cls.tolerance if settings.tolerance is None else settings.tolerance,
        )

    @property
    def _ground(self) -> BeliefPropagation:
        """What takes over where nothing can be counted."""
        return BeliefPropagation.with_settings(
            Settings(memory=self.memory, schedule=self.schedule, damping=self.damping)
        )

    def supports(self, program: Program, question: Question) -> Support:
        try:
            state = self.start(program, question)
        except (BudgetError, UnsupportedError) as error:
            return Support(False, error.mistakes[0].message)
        if state.ground is not None:
            found = self._ground.supports(program, question)
            return replace(found, state=state, reason=_fell_back(state.reason))
        sizes = [_size(part) for part in state.parts]
        regions = sum(len(part.propagation.graph.regions) for part in state.parts)
        classes = sum(len(part.summation.bunches.all) for part in state.parts)
        detail = (
            f"{regions:,} regions over {classes:,} classes of alike constants, "
            f"the largest of {max((size.entries for size in sizes), default=0):,.0f} entries"
        )
        operations = EXPECTED_ROUNDS * self.starts * sum(size.operations for size in sizes)
        memory = sum(size.bytes for size in sizes)
        return Support(True, "", operations, memory, state, _guarantee(state), detail)

    def start(self, program: Program, question: Question) -> State:
        refuse_what_is_no_marginal(question, self.name)
        evidence = Evidence(program)
        try:
            problem = problem_of(program, evidence)
            parts = [self._part(summation) for summation in problem.summations if not summation.impossible]
        except NotLiftableError as reason:
            return State(question, ground=self._ground.start(program, question), reason=str(reason))
        parts = tuple(part for part in parts if part.propagation.possible)
        if not parts:
            raise contradiction(program, budget(self.memory))
        self._refuse_too_many_atoms(evidence, question)
        return State(question, problem, parts, tuple(self._begun(part) for part in parts))

    def step(self, state: State) -> State:
        """A round of the first start that is not done yet; when all are, of the best that is not at rest."""
        if state.problem is None:
            assert state.ground is not None
            return replace(state, ground=self._ground.step(state.ground))
        part, number = self._next(state)
        runs = state.runs[part]
        if number == len(runs):
            gentler = state.parts[part].gentler[number - self._starts(state.parts[part])]
            runs = (*runs, begun(gentler, self.damping, None))
        run = stepped(runs[number], Schedule(self.schedule or SCHEDULE), self.damping is None)
        if math.isnan(run.moved):
            return self._without(state, part)
        runs = (*runs[:number], run, *runs[number + 1 :])
        return replace(state, runs=(*state.runs[:part], runs, *state.runs[part + 1 :]))

    def residual(self, state: State) -> float:
        """How far the best runs are from rest; infinity while there are starts left to try."""
        if state.problem is None:
            assert state.ground is not None
            return self._ground.residual(state.ground)
        pairs = zip(state.parts, state.runs, strict=True)
        if any(self._waiting(part, runs) is not None for part, runs in pairs):
            return math.inf
        best = [self._best(runs) for runs in state.runs]
        return 0.0 if all(map(self._at_rest, best)) else max(run.moved for run in best)

    def read(self, state: State, status: Status) -> Marginals:
        if state.problem is None:
            assert state.ground is not None
            told = status.advice or _fell_back(state.reason)
            return replace(self._ground.read(state.ground, replace(status, advice=told)), engine=self.name)
        solution = self._solution(state)
        exact = _guarantee(state) is Guarantee.EXACT and status.converged
        return Marginals(
            self.name,
            Guarantee.EXACT if exact else Guarantee.APPROXIMATION,
            status,
            tuple(looked_up(state.problem.evidence, solution.of, state.question)),
            (),
            solution.total,
            PartitionGuarantee.EXACT if exact else PartitionGuarantee.APPROXIMATION,
        )

    def explain(self, state: State, status: Status) -> Explanation:
        """The log-odds shared out among the statements of the atom's region and what others tell it."""
        if state.problem is None:
            assert state.ground is not None
            found = self._ground.explain(state.ground, status)
            return replace(found, engine=self.name, note=_fell_back(state.reason))
        asked = Asked.of(state.question, state.problem.evidence)
        solution = self._solution(state)
        best = [self._best(runs) for runs in state.runs]
        believed = [Beliefs(run.propagation, run.messages) for run in best]
        guarantee = _guarantee(state) if status.converged else Guarantee.APPROXIMATION
        return explained(asked, solution, believed, guarantee, self.name)

    def _part(self, summation: Summation) -> Part:
        """The regions of a summation, or :class:`NotLiftableError` where they would be too large."""
        rows, cost = axes_of(summation)
        allowed = COST if self.cost is None else self.cost
        largest = largest_table(summation, rows, allowed)
        self._refuse(largest, cost.bytes)
        graph = count_graph(summation, allowed)
        formulas = one_a_formula(graph)
        together = sum(map(graph.made, formulas))
        self._refuse(largest, cost.bytes + (together - largest) * BYTES_A_NUMBER * TABLES_AT_ONCE)
        clusters = merged(graph, formulas, self._most(largest, len(formulas))) if self.merge else formulas
        singles = [i for i, v in enumerate(graph.variables) if not self.joint and v.weights is not None]
        ladder = dict.fromkeys([(tuple(clusters), True), (tuple(formulas), True), (tuple(clusters), False)])
        if graph.wide:  # such clusters tell of one variable at a time
            ladder = dict.fromkeys([(tuple(clusters), False), (tuple(formulas), False)])
        first, *gentler = (
            Propagation(graph, region_graph(outer, singles, graph.scopes, deep)) for outer, deep in ladder
        )
        return Part(summation, first, tuple(gentler))

    def _most(self, largest: float, clusters: int) -> float:
        """How large a merged cluster may be, so that memory holds as many."""
        room = budget(self.memory) / (BYTES_A_NUMBER * TABLES_AT_ONCE * max(1, clusters))
        return max(largest, min(COST if self.cost is None else self.cost, room))

    def _refuse(self, entries: float, needed: float) -> None:
        allowed, most = budget(self.memory), LARGEST_FORMULA if self.cost is None else self.cost
        if entries > most:
            raise NotLiftableError(
                f"a formula's table over counts would have {entries:,.0f} entries, and {most:,.0f} are "
                "allowed (--cost)"
            )
        needed += entries * BYTES_A_NUMBER * TABLES_AT_ONCE
        if needed > allowed:
            told = readable(needed) if math.isfinite(needed) else "more than any machine has"
            raise NotLiftableError(f"counting needs {told} and may use {readable(allowed)}")

    def _begun(self, part: Part) -> tuple[Run, ...]:
        """Runs from different messages; where the end does not depend on them one is enough."""
        dice = np.random.default_rng(self.seed)
        starts = range(self._starts(part))
        return tuple(begun(part.propagation, self.damping, dice if number else None) for number in starts)

    def _starts(self, part: Part) -> int:
        return 1 if part.propagation.graph.acyclic else self.starts

    def _next(self, state: State) -> tuple[int, int]:
        """The part and the number of the run to go on with."""
        for part, runs in enumerate(state.runs):
            number = self._waiting(state.parts[part], runs)
            if number is not None:
                return part, number
        best = [self._best(runs) for runs in state.runs]
        part = next((part for part, run in enumerate(best) if not self._at_rest(run)), 0)
        return part, state.runs[part].index(best[part])

    def _waiting(self, part: Part, runs: tuple[Run, ...]) -> int | None:
        """The first run that is not done; a new one, on gentler regions, where none came to rest."""
        for number, run in enumerate(runs):
            if not self._at_rest(run) and run.rounds < ROUNDS_A_START:
                return number
        tried_all = len(runs) == self._starts(part) + len(part.gentler)
        return None if tried_all or any(map(self._at_rest, runs)) else len(runs)

    def _at_rest(self, run: Run) -> bool:
        exact = run.propagation.graph.acyclic
        return run.moved <= (min(self.tolerance, AT_REST) if exact else self.tolerance)

    def _best(self, runs: tuple[Run, ...]) -> Run:
        """Of those at rest the one with the largest free energy; else the one nearest to rest."""
        at_rest = [run for run in runs if self._at_rest(run)]
        if not at_rest:
            return min(runs, key=lambda run: run.moved)
        return max(at_rest, key=lambda run: run.propagation.free_energy(run.messages))

    def _without(self, state: State, part: int) -> State:
        """Without a part that messages have found impossible."""
        assert state.problem is not None
        if len(state.parts) == 1:
            raise contradiction(state.problem.evidence.program, budget(self.memory))
        parts = (*state.parts[:part], *state.parts[part + 1 :])
        return replace(state, parts=parts, runs=(*state.runs[:part], *state.runs[part + 1 :]))

    def _solution(self, state: State) -> Solution:
        """What the best runs make of all parts together."""
        assert state.problem is not None
        totals, found = [], []
        for part, runs in zip(state.parts, state.runs, strict=True):
            best = self._best(runs)
            totals.append(best.propagation.free_energy(best.messages))
            believed = Believed(part.summation, Beliefs(best.propagation, best.messages))
            found.append(Shares(believed, believed.sums()))
        shares = torch.softmax(torch.tensor(totals, dtype=torch.float64), 0).tolist()
        total = float(torch.logsumexp(torch.tensor(totals, dtype=torch.float64), 0))
        elsewhere = float(state.problem.elsewhere.detach())
        return Solution(state.problem, total + elsewhere, tuple(zip(shares, found, strict=True)))

    def _refuse_too_many_atoms(self, evidence: Evidence, question: Question) -> None:
        if not question.everything:
            return
        allowed = budget(self.memory)
        count = sum(evidence.known(p).latent_count() for p in evidence.program.signature.predicates)
        if count * BYTES_AN_ATOM > allowed:
            raise BudgetError(
                f"the answer would list {count:,} atoms: about {readable(count * BYTES_AN_ATOM)}, and "
                f"{readable(allowed)} are allowed",
                hint="ask for the predicates or atoms that matter by --query",
            )


@dataclass(frozen=True)
class Size:
    """Of a part: the largest table, the operations of a round, and the bytes of all tables."""

    entries: float
    operations: float
    bytes: float


def _size(part: Part) -> Size:
    graph = part.propagation.graph
    entries = [part.propagation.entries(number) for number in range(len(graph.regions))]
    told = sum(
        (entries[parent] + entries[child]) * (1 + len(graph.entering[parent]))
        for parent, child in graph.edges
    )
    return Size(max(entries), told + max(entries), 2 * BYTES_A_NUMBER * sum(entries))


def _guarantee(state: State) -> Guarantee:
    acyclic = all(part.propagation.graph.acyclic for part in state.parts)
    return Guarantee.EXACT if acyclic else Guarantee.APPROXIMATION


def _fell_back(reason: str) -> str:
    return f"messages are those of bp, since {reason}"
