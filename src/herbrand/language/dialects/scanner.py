"""Scanner shared by the readers of dialects: tokens of a text, and a cursor over them.

Takes a source and a regular expression with one named group for each kind of token (``blank`` and ``comment``
are left out); returns tokens with their offsets. A character that no group matches becomes a token of kind
``unknown``, so that the message comes from the reader, which states what it expected there.

>>> import re
>>> pattern = re.compile(r"(?P<name>\\w+)|(?P<sign>[(),])|(?P<blank>\\s+)|(?P<unknown>.)")
>>> cursor = Cursor(Source("t", "p (x"), pattern)
>>> cursor.take().text, cursor.expect("(").text, cursor.take().text
('p', '(', 'x')
>>> cursor.expect(")")
Traceback (most recent call last):
herbrand.errors.LanguageError: t:1:5: expected ')', found the end of the text
  p (x
      ^
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from herbrand.errors import LanguageError, Source, Span
from herbrand.language.formulas import DEEPEST_NESTING, nested_too_deep
from herbrand.visible import shortened

NEWLINE = "newline"
END = "end"
_LEFT_OUT = {"blank", "comment"}
_SHOWN_KINDS = {NEWLINE: "the end of the line", END: "the end of the text"}
_SHOWN_KINDS["unclosed"] = "a quote or a comment without its end"


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int

    @property
    def shown(self) -> str:
        """The token as a message names it."""
        short = shortened(self.text)
        return _SHOWN_KINDS.get(self.kind) or (short if self.kind == "string" else f"'{short}'")


def tokens_of(
    source: Source, pattern: re.Pattern[str], start: int, end: int | None, last: str = ""
) -> list[Token]:
    """All tokens from ``start`` to ``end``, or to the first of kind ``last``, and one of kind ``end``."""
    text, tokens = source.text, list[Token]()
    until = len(text) if end is None else end
    new_token = tuple.__new__  # a text has many tokens, and the constructor of Token takes twice as long
    for match in pattern.finditer(text, start, until):
        kind = match.lastgroup or "unknown"
        if kind not in _LEFT_OUT:
            first, behind = match.span()
            tokens.append(new_token(Token, (kind, text[first:behind], first, behind)))
            if kind == last:
                until = behind
                break
    tokens.append(Token(END, "", until, until))
    return tokens


class Cursor:
    """A position among the tokens of a source, up to one of kind ``last``; its errors show the line with a
    caret."""

    def __init__(
        self,
        source: Source,
        pattern: re.Pattern[str],
        start: int = 0,
        end: int | None = None,
        last: str = "",
    ) -> None:
        self.source = source
        self.tokens = tokens_of(source, pattern, start, end, last)
        self.position = 0
        self._depth = 0

    @property
    def here(self) -> Token:
        return self.tokens[self.position]

    @property
    def after(self) -> Token:
        """The token after the current one."""
        return self.token_ahead(1)

    def token_ahead(self, distance: int) -> Token:
        return self.tokens[min(self.position + distance, len(self.tokens) - 1)]

    def tokens_from(self, place: int) -> Iterator[Token]:
        """Iterator over the tokens from a position on; a slice would copy the rest of a long file."""
        return map(self.tokens.__getitem__, range(place, len(self.tokens)))

    @property
    def at_end(self) -> bool:
        return self.here.kind == END

    def at(self, *texts: str) -> bool:
        return self.here.text in texts

    def take(self) -> Token:
        token = self.tokens[self.position]
        if token.kind != END:
            self.position += 1
        return token

    def accept(self, text: str) -> Token | None:
        return self.take() if self.here.text == text else None

    def expect(self, text: str, hint: str = "") -> Token:
        if self.here.text != text:
            raise self.expected(f"'{text}'", hint)
        return self.take()

    def expect_kind(self, kind: str, what: str, hint: str = "") -> Token:
        if self.here.kind != kind:
            raise self.expected(what, hint)
        return self.take()

    def expected(self, what: str, hint: str = "") -> LanguageError:
        """Error that ``what`` was expected in place of the current token."""
        return self.refusal(f"expected {what}, found {self.here.shown}", hint=hint)

    def refusal(self, message: str, token: Token | None = None, hint: str = "") -> LanguageError:
        return LanguageError(message, span=self.span_of(token or self.here), hint=hint)

    def span_of(self, token: Token) -> Span:
        return Span(self.source, token.start, token.end)

    def span_from(self, start: int) -> Span:
        """Span from an offset to the end of the last token taken."""
        return Span(
            self.source, start, max(start, self.tokens[self.position - 1].end if self.position else start)
        )

    def skip(self, kind: str) -> None:
        while self.here.kind == kind:
            self.position += 1

    def join_lines(self, goes_on: Callable[[Token, Token], bool]) -> None:
        """Drop line ends before tokens that continue the line above.

        ``goes_on``: whether a token does so, given it and the next one.
        """
        kept: list[Token] = []
        for token, after in zip(self.tokens, [*self.tokens[1:], self.tokens[-1]], strict=True):
            if kept and kept[-1].kind == NEWLINE and goes_on(token, after):
                while kept and kept[-1].kind == NEWLINE:
                    kept.pop()
            kept.append(token)
        self.tokens = kept

    def skip_past(self, *texts: str) -> None:
        """Move past the next token with one of these texts, or to the end."""
        while not self.at_end:
            if self.take().text in texts:
                return

    def enter(self) -> None:
        """Count one more level of nesting; refuse too many, as the readers recurse."""
        self._depth += 1
        if self._depth > DEEPEST_NESTING:
            raise nested_too_deep(self.span_of(self.here))

    def leave(self) -> None:
        self._depth -= 1

    def surface(self) -> None:
        """Reset the nesting level for a new statement."""
        self._depth = 0
