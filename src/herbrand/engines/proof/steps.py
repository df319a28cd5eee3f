"""Execution of the steps of a plan that are no calls: joins with facts, tests, constants and absent atoms.

:class:`Runner` has the facts, arithmetic, budget and working memory. A step takes a state and returns the
next one: few entries go through the push kernels, many through dense ones, and other shapes through a general
join. An absent atom has no proof at any depth: stated facts are looked up, and for a derived predicate
``complete`` gives all provable atoms.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

import numpy as np

from herbrand.budget import Budget, readable
from herbrand.engines.proof.arithmetic import Arithmetic, Values
from herbrand.engines.proof.horn_program import Index
from herbrand.engines.proof.join_sum import JoinSums
from herbrand.engines.proof.plan import Ask, Bind, ClausePlan, Exclude, Fix, Join, Mode, Step, Test
from herbrand.engines.proof.planning import Plans
from herbrand.engines.proof.table import (
    GROUPING,
    ROW,
    Answers,
    Grid,
    Questions,
    State,
    Table,
    as_state,
    empty,
    grouped,
)
from herbrand.errors import BudgetError
from herbrand.language.formulas import ORDERS
from herbrand.program.clauses import Clause, Compared, Measured, OneOf
from herbrand.program.clauses import Test as Condition
from herbrand.row_keys import each_in

BYTES = 8
SMALL = 2**20
"""Bytes that are allocated without measuring the memory of the process."""

Complete = Callable[[str, Mode, list[np.ndarray]], Answers]
"""A function that gives all provable answers of a predicate in a mode, at any depth, for input columns."""


def inputs_named(mode: Mode) -> tuple[str, ...]:
    """Names of a frontier's columns: the row of the question, and each known argument."""
    return (ROW, *(f"i{place}" for place in mode))


def outputs_named(count: int) -> tuple[str, ...]:
    """Names of the columns of a predicate's answers: the row of the question, and each free argument."""
    return (ROW, *(f"o{place}" for place in range(count)))


def newly_asked(
    questions: Questions, mode: Mode, columns: Sequence[np.ndarray], arithmetic: Arithmetic
) -> Table | None:
    """Add questions; the frontier of those that are new, ``None`` if none is."""
    new = questions.add(columns)
    if not len(new):
        return None
    inputs = (column[new] for column in questions.columns)
    return Table(inputs_named(mode), (new, *inputs), arithmetic.ones(len(new)))


def check_rows(budget: Budget, rows: float, columns: int) -> None:
    """Raise ``BudgetError`` if this many rows do not fit into memory, or the budget has ended."""
    budget.check()
    needed = rows * columns * BYTES
    if needed > budget.bytes or (needed > SMALL and needed > budget.bytes_left):
        raise BudgetError(
            f"{rows:,.0f} rows on the way to the answer need about {readable(needed)}; "
            f"{readable(budget.bytes)} are allowed in all",
            hint="bind more arguments of the query, or allow more by --memory",
        )


class Runner:
    """Runs steps over one program in one arithmetic.

    The argument ``rows`` of methods is an upper bound of the numbers in a state's column
    :data:`~herbrand.engines.proof.table.ROW`.
    """

    def __init__(self, plans: Plans, arithmetic: Arithmetic, budget: Budget, complete: Complete) -> None:
        self.plans, self.arithmetic, self.budget, self.complete = plans, arithmetic, budget, complete
        self.program = plans.program
        self._weights: dict[str, Values | None] = {}
        # no bound method, as a reference cycle would keep states alive until the next garbage collection
        self.check_size = partial(check_rows, budget)
        self.pushing = JoinSums(arithmetic, self.check_size, plans.workspace)

    def sizes(self, names: Sequence[str], clause_plan: ClausePlan, rows: int) -> list[int]:
        """Number of possible values in each column of a state."""
        types = clause_plan.clause.types
        return [rows if name == ROW else self.program.sizes[types[name]] for name in names]

    def started(self, plan: ClausePlan, frontier: State, rows: int) -> State:
        """The first state of a clause: the frontier with the names of the known head arguments.

        Rows in which a repeated name has different constants are dropped.
        """
        names = tuple(dict.fromkeys(plan.inputs))
        if len(names) == len(plan.inputs):
            state = frontier.named((ROW, *plan.inputs))
            return state if plan.needed == names else self.narrowed(state.sparse(), plan.needed, plan, rows)
        table = frontier.sparse()
        kept = np.ones(len(table), bool)
        first = {name: plan.inputs.index(name) for name in names}
        for place, name in enumerate(plan.inputs):
            kept &= table.columns[1 + place] == table.columns[1 + first[name]]
        columns = (table.columns[0], *(table.columns[1 + first[name]] for name in names))
        agreeing = Table((ROW, *names), columns, table.values).take(np.flatnonzero(kept), self.arithmetic)
        return self.narrowed(agreeing, plan.needed, plan, rows)

    def advance(self, plan: ClausePlan, position: int, state: State, rows: int) -> tuple[int, State]:
        """Run the steps from ``position`` up to the next call; return its position and the state before it.

        The position is the number of steps where there is no call, or no rows are left.
        """
        place = position - 1
        while (place := place + 1) < len(plan.steps):
            step = plan.steps[place]
            if isinstance(step, Ask):
                return place, state
            if not state and not isinstance(step, Bind):
                return len(plan.steps), empty((ROW, *dict.fromkeys(plan.outputs)), self.arithmetic)
            masked = self._masked(plan, place, state, rows)
            if masked is not None:
                state, place = masked, place + 1
            else:
                state = self._run(step, plan, state, rows)
        return len(plan.steps), state

    def finished(self, plan: ClausePlan, state: State, rows: int) -> State:
        """The clause's answers from its last state: (row, outputs...), times the rule's weight."""
        state = self.weighed(plan, state)
        names = outputs_named(len(plan.outputs))
        if isinstance(state, Grid) and state.names[1:] == plan.outputs:
            return state.named(names)
        table = self.narrowed(state.sparse(), tuple(dict.fromkeys(plan.outputs)), plan, rows)
        columns = tuple(table.column(name) for name in plan.outputs)
        return Table(names, (table.columns[0], *columns), table.values)

    def weighed(self, plan: ClausePlan, state: State) -> State:
        """The state times the rule's weight."""
        weight = self.rule_weight(plan.clause)
        return state if weight is None else state.scaled(weight, self.arithmetic)

    def rule_weight(self, clause: Clause) -> Values | None:
        """Weight of a clause's rule, ``None`` without any."""
        if clause.weight is None or clause.rule is None:
            return None
        return self.arithmetic.rule_weight(clause.weight, clause.rule)

    def passed(self, step: Ask, state: State) -> State:
        """The state as a frontier (row, inputs...) of the predicate that a step calls."""
        if state.names == (ROW, *step.inputs):
            return state
        table = state.sparse()
        if set(table.names) != {ROW, *step.inputs}:
            raise AssertionError(f"{table.names} are live before {step}")
        columns = (table.columns[0], *(table.column(name) for name in step.inputs))
        return Table(inputs_named(step.bound), columns, table.values)

    # One step

    def _run(self, step: Step, plan: ClausePlan, state: State, rows: int) -> State:
        match step:
            case Bind(variable=name, index=index):
                table = state.sparse()
                return table.with_column(name, np.full(len(table), index, np.int64))
            case Fix(variable=name, index=index, live=live):
                table = state.sparse()
                return self._kept(table, table.column(name) == index, live, plan, rows)
            case Test(literal=literal, live=live):
                table = state.sparse()
                return self._kept(table, self._passes(literal, table, plan), live, plan, rows)
            case Join():
                return self._joined(step, plan, state, rows)
            case Exclude(live=live):
                table = state.sparse()
                return self._kept(table, self._is_absent(step, table), live, plan, rows)
        raise AssertionError(step)

    def _masked(self, plan: ClausePlan, place: int, state: State, rows: int) -> State | None:
        """Run a join and the next one together, if the second only filters the results of the first."""
        if place + 1 == len(plan.steps):
            return None
        step, mask = plan.steps[place], plan.steps[place + 1]
        if not isinstance(step, Join) or not isinstance(mask, Join):
            return None
        index = self.program.relation(step.predicate).index(step.bound)
        masked = self.pushing.pushed_where(
            step, index, self.known_weights(step.predicate), mask, self.program.relation(mask.predicate),
            self.known_weights(mask.predicate), state,
        )  # fmt: skip
        return None if masked is None else self.narrowed(masked, mask.live, plan, rows)

    def _passes(self, literal: Condition, table: Table, plan: ClausePlan) -> np.ndarray:
        types = plan.clause.types
        match literal:
            case OneOf(variable=name, allowed=allowed):
                return np.isin(table.column(name), allowed)
            case Measured(variable=name, operator=sign, number=number):
                return ORDERS[sign](self.program.values(types[name])[table.column(name)], number)
            case Compared(operator="!=", left=left, right=right):
                return table.column(left) != table.column(right)
            case Compared(operator=sign, left=left, right=right):
                values = self.program.values(types[left])
                return ORDERS[sign](values[table.column(left)], values[table.column(right)])
        return np.zeros(len(table), bool)

    def _is_absent(self, step: Exclude, table: Table) -> np.ndarray:
        """Whether, for each row, no instance of the atom is provable, for any values of its own variables."""
        columns = [table.column(step.arguments[place]) for place in step.bound]
        first, counts, matches = self.provable(step.predicate, step.bound, columns, len(table))
        names = [name for place, name in enumerate(step.arguments) if place not in step.bound]
        if len(set(names)) == len(names):
            return counts == 0
        numbered = Table((ROW,), (np.arange(len(table)),), self.arithmetic.ones(len(table)))
        present = self.widened(numbered, first, counts, names, matches, None)
        absent = np.ones(len(table), bool)
        absent[present.columns[0]] = False
        return absent

    def provable(
        self, predicate: str, bound: Mode, columns: list[np.ndarray], count: int
    ) -> tuple[np.ndarray, np.ndarray, Sequence[np.ndarray]]:
        """The provable atoms at any depth, for ``count`` rows of the bound arguments.

        Returns the start and number of each row's atoms, and the columns of the free arguments.
        """
        if self.plans.is_queried(predicate):
            answers = self.complete(predicate, bound, columns)
            return *answers.ranges(columns, count), answers.table.columns[1:]
        index = self.program.relation(predicate).index(bound)
        free = [place for place in range(len(index.relation.columns)) if place not in bound]
        return *index.ranges(columns, count), [index.column(place) for place in free]

    def _kept(
        self, table: Table, passes: np.ndarray, live: tuple[str, ...], plan: ClausePlan, rows: int
    ) -> Table:
        if not passes.all():
            table = table.take(np.flatnonzero(passes), self.arithmetic)
        return self.narrowed(table, live, plan, rows)

    def narrowed(
        self,
        table: Table,
        live: tuple[str, ...],
        plan: ClausePlan,
        rows: int,
        before: Collection[str] = (),
    ) -> Table:
        """Sum out all variables but the live ones, if the table has others, or had ``before``."""
        names = (ROW, *live)
        if set(names) == {*table.names, *before}:
            return table
        self.check_size(len(table), len(names) + GROUPING)
        return grouped(table, names, self.sizes(names, plan, rows), self.arithmetic)

    def _joined(self, step: Join, plan: ClausePlan, state: State, rows: int) -> State:
        relation = self.program.relation(step.predicate)
        index = relation.index(step.bound)
        pushed = self.pushing.pushed(step, index, self.known_weights(step.predicate), state)
        if pushed is not None:
            return (
                as_state(pushed, self.sizes(pushed.names, plan, rows), self.arithmetic)
                if isinstance(pushed, Table)
                else pushed
            )
        table = state.sparse()
        widened = self._met(step, index, table)
        return self.narrowed(widened, step.live, plan, rows, {*table.names, *step.arguments})

    def _met(self, step: Join, index: Index, table: Table) -> Table:
        """Join each row of the table with the matching rows of the relation."""
        keys = [table.column(step.arguments[place]) for place in step.bound]
        free = [place for place in step.read if place not in step.bound]
        names = [step.arguments[place] for place in free]
        first, counts = index.ranges(keys, len(table))
        matches = int(counts.sum())
        if table.is_of_one_question and index.is_read_through(matches):
            self.check_size(matches, len(table.names) + len(names) + 2)
            columns = [index.relation.columns[place] for place in free]
            weights = self.known_weights(step.predicate)
            return self._paired(table, *index.met(keys[0]), names, columns, weights, step.live)
        columns = [index.column(place) for place in free]
        weights = self.arithmetic.ordered(index, self.known_weights(step.predicate))
        return self.widened(table, first, counts, names, columns, weights, step.live)

    def widened(
        self,
        table: Table,
        first: np.ndarray,
        counts: np.ndarray,
        names: Sequence[str],
        columns: Sequence[np.ndarray],
        weights: Values | None,
        live: Collection[str] | None = None,
    ) -> Table:
        """Join each row i of the table with ``counts[i]`` rows of ``columns`` from ``first[i]`` on."""
        total = int(counts.sum())
        self.check_size(total, len(table.names) + len(names) + 2)
        return self._paired(table, *each_in(first, counts), names, columns, weights, live)

    def _paired(
        self,
        table: Table,
        left: np.ndarray,
        right: np.ndarray,
        names: Sequence[str],
        columns: Sequence[np.ndarray],
        weights: Values | None,
        live: Collection[str] | None = None,
    ) -> Table:
        """Join rows ``left`` of the table with rows ``right`` of ``columns``.

        Where a name is repeated, pairs with different constants are dropped. If ``live`` is given, the
        table's other columns are left out.
        """
        kept = [name for name in table.names if live is None or name == ROW or name in live]
        made = {name: table.column(name)[left] for name in kept}
        agree = np.ones(1, bool)  # broadcasts, so that nothing is compared where no name is repeated
        for name, column in zip(names, columns, strict=True):
            if name in made:
                agree = agree & (made[name] == column[right])
            else:
                made[name] = column[right].astype(np.int64)
        values = self.arithmetic.take(table.values, left)
        if weights is not None:
            values = self.arithmetic.multiply(values, self.arithmetic.take(weights, right))
        paired = Table(tuple(made), tuple(made.values()), values)
        return paired if agree.all() else paired.take(np.flatnonzero(agree), self.arithmetic)

    def with_answers(self, step: Ask, plan: ClausePlan, table: Table, answers: Answers, rows: int) -> Table:
        """Join the rows with the answers to each row's question, and sum out variables that are not live."""
        width = self.sizes(step.found, plan, rows)[0] if step.found else 1
        pushed = self.pushing.pushed_answers(step, answers, width, table)
        if pushed is not None:
            return pushed
        columns = [table.column(name) for name in step.inputs]
        first, counts = answers.ranges(columns, len(table))
        widened = self.widened(
            table, first, counts, step.found, answers.table.columns[1:], answers.table.values, step.live
        )
        return self.narrowed(widened, step.live, plan, rows, table.names)

    def known_weights(self, predicate: str) -> Values | None:
        """The weights of a relation's rows in its order; ``None`` if all are 1."""
        if predicate not in self._weights:
            relation = self.program.relation(predicate)
            self._weights[predicate] = self.arithmetic.fact_weights(predicate, relation)
        return self._weights[predicate]
