"""Words of a theory text with their roles: predicate, type, variable, constant, keyword and so on.

This works on text that does not parse yet, one statement at a time. ``tests/editing/test_words.py`` compares
it with the parser on text that does.

>>> [(word.text, word.role) for word in words('1.5: smokes(x) => rain') if word.role != "sign"]
[('1.5', 'number'), ('smokes', 'predicate'), ('x', 'variable'), ('rain', 'predicate')]
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from herbrand.language.formulas import AGGREGATES, FUNCTIONS
from herbrand.language.layout import STRING, stretches
from herbrand.language.names import RESERVED

Role = Literal[
    "predicate", "type", "variable", "text", "number", "keyword", "function", "label", "comment", "sign"
]
_TOKEN = re.compile(
    rf"(?P<text>{STRING}|\"[^\"\n]*)|(?P<comment>\#[^\n]*)|(?P<name>`[^`\n]+`|[^\W\d]\w*)"
    r"|(?P<number>[0-9]+(?:\.(?!\.)[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<sign><=>|=>|:-|::|\.\.|<=|>=|!=|//|\S)"
)
MOST_KEPT = 5_000
"""Number of statements in each cache."""
_COMPARING = {"=", "!=", "<", "<=", ">", ">="}
_COMPUTING = {"+", "-", "*", "/", "//", "%"}
_CALENDARS = ("date", "time")
_KINDS_OF_TYPE = ("number", *_CALENDARS)
_ROLES_OF_PREDICATE = ("observed", "learned")


@dataclass(frozen=True)
class Word:
    """A word of the text, at offset ``start``.

    ``statement``: offset of its statement. ``inside`` and ``position``: predicate of the atom that contains
    it, and the argument, counted from 0. ``declares``: whether it declares a type or predicate here.
    """

    text: str
    start: int
    role: Role
    statement: int = 0
    inside: str | None = None
    position: int = 0
    declares: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def moved(self, by: int) -> Word:
        """The same word, moved ``by`` characters."""
        at, statement = self.start + by, self.statement + by
        return Word(self.text, at, self.role, statement, self.inside, self.position, self.declares)

    @property
    def name(self) -> str:
        """The name without back-quotes."""
        return self.text.strip("`") if self.text[0] == "`" else self.text


@dataclass(frozen=True)
class _Bracket:
    """An open bracket: the predicate before it, if any, and whether it contains terms or formulas."""

    sign: str
    terms: bool
    atom: str | None = None
    aggregate: bool = False


def words(text: str) -> list[Word]:
    """All words of a text in order, including comments."""
    listed: list[Word] = []
    passed = 0
    for start, statement, own in statements(text):
        listed += _comments(text, passed, start)
        listed += (word.moved(start) for word in own)
        passed = start + len(statement)
    return listed + _comments(text, passed, len(text))


def statements(text: str) -> Iterator[tuple[int, str, tuple[Word, ...]]]:
    """Yield the offset of each statement, its text, and its words as if it began at offset 0."""
    plain, valued = _declared(text)
    for stretch in stretches(text):
        statement = text[stretch.start : stretch.end]
        yield stretch.start, statement, _statement_words(statement, plain, valued)


_DECLARED = re.compile(
    r"^[ \t]*(?:\[[^]\n]*\][ \t]*)?predicate[ \t]+(`[^`\n]+`|\w+)[ \t]*(in\b)?", re.MULTILINE
)


def _declared(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Declared predicates with names of functions or aggregates, and many-valued ones without arguments."""
    declared = [(name.strip("`"), valued) for name, valued in _DECLARED.findall(text)]
    functions = frozenset(name for name, _ in declared if name in AGGREGATES or name in FUNCTIONS)
    return functions, frozenset(name for name, valued in declared if valued)


@lru_cache(MOST_KEPT)
def _statement_words(statement: str, declared: frozenset[str], valued: frozenset[str]) -> tuple[Word, ...]:
    """Words of one statement, cached while other statements change."""
    return tuple(_Statement(statement, 0, len(statement), declared, valued).words())


def _comments(text: str, start: int, end: int) -> list[Word]:
    return [
        Word(token[0], token.start(), "comment", token.start())
        for token in _TOKEN.finditer(text, start, end)
        if token.lastgroup == "comment"
    ]


class _Statement:
    """The tokens of one statement, read from left to right with a stack of open brackets."""

    def __init__(
        self, text: str, start: int, end: int, declared: Collection[str], valued: Collection[str]
    ) -> None:
        self._tokens = list(_TOKEN.finditer(text, start, end))
        self._code = [token for token in self._tokens if token.lastgroup != "comment"]
        self._start = start
        self._declared = declared
        self._valued = valued
        self._open: list[_Bracket] = []
        self._positions: list[int] = []
        self._quantified = False

    def words(self) -> Iterator[Word]:
        declaration = self._first_word()
        at = 0
        for token in self._tokens:
            if token.lastgroup == "comment":
                yield Word(token[0], token.start(), "comment", self._start)
                continue
            word = self._word(at, declaration)
            yield replace(word, statement=self._start)
            at += 1

    def _first_word(self) -> str:
        """``type``, ``predicate`` or ``P`` if the statement, after its label, begins with it; else empty."""
        at = 3 if self._sign(0) == "[" and self._sign(2) == "]" else 0
        return self._sign(at) if self._sign(at) in ("type", "predicate", "P") else ""

    def _sign(self, at: int) -> str:
        return self._code[at][0] if 0 <= at < len(self._code) else ""

    def _word(self, at: int, declaration: str) -> Word:
        token = self._code[at]
        inside = self._open[-1].atom if self._open else None
        position = self._positions[-1] if self._positions else 0
        plain = Word(token[0], token.start(), "sign", inside=inside, position=position)
        if at == 1 and self._sign(0) == "[" and token.lastgroup != "sign":
            return replace(plain, role="label")
        if token.lastgroup in ("text", "number"):
            return replace(plain, role=token.lastgroup)
        if token.lastgroup == "sign":
            self._bracket(at)
            return plain
        if declaration in ("type", "predicate"):
            return self._declaring(plain, at, declaration)
        return replace(plain, role=self._role(at))

    def _bracket(self, at: int) -> None:
        sign = self._sign(at)
        if sign in "([{":
            self._open.append(self._opened(at))
            self._positions.append(0)
        elif sign in ")]}" and self._open:
            self._open.pop()
            self._positions.pop()
        elif sign == "," and self._positions:
            self._positions[-1] += 1
        elif sign == ":":
            self._quantified = False
            if self._open and self._open[-1].aggregate:
                self._open[-1] = replace(self._open[-1], terms=False)

    def _opened(self, at: int) -> _Bracket:
        sign, before = self._sign(at), self._sign(at - 1)
        if sign != "(":
            return _Bracket(sign, True)
        if before == "P":
            return _Bracket(sign, False)
        if at and self._code[at - 1].lastgroup == "name" and before not in RESERVED:
            if self._is_function(at - 1):
                return _Bracket(sign, True, aggregate=before in AGGREGATES)
            return _Bracket(sign, True, before.strip("`"))
        outer = self._open[-1] if self._open else _Bracket("", False)
        return _Bracket(sign, outer.terms, outer.atom if outer.terms else None)

    def _declaring(self, word: Word, at: int, declaration: str) -> Word:
        before = self._sign(at - 1)
        if word.text in ("type", "predicate") and (at == 0 or before == "]"):
            return replace(word, role="keyword")
        if before == declaration:
            return replace(word, role="type" if declaration == "type" else "predicate", declares=True)
        if word.text == "in" or (before == ":" and word.text in _ROLES_OF_PREDICATE):
            return replace(word, role="keyword")
        if declaration == "type" or self._is_calendar(at):
            return replace(word, role="keyword" if word.text in _KINDS_OF_TYPE else "type")
        return replace(word, role="type")

    def _is_calendar(self, at: int) -> bool:
        return self._sign(at) in _CALENDARS and self._sign(at + 1).startswith('"')

    def _role(self, at: int) -> Role:
        name, before, after = self._sign(at), self._sign(at - 1), self._sign(at + 1)
        if name in ("exists", "forall"):
            self._quantified = True
        if name in RESERVED or self._is_calendar(at):
            return "keyword"
        if name == "independent" and self._ends_bound(at):
            return "keyword"
        if self._quantified or (after == "::" and not self._open and before not in (")", "]")):
            return "variable"
        if after == "(":
            return "function" if self._is_function(at) else "predicate"
        if self._open and self._open[-1].terms:
            return "variable"
        if name.strip("`") in self._valued and (after in ("=", "in", "!=")):
            return "predicate"
        beside = {before, after} & (_COMPARING | _COMPUTING)
        return "variable" if beside or after == "in" else "predicate"

    def _ends_bound(self, at: int) -> bool:
        before = self._code[at - 1]
        last = not self._open and 0 < at == len(self._code) - 1
        return last and (before[0] == "]" or before.lastgroup == "number")

    def _is_function(self, at: int) -> bool:
        """Whether ``count(``, ``sum(``, ``max(`` and so on begin a value here, and not an atom."""
        name = self._sign(at)
        if name not in AGGREGATES and name not in FUNCTIONS:
            return False
        if name in self._declared:
            return False
        compared = _COMPARING | _COMPUTING
        if self._sign(at - 1) in compared or (self._open and self._open[-1].terms):
            return True
        depth, colon = 0, False
        for place in range(at + 1, len(self._code)):
            sign = self._sign(place)
            depth += (sign in "([{") - (sign in ")]}")
            colon = colon or (sign == ":" and depth == 1)
            if depth == 0:
                return colon or self._sign(place + 1) in compared
        return colon
