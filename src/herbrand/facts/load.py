"""Load facts from all sources into one :class:`~herbrand.facts.facts.Facts`: read, check, intern and sort.

All mistakes are raised together, each with its table, its row and what was expected.

>>> person = Type("person", declared=True)
>>> friends = Predicate("friends", ("person", "person"), declared=True)
>>> signature = Signature({"person": person}, {"friends": friends}, strict=True)
>>> sources = fact_sources({"friends": [("bob", "anna"), ("anna", "bob")]})
>>> signature, facts = load_facts([], signature, sources)
>>> facts.tables["friends"].true.tolist(), list(facts.domains["person"])
([[0, 1], [1, 0]], ['anna', 'bob'])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pyarrow as pa

from herbrand.budget import UNLIMITED, Budget, holds_database, readable
from herbrand.errors import FactsError, Mistake, Mistakes, nearest
from herbrand.facts.column import numbers_from_text, simplest_numbers
from herbrand.facts.domain import Domain
from herbrand.facts.facts import WORLDS, Facts, FactTable, Worlds
from herbrand.facts.interning import domains_of
from herbrand.facts.place import Place, shown
from herbrand.facts.predicate_claims import claimed_of, fact_table
from herbrand.facts.source import FactSource, fact_sources
from herbrand.facts.sources.base import MARKS, OpenTable, Reading
from herbrand.facts.sources.memory import theory_tables
from herbrand.facts.sources.stored import StoredTable
from herbrand.facts.sources.text import doubtful_headers
from herbrand.facts.store import Progress, Store
from herbrand.facts.table_claims import Claims, read_claims
from herbrand.language.collection import collector_paused
from herbrand.language.names import not_taken
from herbrand.language.signature import Predicate, Signature, Type
from herbrand.language.syntax import FactRows, TypeDeclaration, Value

__all__ = ["fact_sources", "load_facts"]

Report = Callable[[str, float], None]
"""Function that is called with the current task and the share of all work that is done, from 0 to 1."""

_READING = 0.8
"""Share of the progress for reading; the rest is for sorting."""
MOST_KEPT = 2_000_000
"""Largest number of rows that are kept for the next load; more are read again to save the memory."""


@dataclass(frozen=True, eq=False)
class Read:
    """The claims of all tables, the signature before and with them, and the constants that sources list."""

    before: Signature
    after: Signature
    listed: Mapping[str, Sequence[Value]]
    claims: tuple[Claims, ...]
    notes: tuple[str, ...]

    def fits(self, signature: Signature) -> bool:
        """Whether reading again with this signature would give the same claims."""
        before = self.before
        return signature is before or (
            signature.strict == before.strict
            and signature.predicates == before.predicates
            and signature.types == before.types
        )


class Reads:
    """Cache of the tables of one theory and its sources, for loads that differ only in the facts
    ``given``."""

    def __init__(self) -> None:
        self._kept: Read | None = None

    def of(self, signature: Signature) -> Read | None:
        """The tables read before, if they fit the signature."""
        return self._kept if self._kept is not None and self._kept.fits(signature) else None

    def keep(self, read: Read) -> None:
        """Keep the tables read, unless they are too large."""
        if sum(claim.interned.row_count for claim in read.claims) <= MOST_KEPT:
            self._kept = read

    def place_of(
        self, predicate: Predicate, row: Sequence[int], holds: bool, domains: Mapping[str, Domain]
    ) -> Place | None:
        """Place of the first row that states a row of indices as true or as false, if the tables are kept."""
        claims = [c for c in self._kept.claims if c.predicate.name == predicate.name] if self._kept else []
        own = [domains[name] for name in predicate.column_types]
        return claimed_of(predicate, claims, own).place_of(row, holds) if claims else None


@collector_paused()
def load_facts(
    theory_rows: Sequence[FactRows],
    signature: Signature,
    sources: Sequence[FactSource] = (),
    *,
    given: Sequence[FactRows] = (),
    reads: Reads | None = None,
    mentioned: Mapping[str, Sequence[Value]] | None = None,
    worlds: Worlds = WORLDS,
    header: bool | None = None,
    progress: Report | None = None,
    budget: Budget = UNLIMITED,
) -> tuple[Signature, Facts]:
    """Load the facts of a theory and of its sources, and those ``given``; the signature is extended by them.

    ``reads``: cache shared by loads of this theory with these sources. ``mentioned``: constants in formulas,
    by type; ``None`` takes the signature's. ``header``: whether text files have one; ``None`` decides by
    their first row. Raises a ``FactsError`` with all mistakes.
    """
    mistakes = Mistakes()
    report = _under_the_clock(budget, progress)
    kept = None if reads is None else reads.of(signature)
    kept = kept or _read(theory_rows, signature, sources, header, mistakes, report)
    read = _and_given(kept, signature, given, mistakes, report)
    domains: dict[str, Domain] = {}
    with mistakes.collecting():
        known = read.after.mentioned if mentioned is None else _both(mentioned, read.listed)
        domains = domains_of(read.after.types, read.claims, known)
    with mistakes.collecting():
        worlds.check(read.after.predicates)
    mistakes.raise_any(FactsError)
    if reads is not None:
        reads.keep(kept)
    return _with_kinds(read.after, domains), _facts(read, domains, worlds, report)


def _read(
    rows: Sequence[FactRows],
    before: Signature,
    sources: Sequence[FactSource],
    header: bool | None,
    mistakes: Mistakes,
    report: Report,
) -> Read:
    with Store() as store:
        signature, tables, notes = opened_tables(store, rows, before, sources, header, mistakes)
        listed = _listed_since(before, signature)
        signature = grown(signature, tables, mistakes)
        claims = tuple(_claims(tables, signature, mistakes, report))
    notes += tuple(claim.note for claim in claims if claim.note)
    return Read(before, signature, listed, claims, notes)


def _and_given(
    read: Read, signature: Signature, given: Sequence[FactRows], mistakes: Mistakes, report: Report
) -> Read:
    """Add the given facts to the tables read, for a signature that differs in the mentioned constants."""
    if not given and signature is read.before:
        return read
    after = replace(read.after, mentioned=_both(signature.mentioned, read.listed))
    tables = theory_tables(given)
    after = grown(after, tables, mistakes)
    return replace(read, after=after, claims=(*read.claims, *_claims(tables, after, mistakes, report)))


def opened_tables(
    store: Store,
    theory_rows: Sequence[FactRows],
    signature: Signature,
    sources: Sequence[FactSource],
    header: bool | None,
    mistakes: Mistakes,
) -> tuple[Signature, list[OpenTable], tuple[str, ...]]:
    """All tables of a theory and its sources, the signature with constants that these list, and notes."""
    tables: list[OpenTable] = [*theory_tables(theory_rows)]
    notes: dict[str, None] = {}
    for source in sources:
        with mistakes.collecting():
            signature = with_constants(signature, source)
            reading = Reading(signature.predicates, header, signature.strict, notes.setdefault)
            tables += source.open(store, reading)
    for predicate in signature.predicates.values():
        if predicate.query is not None:
            with mistakes.collecting():
                tables.append(_queried(predicate, store, sources))
    mentioned = chain.from_iterable(signature.mentioned.values())
    return signature, tables, (*notes, *doubtful_headers(tables, theory_rows, mentioned))


def _queried(predicate: Predicate, store: Store, sources: Sequence[FactSource]) -> OpenTable:
    """Rows of a declaration's query, from the one database among the sources that can answer it."""
    assert predicate.query is not None
    tables: list[OpenTable] = []
    refused: list[FactsError] = []
    for source in {getattr(source, "path", source): source for source in sources}.values():
        try:
            table = source.queried(store, predicate.name, predicate.query)
        except FactsError as error:
            refused.append(error)
        else:
            if table is not None and not any(_alike(table, other) for other in tables):
                tables.append(table)
    if len(tables) == 1:
        return tables[0]
    if refused and not tables:
        raise refused[0]
    answering = "no database is" if not tables else f"{len(tables)} databases that answer it are"
    raise FactsError(
        Mistake(
            f"'{predicate.name}' is from a query, and {answering} given as facts",
            predicate.span,
            "name the database that the query is about: --facts FILE.duckdb",
        )
    )


def _alike(table: OpenTable, other: OpenTable) -> bool:
    """Whether two tables have the same rows, as two sources of one database do."""
    return isinstance(table, StoredTable) and isinstance(other, StoredTable) and table.store is other.store


def _under_the_clock(budget: Budget, progress: Report | None) -> Report:
    """Report of progress that also checks the budget; readers call it often enough."""

    def report(message: str, done: float) -> None:
        budget.check()
        if progress is not None:
            progress(message, done)

    return report


# Constants that sources list


def with_constants(signature: Signature, source: FactSource) -> Signature:
    """The signature with the constants of types that a source lists beside its tables.

    Only databases of pracmln list constants. Atoms that they do not list are unknown, so that predicates are
    open unless their declaration says otherwise. A closed type gets the constants too, as they are listed
    under its name.
    """
    listed = source.constants()
    if not listed:
        return signature
    types, mentioned = dict(signature.types), dict(signature.mentioned)
    for declaration in listed:
        if declaration.name not in types:
            raise FactsError(
                Mistake(
                    f"there is no type '{declaration.name}'",
                    declaration.span,
                    nearest(declaration.name, types),
                )
            )
        known = types[declaration.name]
        new = _of_kind(known, [constant.value for constant in declaration.values or ()], declaration)
        if known.values is None:
            mentioned[declaration.name] = (*mentioned.get(declaration.name, ()), *new)
        else:
            types[declaration.name] = replace(known, values=tuple(dict.fromkeys((*known.values, *new))))
    predicates = {name: replace(p, tells_world=p.declared) for name, p in signature.predicates.items()}
    return replace(signature, types=types, predicates=predicates, mentioned=mentioned)


def _of_kind(known: Type, listed: Sequence[Value], declaration: TypeDeclaration) -> tuple[Value, ...]:
    """Convert the constants that a source lists as text to the kind of their type."""
    if known.kind != "number" or not listed:
        return tuple(listed)
    numbers, good = numbers_from_text(pa.array(map(str, listed)))
    if not good.all():
        wrong = shown(listed[int(np.argmin(good))])
        raise FactsError(
            Mistake(f"{wrong} is not a number; type '{known.name}' holds numbers", declaration.span)
        )
    return tuple(simplest_numbers(numbers).to_pylist())


def _listed_since(before: Signature, after: Signature) -> dict[str, tuple[Value, ...]]:
    """Constants that sources added to open types."""
    return {
        name: values[len(before.mentioned.get(name, ())) :]
        for name, values in after.mentioned.items()
        if values is not before.mentioned.get(name)
    }


def _both(
    first: Mapping[str, Sequence[Value]], second: Mapping[str, Sequence[Value]]
) -> dict[str, Sequence[Value]]:
    return {name: (*first.get(name, ()), *second.get(name, ())) for name in {**first, **second}}


# Predicates that only tables know


def grown(signature: Signature, tables: Sequence[OpenTable], mistakes: Mistakes) -> Signature:
    """The signature with the predicates that occur in tables only."""
    for table in tables:
        if table.predicate in signature.predicates:
            continue
        with mistakes.collecting():
            signature = _with_table(signature, table)
    return signature


def _with_table(signature: Signature, table: OpenTable) -> Signature:
    name = table.predicate
    if signature.strict:
        hint = nearest(name, signature.predicates) or "declare it, or leave the table out"
        raise FactsError(table.whole.mistake(f"there is no predicate '{name}'", hint))
    if not table.width and not table.sized:
        message = f"the table is empty, so the number of columns of '{name}' is not known"
        raise FactsError(table.whole.mistake(message, f"declare `predicate {name}(...)`"))
    marked = table.names is not None and bool(table.names) and table.names[-1] in MARKS
    types = [not_taken(f"{name}_{i + 1}", signature.types) for i in range(table.width - marked)]
    value_type = types.pop() if table.valued else None
    predicate = Predicate(name, tuple(types), value_type)
    return signature.with_predicate(predicate, {t: Type(t) for t in predicate.column_types})


# Reading


def _claims(
    tables: Sequence[OpenTable], signature: Signature, mistakes: Mistakes, report: Report
) -> Iterator[Claims]:
    whole = sum(table.size for table in tables) or 1
    before = 0
    for table in tables:
        if table.predicate in signature.predicates:
            start, end = (_READING * done / whole for done in (before, before + table.size))
            progress = _progress(report, f"reading {table.name}", start, end)
            with mistakes.collecting():
                yield read_claims(table, signature.predicates[table.predicate], signature, progress)
        before += table.size


def _progress(report: Report, message: str, start: float, end: float) -> Progress:
    report(message, start)
    return lambda done: report(message, start + (end - start) * done)


# Sorting


def _facts(read: Read, domains: Mapping[str, Domain], worlds: Worlds, report: Report) -> Facts:
    signature = read.after
    of: dict[str, list[Claims]] = {}
    for claim in read.claims:
        of.setdefault(claim.predicate.name, []).append(claim)
    mistakes = Mistakes()
    tables = {}
    for number, (name, predicate) in enumerate(signature.predicates.items()):
        if name not in of:
            columns, world = len(predicate.column_types), worlds.world(predicate, has_facts=False)
            tables[name] = FactTable.empty(columns, world)
            continue
        _progress(
            report, f"sorting {name}", _READING + (1 - _READING) * number / len(signature.predicates), 1
        )
        with mistakes.collecting():
            tables[name] = fact_table(
                predicate,
                of[name],
                domains,
                lambda listed, p=predicate: worlds.world(p, has_facts=listed),
                has_value=name not in worlds.rule_heads,  # choices may leave an atom without one
            )
    mistakes.raise_any(FactsError)
    report("facts loaded", 1.0)
    return Facts(domains, tables, read.notes)


def _with_kinds(signature: Signature, domains: Mapping[str, Domain]) -> Signature:
    """The signature with the kinds of its types' constants, if they were not declared."""
    types = {
        name: replace(known, kind=domains[name].kind)
        for name, known in signature.types.items()
        if known.kind is None and len(domains[name])
    }
    return replace(signature, types={**signature.types, **types}) if types else signature


# Whether facts are more than memory holds, known before they are read: only those that a database reads where
# they are, Parquet files and DuckDB files, are measured, as their rows are known without reading them


BYTES_A_CELL = 45
"""Peak memory for each cell while facts are read and sorted; measured on 20 million cells of numbers."""

DISK_A_CELL = 20
"""Disk for each cell of a database of numbered facts, temporary files included; measured on 200 million."""


@dataclass(frozen=True)
class TooLarge:
    """Facts that do not fit into memory. ``why``: the reason; ``disk``: estimated bytes of a database of
    them."""

    why: str
    disk: float = 0.0


def facts_too_large(cells: float, budget: Budget) -> TooLarge | None:
    """Reason if ``cells`` cells exceed the memory and a database can be opened instead; else None."""
    allowed = budget.bytes
    if not holds_database(allowed):
        return None
    if cells * BYTES_A_CELL <= allowed:
        return None
    needed = readable(cells * BYTES_A_CELL)
    return TooLarge(
        f"the facts need about {needed} in memory, and {readable(allowed)} are allowed", cells * DISK_A_CELL
    )
