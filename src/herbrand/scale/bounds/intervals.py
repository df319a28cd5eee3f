"""ARIEL over tables of a database: parts of a network tighten intervals, which are met in a grouped query.

A sweep gives each part of the network the intervals of its atoms as the sweep found them; the part's factors
tighten them in place until they are at rest. Of all that parts say of an atom the largest lower end and the
smallest upper end are kept: the intersection, so intervals hold the truth whenever the run is stopped. Parts
none of whose atoms have moved are left out. Every sweep's table is kept, so a run that was cut off goes on
from its last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.credal.ariel.messages import CROSSED
from herbrand.engines.credal.atoms import Atoms
from herbrand.engines.credal.statement_numbers import Stated
from herbrand.errors import ContradictionError, Mistake
from herbrand.language.show import show_statement
from herbrand.relations.database import Database
from herbrand.scale.bounds.parts import Shelves
from herbrand.scale.bounds.sentences import Sentences
from herbrand.scale.bounds.solving import Solver
from herbrand.scale.bounds.sweeping import NONE_FAILED
from herbrand.scale.run import Run

THRESHOLD = 1e-8
"""Smaller changes of an interval wake no part."""


@dataclass(frozen=True)
class IntervalState:
    """``step`` sweeps were made; the intervals after them stand in ``table``, one of two by turns.

    ``said``: the tables of ground sentences. ``moved``: the largest change of an end in the last sweep.
    """

    shelves: Shelves
    said: tuple[str, ...] = ()
    step: int = 0
    moved: float = 1.0

    @property
    def table(self) -> str:
        return f"interval_{self.step % 2}"


@dataclass(frozen=True, eq=False)
class StoredAriel:
    """``budget``: a sweep that is not done in time keeps what it has."""

    run: Run
    solver: Solver
    atoms: Atoms
    stated: Stated
    budget: Budget = UNLIMITED
    name: str = field(default="ariel", init=False)

    @cached_property
    def database(self) -> Database:
        return self.run.database

    def begun(self, sentences: Sentences, shelves: Shelves) -> IntervalState:
        """The intervals by the sentences about single atoms."""
        self.run.begin()
        members = map(shelves.member, range(shelves.count))
        parts = [f"SELECT DISTINCT atom, {FREE} FROM {member}" for member in members]
        single = sentences.all_of("single", "atom, lower, upper")
        union = " UNION ALL ".join([*parts, *([single] if single else []), NO_ATOM])
        met = f"SELECT atom, MAX(lower) AS low, MIN(upper) AS high FROM ({union}) u GROUP BY atom"
        state = IntervalState(shelves, tuple(sentences.tables["said"]))
        self.database.make(state.table, f"SELECT atom, {IN_ORDER}, 1 AS moved, low, high FROM ({met}) m")
        self._refuse_crossed(state.table)
        self._keep(state)
        return state

    def resumed(self) -> IntervalState:
        """The last state that is kept."""
        kept = self.run.kept()
        shelves = Shelves(kept["shelves"], kept["parts"])
        return IntervalState(shelves, tuple(kept["said"]), kept["step"], kept["moved"])

    def step(self, state: IntervalState) -> IntervalState:
        """One sweep over the parts whose atoms have moved."""
        tables, cut_off = [], False
        for shelf in range(state.shelves.count):
            cut_off = self.budget.ended
            if cut_off:
                break
            table = f"told_{shelf}"
            self.solver.tell(table, _asked(state, shelf, self.database))
            tables.append(table)
            self._refuse_failed(table, state)
        after = replace(state, step=state.step + 1)
        self.database.make(after.table, _met(state.table, tables, cut_off))
        for table in tables:
            self.database.drop(table)
        self._refuse_crossed(after.table)
        moved = float(self.database.number(f"SELECT COALESCE(MAX(change), 0) FROM {after.table}"))
        found = replace(after, moved=max(moved, state.moved) if cut_off else moved)
        self._keep(found)
        return found

    def residual(self, state: IntervalState) -> float:
        return state.moved

    def _keep(self, state: IntervalState) -> None:
        shelves = {"shelves": state.shelves.count, "parts": state.shelves.parts}
        self.run.keep({"step": state.step, "moved": state.moved, "said": state.said, **shelves})

    def _refuse_failed(self, table: str, state: IntervalState) -> None:
        failed = f"SELECT failed FROM {table} WHERE failed <> {NONE_FAILED} ORDER BY failed LIMIT 1"
        for (number,) in self.database.rows(failed):
            raise self._contradiction(int(number), state)

    def _refuse_crossed(self, table: str) -> None:
        crossed = f"SELECT atom FROM {table} WHERE low > high + {CROSSED!r} ORDER BY atom LIMIT 1"
        found = self.database.rows(crossed)
        if found:
            atom = self.atoms.text(int(found[0][0]))
            raise ContradictionError(
                f"the bounds contradict each other: nothing is left for P({atom})", hint=ASK_IN_MEMORY
            )

    def _contradiction(self, number: int, state: IntervalState) -> ContradictionError:
        """The error that names one of the sentences that cannot hold together."""
        union = " UNION ALL ".join(f"SELECT number, statement, atoms FROM {table}" for table in state.said)
        row = self.database.rows(f"SELECT statement, atoms FROM ({union}) s WHERE number = {number}")[0]
        statement, named = self.stated[int(row[0])], ", ".join(self.atoms.text(int(atom)) for atom in row[1])
        text = next(iter(show_statement(statement)))
        return ContradictionError(
            Mistake(
                f"the bounds contradict each other; this cannot hold with what others say of {named}: {text}",
                statement.span,
                ASK_IN_MEMORY,
            )
        )


ASK_IN_MEMORY = "without --on, a smallest set of statements that cannot hold together is named"
FREE = "CAST(0 AS DOUBLE) AS lower, CAST(1 AS DOUBLE) AS upper"
NO_ATOM = f"SELECT * FROM (SELECT CAST(0 AS BIGINT) AS atom, {FREE} LIMIT 0) n"
IN_ORDER = "LEAST(low, high) AS lower, GREATEST(low, high) AS upper"
"""Ends that rounding has crossed are put back in order."""


def _asked(state: IntervalState, shelf: int, database: Database) -> str:
    """The parts of a shelf with the intervals of their atoms, if any of these has moved."""
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
    """All intervals after a sweep; where it was cut off, not all that had moved before was heard."""
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
