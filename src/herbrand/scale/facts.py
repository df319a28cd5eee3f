"""Load facts into a database: number the constants and separate the rows by SQL, however many there are.

Tables of a DuckDB file, Parquet files and tables that are in the database already are read in place;
everything else (text, Python rows, facts of the theory) passes through memory. The result is a table of
constants for each type, and for each predicate the tables of its true, false and uncertain atoms as rows of
indices, each row once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from herbrand.errors import FactsError, Mistakes
from herbrand.facts.domain import Domain
from herbrand.facts.facts import WORLDS, Facts, FactTable, Worlds
from herbrand.facts.load import grown, opened_tables
from herbrand.facts.source import FactSource
from herbrand.facts.sources.base import OpenTable
from herbrand.facts.store import Store
from herbrand.language.signature import Kind, Signature
from herbrand.language.syntax import FactRows
from herbrand.language.theory import Theory
from herbrand.program.remarks import bare_remarks, constants_of, free_heads, new_constant, new_predicates
from herbrand.relations.database import Database
from herbrand.scale.domain import constant, stored_domain
from herbrand.scale.loading import LOADING, Loading, PredicateTables, Report, table_names
from herbrand.scale.sources import stamps
from herbrand.scale.table_query import TableQuery

KEPT = "facts"
Tell = Callable[[Iterable[str]], None]


def _quiet(notes: Iterable[str]) -> None:
    """Ignore the notes."""


@dataclass(frozen=True, eq=False)
class StoredFacts:
    """Facts in a database. ``facts`` has the worlds and the constants; the rows are in ``tables``; ``stamps``
    are fingerprints of what these were made from."""

    database: Database
    facts: Facts
    tables: Mapping[str, PredicateTables]
    stamps: Sequence[str]

    @property
    def constants(self) -> dict[str, str]:
        """Name of the table of each type's constants."""
        return {name: f"domain_{number}" for number, name in enumerate(self.facts.domains)}

    def named(self, query: str, types: Mapping[str, str], order: Sequence[str], limit: str = "") -> pa.Table:
        """Rows of a query with the constant ``a0_value`` ... of each index column; ``types`` has the columns'
        types."""
        joins = [
            f"JOIN {self.constants[kind]} {name}_d ON {name}_d.id = r.{name}" for name, kind in types.items()
        ]
        chosen = ", ".join(("r.*", *(f"{name}_d.value AS {name}_value" for name in types)))
        ordered = f"ORDER BY {', '.join(order)}{limit}"
        return self.database.arrow(f"SELECT {chosen} FROM ({query}) r {' '.join(joins)} {ordered}")

    def weighted_predicates(self) -> list[str]:
        """Predicates with facts of a weight other than 1."""
        weighted = [(name, table.true) for name, table in self.tables.items() if table.weighted]
        count = "SELECT COUNT(*) FROM {} WHERE w <> 1"
        return [name for name, true in weighted if self.database.number(count.format(true))]

    def lists(self, row: FactRows, signature: Signature) -> bool:
        """Whether the single atom of these rows is among the true facts."""
        places = self.facts.indices(signature.predicates[row.predicate].column_types, row.row(0))
        same = " AND ".join(f"a{i} = {place}" for i, place in enumerate(places)) or "TRUE"
        table = self.tables[row.predicate].true
        return bool(self.database.number(f"SELECT COUNT(*) FROM {table} WHERE {same}"))


@dataclass(frozen=True, eq=False)
class FactRequest:
    """The facts to load: those ``stated`` in the theory's text, those ``given`` as evidence, and the tables
    of sources. ``named``: predicates of the theory."""

    signature: Signature
    stated: Sequence[FactRows] = ()
    given: Sequence[FactRows] = ()
    named: Collection[str] = ()
    sources: Sequence[FactSource] = ()
    worlds: Worlds = WORLDS
    header: bool | None = None

    def opened(self, store: Store) -> tuple[Signature, list[OpenTable], tuple[str, ...]]:
        """Signature with what tables add to it, the tables, and notes."""
        mistakes, rows = Mistakes(), (*self.stated, *self.given)
        read = opened_tables(store, rows, self.signature, self.sources, self.header, mistakes)
        signature, opened, notes = read
        signature = grown(signature, opened, mistakes)
        mistakes.raise_any(FactsError)
        return signature, opened, notes


def stored_facts(
    database: Database,
    store: Store,
    request: FactRequest,
    progress: Report | None = None,
    resume: bool = False,
    tell: Tell = _quiet,
) -> tuple[Signature, StoredFacts]:
    """Load the facts into tables of ``database``; also return the signature with what they add to it.

    ``store`` opens sources; its tables can be read by the database. ``resume``: reuse tables that an
    interrupted load of the same sources had finished. ``tell`` is called with notes on assumptions, and on
    new names in what is given. Raise FactsError for invalid facts.
    """
    signature, opened, notes = request.opened(store)
    tell(notes)
    database.drop(KEPT)
    stamped = stamps(signature, request.sources, opened)
    loading = Loading(database, progress or (lambda what, share: None), stamped)
    if resume:
        loading.go_on()
    else:
        database.drop(LOADING)
    request.worlds.check(signature.predicates)
    queries = [loading.table_query(table, signature) for table in opened]
    tell(loading.notes)
    signature, domains = loading.domains(signature, queries)
    tables = {
        name: loading.tables(
            number,
            predicate,
            [one for one in queries if one.predicate.name == name],
            domains,
            request.given,
        )
        for number, (name, predicate) in enumerate(signature.predicates.items())
    }
    filled = {one.predicate.name: None for one in queries if not one.table.stated}
    tell(new_predicates(request.given, [*request.named, *filled]))
    tell(_new_constants(request, queries, signature, domains, database))
    loading.clear()
    facts = StoredFacts(database, Facts(domains, _worlds(signature, tables, request.worlds)), tables, stamped)
    _keep(signature, facts)
    return signature, facts


def stored_remarks(theory: Theory, signature: Signature, stored: StoredFacts) -> Iterator[str]:
    """Yield remarks on predicates without facts, and on rules."""
    bare = [name for name, table in stored.tables.items() if not any(table.counts)]
    yield from bare_remarks(theory, signature, bare)
    yield from free_heads(theory)


def _new_constants(
    request: FactRequest,
    queries: Sequence[TableQuery],
    signature: Signature,
    domains: Mapping[str, Domain],
    database: Database,
) -> Iterator[str]:
    """Yield remarks on constants of evidence that no formula, no other fact and no table contains."""
    if not request.given:
        return
    known = set(constants_of(request.stated, signature))
    for name, value in constants_of(request.given, signature):
        places = [
            f"SELECT 1 FROM ({one.query}) q WHERE c{place} = {constant(value)}"
            for one in queries
            if not one.table.stated
            for place, own in enumerate(one.predicate.column_types)
            if own == name and one.kinds[place] == domains[name].kind
        ]
        is_known = (name, value) in known or value in signature.mentioned.get(name, ())
        if not is_known and not any(database.rows(f"{query} LIMIT 1") for query in places):
            yield new_constant(domains[name], value)


def kept_facts(
    database: Database, store: Store, request: FactRequest
) -> tuple[Signature, StoredFacts] | None:
    """Facts that :func:`stored_facts` loaded earlier from the same sources; ``None`` if there are none."""
    if not database.has(KEPT):
        return None
    kept = database.noted(KEPT)
    if not kept:
        return None
    signature, opened, _ = request.opened(store)
    stamped = stamps(signature, request.sources, opened)
    if kept.get("sources") != stamped:
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
        name: PredicateTables(
            *table_names(number), weighted, (counts[0], counts[1], counts[2]), name in kept["plain"]
        )
        for number, (name, (weighted, counts)) in enumerate(kept["tables"].items())
    }
    signature = replace(signature, types=types)
    worlds = _worlds(signature, tables, request.worlds)
    return signature, StoredFacts(database, Facts(domains, worlds), tables, stamped)


def _keep(signature: Signature, facts: StoredFacts) -> None:
    """Write the note that all tables of facts are complete."""
    types = {name: known.kind for name, known in signature.types.items()}
    tables = {name: [one.weighted, one.counts] for name, one in facts.tables.items()}
    plain = [name for name, one in facts.tables.items() if one.plain]
    kept = {"types": types, "tables": tables, "plain": plain, "sources": facts.stamps}
    facts.database.keep(KEPT, json.dumps(kept))


def _worlds(
    signature: Signature, tables: Mapping[str, PredicateTables], worlds: Worlds
) -> dict[str, FactTable]:
    """World of each predicate, as an empty table; the rows stay in the database."""
    known = {}
    for name, predicate in signature.predicates.items():
        true, false, soft = tables[name].counts
        has_facts = tables[name].plain and bool(true or false) and not (soft and predicate.undecided)
        world = worlds.world(predicate, has_facts=has_facts)
        known[name] = FactTable.empty(len(predicate.column_types), world)
        if world == "closed":
            _refuse_opinions(name, tables[name])
    return known


def _refuse_opinions(name: str, tables: PredicateTables) -> None:
    if tables.counts[2]:
        give = "1 row gives" if tables.counts[2] == 1 else f"{tables.counts[2]:,} rows give"
        raise FactsError(
            f"'{name}' is observed, so what is not listed is false, but {give} it a probability",
            hint=f"declare it open: --open {name}",
        )
