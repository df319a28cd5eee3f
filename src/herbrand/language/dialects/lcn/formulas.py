"""Parser of the propositional formulas of ``.lcn`` files.

Takes a stretch of a source; returns a formula. The connectives are, from loosest to tightest, ``nor``,
``xnor``, ``nand``, ``or``, ``xor``, ``and``, ``not``, each also as a character and as a mathematical sign;
equal connectives group to the left; ``(and a b c)`` is the same as ``(a and b and c)``. Files have hundreds
of thousands of formulas of few forms: :mod:`.rows` reads a form once.

>>> text = Source("t", "a and !(b ^ c)")
>>> event, given = read_event_and_given(text, 0, len(text.text))
>>> event.operands[1].operand.operands, given
((Atom(predicate='b', arguments=()), Atom(predicate='c', arguments=())), None)
"""

from __future__ import annotations

import re

from herbrand.errors import LanguageError, Source, Span
from herbrand.language.dialects.infix import Connective, grouped_left, read_formula, spanning
from herbrand.language.dialects.scanner import Cursor
from herbrand.language.formulas import And, Atom, Formula, Iff, Not, Or, Truth, Xor


def _none_of(operands: tuple[Formula, ...], span: Span | None) -> Formula:
    return Not(Or(operands, span), span)


def _not_all_of(operands: tuple[Formula, ...], span: Span | None) -> Formula:
    return Not(And(operands, span), span)


_NOR = Connective(1, grouped_left(lambda left, right, span: _none_of((left, right), span)))
_XNOR = Connective(2, grouped_left(Iff))
_NAND = Connective(3, grouped_left(lambda left, right, span: _not_all_of((left, right), span)))
_OR = Connective(4, Or)
_XOR = Connective(5, Xor)
_AND = Connective(6, And)
_CONNECTIVES = {
    **dict.fromkeys(["nor", "†", "↓"], _NOR),
    **dict.fromkeys(["xnor", "=", "↔"], _XNOR),
    **dict.fromkeys(["nand", "/", "↑"], _NAND),
    **dict.fromkeys(["or", "∨"], _OR),
    **dict.fromkeys(["xor", "^", "⊕"], _XOR),
    **dict.fromkeys(["and", "&", "∧"], _AND),
}
_PREFIX_MEANING = {id(_NOR): _none_of, id(_NAND): _not_all_of}
_NOT = {"not", "!", "¬"}
_TRUTHS = {"1": True, "true": True, "⊤": True, "0": False, "false": False, "⊥": False}
RESERVED = {*_CONNECTIVES, *_NOT, *_TRUTHS}
_LIKELY = {
    "-": "there is no arrow: write 'not a or b' for 'a implies b'",
    "~": "write 'not' or '!'",
    "+": "write 'or'",
    "*": "write 'and'",
    "|": "'|' means given and stands once; write 'or' for or",
}
_WORDS = "|".join(sorted(word for word in RESERVED if word.isalpha()))
ATOM = re.compile(rf"(?!(?:{_WORDS})\b)\d*[^\W\d]\w*")
_TOKENS = re.compile(rf"(?P<name>{ATOM.pattern})|(?P<sign>\w+|[^\w\s])|(?P<blank>\s+)")


def read_event_and_given(source: Source, start: int, end: int) -> tuple[Formula, Formula | None]:
    """Parse the text inside ``P( )``: an event and, after a bar, its condition."""
    cursor = Cursor(source, _TOKENS, start, end)
    event = _formula(cursor)
    given = _formula(cursor) if cursor.accept("|") else None
    if not cursor.at_end:
        raise _expected(cursor, "a connective")
    return event, given


def _formula(cursor: Cursor) -> Formula:
    return read_formula(cursor, _CONNECTIVES, lambda: _operand(cursor))


def _operand(cursor: Cursor) -> Formula:
    token = cursor.here
    if token.kind == "name":
        return _atom(cursor)
    if token.text == "(":
        return _bracketed(cursor)
    if token.text in _NOT:
        return _negated(cursor)
    if token.text not in _TRUTHS:
        raise _expected(cursor, "an atom")
    cursor.take()
    return Truth(_TRUTHS[token.text], cursor.span_of(token))


def _atom(cursor: Cursor) -> Atom:
    name = cursor.take()
    if cursor.at("(") and cursor.here.start == name.end:
        hint = "name each ground atom: smokes_anna"
        raise cursor.refusal("atoms have no arguments in an .lcn file", hint=hint)
    return Atom(name.text, (), cursor.span_of(name))


def _negated(cursor: Cursor) -> Not:
    sign = cursor.take()
    cursor.enter()
    operand = _operand(cursor)
    cursor.leave()
    return Not(operand, cursor.span_from(sign.start))


def _bracketed(cursor: Cursor) -> Formula:
    opening = cursor.take()
    cursor.enter()
    connective = _CONNECTIVES.get(cursor.here.text)
    formula = _formula(cursor) if connective is None else _prefixed(cursor, connective)
    cursor.leave()
    if cursor.at_end:
        raise cursor.refusal("this '(' is never closed", opening)
    if not cursor.accept(")"):
        raise _expected(cursor, "a connective or ')'")
    return formula


def _prefixed(cursor: Cursor, connective: Connective) -> Formula:
    """Read the rest of ``(and a b c)`` after the opening bracket."""
    sign = cursor.take()
    operands: list[Formula] = []
    while not cursor.at_end and not cursor.at(")"):
        operands.append(_operand(cursor))
    if len(operands) < 2 or (connective is _XNOR and len(operands) > 2):
        count = "two operands" if connective is _XNOR else "at least two operands"
        raise cursor.refusal(f"'{sign.text}' before its operands takes {count}", sign)
    make = _PREFIX_MEANING.get(id(connective), connective.make)
    return make(tuple(operands), spanning(operands[0], operands[-1]))


def _expected(cursor: Cursor, what: str) -> LanguageError:
    text = cursor.here.text
    instead = f"'{text}'" if text else "its end"
    return cursor.refusal(f"expected {what} in this formula, found {instead}", hint=_LIKELY.get(text, ""))
