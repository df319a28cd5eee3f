"""Ground facts in bulk: a fast path for plain lines.

Takes the text at the start of a statement; gives the facts of as many plain lines as follow, as columns, one
run for each predicate and way of saying. A line that is anything but a plain ground fact is left to the
grammar, which also owns all messages.

>>> from herbrand.errors import Source
>>> block = read_block(Source("f.hb", 'edge("a", 1)\\nnode("a")\\nedge("b", 2)\\nedge(x, 3)\\n'), 0)
>>> [rows.columns for rows in block.rows], block.end
([(('a', 'b'), (1, 2)), (('a',),)], 36)
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Any, NamedTuple

from herbrand.errors import Source, Span
from herbrand.language.layout import STRING
from herbrand.language.names import is_reserved, number_from, text_from
from herbrand.language.syntax import FactKind, FactRows, Value

_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_ARGUMENT = rf"(?:{STRING}|{_NUMBER})"
_COMMA = r"[ \t]*,[ \t]*"
_END = r"[ \t\f]*(?:#[^\n]*)?(?:\n[ \t\f\n]*|\Z)"
_SHAPE = re.compile(
    rf"(not[ \t]+)?(`[^`\n]+`|[^\W\d]\w*)"
    rf"(?:[ \t]*\([ \t]*({_ARGUMENT}(?:{_COMMA}{_ARGUMENT})*)[ \t]*\))?"
    rf"([ \t]*=[ \t]*{_ARGUMENT})?(?:[ \t]*([~@])[ \t]*{_NUMBER})?{_END}"
)
_ARGUMENTS = re.compile(_ARGUMENT)
_KINDS: dict[str | None, FactKind] = {None: "true", "~": "soft", "@": "weighted"}
_FIRST_BATCH = 16
_LARGEST_BATCH = 1 << 16
_SURELY_FITS = 18


@dataclass(frozen=True)
class Block:
    """Facts that stand together, and where the text goes on after them."""

    rows: tuple[FactRows, ...]
    end: int


class _Way(NamedTuple):
    """A way to say facts of one predicate: all its lines look alike but for their cells."""

    negated: bool
    predicate: str
    texts: tuple[bool, ...]
    valued: bool
    sign: str | None

    @property
    def kind(self) -> FactKind:
        return "false" if self.negated else _KINDS[self.sign]


def read_block(source: Source, start: int) -> Block | None:
    """The facts of the plain lines from ``start`` on, or ``None`` where the first line is not one.

    In batches that double: after a row that cannot be taken (a probability above 1), at most as many lines
    were matched in vain as were read before it.
    """
    lines = _Lines(source.text, start)
    batch = _FIRST_BATCH
    while lines.match(batch) == batch and lines.settle():
        batch = min(2 * batch, _LARGEST_BATCH)
    lines.settle()
    rows = tuple(line.rows(source, lines.position) for line in lines.known if line.starts)
    return Block(rows, lines.position) if rows else None


class _Lines:
    """Goes through plain lines, whatever their order: files often list facts entity by entity."""

    def __init__(self, text: str, start: int) -> None:
        self.position = start
        self._text = text
        self._lines: dict[_Way, _Line] = {}  # by way, kinds of cells apart: their rows stay in order
        self._last: _Line | None = None
        self._follower: dict[_Line | None, _Line] = {}

    @property
    def known(self) -> Iterable[_Line]:
        return self._lines.values()

    def match(self, most: int) -> int:
        """Notes up to ``most`` further lines and counts them; what followed a line before is tried first."""
        text, position, last, follower = self._text, self.position, self._last, self._follower
        matched = 0
        while matched < most and position < len(text):
            line = follower.get(last)
            found = None if line is None else line.match(text, position)
            if line is None or found is None:
                line = self._line_at(position)
                found = None if line is None else line.match(text, position)
                if line is None or found is None:
                    break
                follower[last] = line
            line.records.append(found.groups())
            line.starts.append(position)
            position, last = found.end(), line
            matched += 1
        self.position, self._last = position, last
        return matched

    def settle(self) -> bool:
        """Reads the cells noted since the last time; goes back to the first row that cannot be taken."""
        misfits = [place for line in self.known if (place := line.settle()) is not None]
        if misfits:
            self.position = min(misfits)
            for line in self.known:
                line.cut(self.position)
        return not misfits

    def _line_at(self, position: int) -> _Line | None:
        shape = _SHAPE.match(self._text, position)
        if shape is None or is_reserved(shape[2]) or (shape[1] and shape[5]):
            return None
        arguments = _ARGUMENTS.findall(shape[3] or "") + _ARGUMENTS.findall(shape[4] or "")
        texts = tuple(argument[0] == '"' for argument in arguments)
        way = _Way(bool(shape[1]), shape[2], texts, bool(shape[4]), shape[5])
        said = way._replace(texts=(False,) * len(texts))
        line = self._lines.setdefault(said, _Line(way))
        return line if line.way == way else None


class _Line:
    """What the lines of one way hold: cells as they were matched, and columns of values."""

    def __init__(self, way: _Way) -> None:
        self.way = way
        self.match = _line_pattern(way).match
        self.records: list[tuple[str, ...]] = []
        self.starts = array("q")
        self._readers: list[Callable[[Sequence[str]], Sequence[Value]]]
        self._readers = [_read_texts if text else _read_numbers for text in way.texts]
        if way.sign is not None:
            self._readers.append(_read_probabilities if way.sign == "~" else _read_weights)
        self._columns: list[list[Any]] = [[] for _ in self._readers]

    def settle(self) -> int | None:
        """Reads the records as values; gives where a row begins that cannot be taken."""
        if not self.records:
            return None
        before = len(self.starts) - len(self.records)
        read = [
            reader(cells)
            for reader, cells in zip(
                self._readers, zip(*self.records, strict=True), strict=bool(self._readers)
            )
        ]
        good = min(map(len, read), default=len(self.records))
        for column, values in zip(self._columns, read, strict=True):
            column += values[:good]
        misfit = self.starts[before + good] if good < len(self.records) else None
        self.records.clear()
        del self.starts[before + good :]
        return misfit

    def cut(self, place: int) -> None:
        """Forgets the rows that begin at or after a place."""
        kept = bisect_left(self.starts, place)
        del self.starts[kept:]
        for column in self._columns:
            del column[kept:]

    def rows(self, source: Source, end: int) -> FactRows:
        columns = tuple(map(tuple, self._columns))
        numbers = columns[len(self.way.texts) :]
        return FactRows(
            predicate=self.way.predicate.strip("`"),
            columns=columns[: len(self.way.texts)],
            row_count=len(self.starts),
            kind=self.way.kind,
            numbers=numbers[0] if numbers else (),
            valued=self.way.valued,
            span=Span(source, self.starts[0], end),
            starts=self.starts,
        )


@lru_cache(maxsize=256)
def _line_pattern(way: _Way) -> re.Pattern[str]:
    terms = [f"({STRING if text else _NUMBER})" for text in way.texts]
    value = rf"[ \t]*=[ \t]*{terms.pop()}" if way.valued else ""
    arguments = rf"[ \t]*\([ \t]*{_COMMA.join(terms)}[ \t]*\)" if terms else ""
    number = rf"[ \t]*{way.sign}[ \t]*({_NUMBER})" if way.sign else ""
    negation = r"not[ \t]+" if way.negated else ""
    return re.compile(f"{negation}{re.escape(way.predicate)}{arguments}{value}{number}{_END}")


# Cells of one column as values, up to the first that is none


def _read_texts(cells: Sequence[str]) -> list[Value]:
    if "\\" not in "".join(cells):
        return [cell[1:-1] for cell in cells]
    texts: list[Value] = []
    with suppress(ValueError):
        texts.extend(map(text_from, cells))
    return texts


def _read_numbers(cells: Sequence[str]) -> list[Value]:
    if len(max(cells, key=len)) <= _SURELY_FITS and not {".", "e", "E"} & set("".join(cells)):
        return list(map(int, cells))
    numbers: list[Value] = []
    with suppress(OverflowError):
        numbers.extend(map(number_from, cells))
    return numbers


def _read_probabilities(cells: Sequence[str]) -> list[float]:
    return list(takewhile(lambda number: 0 <= number <= 1, map(float, cells)))


def _read_weights(cells: Sequence[str]) -> list[float]:
    return list(takewhile(lambda number: abs(number) != float("inf"), map(float, cells)))
