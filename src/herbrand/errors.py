"""Errors that a user can cause, with messages for the user.

A message consists of :class:`Mistake` values (what was given, what was expected, what to do), each with a
:class:`Span` (where in which text). A reader collects mistakes and raises them together, so that a file can
be corrected in one go.

>>> text = Source("smokers.hb", "smokes(x) ->")
>>> mistake = Mistake("'->' is not a connective", Span(text, 10, 12), hint="write '=>'")
>>> print(LanguageError([mistake]))
smokers.hb:1:11: '->' is not a connective
  smokes(x) ->
            ^^
  write '=>'
"""

from __future__ import annotations

import difflib
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType

from herbrand.quick_values import quickly_made
from herbrand.visible import visible_lines

MOST_SHOWN = 20
MOST_LISTED = 1000
WIDEST_LINE = 120


@dataclass(frozen=True)
class Source:
    """A named text that statements were read from."""

    name: str
    text: str = field(repr=False)

    @cached_property
    def _line_starts(self) -> list[int]:
        starts, position = [0], self.text.find("\n")
        while position >= 0:
            starts.append(position + 1)
            position = self.text.find("\n", position + 1)
        return starts

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def rest_of_line(self, start: int) -> Span:
        """Span from an offset to the end of its line."""
        newline = self.text.find("\n", start)
        return Span(self, start, len(self.text) if newline < 0 else newline)

    def line_text(self, line: int) -> str:
        start = self._line_starts[line - 1]
        end = self._line_starts[line] - 1 if line < len(self._line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r")


@quickly_made
@dataclass(frozen=True, slots=True)
class Span:
    """Characters ``start`` to ``end`` of a source."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.line_and_column(self.start)[0]

    @property
    def place(self) -> str:
        line, column = self.source.line_and_column(self.start)
        return f"{self.source.name}:{line}:{column}"

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def underlined(self) -> str:
        """The line with a caret under the span; a long line is cut around it."""
        line, column = self.source.line_and_column(self.start)
        text = self.source.line_text(line)
        width = max(1, min(self.end - self.start, len(text) - column + 1))
        left = max(0, column - 1 - WIDEST_LINE // 2) if len(text) > WIDEST_LINE else 0
        shown = text[left : left + WIDEST_LINE].replace("\t", " ")
        printable = "".join(map(_printable, shown))
        before, marked = printable[: column - 1 - left], printable[column - 1 - left :][:width]
        return f"  {printable}\n  {' ' * _columns(before)}{'^' * max(1, _columns(marked))}"


def _printable(character: str) -> str:
    shown = character.isprintable() or unicodedata.category(character).startswith("M")
    return character if shown else "\N{REPLACEMENT CHARACTER}"


def _columns(text: str) -> int:
    """Number of terminal columns that the text takes, so that a caret stands under the right character."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    combining = sum(unicodedata.combining(character) > 0 for character in text)
    return len(text) + wide - combining


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong: what was given, where, and what to do about it."""

    message: str
    span: Span | None = None
    hint: str = ""
    related: tuple[tuple[str, Span], ...] = ()

    def __str__(self) -> str:
        lines = [visible_lines(self.message if self.span is None else f"{self.span.place}: {self.message}")]
        if self.span is not None:
            lines.append(self.span.underlined())
        lines += [visible_lines(f"  {note}: {span.place}") for note, span in self.related]
        if self.hint:
            lines.append(visible_lines(f"  {self.hint}"))
        return "\n".join(lines)


Related = Iterable[tuple[str, Span | None]]
"""Further places of a message, each with a note; entries without a place are left out."""


def placed(related: Related) -> tuple[tuple[str, Span], ...]:
    """The entries that have a place."""
    return tuple((note, span) for note, span in related if span is not None)


class HerbrandError(Exception):
    """The input is wrong, or unsupported; the message is for the user."""

    def __init__(
        self,
        mistakes: str | Mistake | Iterable[Mistake],
        *,
        span: Span | None = None,
        hint: str = "",
        related: Related = (),
        unlisted: int = 0,
    ) -> None:
        if isinstance(mistakes, str):
            mistakes = Mistake(mistakes, span, hint, placed(related))
        self.mistakes: tuple[Mistake, ...] = (mistakes,) if isinstance(mistakes, Mistake) else tuple(mistakes)
        self.unlisted = unlisted
        super().__init__(_shown(self.mistakes, unlisted))


class LanguageError(HerbrandError):
    """A theory, formula or dialect file that cannot be read, or does not fit together."""


class EndlessError(LanguageError):
    """Recursion makes values that no rule bounds; the depth of a query does."""


class FactsError(HerbrandError):
    """A table of facts that cannot be taken as it stands."""


class ContradictionError(HerbrandError):
    """No world satisfies these statements together."""


class BudgetError(HerbrandError):
    """Work that would exceed the memory or the cost allowed; raised before it begins."""


class OutOfTimeError(BudgetError):
    """The time limit was reached before there was an answer, even a partial one."""


class UnsupportedError(HerbrandError):
    """A statement or an option that the chosen command or engine cannot serve."""


class Mistakes:
    """Collects mistakes while reading continues. Those after the first thousand are only counted.

    >>> mistakes = Mistakes()
    >>> mistakes.note("no such file")
    >>> with mistakes.collecting():
    ...     raise LanguageError("no such type")
    >>> mistakes.raise_any(FactsError)
    Traceback (most recent call last):
    herbrand.errors.FactsError: no such file
    no such type
    """

    def __init__(self) -> None:
        self.listed: list[Mistake] = []
        self.unlisted = 0

    def __len__(self) -> int:
        return len(self.listed) + self.unlisted

    @property
    def full(self) -> bool:
        """Whether further mistakes are only counted, so that their texts need not be made."""
        return len(self.listed) >= MOST_LISTED

    def add(self, mistake: Mistake) -> None:
        if self.full:
            self.unlisted += 1
        else:
            self.listed.append(mistake)

    def note(self, message: str, span: Span | None = None, hint: str = "", related: Related = ()) -> None:
        self.add(Mistake(message, span, hint, placed(related)))

    def add_all(self, error: HerbrandError) -> None:
        for mistake in error.mistakes:
            self.add(mistake)
        self.unlisted += error.unlisted

    def collecting(self) -> Mistakes:
        """A block that ends at the first error raised inside; the error's mistakes are kept."""
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        # work that would cost too much is no mistake of the input, so that it ends the reading at once
        if not isinstance(error, HerbrandError) or isinstance(error, BudgetError):
            return False
        self.add_all(error)
        return True

    def raise_any(self, kind: type[HerbrandError] = LanguageError) -> None:
        """Raise all mistakes, if there are any, as one error: file by file, in the order of lines."""
        if len(self):
            raise kind(in_order(self.listed), unlisted=self.unlisted)


def in_order(mistakes: Iterable[Mistake]) -> list[Mistake]:
    """Mistakes file by file, as files were first named, each in the order of lines; placeless ones first."""
    mistakes = list(mistakes)
    files: dict[str, int] = {}
    for mistake in mistakes:
        if mistake.span is not None:
            files.setdefault(mistake.span.source.name, len(files))

    def place(mistake: Mistake) -> tuple[int, int]:
        span = mistake.span
        return (-1, 0) if span is None else (files[span.source.name], span.start)

    return sorted(mistakes, key=place)


def counted(number: int, thing: str, things: str = "") -> str:
    """Text of a count and the thing counted, in singular or plural, which is ``things`` or ends in ``s``.

    >>> counted(1, "argument"), counted(2000, "argument"), counted(2, "class", "classes")
    ('1 argument', '2,000 arguments', '2 classes')
    """
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {things or f'{thing}s'}"


def all_of(texts: Sequence[str], word: str) -> str:
    """Text of all texts, with a word before the last.

    >>> all_of(["a", "b", "c"], "and"), all_of(["a"], "or")
    ('a, b and c', 'a')
    """
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {word} {texts[-1]}"


def few_of(texts: Sequence[str], between: str = ", ", most: int = 4) -> str:
    """Text of the first ``most`` of many texts and the number of the others.

    >>> few_of(["a", "b"]), few_of(list("abcdefg"), most=2)
    ('a, b', 'a, b and 5 more')
    """
    left_out = len(texts) - most
    return between.join(texts[:most]) + (f" and {left_out:,} more" if left_out > 0 else "")


def nearest(name: object, known: Iterable[str]) -> str:
    """The known name most like ``name``, as an ending for a hint, or nothing."""
    close = closest(name, known)
    return f"did you mean '{close}'?" if close else ""


def closest(name: object, known: Iterable[str]) -> str:
    """The known name most like ``name``, or an empty text.

    >>> closest("smoks", ["friends", "smokes"])
    'smokes'
    """
    return next(iter(difflib.get_close_matches(str(name), sorted(set(known)), n=1, cutoff=0.6)), "")


def _shown(mistakes: Sequence[Mistake], unlisted: int) -> str:
    shown = [str(mistake) for mistake in mistakes[:MOST_SHOWN]]
    more = len(mistakes) + unlisted - len(shown)
    if more:
        shown.append(f"... and {more:,} more mistake{'s' if more > 1 else ''}")
    return "\n".join(shown)
