"""Ground facts and ground bounds in bulk: a fast path for runs of plain lines.

For facts, takes the text at the start of a statement; gives the facts of as many plain lines as follow, as
columns, one run for each predicate and way of saying. A line that is anything but a plain ground fact is left
to the grammar, which also owns all messages.

>>> from herbrand.errors import Source
>>> block = read_block(Source("f.hb", 'edge("a", 1)\\nnode("a")\\nedge("b", 2)\\nedge(x, 3)\\n'), 0)
>>> [rows.columns for rows in block.statements], block.end
([(('a', 'b'), (1, 2)), (('a',),)], 36)

For bounds, takes the same; gives the bounds of as many plain lines as follow. What stands
inside ``P( )`` with its atoms taken out is a *form*; a form is read once, by the grammar, and all its lines
are built alike. A line with variables, quantifiers or comparisons, or with anything wrong, is left to the
grammar, which also owns all messages.

>>> from herbrand.errors import Source
>>> from herbrand.language.parse import parse_probability
>>> text = 'P(a | not b) in [0.2, 0.4]\\nP(s("x") or s("y")) >= 0.5  # why\\nP(s(x)) <= 0.1\\n'
>>> block = read_bounds(Source("f.hb", text), 0, parse_probability)
>>> [(bound.event, bound.lower) for bound in block.statements][0], block.end
((Atom(predicate='a', arguments=()), 0.2), 61)
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, takewhile
from typing import Any, NamedTuple, cast

from herbrand.errors import LanguageError, Source, Span
from herbrand.language.layout import STRING
from herbrand.language.names import RESERVED, is_reserved, number_from, text_from
from herbrand.language.syntax import (
    And,
    Atom,
    Bound,
    Constant,
    FactKind,
    FactRows,
    Formula,
    Not,
    Or,
    Truth,
    Value,
    Xor,
    children,
    one_sided,
    walk,
)

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
"""Lines whose cells are held as text at once, before they become columns."""
_SURELY_FITS = 18
"""Characters: a whole number of so many is less than 2^63, whatever its digits."""


@dataclass(frozen=True)
class Block:
    """Facts or bounds that stand together, and where the text goes on after them."""

    statements: tuple[FactRows | Bound, ...]
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
            match = None if line is None else line.match(text, position)
            if line is None or match is None:
                line = self._line_at(position)
                match = None if line is None else line.match(text, position)
                if line is None or match is None:
                    break
                follower[last] = line
            line.records.append(match.groups())
            line.starts.append(position)
            position, last = match.end(), line
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
        alike = way._replace(texts=(False,) * len(texts))
        line = self._lines.setdefault(alike, _Line(way))
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


_NAME = rf"(?:(?!(?:{'|'.join(sorted(RESERVED))})\b)[^\W\d]\w*|`[^`\n]+`)"
_LINE = re.compile(
    rf"(?:\[[ \t]*({_NAME}|{STRING}|{_NUMBER})[ \t]*\][ \t]*)?P[ \t]*\(([^\n#]*)\)[ \t]*"
    rf"(?:in[ \t]*\[[ \t]*({_NUMBER})[ \t]*,[ \t]*({_NUMBER})[ \t]*\]|(<=|>=|=)[ \t]*({_NUMBER}))"
    rf"(?:[ \t]*(independent))?({_END})"
)
_ATOM = re.compile(rf"(?<!\w)({_NAME})(?:[ \t]*\([ \t]*({_ARGUMENT}(?:{_COMMA}{_ARGUMENT})*)[ \t]*\))?")
_ATOM_HERE = "\0"
"""No source holds this character."""
_PLAIN_FORM = re.compile(r"(?:[ \t\0()|]|<?=>|\b(?:and|or|xor|not|true|false)\b)*")
_LONGEST = 1000
"""Characters inside ``P( )``; longer ones are no rows of a long file."""

ReadForm = Callable[[str], tuple[Formula, Formula | None]]


def read_bounds(source: Source, start: int, read: ReadForm) -> Block | None:
    """The bounds of the plain lines from ``start`` on, or ``None`` where the first line is not one.

    ``read`` is the grammar's own reading of what stands inside ``P( )``.
    """
    bounds: list[Bound] = []
    position = start
    while (line := _LINE.match(source.text, position)) is not None:
        bound = _bound(source, line, read)
        if bound is None:
            break
        bounds.append(bound)
        position = line.end()
    return Block(tuple(bounds), position) if bounds else None


def _bound(source: Source, line: re.Match[str], read: ReadForm) -> Bound | None:
    """What a line says, or ``None`` where it is not plainly good."""
    label, inside, low, high, sign, end, independent, _ = line.groups()
    if len(inside) > _LONGEST:
        return None
    ends = (float(low), float(high)) if sign is None else one_sided(sign, float(end))
    if not 0 <= ends[0] <= ends[1] <= 1:
        return None
    place = line.start(2)
    matches = list(_ATOM.finditer(source.text, place, line.end(2)))
    form = _form(_ATOM.sub(_ATOM_HERE, inside), read)
    if form is None:
        return None
    try:
        atoms = [_atom(source, match) for match in matches]
        name = None if label is None else _label(label)
    except (ValueError, OverflowError):
        return None
    gaps = [place, *(match.end() for match in matches)]
    built = _Built(form.ends, source, atoms, gaps)
    event, given = built.part(form.event), None if form.given is None else built.part(form.given)
    span = Span(source, line.start(), line.start(8))
    return Bound(event, given, *ends, independent is not None, name, span)


def _label(token: str) -> str:
    return text_from(token) if token[0] == '"' else token.strip("`")


def _atom(source: Source, match: re.Match[str]) -> Atom:
    """An atom; a ``ValueError`` or ``OverflowError`` where an argument is no constant."""
    name, arguments = match.groups()
    span = Span(source, match.start(), match.end())
    if arguments is None:
        return Atom(name.strip("`"), (), span)
    terms = _ARGUMENTS.finditer(source.text, match.start(2), match.end(2))
    return Atom(name.strip("`"), tuple(_constant(source, term) for term in terms), span)


def _constant(source: Source, match: re.Match[str]) -> Constant:
    token = match[0]
    value = text_from(token) if token[0] == '"' else number_from(token)
    return Constant(value, Span(source, match.start(), match.end()))


# Forms


class _Form(NamedTuple):
    """What a key says, over atoms x0, x1, ...; ``ends``: where the stretches between these begin."""

    event: Formula
    given: Formula | None
    ends: Sequence[int]


@lru_cache(maxsize=10_000)
def _form(key: str, read: ReadForm) -> _Form | None:
    """A key as the grammar reads it; ``None`` where it is no formula of connectives, or no formula at all."""
    if _PLAIN_FORM.fullmatch(key) is None:
        return None
    gaps = key.split(_ATOM_HERE)
    names = [f"x{number}" for number in range(len(gaps) - 1)]
    text = gaps[0] + "".join(name + gap for name, gap in zip(names, gaps[1:], strict=True))
    try:
        event, given = read(text)
    except LanguageError:
        return None
    parts = [part for formula in (event, given) if formula is not None for part in walk(formula)]
    if [part for part in parts if isinstance(part, Atom)] != [Atom(name) for name in names]:
        return None
    ends = accumulate((len(gap) + len(name) for name, gap in zip(names, gaps, strict=False)), initial=0)
    return _Form(event, given, tuple(ends))


class _Built(NamedTuple):
    """Builds parts of a form over a line's atoms; ``gaps`` are where the stretches between them begin."""

    ends: Sequence[int]
    source: Source
    atoms: Sequence[Atom]
    gaps: Sequence[int]

    def part(self, part: Formula) -> Formula:
        if isinstance(part, Atom):
            return self.atoms[int(part.predicate[1:])]
        if isinstance(part, Truth):
            start = self._start(part)
            return Truth(part.value, Span(self.source, start, start + (4 if part.value else 5)))
        inside = tuple(map(self.part, children(part)))
        start = self._start(part) if isinstance(part, Not) else inside[0].span.start  # type: ignore[union-attr]
        span = Span(self.source, start, inside[-1].span.end)  # type: ignore[union-attr]
        make = cast(Any, type(part))
        return make(inside, span) if isinstance(part, And | Or | Xor) else make(*inside, span)

    def _start(self, part: Formula) -> int:
        """Where a part begins that has a word of its own in front."""
        assert part.span is not None
        gap = bisect_right(self.ends, part.span.start) - 1
        return self.gaps[gap] + part.span.start - self.ends[gap]
