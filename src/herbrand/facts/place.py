"""Places of facts in tables and texts, and the text of a constant in a message.

>>> print(Place("friends.csv", 3).mistake("the cell is empty"))
friends.csv, row 3: the cell is empty
>>> shown("anna"), shown(2.0)
('"anna"', '2')
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from herbrand.errors import Mistake, Span
from herbrand.language.names import simplest
from herbrand.visible import shortened, visible

T = TypeVar("T")

MOST_ROWS_SHOWN = 5
LONGEST_SHOWN = 60


@dataclass(frozen=True)
class Place:
    """A table, one of its rows (counted from 1), or a place in a text."""

    table: str
    row: int | None = None
    span: Span | None = None

    def mistake(self, message: str, hint: str = "") -> Mistake:
        if self.span is not None:
            return Mistake(message, self.span, hint)
        return Mistake(f"{self}: {message}", hint=hint)

    def __str__(self) -> str:
        if self.span is not None:
            return self.span.place
        return self.table if self.row is None else f"{self.table}, row {self.row}"


def shown(value: object) -> str:
    """Text of a constant as in a theory, shortened if it is long."""
    if isinstance(value, float):
        value = simplest(value)
    text = visible(json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value))
    return shortened(text, LONGEST_SHOWN)


def rows_at_fault(table: str, wrong: Sequence[T], mistake: Callable[[T], Mistake]) -> list[Mistake]:
    """Mistakes of the first few wrong rows, and the number of the others."""
    shown = [mistake(row) for row in wrong[:MOST_ROWS_SHOWN]]
    more = len(wrong) - MOST_ROWS_SHOWN
    if more > 0:
        shown.append(Mistake(f"{table}: {more:,} more row{'s' if more > 1 else ''} like this"))
    return shown


def mixed_mistake(type_name: str, text: tuple[object, Place], number: tuple[object, Place]) -> Mistake:
    """Mistake of a type with both text and numbers as constants, with a place of each."""
    return number[1].mistake(
        f"{shown(number[0])} is a number, but {shown(text[0])} ({text[1]}) is text; "
        f"the constants of type '{type_name}' must be all text or all numbers",
        f"if they are numbers, declare `type {type_name} = number`",
    )
