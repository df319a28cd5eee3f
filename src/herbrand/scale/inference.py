"""Models on a database: load facts there, lower the theory over them, and run commands there."""

from __future__ import annotations

import hashlib
import math
import shutil
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, NamedTuple

from herbrand.answers.bindings import Bindings
from herbrand.answers.bounds import Bounds
from herbrand.answers.marginals import Marginals
from herbrand.budget import readable
from herbrand.contraction.over_relations import UNLIMITED
from herbrand.engines.choice import Choice, Refused, offered
from herbrand.engines.credal.bounding import named_in
from herbrand.engines.credal.bounding import queried_predicates as asked_predicates
from herbrand.engines.credal.question import TOLERANCE, BoundSettings, read_bound_question
from herbrand.engines.engine import Call, first_state
from herbrand.engines.loop import Limits, run, settle, watching
from herbrand.engines.proof.engine import Goals
from herbrand.engines.proof.request import Request
from herbrand.engines.registry import (
    DATABASE,
    engine_named,
    engines_using,
    refuse_in_memory_only,
    refuse_unused,
)
from herbrand.errors import BudgetError, HerbrandError, UnsupportedError
from herbrand.extras import imported
from herbrand.facts.facts import Worlds
from herbrand.facts.sources.duckdb_tables import TablesThere
from herbrand.facts.store import Store
from herbrand.language.arguments import in_formula
from herbrand.language.parse import parse_formula
from herbrand.language.signature import Signature
from herbrand.language.syntax import FactRows
from herbrand.language.theory import Theory, show
from herbrand.learning.example import Aim
from herbrand.learning.learned import Learning
from herbrand.learning.methods import with_curve
from herbrand.learning.settings import LearningSettings
from herbrand.program.dependencies import refuse_weighted, resting_on_weights
from herbrand.program.knowledge import Knowledge, evidence_of, mentioned_with, refuse_disagreeing
from herbrand.program.lower import lower
from herbrand.program.program import Program
from herbrand.program.question import (
    Question,
    named_predicates,
    queried_predicates,
    read_question,
    with_own_names,
)
from herbrand.program.remarks import nothing_uncertain
from herbrand.relations.database import Database, DuckDB
from herbrand.scale.bounds.intervals import StoredNetwork
from herbrand.scale.bounds.sentences import StoredLowering
from herbrand.scale.bounds.solving import database_memory, solver
from herbrand.scale.computed import with_computed
from herbrand.scale.derived import with_derived
from herbrand.scale.evidence import StoredEvidence
from herbrand.scale.facts import KEPT, FactRequest, StoredFacts, kept_facts, stored_facts, stored_remarks
from herbrand.scale.learning.lesson import stored_example
from herbrand.scale.loading import LOADING
from herbrand.scale.place import DatabasePlace, folder_of, opened
from herbrand.scale.queries import StoredProofs, StoredRules
from herbrand.scale.reading import refuse_unanswerable
from herbrand.scale.run import LAYOUT, RUN, StoredProgram, StoredRun, nothing_to_resume, refuse_unserved
from herbrand.scale.sources import StoreOf, refuse_connections


class Used(NamedTuple):
    """A command, the predicates in its queries, and those of them that are queried directly."""

    command: str
    predicates: frozenset[str]
    queried: frozenset[str]


def _learning() -> ModuleType:
    """Import learning on a database, which needs torch."""
    return imported("herbrand.scale.learning.pseudo_likelihood")


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A theory with its facts, to be run at a place."""

    place: DatabasePlace
    knowledge: Knowledge
    most_rows: float = math.inf
    """Most rows joined in a step; a run that would join more is refused before it begins."""

    @property
    def theory(self) -> Theory:
        """The theory without ignored statements, with atoms in place of computations."""
        return self.knowledge.used

    @property
    def signature(self) -> Signature:
        """Signature of the theory, without evidence."""
        return self.knowledge.signature

    def of(self, knowledge: Knowledge) -> StoredModel:
        """This model with other knowledge: the same facts and statements, and the definitions of a
        question."""
        return self if knowledge is self.knowledge else replace(self, knowledge=knowledge)

    def infer(self, call: Call) -> Marginals:
        """Compute marginals by an engine that runs on a database."""
        settings, note = call.settings, call.note
        refuse_in_memory_only("infer", call.engine)
        refuse_unused("infer", call.engine, settings, DATABASE)
        with opened(self.place, settings.budget.memory) as database:
            signature = self.signature
            parsed = (
                parse_formula(text, "<query>", signature.valued_names, computes=True) for text in call.query
            )
            queries = tuple(in_formula(with_own_names(one, signature)) for one in parsed)
            used = Used("infer", named_predicates(queries), queried_predicates(queries, self.signature))
            knowledge, queries = self.knowledge.asking(queries)
            there = self.of(knowledge)
            evidence = there._evidence_of_run(database, used, call.given, call.resume)
            program = evidence.program
            question = read_question(queries, program.signature, program.facts, call.most_probable)
            refuse_unanswerable(evidence, question, call.top, settings.budget.memory)
            resumed = call.resume and database.has(RUN)
            choice, refused = there._chosen(database, call, evidence, question)
            own = choice.engine
            if choice.operations > self.most_rows:
                raise BudgetError(
                    f"on a database {own.name} would join about {choice.operations:.1e} rows a step",
                    hint="if that is wanted, name the database: --on duckdb:FILE",
                )
            if note is not None:
                for text in nothing_uncertain(
                    question, self.theory, program.facts, lambda name: evidence.known(name).latent_count()
                ):
                    note(text)
                disk = readable(min(choice.cost.disk, UNLIMITED))
                needs = f"about {choice.operations:.1e} joined rows a step, {disk} of disk"
                why = "".join(f"; {error.mistakes[0].message}" for error in refused)
                note(f"engine {own.name} on {self.place}: {needs}{why}")
            state = choice.begin()
            if resumed and note is not None:
                note(f"going on after step {state.step}")
            limits = Limits.of(settings)
            state, status = settle(own, lambda: state, limits, watching(self.knowledge.progress, limits))
            marginals = own.read(state, replace(status, where=self._where(database)))
            return marginals.filtered(call.top, call.least)

    def _chosen(
        self, database: Database, call: Call, evidence: StoredEvidence, question: Question
    ) -> tuple[Choice, Sequence[HerbrandError]]:
        """The named engine, or the first one that supports everything, and the refusals of those before it.
        Raise the first refusal if none is left."""
        settings, refused = call.settings, list[HerbrandError]()
        for name in engines_using("infer", call.engine, settings, DATABASE):
            own = engine_named("infer", name, settings, DATABASE)
            kept = self._run_of(database, evidence, call.given, call.resume, name, settings.damping)
            shown = replace(kept, room=self._room, top=call.top, least=call.least)
            stored = StoredProgram(evidence, shown)
            choice = offered(own, settings, own.prepare(stored, question, settings.budget))
            if not isinstance(choice, Refused):
                return choice, refused
            refused.append(choice.refusal.error)
            if not isinstance(refused[-1], UnsupportedError):
                break
        raise refused[0]

    def query(
        self,
        goals: Goals,
        given: Sequence[str],
        request: Request,
        drawn: Collection[str] = (),
    ) -> Bindings | tuple[Bindings, ...]:
        """Answer goals by the rules, and by choices if ``drawn`` predicates are queried."""
        if goals.bindings is not None:
            raise UnsupportedError("bindings are not served on a database", hint="give a list of goals")
        with opened(self.place, request.budget.memory) as database:
            names = self.signature.predicates
            loaded = self._facts(database, given, False)
            signature, facts = self._computed(*loaded, listed=names, complete=False)
            evidence, choices = evidence_of(given, self.signature), self.theory.choices if drawn else ()
            rules = StoredRules.of(self.theory.rules, signature, facts, evidence, choices, drawn)
            return run(StoredProofs(request), rules, goals)

    def bound(
        self,
        queries: Sequence[str],
        given: Sequence[str],
        engine: str,
        settings: BoundSettings,
        resume: bool = False,
        note: Callable[[str], None] | None = None,
        progress: Callable[[str, float], None] | None = None,
    ) -> Bounds:
        """Compute lower and upper probabilities of atoms."""
        reported = progress or self.knowledge.progress
        watched = replace(settings, progress=reported)
        own = engine_named("bound", engine, watched, DATABASE)
        with opened(self.place, database_memory(self.place.kind, settings.budget.memory)) as database:
            named, queried = named_in(queries, self.signature), asked_predicates(queries, self.signature)
            used = Used("bound", named, queried)
            evidence = self._evidence_of_run(database, used, given, resume)
            kept = self._run_of(database, evidence, given, resume, own.name, settings.independence)
            began = time.perf_counter()
            lowering = StoredLowering.of(evidence, settings.budget)
            question = read_bound_question(queries, lowering)
            with solver(database, settings.budget.memory) as solving:
                network = StoredNetwork(lowering, kept, solving)
                state = first_state(own, network, question)
                if note is not None:
                    note(f"engine {own.name}: {state.where}")
                    if kept.resume:
                        note(f"going on after sweep {state.step:,}")
                bounds = own.read(*settle(own, lambda: state, Limits.of(settings, TOLERANCE)))
            where = f"{self._where(database)}; {bounds.status.where}"
            seconds = time.perf_counter() - began
            return replace(bounds, status=replace(bounds.status, where=where, seconds=seconds))

    def learn(
        self,
        method: str,
        targets: tuple[str, ...],
        latent: tuple[str, ...],
        worlds: Any,
        settings: LearningSettings,
    ) -> Learning:
        """Learn the weights of the theory from the facts there."""
        _learning().refuse_unserved(method, worlds, settings)
        with opened(self.place, settings.budget.memory) as database:
            unknown = Worlds(open=self.signature.predicates)
            loaded = self._facts(database, (), settings.resume is not None, worlds=unknown)
            signature, facts = self._computed(*loaded, listed=self.signature.observed)
            example = stored_example(self.theory, signature, facts, Aim(targets, latent))
            report = self.knowledge.progress or _quiet

            def learn(watched: LearningSettings) -> Learning:
                return _learning().learned_there(self.theory, example, watched, self._room, report)

            learned = with_curve(learn, settings)
            learned = learned.as_written if self.knowledge.definitions else learned
            reason = "it needs the facts in memory" if method == "auto" else None
            return replace(
                learned, reason=reason, status=replace(learned.status, where=self._where(database))
            )

    def evidence_of(
        self, database: Database, queried: frozenset[str] = frozenset(), given: Sequence[str] = ()
    ) -> StoredEvidence:
        """Evidence, with some predicates queried and some literals given."""
        return self._evidence(database, Used("infer", frozenset(), queried), given, False)

    def listed_evidence(
        self, database: Database, queried: frozenset[str], given: Sequence[str]
    ) -> StoredEvidence:
        """Evidence without what statements derive, compute or weigh, for sizes where a database cannot use
        some of them."""
        signature, facts = self._facts(database, given, False, queried)
        return StoredEvidence(Program(signature, facts.facts, self.theory.statements, (), ()), facts)

    def _evidence_of_run(
        self, database: Database, used: Used, given: Sequence[str], resume: bool
    ) -> StoredEvidence:
        """Evidence of a run; raise UnsupportedError if it is to be resumed and none is kept."""
        if resume and not any(map(database.has, (RUN, KEPT, LOADING))):
            raise nothing_to_resume(database)
        return self._evidence(database, used, given, resume)

    def _run_of(
        self,
        database: Database,
        evidence: StoredEvidence,
        given: Sequence[str],
        resume: bool,
        engine: str,
        option: object,
    ) -> StoredRun:
        """Storage for the run of an engine; ``option``: the setting that its steps depend on."""
        fingerprint = self._fingerprint(evidence, given, engine, option)
        return StoredRun(database, fingerprint, resume and database.has(RUN))

    def _evidence(self, database: Database, used: Used, given: Sequence[str], resume: bool) -> StoredEvidence:
        refuse_unserved(self.theory.statements, used.command)
        heads = self.theory.derived.keys()
        on_derived = [row for row in evidence_of(given, self.signature) if row.predicate in heads]
        loaded = self._facts(database, given, resume, used.queried, apart=on_derived)
        signature, facts = self._computed(*loaded)
        if used.predicates:
            resting = resting_on_weights(self.theory.rules, facts.weighted_predicates())
            refuse_weighted(used.command, used.predicates, resting)
        if self.theory.rules:
            facts = with_derived(self.theory.rules, signature, facts)
        for row in on_derived:
            refuse_disagreeing(row, facts.lists(row, signature))
        return StoredEvidence(lower(self.theory, signature, facts.facts), facts)

    def _facts(
        self,
        database: Database,
        given: Sequence[str],
        resume: bool,
        queried: frozenset[str] = frozenset(),
        worlds: Worlds | None = None,
        apart: Sequence[FactRows] = (),
    ) -> tuple[Signature, StoredFacts]:
        """Load the facts of theory and sources, by default in the worlds that the theory implies. ``apart``:
        evidence that must not become facts."""
        known, sources = self.knowledge, self.knowledge.sources
        refuse_connections(sources)
        rows, signature = known.with_given(given)
        signature = replace(signature, mentioned=mentioned_with(signature, apart))
        rows = [row for row in rows if row not in apart]
        there = isinstance(database, DuckDB)
        with (
            StoreOf(database.connection, known.sources) if isinstance(database, DuckDB) else Store() as store
        ):
            sources = (TablesThere(self.place.target), *known.sources) if there else known.sources
            own = worlds or self._worlds(queried)
            named = known.signature.predicates
            request = FactRequest(signature, self.theory.facts, rows, named, sources, own, known.header)
            facts = kept_facts(database, store, request) if resume else None
            if facts is None and resume and worlds is None and _keeps_a_run(database):
                raise nothing_to_resume(database)
            if facts is None:
                database.drop(RUN)
                facts = stored_facts(database, store, request, known.progress, resume, known.tell)
        known.tell(stored_remarks(self.theory, *facts))
        return facts

    def _worlds(self, queried: frozenset[str]) -> Worlds:
        """Worlds of undeclared predicates."""
        heads = [rule.head.predicate for rule in self.theory.rules]
        return Worlds(heads, queried, self.knowledge.open, self.knowledge.closed)

    def _computed(
        self, signature: Signature, facts: StoredFacts, listed: Collection[str] = (), complete: bool = True
    ) -> tuple[Signature, StoredFacts]:
        """Add what the theory computes. ``listed``: predicates over whose listed rows values are computed;
        ``complete``: raise if a many-valued one has an atom without a value."""
        definitions = self.knowledge.definitions
        if definitions:
            depth = self.knowledge.depth
            facts = with_computed(definitions, self.theory, signature, facts, listed, complete, depth)
        return signature, facts

    def _where(self, database: Database) -> str:
        allowed = f", {readable(database.memory)} of memory" if database.memory else ""
        return f"{self.place}{allowed}"

    @property
    def _room(self) -> int | None:
        """Free bytes on the disk of the database."""
        return shutil.disk_usage(folder_of(self.place)).free

    def _fingerprint(
        self, evidence: StoredEvidence, given: Sequence[str], engine: str, option: object
    ) -> str:
        """A hash that is equal for runs that go through the same states."""
        known = self.knowledge
        stamps = evidence.stored.stamps
        settings = (LAYOUT, engine, show(known.used), tuple(given), known.open, known.closed, option, stamps)
        return hashlib.sha256(repr(settings).encode()).hexdigest()


def _keeps_a_run(database: Database) -> bool:
    """Whether a run is kept with its facts; unreadable notes do not count."""
    return all(database.has(name) and database.noted(name) for name in (RUN, KEPT))


def _quiet(*messages: object) -> None:
    """Ignore the notes."""
