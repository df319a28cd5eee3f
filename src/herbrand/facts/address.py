"""Addresses of facts: a predicate's name, a file or database, a table in it, columns by name, a condition.

``pays=bank.duckdb:transactions(sender, receiver, amount as weight) where amount > 100``; all but the file may
be left out, and a path that exists is taken as it is.

>>> address = parse_address("pays=bank.duckdb:transactions(sender, amount as weight) where amount > 100")
>>> address.predicate, address.location, address.table
('pays', 'bank.duckdb', 'transactions')
>>> address.selection
Selection(columns=(('sender', 'sender'), ('amount', 'weight')), where='amount > 100', nulls='refuse')
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from os.path import exists
from pathlib import Path
from typing import Literal, cast

from herbrand.errors import FactsError, nearest

_WHERE = re.compile(r"(?<=[\s)])where\s+(?P<condition>\S.*)$", re.IGNORECASE | re.DOTALL)
_NO_CONDITION = re.compile(r"\)\s*where$", re.IGNORECASE)
_COLUMN = re.compile(
    r'\s*(?P<old>"(?:[^"]|"")*"|[^",]+?)(?:\s+as\s+(?P<new>[^\s",]+))?\s*(?:,|$)', re.IGNORECASE
)
_NULLS = re.compile(r"(?<=[\s)])nulls\s+(?P<rule>refuse|drop|unknown)\s*$", re.IGNORECASE)
_SERVER = re.compile(r"^postgres(ql)?://", re.IGNORECASE)
_FORM = "expected NAME=FILE:TABLE(column, other as name) where CONDITION nulls drop"
Nulls = Literal["refuse", "drop", "unknown"]


@dataclass(frozen=True)
class Selection:
    """Selected columns and rows of a table. ``columns``: pairs of a column's name and its new name, in order;
    None for all.

    ``where``: a condition on rows, in the language of the database that holds them. ``nulls``: how a row with
    an empty cell is treated: as a mistake, left out, or only as a source of constants.
    """

    columns: tuple[tuple[str, str], ...] | None = None
    where: str | None = None
    nulls: Nulls = "refuse"

    def __bool__(self) -> bool:
        return self != Selection()

    @property
    def named(self) -> bool:
        """Whether the selection uses names of columns."""
        return self.columns is not None or self.where is not None

    @property
    def condition(self) -> str:
        """The condition as a WHERE clause, or nothing."""
        return "" if self.where is None else f" WHERE ({self.where}\n)"

    def of(self, table: str) -> str:
        """Text for messages that names the selection of a table."""
        return table if self.where is None else f"{table} where {self.where}"

    def among(self, table: str, present: Sequence[str], named_by: str = "") -> tuple[tuple[str, str], ...]:
        """The columns in the table's spelling; raises an error for a missing one. ``named_by``: the assumed
        source of the table's column names, for messages.

        >>> Selection((("Sender", "who"),)).among("pays", ["sender", "amount"])
        (('sender', 'who'),)
        """
        if self.columns is None:
            return tuple((name, name) for name in present)
        return tuple((_spelled(table, old, present, named_by), new) for old, new in self.columns)


@dataclass(frozen=True)
class Address:
    """Address of a predicate's facts; ``predicate`` and ``table`` are ``None`` if they are not named."""

    predicate: str | None
    location: str
    table: str | None = None
    selection: Selection = field(default_factory=Selection)


def is_server(location: str) -> bool:
    """Whether a location is the address of a PostgreSQL database."""
    return _SERVER.match(location) is not None


def parse_address(text: str) -> Address:
    """Parse an address; raises ``FactsError`` for a list of columns that cannot be parsed."""
    if not text:  # which would be the folder that we are in
        raise FactsError("an empty name is no file or folder of facts", hint="the folder itself is '.'")
    if exists(text):
        return Address(None, text)
    name, equals, rest = text.partition("=")
    predicate = (
        name if equals and rest and name == Path(name).name and not re.search(r"[(:\s]", name) else None
    )
    rest = text if predicate is None else rest
    if exists(rest):
        return Address(predicate, rest)
    rest, selection = parse_selection(rest)
    location, table = _split(rest)
    return Address(predicate, location, table, selection)


def parse_selection(text: str) -> tuple[str, Selection]:
    """Split off the columns and the condition at the end of a text.

    >>> parse_selection("pays(sender) where amount > 3")
    ('pays', Selection(columns=(('sender', 'sender'),), where='amount > 3', nulls='refuse'))
    """
    condition, nulls = None, "refuse"
    if (match := _NULLS.search(text)) is not None:
        text, nulls = text[: match.start()].rstrip(), match["rule"].lower()
    if (match := _WHERE.search(text)) is not None:
        text, condition = text[: match.start()].rstrip(), match["condition"].strip()
    text = text.rstrip()
    if exists(text):
        return text, Selection(None, condition, cast("Nulls", nulls))
    if text.count("(") > text.count(")"):
        raise FactsError(f"'{text}' opens a bracket that it does not close, and is no file", hint=_FORM)
    if _NO_CONDITION.search(text):
        raise FactsError(f"'{text}' has no condition behind its 'where'", hint=_FORM)
    if not text.endswith(")"):
        return text, Selection(None, condition, cast("Nulls", nulls))
    place = text.rfind("(")
    if place <= 0:
        raise FactsError(f"'{text}' is no address of facts", hint=_FORM)
    columns = _columns(text[place + 1 : -1])
    return text[:place].rstrip().removesuffix(":"), Selection(columns, condition, cast("Nulls", nulls))


def _columns(text: str) -> tuple[tuple[str, str], ...]:
    chosen, position = [], 0
    while position < len(text):
        column = _COLUMN.match(text, position)
        if column is None or not column["old"].strip():
            raise FactsError(f"'({text})' lists no columns", hint=_FORM)
        old = column["old"]
        old = old[1:-1].replace('""', '"') if old.startswith('"') else old.strip()
        chosen.append((old, column["new"] or old))
        position = column.end()
    if not chosen or text.rstrip().endswith(","):
        raise FactsError(f"'({text})' lists no columns", hint=_FORM)
    return tuple(chosen)


def _split(text: str) -> tuple[str, str | None]:
    """Split an address into the file or server and the name of the table."""
    if exists(text):
        return text, None
    head, slash, last = text.rpartition("/")
    location, colon, table = last.rpartition(":")
    if not colon or (is_server(text) and head.endswith("/")):  # the colon before a server's port
        return text, None
    return f"{head}{slash}{location}", table or None


def _spelled(table: str, requested: str, present: Sequence[str], named_by: str) -> str:
    alike = [name for name in present if name == requested] or [
        name for name in present if name.casefold() == requested.casefold()
    ]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise FactsError(f"{table}: there are {len(alike)} columns '{requested}'")
    hint = nearest(requested, present) or f"its columns are {', '.join(present)}{named_by}"
    raise FactsError(f"{table}: there is no column '{requested}'", hint=hint)
