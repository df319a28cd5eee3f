"""Weights learned from facts in a database: pseudo-likelihood, its counts and its sums taken there.

The same objective as in memory, climbed by the same optimiser, so the same weights.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from herbrand.contraction.memory import budget
from herbrand.contraction.relational_databases import Database
from herbrand.errors import UnsupportedError
from herbrand.language.syntax import Theory
from herbrand.learning.learned import Learning
from herbrand.learning.parameters import Parameters
from herbrand.learning.pseudo_likelihood import Part, PseudoLikelihood, at_the_top, indifferent
from herbrand.learning.settings import LearningSettings
from herbrand.scale.learning.conditionals import BYTES_A_CHANGE, StoredConditionals, fetched, merged
from herbrand.scale.learning.flips import Report, StoredFlips, changes, stored_flips
from herbrand.scale.learning.lesson import StoredExample

METHOD = "pseudo-likelihood"
SHARE_FETCHED = 0.1
"""The part of the memory that changes may take in this process."""


def learned_there(
    theory: Theory, example: StoredExample, settings: LearningSettings, room: int | None, report: Report
) -> Learning:
    """The theory with the weights that foretell the world best. ``room``: free bytes of disk."""
    began = time.perf_counter()
    objective = stored_objective(example, settings.memory, room, report)
    try:
        return at_the_top(theory, objective, settings, began)
    finally:
        for part in objective.parts:
            if isinstance(part, StoredConditionals):
                part.drop()


def stored_objective(
    example: StoredExample,
    memory: int | None,
    room: int | None = None,
    report: Report = lambda what, share: None,
) -> PseudoLikelihood:
    """The objective of a world; raises where its facts contradict a hard statement."""
    database, parameters = example.stored.database, Parameters.of(example.program)
    flips = list(stored_flips(example, room, report))
    changed = {}
    for number, target in enumerate(example.targets):
        query = changes(example, target, flips, parameters)
        if query is not None:
            changed[target] = f"change_{number}"
            database.make(changed[target], query)
    limit = budget(memory) * SHARE_FETCHED
    parts = tuple(
        part
        for target in example.targets
        for part in _parts(example, target, changed.get(target), len(parameters), limit)
    )
    _clear(database, flips)
    return PseudoLikelihood(parameters, parts)


def _parts(example: StoredExample, target: str, changed: str | None, width: int, limit: float) -> list[Part]:
    """The labelled atoms of one target against their alternatives."""
    database, alternatives = example.stored.database, example.program.value_count(target) - 1
    parts: list[Part] = []
    touched = 0
    if changed is not None and alternatives:
        table, touched = merged(database, changed)
        rows = database.number(f"SELECT COUNT(*) FROM {table}")
        if not rows or rows * BYTES_A_CHANGE <= limit:
            parts += [fetched(database, table, alternatives, width)] if rows else []
            database.drop(table)
        else:
            parts.append(StoredConditionals(database, table, alternatives, width, touched))
    untouched = example.label_count(target) - touched
    if untouched:
        parts.append(indifferent(untouched, alternatives, width))
    return parts


def _clear(database: Database, flips: Sequence[StoredFlips]) -> None:
    """Drop what only counting needed."""
    for flip in flips:
        database.drop(flip.table)
        database.drop(f"{flip.table}_places")


def refuse_unserved(method: str, worlds: object, settings: LearningSettings) -> None:
    """Raise where learning is asked for in a way that no database serves."""
    if method != METHOD:
        raise UnsupportedError(
            f"{method} does not run on a database", hint=f"--method {METHOD}, or leave out --on"
        )
    if worlds:
        raise UnsupportedError(
            "on a database learn takes one world, the facts that are there",
            hint="leave out --worlds, or --on",
        )
    if settings.resume is not None or settings.save is not None:
        raise UnsupportedError(
            "on a database learn keeps no state of its own", hint="leave out --save and --resume"
        )
