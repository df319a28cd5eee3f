"""Lifted generalized belief propagation: regions hold sets of interchangeable atoms and exchange counts.

Guarantee: ``exact`` if the regions form a tree, one region included; else ``approximation``, for marginals
and log-partition alike. If the program cannot be counted, or the table of some formula would exceed the cost,
:func:`with_messages` falls back to the messages of belief propagation, at their cost, and the answer says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import numpy as np

from herbrand import arrays
from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee, Status
from herbrand.answers.marginals import Marginals
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.belief.engine import BeliefPropagation, BeliefState, refuse_what_is_no_marginal
from herbrand.engines.contradiction import contradiction
from herbrand.engines.engine import REFUSALS, Cost, Prepared, Refusal, Settings
from herbrand.engines.fallback import Fallback, HandOverError, SecondState
from herbrand.engines.lifted import costs
from herbrand.engines.lifted.atom_probabilities import AtomProbabilities
from herbrand.engines.lifted.problem import Problem, Solution, posed
from herbrand.engines.lifted.terms import NotLiftableError
from herbrand.engines.loop import Schedule
from herbrand.engines.reading import ExplainedAtom, looked_up
from herbrand.engines.regions.expected import Beliefs
from herbrand.engines.regions.explanation import explained
from herbrand.engines.regions.loopy import Loopy
from herbrand.engines.regions.message_run import RegionRun, begun, drawn_leanings, stepped
from herbrand.engines.regions.parts import Construction, RegionPart, size_of
from herbrand.errors import counted
from herbrand.program.ground import refuse_long_answer
from herbrand.program.program import Program
from herbrand.program.question import Question

SCHEDULE = Schedule.sequential
STARTS = 2
ROUNDS_A_START = 300
EXPECTED_ROUNDS = 50
MOST_ESTIMATED = 1e7
"""Operations of counting above which the estimate is made from shapes, without counting."""
AT_REST = 1e-10
"""Residual at which regions without cycles, which are exact once they agree, are at rest."""

STRUCTURES: dict[str, dict[str, bool]] = {
    "merged": {},
    "counts": {"merge": False},
    "elements": {"merge": False, "joint": False},
    "partial": {"partial": True},
    "ground": {"lift": False},
}
"""Structures that the user may name: formulas merged into clusters; one formula a cluster, sending joint
counts, or counts of one constant at a time; clusters that may take some constants at a time; one ground
formula a region."""

SAME_MODE = 0.5
"""Difference up to which lower bounds may be of one mode, or of two of about equal weight."""

OUTDONE = (
    "they are in a mode whose lower bound on the log-partition is larger than that of any start of regions"
)
NOT_COMPARED = "regions are not compared with bp, which may be nearer to the truth, since "
AS_ASKED = "each region is one ground formula (--structure ground)"


@dataclass(frozen=True, eq=False)
class RegionState:
    """State of a run. ``runs``: the starts of each part; ``loopy``: fixed point of messages between ground
    atoms, None without one."""

    lasting: ClassVar[bool] = True
    question: Question
    problem: Problem
    parts: tuple[RegionPart, ...]
    runs: tuple[tuple[RegionRun, ...], ...]
    loopy: Loopy | None = None


@dataclass(frozen=True)
class Regions:
    """Settings of regions. ``cost``: bound on the entries of a region's table. ``joint``: regions exchange
    joint counts, else messages about one element. ``merge``: formulas are merged into clusters. Without
    ``lift`` each region is one ground formula, as in ``bp``. ``partial``: if counting all is too expensive,
    regions take some constants at a time. ``starts``: number of runs from different messages, the last from
    the fixed point of ``bp``. Of the runs at rest the one with the largest lower bound on the log-partition
    is taken, and among bounds within ``SAME_MODE`` the one with the largest region free energy, which is a
    heuristic and bounds nothing."""

    budget: Budget = UNLIMITED
    cost: float | None = None
    schedule: str | None = None
    damping: float | None = None
    starts: int = STARTS
    seed: int = 0
    tolerance: float = 1e-6
    joint: bool = True
    merge: bool = True
    lift: bool = True
    partial: bool = False
    name: str = field(default="regions", init=False)
    whole_tables: bool = field(default=True, init=False)

    @classmethod
    def with_settings(cls, settings: Settings) -> Fallback:
        engine = cls(
            settings.budget,
            settings.cost,
            settings.schedule,
            settings.damping,
            settings.starts or cls.starts,
            settings.seed,
            cls.tolerance if settings.tolerance is None else settings.tolerance,
            **STRUCTURES["merged" if settings.structure is None else settings.structure],
        )
        return with_messages(engine)

    @property
    def messages(self) -> BeliefPropagation:
        """Belief propagation between ground atoms, with the same settings."""
        return BeliefPropagation.with_settings(
            Settings(budget=self.budget, schedule=self.schedule, damping=self.damping)
        )

    def _construction(self, within: Budget) -> Construction:
        """Construction of the regions with these settings."""
        return Construction(self.budget, self.cost, self.joint, self.merge, self.partial, within)

    def prepare(
        self, program: Program, question: Question, within: Budget
    ) -> Prepared[RegionState] | Refusal:
        try:
            refuse_what_is_no_marginal(question, self.name)
            if not self.lift:
                raise HandOverError(AS_ASKED)
            problem = posed(program, budget=within)
            counting = self._counting(problem, within)
            if counting.operations > MOST_ESTIMATED:
                cost = Cost(counting.operations, counting.bytes, detail="regions are made when it runs")
                return Prepared(partial(self._made, problem, question, self.budget), lambda: cost)
            state = self._made(problem, question, within)
        except REFUSALS as error:
            return Refusal(error)
        return Prepared(lambda: state, lambda: self._cost(state))

    def _counting(self, problem: Problem, within: Budget) -> costs.Cost:
        """Cost of counting alone, which may be too much to be done for an estimate."""
        try:
            return self._construction(within).counting(problem)
        except NotLiftableError:  # regions may still take some constants at a time
            return costs.Cost(0.0, 0.0)

    def _cost(self, state: RegionState) -> Cost:
        sizes = [size_of(part) for part in state.parts]
        regions = sum(len(part.propagation.graph.regions) for part in state.parts)
        classes = sum(len(part.summation.element_groups.all) for part in state.parts)
        entries = max((size.entries for size in sizes), default=0)
        detail = (
            f"{counted(regions, 'region')} over {counted(classes, 'class', 'classes')} of alike constants, "
            f"the largest of {entries:,.0f} {'entry' if entries == 1 else 'entries'}"
        )
        if any(part.propagation.counts.layout is None for part in state.parts):
            detail += "; formulas too large for that take some constants at a time"
        operations = sum(
            size.making * (1 + read) + EXPECTED_ROUNDS * self._starts(part) * size.operations
            for part, size, read in zip(state.parts, sizes, _clamps(state), strict=True)
        )
        return Cost(operations, sum(size.bytes for size in sizes), self._guarantee(state), detail)

    def _made(self, problem: Problem, question: Question, within: Budget) -> RegionState:
        problem, parts = self._construction(within).parted(problem)
        evidence = problem.evidence
        parts = tuple(part for part in parts if part.propagation.possible)
        if not parts:
            raise contradiction(evidence.program, within, self.name)
        refuse_long_answer(evidence, question, self.budget)
        loopy = None
        if self.starts > 1 and not all(part.propagation.graph.acyclic for part in parts):
            loopy = Loopy.of(evidence.program, question, self.messages, within)
        return RegionState(question, problem, parts, tuple(self._begun(part, loopy) for part in parts), loopy)

    def step(self, state: RegionState) -> RegionState | SecondState[BeliefState]:
        """Take a round of the first start that is not done; when all are, of the best one that is
        not at rest."""
        part, number = self._next(state)
        runs = state.runs[part]
        if number == len(runs):
            gentler = state.parts[part].gentler[number - self._starts(state.parts[part])]
            runs = (*runs, begun(gentler, self.damping))
        run = stepped(runs[number], Schedule(self.schedule or SCHEDULE), self.damping is None)
        if math.isnan(run.pace.moved):
            return self._without(state, part)
        runs = (*runs[:number], run, *runs[number + 1 :])
        return self._outdone(replace(state, runs=(*state.runs[:part], runs, *state.runs[part + 1 :])))

    def residual(self, state: RegionState) -> float:
        """Largest residual of the best runs; infinite while there are starts left to try."""
        pairs = zip(state.parts, state.runs, strict=True)
        if any(self._waiting(part, runs) is not None for part, runs in pairs):
            return math.inf
        best = [self._best(runs) for runs in state.runs]
        return 0.0 if all(map(self._at_rest, best)) else max(run.pace.moved for run in best)

    def read(self, state: RegionState, status: Status) -> Marginals:
        solution = self._solution(state)
        exact = self._guarantee(state) is Guarantee.EXACT and status.converged
        notes = filter(None, (status.advice, self._not_compared(state)))
        return Marginals(
            self.name,
            Guarantee.EXACT if exact else Guarantee.APPROXIMATION,
            replace(status, advice="; ".join(notes)),
            tuple(looked_up(state.problem.evidence, solution.of, state.question)),
            (),
            solution.total,
            PartitionGuarantee.EXACT if exact else PartitionGuarantee.APPROXIMATION,
        )

    def explain(self, state: RegionState, status: Status) -> Explanation:
        """Share the log-odds out among the statements of the atom's region and the messages from others."""
        queried = ExplainedAtom.of(state.question, state.problem.evidence)
        solution = self._solution(state)
        best = [self._best(runs) for runs in state.runs]
        believed = [Beliefs(run.propagation, run.messages) for run in best]
        guarantee = self._guarantee(state) if status.converged else Guarantee.APPROXIMATION
        return explained(queried, solution, believed, guarantee, self.name)

    def _begun(self, part: RegionPart, loopy: Loopy | None = None) -> tuple[RegionRun, ...]:
        """Runs from different messages, the last from the fixed point of messages between ground atoms; one
        run if the result does not depend on the start."""
        dice, propagation = np.random.default_rng(self.seed), part.propagation
        leanings = [drawn_leanings(propagation, dice) for _ in range(self._starts(part) - 1)]
        if loopy is not None and leanings:
            leanings[-1] = loopy.leanings(part)
        return tuple(begun(propagation, self.damping, lean) for lean in (None, *leanings))

    def _starts(self, part: RegionPart) -> int:
        return 1 if part.propagation.graph.acyclic else self.starts

    def _outdone(self, state: RegionState) -> RegionState | SecondState[BeliefState]:
        """The state, or that of belief propagation if its mode is known to be better than all in which
        regions came to rest."""
        pairs = list(zip(state.parts, state.runs, strict=True))
        if state.loopy is None or len(pairs) > 1 or self._waiting(*pairs[0]) is not None:
            return state
        ((part, runs),) = pairs
        if state.loopy.bound(part) <= self._best(runs).bound + SAME_MODE:
            return state
        return SecondState(state.loopy.state, OUTDONE)

    def _not_compared(self, state: RegionState) -> str:
        """Reason why no lower bound decided between regions and ``bp``; empty if one did, or
        none is needed."""
        if self._guarantee(state) is Guarantee.EXACT:
            return ""
        if self.starts == 1:
            return NOT_COMPARED + "there is one start (--starts)"
        if state.loopy is None:
            return NOT_COMPARED + "bp cannot run or has not come to rest"
        (part, *others), (runs, *_) = state.parts, state.runs
        if others:
            return NOT_COMPARED + f"the worlds fall into {len(state.parts)} parts with regions of their own"
        if part.propagation.counts.layout is None:
            return NOT_COMPARED + "regions of some constants at a time give no lower bound"
        if self._best(runs).bound == -math.inf == state.loopy.bound(part):
            return NOT_COMPARED + "with these hard statements neither gives a lower bound"
        return ""

    def _next(self, state: RegionState) -> tuple[int, int]:
        """Number of the part and of its run that takes the next step."""
        for part, runs in enumerate(state.runs):
            number = self._waiting(state.parts[part], runs)
            if number is not None:
                return part, number
        best = [self._best(runs) for runs in state.runs]
        part = next((part for part, run in enumerate(best) if not self._at_rest(run)), 0)
        return part, state.runs[part].index(best[part])

    def _waiting(self, part: RegionPart, runs: tuple[RegionRun, ...]) -> int | None:
        """Number of the first run that is not done; of a new one, on gentler regions, if none came to
        rest; else None."""
        for number, run in enumerate(runs):
            if not self._at_rest(run) and run.rounds < ROUNDS_A_START:
                return number
        tried_all = len(runs) == self._starts(part) + len(part.gentler)
        return None if tried_all or any(map(self._at_rest, runs)) else len(runs)

    def _at_rest(self, run: RegionRun) -> bool:
        exact = run.propagation.graph.acyclic
        return run.pace.moved <= (min(self.tolerance, AT_REST) if exact else self.tolerance)

    def _best(self, runs: tuple[RegionRun, ...]) -> RegionRun:
        """Of the runs at rest in the mode of the largest lower bound, the one with the largest free energy;
        if none is at rest, the one nearest to it."""
        at_rest = [run for run in runs if self._at_rest(run)]
        if not at_rest:
            return min(runs, key=lambda run: run.pace.moved)
        if len(at_rest) == 1:
            return at_rest[0]
        largest = max(run.bound for run in at_rest)
        same = [run for run in at_rest if run.bound >= largest - SAME_MODE]
        return max(same, key=lambda run: run.propagation.free_energy(run.messages))

    def _guarantee(self, state: RegionState) -> Guarantee:
        """Guarantee of the regions from which the answer is read, which may be gentler ones
        than the first."""
        acyclic = all(self._best(runs).propagation.graph.acyclic for runs in state.runs)
        return Guarantee.EXACT if acyclic else Guarantee.APPROXIMATION

    def _without(self, state: RegionState, part: int) -> RegionState:
        """The state without a part that messages have shown to be impossible."""
        if len(state.parts) == 1:
            raise contradiction(state.problem.evidence.program, self.budget, self.name)
        parts = (*state.parts[:part], *state.parts[part + 1 :])
        return replace(state, parts=parts, runs=(*state.runs[:part], *state.runs[part + 1 :]))

    def _solution(self, state: RegionState) -> Solution:
        """Solution from the best runs of all parts."""
        totals, probabilities = [], []
        for part, runs in zip(state.parts, state.runs, strict=True):
            best = self._best(runs)
            totals.append(best.propagation.free_energy(best.messages))
            believed = part.believed(best)
            probabilities.append(AtomProbabilities(believed, believed.sums(), self.budget.for_answering()))
        shares = arrays.softmax(arrays.tensor(totals, dtype=arrays.float64), 0).tolist()
        total = float(arrays.logsumexp(arrays.tensor(totals, dtype=arrays.float64), 0))
        elsewhere = float(state.problem.elsewhere.detach())
        return Solution(state.problem, total + elsewhere, tuple(zip(shares, probabilities, strict=True)))


def _clamps(state: RegionState) -> list[int]:
    """Number of times that counts are listed again to read the queried atoms, for each part."""
    signature, question = state.problem.evidence.program.signature, state.question
    queried = set(signature.predicates) if question.everything else {p.predicate for p in question.atoms}
    return [costs.clamps(part.summation, queried) for part in state.parts]


def with_messages(regions: Regions) -> Fallback:
    """Regions, with the messages of belief propagation as a fallback where regions are refused or outdone."""
    return Fallback(regions, regions.messages, "messages are those of bp")
