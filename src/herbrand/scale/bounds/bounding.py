"""Intervals of probabilities over facts in a database: from a theory and query texts to an answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from herbrand.answers.bounds import Bounds
from herbrand.answers.guarantee import Guarantee
from herbrand.answers.status import Status, out_of_iterations
from herbrand.engines.credal.ariel.engine import MOST_PASSES
from herbrand.engines.credal.engine import TOLERANCE, BoundSettings
from herbrand.engines.credal.question import BoundQuestion, Query, read_bound_question
from herbrand.engines.loop import Limits, settle
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.memory import allowed_bytes, readable
from herbrand.relations.database import Database
from herbrand.scale.bounds.intervals import IntervalState, StoredAriel
from herbrand.scale.bounds.parts import shelved
from herbrand.scale.bounds.sentences import Report, Sentences, StoredLowering
from herbrand.scale.bounds.solving import solver
from herbrand.scale.evidence import StoredEvidence
from herbrand.scale.reading import BYTES_A_ROW
from herbrand.scale.run import Run

SHARE_FOR_GRAPH = 0.2
ASKED_AT_ONCE = 1000


@dataclass(frozen=True, eq=False)
class Asked:
    """``fingerprint`` names the run; ``note`` gets what is chosen, ``report`` how far it is."""

    queries: tuple[str, ...]
    settings: BoundSettings
    fingerprint: str
    resume: bool
    note: Callable[[str], None]
    report: Report


def refuse_unserved(engine: str, settings: BoundSettings) -> None:
    """Raise where bounds are asked for in a way that no database serves."""
    if engine not in ("auto", "ariel"):
        raise UnsupportedError(
            f"{engine} does not bound on a database", hint="--engine ariel, or leave out --on"
        )
    if settings.mode != "sound":
        raise UnsupportedError(
            "on a database messages are bounds, not as published", hint="leave out --mode, or --on"
        )


def bounded(evidence: StoredEvidence, asked: Asked) -> Bounds:
    """The interval of each atom asked for, or of every atom."""
    began = time.perf_counter()
    database, settings = evidence.database, asked.settings
    lowering = StoredLowering.of(evidence, settings.budget)
    question = read_bound_question(asked.queries, lowering)
    _refuse_other_questions(question, lowering, settings)
    with solver(database, settings.budget.memory) as solving:
        run = Run(database, asked.fingerprint, asked.resume)
        engine = StoredAriel(run, solving, lowering.atoms, lowering.stated, settings.budget)
        state = engine.resumed() if asked.resume else _begun(engine, lowering, asked)
        place = f"{_schedule(state)}, by {solving.where}"
        asked.note(f"engine ariel: {place}")
        if asked.resume:
            asked.note(f"going on after sweep {state.step:,}")
        state, status = _settled(engine, state, asked, began)
        texts, lower, upper = _read(database, state, question, lowering)
    status = replace(status, seconds=time.perf_counter() - began, where=place)
    certified = np.full(len(texts), True)
    return Bounds(engine.name, Guarantee.BOUND, status, texts, lower, upper, certified)


def _begun(engine: StoredAriel, lowering: StoredLowering, asked: Asked) -> IntervalState:
    database, settings = engine.database, asked.settings
    sentences = Sentences(database, lowering, settings.independence == "markov")
    sentences.write(asked.report)
    shelves = shelved(sentences, int(allowed_bytes(settings.budget.memory) * SHARE_FOR_GRAPH), asked.report)
    state = engine.begun(sentences, shelves)
    sentences.clear()
    return state


def _settled(
    engine: StoredAriel, state: IntervalState, asked: Asked, began: float
) -> tuple[IntervalState, Status]:
    """At rest, or where a limit is met; sweeps that an earlier call has made count."""
    settings = asked.settings
    tolerance = TOLERANCE if settings.tolerance is None else settings.tolerance
    most = settings.iterations or MOST_PASSES
    if state.moved <= tolerance or state.step >= most:
        converged = state.moved <= tolerance
        advice = "" if converged else out_of_iterations(state.step)
        return state, Status(converged, state.step, advice=advice)

    def watch(number: int, residual: float) -> None:
        done = state.step + number
        asked.report(f"sweep {done:,}: intervals move by {residual:.1e}", 0.4 + 0.6 * min(done / most, 1.0))

    limits = Limits(tolerance, most - state.step, settings.budget)
    found, status = settle(engine, lambda: state, limits, watch)
    return found, replace(status, iterations=found.step)


def _refuse_other_questions(
    question: BoundQuestion, lowering: StoredLowering, settings: BoundSettings
) -> None:
    for query in question.queries:
        if query.given is not None or query.event.shape != 0:
            raise UnsupportedError(
                f"a database is asked for single atoms, and P({query.text}) is of more than one",
                hint="ask for atoms, or leave out --on",
            )
    count = len(question.queries) or len(lowering.atoms)
    if count * BYTES_A_ROW > allowed_bytes(settings.budget.memory):
        raise BudgetError(
            f"the answer would have {count:,} rows, about {readable(count * BYTES_A_ROW)} in memory",
            hint="ask for some atoms by --query",
        )


def _read(
    database: Database, state: IntervalState, question: BoundQuestion, lowering: StoredLowering
) -> tuple[Sequence[str], np.ndarray, np.ndarray]:
    """What is asked, and the ends of its intervals; of atoms that no sentence speaks of nothing is known."""
    if question.everything:
        texts: Sequence[str] = lowering.atoms.texts()
        numbers = np.arange(len(texts))
        found = database.arrow(f"SELECT atom, lower, upper FROM {state.table}")
    else:
        texts = [query.text for query in question.queries]
        numbers = np.array([_atom(query) for query in question.queries], np.int64)
        found = _some(database, state, np.unique(numbers))
    atom = found["atom"].to_numpy()
    order = np.argsort(atom)
    lower, upper = np.zeros(len(numbers)), np.ones(len(numbers))
    if len(atom):
        at = np.minimum(np.searchsorted(atom[order], numbers), len(atom) - 1)
        known = atom[order][at] == numbers
        lower[known] = found["lower"].to_numpy()[order][at[known]]
        upper[known] = found["upper"].to_numpy()[order][at[known]]
    return texts, lower, upper


def _schedule(state: IntervalState) -> str:
    """How messages go: within a part at once, between parts from sweep to sweep."""
    parts = state.shelves.parts
    return f"{parts:,} parts in place, synchronous between them" if parts > 1 else "in place"


def _atom(query: Query) -> int:
    return query.event.atoms[0]


def _some(database: Database, state: IntervalState, numbers: np.ndarray) -> pa.Table:
    """The intervals of these atoms."""
    tables = []
    for first in range(0, len(numbers), ASKED_AT_ONCE):
        listed = ", ".join(map(str, numbers[first : first + ASKED_AT_ONCE].tolist()))
        query = f"SELECT atom, lower, upper FROM {state.table} WHERE atom IN ({listed})"
        tables.append(database.arrow(query))
    return pa.concat_tables(tables)
