"""Facts in a database: constants numbered and rows sorted out by SQL, whatever their number.

Tables of a DuckDB file, Parquet files and tables that are in the database already are read where they are;
everything else (text, Python rows, facts of the theory) passes through memory on its way. For each type
there is then a table of constants, and for each predicate the tables of its true, false and uncertain atoms
as rows of numbers, each row once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from herbrand.contraction.relational_databases import Database
from herbrand.errors import FactsError, Mistakes
from herbrand.facts.claims import Claims
from herbrand.facts.domain import Domain
from herbrand.facts.facts import Facts
from herbrand.facts.judging import mark_of, read_claims
from herbrand.facts.load import grown
from herbrand.facts.place import shown
from herbrand.facts.source import FactSource
from herbrand.facts.sources.base import OpenTable, Reading
from herbrand.facts.sources.memory import theory_tables
from herbrand.facts.sources.stored import StoredTable, quoted
from herbrand.facts.store import Store
from herbrand.facts.table import FactTable
from herbrand.facts.world import Worlds
from herbrand.language.signature import Kind, Predicate, Signature
from herbrand.language.syntax import FactRows, Value
from herbrand.scale.domain import constant, stored_domain

Report = Callable[[str, float], None]
KEPT, LOADING = "facts", "loading"
ROWS_AT_A_TIME = 10_000_000
"""A table of more rows is numbered in parts, each of which is kept as soon as it is done."""


@dataclass(frozen=True)
class PredicateTables:
    """Names of the tables of one predicate's facts, and how many rows each has.

    Their columns are ``a0``, ``a1``, ... (a many-valued predicate's last is its value); ``soft`` has
    ``p``, the probability, and ``true``, where facts are weighted, ``w``.
    """

    true: str
    false: str
    soft: str
    weighted: bool
    counts: tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class StoredFacts:
    """``facts`` has the worlds and the constants; what is known of atoms is in ``tables``."""

    database: Database
    facts: Facts
    tables: Mapping[str, PredicateTables]

    @property
    def constants(self) -> dict[str, str]:
        """The table of each type's constants."""
        return {name: f"domain_{number}" for number, name in enumerate(self.facts.domains)}


@dataclass(frozen=True)
class _Said:
    """What one table says of a predicate: a query for columns ``c0`` ..., ``p`` and ``w``."""

    table: OpenTable
    predicate: Predicate
    query: str
    kinds: tuple[Kind | None, ...]
    weighted: bool


def stored_facts(
    database: Database,
    store: Store,
    theory_rows: Sequence[FactRows],
    signature: Signature,
    sources: Sequence[FactSource],
    worlds: Worlds,
    header: bool | None = None,
    progress: Report | None = None,
    resume: bool = False,
) -> tuple[Signature, StoredFacts]:
    """The facts of a theory and of sources as tables of ``database``; and what they add to the signature.

    ``store`` opens sources; its tables can be read by the database. ``resume``: tables that a load of the
    same sources had finished when it was cut off are taken as they are. Raises ``FactsError`` with what is
    wrong.
    """
    signature, opened = _opened(store, theory_rows, signature, sources, header)
    database.drop(KEPT)
    loading = _Loading(database, progress or (lambda what, share: None), [str(one.name) for one in opened])
    if resume:
        loading.go_on()
    else:
        database.drop(LOADING)
    worlds.check(signature.predicates)
    said = [loading.said(table, signature) for table in opened]
    signature, domains = loading.domains(signature, said)
    tables = {
        name: loading.tables(number, predicate, [one for one in said if one.predicate.name == name], domains)
        for number, (name, predicate) in enumerate(signature.predicates.items())
    }
    loading.clear()
    found = StoredFacts(database, Facts(domains, _worlds(signature, tables, worlds)), tables)
    _keep(signature, found)
    return signature, found


def kept_facts(
    database: Database,
    store: Store,
    theory_rows: Sequence[FactRows],
    signature: Signature,
    sources: Sequence[FactSource],
    worlds: Worlds,
    header: bool | None = None,
) -> tuple[Signature, StoredFacts] | None:
    """What :func:`stored_facts` has made before, as it stands in the database; None where it does not."""
    if not database.has(KEPT):
        return None
    kept = json.loads(database.kept(KEPT))
    signature, _ = _opened(store, theory_rows, signature, sources, header)
    if kept["types"].keys() != signature.types.keys() or kept["tables"].keys() != signature.predicates.keys():
        return None
    domains: dict[str, Domain] = {}
    types = dict(signature.types)
    for number, (name, declared) in enumerate(types.items()):
        if declared.values is not None:
            domains[name] = Domain.of(name, declared.values, declared=True)
            continue
        kind: Kind | None = kept["types"][name]
        domains[name] = stored_domain(name, database, f"domain_{number}", kind or "text")
        types[name] = replace(declared, kind=kind) if declared.kind is None else declared
    tables = {
        name: PredicateTables(*_table_names(number), weighted, (counts[0], counts[1], counts[2]))
        for number, (name, (weighted, counts)) in enumerate(kept["tables"].items())
    }
    signature = replace(signature, types=types)
    return signature, StoredFacts(database, Facts(domains, _worlds(signature, tables, worlds)), tables)


def _keep(signature: Signature, found: StoredFacts) -> None:
    """One row that says that all tables of facts are whole."""
    types = {name: known.kind for name, known in signature.types.items()}
    tables = {name: [one.weighted, one.counts] for name, one in found.tables.items()}
    found.database.keep(KEPT, json.dumps({"types": types, "tables": tables}))


def _opened(
    store: Store,
    theory_rows: Sequence[FactRows],
    signature: Signature,
    sources: Sequence[FactSource],
    header: bool | None,
) -> tuple[Signature, list[OpenTable]]:
    mistakes = Mistakes()
    opened: list[OpenTable] = [*theory_tables(theory_rows)]
    for source in sources:
        opened += source.open(store, Reading(signature.predicates, header))
    signature = grown(signature, opened, mistakes)
    mistakes.raise_any(FactsError)
    return signature, opened


def _worlds(
    signature: Signature, tables: Mapping[str, PredicateTables], worlds: Worlds
) -> dict[str, FactTable]:
    """Each predicate's world; the rows stay in the database."""
    known = {}
    for name, predicate in signature.predicates.items():
        world = worlds.world(predicate, has_facts=bool(tables[name].counts[0] or tables[name].counts[1]))
        known[name] = FactTable.empty(len(predicate.column_types), world)
        if world == "closed":
            _refuse_opinions(name, tables[name])
    return known


def _table_names(number: int) -> tuple[str, str, str]:
    return f"true_{number}", f"false_{number}", f"soft_{number}"


@dataclass
class _Loading:
    database: Database
    report: Report
    sources: list[str]
    staged: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)

    def go_on(self) -> None:
        """Take what a load of the same sources has finished."""
        if self.database.has(LOADING):
            kept = json.loads(self.database.kept(LOADING))
            self.made = kept["made"] if kept["sources"] == self.sources else []

    def make(self, table: str, query: str) -> None:
        """A table, unless it is there; noted as soon as it is whole."""
        if table in self.made:
            return
        self.database.make(table, query)
        self.made.append(table)
        self.database.keep(LOADING, json.dumps({"sources": self.sources, "made": self.made}))

    def clear(self) -> None:
        """Drop what only loading needed."""
        self.database.drop(LOADING)
        for name in self.staged:
            self.database.drop(name)

    def said(self, table: OpenTable, signature: Signature) -> _Said:
        """The table as a query, judged; raises for empty cells and for what is no truth or probability."""
        predicate = signature.predicates[table.predicate]
        self.report(f"reading {table.name}", 0.1)
        if not isinstance(table, StoredTable) or not self.database.reads_sources:
            return self._through_memory(read_claims(table, predicate, signature))
        found = _in_place(table, predicate)
        columns = [f"c{place}" for place in range(len(predicate.column_types))]
        for place, column in enumerate(columns):
            empty = self.database.number(f"SELECT COUNT(*) FROM ({found.query}) q WHERE {column} IS NULL")
            if empty:
                name = predicate.column_types[place]
                message = (
                    f"column {place + 1} is empty in {empty:,} rows; expected a constant of type '{name}'"
                )
                raise FactsError(table.whole.mistake(message))
        wrong = self.database.rows(
            f"SELECT p FROM ({found.query}) q WHERE p IS NULL OR NOT (p >= 0 AND p <= 1) LIMIT 1"
        )
        if wrong:
            raise FactsError(
                table.whole.mistake(f"{wrong[0][0]} is not a truth value or a probability from 0 to 1")
            )
        return found

    def _through_memory(self, claims: Claims) -> _Said:
        """Rows that were judged in memory, put into the database."""
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
        return _Said(claims.table, claims.predicate, f"SELECT * FROM {name}", kinds, weighted)

    def domains(self, signature: Signature, said: Sequence[_Said]) -> tuple[Signature, dict[str, Domain]]:
        found: dict[str, Domain] = {}
        types = dict(signature.types)
        for number, (name, declared) in enumerate(signature.types.items()):
            uses = [
                (one, place)
                for one in said
                for place, column_type in enumerate(one.predicate.column_types)
                if column_type == name
            ]
            if declared.values is not None:
                found[name] = Domain.of(name, declared.values, declared=True)
                self._put_constants(f"domain_{number}", found[name])
                continue
            mentioned = signature.mentioned.get(name, ())
            kind = _kind(name, declared.kind if declared.declared else None, uses, mentioned)
            self.report(f"numbering the constants of {name}", 0.3)
            parts = [f"SELECT c{place} AS value FROM ({one.query}) q" for one, place in uses]
            if mentioned:
                parts.append(" UNION ALL ".join(f"SELECT {constant(v)} AS value" for v in mentioned))
            union = " UNION ALL ".join(parts) or "SELECT CAST(NULL AS BIGINT) AS value LIMIT 0"
            self.make(
                f"domain_{number}",
                f"SELECT CAST(ROW_NUMBER() OVER (ORDER BY value) - 1 AS INT) AS id, value "
                f"FROM (SELECT DISTINCT value FROM ({union}) u) d",
            )
            found[name] = stored_domain(name, self.database, f"domain_{number}", kind or "text")
            types[name] = replace(declared, kind=kind) if declared.kind is None else declared
        self._table_of = {name: f"domain_{number}" for number, name in enumerate(types)}
        self._closed = {name for name, declared in types.items() if declared.values is not None}
        return replace(signature, types=types), found

    def _put_constants(self, table: str, domain: Domain) -> None:
        ids = pa.array(range(len(domain)), pa.int32())
        self.database.put(table, pa.table({"id": ids, "value": domain.values}))

    def tables(
        self, number: int, predicate: Predicate, said: Sequence[_Said], domains: Mapping[str, Domain]
    ) -> PredicateTables:
        """The predicate's rows as numbers, apart by what is said of them, each once."""
        self.report(f"sorting {predicate.name}", 0.6)
        columns = [f"a{place}" for place in range(len(predicate.column_types))]
        names = _table_names(number)
        if not said:
            return self._nothing_said(names, columns)
        source = self._numbered(predicate, said, columns)
        weighted = any(one.weighted for one in said)
        if weighted:
            self.make(names[0], _weighted(source, columns))
        else:
            self._make_facts(names[0], predicate, said, columns)
        self.make(names[1], _distinct(source, columns, "p = 0", None))
        self.make(names[2], _distinct(source, columns, "p > 0 AND p < 1", "p"))
        counted = ", ".join(f"(SELECT COUNT(*) FROM {name})" for name in names)
        true, false, soft = self.database.rows(f"SELECT {counted}")[0]
        found = PredicateTables(*names, weighted, (true, false, soft))
        self._refuse_contradictions(predicate, found, columns, domains)
        return found

    def _make_facts(
        self, table: str, predicate: Predicate, said: Sequence[_Said], columns: Sequence[str]
    ) -> None:
        """The rows that hold, each once; a large table in parts that fit into memory one by one."""
        rows = sum(self.database.number(f"SELECT COUNT(*) FROM ({one.query}) q") for one in said)
        count = -(-rows // ROWS_AT_A_TIME) if columns else 1
        if count <= 1:
            self.make(table, _distinct(self._numbered(predicate, said, columns), columns, "p = 1", None))
            return
        parts = [f"{table}_{number}" for number in range(count)]
        self.staged += parts
        if table in self.made:
            return
        for number, part in enumerate(parts):
            self.report(f"sorting {predicate.name}, part {number + 1} of {count}", 0.6)
            chosen = self.database.dialect.part.format(column="c0", count=count)
            some = [
                replace(one, query=f"SELECT * FROM ({one.query}) h WHERE {chosen} = {number}") for one in said
            ]
            self.make(part, _distinct(self._numbered(predicate, some, columns), columns, "p = 1", None))
        self.make(table, " UNION ALL ".join(f"SELECT * FROM {part}" for part in parts))

    def _nothing_said(self, names: tuple[str, str, str], columns: Sequence[str]) -> PredicateTables:
        """Three empty tables."""
        atoms = {column: pa.array([], pa.int32()) for column in columns} or {"one": pa.array([], pa.int32())}
        for name in names:
            more = {"p": pa.array([], pa.float64())} if name == names[2] else {}
            self.database.put(name, pa.table({**atoms, **more}))
        return PredicateTables(*names, False, (0, 0, 0))

    def _numbered(self, predicate: Predicate, said: Sequence[_Said], columns: Sequence[str]) -> str:
        parts = []
        for one in said:
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

    def _refuse_outside(self, one: _Said, query: str, columns: Sequence[str]) -> None:
        """A constant that a closed type does not have; an open one has all that were found."""
        for place, (column, name) in enumerate(zip(columns, one.predicate.column_types, strict=True)):
            if name not in self._closed:
                continue
            lost = self.database.number(f"SELECT COUNT(*) FROM ({query}) q WHERE {column} IS NULL")
            if lost:
                message = f"{lost:,} rows have a constant in column {place + 1} that is not in type '{name}'"
                raise FactsError(one.table.whole.mistake(message))

    def _refuse_contradictions(
        self,
        predicate: Predicate,
        tables: PredicateTables,
        columns: Sequence[str],
        domains: Mapping[str, Domain],
    ) -> None:
        on = " AND ".join(f"t.{c} = f.{c}" for c in columns) or "TRUE"
        true, false, soft = tables.counts
        checks = []
        if true and false:
            both = f"SELECT t.* FROM {tables.true} t JOIN {tables.false} f ON {on}"
            checks.append(("be true and false", both))
        if soft:
            checks.append(("have two probabilities", _repeated(tables.soft, columns)))
        if tables.weighted:
            checks.append(("have two weights", f"SELECT * FROM {tables.true} WHERE w <> w_least"))
        if true and predicate.value_type is not None:
            checks.append(("have two values", _repeated(tables.true, columns[:-1])))
        for message, query in checks:
            rows = self.database.rows(f"SELECT * FROM ({query}) q LIMIT 1")
            if rows:
                own = zip(predicate.column_types[: predicate.arity], rows[0], strict=False)
                arguments = ", ".join(shown(domains[name].value(int(index))) for name, index in own)
                atom = f"{predicate.name}({arguments})" if arguments else predicate.name
                raise FactsError(f"{atom} is said to {message}", hint="leave one of them out")


def _distinct(source: str, columns: Sequence[str], chosen: str, extra: str | None) -> str:
    """The rows each once; without columns, one row says that there is one."""
    kept = (*columns, *((extra,) if extra else ()))
    return f"SELECT DISTINCT {', '.join(kept) or '1 AS one'} FROM {source} WHERE {chosen}"


def _weighted(source: str, columns: Sequence[str]) -> str:
    """Facts with their weights, 1 where none is said."""
    groups = f" GROUP BY {', '.join(columns)}" if columns else " HAVING COUNT(*) > 0"
    weights = "COALESCE(MAX(w), 1.0) AS w, COALESCE(MIN(w), 1.0) AS w_least"
    return f"SELECT {', '.join((*columns, weights))} FROM {source} WHERE p = 1{groups}"


def _repeated(table: str, columns: Sequence[str]) -> str:
    if not columns:
        return f"SELECT COUNT(*) AS n FROM {table} HAVING COUNT(*) > 1"
    listed = ", ".join(columns)
    return f"SELECT {listed} FROM {table} GROUP BY {listed} HAVING COUNT(*) > 1"


def _refuse_opinions(name: str, tables: PredicateTables) -> None:
    if tables.counts[2]:
        raise FactsError(
            f"'{name}' is observed, so what is not listed is false, but {tables.counts[2]:,} rows give it a "
            "probability",
            hint=f"declare it open: --open {name}",
        )


def _in_place(table: StoredTable, predicate: Predicate) -> _Said:
    """A table that the database can read itself."""
    mark = mark_of(table, predicate)
    expressions = table.constants(len(predicate.column_types))
    chosen = [f"{expression} AS c{place}" for place, expression in enumerate(expressions)]
    cell = quoted(table.columns[-1])
    p = "CAST(1 AS DOUBLE)"
    if mark == "truth":
        p = f"CAST(CAST({cell} AS BOOLEAN) AS INT)"
    elif mark == "probability":
        p = f"CAST({cell} AS DOUBLE)"
    w = f"CAST({cell} AS DOUBLE)" if mark == "weight" else "CAST(NULL AS DOUBLE)"
    query = f"SELECT {', '.join((*chosen, f'{p} AS p', f'{w} AS w'))} FROM {table.relation}"
    kinds: tuple[Kind | None, ...] = tuple(
        "text" if "VARCHAR" in expression else "number" for expression in expressions
    )
    return _Said(table, predicate, query, kinds, mark == "weight")


def _kind(
    name: str, declared: Kind | None, uses: Sequence[tuple[_Said, int]], mentioned: Collection[Value]
) -> Kind | None:
    """What the constants of a type are: all text or all numbers."""
    kinds: dict[Kind, str] = {}
    for one, place in uses:
        kind = one.kinds[place]
        if kind is not None:
            kinds.setdefault(kind, f"column {place + 1} of {one.table.name}")
    for value in mentioned:
        kinds.setdefault("text" if isinstance(value, str) else "number", f"{shown(value)} in a formula")
    if declared is not None:
        kinds.setdefault(declared, "its declaration")
    if len(kinds) > 1:
        raise FactsError(
            f"type '{name}' mixes text ({kinds['text']}) and numbers ({kinds['number']})",
            hint="the constants of a type are all text or all numbers",
        )
    return next(iter(kinds), None)
