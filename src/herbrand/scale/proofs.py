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

import numpy as np

from herbrand.answers.bindings import Bindings
from herbrand.answers.guarantee import Guarantee
from herbrand.answers.status import Status
from herbrand.contraction.expression import Contraction, Sizes
from herbrand.contraction.relational import Stored, planned, rendered
from herbrand.contraction.relational_algebras import Meaning, meaning_of
from herbrand.engines.proof.clauses import Absence, Clause, Compared, Lookup, Measured, Never, OneOf
from herbrand.engines.proof.goals import Goal, UnseenError, read_goal
from herbrand.engines.proof.request import FIXPOINT, Request
from herbrand.engines.proof.rules import HornProgram, stated_clause
from herbrand.errors import LanguageError, UnsupportedError
from herbrand.language.names import shown_constant
from herbrand.language.signature import Signature
from herbrand.language.syntax import Learned, Rule
from herbrand.scale.facts import StoredFacts
from herbrand.scale.reading import Fetched

ALGEBRAS = {"count": "real", "boolean": "boolean", "max": "max_product"}
MOST_ROUNDS = 1000
SAME = 1e-12
"""Sums that change by less, relatively, have converged."""

Tables = Mapping[str, str]
"""What stands for each derived predicate: a table's name, or a query in brackets with an alias."""


@dataclass(frozen=True, eq=False)
class StoredRules:
    """A theory's rules over facts in a database."""

    program: HornProgram
    stored: StoredFacts

    @classmethod
    def of(cls, rules: Sequence[Rule], signature: Signature, stored: StoredFacts) -> StoredRules:
        program = HornProgram.of(rules, signature, stored.facts)
        clauses = dict(program.clauses)
        for name, known in clauses.items():
            if stored.tables[name].counts[0] or stored.tables[name].counts[2]:
                clauses[name] = (stated_clause(name, signature), *known)
        return cls(replace(program, clauses=clauses), stored)

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
        read = [self._read(goal) for goal in goals]
        needed = self._reached(one.shape.clause for one in read)
        rounds = _Rounds(self, ALGEBRAS[request.algebra], needed)
        try:
            last, truncated = rounds.run(request.depth)
            found = [rounds.answers(goal, last, request) for goal in read]
        finally:
            rounds.clear()
        seconds = time.perf_counter() - began
        return tuple(
            self._told(one, columns, request, rounds, truncated, seconds)
            for one, columns in zip(read, found, strict=True)
        )

    def _read(self, goal: str) -> Goal:
        try:
            return read_goal(goal, self.program)
        except UnseenError as unseen:
            raise LanguageError(
                f"{shown_constant(unseen.value)} is no constant of type {unseen.type_name}"
            ) from None

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
        rounds: _Rounds,
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
class _Rounds:
    """One evaluation in one algebra; its tables are dropped at the end."""

    rules: StoredRules
    algebra: str
    needed: Sequence[str]
    count: int = 0
    converged: bool = True
    made: list[str] = field(default_factory=list)
    complete: dict[str, str] = field(default_factory=dict)

    @property
    def meaning(self) -> Meaning:
        return meaning_of(self.algebra)

    def clear(self) -> None:
        for name in self.made:
            self.rules.stored.database.drop(name)

    def run(self, depth: int | str) -> tuple[Tables, bool]:
        """What stands for derived predicates in a goal, and whether deeper proofs were left out."""
        heights = self._heights()
        allowed = MOST_ROUNDS if depth == FIXPOINT else int(depth) + 1
        if heights is not None and max(heights.values(), default=0) <= allowed:
            return self._nested(heights), False
        nothing = {name: self._table(name, "none", self._empty(name)) for name in self.needed}
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
            found[name] = f"({self._query(name, found)}) i"
        self.count = max(heights.values(), default=0)
        return found

    def _round(self, now: Tables, turn: str) -> Tables:
        return {name: self._table(name, turn, self._query(name, now)) for name in self.needed}

    def _are_same(self, before: Tables, after: Tables) -> bool:
        return all(self._same(before[name], after[name], name) for name in self.needed)

    def _semi_naive(self, nothing: Tables) -> Tables:
        """Rows of all rounds, each joined once when it was new."""
        every: Tables = nothing
        new = {name: self._table(name, "new0", self._query(name, nothing)) for name in self.needed}
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
            self.clause_query(clause, every, {place: new})
            for clause in self.rules.program.clauses[name]
            for place in self._recursive(clause)
        ]
        columns = self._columns(name)
        if not parts:
            return self._empty(name)
        union = " UNION ALL ".join(f"SELECT {_listed(columns, 'v')} FROM ({part}) p" for part in parts)
        known = " AND ".join(f"e.{column} = u.{column}" for column in columns) or "TRUE"
        distinct = f"SELECT DISTINCT {_listed(columns, 'v')} FROM ({union}) d"
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
                goal, f"SELECT * FROM ({self.clause_query(clause, tables)}) q WHERE FALSE", request
            )
        clause = replace(clause, constants={**clause.constants, **asked})
        return self._fetched(goal, self.clause_query(clause, tables), request)

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
        order = _listed([f"r.a{first + goal.shape.found.index(name)}" for name in goal.shape.variables])
        limit = "" if request.top is None or request.normalize != "none" else f" LIMIT {request.top}"
        data = self.rules.stored.database.arrow(
            f"SELECT {_listed(chosen, f'{value} AS v')} FROM ({query}) r {' '.join(joins)} "
            f"WHERE {self.meaning.present('r.v')} ORDER BY v DESC{', ' + order if order else ''}{limit}"
        )
        weights = data["v"].to_numpy().astype(np.float64)
        return [Fetched(data[f"c{place}"]) for place in places], weights

    def _query(self, name: str, tables: Tables) -> str:
        """One round of a predicate: its clauses added up."""
        columns = self._columns(name)
        parts = [self.clause_query(clause, tables) for clause in self.rules.program.clauses[name]]
        if not parts:
            return self._empty(name)
        union = " UNION ALL ".join(f"SELECT {_listed(columns, 'v')} FROM ({part}) p" for part in parts)
        total = f"{self.meaning.total('v')} AS v"
        groups = f" GROUP BY {', '.join(columns)}" if columns else " HAVING COUNT(*) > 0"
        summed = f"SELECT {_listed(columns, total)} FROM ({union}) u{groups}"
        return f"SELECT * FROM ({summed}) s WHERE {self.meaning.present('v')}"

    def clause_query(
        self, clause: Clause, tables: Tables, instead: Mapping[int, Tables] | None = None
    ) -> str:
        """The weight of each head: the ⊕ over all other variables of the ⊗ of the body.

        ``instead``: other tables for derived atoms at these places.
        """
        lookups = [
            (part, (instead or {}).get(place, tables))
            for place, part in enumerate(clause.body)
            if isinstance(part, Lookup)
        ]
        tests = [part for part in clause.body if not isinstance(part, Lookup)]
        weight = self._weight(clause)
        if tests:
            return self._joined(clause, lookups, tests, weight)
        return self._contracted(clause, lookups, weight)

    def _contracted(
        self, clause: Clause, lookups: Sequence[tuple[Lookup, Tables]], weight: str | None
    ) -> str:
        """A body of atoms alone: a contraction, so that sums are taken early."""
        variables = clause.variables()
        sizes = Sizes({name: self.rules.program.sizes[clause.types[name]] for name in variables})
        operands, stored = [], []
        for part, tables in lookups:
            source, columns, value, rows = self._source(part, clause, tables)
            operands.append(tuple(columns))
            stored.append(Stored(source, tuple(columns.values()), value, None, rows))
        output = tuple(dict.fromkeys(name for name in clause.head if name not in clause.constants))
        contraction = Contraction(tuple(operands), output, sizes, algebra=self.algebra)
        query = rendered(planned(contraction, stored), stored, self.rules.stored.database.dialect)
        places = dict(zip(output, query.columns, strict=True))
        chosen = [
            f"{clause.constants[name] if name in clause.constants else places[name]} AS a{place}"
            for place, name in enumerate(clause.head)
        ]
        if query.rows is None:
            value = query.background or self.meaning.number(self.meaning.zero)
            inner = f"(SELECT {value} AS v{''.join(f', n{i}.i AS {places[n]}' for i, n in enumerate(output))}"
            sources = [self._numbers(name, clause, i) for i, name in enumerate(output)]
            inner += f"{' FROM ' + ' CROSS JOIN '.join(sources) if sources else ''}) q"
        else:
            inner = f"({query.rows}) q"
        value = "v" if weight is None else self.meaning.product(["v", weight])
        return f"SELECT {_listed(chosen, f'{value} AS v')} FROM {inner} WHERE {self.meaning.present('v')}"

    def _joined(
        self,
        clause: Clause,
        lookups: Sequence[tuple[Lookup, Tables]],
        tests: Sequence[object],
        weight: str | None,
    ) -> str:
        """A body with tests: joined as a whole, filtered, and then added up."""
        place: dict[str, str] = {}
        sources, conditions, factors = [], [], [] if weight is None else [weight]
        for number, (part, tables) in enumerate(lookups):
            source, columns, value, _ = self._source(part, clause, tables)
            given = value or self.meaning.number(self.meaning.one)
            inner = _listed(
                [f"{column} AS x{i}" for i, column in enumerate(columns.values())], f"{given} AS v"
            )
            sources.append(f"(SELECT {inner} FROM {source}) l{number}")
            factors.append(f"l{number}.v")
            for i, name in enumerate(columns):
                if name in place:
                    conditions.append(f"l{number}.x{i} = {place[name]}")
                place.setdefault(name, f"l{number}.x{i}")
        for number, name in enumerate(name for name in clause.variables() if name not in place):
            sources.append(self._numbers(name, clause, number))
            place[name] = f"n{number}.i"
        place |= {name: str(index) for name, index in clause.constants.items()}
        conditions += [self._test(test, clause, place) for test in tests]
        chosen = [f"{place[name]} AS a{number}" for number, name in enumerate(clause.head)]
        body = (
            f"FROM {' CROSS JOIN '.join(sources) or '(SELECT 1 AS one) o'} WHERE {' AND '.join(conditions)}"
        )
        product = self.meaning.product(factors)
        columns = [f"a{number}" for number in range(len(clause.head))]
        rows = f"SELECT {_listed(chosen, f'{product} AS v')} {body}"
        groups = f" GROUP BY {', '.join(columns)}" if columns else " HAVING COUNT(*) > 0"
        total = f"{self.meaning.total('v')} AS v"
        return f"SELECT {_listed(columns, total)} FROM ({rows}) j{groups}"

    def _test(self, test: object, clause: Clause, place: Mapping[str, str]) -> str:
        match test:
            case Never():
                return "FALSE"
            case OneOf(variable=name, allowed=allowed):
                return f"{place[name]} IN ({', '.join(map(str, allowed)) or 'NULL'})"
            case Compared(operator="!=", left=left, right=right):
                return f"{place[left]} <> {place[right]}"
            case Compared(operator=sign, left=left, right=right):
                values = [self._constant(name, clause, place) for name in (left, right)]
                return f"{values[0]} {sign} {values[1]}"
            case Measured(variable=name, operator=sign, number=number):
                shown = {"!=": "<>"}.get(sign, sign)
                return f"{self._constant(name, clause, place)} {shown} CAST('{number!r}' AS DOUBLE)"
            case Absence(predicate=predicate, arguments=arguments):
                return self._absent(predicate, arguments, place)
        raise AssertionError(test)

    def _constant(self, name: str, clause: Clause, place: Mapping[str, str]) -> str:
        table = self.rules.stored.constants[clause.types[name]]
        return f"(SELECT value FROM {table} z WHERE z.id = {place[name]})"

    def _absent(self, predicate: str, arguments: Sequence[str], place: Mapping[str, str]) -> str:
        """No proof, at any depth, whatever stands for variables that stand nowhere else."""
        table = self._complete(predicate)
        first: dict[str, str] = {}
        fits = []
        for number, name in enumerate(arguments):
            if name in place:
                fits.append(f"z.a{number} = {place[name]}")
            elif name in first:
                fits.append(f"z.a{number} = {first[name]}")
            else:
                first[name] = f"z.a{number}"
        return f"NOT EXISTS (SELECT 1 FROM {table} z WHERE {' AND '.join(fits) or 'TRUE'})"

    def _complete(self, predicate: str) -> str:
        """All atoms of a predicate that have a proof."""
        if not self.rules.program.is_derived(predicate):
            columns = self._columns(predicate)
            tables = self.rules.stored.tables[predicate]
            parts = [
                f"SELECT {_listed(columns) or '1 AS one'} FROM {name}" for name in (tables.true, tables.soft)
            ]
            return f"({' UNION '.join(parts)})"
        if predicate not in self.complete:
            needed = self.rules._reached(iter(self.rules.program.clauses[predicate]))
            needed = list(dict.fromkeys([predicate, *needed]))
            inner = _Rounds(self.rules, "boolean", needed, complete=self.complete)
            found, _ = inner.run(FIXPOINT)
            kept = f"complete_{len(self.complete)}_{self.rules.stored.tables[predicate].true}"
            self.rules.stored.database.make(kept, f"SELECT * FROM {found[predicate]}")
            inner.clear()
            self.made.append(kept)
            self.complete[predicate] = kept
        return self.complete[predicate]

    def _source(
        self, part: Lookup, clause: Clause, tables: Tables
    ) -> tuple[str, dict[str, str], str | None, int]:
        """The rows that fit an atom's constants and repeated variables: columns by variable, value, size."""
        derived = not part.stated and self.rules.program.is_derived(part.predicate)
        facts = self.rules.stored.tables[part.predicate]
        rows = sum(facts.counts)
        table, value = (tables[part.predicate], "v") if derived else self._facts(part.predicate)
        columns: dict[str, str] = {}
        conditions = []
        for number, name in enumerate(part.arguments):
            if name in clause.constants:
                conditions.append(f"a{number} = {clause.constants[name]}")
            elif name in columns:
                conditions.append(f"a{number} = {columns[name]}")
            else:
                columns[name] = f"a{number}"
        if self.algebra == "boolean" and not derived:
            value = None
        if conditions:
            kept = _listed(columns.values(), *([value] if value else []))
            table = f"(SELECT {kept or '1 AS one'} FROM {table} WHERE {' AND '.join(conditions)}) o"
        return table, columns, value, max(rows, 1)

    def _facts(self, predicate: str) -> tuple[str, str | None]:
        """The facts that hold, and soft ones with their probability as their weight."""
        tables, columns = self.rules.stored.tables[predicate], self._columns(predicate)
        value = "w" if tables.weighted else None
        if not tables.counts[2]:
            return tables.true, value
        known = " AND ".join(f"t.{column} = s.{column}" for column in columns) or "TRUE"
        weight = "w" if tables.weighted else "CAST(1 AS DOUBLE) AS w"
        return (
            f"(SELECT {_listed(columns, weight)} FROM {tables.true} UNION ALL "
            f"SELECT {_listed([f's.{column}' for column in columns], 's.p AS w')} FROM {tables.soft} s "
            f"WHERE NOT EXISTS (SELECT 1 FROM {tables.true} t WHERE {known})) f",
            "w",
        )

    def _weight(self, clause: Clause) -> str | None:
        """The rule's own weight; of one that is to be learned, 1."""
        if clause.weight is None or self.algebra == "boolean":
            return None
        weight = self.rules.program.weighted[clause.weight].weight
        assert weight is not None
        return None if isinstance(weight, Learned) else self.meaning.number(weight)

    def _numbers(self, name: str, clause: Clause, number: int) -> str:
        count = self.rules.program.sizes[clause.types[name]]
        return f"{self.rules.stored.database.dialect.numbers.format(count=count)} n{number}"

    def _columns(self, name: str) -> list[str]:
        return [f"a{place}" for place in range(len(self.rules.program.column_types(name)))]

    def _empty(self, name: str) -> str:
        columns = [f"CAST(0 AS INT) AS {column}" for column in self._columns(name)]
        return f"SELECT {_listed(columns, f'{self.meaning.number(self.meaning.one)} AS v')} LIMIT 0"

    def _table(self, name: str, turn: str, query: str) -> str:
        number = self.rules.stored.tables[name].true.removeprefix("true_")
        table = f"proofs_{self.algebra}_{number}_{turn}"
        self.rules.stored.database.make(table, query)
        if table not in self.made:
            self.made.append(table)
        return table

    def _rows(self, table: str) -> int:
        return self.rules.stored.database.number(f"SELECT COUNT(*) FROM {table}")

    def _same(self, before: str, after: str, name: str) -> bool:
        columns = self._columns(name)
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


def _listed(columns: object, *more: str) -> str:
    return ", ".join((*columns, *more))  # type: ignore[misc]
