"""Answers of a predicate within a number of nested calls, by running its plan from the question on.

A call is made at most once for each predicate, mode, remaining depth and input: frontiers that clauses pass
to one predicate at their ends are added up and run together, equal frontiers share one answer, and where a
predicate is called repeatedly with others, its answers are cached by input and only new inputs are computed.
So the work never grows exponentially with the depth.

Another run, without weights, decides whether the depth cut off a proof, and not only a call without answers:
every call that is cut gives all its provable answers at any depth, with weight 2 instead of 1. Then the
heaviest proof of an answer weighs more than 1 exactly if some proof uses such a call. Mostly one more call
suffices to find one, at about the cost of the answer; all provable answers, which may cost far more, are
computed only if it does not.

Ground proofs are built from the answers within the depth, or from all of them at the fixpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from herbrand.budget import Budget
from herbrand.deep_calls import room_for
from herbrand.engines.proof.arithmetic import Numbers
from herbrand.engines.proof.derivations import Derivations, Node, Row, derivations
from herbrand.engines.proof.fixpoint import Fixpoint, Provable
from herbrand.engines.proof.horn_program import remaining_depth
from herbrand.engines.proof.plan import Ask, ClausePlan, Mode
from herbrand.engines.proof.planning import Plans
from herbrand.engines.proof.recursion import LinearRecursion
from herbrand.engines.proof.recursion_loop import fits, iterate
from herbrand.engines.proof.steps import Runner, inputs_named, newly_asked, outputs_named
from herbrand.engines.proof.table import (
    ROW,
    Answers,
    Questions,
    State,
    Table,
    Total,
    as_state,
    empty,
    grouped,
    merged,
    stacked,
    without_zeros,
)
from herbrand.errors import BudgetError

MOST_DIRECT = 2
"""Number of calls of a predicate at one depth after which its answers are cached by input."""

FRAMES_A_CALL = 12
"""Python frames of one nested call, for the recursion limit."""

GRID_CACHE = 2**19
"""Entries of a dense state that fit into the processor's cache."""

FEWEST_ROWS = 16
"""Fewest rows of a part of a question: smaller parts cost more in steps than they save."""


@dataclass(frozen=True)
class Goal:
    """A predicate in one mode with ``left`` nested calls, its own included.

    ``None`` where the bound has no effect.
    """

    predicate: str
    mode: Mode
    left: int | None


@dataclass(frozen=True, eq=False)
class QueriedRows:
    """A question: a frontier (row, inputs...) of a predicate in a mode; rows are numbers below ``rows``."""

    predicate: str
    mode: Mode
    frontier: Table
    rows: int


Beyond = Callable[[Goal, Table], Table]
"""A function that answers a call that is cut: (row, outputs...) for a frontier (row, inputs...)."""


class Unrolled:
    """An evaluation to a depth. ``cut``: whether a call was cut by the depth, with or without answers.

    ``cut_last`` are some cut calls whose answers would be the question's own; ``missed``: whether one of
    these is known to have answers. ``beyond`` answers calls that are cut.
    """

    def __init__(self, runner: Runner, beyond: Beyond | None = None) -> None:
        self._runner, self._beyond = runner, beyond
        self._plans, self._arithmetic = runner.plans, runner.arithmetic
        self._asked: dict[Goal, int] = {}
        self._kept: dict[Goal, Answers] = {}
        self._shared: dict[tuple[Goal, tuple[int, ...]], tuple[State, State]] = {}
        self._iterated: dict[tuple[str, Mode], list[int]] = {}
        self.cut = self.missed = False
        self.cut_last: list[tuple[Goal, State]] = []

    def answers(self, queried: QueriedRows, depth: int) -> Table:
        """Answer a question, which is at depth 0: a table with columns (row, outputs...)."""
        with room_for(FRAMES_A_CALL * depth):
            goal = self.goal(queried.predicate, queried.mode, depth + 1)
            parts = [self._block(goal, block, queried.rows) for block in self._blocks(queried)]
        return parts[0] if len(parts) == 1 else stacked(parts, self._arithmetic)

    def _block(self, goal: Goal, frontier: Table, rows: int) -> Table:
        """Answer a block of consecutive rows of the question."""
        self._asked.clear()
        self._iterated.clear()
        self._shared.clear()
        first = int(frontier.columns[0].min(initial=rows))
        count = int(frontier.columns[0].max(initial=first - 1)) + 1 - first
        total = self._total(goal, frontier.shifted(-first), count, outermost=True)
        return without_zeros(total.table(), self._arithmetic).shifted(first)

    def _blocks(self, queried: QueriedRows) -> Iterator[Table]:
        """Split a question into blocks whose dense states fit the cache; not for large types."""
        frontier, rows = queried.frontier, queried.rows
        width = max(self._plans.program.sizes.values(), default=1)
        size = GRID_CACHE // max(1, width)
        if rows <= size or size < FEWEST_ROWS:
            yield frontier
            return
        for start in range(0, rows, size):
            ends = np.searchsorted(frontier.columns[0], [start, start + size])
            yield frontier.take(np.arange(*ends), self._arithmetic)

    def goal(self, predicate: str, mode: Mode, left: int | None) -> Goal:
        """The goal with ``left`` calls; one goal for all depths that its proofs cannot reach."""
        return Goal(predicate, mode, remaining_depth(left, self._plans.height(predicate)))

    def _below(self, goal: Goal, step: Ask) -> Goal:
        left = goal.left if goal.left is None or not step.deeper else goal.left - 1
        return self.goal(step.predicate, step.bound, left)

    def _total(self, goal: Goal, frontier: State, rows: int, outermost: bool = False) -> Total:
        """Answer a frontier; calls at the ends of clauses are run here, in their caller's place."""
        waiting: dict[Goal, list[State]] = {goal: [frontier]}
        sizes = self._plans.output_sizes(goal.predicate, goal.mode)
        total = Total(outputs_named(len(sizes)), [rows, *sizes], self._arithmetic, self._runner.check_size)
        while waiting:
            self._runner.budget.check()
            # most calls left first, so that frontiers passed to one goal are added up before it runs
            current = max(waiting, key=lambda other: (other.left is None, other.left or 0))
            states = waiting.pop(current)
            self._asked[current] = self._asked.get(current, 0) + 1
            recursion = None if waiting else self._recursion(current)
            if recursion is not None and len(states) == 1:
                state = states[0]
            else:
                inputs = self._plans.input_sizes(current.predicate, current.mode)
                names, check_size = inputs_named(current.mode), self._runner.check_size
                state = merged(states, names, [rows, *inputs], self._arithmetic, check_size)
            if not state:
                continue
            if current.left == 0:
                self.cut = True
                if outermost:
                    self.cut_last.append((current, state))
                if self._beyond is not None:
                    total.add(self._beyond(current, state.sparse()))
                continue
            if recursion is not None:
                total.add(self._by_iteration(recursion, current, state.sparse(), outermost))
                continue
            for plan in self._plans.plan(current.predicate, current.mode).clauses:
                self._run(plan, current, state, rows, total, waiting)
        return total

    def _recursion(self, goal: Goal) -> LinearRecursion | None:
        """The linear recursion that runs all calls of a goal in one loop; ``None`` if it must not be used.

        That is where its plan has another form, calls are cached or cut ones answered, or values have
        gradients.
        """
        if self._beyond is not None or not goal.left or not self._arithmetic.plain:
            return None
        recursion = self._plans.recursion(goal.predicate, goal.mode)
        if recursion is None or not fits(recursion, self._runner):
            return None
        return None if self._is_kept(Goal(goal.predicate, goal.mode, goal.left - 1)) else recursion

    def _by_iteration(
        self, recursion: LinearRecursion, goal: Goal, frontier: Table, outermost: bool
    ) -> Table:
        assert goal.left is not None
        self._iterated.setdefault((goal.predicate, goal.mode), []).append(goal.left)
        answers = iterate(recursion, self._runner, frontier, goal.left)
        if answers.left is not None:
            self.cut = True
            if outermost and recursion.first is not None:
                self.missed = True
            elif outermost:
                self.cut_last.append((Goal(goal.predicate, goal.mode, 0), answers.left))
        return answers.table

    def _run(
        self,
        plan: ClausePlan,
        goal: Goal,
        frontier: State,
        rows: int,
        total: Total,
        waiting: dict[Goal, list[State]],
    ) -> None:
        position, state = 0, self._runner.started(plan, frontier, rows)
        while True:
            position, state = self._runner.advance(plan, position, state, rows)
            if position == len(plan.steps):
                total.add(self._runner.finished(plan, state, rows))
                return
            step = plan.steps[position]
            assert isinstance(step, Ask)
            below = self._below(goal, step)
            if step is plan.tail and not self._is_kept(below):
                passed = self._runner.weighed(plan, self._runner.passed(step, state))
                waiting.setdefault(below, []).append(passed)
                return
            state = self._answered(step, plan, below, state, rows)
            position += 1

    # Calls in the middle of a clause

    def _answered(self, step: Ask, plan: ClausePlan, goal: Goal, state: State, rows: int) -> State:
        if not state:
            return empty((ROW, *step.live), self._arithmetic)
        if self._is_direct(step, state) and not self._is_kept(goal):
            answer_rows = self._directly(goal, self._runner.passed(step, state), rows)
            return answer_rows.named((ROW, *step.found))
        table = state.sparse()
        answers = self.by_input(goal, [table.column(name) for name in step.inputs])
        answer_rows = self._runner.with_answers(step, plan, table, answers, rows)
        return as_state(answer_rows, self._runner.sizes(answer_rows.names, plan, rows), self._arithmetic)

    def _is_direct(self, step: Ask, state: State) -> bool:
        """Whether only the row and the answers of a call are needed afterwards."""
        return (
            set(step.live) == set(step.found)
            and len(set(step.found)) == len(step.found)
            and set(state.names) == {ROW, *step.inputs}
        )

    def _is_kept(self, goal: Goal) -> bool:
        if not self._arithmetic.algebra.distributes or goal in self._kept:
            return True
        by_loops = self._iterated.get((goal.predicate, goal.mode), ())
        requests = self._asked.get(goal, 0) + sum(left > (goal.left or 0) for left in by_loops)
        return requests >= MOST_DIRECT

    def _directly(self, goal: Goal, frontier: State, rows: int) -> State:
        key = (goal, frontier.identity)
        if key not in self._shared:
            self._shared[key] = frontier, self._total(goal, frontier, rows).state()
        return self._shared[key][1]

    def by_input(self, goal: Goal, columns: list[np.ndarray]) -> Answers:
        if goal not in self._kept:
            free = len(self._plans.output_sizes(goal.predicate, goal.mode))
            none = empty(outputs_named(free), self._arithmetic)
            questions = Questions(self._plans.input_sizes(goal.predicate, goal.mode))
            self._kept[goal] = Answers(questions, none)
        questions = self._kept[goal].questions
        frontier = newly_asked(questions, goal.mode, columns, self._arithmetic)
        if frontier is not None:
            first = int(frontier.columns[0][0])
            table = self._total(goal, frontier.shifted(-first), len(frontier)).table()
            before = self._kept[goal].table
            self._runner.check_size(len(before) + len(table), len(table.names) + 1)
            self._kept[goal] = Answers(questions, stacked([before, table.shifted(first)], self._arithmetic))
        return self._kept[goal]


CUT = 2.0
"""Weight of the answers of a call that is cut."""
FEW = 16
"""Number of a frontier's constants that are tried before all others."""


def is_cut_off(
    runner: Runner, done: Unrolled, queried: QueriedRows, depth: int, known: Table | None = None
) -> bool:
    """Whether some proof needs more calls than the evaluation ``done``, in which a call was cut.

    With ``known`` answers only proofs of other answers count. True too where the check exceeds the budget.
    """
    truth = Runner(runner.plans, Numbers.of("boolean"), runner.budget, runner.complete)
    last = (_leads_on(truth, goal, state) for goal, state in done.cut_last)
    if known is None and (done.missed or any(last)):
        return True
    frontier = queried.frontier
    start = Table(frontier.names, frontier.columns, truth.arithmetic.ones(len(frontier)))
    question = replace(queried, frontier=start)
    try:
        for beyond in (_by_one_more_call(truth), _at_any_depth(truth)):
            more = Unrolled(truth, beyond).answers(question, depth)
            if np.max(more.values, initial=0.0) > 1 if known is None else len(more) > len(known):
                return True
    except BudgetError:
        return True
    return False


def _by_one_more_call(truth: Runner) -> Beyond:
    def beyond(goal: Goal, table: Table) -> Table:
        queried = QueriedRows(goal.predicate, goal.mode, table, int(table.columns[0].max(initial=0)) + 1)
        return Unrolled(truth).answers(queried, 0).scaled(CUT, truth.arithmetic)

    return beyond


def _at_any_depth(truth: Runner) -> Beyond:
    fixpoint = Fixpoint(truth)

    def beyond(goal: Goal, table: Table) -> Table:
        columns = list(table.columns[1:])
        answers = fixpoint.answers(goal.predicate, goal.mode, columns)
        first, counts = answers.ranges(columns, len(table))
        free = truth.plans.output_sizes(goal.predicate, goal.mode)
        names = outputs_named(len(free))
        whole = Table(inputs_named(goal.mode), table.columns, table.values)
        widened = truth.widened(whole, first, counts, names[1:], answers.table.columns[1:], None)
        sizes = [int(table.columns[0].max(initial=0)) + 1, *free]
        return grouped(widened, names, sizes, truth.arithmetic).scaled(CUT, truth.arithmetic)

    return beyond


def _leads_on(truth: Runner, goal: Goal, state: State) -> bool:
    """Whether the first row of a frontier, whose answers are the question's own, has one with one more call.

    A few of its constants are tried first, since they mostly suffice.
    """
    table = state.sparse()
    if not table:  # a grid in which all entries have cancelled
        return False
    row = int(table.columns[0][0])
    count = int(np.searchsorted(table.columns[0], row + 1))
    for start, stop in ((0, min(FEW, count)), (FEW, count)):
        columns = tuple(column[start:stop] for column in table.columns)
        some = Table(table.names, columns, truth.arithmetic.ones(max(0, stop - start)))
        queried = QueriedRows(goal.predicate, goal.mode, some, row + 1)
        if some and len(Unrolled(truth).answers(queried, 0)):
            return True
    return False


class GroundProofs:
    """The ground proofs of a program: within ``left`` nested calls, or all (``None``)."""

    def __init__(self, plans: Plans, budget: Budget, left: int | None) -> None:
        self._runner = Runner(plans, Numbers.of("boolean"), budget, Provable(plans, budget))
        self._left = left
        self._unrolled = Unrolled(self._runner)
        self._fixpoint = Fixpoint(self._runner)

    def of(self, predicate: str, row: Row) -> tuple[Derivations, Node]:
        """The graph of an atom's proofs, and the atom's node."""
        return derivations(self._runner, self._provided, Node(predicate, row, self._left))

    def _provided(self, predicate: str, mode: Mode, columns: list[np.ndarray], left: int | None) -> Answers:
        if left is None:
            return self._fixpoint.answers(predicate, mode, columns)
        return self._unrolled.by_input(self._unrolled.goal(predicate, mode, left), columns)
