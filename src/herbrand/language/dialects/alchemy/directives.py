"""Statements of ``.mln`` files other than declarations and formulas: pracmln's directives and settings, etc.

Directives that only control learning or display change no meaning here and are ignored; all others are
refused by name, as are statements of Tuffy and pracmln that have no counterpart.

>>> from herbrand.errors import Source
>>> from herbrand.language.dialects.alchemy.lexicon import TOKENS
>>> directives = Directives()
>>> directives.read(Cursor(Source("t", "$w = log(2)"), TOKENS))
>>> directives.settings, directives.pracmln
({'$w': 'log(2)'}, True)
"""

from __future__ import annotations

import re
from itertools import pairwise, takewhile

from herbrand.language.dialects.alchemy.lexicon import NAME
from herbrand.language.dialects.scanner import END, NEWLINE, Cursor, Token

_PUT_ASIDE = {"#fixweight", "#fixweightfreq", "#group"}
"""Ignored directives: given weights are never learned here, and only pracmln's learner uses groups."""
_UNIQUE = "#unique"
_REFUSED = {
    "#fuzzy": ("degrees of truth are not supported", "give the atoms as soft evidence in the .db file"),
    "#fixunitary": ("learning with fixed unit clauses is not supported", "give the unit clause its weight"),
    "#adaptivemlndependency": (
        "weights that depend on the size of a domain are not supported",
        "give the formulas their weights",
    ),
}
_PLAIN_NUMBER = re.compile(r"[-+]?[\d.]")
_OPEN = re.compile(rf"^[^\S\n]*//[^\S\n]*-ow[^\S\n]+({NAME}(?:,{NAME})*)[^\S\n]*$", re.MULTILINE)


def open_predicates(text: str) -> set[str]:
    """The predicates that comments list after Alchemy's command-line option ``-ow`` for open worlds.

    Alchemy has no syntax for them in a file, and a comment breaks no other reader.

    >>> sorted(open_predicates("// -ow smokes,friends\\n// run it with -ow ill"))
    ['friends', 'smokes']
    """
    return {name for listed in _OPEN.findall(text) for name in listed.split(",")}


class Directives:
    """Settings of a file so far; ``pracmln``: whether it has syntax that only pracmln and ProbCog write."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}
        self.pracmln = False
        self._unique: Token | None = None

    def read(self, cursor: Cursor) -> None:
        """Read a directive or setting, to the end of its line."""
        token = cursor.take()
        name = token.text.lower()
        if name in _REFUSED:
            raise cursor.refusal(*_with_token(_REFUSED[name], token))
        if token.text.startswith("$"):
            self._set(cursor, token.text)
        elif name == _UNIQUE:
            self._unique = token
            _skip_line(cursor)
        elif name in _PUT_ASIDE:
            cursor.accept(".")
        else:
            hint = "a comment begins with '//' or '# '"
            raise cursor.refusal(f"there is no directive '{token.text}'", token, hint)
        self.pracmln = True

    def weighed(self, cursor: Cursor, written: Token, weight: float | None) -> None:
        """Note the weight of a formula; raise LanguageError if ``#unique`` before it changes its meaning."""
        if weight is not None and not _PLAIN_NUMBER.match(written.text):
            self.pracmln = True
        unique, self._unique = self._unique, None
        if unique is not None and weight:
            raise cursor.refusal(
                "'#unique' is only supported for weights that are 0",
                unique,
                "each pair of values counts once there: write the formula with its weight where the two are "
                "equal, and once more with half of it where they differ",
            )

    def _set(self, cursor: Cursor, name: str) -> None:
        cursor.expect("=")
        start = cursor.here.start
        _skip_line(cursor)
        text = cursor.source.text[start : cursor.here.start].split("//")[0].strip()
        if not text:
            raise cursor.expected("a weight")
        self.settings[name] = text


def refuse_unread(cursor: Cursor) -> None:
    """Raise LanguageError if the statement is of a known kind that is not supported."""
    token = cursor.here
    line = rest_of_line(cursor)
    signs = [t.text for t in line]
    if ":=" in signs:
        raise cursor.refusal(
            "Tuffy's scoping rules are not supported", line[signs.index(":=")], "leave the line out"
        )
    if token.text in ("P", "R", "SE") and cursor.after.text == "(" and _sets_probability(line):
        raise cursor.refusal(
            "probabilities of formulas are not supported in .mln files",
            token,
            "give an atom as soft evidence in the .db file: 0.7 Smokes(Anna)",
        )
    if cursor.after.text in (":", "DEPENDENCY") and ("-", ">") in pairwise(signs):
        raise cursor.refusal(
            "functional dependencies are not supported", token, "mark the argument: category(paper, cat!)"
        )
    if token.text == "[" and cursor.after.text == "Label":
        raise cursor.refusal("labels are not supported", token, "write the label as a comment: // label")


def rest_of_line(cursor: Cursor) -> list[Token]:
    following = cursor.tokens_from(cursor.position)
    return list(takewhile(lambda token: token.kind not in (NEWLINE, END), following))


def _sets_probability(line: list[Token]) -> bool:
    """Whether a line reads ``P(...) = 0.3``: ``=`` and a number follow the first closed brackets."""
    depth = 0
    for place, token in enumerate(line):
        depth += (token.text == "(") - (token.text == ")")
        if place > 1 and not depth:
            following = line[place + 1 : place + 3]
            return [t.text for t in following[:1]] == ["="] and [t.kind for t in following[1:]] == ["number"]
    return False


def _with_token(refused: tuple[str, str], token: Token) -> tuple[str, Token, str]:
    message, hint = refused
    return f"'{token.text}': {message}", token, hint


def _skip_line(cursor: Cursor) -> None:
    cursor.position += len(rest_of_line(cursor))
