"""Parser of theory texts, in ``.hb`` files, and of the fragments that commands take.

>>> theory = parse_theory("predicate smokes(person)\\n1.5: smokes(x) => smokes(y)\\n")
>>> theory.formulas[0].weight
1.5
>>> parse_theory("1.5: smokes(x) -> smokes(y)")
Traceback (most recent call last):
herbrand.errors.LanguageError: <text>:1:16: unexpected '->'
  1.5: smokes(x) -> smokes(y)
                 ^^
  write => for 'implies'
>>> read_source("no such file.mln")
Traceback (most recent call last):
herbrand.errors.LanguageError: there is no file 'no such file.mln'
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from lark import Lark, UnexpectedInput

from herbrand.budget import UNLIMITED, Budget
from herbrand.errors import LanguageError, Mistake, Mistakes, Source, Span, UnsupportedError
from herbrand.extras import later
from herbrand.files import irregular, is_open_pipe, similar_file
from herbrand.language.arguments import computes_argument
from herbrand.language.build import Builder
from herbrand.language.collection import collector_paused
from herbrand.language.formulas import Computed, Formula, refuse_deep, walk, with_valued_names
from herbrand.language.ground_lines import read_block, read_bounds
from herbrand.language.layout import BLANK, Layout, Stretch, skip_blank
from herbrand.language.names import shown_name
from herbrand.language.syntax import FactRows, Statement, merged
from herbrand.language.theory import Theory

_mistake = later("herbrand.language.expectations:mistake")
_never_closed = later("herbrand.language.expectations:never_closed")
_GRAMMAR = Path(__file__).with_name("grammar.lark")
_STARTS = ["statement", "query_formula", "query_probability", "query_literal"]
_NAMES = re.compile(r"`([^`\n]+)`|([^\W\d]\w*)")
MOST_ASKED = 256
"""Size of the caches of parsed queries: servers and notebooks repeat their queries."""
# All threads share one parser, whose Builder holds the source, place and mistakes of the statement it reads.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class Reading:
    """The readable statements of a text, and its mistakes; ``unlisted`` counts further mistakes.

    ``unread``: names in statements that could not be read; ``None`` if no statement could. With readings,
    several files are read to their ends and all their mistakes are raised together, by
    :func:`herbrand.language.check.check_all`.
    """

    theory: Theory
    mistakes: tuple[Mistake, ...] = ()
    unlisted: int = 0
    unread: frozenset[str] | None = frozenset()

    @staticmethod
    def failed(error: LanguageError) -> Reading:
        """The reading of a text of which nothing could be read."""
        return Reading(Theory(), error.mistakes, error.unlisted, None)


def parse_theory(text: str, name: str = "<text>") -> Theory:
    """Parse the ``text`` of a theory; all its mistakes are raised together as one ``LanguageError``, with
    ``name`` before their lines."""
    reading = read_theory(text, name)
    if reading.mistakes:
        raise LanguageError(reading.mistakes, unlisted=reading.unlisted)
    return reading.theory


@collector_paused()
def read_theory(text: str, name: str = "<text>", budget: Budget = UNLIMITED) -> Reading:
    """Read all statements of a text that can be read, and note the mistakes in the others."""
    try:
        source = plain_source(text, name)
    except LanguageError as error:
        return Reading.failed(error)
    mistakes = Mistakes()
    unread: set[str] = set()
    statements = tuple(merged(_statements(source, mistakes, unread, budget)))
    return Reading(Theory(statements), tuple(mistakes.listed), mistakes.unlisted, frozenset(unread))


def parse_formula(
    text: str, name: str = "<query>", valued: Collection[str] = (), *, computes: bool = False
) -> Formula:
    """Parse one formula. ``valued``: many-valued predicates without arguments, which look like variables.
    ``computes``: whether it may compute values; otherwise that is refused."""
    return _formula(text, name, frozenset(valued), computes)


@lru_cache(MOST_ASKED)
def _formula(text: str, name: str, valued: frozenset[str], computes: bool) -> Formula:
    try:
        read = _fragment(text, name, "query_formula", computes)
    except LanguageError as error:
        alone = text.strip()
        if alone not in valued:
            raise
        hint = f"write the name of this predicate in back-quotes: {shown_name(alone)}"
        raise LanguageError([replace(mistake, hint=hint) for mistake in error.mistakes]) from None
    formula = with_valued_names(read, valued)
    refuse_deep(formula)
    return formula


def parse_probability(
    text: str, valued: Collection[str] = (), *, computes: bool = False
) -> tuple[Formula, Formula | None]:
    """Parse an event and, after a bar, its condition, with or without ``P( )`` around them.

    ``valued`` and ``computes`` are as for :func:`parse_formula`.
    """
    return _probability(text, frozenset(valued), computes)


@lru_cache(MOST_ASKED)
def _probability(text: str, valued: frozenset[str], computes: bool) -> tuple[Formula, Formula | None]:
    event, given = _fragment(text, "<query>", "query_probability", computes)
    refuse_deep(event, given)
    return with_valued_names(event, valued), None if given is None else with_valued_names(given, valued)


def is_probability(text: str) -> bool:
    """Whether a text asks for a probability, ``P( )``, and not for an atom or a formula.

    >>> is_probability("P(a | b)"), is_probability("Pa(x)")
    (True, False)
    """
    return text.lstrip().startswith("P") and text.lstrip()[1:].lstrip().startswith("(")


def parse_literal(text: str) -> FactRows:
    """Parse one ground fact, as ``--given`` takes it: true, false, valued or soft."""
    return _fragment(text, "<given>", "query_literal")


def refuse_no_text(text: object) -> None:
    """Raise UnsupportedError if ``text`` is not a text, or is the path of a theory file."""
    if not isinstance(text, str):
        raise UnsupportedError(
            f"expected the text of a theory, not {type(text).__name__}", hint="hb.read(path) reads a file"
        )
    if text.endswith(".hb") and text.splitlines() == [text] and "#" not in text:  # no statement ends so
        raise UnsupportedError(
            f"expected the text of a theory, not its path '{text}'", hint="hb.read(path) reads a file"
        )


def plain_source(text: str, name: str) -> Source:
    """The text with plain line ends and without a byte order mark; refuse NUL bytes and lone surrogates."""
    refuse_no_text(text)
    source = Source(name, text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))
    nul = source.text.find("\0")
    if nul >= 0:
        raise LanguageError("a NUL byte: this is not a text file", span=Span(source, nul, nul + 1))
    try:
        source.text.encode()
    except UnicodeEncodeError as error:
        span = Span(source, error.start, error.start + 1)
        raise LanguageError("half a character: this is not valid Unicode", span=span) from None
    return source


def _statements(source: Source, mistakes: Mistakes, unread: set[str], budget: Budget) -> Iterator[Statement]:
    layout = Layout(source.text)
    position = skip_blank(source.text, 0)
    while position < len(source.text):
        budget.check()
        block = read_block(source, position) or read_bounds(source, position, parse_probability)
        if block is not None:
            yield from block.statements
            position = block.end
        else:
            stretch = layout.stretch(position)
            statement = _statement(source, stretch, mistakes, budget)
            if statement is not None:
                yield statement
            else:
                names = _NAMES.findall(source.text, stretch.start, stretch.end)
                unread.update(quoted or plain for quoted, plain in names)
            position = stretch.end
        position = skip_blank(source.text, position)


def _statement(source: Source, stretch: Stretch, mistakes: Mistakes, budget: Budget) -> Statement | None:
    if stretch.unclosed is not None:
        mistakes.add(_never_closed(source, stretch))
        return None
    statement, wrong = _parsed(source, stretch, "statement", not mistakes.full, budget)
    for each in wrong:
        mistakes.add(each)
    return None if wrong else statement


def _fragment(text: str, name: str, rule: str, computes: bool = False) -> Any:
    source = plain_source(text, name)
    begin = skip_blank(source.text, 0)
    stretch = Stretch(begin, max(begin, len(source.text.rstrip(BLANK))))
    fragment, wrong = _parsed(source, stretch, rule)
    if wrong:
        raise LanguageError(wrong)
    for part in () if computes else fragment if isinstance(fragment, tuple) else (fragment,):
        _refuse_computed(part)
    return fragment


def _refuse_computed(asked: Formula | FactRows | None) -> None:
    """Refuse computed values, for commands that answer queries over the theory's own predicates alone."""
    for leaf in walk(asked) if isinstance(asked, Formula) else ():
        if isinstance(leaf, Computed) or computes_argument(leaf):
            hint = "define a predicate by a rule of the theory, and ask for it"
            raise LanguageError("values are not computed here", span=leaf.span, hint=hint)


def _parsed(
    source: Source, stretch: Stretch, rule: str, wordy: bool = True, budget: Budget = UNLIMITED
) -> tuple[Any, list[Mistake]]:
    """Parse a stretch by a grammar rule; return its value, or ``None``, and its mistakes.

    ``wordy=False``: a syntax error gets a fixed message, as it will only be counted. The parser gets a copy
    of the stretch, not a window on the text: lark counts all lines before a window, which would make reading
    quadratic.
    """
    with _one_at_a_time:
        parser, builder = _parser()
        builder.begin(source, stretch.start, stretch.end, budget)
        try:
            tree = parser.parse(source.text[stretch.start : stretch.end], start=rule)
        except UnexpectedInput as error:
            if builder.confused:
                return None, builder.mistakes
            last = _mistake(error, source, stretch, rule) if wordy else Mistake("cannot be read")
            return None, [*builder.mistakes, last]
        except LanguageError as error:
            return None, [*builder.mistakes, *error.mistakes]
        return tree, builder.mistakes


@cache
def _parser() -> tuple[Lark, Builder]:
    builder = Builder()
    grammar = _GRAMMAR.read_text(encoding="utf-8")
    parser = Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start=_STARTS,
        transformer=builder,
        maybe_placeholders=True,
    )
    return parser, builder


# Files as sources, whatever bytes they hold


def read_source(path: str | Path) -> Source:
    """Text of a file, with plain line ends. Raises LanguageError if it is missing or is not UTF-8 text."""
    return plain_source(_decoded(path, _bytes_of(path)), str(path))


def _bytes_of(path: str | Path) -> bytes:
    kind = irregular(path)
    if kind is not None and not is_open_pipe(path):
        raise LanguageError(f"'{path}' is {kind}; expected a file")
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        asked = "files stand here; what is asked stands behind --query" if str(path).endswith(")") else ""
        raise LanguageError(f"there is no file '{path}'", hint=asked or similar_file(Path(path))) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise LanguageError(f"'{path}' cannot be read: {reason}") from None


def _decoded(path: str | Path, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise LanguageError(
            f"'{path}' is not UTF-8 text: byte 0x{data[error.start]:02x} on line {line}",
            hint="save the file as UTF-8",
        ) from None
