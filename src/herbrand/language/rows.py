"""Ground facts in bulk: a fast path for runs of plain lines.

Takes the text at the start of a statement; gives the facts of as many equally shaped lines as follow, as
columns. A line that is anything but a plain ground fact is left to the grammar, which also owns all messages.

>>> from herbrand.errors import Source
>>> run = read_run(Source("f.hb", 'edge("a", 1)\\nedge("b", 2)\\nedge(x, 3)\\n'), 0)
>>> run.rows.columns, run.end
((('a', 'b'), (1, 2)), 26)
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from herbrand.errors import Source, Span
from herbrand.language.names import is_reserved
from herbrand.language.syntax import FactKind, FactRows

_TEXT = r'"([^"\\\n]*)"'
_INTEGER = r"(-?\d{1,18})(?![.\deE])"
_DECIMAL = r"(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
_ARGUMENT = r'(?:"[^"\\\n]*"|-?\d{1,18}(?![.\deE]))'
_SHAPE = re.compile(
    rf"(not[ \t]+)?([^\W\d]\w*)(?:\([ \t]*({_ARGUMENT}(?:[ \t]*,[ \t]*{_ARGUMENT})*)[ \t]*\))?"
    rf"([ \t]*=[ \t]*{_ARGUMENT})?(?:[ \t]*([~@])[ \t]*{_DECIMAL})?[ \t]*(?:\n|$)"
)
_ARGUMENTS = re.compile(_ARGUMENT)
_KINDS: dict[str, FactKind] = {"~": "soft", "@": "weighted"}


@dataclass(frozen=True)
class Run:
    """Equally shaped facts that stand together, and where the text goes on after them."""

    rows: FactRows
    end: int


def read_run(source: Source, start: int) -> Run | None:
    """The facts of the plain lines from ``start`` on, or ``None`` where the first line is not one."""
    shape = _SHAPE.match(source.text, start)
    if shape is None or is_reserved(shape[2]) or (shape[1] and shape[5]):
        return None
    arguments = _ARGUMENTS.findall(shape[3] or "") + _ARGUMENTS.findall(shape[4] or "")
    texts = tuple(argument[0] == '"' for argument in arguments)
    line = _line_pattern(bool(shape[1]), shape[2], texts, bool(shape[4]), shape[5])
    records, starts, end = _matches(line, source.text, start)
    columns = list(zip(*records, strict=True)) if line.groups else []
    numbers = tuple(map(float, columns.pop())) if shape[5] else ()
    if any(number in (float("inf"), float("-inf")) for number in numbers):
        return None
    rows = FactRows(
        predicate=shape[2],
        columns=tuple(c if text else tuple(map(int, c)) for c, text in zip(columns, texts, strict=True)),
        row_count=len(records),
        kind="false" if shape[1] else _KINDS.get(shape[5] or "", "true"),
        numbers=numbers,
        valued=bool(shape[4]),
        span=Span(source, start, end),
        starts=starts,
    )
    return Run(rows, end)


@lru_cache(maxsize=256)
def _line_pattern(
    negated: bool, predicate: str, texts: tuple[bool, ...], valued: bool, suffix: str | None
) -> re.Pattern[str]:
    terms = [_TEXT if text else _INTEGER for text in texts]
    value = rf"[ \t]*=[ \t]*{terms.pop()}" if valued else ""
    separated = r"[ \t]*,[ \t]*".join(terms)
    arguments = rf"\([ \t]*{separated}[ \t]*\)" if terms else ""
    number = rf"[ \t]*{suffix}[ \t]*{_DECIMAL}" if suffix else ""
    negation = r"not[ \t]+" if negated else ""
    return re.compile(rf"{negation}{re.escape(predicate)}{arguments}{value}{number}[ \t]*(?:\n|$)")


def _matches(
    line: re.Pattern[str], text: str, start: int
) -> tuple[list[tuple[str, ...]], Sequence[int], int]:
    records: list[tuple[str, ...]] = []
    starts = array("q")
    match_at: Callable[[str, int], re.Match[str] | None] = line.match
    position = start
    while position < len(text) and (found := match_at(text, position)) is not None:
        records.append(found.groups())
        starts.append(position)
        position = found.end()
    return records, starts, position
