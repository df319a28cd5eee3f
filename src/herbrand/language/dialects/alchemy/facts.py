"""The reader of ``.db`` files: ground facts, one a line.

Takes a source; gives facts as columns, all of a predicate together. Lines that begin alike are checked and
cut by one regular expression; lines of another shape (quoted constants, comments, several facts) are read
one by one, and those that are wrong get their message there.

>>> text = "Smokes(Anna)\\nFriends(Anna, Bob)\\n!Smokes(Carl)\\n"
>>> smokes, friends, not_smokes = read_db(Source("t.db", text))
>>> friends.columns, not_smokes.kind
((('Anna',), ('Bob',)), 'false')
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from herbrand.errors import LanguageError, Mistake, Source, Span
from herbrand.language.dialects.alchemy.lexicon import COMMENT, NAME, STRING, TOKENS, text_of_string
from herbrand.language.dialects.collecting import MistakeList
from herbrand.language.dialects.rows import LineGroup, Table, grouped_lines
from herbrand.language.dialects.scanner import Cursor
from herbrand.language.dialects.wording import counted
from herbrand.language.syntax import FactRows

_WORD = r"[\w.'-]+"
_CONSTANT = rf"(?:{STRING}|{_WORD})"
_SEPARATOR = r"(?:\s*,\s*|\s+)"
_HEAD = re.compile(rf"!?{NAME}")
_FACT = re.compile(
    rf"(!?)\s*({NAME})(?:\s*\(\s*({_CONSTANT}(?:{_SEPARATOR}{_CONSTANT})*)?\s*\))?(?:\s+(?![-\d.({{=])|(?=!)|$)"
)
_BLANK = re.compile(r"\s*")
_NOT_NEWLINE = re.compile(r"[^\n]")
_CONSTANTS = re.compile(_CONSTANT)
_STRING_OR_COMMENT = re.compile(rf"{STRING}|{COMMENT}|/\*.*", re.DOTALL)

_REFUSED = (
    (
        re.compile(r"\?"),
        "'?' marks an atom as unknown; a fact is true or false",
        "leave the line out: what an open predicate does not list is unknown",
    ),
    (
        re.compile(r"-?\d"),
        "a number before a fact is not supported: its meaning differs between systems",
        'for an independent opinion write smokes("Dora") ~ 0.7 in a .hb file',
    ),
    (
        re.compile(rf"{NAME}\s*:?=\s*\{{"),
        "a type declaration does not belong among facts",
        "move it to the .mln file",
    ),
    (
        re.compile(rf"{_CONSTANT}\s*="),
        "values of functions are not supported",
        "use a predicate with one more argument",
    ),
    (
        re.compile(rf"{NAME}\s*\([^)]*\)\s*-?\d"),
        "a number behind a fact is not supported: every fact is true or false",
        "",
    ),
)


def read_db(source: Source, many_valued: Collection[str] = ()) -> tuple[FactRows, ...]:
    """The facts of a file, in the order of each predicate's first one.

    The last argument of a ``many_valued`` predicate is its value. Raises LanguageError with all mistakes.
    """
    mistakes = MistakeList()
    reader = _DbReader(source, mistakes)
    with mistakes.collecting():
        reader.read()
    mistakes.raise_any()
    return tuple(table.fact_rows(source, table.predicate in many_valued) for table in reader.in_order())


class _DbReader:
    def __init__(self, source: Source, mistakes: MistakeList) -> None:
        self._source = source
        self._mistakes = mistakes
        self._tables: dict[tuple[str, bool], Table] = {}
        self._first_uses: dict[str, tuple[int, int]] = {}

    def read(self) -> None:
        text = _without_comments(self._source)
        for group in grouped_lines(text, "(").values():
            columns = _plain_columns(group)
            if columns is None:
                self._read_slowly(text, group)
            else:
                negated = group.head.startswith("!")
                self._add(group.head.removeprefix("!"), negated, columns, group.starts)

    def in_order(self) -> list[Table]:
        return sorted(self._tables.values(), key=lambda table: table.starts[0])

    def _read_slowly(self, text: str, group: LineGroup) -> None:
        for start in group.starts:
            end = text.find("\n", start)
            with self._mistakes.collecting():
                self._read_line(text, start, len(text) if end < 0 else end)

    def _read_line(self, text: str, start: int, end: int) -> None:
        first = position = _BLANK.match(text, start, end).end()  # type: ignore[union-attr]
        while position < end:
            fact = _FACT.match(text, position, end)
            if fact is None or ("(" not in fact[0] and (fact.end() < end or position > first)):
                raise _misread(self._source, position, end)
            constants = [[_text_of(constant)] for constant in _CONSTANTS.findall(fact[3] or "")]
            self._add(fact[2], bool(fact[1]), constants, [position])
            position = fact.end()

    def _add(
        self, predicate: str, negated: bool, columns: Sequence[Sequence[str]], starts: Sequence[int]
    ) -> None:
        arity, first = self._first_uses.setdefault(predicate, (len(columns), starts[0]))
        if arity != len(columns):
            raise LanguageError(
                Mistake(
                    f"'{predicate}' has {counted(len(columns), 'argument')} here and {arity} before",
                    _line_span(self._source, starts[0]),
                    related=(("before", _line_span(self._source, first)),),
                )
            )
        table = self._tables.get((predicate, negated))
        if table is None:
            table = self._tables[predicate, negated] = Table(predicate, "false" if negated else "true")
        table.add(columns, starts)


def _plain_columns(group: LineGroup) -> list[list[str]] | None:
    """The constants of lines that hold one fact each, column by column, or ``None`` if some line does not."""
    if not _HEAD.fullmatch(group.head) or not group.tails[0]:
        return None
    body = "\n".join(group.tails) + "\n"
    arity = len(_CONSTANTS.findall(group.tails[0]))
    if not arity:
        return None
    tight = body.replace(", ", ",")
    if _lines_of(arity, _WORD, blank="").fullmatch(tight):
        cells = tight.replace(")\n", ",").split(",")
        cells.pop()
    elif _lines_of(arity, _CONSTANT, blank=r"[ \t]*").fullmatch(body):
        cells = [_text_of(cell) for cell in _CONSTANTS.findall(body)]
    else:
        return None
    return [cells[column::arity] for column in range(arity)]


@lru_cache(maxsize=64)
def _lines_of(arity: int, constant: str, blank: str) -> re.Pattern[str]:
    """What follows the opening bracket of each fact; possessive, so that a bad line is not tried twice."""
    others = rf"(?:{blank},{blank}{constant}){{{arity - 1}}}"
    return re.compile(rf"(?:{blank}{constant}{others}{blank}\){blank}\n)*+")


def _text_of(constant: str) -> str:
    return text_of_string(constant) if constant[0] == '"' else constant


def _without_comments(source: Source) -> str:
    """The text with blanks in place of comments, so that every place stays what it is."""
    text = source.text
    if "//" not in text and "/*" not in text and "#" not in text:
        return text

    def blanked(found: re.Match[str]) -> str:
        said = found.group()
        if said.startswith("/*") and not (said.endswith("*/") and len(said) >= 4):
            raise LanguageError(
                "this comment is never closed", span=Span(source, found.start(), found.start() + 2)
            )
        return said if said[0] == '"' else _NOT_NEWLINE.sub(" ", said)

    return _STRING_OR_COMMENT.sub(blanked, text)


def _misread(source: Source, start: int, end: int) -> LanguageError:
    """What is wrong with the fact that begins at ``start``."""
    for pattern, message, hint in _REFUSED:
        if pattern.match(source.text, start, end):
            return LanguageError(message, span=Span(source, start, end), hint=hint)
    try:
        _read_strictly(Cursor(source, TOKENS, start, end))
    except LanguageError as error:
        return error
    return LanguageError("expected a fact such as Smokes(Anna)", span=Span(source, start, end))


def _read_strictly(cursor: Cursor) -> None:
    """Walk along a fact until something else stands there than should."""
    cursor.accept("!")
    cursor.expect_kind("name", "a predicate")
    cursor.expect("(")
    while True:
        if cursor.here.text == '"':
            raise cursor.refusal("this string is never closed")
        if cursor.here.kind not in ("name", "string", "number"):
            raise cursor.expected("a constant")
        cursor.take()
        if cursor.accept(")"):
            raise cursor.expected("the end of the line")
        if not cursor.accept(","):
            raise cursor.expected("',' or ')'")


def _line_span(source: Source, start: int) -> Span:
    newline = source.text.find("\n", start)
    return Span(source, start, len(source.text) if newline < 0 else newline)
