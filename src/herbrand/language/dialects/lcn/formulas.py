"""The propositional formulas of ``.lcn`` files.

Takes a stretch of a source; gives a formula. From loosest to tightest ``nor``, ``xnor``, ``nand``, ``or``,
``xor``, ``and``, ``not``, each also as a character and as a mathematical sign; equal connectives group to
the left; ``(and a b c)`` may stand for ``(a and b and c)``. Files have hundreds of thousands of these, so
the tokens are plain lists and the descent does as little as it can.

>>> text = Source("t", "a and !(b ^ c)")
>>> event, given = read_event_and_given(text, 0, len(text.text))
>>> event.operands[1].operand.operands, given
((Atom(predicate='b', arguments=()), Atom(predicate='c', arguments=())), None)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from herbrand.errors import LanguageError, Source, Span
from herbrand.language.dialects.infix import Connective, grouped_left, spanning
from herbrand.language.formulas import (
    DEEPEST_NESTING,
    And,
    Atom,
    Formula,
    Iff,
    Not,
    Or,
    Truth,
    Xor,
    nested_too_deep,
)


def _none_of(operands: tuple[Formula, ...], span: Span | None) -> Formula:
    return Not(Or(operands, span), span)


def _not_all_of(operands: tuple[Formula, ...], span: Span | None) -> Formula:
    return Not(And(operands, span), span)


def _neither(left: Formula, right: Formula, span: Span | None) -> Formula:
    return _none_of((left, right), span)


def _not_both(left: Formula, right: Formula, span: Span | None) -> Formula:
    return _not_all_of((left, right), span)


_NOR = Connective(1, grouped_left(_neither))
_XNOR = Connective(2, grouped_left(Iff))
_NAND = Connective(3, grouped_left(_not_both))
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
_TOKENS = re.compile(rf"(!|¬|not\b)?\s*({ATOM.pattern})|(\w+|\S|$)")
"""A literal is one token, its sign and its atom; any other token is group 3, empty at the end."""
Tokens = Sequence[re.Match[str]]


def read_event_and_given(source: Source, start: int, end: int) -> tuple[Formula, Formula | None]:
    """What stands inside ``P( )``: a formula, and behind a bar another one."""
    tokens = tokens_of(source, start, end)
    plain = conditional_row(source, tokens)
    return descended(source, tokens) if plain is None else plain


def tokens_of(source: Source, start: int, end: int) -> Tokens:
    """The tokens from ``start`` to ``end``, closed by an empty one."""
    return list(_TOKENS.finditer(source.text, start, end))


def descended(source: Source, tokens: Tokens) -> tuple[Formula, Formula | None]:
    """An event and what is given, of any form; owns all messages."""
    descent = _Descent(source, tokens)
    event = descent.formula()
    given = descent.formula() if descent.passed_bar() else None
    descent.expect_end()
    return event, given


def conditional_row(source: Source, tokens: Tokens) -> tuple[Formula, Formula | None] | None:
    """A literal given literals joined by one sign for "and", as nearly all lines have it; else ``None``.

    Every second token is then an atom, the others are the bar, the connectives and the end.
    """
    signs = [token[3] for token in tokens[1::2]]
    if not signs or signs[0] not in ("|", "") or signs[-1] != "" or len(tokens) % 2:
        return None
    if any(_CONNECTIVES.get(sign) is not _AND for sign in signs[1:-1]):
        return None
    text = source.text
    literals: list[Formula] = []
    for token in tokens[::2]:
        sign, name, _ = token.groups()
        if name is None:
            return None
        begin, end = token.span(2)
        if text[end : end + 1] == "(":
            return None
        atom = Atom(name, (), Span(source, begin, end))
        literals.append(atom if sign is None else Not(atom, Span(source, token.start(), end)))
    if len(literals) <= 2:
        return literals[0], (literals[1] if len(literals) == 2 else None)
    given = tuple(literals[1:])
    return literals[0], And(given, spanning(given[0], given[-1]))


class _Descent:
    """Walks along tokens."""

    def __init__(self, source: Source, tokens: Tokens) -> None:
        self._source = source
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def formula(self) -> Formula:
        return self._chain(0)

    def passed_bar(self) -> bool:
        if self._tokens[self._at][3] != "|":
            return False
        self._at += 1
        return True

    def expect_end(self) -> None:
        if self._tokens[self._at][3] != "":
            raise self._expected("a connective")

    def _chain(self, weakest: int) -> Formula:
        tokens = self._tokens
        left = self._operand()
        while (connective := _CONNECTIVES.get(tokens[self._at][3])) and connective.strength >= weakest:
            operands = [left]
            while _CONNECTIVES.get(tokens[self._at][3]) is connective:
                self._at += 1
                operands.append(self._chain(connective.strength + 1))
            left = connective.make(tuple(operands), spanning(left, operands[-1]))
        return left

    def _operand(self) -> Formula:
        sign, name, other = (token := self._tokens[self._at]).groups()
        if name is not None:
            self._at += 1
            start, end = token.span(2)
            if self._source.text[end : end + 1] == "(":
                raise self._refusal(
                    "atoms have no arguments in an .lcn file", "name each ground atom: smokes_anna"
                )
            atom = Atom(name, (), Span(self._source, start, end))
            return atom if sign is None else Not(atom, Span(self._source, token.start(), end))
        if other == "(":
            return self._bracketed()
        if other in _NOT:
            return self._negated()
        if other not in _TRUTHS:
            raise self._expected("an atom")
        self._at += 1
        return Truth(_TRUTHS[other], Span(self._source, *token.span()))

    def _negated(self) -> Formula:
        start = self._tokens[self._at].start()
        self._at += 1
        self._enter()
        operand = self._operand()
        self._depth -= 1
        return Not(operand, Span(self._source, start, operand.span.end if operand.span else start))

    def _bracketed(self) -> Formula:
        opening = self._at
        self._at += 1
        self._enter()
        connective = _CONNECTIVES.get(self._tokens[self._at][3])
        formula = self._chain(0) if connective is None else self._prefix(connective)
        self._depth -= 1
        closing = self._tokens[self._at][3]
        if closing != ")":
            if closing == "":
                self._at = opening
                raise self._refusal("this '(' is never closed")
            raise self._expected("a connective or ')'")
        self._at += 1
        return formula

    def _prefix(self, connective: Connective) -> Formula:
        """``(and a b c)``, behind the opening bracket."""
        sign = self._at
        self._at += 1
        operands: list[Formula] = []
        while self._tokens[self._at][3] not in (")", ""):
            operands.append(self._operand())
        if len(operands) < 2 or (connective is _XNOR and len(operands) > 2):
            self._at = sign
            count = "two operands" if connective is _XNOR else "at least two operands"
            raise self._refusal(f"'{self._tokens[sign][3]}' before its operands takes {count}")
        make = _PREFIX_MEANING.get(id(connective), connective.make)
        return make(tuple(operands), spanning(operands[0], operands[-1]))

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST_NESTING:
            raise nested_too_deep(self._here())

    def _expected(self, what: str) -> LanguageError:
        text = self._tokens[self._at].group().strip()
        found = f"'{text}'" if text else "its end"
        return self._refusal(f"expected {what} in this formula, found {found}", _LIKELY.get(text, ""))

    def _refusal(self, message: str, hint: str = "") -> LanguageError:
        return LanguageError(message, span=self._here(), hint=hint)

    def _here(self) -> Span:
        token = self._tokens[self._at]
        return Span(self._source, token.end() - len(token.group().strip()), token.end())
