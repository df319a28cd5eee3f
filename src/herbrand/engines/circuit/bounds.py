"""Lower and upper probabilities while a circuit is too large to be compiled at once.

The worlds are divided into cases, each given by a few decided variables. The heaviest case is compiled with a
small limit of work. Where that is not enough, a variable divides it in two: one on the likeliest way to
settle a queried literal (:mod:`~herbrand.engines.circuit.likeliest_way`). Compiled cases count exactly. An
open case weighs at most the product of its decided weights and of the sums of all others: a gate follows from
its inputs, so it adds at most the larger of its two. With ``T`` and ``F`` the weight of the compiled worlds
in which an atom is true and false, and ``t`` and ``f`` the most that open cases may add to either, its
probability is between T / (T + F + f) and (T + t) / (T + t + F). Cases are divided by variables that are no
gates: their two weights share the case's, so that bounds only narrow.

An open case in which nothing but decisions weighs worlds, and nothing excludes any, has all of that weight.
It counts as compiled for the atoms that are known in it.

Until no case is open, bounds are widened by what rounding may add to the sums (``_rounding``).

>>> from herbrand.budget import UNLIMITED
>>> from herbrand.engines.circuit.choices import ChoiceConstraints
>>> made = ChoiceConstraints()
>>> a, b = (made.choice([0.5]).outcomes[0] for _ in range(2))
>>> made.stipulate(made.net.either([a, b]), "a or b")
>>> cases = Cases(made.task([a]), UNLIMITED)
>>> cases.bounds()[0][a].item(), cases.bounds()[1][a].item()
(0.0, 1.0)
>>> cases.narrow(math.inf)
>>> lower, upper = cases.bounds()
>>> round(lower[a].item(), 6), round(upper[a].item(), 6)
(0.666667, 0.666667)
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from herbrand.budget import Budget, time_beside_compiling
from herbrand.engines.circuit.choices import ChoiceConstraints, Task, impossible_evidence, share_of
from herbrand.engines.circuit.circuit import Circuit, Counted
from herbrand.engines.circuit.compile import WORK_AT_ONCE, Compilation, Order, problem_of
from herbrand.engines.circuit.diagrams import Beside, Subject
from herbrand.engines.circuit.equal_literals import unified
from herbrand.engines.circuit.likeliest_way import Ways
from herbrand.engines.circuit.narrow import eliminated, is_narrow
from herbrand.errors import BudgetError
from herbrand.language.collection import collector_paused

DIAGRAMS_FROM = 20_000
"""Work of the search after which diagrams begin: early, since either of the two may be done early."""
ELIMINATED_AFTER = 1.5e-4
"""Seconds for each variable before elimination is tried, half of what it takes to eliminate one: most
circuits that are found sooner than by elimination are found by then, and others wait little."""
SECONDS_A_STEP = 1.5e-8
"""Seconds of a step of the compiled search, which large problems run from the first step on. Steps tell their
time: the clock would count loading the loop, half a second."""
EPSILON = np.finfo(float).eps
LEAST_WORK, SHARE = 4_000, 0.0005
"""Work allowed for one case, and the share of all work so far if that is more. Work on a case that is not
finished is lost: dividing soon narrows faster than trying long, which pays only where cases stay large."""


class Cases:
    """The cases into which the worlds are divided. Weights are logarithms, as unlikely worlds weigh less than
    the least float."""

    def __init__(self, task: Task, budget: Budget, order: Order | None = None) -> None:
        self._task, self._budget = task, budget
        self._problem = problem_of(task.net, task.written, task.normal, (), order=order)
        self._gates = np.array(task.net.gates, bool)
        self._ways = Ways(task)
        larger = task.log_weights.max(axis=1, initial=-math.inf)
        sums = np.logaddexp(task.log_weights[:, 0], task.log_weights[:, 1])
        self._most = np.where(self._gates, larger, sums)
        self._most_together = float(self._most.sum())
        finite = np.abs(np.where(np.isfinite(task.log_weights), task.log_weights, 0.0))
        self._log_size = 2 + float(finite.max(axis=1, initial=0.0).sum())
        self._known = -math.inf
        self._shares = np.zeros(2 * len(task.net))
        """Probability of each literal within the compiled cases, whose total log-weight is ``_known``."""
        self._open: list[_Open] = []
        self._work, self._made = 0, 0
        self.least_work = LEAST_WORK
        if task.net.consistent:
            nothing = np.zeros(0, np.int64)
            self._add((), nothing, self._ways.divided(nothing).is_free)

    @property
    def log_total(self) -> float:
        """Lower bound of the logarithm of the total weight; the logarithm itself once ``done``."""
        known = np.logaddexp.reduce([self._known, *(one.weight for one in self._open if one.is_free)])
        return float(known) - self._rounding

    @property
    def done(self) -> bool:
        return not self._open

    @property
    def _rounding(self) -> float:
        """Bound of the rounding error of log-weights, and of sums of cases relative to them; 0 once ``done``.

        A world's log-weight is added up in as many steps as there are variables, each with an error of the
        size of the sum so far.
        """
        return 0.0 if self.done else EPSILON * (len(self._most) + self._made) * self._log_size

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper probability of each literal of written variables."""
        rest, known, certain = 0.0, np.zeros(len(self._shares)), np.zeros(len(self._shares))
        settled, rounding = np.zeros(len(self._shares), np.int64), self._rounding
        heaviest = max([self._known, *(one.weight for one in self._open)])
        for one in self._open:
            weight = math.exp(one.weight - heaviest)
            rest += weight
            known[one.fixed] += weight
            settled[one.fixed ^ 1] += 1
            if one.is_free:
                settled[one.fixed] += 1
                certain[one.fixed] += weight
        compiled = self._shares * math.exp(self._known - heaviest) if self._known > -math.inf else 0.0
        held, excluded = compiled + certain, _of_opposites(known)
        may_hold = np.maximum(rest - excluded - certain, 0.0)
        may_hold[settled < len(self._open)] += rounding * rest  # else nothing is left, but for rounding
        failed, may_fail = _of_opposites(held), _of_opposites(may_hold)
        with np.errstate(invalid="ignore"):
            lower = held / (held + (1 + rounding) * (failed + may_fail))
            upper = (1 + rounding) * (held + may_hold)
            upper /= upper + failed
        return np.nan_to_num(lower, nan=0.0), np.minimum(np.nan_to_num(upper, nan=1.0), 1.0)

    def narrow(self, seconds: float, least: int = 0) -> None:
        """Compile or divide the heaviest cases for about ``seconds``, but at least ``least`` of them."""
        until, done = time_beside_compiling() + seconds, 0
        while self._open and (done < least or time_beside_compiling() < until) and not self._budget.ended:
            done += 1
            case = heapq.heappop(self._open)
            search = Compilation(self._problem, self._budget, case.decided)
            circuit = search.advanced(max(self.least_work, int(SHARE * self._work)))
            self._work += search.work
            if circuit is None:
                self._divide(case, *search.begun())
                continue
            weight, shares = circuit.counted(self._task.log_weights)
            if weight > -math.inf:
                self._count(weight, shares)

    def _count(self, weight: float, shares: np.ndarray) -> None:
        """Add a compiled case to those before."""
        total = float(np.logaddexp(self._known, weight))
        self._shares = self._shares * math.exp(self._known - total) + shares * math.exp(weight - total)
        self._known = total

    def _divide(self, case: _Open, part: np.ndarray, fixed: np.ndarray) -> None:
        """Replace an unfinished case by two. ``part``: its open variables; ``fixed``: literals that hold in
        it."""
        variable, is_free = self._ways.divided(fixed)
        if variable is None:
            inputs = part[~self._gates[part]]
            some = inputs if len(inputs) else part
            variable = int(some[self._problem.rank[some].argmin()])
        for literal in (2 * variable, 2 * variable + 1):
            self._add((*case.decided, literal), np.append(fixed, literal), is_free)

    def _add(self, decided: tuple[int, ...], fixed: np.ndarray, is_free: bool) -> None:
        own = self._task.log_weights[fixed >> 1, 1 - (fixed & 1)]
        weight = self._most_together + float((own - self._most[fixed >> 1]).sum())
        if weight > -math.inf:
            self._made += 1
            heapq.heappush(self._open, _Open(-weight, self._made, decided, fixed, is_free))


class Bounded(NamedTuple):
    """Lower and upper probability of each literal, and a lower bound of the logarithm of the total weight.
    ``done``: whether these are the probabilities and the logarithm themselves."""

    lower: np.ndarray
    upper: np.ndarray
    log_total: float
    done: bool

    @classmethod
    def known(cls, log_total: float, shares: np.ndarray) -> Bounded:
        return cls(shares, shares, log_total, True)

    def met(self, other: Bounded) -> Bounded:
        """The narrower of both bounds of each number."""
        if self.done or other.done:
            return self if self.done else other
        lower, upper = np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper)
        return Bounded(lower, upper, max(self.log_total, other.log_total), False)


def _of_opposites(numbers: np.ndarray) -> np.ndarray:
    """Reorder numbers of literals so that each literal has the number of its negation."""
    return numbers.reshape(-1, 2)[:, ::-1].reshape(-1)


class _Open(NamedTuple):
    """An open case; the order puts the heaviest first. ``fixed``: all literals known to hold in it, with the
    ``decided`` ones; ``is_free``: whether it certainly has all of ``weight``."""

    order: float
    number: int
    decided: tuple[int, ...]
    fixed: np.ndarray
    is_free: bool

    @property
    def weight(self) -> float:
        return -self.order


def probabilities(constraints: ChoiceConstraints, literals: Sequence[int], budget: Budget) -> list[float]:
    """Compute the probability of each literal given the evidence, without a limit of time.

    Raises ``ContradictionError`` where the evidence holds in no world.
    """
    left = Unfinished.of(constraints.task(literals), budget)
    while (counted := left.solved(math.inf)) is None:
        budget.check()
        if left.failure is not None:
            raise left.failure
    if counted[0] == -math.inf:
        raise impossible_evidence(constraints.smallest_evidence(budget))
    return [share_of(counted[1], literal) for literal in literals]


@dataclass(eq=False)
class Unfinished:
    """A compilation that can be continued, with bounds that narrow beside it. ``failure``: why it cannot go
    on.

    Its task has one variable for all equal literals; what is found has a number for each literal of the
    original task.
    """

    task: Task
    places: np.ndarray
    budget: Budget
    began: float = field(default_factory=time_beside_compiling)
    cases: Cases | None = None
    failure: BudgetError | None = None
    beside: Beside | None = None
    """Diagrams beside the search, from the first time they are tried."""
    is_eliminated: bool = False
    """Whether elimination was considered; that is done at most once."""

    @classmethod
    @collector_paused()
    def of(cls, task: Task, budget: Budget) -> Unfinished:
        """A compilation that has not begun."""
        begun = cls(*unified(task), budget)
        budget.check()  # the task of a large program takes seconds, and so does beginning
        return begun

    @cached_property
    @collector_paused()
    def search(self) -> Compilation:
        """The search for the circuit, made when first needed: between independent gates there is nothing to
        search for."""
        task = self.task
        return Compilation(
            problem_of(task.net, task.written, task.normal, (), order=self._order), self.budget
        )

    @cached_property
    def _by_products(self) -> Counted | None:
        return self.task.by_products()

    @cached_property
    def _order(self) -> Order:
        return Order.of(self.task.net, self.budget)

    @property
    def elapsed(self) -> float:
        return time_beside_compiling() - self.began

    def solved(self, seconds: float) -> Counted | None:
        """The log-weight and the shares, if ``seconds`` more are enough; always ``None`` once memory has run
        out."""
        counted = self._solved(seconds)
        return None if counted is None else self._spread(counted)

    def _solved(self, seconds: float) -> Counted | None:
        if not self.task.net.consistent:
            return -math.inf, np.zeros(2 * len(self.task.net))
        if (counted := self._by_products) is not None:
            return counted
        until = time_beside_compiling() + seconds
        try:
            while self.failure is None and not self.budget.ended:
                circuit = self.advanced(self._next_work)
                if circuit is not None:
                    return circuit.counted(self.task.log_weights)
                if self.budget.ended:
                    break
                if (counted := self._by_elimination()) is not None:
                    return counted
                if (counted := self._by_diagrams(until)) is not None:
                    return counted
                if time_beside_compiling() >= until:
                    break
        except BudgetError as error:
            self.failure, self.beside = error, None
            self.search.forget()
        return None

    @property
    def _next_work(self) -> int:
        """Work of the search until elimination and diagrams are tried."""
        if self.search.is_large:
            return WORK_AT_ONCE
        return min(max(DIAGRAMS_FROM, self.search.work // 2), WORK_AT_ONCE)

    @cached_property
    def _is_narrow(self) -> bool:
        return is_narrow(self.task.net, self._order.width)

    def _by_elimination(self) -> Counted | None:
        search = self.search
        searched = SECONDS_A_STEP * search.work if search.is_large else self.elapsed
        if self.is_eliminated or searched < ELIMINATED_AFTER * len(self.task.net):
            return None
        self.is_eliminated = True
        return eliminated(self.task, self.budget) if self._is_narrow else None

    def _by_diagrams(self, until: float) -> Counted | None:
        if self.search.is_large and self._is_narrow and not self.is_eliminated:
            return None  # beginning them takes as long as the search may take before elimination
        task = self.task
        if self.beside is None:
            written = [x for v in sorted(task.written) for x in (2 * v, 2 * v + 1)]
            subject = Subject(task.net, frozenset(task.weighted), written)
            self.beside = Beside(subject, self.search.rank, self.budget)
        finished = self.beside.advanced(self.search.work, until)
        counted = None if finished is None else finished.counted(task.log_weights)
        if finished is not None and counted is None:
            self.beside.give_up()
        return counted

    def counted(self, circuit: Circuit) -> Counted:
        """The log-weight and the shares by a finished circuit."""
        return self._spread(circuit.counted(self.task.log_weights))

    def _spread(self, counted: Counted) -> Counted:
        """The same with a share for each literal of the original task."""
        return counted[0], counted[1][self.places]

    def advanced(self, work: int) -> Circuit | None:
        """The circuit, or ``None`` if it takes more than ``work`` from here on."""
        return self.search.advanced(work)

    def narrowed(self, seconds: float) -> Bounded:
        """The bounds by cases after ``seconds`` more; raises ``BudgetError`` where memory leaves neither a
        circuit nor bounds."""
        if self.cases is None:
            self.budget.check()
            self.cases = Cases(self.task, self.budget, self._order)
        try:
            self.cases.narrow(seconds, least=1)
        except BudgetError as error:
            raise self.failure or error from None
        if self.failure is not None and self.cases.done and self.cases.log_total == -math.inf:
            raise self.failure
        lower, upper = self.cases.bounds()
        return Bounded(lower[self.places], upper[self.places], self.cases.log_total, self.cases.done)
