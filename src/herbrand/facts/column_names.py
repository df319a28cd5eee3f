"""Which first rows of text tables were taken as data though they look like names of columns.

The rule that decides (a special name, or the declared types) is in :mod:`herbrand.facts.sources.text`; this
only finds what a user should look at again, so it must seldom be wrong.

>>> looks_like_names(("from", "to"), [("anna", "bob")])
True
>>> looks_like_names(("anna", "bob"), [("bob", "carl")])
False
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from herbrand.facts.sources.base import OpenTable
from herbrand.language.syntax import FactRows

MOST_NAMED = 4
FEWEST_REPEATED = 5
"""Rows below a first one whose cells alone do not repeat."""
ALONE = frozenset(("id", "name", "person", "user"))
"""What the only column of a table is called; other names are words that a list of words may begin with."""
_USUAL = """
from to source target src dst child parent father mother head tail subject object relation predicate
start end left right first second entity node edge key label title text value item friend other author
paper document doc word topic type class category group city country year date day time age score rating
count number amount price
"""
NAMES = ALONE | frozenset(_USUAL.split())
_DIGITS = re.compile(r"\d+")
_NUMBER_OR_ID = re.compile(r"[_\- ]?(\d+|id|name)$")


def doubtful_headers(
    tables: Sequence[OpenTable], theory_rows: Sequence[FactRows], mentioned: Iterable[object]
) -> tuple[str, ...]:
    """Which tables may have a header that no rule takes for one, in one line.

    A cell that is a constant elsewhere, in a row of another table or in the theory, names no column.
    """
    doubtful = [t for t in tables if t.first_cells and looks_like_names(t.first_cells, t.next_rows)]
    if not doubtful:
        return ()
    cells = {cell.strip() for table in doubtful for cell in table.first_cells}
    known = {cell.strip() for table in tables for row in table.next_rows for cell in row} | set(mentioned)
    for rows in theory_rows:
        for column in rows.columns:
            known |= cells.intersection(column)
    names = [t.name for t in doubtful if not any(cell.strip() in known for cell in t.first_cells)]
    if not names:
        return ()
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return (
        f"the first row of {', '.join(names[:MOST_NAMED])}{more} was taken as data, though it looks like "
        "names of columns; --header yes skips it, --header no says that it is data",
    )


def looks_like_names(first: Sequence[str], later: Sequence[Sequence[str]]) -> bool:
    """Whether a first row, taken by itself and beside later ones, looks like names of columns.

    All its cells are words that occur nowhere below, nor do others that differ in a number. And they are
    what columns are often called, or one stands above numbers alone, or every cell below occurs again while
    none of these does.
    """
    cells = [cell.strip() for cell in first]
    below = [[cell.strip() for cell in row] for row in later if len(row) == len(cells)]
    times = Counter(cell for row in below for cell in row)
    patterns = set(map(_pattern, times))
    if not below or any(not cell or _is_number(cell) or _pattern(cell) in patterns for cell in cells):
        return False
    usual = NAMES if len(cells) > 1 else ALONE
    if all(cell.lower() in usual or _stem(cell) in NAMES for cell in cells):
        return True
    if any(all(map(_is_number, column)) for column in zip(*below, strict=True)):
        return True
    return len(set(cells)) == len(cells) and len(below) >= FEWEST_REPEATED and min(times.values()) > 1


def _pattern(cell: str) -> str:
    """Equal for constants that are numbered, such as ``p1`` and ``p27``."""
    return _DIGITS.sub("0", cell)


def _stem(cell: str) -> str:
    """``person`` of ``person1``, ``Person_2`` and ``person_id``; nothing of what has no such end."""
    stem, ends = _NUMBER_OR_ID.subn("", cell.lower())
    return stem if ends else ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
