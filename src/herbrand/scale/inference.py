"""A model on a database: facts numbered there, the theory lowered over them, and ``infer`` run there."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb

from herbrand.answers.bindings import Bindings
from herbrand.answers.marginals import Marginals
from herbrand.answers.status import Status
from herbrand.contraction.memory import readable
from herbrand.contraction.relational_databases import Database, DuckDB
from herbrand.engines.engine import Settings
from herbrand.engines.loop import Limits, settle
from herbrand.engines.proof.request import Request
from herbrand.errors import UnsupportedError
from herbrand.facts.source import FactSource
from herbrand.facts.sources.base import OpenTable, Reading
from herbrand.facts.sources.stored import quoted, stored_table
from herbrand.facts.store import Store
from herbrand.facts.world import Worlds
from herbrand.language.check import check
from herbrand.language.parse import parse_literal
from herbrand.language.show import show
from herbrand.language.signature import Signature
from herbrand.language.syntax import Theory, Value
from herbrand.program.lower import lower
from herbrand.program.question import queried_predicates, read_question
from herbrand.scale.evidence import StoredEvidence
from herbrand.scale.facts import KEPT, StoredFacts, kept_facts, stored_facts
from herbrand.scale.loading import LOADING
from herbrand.scale.mean_field import RUN, State, nothing_to_resume, told_of, with_settings
from herbrand.scale.place import Place, folder_of, opened
from herbrand.scale.proofs import StoredRules
from herbrand.scale.reading import refuse_unanswerable

ENGINES = ("mean-field",)


class _StoreOf(Store):
    """Sources are opened in the database that will work on them."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        super().__init__()
        self.__dict__["connection"] = connection

    def __exit__(self, *error: Any) -> None:
        if "_folder" in self.__dict__:
            self._folder.cleanup()


@dataclass(frozen=True)
class TablesThere(FactSource):
    """The tables and views that the user's own schema of the database holds."""

    name: str

    def open(self, store: Store, reading: Reading) -> Sequence[OpenTable]:
        found = store.connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' "
            "AND table_catalog = current_database() ORDER BY table_name"
        ).fetchall()
        return [
            stored_table(store, name, f"{self.name}, table {name}", f"main.{quoted(name)}")
            for (name,) in found
        ]


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A theory and its facts, to be run at a place."""

    place: Place
    theory: Theory
    signature: Signature
    sources: tuple[FactSource, ...]
    open: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    header: bool | None = None
    progress: Callable[[str, float], None] | None = None

    def infer(
        self,
        queries: Sequence[str],
        given: Sequence[str],
        engine: str,
        settings: Settings,
        most_probable: bool = False,
        top: int | None = None,
        least: float | None = None,
        resume: bool = False,
        note: Callable[[str], None] | None = None,
    ) -> Marginals:
        """Marginals, by an engine that runs on a database."""
        if engine not in ("auto", *ENGINES):
            raise UnsupportedError(
                f"{engine} does not run on a database", hint=f"one of {', '.join(ENGINES)}"
            )
        if self.theory.rules:
            raise UnsupportedError(
                "on a database infer does not run rules yet", hint="leave them out by --ignore rules"
            )
        with opened(self.place, settings.memory) as database:
            if resume and not any(map(database.has, (RUN, KEPT, LOADING))):
                raise nothing_to_resume(database)
            evidence = self._evidence(database, queries, given, resume)
            resume = resume and database.has(RUN)
            program = evidence.program
            question = read_question(queries, program.signature, program.facts, most_probable)
            refuse_unanswerable(evidence, question, top, settings.memory)
            if note is not None:
                note(f"engine mean-field on {self.place}: {told_of(evidence)}")
            fingerprint = self._fingerprint(evidence, given, settings)
            own = with_settings(database, settings, fingerprint, resume, self._room)
            own = replace(own, top=top, least=least)
            state = own.begun(evidence, question)
            if resume and note is not None:
                note(f"going on after step {state.step}")
            state, status = self._settled(own, state, Limits.of(settings))
            return own.read(state, replace(status, where=self._where(database))).filtered(top, least)

    def query(
        self,
        goal: str | Sequence[str],
        bindings: Mapping[str, Sequence[Value]] | None,
        given: Sequence[str],
        options: Mapping[str, Any],
    ) -> Bindings | tuple[Bindings, ...]:
        """Answers of goals by the rules."""
        request = Request.of(options)
        if bindings is not None:
            raise UnsupportedError("bindings are not served on a database", hint="give a list of goals")
        with opened(self.place, request.memory) as database:
            signature, facts = self._facts(database, (), given, False)
            rules = StoredRules.of(self.theory.rules, signature, facts)
            return rules.ask(goal, request) if isinstance(goal, str) else rules.ask_all(list(goal), request)

    def _settled(self, own: Any, state: State, limits: Limits) -> tuple[State, Status]:
        """At rest; steps that an earlier call has taken count."""
        left = limits.iterations - state.step
        if state.moved <= limits.tolerance or left <= 0:
            converged = state.moved <= limits.tolerance
            advice = "" if converged else f"stopped after {state.step} iterations; allow more by --iterations"
            return state, Status(converged, state.step, advice=advice)
        program = state.evidence.program
        left_over = replace(limits, iterations=left)
        state, status = settle(own, program, state.question, left_over, self._watch(limits), state)
        return state, replace(status, iterations=state.step)

    def evidence_of(self, database: Database) -> StoredEvidence:
        """What is known, nothing asked and nothing given."""
        return self._evidence(database, (), (), False)

    def _evidence(
        self, database: Database, queries: Sequence[str], given: Sequence[str], resume: bool
    ) -> StoredEvidence:
        signature, facts = self._facts(database, queries, given, resume)
        return StoredEvidence(lower(self.theory, signature, facts.facts), facts)

    def _facts(
        self, database: Database, queries: Sequence[str], given: Sequence[str], resume: bool
    ) -> tuple[Signature, StoredFacts]:
        rows = tuple(map(parse_literal, given))
        signature = check(self.theory + Theory(rows)) if rows else self.signature
        there = isinstance(database, DuckDB)
        with _StoreOf(database.connection) if isinstance(database, DuckDB) else Store() as store:
            sources = (TablesThere(self.place.target), *self.sources) if there else self.sources
            reading = Reading(signature.predicates, self.header)
            elsewhere = {table.predicate for source in sources for table in source.open(store, reading)}
            elsewhere |= {facts.predicate for facts in self.theory.facts}
            worlds = Worlds(
                [rule.head.predicate for rule in self.theory.rules],
                queried_predicates(queries, self.signature) | ({fact.predicate for fact in rows} - elsewhere),
                self.open,
                self.closed,
            )
            told = ((*self.theory.facts, *rows), signature, sources, worlds, self.header)
            found = kept_facts(database, store, *told) if resume else None
            if found is None:
                database.drop(RUN)
                found = stored_facts(database, store, *told, self.progress, resume)
        return found

    def _where(self, database: Database) -> str:
        allowed = f", {readable(database.memory)} of memory" if database.memory else ""
        return f"{self.place}{allowed}"

    @property
    def _room(self) -> int | None:
        """Bytes free on the disk of the database."""
        return shutil.disk_usage(folder_of(self.place)).free

    def _fingerprint(self, evidence: StoredEvidence, given: Sequence[str], settings: Settings) -> str:
        """Equal for runs that go through the same states."""
        counts = {name: one.counts for name, one in evidence.stored.tables.items()}
        said = (show(self.theory), tuple(given), self.open, self.closed, settings.damping, counts)
        return hashlib.sha256(repr(said).encode()).hexdigest()

    def _watch(self, limits: Limits) -> Callable[[int, float], None] | None:
        progress = self.progress
        if progress is None:
            return None
        return lambda step, residual: progress(
            f"iteration {step:,}, residual {residual:.1e}", min(step / limits.iterations, 1.0)
        )
