"""Answers of a predicate within a number of calls, by running its plan from the question on.

A call is made at most once for each predicate, mode and remaining depth and the same input: what clauses
leave to one predicate at their ends is added up and asked together, equal frontiers share one answer, and
where a predicate is asked again and again with others, its answers are kept by input (a table) and only new
inputs are computed. So the work never grows exponentially with the depth.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from herbrand.engines.proof.plan import Ask, ClausePlan, Mode
from herbrand.engines.proof.questions import Answers, Questions
from herbrand.engines.proof.recursion import LinearRecursion
from herbrand.engines.proof.recursion_loop import fits, iterate
from herbrand.engines.proof.steps import Runner, inputs_named, outputs_named
from herbrand.engines.proof.table import (
    ROW,
    Grid,
    State,
    Table,
    Total,
    as_state,
    empty,
    merged,
    without_zeros,
)

MOST_DIRECT = 2
"""So often a predicate is asked at one depth before its answers are kept by input."""

FRAMES_A_CALL, MOST_FRAMES = 12, 2**31 - 1

GRID_CACHE = 2**19
"""Entries of a dense state that stay near the processor."""

FEWEST_ROWS = 16
"""Smaller parts of a question cost more in steps than they save."""


@dataclass(frozen=True)
class Goal:
    """A predicate in one mode with so many calls left, its own included; ``None``: no bound is felt."""

    predicate: str
    mode: Mode
    left: int | None


@dataclass(frozen=True, eq=False)
class AskedRows:
    """A question: a frontier (row, inputs...) of a predicate in a mode; rows are numbers below ``rows``."""

    predicate: str
    mode: Mode
    frontier: Table
    rows: int


@dataclass(eq=False)
class _Kept:
    questions: Questions
    answers: Answers


Beyond = Callable[[Goal, Table], Table]
"""What a call that is cut would give: (row, outputs...) for a frontier (row, inputs...)."""


class Unrolled:
    """One question's evaluation. ``cut``: whether a call was cut by the depth, though it may have led
    nowhere; ``cut_last`` are some of those whose answers would have been the question's own, and ``missed``
    says that one of them is known to have answers. ``beyond`` answers calls that are cut."""

    def __init__(self, runner: Runner, beyond: Beyond | None = None) -> None:
        self._runner, self._beyond = runner, beyond
        self._plans, self._arithmetic = runner.plans, runner.arithmetic
        self._asked: dict[Goal, int] = {}
        self._kept: dict[Goal, _Kept] = {}
        self._shared: dict[tuple[Goal, tuple[int, ...]], tuple[State, State]] = {}
        self._iterated: dict[tuple[str, Mode], list[int]] = {}
        self.cut = self.missed = False
        self.cut_last: list[tuple[Goal, State]] = []

    def answers(self, asked: AskedRows, depth: int) -> Table:
        """Columns (row, outputs...), with the question at depth 0."""
        with _deep_enough(depth):
            goal = self.goal(asked.predicate, asked.mode, depth + 1)
            parts = [self._block(goal, block, asked.rows) for block in self._blocks(asked)]
        if len(parts) == 1:
            return parts[0]
        columns = tuple(np.concatenate(columns) for columns in zip(*(p.columns for p in parts), strict=True))
        return Table(parts[0].names, columns, self._arithmetic.concatenate([part.values for part in parts]))

    def _block(self, goal: Goal, frontier: Table, rows: int) -> Table:
        """The answers to some rows of the question, which are ``frontier``'s consecutive ones."""
        self._asked.clear()
        self._iterated.clear()
        self._shared.clear()
        first = int(frontier.columns[0].min(initial=rows))
        count = int(frontier.columns[0].max(initial=first - 1)) + 1 - first
        from_zero = Table(
            frontier.names, (frontier.columns[0] - first, *frontier.columns[1:]), frontier.values
        )
        found = without_zeros(self._total(goal, from_zero, count, True).table(), self._arithmetic)
        return Table(found.names, (found.columns[0] + first, *found.columns[1:]), found.values)

    def _blocks(self, asked: AskedRows) -> Iterator[Table]:
        """The question in parts whose dense states fit a processor's cache; large types have none."""
        frontier, rows = asked.frontier, asked.rows
        width = max(self._plans.program.sizes.values(), default=1)
        size = GRID_CACHE // max(1, width)
        if rows <= size or size < FEWEST_ROWS:
            yield frontier
            return
        for start in range(0, rows, size):
            ends = np.searchsorted(frontier.columns[0], [start, start + size])
            yield frontier.take(np.arange(*ends), self._arithmetic)

    def goal(self, predicate: str, mode: Mode, left: int | None) -> Goal:
        """The same goal for every depth that its proofs cannot feel."""
        height = self._plans.height(predicate)
        if left is not None and height is not None and left > height:
            left = None
        return Goal(predicate, mode, left)

    def _below(self, goal: Goal, step: Ask) -> Goal:
        left = goal.left if goal.left is None or not step.deeper else goal.left - 1
        return self.goal(step.predicate, step.bound, left)

    def _total(self, goal: Goal, frontier: State, rows: int, outermost: bool = False) -> Total:
        """The answers to a frontier; calls at the ends of clauses are run in this one's place."""
        waiting: dict[Goal, list[State]] = {goal: [frontier]}
        sizes = self._plans.output_sizes(goal.predicate, goal.mode)
        found = Total(outputs_named(len(sizes)), [rows, *sizes], self._arithmetic)
        while waiting:
            self._runner.budget.check()
            current = max(waiting, key=lambda other: (other.left is None, other.left or 0))
            states = waiting.pop(current)
            self._asked[current] = self._asked.get(current, 0) + 1
            recursion = None if waiting else self._recursion(current)
            if recursion is not None and len(states) == 1:
                state = states[0]
            else:
                inputs = self._plans.input_sizes(current.predicate, current.mode)
                state = merged(states, inputs_named(current.mode), [rows, *inputs], self._arithmetic)
            if not state:
                continue
            if current.left == 0:
                self.cut = True
                if outermost:
                    self.cut_last.append((current, state))
                if self._beyond is not None:
                    found.add(self._beyond(current, state.sparse()))
                continue
            if recursion is not None:
                found.add(self._by_iteration(recursion, current, state.sparse(), outermost))
                continue
            for plan in self._plans.plan(current.predicate, current.mode).clauses:
                self._run(plan, current, state, rows, found, waiting)
        return found

    def _recursion(self, goal: Goal) -> LinearRecursion | None:
        """How all calls of a goal run in one loop, where nothing has to be kept or reported on the way."""
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
        made = iterate(recursion, self._runner, frontier, goal.left)
        if made.left is not None:
            self.cut = True
            if outermost and recursion.first is not None:
                self.missed = True
            elif outermost:
                self.cut_last.append((Goal(goal.predicate, goal.mode, 0), made.left))
        return made.table

    def _run(
        self,
        plan: ClausePlan,
        goal: Goal,
        frontier: State,
        rows: int,
        found: Total,
        waiting: dict[Goal, list[State]],
    ) -> None:
        if isinstance(frontier, Grid) and plan.chain is not None:
            self._run_chain(plan, goal, self._runner.along(plan.chain, frontier), found, waiting)
            return
        position, state = 0, self._runner.started(plan, frontier, rows)
        while True:
            position, state = self._runner.advance(plan, position, state, rows)
            if position == len(plan.steps):
                found.add(self._runner.finished(plan, state, rows))
                return
            step = plan.steps[position]
            assert isinstance(step, Ask)
            if step is plan.tail and not self._is_kept(self._below(goal, step)):
                self._hand_on(plan, goal, self._runner.passed(step, state), waiting)
                return
            state = self._answered(step, plan, self._below(goal, step), state, rows)
            position += 1

    def _run_chain(
        self, plan: ClausePlan, goal: Goal, state: Grid, found: Total, waiting: dict[Goal, list[State]]
    ) -> None:
        """What :meth:`_run` does once all joins of a chain are done."""
        tail = plan.tail
        if tail is None:
            found.add(self._runner.weighed(plan, state))
        elif not self._is_kept(self._below(goal, tail)):
            self._hand_on(plan, goal, state, waiting)
        else:
            named = state.named((ROW, *tail.inputs))
            answered = self._answered(tail, plan, self._below(goal, tail), named, state.rows)
            found.add(self._runner.finished(plan, answered, state.rows))

    def _hand_on(self, plan: ClausePlan, goal: Goal, state: State, waiting: dict[Goal, list[State]]) -> None:
        assert plan.tail is not None
        waiting.setdefault(self._below(goal, plan.tail), []).append(self._runner.weighed(plan, state))

    # Calls in the middle of a clause

    def _answered(self, step: Ask, plan: ClausePlan, goal: Goal, state: State, rows: int) -> State:
        if not state:
            return empty((ROW, *step.live), self._arithmetic)
        if self._is_direct(step, state) and not self._is_kept(goal):
            made = self._directly(goal, self._runner.passed(step, state), rows)
            return made.named((ROW, *step.found))
        table = state.sparse()
        answers = self.by_input(goal, [table.column(name) for name in step.inputs])
        made = self._runner.with_answers(step, plan, table, answers, rows)
        return as_state(made, self._runner.sizes(made.names, plan, rows), self._arithmetic)

    def _is_direct(self, step: Ask, state: State) -> bool:
        """Whether nothing but the row and the answers is needed afterwards."""
        return (
            set(step.live) == set(step.found)
            and len(set(step.found)) == len(step.found)
            and set(state.names) == {ROW, *step.inputs}
        )

    def _is_kept(self, goal: Goal) -> bool:
        if not self._arithmetic.algebra.distributes or goal in self._kept:
            return True
        by_loops = self._iterated.get((goal.predicate, goal.mode), ())
        asked = self._asked.get(goal, 0) + sum(left > (goal.left or 0) for left in by_loops)
        return asked >= MOST_DIRECT

    def _directly(self, goal: Goal, frontier: State, rows: int) -> State:
        key = (goal, frontier.identity)
        if key not in self._shared:
            self._shared[key] = frontier, self._total(goal, frontier, rows).state()
        return self._shared[key][1]

    def by_input(self, goal: Goal, columns: list[np.ndarray]) -> Answers:
        if goal not in self._kept:
            questions = Questions(self._plans.input_sizes(goal.predicate, goal.mode))
            free = len(self._plans.output_sizes(goal.predicate, goal.mode))
            self._kept[goal] = _Kept(
                questions, Answers(questions, empty(outputs_named(free), self._arithmetic))
            )
        kept = self._kept[goal]
        new = kept.questions.add(columns)
        if len(new):
            inputs = tuple(column[new] for column in kept.questions.columns)
            rows = np.arange(len(new))
            frontier = Table(inputs_named(goal.mode), (rows, *inputs), self._arithmetic.ones(len(new)))
            found = self._total(goal, frontier, len(new)).table()
            before = kept.answers.table
            self._runner.check_size(len(before) + len(found), len(found.names) + 1)
            table = Table(
                found.names,
                (
                    np.concatenate([before.columns[0], found.columns[0] + new[0]]),
                    *(
                        np.concatenate(pair)
                        for pair in zip(before.columns[1:], found.columns[1:], strict=True)
                    ),
                ),
                self._arithmetic.concatenate([before.values, found.values]),
            )
            kept.answers = Answers(kept.questions, table)
        return kept.answers


@contextmanager
def _deep_enough(depth: int) -> Iterator[None]:
    """Room for so many calls inside one another: frames of Python functions live on the heap."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(min(MOST_FRAMES, before + FRAMES_A_CALL * depth))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
