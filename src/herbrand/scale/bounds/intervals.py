"""ARIEL over tables of a database: parts of a network tighten intervals, which a grouped query intersects.

A sweep passes to each part of the network the intervals of its atoms; the part's factors tighten them in
place until they no longer change. Of all intervals that parts return for an atom the largest lower end and
the smallest upper end are kept: the intersection, so intervals contain the true probability whenever the run
is stopped. Parts none of whose atoms have changed are skipped. Every sweep's table is kept, so an interrupted
run resumes from its last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from herbrand.answers.bounds import Bounds
from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Guarantee, Status
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.credal.ariel.engine import MOST_PASSES
from herbrand.engines.credal.ariel.messages import CROSSED
from herbrand.engines.credal.ariel.sweeps import THRESHOLD
from herbrand.engines.credal.network import Atoms
from herbrand.engines.credal.question import BoundQuestion, BoundSettings, Progress
from herbrand.engines.engine import REFUSALS, Cost, Prepared, Refusal
from herbrand.engines.loop import Resumed
from herbrand.errors import ContradictionError, Mistake, UnsupportedError
from herbrand.language.show import statement_text
from herbrand.relations.database import Database
from herbrand.relations.memory import Memory
from herbrand.relations.relation import Relation
from herbrand.relations.stored import Scratch
from herbrand.row_keys import Places
from herbrand.scale.bounds.parts import Shelves, shelved
from herbrand.scale.bounds.sentences import Sentences, StoredLowering
from herbrand.scale.bounds.solving import Solver
from herbrand.scale.bounds.sweeping import NONE_FAILED
from herbrand.scale.reading import refuse_long_answer
from herbrand.scale.run import StoredRun, explained_in_memory

# Supported questions, and the rows of the answer


def refuse_other_questions(question: BoundQuestion, atoms: Atoms, budget: Budget) -> None:
    """Raise for unsupported questions: of more than single atoms, or of more atoms than memory holds."""
    for query in question.queries:
        if query.given is not None or query.event.shape != 0:
            raise UnsupportedError(
                f"on a database queries are single atoms that are open, and P({query.text}) is not",
                hint="ask for atoms, or leave out --on",
            )
    count = len(question.queries) or len(atoms)
    refuse_long_answer(count, budget.bytes, "ask for some atoms by --query")


def intervals_in(
    database: Database, table: str, question: BoundQuestion, atoms: Atoms
) -> tuple[Sequence[str], np.ndarray, np.ndarray]:
    """Texts of the queried atoms with the ends of their intervals; [0, 1] for atoms that no sentence
    names."""
    with Scratch(database, "asked") as scratch:
        rows: Relation = scratch.table(table, atom="int", lower="float", upper="float")
        if question.everything:
            texts: Sequence[str] = atoms.texts()
            numbers = np.arange(len(texts))
        else:
            texts = [query.text for query in question.queries]
            numbers = np.array([query.event.atoms[0] for query in question.queries], np.int64)
            rows = rows.matching(scratch.put(Memory.of(atom=numbers)), ["atom"])
        fetched = rows.arrays()
    at = Places(fetched["atom"]).of(numbers)
    lower, upper = np.zeros(len(numbers)), np.ones(len(numbers))
    lower[at >= 0] = fetched["lower"][at[at >= 0]]
    upper[at >= 0] = fetched["upper"][at[at >= 0]]
    return texts, lower, upper


# The engine


SHARE_FOR_GRAPH = 0.2
"""Share of the memory allowed that links between atoms may take while the network is split into parts."""


@dataclass(frozen=True, eq=False)
class StoredNetwork:
    """A credal network whose sentences are rows of a database, with the run that keeps its sweeps, and the
    solver of its parts."""

    lowering: StoredLowering
    run: StoredRun
    solver: Solver

    @property
    def database(self) -> Database:
        return self.run.database

    @property
    def atoms(self) -> Atoms:
        return self.lowering.atoms


@dataclass(frozen=True, eq=False)
class IntervalState(Resumed):
    """State after ``step`` sweeps, whose intervals are in ``table``, one of two that alternate.

    ``stated``: tables of ground sentences. ``moved``: largest change of an end in the last sweep.
    """

    network: StoredNetwork
    question: BoundQuestion
    shelves: Shelves
    stated: tuple[str, ...] = ()
    step: int = 0
    moved: float = 1.0

    @property
    def table(self) -> str:
        return f"interval_{self.step % 2}"

    @property
    def where(self) -> str:
        """Schedule of the messages, and what solves the parts."""
        return f"{schedule(self.shelves)}, by {self.network.solver.where}"


@dataclass(frozen=True)
class StoredAriel:
    """ARIEL on a database. ``budget``: a sweep that exceeds its time keeps the parts solved so far."""

    iterations: int | None = None
    budget: Budget = UNLIMITED
    markov: bool = True
    progress: Progress | None = field(default=None, compare=False, repr=False)
    name: str = field(default="ariel", init=False)

    @classmethod
    def with_settings(cls, settings: BoundSettings) -> StoredAriel:
        """Build the engine; refuse unsupported settings."""
        if settings.mode != "sound":
            raise UnsupportedError(
                "on a database messages are bounds, not as published", hint="leave out --mode, or --on"
            )
        markov = settings.independence == "markov"
        return cls(settings.iterations, settings.budget, markov, settings.progress)

    def prepare(
        self, network: StoredNetwork, question: BoundQuestion, within: Budget
    ) -> Prepared[IntervalState] | Refusal:
        try:
            refuse_other_questions(question, network.atoms, within)
        except REFUSALS as error:
            return Refusal(error)
        return Prepared(partial(self._begun, network, question), lambda: Cost(guarantee=Guarantee.BOUND))

    def _begun(self, network: StoredNetwork, question: BoundQuestion) -> IntervalState:
        """Initial intervals from the sentences about single atoms, or the last ones if the run is resumed."""
        if network.run.resume:
            kept = network.run.kept()
            shelves = Shelves(kept["shelves"], kept["parts"])
            stated = tuple(kept["stated"])
            return IntervalState(network, question, shelves, stated, kept["step"], kept["moved"])
        sentences = Sentences(network.database, network.lowering, self.markov)
        sentences.write(self._report)
        shelves = shelved(sentences, int(self.budget.bytes * SHARE_FOR_GRAPH), self._report)
        state = self._first(
            IntervalState(network, question, shelves, tuple(sentences.tables["stated"])), sentences
        )
        sentences.clear()
        return state

    def _first(self, state: IntervalState, sentences: Sentences) -> IntervalState:
        """Make the tables of the first state."""
        database, shelves = state.network.database, state.shelves
        state.network.run.begin()
        members = map(shelves.member, range(shelves.count))
        parts = [f"SELECT DISTINCT atom, {FREE} FROM {member}" for member in members]
        single = sentences.all_of("single", "atom, lower, upper")
        union = " UNION ALL ".join([*parts, *([single] if single else []), NO_ATOM])
        met = f"SELECT atom, MAX(lower) AS low, MIN(upper) AS high FROM ({union}) u GROUP BY atom"
        database.make(state.table, f"SELECT atom, {IN_ORDER}, 1 AS moved, low, high FROM ({met}) m")
        _refuse_crossed(state)
        _keep(state)
        return state

    def step(self, state: IntervalState) -> IntervalState:
        """Make one sweep over the parts whose atoms have changed."""
        network, tables, cut_off = state.network, [], False
        database = network.database
        for shelf in range(state.shelves.count):
            cut_off = self.budget.ended
            if cut_off:
                break
            table = f"solved_{shelf}"
            network.solver.store_solved(table, _asked(state, shelf, database))
            tables.append(table)
            _refuse_failed(table, state)
        after = replace(state, step=state.step + 1)
        database.make(after.table, _met(state.table, tables, cut_off))
        for table in tables:
            database.drop(table)
        _refuse_crossed(after)
        moved = float(database.number(f"SELECT COALESCE(MAX(change), 0) FROM {after.table}"))
        reached = replace(after, moved=max(moved, state.moved) if cut_off else moved)
        _keep(reached)
        done = min(reached.step / (self.iterations or MOST_PASSES), 1.0)
        self._report(f"sweep {reached.step:,}: intervals move by {reached.moved:.1e}", 0.4 + 0.6 * done)
        return reached

    def residual(self, state: IntervalState) -> float:
        return state.moved

    def read(self, state: IntervalState, status: Status) -> Bounds:
        """Intervals of the queried atoms, or of every atom."""
        network = state.network
        read = intervals_in(network.database, state.table, state.question, network.atoms)
        where = replace(status, where=state.where)
        return Bounds(self.name, Guarantee.BOUND, where, *read, np.full(len(read[0]), True))

    def explain(self, state: IntervalState, status: Status) -> Explanation:
        raise explained_in_memory()

    def _report(self, what: str, share: float) -> None:
        if self.progress is not None:
            self.progress(what, share)


def schedule(shelves: Shelves) -> str:
    """Description of the schedule: asynchronous within a part, synchronous between parts."""
    return f"{shelves.parts:,} parts in place, synchronous between them" if shelves.parts > 1 else "in place"


def _keep(state: IntervalState) -> None:
    shelves = {"shelves": state.shelves.count, "parts": state.shelves.parts}
    kept = {"step": state.step, "moved": state.moved, "stated": state.stated, **shelves}
    state.network.run.keep(kept)


def _refuse_failed(table: str, state: IntervalState) -> None:
    failed = f"SELECT failed FROM {table} WHERE failed <> {NONE_FAILED} ORDER BY failed LIMIT 1"
    for (number,) in state.network.database.rows(failed):
        raise _contradiction(int(number), state)


def _refuse_crossed(state: IntervalState) -> None:
    crossed = f"SELECT atom FROM {state.table} WHERE low > high + {CROSSED!r} ORDER BY atom LIMIT 1"
    first = state.network.database.rows(crossed)
    if first:
        atom = state.network.atoms.text(int(first[0][0]))
        raise ContradictionError(
            f"the bounds contradict each other: nothing is left for P({atom})", hint=ASK_IN_MEMORY
        )


def _contradiction(number: int, state: IntervalState) -> ContradictionError:
    """The error that names one of the contradictory sentences."""
    network = state.network
    union = " UNION ALL ".join(f"SELECT number, statement, atoms FROM {table}" for table in state.stated)
    row = network.database.rows(f"SELECT statement, atoms FROM ({union}) s WHERE number = {number}")[0]
    statement = network.lowering.stated[int(row[0])]
    named = ", ".join(network.atoms.text(int(atom)) for atom in row[1])
    text = statement_text(statement)
    return ContradictionError(
        Mistake(
            f"the bounds contradict each other; this cannot hold with the other bounds on {named}: {text}",
            statement.span,
            ASK_IN_MEMORY,
        )
    )


ASK_IN_MEMORY = "without --on, a smallest set of statements that cannot hold together is named"
FREE = "CAST(0 AS DOUBLE) AS lower, CAST(1 AS DOUBLE) AS upper"
NO_ATOM = f"SELECT * FROM (SELECT CAST(0 AS BIGINT) AS atom, {FREE} LIMIT 0) n"
IN_ORDER = "LEAST(low, high) AS lower, GREATEST(low, high) AS upper"
"""Swap ends that rounding has crossed."""


def _asked(state: IntervalState, shelf: int, database: Database) -> str:
    """Query for the parts of a shelf with the intervals of their atoms, if any of these has changed."""
    dialect = database.dialect
    record = dialect.record(place="m.place", atom="m.atom", lower="i.lower", upper="i.upper")
    members = (
        f"SELECT m.part, {dialect.gathered.format(value=record)} AS members "
        f"FROM {state.shelves.member(shelf)} m JOIN {state.table} i ON i.atom = m.atom "
        "GROUP BY m.part HAVING MAX(i.moved) = 1"
    )
    return (
        f"SELECT p.data, m.members FROM {state.shelves.piece(shelf)} p JOIN ({members}) m ON m.part = p.part"
    )


def _met(before: str, tables: Sequence[str], cut_off: bool) -> str:
    """Query for all intervals after a sweep; if it was cut off, atoms that had changed before stay marked, as
    not all of their parts were solved."""
    parts = [f"SELECT atom, lower, upper FROM {table} WHERE failed = {NONE_FAILED}" for table in tables]
    union = " UNION ALL ".join((*parts, NO_ATOM))
    met = f"SELECT atom, MAX(lower) AS lower, MIN(upper) AS upper FROM ({union}) u GROUP BY atom"
    ends = "GREATEST(i.lower, COALESCE(m.lower, 0)) AS low, LEAST(i.upper, COALESCE(m.upper, 1)) AS high"
    known = f"(SELECT atom, lower, upper, moved FROM {before}) i LEFT JOIN ({met}) m ON m.atom = i.atom"
    joined = f"SELECT i.*, {ends} FROM {known}"
    ordered = f"SELECT *, LEAST(low, high) AS l, GREATEST(low, high) AS u FROM ({joined}) j"
    changed = f"SELECT *, GREATEST(l - lower, upper - u) AS change FROM ({ordered}) c"
    moved = f"CASE WHEN change > {THRESHOLD!r}{' OR moved = 1' if cut_off else ''} THEN 1 ELSE 0 END AS moved"
    return f"SELECT atom, l AS lower, u AS upper, {moved}, low, high, change FROM ({changed}) d"
