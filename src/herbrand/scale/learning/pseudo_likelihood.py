"""Pseudo-likelihood learning from facts in a database, which computes the counts and sums.

Objective and optimiser are those of learning in memory, so the weights are the same.
"""

from __future__ import annotations

import time

from herbrand.budget import allowed_bytes
from herbrand.errors import UnsupportedError
from herbrand.language.theory import Theory
from herbrand.learning.learned import Learning
from herbrand.learning.methods import unused_options
from herbrand.learning.pseudo_likelihood import LikelihoodTerm, PseudoLikelihood, at_the_top, indifferent
from herbrand.learning.settings import LearningSettings
from herbrand.learning.ties import refuse_possibly_tied
from herbrand.options.table import options_of
from herbrand.scale.learning.conditionals import BYTES_A_CHANGE, StoredConditionals, fetched
from herbrand.scale.learning.counted import Counted, counted, fingerprint, kept_counts
from herbrand.scale.learning.flips import Report
from herbrand.scale.learning.lesson import StoredExample

METHOD = "pseudo-likelihood"
SHARE_FETCHED = 0.1
"""Share of the memory that changes may take in this process."""


def learned_there(
    theory: Theory, example: StoredExample, settings: LearningSettings, room: int | None, report: Report
) -> Learning:
    """The theory with the weights that maximise the pseudo-likelihood. ``room``: free bytes of disk.

    If weights are saved, counts stay in the database until learning has converged.
    """
    began = time.perf_counter()
    counts = (kept_counts(example) if settings.resume is not None else None) or counted(example, room, report)
    if settings.save is not None:
        counts.keep(fingerprint(example))
    at_rest = False
    try:
        refuse_possibly_tied(example)
        learned = at_the_top(
            theory, stored_objective(example, counts, settings.budget.memory), settings, began
        )
        at_rest = learned.status.converged
    finally:
        if settings.save is None or at_rest:
            counts.drop()
    return learned


def stored_objective(example: StoredExample, counts: Counted, memory: int | None) -> PseudoLikelihood:
    """The pseudo-likelihood of a world."""
    limit = allowed_bytes(memory) * SHARE_FETCHED
    parts = tuple(part for target in example.targets for part in _parts(example, target, counts, limit))
    return PseudoLikelihood(counts.parameters, parts)


def _parts(example: StoredExample, target: str, counts: Counted, limit: float) -> list[LikelihoodTerm]:
    """Likelihood terms of one target's labelled atoms against their other values."""
    database, alternatives = counts.database, example.program.value_count(target) - 1
    width, parts, touched = len(counts.parameters), list[LikelihoodTerm](), 0
    if not alternatives:
        return parts
    if target in counts.tables:
        table, touched = counts.tables[target]
        rows = database.number(f"SELECT COUNT(*) FROM {table}")
        if rows * BYTES_A_CHANGE > limit:
            parts.append(StoredConditionals(database, table, alternatives, width, touched))
        elif rows:
            parts.append(fetched(database, table, alternatives, width))
    untouched = example.label_count(target) - touched
    if untouched:
        parts.append(indifferent(untouched, alternatives, width))
    return parts


def refuse_unserved(method: str, worlds: object, settings: LearningSettings) -> None:
    """Raise UnsupportedError if a database does not support the method, the options or several worlds."""
    if method not in ("auto", METHOD):
        raise UnsupportedError(
            f"{method} does not run on a database", hint=f"--method {METHOD}, or leave out --on"
        )
    if unused := unused_options(METHOD, settings):
        flag = options_of("learn")[unused[0]].flag
        raise UnsupportedError(
            f"{METHOD}, which runs on a database, does not use {flag}", hint=f"leave out {flag}, or --on"
        )
    if worlds:
        raise UnsupportedError(
            "on a database learn takes one world, the facts that are there",
            hint="leave out --worlds, or --on",
        )
