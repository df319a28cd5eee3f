"""Answers of goals by rules, over facts in a database: rounds of joins from the facts up.

A predicate's proofs within k calls are joins of its rules' bodies, in which derived predicates stand with
their proofs within k - 1 calls; so each round is one table a predicate, and k is the number of rounds. The
last round is left to the database as a subquery, which pushes the goal's constants down into it. To the
fixpoint, boolean rounds are semi-naive: only what is new in one round is joined in the next.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from herbrand.answers.bindings import Bindings
from herbrand.answers.guarantee import Guarantee
from herbrand.answers.status import Status
from herbrand.contraction.relational_algebras import Meaning
from herbrand.engines.proof.evidence import denied_but_derived, refuse_given
from herbrand.engines.proof.goals import Goal, read_goal
from herbrand.engines.proof.horn_program import HornProgram
from herbrand.engines.proof.request import FIXPOINT, Request
from herbrand.engines.proof.wider_types import NarrowError
from herbrand.errors import LanguageError, UnsupportedError
from herbrand.language.signature import Signature
from herbrand.language.syntax import FactRows, Rule
from herbrand.program.clauses import Clause, Lookup
from herbrand.program.lower_rules import stated_clause
from herbrand.scale.facts import StoredFacts
from herbrand.scale.proof.clauses import ClauseQueries, Tables, listed
from herbrand.scale.reading import Fetched

ALGEBRAS = {"count": "real", "boolean": "boolean", "max": "max_product"}
MOST_ROUNDS = 1000
SAME = 1e-12
"""Sums that change by less, relatively, have converged."""


@dataclass(frozen=True, eq=False)
class StoredRules:
    """A theory's rules over facts in a database."""

    program: HornProgram
    stored: StoredFacts
    given: tuple[FactRows, ...] = ()

    @classmethod
    def of(
        cls,
        rules: Sequence[Rule],
        signature: Signature,
        stored: StoredFacts,
        given: tuple[FactRows, ...] = (),
    ) -> StoredRules:
        """``given``: literals that are among the facts."""
        program = HornProgram.of(rules, signature, stored.facts)
        clauses = dict(program.clauses)
        for name, known in clauses.items():
            if stored.tables[name].counts[0] or stored.tables[name].counts[2]:
                clauses[name] = (stated_clause(name, signature), *known)
        return cls(replace(program, clauses=clauses), stored, given)

    def ask(self, goal: str, request: Request) -> Bindings:
        """The answers of one goal."""
        return self.ask_all([goal], request)[0]

    def ask_all(self, goals: Sequence[str], request: Request) -> tuple[Bindings, ...]:
        """The answers of each goal, all from the same rounds."""
        if request.algebra not in ALGEBRAS or request.exact:
            raise UnsupportedError(
                f"the {'exact' if request.exact else request.algebra} algebra does not run on a database",
                hint=f"one of {', '.join(ALGEBRAS)}",
            )
        began = time.perf_counter()
        refuse_given(self.given, self.program, request.algebra)
        read = [self._read(goal) for goal in goals]
        needed = self._reached(one.shape.clause for one in read)
        rounds = Rounds(self, ALGEBRAS[request.algebra], needed)
        try:
            for name in self.program.reached(one.shape.clause for one in read):
                self._refuse_denied(name, rounds, request)
            last, truncated = rounds.run(request.depth)
            found = [rounds.answers(goal, last, request) for goal in read]
        finally:
            rounds.clear()
        seconds = time.perf_counter() - began
        return tuple(
            self._told(one, columns, request, rounds, truncated, seconds)
            for one, columns in zip(read, found, strict=True)
        )

    def _refuse_denied(self, name: str, rounds: Rounds, request: Request) -> None:
        """Raise where something has a proof that is stated to be false."""
        if not self.program.is_derived(name) or not self.stored.tables[name].counts[1]:
            return
        columns = rounds.queries.columns(name)
        on = " AND ".join(f"t.{column} = f.{column}" for column in columns) or "TRUE"
        denied = self.stored.database.rows(
            f"SELECT {listed([f'f.{column}' for column in columns]) or '1'} FROM "
            f"{self.stored.tables[name].false} f JOIN {rounds.complete_table(name)} t ON {on} LIMIT 1"
        )
        if denied:
            predicate = self.program.signature.predicates[name]
            domains = [self.stored.facts.domains[kind] for kind in predicate.types]
            values = tuple(domain.value(int(i)) for domain, i in zip(domains, denied[0], strict=False))
            raise denied_but_derived(name, values, request.algebra)

    def _read(self, goal: str) -> Goal:
        try:
            return read_goal(goal, self.program)
        except NarrowError as narrow:
            raise LanguageError([narrow.told]) from None

    def _reached(self, clauses: Iterator[Clause]) -> list[str]:
        """The derived predicates that clauses rest on, absences left out."""
        waiting, found = list(clauses), []
        while waiting:
            for part in waiting.pop().body:
                if not isinstance(part, Lookup) or part.stated or part.predicate in found:
                    continue
                if self.program.is_derived(part.predicate):
                    found.append(part.predicate)
                    waiting += self.program.clauses[part.predicate]
        return found

    def _told(
        self,
        goal: Goal,
        found: tuple[list[Fetched], np.ndarray],
        request: Request,
        rounds: Rounds,
        truncated: bool,
        seconds: float,
    ) -> Bindings:
        columns, weights = found
        where = self.stored.database.name
        advice = (
            ""
            if rounds.converged
            else "the sum over all proofs grows without end or too slowly; give a depth"
        )
        status = Status(rounds.converged, rounds.count, seconds, advice, where=where)
        guarantee = request.guarantee(truncated) if rounds.converged else Guarantee.APPROXIMATION
        by_name = dict(zip(goal.shape.found, columns, strict=True))
        ordered = tuple(by_name[name] for name in goal.shape.variables)
        answer = Bindings("proof", guarantee, status, goal.shape.variables, ordered, weights, truncated)
        return answer.normalized(request.normalize).top(request.top)


@dataclass(eq=False)
class Rounds:
    """One evaluation in one algebra; its tables are dropped at the end.

    ``above``: the evaluation that waits for this one to complete what stands behind its ``not``. The two may
    hold tables of the same predicate at the same time, so their names have the ``level``.
    """

    rules: StoredRules
    algebra: str
    needed: Sequence[str]
    above: Rounds | None = None
    count: int = 0
    converged: bool = True
    made: list[str] = field(default_factory=list)

    @cached_property
    def level(self) -> int:
        return 0 if self.above is None else self.above.level + 1

    @cached_property
    def complete(self) -> dict[str, str]:
        """A table of all atoms with a proof, for each predicate behind a ``not``; kept by the outermost
        evaluation, since the next one inside may need it too."""
        return {} if self.above is None else self.above.complete

    @cached_property
    def queries(self) -> ClauseQueries:
        return ClauseQueries(self.rules.program, self.rules.stored, self.algebra, self.complete_table)

    @property
    def meaning(self) -> Meaning:
        return self.queries.meaning

    def clear(self) -> None:
        kept = self.complete.values() if self.above is None else ()
        for name in (*self.made, *kept):
            self.rules.stored.database.drop(name)

    def run(self, depth: int | str) -> tuple[Tables, bool]:
        """What stands for derived predicates in a goal, and whether deeper proofs were left out."""
        heights = self._heights()
        allowed = MOST_ROUNDS if depth == FIXPOINT else int(depth) + 1
        if heights is not None and max(heights.values(), default=0) <= allowed:
            return self._nested(heights), False
        nothing = {name: self._table(name, "none", self.queries.empty(name)) for name in self.needed}
        if depth == FIXPOINT and self.algebra == "boolean":
            return self._semi_naive(nothing), False
        now: Tables = nothing
        for self.count in range(1, allowed + 1):
            after = self._round(now, str(self.count % 2))
            if self._are_same(now, after):
                return after, False
            now = after
        if depth == FIXPOINT:
            self.converged = False
            return now, False
        return now, not self._are_same(now, self._round(now, "more"))

    def _heights(self) -> dict[str, int] | None:
        """How deep calls of each predicate go, callees first; None where some call themselves."""
        found: dict[str, int] = {}
        for _ in self.needed:
            for name in self.needed:
                calls = {
                    clause.body[place].predicate  # type: ignore[union-attr]
                    for clause in self.rules.program.clauses[name]
                    for place in self._recursive(clause)
                }
                if name not in found and calls <= found.keys():
                    found[name] = 1 + max((found[other] for other in calls), default=0)
        return found if len(found) == len(self.needed) else None

    def _nested(self, heights: Mapping[str, int]) -> Tables:
        """Without recursion nothing need be kept: each predicate is a query over those that it calls."""
        found: dict[str, str] = {}
        for name in heights:
            found[name] = f"({self.queries.predicate_query(name, found)}) i"
        self.count = max(heights.values(), default=0)
        return found

    def _round(self, now: Tables, turn: str) -> Tables:
        return {
            name: self._table(name, turn, self.queries.predicate_query(name, now)) for name in self.needed
        }

    def _are_same(self, before: Tables, after: Tables) -> bool:
        return all(self._same(before[name], after[name], name) for name in self.needed)

    def _semi_naive(self, nothing: Tables) -> Tables:
        """Rows of all rounds, each joined once when it was new."""
        every: Tables = nothing
        new = {
            name: self._table(name, "new0", self.queries.predicate_query(name, nothing))
            for name in self.needed
        }
        while any(self._rows(table) for table in new.values()):
            self.count += 1
            turn, fresh = str(self.count % 2), new
            every = {
                name: self._table(
                    name, f"all{turn}", f"SELECT * FROM {every[name]} UNION ALL SELECT * FROM {fresh[name]}"
                )
                for name in self.needed
            }
            new = {
                name: self._table(name, f"new{turn}", self._fresh(name, every, fresh)) for name in self.needed
            }
        return every

    def _fresh(self, name: str, every: Tables, new: Tables) -> str:
        """What follows with something new that is not among the rows yet."""
        parts = [
            self.queries.clause_query(clause, every, {place: new})
            for clause in self.rules.program.clauses[name]
            for place in self._recursive(clause)
        ]
        columns = self.queries.columns(name)
        if not parts:
            return self.queries.empty(name)
        union = " UNION ALL ".join(f"SELECT {listed(columns, 'v')} FROM ({part}) p" for part in parts)
        known = " AND ".join(f"e.{column} = u.{column}" for column in columns) or "TRUE"
        distinct = f"SELECT DISTINCT {listed(columns, 'v')} FROM ({union}) d"
        return f"SELECT * FROM ({distinct}) u WHERE NOT EXISTS (SELECT 1 FROM {every[name]} e WHERE {known})"

    def _recursive(self, clause: Clause) -> list[int]:
        """The places of derived atoms in a body."""
        return [
            place
            for place, part in enumerate(clause.body)
            if isinstance(part, Lookup) and not part.stated and part.predicate in self.needed
        ]

    def answers(self, goal: Goal, tables: Tables, request: Request) -> tuple[list[Fetched], np.ndarray]:
        """The constants of each variable found, and the weights, heaviest first."""
        clause = goal.shape.clause
        asked = dict(zip(clause.head, goal.inputs, strict=False))
        if any(asked[name] != index for name, index in zip(clause.head, goal.inputs, strict=False)):
            return self._fetched(
                goal, f"SELECT * FROM ({self.queries.clause_query(clause, tables)}) q WHERE FALSE", request
            )
        clause = replace(clause, constants={**clause.constants, **asked})
        return self._fetched(goal, self.queries.clause_query(clause, tables), request)

    def _fetched(self, goal: Goal, query: str, request: Request) -> tuple[list[Fetched], np.ndarray]:
        constants, types = self.rules.stored.constants, goal.shape.clause.types
        first = len(goal.shape.inputs)
        names = goal.shape.clause.head[first:]
        places = range(first, first + len(names))
        joins = [
            f"JOIN {constants[types[name]]} d{place} ON d{place}.id = r.a{place}"
            for place, name in zip(places, names, strict=True)
        ]
        value = "CAST(1 AS DOUBLE)" if self.algebra == "boolean" else "r.v"
        chosen = [f"d{place}.value AS c{place}" for place in places]
        order = listed([f"r.a{first + goal.shape.found.index(name)}" for name in goal.shape.variables])
        limit = "" if request.top is None or request.normalize != "none" else f" LIMIT {request.top}"
        data = self.rules.stored.database.arrow(
            f"SELECT {listed(chosen, f'{value} AS v')} FROM ({query}) r {' '.join(joins)} "
            f"WHERE {self.meaning.present('r.v')} ORDER BY v DESC{', ' + order if order else ''}{limit}"
        )
        weights = data["v"].to_numpy().astype(np.float64)
        return [Fetched(data[f"c{place}"]) for place in places], weights

    def complete_table(self, predicate: str) -> str:
        """All atoms of a predicate that have a proof."""
        if not self.rules.program.is_derived(predicate):
            columns = self.queries.columns(predicate)
            tables = self.rules.stored.tables[predicate]
            parts = [
                f"SELECT {listed(columns) or '1 AS one'} FROM {name}" for name in (tables.true, tables.soft)
            ]
            return f"({' UNION '.join(parts)})"
        if predicate not in self.complete:
            needed = self.rules._reached(iter(self.rules.program.clauses[predicate]))
            needed = list(dict.fromkeys([predicate, *needed]))
            inner = Rounds(self.rules, "boolean", needed, self)
            try:
                found, _ = inner.run(FIXPOINT)
                kept = f"complete_{self.rules.stored.tables[predicate].true}"
                self.rules.stored.database.make(kept, f"SELECT * FROM {found[predicate]}")
                self.complete[predicate] = kept
            finally:
                inner.clear()
        return self.complete[predicate]

    def _table(self, name: str, turn: str, query: str) -> str:
        number = self.rules.stored.tables[name].true.removeprefix("true_")
        table = f"proofs_{self.level}_{self.algebra}_{number}_{turn}"
        self.rules.stored.database.make(table, query)
        if table not in self.made:
            self.made.append(table)
        return table

    def _rows(self, table: str) -> int:
        return self.rules.stored.database.number(f"SELECT COUNT(*) FROM {table}")

    def _same(self, before: str, after: str, name: str) -> bool:
        columns = self.queries.columns(name)
        on = " AND ".join(f"b.{column} = c.{column}" for column in columns) or "TRUE"
        differ = "b.v <> c.v"
        if self.meaning.kind == "DOUBLE":
            limit = f"{SAME!r} * GREATEST(ABS(b.v), ABS(c.v))"
            differ = f"ABS(b.v - c.v) > {limit}"
        query = (
            f"SELECT COUNT(*) FROM {before} b FULL OUTER JOIN {after} c ON {on} "
            f"WHERE b.v IS NULL OR c.v IS NULL OR {differ}"
        )
        return self.rules.stored.database.number(query) == 0
