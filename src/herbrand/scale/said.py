"""What one table says of a predicate, as a query that a database answers: constants, truth, weight."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from herbrand.contraction.relational_databases import Database
from herbrand.errors import FactsError
from herbrand.facts.judging import mark_of
from herbrand.facts.place import shown
from herbrand.facts.sources.base import OpenTable
from herbrand.facts.sources.stored import StoredTable, quoted
from herbrand.language.signature import Kind, Predicate
from herbrand.language.syntax import Value


@dataclass(frozen=True)
class Said:
    """What one table says of a predicate: a query for columns ``c0`` ..., ``p`` and ``w``."""

    table: OpenTable
    predicate: Predicate
    query: str
    kinds: tuple[Kind | None, ...]
    weighted: bool


def in_place(table: StoredTable, predicate: Predicate) -> Said:
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
    return Said(table, predicate, query, kinds, mark == "weight")


def judged(found: Said, database: Database) -> Said:
    """The same, if no cell is empty and every truth and probability is one; raises ``FactsError`` else."""
    table, predicate = found.table, found.predicate
    columns = [f"c{place}" for place in range(len(predicate.column_types))]
    for place, column in enumerate(columns):
        empty = database.number(f"SELECT COUNT(*) FROM ({found.query}) q WHERE {column} IS NULL")
        if empty:
            name = predicate.column_types[place]
            message = f"column {place + 1} is empty in {empty:,} rows; expected a constant of type '{name}'"
            raise FactsError(table.whole.mistake(message))
    wrong = database.rows(
        f"SELECT p FROM ({found.query}) q WHERE p IS NULL OR NOT (p >= 0 AND p <= 1) LIMIT 1"
    )
    if wrong:
        raise FactsError(
            table.whole.mistake(f"{wrong[0][0]} is not a truth value or a probability from 0 to 1")
        )
    return found


def kind_of(
    name: str, declared: Kind | None, uses: Sequence[tuple[Said, int]], mentioned: Collection[Value]
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
