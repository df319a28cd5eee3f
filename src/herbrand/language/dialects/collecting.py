"""Errors about statements that a dialect cannot express, raised together.

>>> print(as_text(written_lines(["smokes", "friends"], lambda name: [f"// {name}", name])), end="")
// smokes
smokes
// friends
friends
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from herbrand.errors import Mistakes, UnsupportedError
from herbrand.language.syntax import (
    Bound,
    Choice,
    FactRows,
    NetworkTable,
    Query,
    Rule,
    Single,
    WeightedFormula,
)

Part = TypeVar("Part")
_KINDS: dict[type, str] = {
    FactRows: "facts",
    WeightedFormula: "weighted formulas",
    Bound: "probability bounds",
    Rule: "rules",
    **dict.fromkeys((Choice, NetworkTable), "choices '::' and no tables of networks"),
}


def refusal(statement: Single | Query, reason: str, hint: str = "") -> UnsupportedError:
    """Error that a statement cannot be written, with its place; for a run of facts that of its first row."""
    span = statement.row_span(0) if isinstance(statement, FactRows) else statement.span
    return UnsupportedError(reason, span=span, hint=hint)


def has_no(file: str, statement: Single) -> UnsupportedError:
    """Error that a kind of file has no statements of this kind at all."""
    return refusal(statement, f"{file} has no {_KINDS[type(statement)]}")


def written_lines(parts: Iterable[Part], lines: Callable[[Part], Iterable[str]]) -> list[str]:
    """Lines of all parts; raise one ``UnsupportedError`` with all parts that cannot be written."""
    refused = Mistakes()
    written: list[str] = []
    for part in parts:
        with refused.collecting():
            written += lines(part)
    refused.raise_any(UnsupportedError)
    return written


def as_text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
