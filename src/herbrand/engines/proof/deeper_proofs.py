"""Whether the depth cut a proof off, and not only a call that leads nowhere.

Once more without weights: every call that is cut gives all that it can prove at any depth, with 2 for 1.
The heaviest proof of an answer then weighs more than 1 exactly where some proof goes through such a call.
Mostly one more call is enough to find one, which costs about what the answer did; all that can be proved at
any depth, which may cost far more, is looked at only where it is not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from herbrand.engines.proof.arithmetic import Numbers
from herbrand.engines.proof.fixpoint import Fixpoint
from herbrand.engines.proof.steps import Runner, inputs_named, outputs_named
from herbrand.engines.proof.table import State, Table, grouped
from herbrand.engines.proof.unrolled import AskedRows, Beyond, Goal, Unrolled
from herbrand.errors import BudgetError

CUT = 2.0
FEW = 16
"""Constants of a frontier that are tried before all of them are."""


def is_cut_off(runner: Runner, done: Unrolled, asked: AskedRows, depth: int) -> bool:
    """Whether some proof needs more calls than the question was ``done`` with, in which a call was cut; taken
    to be so where finding out is too much."""
    truth = runner.with_arithmetic(Numbers.of("boolean"))
    if any(_leads_on(truth, goal, state) for goal, state in done.cut_last):
        return True
    frontier = asked.frontier
    start = Table(frontier.names, frontier.columns, truth.arithmetic.ones(len(frontier)))
    question = replace(asked, frontier=start)
    try:
        return any(
            np.max(Unrolled(truth, beyond).answers(question, depth).values, initial=0.0) > 1
            for beyond in (_by_one_more_call(truth), _at_any_depth(truth))
        )
    except BudgetError:
        return True


def _by_one_more_call(truth: Runner) -> Beyond:
    def beyond(goal: Goal, table: Table) -> Table:
        asked = AskedRows(goal.predicate, goal.mode, table, int(table.columns[0].max(initial=0)) + 1)
        return Unrolled(truth).answers(asked, 0).scaled(CUT, truth.arithmetic)

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
        found = truth.widened(whole, first, counts, names[1:], answers.table.columns[1:], None)
        sizes = [int(table.columns[0].max(initial=0)) + 1, *free]
        return grouped(found, names, sizes, truth.arithmetic).scaled(CUT, truth.arithmetic)

    return beyond


def _leads_on(truth: Runner, goal: Goal, state: State) -> bool:
    """Whether the first row of a frontier, whose answers are the question's own, has one by one more call;
    a few of its constants mostly show."""
    table = state.sparse()
    if not table:  # a grid in which nothing is left
        return False
    row = int(table.columns[0][0])
    count = int(np.searchsorted(table.columns[0], row + 1))
    for start, stop in ((0, min(FEW, count)), (FEW, count)):
        columns = tuple(column[start:stop] for column in table.columns)
        some = Table(table.names, columns, truth.arithmetic.ones(max(0, stop - start)))
        asked = AskedRows(goal.predicate, goal.mode, some, row + 1)
        if some and len(Unrolled(truth).answers(asked, 0)):
            return True
    return False
