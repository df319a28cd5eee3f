"""Rows for which an atom has no proof, at any depth: ``not`` in the body of a rule.

Stated facts are looked up; a derived predicate is run to its fixpoint in the boolean algebra, for the inputs
that are asked.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from herbrand.engines.proof.plan import ClausePlan, Exclude, Mode
from herbrand.engines.proof.questions import Answers
from herbrand.engines.proof.steps import Runner
from herbrand.engines.proof.table import ROW, Table

Complete = Callable[[str, Mode, list[np.ndarray], int], Answers]
"""All that can be proved of a predicate in a mode, for these inputs (columns, and how many rows)."""


class Absences:
    def __init__(self, runner: Runner, complete: Complete) -> None:
        self._runner, self._complete = runner, complete

    def kept(self, step: Exclude, plan: ClausePlan, table: Table) -> Table:
        """The rows of the table for which nothing makes the atom true."""
        columns = [table.column(step.arguments[place]) for place in step.bound]
        free = [place for place in range(len(step.arguments)) if place not in step.bound]
        if self._runner.plans.is_asked(step.predicate):
            answers = self._complete(step.predicate, step.bound, columns, len(table))
            first, counts = answers.ranges(columns, len(table))
            matches = list(answers.table.columns[1:])
        else:
            index = self._runner.program.relation(step.predicate).index(step.bound)
            first, counts = index.ranges(columns, len(table))
            matches = [index.column(place) for place in free]
        names = [step.arguments[place] for place in free]
        if len(set(names)) == len(names):
            return table.take(np.flatnonzero(counts == 0), self._runner.arithmetic)
        numbered = Table((ROW,), (np.arange(len(table)),), self._runner.arithmetic.ones(len(table)))
        found = self._runner.widened(numbered, first, counts, names, matches, None)
        absent = np.ones(len(table), bool)
        absent[found.columns[0]] = False
        return table.take(np.flatnonzero(absent), self._runner.arithmetic)
