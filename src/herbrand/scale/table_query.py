"""Tables of facts as queries for the database: constants, truth values or probabilities, and weights."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from herbrand.errors import FactsError, UnsupportedError, counted
from herbrand.facts.place import shown
from herbrand.facts.sources.base import OpenTable
from herbrand.facts.sources.stored import StoredTable, quoted
from herbrand.facts.table_claims import in_one_form as written_in_one_form
from herbrand.facts.table_claims import mark_of, such_as
from herbrand.language.signature import Kind, Predicate, Type
from herbrand.language.syntax import Value
from herbrand.relations.database import Database


@dataclass(frozen=True)
class TableQuery:
    """A table of facts about a predicate as a query for columns ``c0`` ..., ``p`` and ``w``.

    ``kinds``: kind of the constants in each column; ``None`` if there are none.
    """

    table: OpenTable
    predicate: Predicate
    query: str
    kinds: tuple[Kind | None, ...]
    weighted: bool


def in_place(table: StoredTable, predicate: Predicate) -> TableQuery:
    """The query for a table that the database can read itself."""
    mark = mark_of(table, predicate)
    expressions = table.constants(len(predicate.column_types))
    chosen = [f"{expression} AS c{place}" for place, expression in enumerate(expressions)]
    cell, kind = quoted(table.columns[-1]), table.kinds[-1]
    p, w = "CAST(1 AS DOUBLE)", "CAST(NULL AS DOUBLE)"
    number = w if kind == "BOOLEAN" else f"TRY_CAST({cell} AS DOUBLE)"
    if mark == "truth":
        text = f"LOWER(CAST({cell} AS VARCHAR))"
        text = f"regexp_replace({text}, '[.]0$', '')" if kind in ("FLOAT", "DOUBLE") else text
        p = f"CASE WHEN {text} IN ('true', '1') THEN 1 WHEN {text} IN ('false', '0') THEN 0 END"
    elif mark == "probability":
        p = number
    elif mark == "weight":
        w = number
    query = f"SELECT {', '.join((*chosen, f'{p} AS p', f'{w} AS w'))} FROM {table.relation}"
    kinds: tuple[Kind | None, ...] = tuple(
        "text" if "VARCHAR" in expression else "number" for expression in expressions
    )
    return TableQuery(table, predicate, query, kinds, mark == "weight")


_DAY = "[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}"
_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{{6}})?"
_MOMENTS = {
    "date": f"regexp_matches({{0}}, '^{_DAY}$') AND {{0}} >= '0001' AND TRY_CAST({{0}} AS DATE) IS NOT NULL",
    "time": f"regexp_matches({{0}}, '^{_DAY}T{_CLOCK}$') AND {{0}} >= '0001' AND {{0}} NOT LIKE '%.000000' "
    "AND TRY_CAST({0} AS TIMESTAMP) IS NOT NULL",
}
"""Conditions that a text is a date or a time in the one form that these have as constants."""


def in_one_form(
    read: TableQuery, place: int, calendar: str, database: Database, forms: str
) -> TableQuery | None:
    """The query with dates or times converted to the form of their constants, as in memory; ``None`` if all
    have it. ``forms``: name of the table of conversions that is made."""
    own = f"c{place}"
    others = f"{own} IS NOT NULL AND NOT ({_MOMENTS[calendar].format(own)})"
    written = database.arrow(f"SELECT DISTINCT {own} AS written FROM ({read.query}) q WHERE {others}")
    if not written.num_rows:
        return None
    texts = written.column("written").combine_chunks()
    database.put(forms, pa.table({"written": texts, "kept": written_in_one_form(texts, calendar)[0]}))
    columns = (f"c{other}" for other in range(len(read.kinds)) if other != place)
    listed = ", ".join((f"COALESCE(f.kept, q.{own}) AS {own}", *columns, "p", "w"))
    query = f"SELECT {listed} FROM ({read.query}) q LEFT JOIN {forms} f ON q.{own} = f.written"
    return replace(read, query=query)


def judged(read: TableQuery, table: StoredTable, database: Database, types: Mapping[str, Type]) -> TableQuery:
    """Check that no cell is empty and all are valid, and return the query; raise FactsError otherwise."""
    predicate = read.predicate
    for place, expression in enumerate(table.constants(len(predicate.column_types))):
        name = predicate.column_types[place]
        empty = _count(read, f"c{place} IS NULL", database)
        if empty:
            rows = counted(empty, "row")
            message = f"column {place + 1} is empty in {rows}; expected a constant of type '{name}'"
            raise FactsError(table.whole.mistake(message))
        calendar = types[name].calendar
        form = None if calendar is None else f"NOT ({_MOMENTS[calendar].format(f'c{place}')})"
        if form is not None and "VARCHAR" in expression and (wrong := _count(read, form, database)):
            rows = counted(wrong, "row")
            expected = such_as(calendar or "date")
            message = f"column {place + 1} holds no {calendar} in {rows}; expected {expected}"
            raise FactsError(table.whole.mistake(message))
        if "DOUBLE" in expression and _count(read, f"NOT ISFINITE(c{place})", database):
            message = (
                f"column {place + 1} holds what is no finite number; a constant is text or a finite number"
            )
            raise FactsError(table.whole.mistake(message))
    wrong = {
        "truth": ("p IS NULL", "truth value; expected true or false"),
        "probability": ("p IS NULL OR NOT (p >= 0 AND p <= 1)", "probability; expected a number from 0 to 1"),
        "weight": ("w IS NULL OR NOT ISFINITE(w)", "weight; expected a finite number"),
    }
    mark = mark_of(table, predicate)
    if mark in wrong:
        condition, expected = wrong[mark]
        count = _count(read, condition, database)
        if count:
            message = f"column '{mark}' holds no {expected}, in {counted(count, 'row')}"
            raise FactsError(table.whole.mistake(message))
    if not database.rows(f"SELECT 1 FROM ({read.query}) q LIMIT 1"):
        return replace(read, kinds=(None,) * len(read.kinds))
    return read


def _count(read: TableQuery, condition: str, database: Database) -> int:
    try:
        return database.number(f"SELECT COUNT(*) FROM ({read.query}) q WHERE {condition}")
    except UnsupportedError:
        raise FactsError(read.table.whole.mistake("a number does not fit into 64 bits")) from None


def kind_of(
    name: str, declared: Kind | None, uses: Sequence[tuple[TableQuery, int]], mentioned: Collection[Value]
) -> Kind | None:
    """Kind of a type's constants; raise FactsError if text and numbers are mixed."""
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
