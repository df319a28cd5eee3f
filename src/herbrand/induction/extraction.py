"""Extraction of readable rules from a trained machine: a search for clauses, guided by the machine, and exact
checks.

The machine is used twice. It labels the worlds that the search learns from, so the clauses describe what *it*
concludes. And each of its input predicates is emptied in turn: those that hardly move its log-odds are left
out of the clauses, unless the search leaves errors without them. Whether the clauses are right does not
depend on the machine: they are evaluated exactly on fresh worlds, small and large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from herbrand.induction.database import Database, Rows, worlds_of
from herbrand.induction.evaluation import Clause, evaluated
from herbrand.induction.examination import Conclude, Marks
from herbrand.induction.examples import Examples
from herbrand.induction.limits import Limits
from herbrand.induction.search import SearchResult, search
from herbrand.induction.task import Sample, Task
from herbrand.language.theory import Theory, show

NEGLIGIBLE = 0.02
"""Share of the largest relevance at or below which a predicate is left out at first."""


@dataclass(frozen=True)
class Extraction:
    """Extracted clauses. ``relevance``: importance of each input predicate to the machine; ``agreement``:
    marks of the clauses against the machine, in the worlds of the extraction."""

    clauses: tuple[Clause, ...]
    relevance: dict[str, float]
    agreement: Marks

    @property
    def theory(self) -> Theory:
        """The clauses as rules of the language."""
        return Theory(tuple(clause.to_rule() for clause in self.clauses))

    @property
    def text(self) -> str:
        """Text of the theory in the language."""
        return show(self.theory)


def extract(
    task: Task,
    conclude: Conclude,
    rng: np.random.Generator,
    worlds: int = 40,
    limits: Limits | None = None,
) -> Extraction:
    """Extract rules for what a trained machine concludes in random worlds of a task's training size."""
    sample = task.draw_for_training(rng, worlds, task.sizes[0])
    sample = labelled(conclude, sample)
    matters = relevance(task, conclude, sample)
    database = Database.of(worlds_of(task, sample))
    examples = Examples.of(task.target, database.tables[task.target], task.target_arity, database)
    search_result = focused_search(examples, database.without(task.target), matters, limits)
    agreement = Marks(sample.worlds, len(examples.rows), search_result.errors)
    return Extraction(search_result.clauses, matters, agreement)


def focused_search(
    examples: Examples, database: Database, matters: dict[str, float], limits: Limits | None = None
) -> SearchResult:
    """Search for clauses over the relevant predicates, the most relevant first; over all if errors are
    left."""
    order = sorted(matters, key=lambda name: -matters[name])
    relevant = [name for name in order if matters[name] > NEGLIGIBLE * matters[order[0]]]
    narrow = search(examples, database, limits, relevant) if relevant else SearchResult((), 1, 0)
    if narrow.errors and len(relevant) < len(order):
        wider = search(examples, database, limits, order)
        return min(narrow, wider, key=lambda f: f.errors)
    return narrow


def labelled(conclude: Conclude, sample: Sample) -> Sample:
    """The same worlds, with the machine's conclusions as the target."""
    with torch.no_grad():
        return replace(sample, target=(conclude(sample) > 0).float())


def relevance(task: Task, conclude: Conclude, sample: Sample) -> dict[str, float]:
    """Relevance of each input predicate: mean change of the log-odds when it is made false of everything.

    Changed conclusions would not show it: where two predicates say the same, a machine may use either.
    """
    with torch.no_grad():
        before = conclude(sample)
        changes = {}
        for arity, names in task.vocabulary.items():
            for channel, name in enumerate(names):
                emptied = sample.predicates[arity].clone()
                emptied[..., channel] = 0
                changed = replace(sample, predicates={**sample.predicates, arity: emptied})
                changes[name] = float((before - conclude(changed)).abs().mean())
    return changes


def verify(
    task: Task,
    clauses: Sequence[Clause],
    rng: np.random.Generator,
    worlds: int,
    objects: int,
    batch: int = 20,
) -> Marks:
    """Evaluate the clauses exactly on fresh worlds, against the truth."""
    total = Marks(0, 0, 0)
    while total.worlds < worlds:
        sample = task.draw(rng, min(batch, worlds - total.worlds), objects)
        database = Database.of(worlds_of(task, sample))
        truth = database.tables[task.target]
        wrong = mistakes(clauses, database.without(task.target), task.target, truth)
        total += Marks(sample.worlds, sample.target.numel(), wrong)
    return total


def mistakes(clauses: Sequence[Clause], database: Database, target: str, truth: Rows) -> int:
    """Number of tuples that the clauses derive wrongly or not at all."""
    derived_rows = evaluated(clauses, database).tables.get(target)
    if derived_rows is None:
        return len(truth)
    return len(np.setxor1d(database.codes(truth), database.codes(derived_rows)))
