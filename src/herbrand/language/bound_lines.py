"""Ground bounds in bulk: a fast path for plain lines.

Takes the text at the start of a statement; gives the bounds of as many plain lines as follow. What stands
inside ``P( )`` with its atoms taken out is a *form*; a form is read once, by the grammar, and all its lines
are built alike. A line with variables, quantifiers or comparisons, or with anything wrong, is left to the
grammar, which also owns all messages.

>>> from herbrand.errors import Source
>>> from herbrand.language.parse import parse_probability
>>> text = 'P(a | not b) in [0.2, 0.4]\\nP(s("x") or s("y")) >= 0.5  # why\\nP(s(x)) <= 0.1\\n'
>>> block = read_bounds(Source("f.hb", text), 0, parse_probability)
>>> [(bound.event, bound.lower) for bound in block.bounds][0], block.end
((Atom(predicate='a', arguments=()), 0.2), 61)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from herbrand.errors import LanguageError, Source, Span
from herbrand.language.layout import STRING
from herbrand.language.names import RESERVED, number_from, text_from
from herbrand.language.syntax import (
    And,
    Atom,
    Bound,
    Constant,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Truth,
    Xor,
    walk,
)

_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_NAME = rf"(?:(?!(?:{'|'.join(sorted(RESERVED))})\b)[^\W\d]\w*|`[^`\n]+`)"
_ARGUMENT = rf"(?:{STRING}|{_NUMBER})"
_LINE = re.compile(
    rf"(?:\[[ \t]*({_NAME}|{STRING}|{_NUMBER})[ \t]*\][ \t]*)?P[ \t]*\(([^\n#]*)\)[ \t]*"
    rf"(?:in[ \t]*\[[ \t]*({_NUMBER})[ \t]*,[ \t]*({_NUMBER})[ \t]*\]|(<=|>=|=)[ \t]*({_NUMBER}))"
    r"(?:[ \t]*(independent))?([ \t\f]*(?:#[^\n]*)?(?:\n[ \t\f\n]*|\Z))"
)
_ATOM = re.compile(rf"(?<!\w)({_NAME})(?:[ \t]*\([ \t]*({_ARGUMENT}(?:[ \t]*,[ \t]*{_ARGUMENT})*)[ \t]*\))?")
_ARGUMENTS = re.compile(_ARGUMENT)
_ATOM_HERE = "\0"
"""No source holds this character."""
_PLAIN_FORM = re.compile(r"(?:[ \t\0()|]|<?=>|\b(?:and|or|xor|not|true|false)\b)*")
_LONGEST = 1000
"""Characters inside ``P( )``; longer ones are no rows of a long file."""

ReadForm = Callable[[str], tuple[Formula, Formula | None]]
Places = Sequence[int]
Make = Callable[[Source, Sequence[Atom], Places], Formula]
"""Builds a part of a form from its atoms; the places are where the stretches between atoms begin."""


class _Form(NamedTuple):
    event: Make
    given: Make | None


@dataclass(frozen=True)
class BoundBlock:
    """Bounds that stand together, and where the text goes on after them."""

    bounds: tuple[Bound, ...]
    end: int


def read_bounds(source: Source, start: int, read: ReadForm) -> BoundBlock | None:
    """The bounds of the plain lines from ``start`` on, or ``None`` where the first line is not one.

    ``read`` is the grammar's own reading of what stands inside ``P( )``.
    """
    found: list[Bound] = []
    position = start
    while (line := _LINE.match(source.text, position)) is not None:
        bound = _bound(source, line, read)
        if bound is None:
            break
        found.append(bound)
        position = line.end()
    return BoundBlock(tuple(found), position) if found else None


def _bound(source: Source, line: re.Match[str], read: ReadForm) -> Bound | None:
    """What a line says, or ``None`` where it is not plainly good."""
    label, inside, low, high, sign, end, independent, _ = line.groups()
    if len(inside) > _LONGEST:
        return None
    ends = (float(low), float(high)) if sign is None else _one_sided(sign, float(end))
    if not 0 <= ends[0] <= ends[1] <= 1:
        return None
    place = line.start(2)
    said = list(_ATOM.finditer(source.text, place, line.end(2)))
    form = _form(_ATOM.sub(_ATOM_HERE, inside), read)
    if form is None:
        return None
    try:
        atoms = [_atom(source, match) for match in said]
        name = None if label is None else _label(label)
    except (ValueError, OverflowError):
        return None
    gaps = [place, *(match.end() for match in said)]
    event = form.event(source, atoms, gaps)
    given = None if form.given is None else form.given(source, atoms, gaps)
    span = Span(source, line.start(), line.start(8))
    return Bound(event, given, *ends, independent is not None, name, span)


def _one_sided(sign: str, number: float) -> tuple[float, float]:
    return (0.0 if sign == "<=" else number), (1.0 if sign == ">=" else number)


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


@lru_cache(maxsize=10_000)
def _form(key: str, read: ReadForm) -> _Form | None:
    """How to build what a key says; ``None`` where it is no formula of connectives, or no formula at all."""
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
    ends = [0, *_ends(names, gaps)]
    return _Form(_make(event, ends), None if given is None else _make(given, ends))


def _ends(names: Sequence[str], gaps: Sequence[str]) -> list[int]:
    """Where each name of a form's text ends."""
    found, place = [], 0
    for name, gap in zip(names, gaps, strict=False):
        place += len(gap) + len(name)
        found.append(place)
    return found


def _make(formula: Formula, ends: Sequence[int]) -> Make:
    """The builder of a part of a form; ``ends`` is where the stretches between its atoms begin."""
    match formula:
        case Atom(predicate=name):
            number = int(name[1:])
            return lambda source, atoms, gaps: atoms[number]
        case Truth(value=value):
            gap, ahead, length = *_place(formula, ends), 4 if value else 5
            return lambda source, atoms, gaps: Truth(
                value, Span(source, gaps[gap] + ahead, gaps[gap] + ahead + length)
            )
        case Not(operand=operand):
            return _make_not(_make(operand, ends), *_place(formula, ends))
        case And(operands=operands) | Or(operands=operands) | Xor(operands=operands):
            return _make_joined(type(formula), [_make(operand, ends) for operand in operands])
        case Implies(premise=left, conclusion=right) | Iff(left=left, right=right):
            return _make_pair(type(formula), _make(left, ends), _make(right, ends))
    raise AssertionError(formula)


def _place(formula: Formula, ends: Sequence[int]) -> tuple[int, int]:
    """In which stretch between atoms a part begins, and how far behind its beginning."""
    assert formula.span is not None
    start = formula.span.start
    gap = max(number for number, end in enumerate(ends) if end <= start)
    return gap, start - ends[gap]


def _make_not(operand: Make, gap: int, ahead: int) -> Make:
    def make(source: Source, atoms: Sequence[Atom], gaps: Places) -> Formula:
        inner = operand(source, atoms, gaps)
        return Not(inner, Span(source, gaps[gap] + ahead, inner.span.end))  # type: ignore[union-attr]

    return make


def _make_joined(kind: type, operands: Sequence[Make]) -> Make:
    def make(source: Source, atoms: Sequence[Atom], gaps: Places) -> Formula:
        parts = tuple(operand(source, atoms, gaps) for operand in operands)
        return kind(parts, Span(source, parts[0].span.start, parts[-1].span.end))  # type: ignore[union-attr]

    return make


def _make_pair(kind: type, left: Make, right: Make) -> Make:
    def make(source: Source, atoms: Sequence[Atom], gaps: Places) -> Formula:
        first, last = left(source, atoms, gaps), right(source, atoms, gaps)
        return kind(first, last, Span(source, first.span.start, last.span.end))  # type: ignore[union-attr]

    return make
