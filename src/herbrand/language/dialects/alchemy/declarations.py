"""Declarations of ``.mln`` files: lines with the shape of a declaration, and the constants of a type.

Takes a cursor at the beginning of a statement. Functions for shapes do not move it: the reader of theories
decides whether the line is a declaration.

>>> from herbrand.errors import Source
>>> from herbrand.language.dialects.alchemy.lexicon import TOKENS
>>> declared = declaration_shape(Cursor(Source("t", "Area(paper, topic!)"), TOKENS))
>>> declared.predicate.text, declared.types, declared.marks
('Area', ('paper', 'topic'), (1,))
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from herbrand.errors import Span
from herbrand.language.dialects.alchemy.formulas import likely_sign
from herbrand.language.dialects.alchemy.lexicon import INFINITE, QUANTIFIERS, WORD, text_of_string
from herbrand.language.dialects.alchemy.numbers import is_whole
from herbrand.language.dialects.scanner import END, NEWLINE, Cursor, Token
from herbrand.language.formulas import And, Atom, Comparison, Constant, Exists, Formula, Implies, Variable
from herbrand.language.syntax import Hard, Statement, WeightedFormula

LONGEST_RANGE = 1_000_000
_WORD = re.compile(WORD)


@dataclass(frozen=True)
class Declared:
    """A line with the shape of a predicate declaration.

    ``marks``: positions of arguments with a ``!``; ``soft_marks``: those with pracmln's ``?``. ``observed``:
    it has a ``*``, which in Tuffy's files means that atoms that are not listed are false.
    """

    predicate: Token
    types: tuple[str, ...]
    marks: tuple[int, ...]
    soft_marks: tuple[int, ...]
    observed: bool
    end: int
    next_position: int


def declaration_shape(cursor: Cursor) -> Declared | None:
    """The declaration that the line at the cursor could be, or ``None``; the cursor stays."""
    begin = cursor.position
    shape = _taken_shape(cursor)
    cursor.position = begin
    return shape


def _taken_shape(cursor: Cursor) -> Declared | None:
    observed = cursor.accept("*") is not None
    cursor.accept("@")  # Tuffy keeps the predicate in memory, which changes no meaning
    predicate = cursor.take()
    if predicate.kind != "name":
        return None
    types: list[str] = []
    marks: dict[str, list[int]] = {"!": [], "?": []}
    if cursor.accept("("):
        while not types or cursor.accept(","):
            if cursor.here.kind != "name":
                return None
            types.append(cursor.take().text)
            if cursor.here.kind == "name":
                cursor.take()  # Tuffy's name of the argument
            if cursor.at("!", "?"):
                marks[cursor.take().text].append(len(types) - 1)
        if not cursor.accept(")"):
            return None
    end = cursor.tokens[cursor.position - 1].end
    if cursor.here.kind not in (NEWLINE, END):
        return None
    return Declared(
        predicate, tuple(types), tuple(marks["!"]), tuple(marks["?"]), observed, end, cursor.position
    )


def function_shape(cursor: Cursor) -> tuple[Token, Declared] | None:
    """The value type and declaration of a line such as ``person MotherOf(person)``; the cursor stays."""
    if not _at_function(cursor):
        return None
    begin = cursor.position
    value_type = cursor.take()
    shape = _taken_shape(cursor)
    cursor.position = begin
    if shape is None or shape.marks or shape.soft_marks or shape.observed:
        return None
    return value_type, shape


def _at_function(cursor: Cursor) -> bool:
    first, second, third = cursor.here, cursor.after, cursor.token_ahead(2)
    return (
        first.kind == second.kind == "name"
        and third.text == "("
        and "v" not in (first.text, second.text)
        and first.text.lower() not in QUANTIFIERS | INFINITE
        and not likely_sign(first)
        and not likely_sign(second)
    )


def constants_in_braces(cursor: Cursor) -> list[Constant]:
    """Read the constants of ``{Anna, Bob}`` or ``{1, ..., 10}``; commas are optional, lines may end."""
    opening = cursor.expect("{")
    cursor.skip(NEWLINE)
    values: list[Constant] = []
    while not cursor.accept("}"):
        if cursor.here.kind == "dots":
            values += _range(cursor, values)
        else:
            values.append(_constant(cursor, opening))
        cursor.skip(NEWLINE)
        cursor.accept(",")
        cursor.skip(NEWLINE)
    if not values:
        raise cursor.refusal("a type needs at least one constant", opening)
    return values


def _constant(cursor: Cursor, opening: Token) -> Constant:
    if cursor.at_end:
        raise cursor.refusal("this '{' is never closed", opening)
    token = cursor.here
    if token.kind not in ("name", "string", "number"):
        raise cursor.expected("a constant or '}'")
    if token.kind == "string":
        cursor.take()
        return Constant(text_of_string(token.text), cursor.span_of(token))
    return _word(cursor)


def _word(cursor: Cursor) -> Constant:
    """Read a constant without quotes, of several tokens without blanks between them: ``chicken.n.01``."""
    start = cursor.here.start
    written = _WORD.match(cursor.source.text, start)
    end = start + len(written[0].split("...")[0]) if written else start
    cursor.take()
    while cursor.here.end <= end and not cursor.at_end:
        cursor.take()
    span = cursor.span_from(start)
    return Constant(span.text, span)


def _range(cursor: Cursor, before: list[Constant]) -> list[Constant]:
    """Read ``..., 10`` after a first number; return the constants that it adds."""
    dots = cursor.take()
    cursor.accept(",")
    last = cursor.expect_kind("number", "the last number of the range")
    if len(before) != 1 or not is_whole(str(before[0].value)) or not is_whole(last.text):
        message = "a range is written {first, ..., last} with two whole numbers"
        raise cursor.refusal(message, dots, "each has at most 18 digits")
    low, high = int(before[0].value), int(last.text)
    if low > high or high - low >= LONGEST_RANGE:
        why = "is empty" if low > high else f"has more than {LONGEST_RANGE} numbers"
        raise cursor.refusal(f"the range from {low} to {high} {why}", last)
    return [Constant(str(number), cursor.span_of(last)) for number in range(low + 1, high + 1)]


def exactly_one(
    name: str, arity: int, marks: tuple[int, ...], span: Span | None = None
) -> Iterator[Statement]:
    """Hard formulas for ``!`` on the arguments ``marks``: exactly one choice of their values holds for each
    choice of the others."""
    ours = _variables("a", arity)
    here = Atom(name, ours, span)
    yield WeightedFormula(Hard(), Exists(tuple(ours[i] for i in marks), here, span), span=span)
    yield at_most_one(name, arity, marks, span)


def at_most_one(name: str, arity: int, marks: tuple[int, ...], span: Span | None = None) -> WeightedFormula:
    """Hard formula for pracmln's ``?`` on the arguments ``marks``: at most one choice of their values holds
    for each choice of the others."""
    ours = _variables("a", arity)
    others = tuple(theirs if i in marks else ours[i] for i, theirs in enumerate(_variables("b", arity)))
    same: tuple[Formula, ...] = tuple(Comparison("=", ours[i], others[i], span) for i in marks)
    conclusion = same[0] if len(same) == 1 else And(same, span)
    both = And((Atom(name, ours, span), Atom(name, others, span)), span)
    return WeightedFormula(Hard(), Implies(both, conclusion, span), span=span)


def _variables(letter: str, arity: int) -> tuple[Variable, ...]:
    return tuple(Variable(f"{letter}{i + 1}") for i in range(arity))
