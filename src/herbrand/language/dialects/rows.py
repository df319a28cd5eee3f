"""Ground facts in bulk: lines grouped by their beginning, and rows grouped by predicate.

A fact file of a million lines is read column by column, not line by line: :func:`grouped_lines` groups the
lines with the same beginning, :class:`PredicateRows` collects the rows of one predicate and their offsets.

>>> groups = grouped_lines("p(a)\\nq(b)\\np(c)", "(")
>>> groups["p"].tails, list(groups["p"].starts)
(['a)', 'c)'], [0, 10])
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeVar

from herbrand.errors import Source, Span
from herbrand.language.syntax import FactKind, FactRows

_T = TypeVar("_T")


@dataclass
class LineGroup:
    """Lines that begin with the same text: the rest of each line, and the offset at which it starts."""

    head: str
    tails: list[str]
    starts: array[int]


def grouped_lines(text: str, separator: str) -> dict[str, LineGroup]:
    """Lines that are not blank, grouped by the text before the first ``separator`` or the end of the line."""
    lines = text.split("\n")
    tails: dict[str, list[str]] = {}
    numbers: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        head, _, tail = line.partition(separator)
        if head in tails:
            tails[head].append(tail)
            numbers[head].append(number)
        elif line and not line.isspace():
            tails[head] = [tail]
            numbers[head] = [number]
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    return {
        head: LineGroup(head, tails[head], array("q", map(starts.__getitem__, numbers[head])))
        for head in tails
    }


@dataclass
class PredicateRows:
    """Rows of one predicate and one kind, filled by columns or by rows."""

    predicate: str
    kind: FactKind = "true"
    columns: list[list[str]] = field(default_factory=list)
    starts: array[int] = field(default_factory=lambda: array("q"))
    numbers: list[float] = field(default_factory=list)

    def add(self, columns: Sequence[Iterable[str]], starts: Iterable[int]) -> None:
        """Add rows, given as columns; the first ones set the number of columns."""
        if not self.starts:
            self.columns = [[] for _ in columns]
        for mine, more in zip(self.columns, columns, strict=True):
            mine.extend(more)
        self.starts.extend(starts)

    def fact_rows(self, source: Source, valued: bool = False) -> FactRows:
        """The rows in the order of the file."""
        order = self._file_order()
        starts = self.starts if order is None else array("q", _picked(self.starts, order))
        return FactRows(
            self.predicate,
            tuple(tuple(_picked(column, order)) for column in self.columns),
            len(starts),
            self.kind,
            tuple(_picked(self.numbers, order)),
            valued,
            span=Span(source, starts[0], source.rest_of_line(starts[-1]).end),
            starts=starts,
        )

    def _file_order(self) -> list[int] | None:
        """Permutation of the rows into the order of the file; ``None`` if they are in that order."""
        starts = self.starts
        if all(map(int.__le__, starts, starts[1:])):
            return None
        return sorted(range(len(starts)), key=starts.__getitem__)


def _picked(values: Sequence[_T], order: list[int] | None) -> Iterable[_T]:
    return values if order is None or not values else map(values.__getitem__, order)
