"""Messages for syntax errors: the unexpected token, and the tokens that were expected.

Takes the parser's exception; returns a :class:`~herbrand.errors.Mistake`. Advice on the likely meaning comes
from :mod:`herbrand.language.suggestions`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from herbrand.errors import Mistake, Source, Span, all_of
from herbrand.language.layout import Stretch, open_quote
from herbrand.language.suggestions import Failure, foreign_spelling, suggestion
from herbrand.visible import shortened

_CONNECTIVES = {"AND", "OR", "XOR", "IMPLIES", "IFF"}
_COMPARISONS = {"EQUALS", "DIFFERS", "LESS", "AT_MOST", "MORE", "AT_LEAST"}
_ARITHMETIC = frozenset({"PLUS", "MINUS", "TIMES", "OVER", "FLOORED", "REST", "DATE"})
"""Signs that may stand nearly everywhere; listing them as expected would help nobody."""
_FORMULA_STARTS = {"NOT", "EXISTS", "FORALL", "TRUE", "FALSE", "LPAR", "NAME"}
_ENDINGS = ["COMMA", "RPAR", "VBAR", "AT", "WHERE", "INDEPENDENT", "$END"]
_TERMINALS = {
    "NAME": "a name",
    "STRING": "text in double quotes",
    "NUMBER": "a number",
    "ROLE": "'observed' or 'learned'",
    "VIEW": "'from \"SELECT ...\"'",
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "COMMA": "','",
    "COLON": "':'",
    "CHANCE": "'::'",
    "SEMICOLON": "';'",
    "VBAR": "'|'",
    "QMARK": "'?'",
    "TILDE": "'~'",
    "AT": "'@'",
    "IF": "':-'",
    "TO": "'..'",
    "NUMERIC": "'number'",
    "EQUALS": "'='",
    "AT_LEAST": "'>='",
    "AT_MOST": "'<='",
    "P": "'P('",
}
_WHOLES = {
    "statement": "statement",
    "query_formula": "formula",
    "query_probability": "query",
    "query_literal": "fact",
}
_PERCENT = re.compile(r"[0-9][ \t]*%$")


def mistake(error: UnexpectedInput, source: Source, stretch: Stretch, rule: str) -> Mistake:
    """Mistake for a syntax error; the positions of ``error`` are relative to the stretch."""
    if isinstance(error, UnexpectedCharacters):
        return _unknown_character(source, stretch, stretch.start + error.pos_in_stream)
    assert isinstance(error, UnexpectedToken)
    if error.token.type in _ARITHMETIC:
        return _unknown_character(source, stretch, stretch.start + (error.token.start_pos or 0))
    accepted = _plainly(error.accepts or error.expected)
    ended = error.token.type == "$END"
    at = stretch.end if ended else stretch.start + (error.token.start_pos or 0)
    whole = _WHOLES[rule]
    failure = Failure(source.text, stretch.start, at, error.token.type, str(error.token), accepted, whole)
    expected = all_of([*_names(accepted, whole)], "or")
    if ended:
        last = Span(source, max(stretch.start, at - 1), at)
        message = f"the {whole} ends too early; expected {expected}" if at > stretch.start else f"no {whole}"
        comment = "comments begin with #" if failure.before.startswith("--") else ""
        return Mistake(message, last, comment or suggestion(failure))
    begin, end = foreign_spelling(failure) or (at, at + len(error.token))
    shown = shortened(source.text[begin:end])
    advice = "" if "-" in source.text[begin:at] else f"; expected {expected}"
    percent = "write 0.7 for 70 %" if _PERCENT.search(failure.before) else ""
    span = Span(source, begin, end)
    return Mistake(f"unexpected '{shown}'{advice}", span, percent or suggestion(failure))


def _plainly(accepted: Collection[str]) -> frozenset[str]:
    """Accepted terminals, without those of arithmetic and aggregates where a plain atom may stand as well."""
    rest = set(accepted) - _ARITHMETIC
    if "STRING" in rest and "NOT" not in rest:
        rest.discard("LPAR")
    if {"COMMA", "RPAR"} <= rest:
        rest.discard("COLON")
    return frozenset(rest)


def never_closed(source: Source, stretch: Stretch) -> Mistake:
    """Mistake for a bracket that is never closed, or for an open string that hid the closing bracket."""
    quote = open_quote(source.text, stretch.start, stretch.end)
    if quote is not None:
        return _unclosed_string(source, quote)
    at = stretch.unclosed or stretch.start
    return Mistake(f"this '{source.text[at]}' is never closed", Span(source, at, at + 1))


def _unclosed_string(source: Source, at: int) -> Mistake:
    return Mistake("a string that is not closed on its line", Span(source, at, at + 1), 'expected: "..."')


def _unknown_character(source: Source, stretch: Stretch, at: int) -> Mistake:
    character = source.text[at]
    if character == '"':
        return _unclosed_string(source, at)
    if character == "`":
        what = (
            "an empty name" if source.text.startswith("``", at) else "a back-quoted name that is not closed"
        )
        return Mistake(what, Span(source, at, at + 1), "expected: `name`")
    failure = Failure(source.text, stretch.start, at, "", character, frozenset())
    begin, end = foreign_spelling(failure) or (at, at + 1)
    shown = source.text[begin:end]
    named = f"'{shown}'" if shown != "'" and shown.isprintable() else f"character {shown!r}"
    return Mistake(f"unexpected {named}", Span(source, begin, end), suggestion(failure))


def _names(accepted: Collection[str], whole: str) -> Iterator[str]:
    """Yield words for the terminals: groups that come together as one, without the least likely ones."""
    rest = set(accepted)
    if {"TYPE", "PREDICATE"} <= rest:
        yield "a statement"
        return
    if rest >= _FORMULA_STARTS:
        yield "a formula"
        rest -= _FORMULA_STARTS | {"STRING", "NUMBER", "P"}
    if rest >= _CONNECTIVES - {"IFF"}:
        in_rule = {"COMMA", "AT"} <= rest
        if not in_rule:
            yield "a connective (and, or, xor, =>, <=>)"
        rest &= set(_ENDINGS) if in_rule else set(_ENDINGS) - {"AT"}
    if rest == _COMPARISONS | {"COLON", "CHANCE"}:
        rest -= _COMPARISONS
    if rest >= _COMPARISONS:
        yield "a comparison (=, != ...)"
        rest -= _COMPARISONS
    names = {"$END": f"the end of the {whole}"} | _TERMINALS
    yield from (names.get(name, f"'{name.lower()}'") for name in sorted(rest, key=_order))


def _order(name: str) -> tuple[int, str]:
    return (_ENDINGS.index(name) + 1 if name in _ENDINGS else 0), name
