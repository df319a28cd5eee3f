"""Load facts into a database: tables of constants, and each predicate's rows as indices, without duplicates.

Each table is noted as soon as it is complete, so that an interrupted load can resume.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from herbrand.errors import FactsError
from herbrand.facts.domain import Domain
from herbrand.facts.interning import closed_domain, mixed_numbers
from herbrand.facts.place import Place, shown
from herbrand.facts.sources.base import OpenTable
from herbrand.facts.sources.memory import TheoryTable
from herbrand.facts.sources.stored import StoredTable
from herbrand.facts.table_claims import Claims, mark_of, read_claims
from herbrand.language.signature import Kind, Predicate, Signature
from herbrand.language.syntax import FactRows, Value
from herbrand.relations.database import Database
from herbrand.relations.expression import TYPES
from herbrand.relations.expression import Kind as ValueKind
from herbrand.scale.domain import constant, stored_domain
from herbrand.scale.sql_phrases import equal, no_float, sigmoid_of
from herbrand.scale.table_query import TableQuery, in_one_form, in_place, judged, kind_of

Report = Callable[[str, float], None]
LOADING = "loading"
BOTH = "be true and false"
ROWS_AT_A_TIME = 10_000_000
"""A larger table is numbered in parts, each of which is kept as soon as it is complete."""


@dataclass(frozen=True)
class PredicateTables:
    """Names of the tables of one predicate's facts, with their numbers of rows.

    Their columns are ``a0``, ``a1``, ... (a many-valued predicate's last is its value); ``soft`` has ``p``
    and ``odds``, the probability and the log-odds of an atom's combined soft evidence, and ``true``, if facts
    are weighted, ``w``. ``plain``: whether some rows other than evidence come from a table without
    probabilities, so that they may close the predicate.
    """

    true: str
    false: str
    soft: str
    weighted: bool
    counts: tuple[int, int, int]
    plain: bool


def table_names(number: int) -> tuple[str, str, str]:
    return f"true_{number}", f"false_{number}", f"soft_{number}"


@dataclass
class Loading:
    database: Database
    report: Report
    sources: list[str]
    staged: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def go_on(self) -> None:
        """Take over the finished tables of an interrupted load of the same sources."""
        if self.database.has(LOADING):
            kept = self.database.noted(LOADING)
            self.made = kept.get("made", []) if kept.get("sources") == self.sources else []

    def make(self, table: str, query: str) -> None:
        """Make a table unless it exists, and note it once it is complete. A note is also written before the
        first table, so that a load interrupted there can resume like any other."""
        if table in self.made:
            return
        if not self.made:
            self._note()
        self.database.make(table, query)
        self.made.append(table)
        self._note()

    def _note(self) -> None:
        self.database.keep(LOADING, json.dumps({"sources": self.sources, "made": self.made}))

    def clear(self) -> None:
        """Drop the tables that only loading needed."""
        self.database.drop(LOADING)
        for name in self.staged:
            self.database.drop(name)

    def table_query(self, table: OpenTable, signature: Signature) -> TableQuery:
        """The table as a checked query; raise FactsError for empty cells and invalid truth values or
        probabilities."""
        predicate = signature.predicates[table.predicate]
        self.report(f"reading {table.name}", 0.1)
        if (
            not isinstance(table, StoredTable)
            or not self.database.reads(table.store.connection)
            or table.nulls != "refuse"
        ):
            if table.nulls == "unknown":
                hint = "leave such rows out, nulls drop, or leave out --on"
                raise FactsError(table.whole.mistake("rows are taken as unknown in memory only", hint))
            claims = read_claims(table, predicate, signature)
            self.notes += [claims.note] if claims.note else []
            return self._through_memory(claims)
        uniform = self._in_one_form(in_place(table, predicate), signature)
        return judged(uniform, table, self.database, signature.types)

    def _in_one_form(self, query: TableQuery, signature: Signature) -> TableQuery:
        """The query with dates and times in the form of their constants."""
        for place, name in enumerate(query.predicate.column_types):
            calendar, forms = signature.types[name].calendar, f"staged_{len(self.staged)}"
            if calendar is None or query.kinds[place] != "text":
                continue
            uniform = in_one_form(query, place, calendar, self.database, forms)
            if uniform is not None:
                self.staged.append(forms)
                query = uniform
        return query

    def _through_memory(self, claims: Claims) -> TableQuery:
        """Put rows that were checked in memory into the database."""
        name = f"staged_{len(self.staged)}"
        data: dict[str, pa.Array] = {
            f"c{place}": column.values.take(pa.array(column.codes))
            for place, column in enumerate(claims.columns)
        }
        count = claims.interned.row_count
        p = claims.probabilities if claims.probabilities is not None else claims.truths
        data["p"] = pa.array([1.0] * count if p is None else p.astype(float), pa.float64())
        weights = claims.weights
        data["w"] = pa.nulls(count, pa.float64()) if weights is None else pa.array(weights, pa.float64())
        self.database.put(name, pa.table(data))
        self.staged.append(name)
        kinds: tuple[Kind | None, ...] = tuple(
            column.kind if len(column.values) else None for column in claims.columns
        )
        weighted = claims.weights is not None
        return TableQuery(claims.table, claims.predicate, f"SELECT * FROM {name}", kinds, weighted)

    def domains(
        self, signature: Signature, queries: Sequence[TableQuery]
    ) -> tuple[Signature, dict[str, Domain]]:
        domains: dict[str, Domain] = {}
        types = dict(signature.types)
        for number, (name, declared) in enumerate(signature.types.items()):
            uses = [
                (one, place)
                for one in queries
                for place, column_type in enumerate(one.predicate.column_types)
                if column_type == name
            ]
            mentioned = signature.mentioned.get(name, ())
            kind = kind_of(name, declared.kind if declared.declared else None, uses, mentioned)
            table = f"domain_{number}"
            parts = [
                f"SELECT c{place} AS value FROM ({one.query}) q"
                for one, place in uses
                if one.kinds[place] is not None
            ]
            if declared.values is not None:
                domains[name] = closed_domain(name, declared.values)
                self._put_constants(table, domains[name])
                self._refuse_mixed(name, [f"SELECT value FROM {table}", *parts])
                continue
            self.report(f"numbering the constants of {name}", 0.3)
            for fractions in (False, True):
                alike = [value for value in mentioned if isinstance(value, float) == fractions]
                if alike:
                    parts.append(" UNION ALL ".join(f"SELECT {constant(v)} AS value" for v in alike))
            self._refuse_mixed(name, parts)
            union = " UNION ALL ".join(parts) or self._none_of("text" if kind == "text" else "int")
            self.make(
                table,
                f"SELECT CAST(ROW_NUMBER() OVER (ORDER BY value) - 1 AS INT) AS id, value "
                f"FROM (SELECT DISTINCT value FROM ({union}) u) d",
            )
            domains[name] = stored_domain(name, self.database, table, kind or "text")
            types[name] = replace(declared, kind=kind) if declared.kind is None else declared
        self._table_of = {name: f"domain_{number}" for number, name in enumerate(types)}
        self._closed = {name for name, declared in types.items() if declared.values is not None}
        return replace(signature, types=types), domains

    def _refuse_mixed(self, name: str, parts: Sequence[str]) -> None:
        """Raise an error for large integers beside fractions: all would become floats, and be rounded."""
        kinds = {
            part: self.database.arrow(f"SELECT value FROM ({part}) q LIMIT 0").schema.field(0).type
            for part in (parts if len(parts) > 1 else ())
        }
        if any(map(pa.types.is_floating, kinds.values())):
            rounded = no_float("value", self.database.dialect)
            for part in (part for part, kind in kinds.items() if pa.types.is_integer(kind)):
                if self.database.rows(f"SELECT 1 FROM ({part}) q WHERE {rounded} LIMIT 1"):
                    raise mixed_numbers(name)

    def _none_of(self, kind: ValueKind) -> str:
        return self.database.dialect.phrase(f"SELECT CAST(NULL AS {TYPES[kind]}) AS value LIMIT 0")

    def _put_constants(self, table: str, domain: Domain) -> None:
        ids = pa.array(range(len(domain)), pa.int32())
        self.database.put(table, pa.table({"id": ids, "value": domain.values}))

    def tables(
        self,
        number: int,
        predicate: Predicate,
        queries: Sequence[TableQuery],
        domains: Mapping[str, Domain],
        evidence: Collection[FactRows] = (),
    ) -> PredicateTables:
        """Make the tables of a predicate's rows, separated by truth, each row once."""
        self.report(f"sorting {predicate.name}", 0.6)
        columns = [f"a{place}" for place in range(len(predicate.column_types))]
        names = table_names(number)
        if not queries:
            return self._empty_tables(names, columns)
        source = self._numbered(predicate, queries, columns)
        weighted = any(one.weighted for one in queries)
        if weighted:
            self.make(names[0], _weighted(source, columns))
        else:
            self._make_facts(names[0], predicate, queries, columns)
        self.make(names[1], _distinct(source, columns, "p = 0"))
        opinions = [one for one in queries if mark_of(one.table, predicate) == "probability"]
        if opinions:
            values = len(domains[predicate.value_type]) if predicate.value_type is not None else 2
            self.make(names[2], self._opinions(predicate, opinions, columns, values - 1))
        else:
            self._put_nothing(names[2], columns, soft=True)
        counted = ", ".join(f"(SELECT COUNT(*) FROM {name})" for name in names)
        true, false, soft = self.database.rows(f"SELECT {counted}")[0]
        plain = any(one not in opinions and self._lists(one, evidence) for one in queries)
        tables = PredicateTables(*names, weighted, (true, false, soft), plain)
        self._refuse_contradictions(predicate, tables, queries, domains)
        return tables

    def _lists(self, query: TableQuery, evidence: Collection[FactRows]) -> bool:
        """Whether a table has rows that are not evidence."""
        if isinstance(query.table, TheoryTable):
            given = {id(run) for run in evidence}  # an equal fact of the theory is no evidence
            return any(id(run) not in given for run in query.table.runs)
        return bool(self.database.rows(f"SELECT 1 FROM ({query.query}) q LIMIT 1"))

    def _opinions(
        self, predicate: Predicate, queries: Sequence[TableQuery], columns: Sequence[str], others: int
    ) -> str:
        """Query for each atom's combined soft evidence, as ``Claimed.opinions``; equal rows of a table count
        once."""
        listed = ", ".join((*columns, "p"))
        parts = [
            f"SELECT {'' if one.table.stated else 'DISTINCT '}{listed} "
            f"FROM {self._numbered(predicate, [one], columns)} WHERE p > 0 AND p < 1"
            for one in queries
        ]
        # Each opinion adds logit p + log(k - 1) to a log-weight (Evidence.opinions). Reading the sum back
        # adds log(k - 1) once, so the others are added here.
        added = repr(math.log(max(1, others)))
        odds = f"SUM(LN(p) - LN(1 - p)) + (COUNT(*) - 1) * {added}"
        groups = f" GROUP BY {', '.join(columns)}" if columns else " HAVING COUNT(*) > 0"
        summed = (
            f"SELECT {', '.join((*columns, 'MIN(p) AS least', 'COUNT(*) AS n', f'{odds} AS odds'))} "
            f"FROM ({' UNION ALL '.join(parts)}) o{groups}"
        )
        p = f"CASE WHEN n = 1 THEN least ELSE {sigmoid_of('odds')} END AS p"
        return f"SELECT {', '.join((*columns, p, 'odds'))} FROM ({summed}) s"

    def _make_facts(
        self, table: str, predicate: Predicate, queries: Sequence[TableQuery], columns: Sequence[str]
    ) -> None:
        """Make the table of true rows without duplicates; a large one in parts that fit into memory."""
        rows = sum(self.database.number(f"SELECT COUNT(*) FROM ({one.query}) q") for one in queries)
        count = -(-rows // ROWS_AT_A_TIME) if columns else 1
        if count <= 1:
            self.make(table, _distinct(self._numbered(predicate, queries, columns), columns, "p = 1"))
            return
        parts = [f"{table}_{number}" for number in range(count)]
        self.staged += parts
        if table in self.made:
            return
        for number, part in enumerate(parts):
            self.report(f"sorting {predicate.name}, part {number + 1} of {count}", 0.6)
            chosen = self.database.dialect.part.format(column="c0", count=count)
            some = [
                replace(one, query=f"SELECT * FROM ({one.query}) h WHERE {chosen} = {number}")
                for one in queries
            ]
            self.make(part, _distinct(self._numbered(predicate, some, columns), columns, "p = 1"))
        self.make(table, " UNION ALL ".join(f"SELECT * FROM {part}" for part in parts))

    def _empty_tables(self, names: tuple[str, str, str], columns: Sequence[str]) -> PredicateTables:
        """Make three empty tables."""
        for name in names:
            self._put_nothing(name, columns, soft=name == names[2])
        return PredicateTables(*names, False, (0, 0, 0), False)

    def _put_nothing(self, name: str, columns: Sequence[str], *, soft: bool = False) -> None:
        """Make an empty table."""
        data = {column: pa.array([], pa.int32()) for column in columns or ("one",)}
        if soft:
            data |= {column: pa.array([], pa.float64()) for column in ("p", "odds")}
        self.database.put(name, pa.table(data))

    def _numbered(self, predicate: Predicate, queries: Sequence[TableQuery], columns: Sequence[str]) -> str:
        parts = []
        for one in queries:
            joins, chosen = [], []
            for place, (column, name) in enumerate(zip(columns, predicate.column_types, strict=True)):
                joins.append(f"LEFT JOIN {self._table_of[name]} d{place} ON d{place}.value = q.c{place}")
                chosen.append(f"d{place}.id AS {column}")
            query = f"SELECT {', '.join((*chosen, 'q.p', 'q.w'))} FROM ({one.query}) q {' '.join(joins)}"
            parts.append(query)
            self._refuse_outside(one, query, columns)
        if len(parts) == 1:
            return f"({parts[0]}) n"
        return f"({' UNION ALL '.join(parts)}) n"

    def _refuse_outside(self, one: TableQuery, query: str, columns: Sequence[str]) -> None:
        """Raise FactsError for a constant that a closed type lacks; open types contain all that occur."""
        for place, (column, name) in enumerate(zip(columns, one.predicate.column_types, strict=True)):
            if name not in self._closed:
                continue
            lost = self.database.number(f"SELECT COUNT(*) FROM ({query}) q WHERE {column} IS NULL")
            if lost:
                known = f"SELECT value FROM {self._table_of[name]}"
                strange = f"SELECT MIN(c{place}) FROM ({one.query}) q WHERE c{place} NOT IN ({known})"
                rows = "1 row has" if lost == 1 else f"{lost:,} rows have"
                message = (
                    f"{rows} a constant in column {place + 1} that is not in type '{name}', "
                    f"such as {shown(self.database.rows(strange)[0][0])}"
                )
                raise FactsError(one.table.whole.mistake(message))

    def _refuse_contradictions(
        self,
        predicate: Predicate,
        tables: PredicateTables,
        queries: Sequence[TableQuery],
        domains: Mapping[str, Domain],
    ) -> None:
        columns = [f"a{place}" for place in range(len(predicate.column_types))]
        true, false, _ = tables.counts
        checks = []
        if true and false:
            both = f"SELECT t.* FROM {tables.true} t JOIN {tables.false} f ON {equal('t', 'f', columns)}"
            checks.append((BOTH, both))
        if tables.weighted:
            checks.append(("have two weights", f"SELECT * FROM {tables.true} WHERE w <> w_least"))
        if true and predicate.value_type is not None:
            checks.append(("have two values", _repeated(tables.true, columns[:-1])))
        if false and predicate.value_type is not None:
            values = len(domains[predicate.value_type])
            checks.append(("have none of its values", _repeated(tables.false, columns[:-1], values)))
        for message, query in checks:
            rows = self.database.rows(f"SELECT * FROM ({query}) q LIMIT 1")
            if rows:
                own = zip(predicate.column_types[: predicate.arity], rows[0], strict=False)
                arguments = [domains[name].value(int(index)) for name, index in own]
                listed = ", ".join(map(shown, arguments))
                atom = f"{predicate.name}({listed})" if listed else predicate.name
                if predicate.value_type is not None and message == BOTH:
                    value = domains[predicate.value_type].value(int(rows[0][predicate.arity]))
                    atom += f" = {shown(value)}"
                place, *others = self._places(predicate, queries, rows[0], arguments)
                among = "".join(f", together with {other}" for other in others)
                raise FactsError(
                    place.mistake(f"{atom} is stated to {message}{among}", "leave one of them out")
                )

    def _places(
        self,
        predicate: Predicate,
        queries: Sequence[TableQuery],
        codes: Sequence[int],
        arguments: Sequence[Value],
    ) -> list[Place]:
        """Places in tables and in the theory that state something about an atom."""
        columns = [f"a{place}" for place in range(len(predicate.column_types))]
        own = zip(columns[: predicate.arity], codes, strict=False)
        same = " AND ".join(f"{column} = {int(code)}" for column, code in own) or "TRUE"
        places: list[Place] = []
        for one in queries:
            rows = f"{self._numbered(predicate, [one], columns)} WHERE {same}"
            if self.database.rows(f"SELECT 1 FROM {rows} LIMIT 1"):
                places += one.table.places_of(arguments) or [one.table.whole]
        return list(dict.fromkeys(places))


NEAR = 1 << 16
"""Block size of indices: data for so many of them fit into the processor's caches."""


def _distinct(source: str, columns: Sequence[str], chosen: str) -> str:
    """Query for the distinct rows; without columns, one row states that there is one.

    The rows are sorted in blocks of nearby indices in all columns but the first, so that joins and groups
    over any column access memory that is in the cache.
    """
    rows = f"SELECT DISTINCT {', '.join(columns) or '1 AS one'} FROM {source} WHERE {chosen}"
    if not columns:
        return rows
    blocks = [f"FLOOR({column} / {NEAR})" for column in columns[1:]]
    return f"SELECT * FROM ({rows}) d ORDER BY {', '.join([*blocks, *columns])}"


def _weighted(source: str, columns: Sequence[str]) -> str:
    """Query for facts with their weights, 1 if none is stated."""
    groups = f" GROUP BY {', '.join(columns)}" if columns else " HAVING COUNT(*) > 0"
    weights = "COALESCE(MAX(w), 1.0) AS w, COALESCE(MIN(w), 1.0) AS w_least"
    return f"SELECT {', '.join((*columns, weights))} FROM {source} WHERE p = 1{groups}"


def _repeated(table: str, columns: Sequence[str], times: int = 2) -> str:
    """Query for what occurs in a table at least so many times."""
    if not columns:
        return f"SELECT COUNT(*) AS n FROM {table} HAVING COUNT(*) >= {times}"
    listed = ", ".join(columns)
    return f"SELECT {listed} FROM {table} GROUP BY {listed} HAVING COUNT(*) >= {times}"
