"""Sizes of a model on a database: counts from its tables, and the costs of the engines that can run there.

A model that does not fit into memory is measured on a scratch database, where it would be run.
"""

from __future__ import annotations

from dataclasses import replace

from herbrand.budget import allowed_bytes, holds_database, readable
from herbrand.engines.choice import Refused, offered
from herbrand.engines.cost_question import NOTHING, CostQuestion
from herbrand.engines.engine import Cost, Refusal, Settings
from herbrand.engines.registry import DATABASE, ENGINES, INFERENCE, engine_named
from herbrand.errors import HerbrandError, UnsupportedError
from herbrand.facts.load import TooLarge
from herbrand.program.question import Question
from herbrand.scale.evidence import StoredEvidence
from herbrand.scale.inference import StoredModel
from herbrand.scale.place import opened
from herbrand.scale.run import StoredProgram, StoredRun
from herbrand.scale.scratch import MOST_ROWS_A_STEP, StoredAt, scratch

Measured = tuple[StoredEvidence, dict[str, Cost | Refusal]]
"""Evidence, and each engine's cost or refusal. The database is closed again, so only counts may be read from
the evidence."""


def measured_on_scratch(
    stored_at: StoredAt, reason: TooLarge, memory: int | None, cost_question: CostQuestion = NOTHING
) -> Measured:
    """As :func:`measured`, on a scratch database."""
    with scratch(reason) as place:
        return measured(stored_at(place), memory, cost_question)


def measured_instead(
    stored_at: StoredAt,
    engines: dict[str, Cost | Refusal],
    memory: int | None,
    cost_question: CostQuestion = NOTHING,
) -> tuple[dict[str, Cost | Refusal], bool]:
    """If no engine can run in memory: replace the engines that could run on a database, and tell whether any
    can."""
    if not holds_database(allowed_bytes(memory)):
        return engines, False
    try:
        reason = TooLarge("no engine fits into memory")
        _, there = measured_on_scratch(stored_at, reason, memory, cost_question)
    except HerbrandError:
        return engines, False
    able = {
        name: estimate
        for name, estimate in there.items()
        if isinstance(estimate, Cost) and (estimate.operations or 0) <= MOST_ROWS_A_STEP
    }
    return {**engines, **able}, bool(able)


def measured(
    model: StoredModel, memory: int | None = None, cost_question: CostQuestion = NOTHING
) -> Measured:
    """Sizes and engines of a model on its database; no engine where a database cannot use the theory."""
    asked = cost_question.predicates(model.signature), cost_question.given
    with opened(model.place, memory) as database:
        try:
            evidence = model.evidence_of(database, *asked)
        except UnsupportedError as error:
            evidence = model.listed_evidence(database, *asked)
            return _counted(evidence), dict.fromkeys(INFERENCE, Refusal(error))
        question = cost_question.question(_counted(evidence).program)
        engines = {name: _estimated(name, evidence, question, str(model.place)) for name in INFERENCE}
        return evidence, engines


def _counted(evidence: StoredEvidence) -> StoredEvidence:
    """The evidence, its atoms counted while the database is open."""
    for predicate in evidence.program.signature.named:
        evidence.known(predicate)
    return evidence


def _estimated(name: str, evidence: StoredEvidence, question: Question, where: str) -> Cost | Refusal:
    if name not in ENGINES[DATABASE]["infer"]:
        return Refusal(UnsupportedError("runs in memory only"))
    settings, stored = Settings(), StoredProgram(evidence, StoredRun(evidence.database))
    engine = engine_named("infer", name, settings, DATABASE)
    offer = offered(engine, settings, engine.prepare(stored, question, settings.budget))
    if isinstance(offer, Refused):
        return offer.refusal
    return replace(offer.cost, detail=f"on {where}, {readable(offer.cost.disk)} of its disk")
