"""Ground facts and ground bounds in bulk: a fast path for runs of plain lines.

For facts, takes the text at the start of a statement; returns the facts of as many plain lines as follow, as
columns, with one run for each predicate and form of line. Any line that is not a plain ground fact is left to
the grammar, which also makes all messages.

>>> from herbrand.errors import Source
>>> block = read_block(Source("f.hb", 'edge("a", 1)\\nnode("a")\\nedge("b", 2)\\nedge(x, 3)\\n'), 0)
>>> [rows.columns for rows in block.statements], block.end
([(('a', 'b'), (1, 2)), (('a',),)], 36)

For bounds, takes the same; returns the bounds of as many plain lines as follow. The text inside ``P( )``
without its atoms is a *form*; a form is read once, by the grammar, and then built again over the atoms of
each line. A line with variables, quantifiers, comparisons or a mistake is left to the grammar.

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
from herbrand.language.formulas import (
    And,
    Atom,
    Constant,
    Formula,
    Not,
    Or,
    Truth,
    Value,
    Xor,
    children,
    walk,
)
from herbrand.language.layout import STRING
from herbrand.language.names import RESERVED, is_reserved, number_from, text_from
from herbrand.language.syntax import Bound, FactKind, FactRows, one_sided

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
"""Lines whose cells are held as text at a time, before they become columns of values."""
_SURELY_FITS = 18
"""Length in characters up to which every whole number is less than 2^63."""


@dataclass(frozen=True)
class Block:
    """Facts or bounds of consecutive lines, and the offset of the text after them."""

    statements: tuple[FactRows | Bound, ...]
    end: int


class _Way(NamedTuple):
    """Form of a fact's line: lines of one form differ in their cells alone.

    ``texts``: for each cell, whether it is text or a number. ``sign``: ``~`` or ``@`` before a number.
    """

    negated: bool
    predicate: str
    texts: tuple[bool, ...]
    valued: bool
    sign: str | None

    @property
    def kind(self) -> FactKind:
        return "false" if self.negated else _KINDS[self.sign]


def read_block(source: Source, start: int) -> Block | None:
    """The facts of the plain lines from ``start`` on, or ``None`` if the first line is not one.

    Lines are matched in batches that double: at a row that must be left to the grammar (a probability above
    1), the lines matched in vain are at most about as many as those read before it.
    """
    lines = _Lines(source.text, start)
    batch = _FIRST_BATCH
    while lines.match(batch) == batch and lines.settle():
        batch = min(2 * batch, _LARGEST_BATCH)
    lines.settle()
    rows = tuple(line.rows(source, lines.position) for line in lines.known if line.starts)
    return Block(rows, lines.position) if rows else None


class _Lines:
    """Reader of plain lines of several forms in any order: files often list facts entity by entity."""

    def __init__(self, text: str, start: int) -> None:
        self.position = start
        self._text = text
        # Keyed without the kinds of cells: a line with other kinds ends the block, so rows stay in order.
        self._lines: dict[_Way, _Line] = {}
        self._last: _Line | None = None
        self._follower: dict[_Line | None, _Line] = {}

    @property
    def known(self) -> Iterable[_Line]:
        return self._lines.values()

    def match(self, most: int) -> int:
        """Match up to ``most`` further lines and count them; the form that last followed is tried first."""
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
        """Read the cells matched since the last call; go back to the first row that is refused, if any.

        Returns whether there was none.
        """
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
    """Lines of one form: cells as they were matched, and columns of values."""

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
        """Read the matched cells as values; return the offset of the first row that is refused, if any."""
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
        """Drop the rows that begin at or after an offset."""
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


# Cells of one column as values, up to the first that is refused


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
"""Mark in place of an atom: NUL, which :func:`herbrand.language.parse.plain_source` refuses in sources."""
_PLAIN_FORM = re.compile(r"(?:[ \t\0()|]|<?=>|\b(?:and|or|xor|not|true|false)\b)*")
_LONGEST = 1000
"""Most characters inside ``P( )`` for the fast path; longer bounds are not rows of a long file."""

ReadForm = Callable[[str], tuple[Formula, Formula | None]]


def read_bounds(source: Source, start: int, read: ReadForm) -> Block | None:
    """The bounds of the plain lines from ``start`` on, or ``None`` if the first line is not one.

    ``read``: the grammar's parser of the text inside ``P( )``.
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
    """The bound of a line, or ``None`` if it is left to the grammar."""
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
    """The atom of a match; raise ValueError or OverflowError if an argument is not a constant."""
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
    """A parsed form over atoms x0, x1, ...; ``ends``: offsets of the text between these atoms."""

    event: Formula
    given: Formula | None
    ends: Sequence[int]


@lru_cache(maxsize=10_000)
def _form(key: str, read: ReadForm) -> _Form | None:
    """Parse a form by the grammar; ``None`` if it is not a formula of atoms and connectives alone."""
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
    """Builder of parts of a form over a line's atoms; ``gaps``: offsets of the text between them."""

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
        """Offset in the source of a part that begins with a word and not with an atom."""
        assert part.span is not None
        gap = bisect_right(self.ends, part.span.start) - 1
        return self.gaps[gap] + part.span.start - self.ends[gap]
