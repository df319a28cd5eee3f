"""Reader of ``.db`` files: ground facts, one on a line, values of functions, and constants of types.

Takes a source; returns facts as columns, with all facts of a predicate together, and a declaration for each
type whose constants are listed. Lines with the same beginning are checked and split by one regular
expression; lines of another shape (several facts, values of functions, probabilities) are read one by one,
with messages for those that are wrong.

>>> text = "Smokes(Anna)\\nFriends(Anna, Bob)\\n!Smokes(Carl)\\n"
>>> smokes, friends, not_smokes = read_db(Source("t.db", text))
>>> friends.columns, not_smokes.kind
((('Anna',), ('Bob',)), 'false')
>>> types = read_db(Source("t.db", "person = {Anna, Bob}\\n0.7 Smokes(Anna)\\nBob = Father(Anna)\\n"))
>>> types[0].name, types[1].numbers, types[2].columns
('person', (0.7,), (('Anna',), ('Bob',)))
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from herbrand.errors import LanguageError, Mistakes, Source, Span, counted
from herbrand.language.dialects.alchemy.declarations import constants_in_braces
from herbrand.language.dialects.alchemy.lexicon import COMMENT, NAME, STRING, TOKENS, WORD, text_of_string
from herbrand.language.dialects.rows import LineGroup, PredicateRows, grouped_lines
from herbrand.language.dialects.scanner import Cursor
from herbrand.language.formulas import Constant
from herbrand.language.syntax import FactKind, FactRows, TypeDeclaration

_PLAIN_WORD = r"[\w.'-]+"
_CONSTANT = rf"(?:{STRING}|{WORD})"
_SEPARATOR = r"(?:\s*,\s*|\s+)"
_HEAD = re.compile(rf"!?{NAME}")
_FACT = re.compile(
    rf"(!?)\s*({NAME})(?:\s*\(\s*({_CONSTANT}(?:{_SEPARATOR}{_CONSTANT})*)?\s*\))?(?:\s+(?![-\d.({{=])|(?=!)|$)"
)
_PROBABILITY = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_ARGUMENTS = rf"\s*\(\s*((?:{_CONSTANT}(?:{_SEPARATOR}{_CONSTANT})*)?)\s*\)"
_CALL = rf"({NAME}){_ARGUMENTS}"
_NUMBERED = re.compile(rf"(?:({_PROBABILITY})\s+)?({NAME})(?:{_ARGUMENTS})?(?:\s+({_PROBABILITY}))?\s*")
_VALUE_FIRST = re.compile(rf"({_CONSTANT})\s*=\s*{_CALL}\s*")
_VALUE_LAST = re.compile(rf"{_CALL}\s*=\s*({_CONSTANT})\s*")
_TYPE = re.compile(rf"({NAME})\s*:?=\s*(?=\{{)")
_DATABASES_APART = re.compile(r"^[^\S\n]*-{3,}[^\S\n]*$", re.MULTILINE)
_BLANK = re.compile(r"\s*")
_NOT_NEWLINE = re.compile(r"[^\n]")
_CONSTANTS = re.compile(_CONSTANT)
_STRING_OR_COMMENT = re.compile(rf"{STRING}|{COMMENT}|/\*.*|(?<!\S)\#[^\n]*", re.DOTALL)
"""Unlike in ``.mln`` files, ``#`` begins no directive: after a blank it begins a comment."""

_REFUSED = (
    (
        re.compile(r"\?"),
        "'?' marks an atom as unknown; a fact is true or false",
        "leave the line out: what an open predicate does not list is unknown",
    ),
    (
        re.compile(rf"{_PROBABILITY}\s*!|!.*\)\s*{_PROBABILITY}"),
        "a probability goes with an atom without '!'",
        "give the atom that is not negated 1 minus it",
    ),
)


def read_db(source: Source, many_valued: Collection[str] = ()) -> tuple[FactRows | TypeDeclaration, ...]:
    """Read the types whose constants a file lists, and its facts in order of each predicate's first one.

    The last argument of a ``many_valued`` predicate is its value; ``Bob = Father(Anna)`` is the same as
    ``Father(Anna, Bob)``. Raises LanguageError with all mistakes.
    """
    mistakes = Mistakes()
    reader = _DbReader(source, mistakes)
    with mistakes.collecting():
        reader.read()
    mistakes.raise_any()
    tables = [table.fact_rows(source, table.predicate in many_valued) for table in reader.in_order()]
    return (*reader.types.values(), *tables)


def facts_of(source: Source) -> tuple[FactRows, ...]:
    """Read the facts of a file; refuse lists of constants of types."""
    read = read_db(source)
    for statement in read:
        if isinstance(statement, TypeDeclaration):
            raise LanguageError("expected a fact, found constants of a type", span=statement.span)
    return tuple(statement for statement in read if isinstance(statement, FactRows))


class _DbReader:
    def __init__(self, source: Source, mistakes: Mistakes) -> None:
        self._source = source
        self._mistakes = mistakes
        self.types: dict[str, TypeDeclaration] = {}
        self._tables: dict[tuple[str, FactKind], PredicateRows] = {}
        self._first_uses: dict[str, tuple[int, int]] = {}

    def read(self) -> None:
        text = self._without_separators(_without_comments(self._source))
        for group in grouped_lines(text, "(").values():
            columns = _plain_columns(group)
            if columns is None:
                self._read_slowly(text, group)
            else:
                negated = group.head.startswith("!")
                kind: FactKind = "false" if negated else "true"
                self._add(group.head.removeprefix("!"), kind, columns, group.starts)

    def in_order(self) -> list[PredicateRows]:
        return sorted(self._tables.values(), key=lambda table: table.starts[0])

    def _read_slowly(self, text: str, group: LineGroup) -> None:
        for start in group.starts:
            with self._mistakes.collecting():
                self._read_line(text, start, self._source.rest_of_line(start).end)

    def _read_line(self, text: str, start: int, end: int) -> None:
        first = position = _BLANK.match(text, start, end).end()  # type: ignore[union-attr]
        if self._read_other(text, position, end):
            return
        while position < end:
            fact = _FACT.match(text, position, end)
            if fact is None or ("(" not in fact[0] and (fact.end() < end or position > first)):
                raise _misread(self._source, position, end)
            constants = _constants_in(fact[3] or "")
            self._add(fact[2], "false" if fact[1] else "true", constants, [position])
            position = fact.end()

    def _read_other(self, text: str, start: int, end: int) -> bool:
        """Read a line with constants of a type, a function's value or soft evidence; False for any other."""
        if declared := _TYPE.match(text, start, end):
            self._read_type(declared, end)
        elif valued := _VALUE_FIRST.fullmatch(text, start, end):
            self._add_value(valued[2], valued[3], valued[1], start)
        elif valued := _VALUE_LAST.fullmatch(text, start, end):
            self._add_value(valued[1], valued[2], valued[3], start)
        elif (soft := _NUMBERED.fullmatch(text, start, end)) and (soft[1] is None) != (soft[4] is None):
            self._add(soft[2], "soft", _constants_in(soft[3] or ""), [start])
            self._tables[soft[2], "soft"].numbers.append(self._probability(soft[1] or soft[4], start, end))
        else:
            return False
        return True

    def _add_value(self, function: str, arguments: str, value: str, start: int) -> None:
        self._add(function, "true", [*_constants_in(arguments), [_text_of(value)]], [start])

    def _read_type(self, declared: re.Match[str], end: int) -> None:
        cursor = Cursor(self._source, TOKENS, declared.end(), end)
        values = constants_in_braces(cursor)
        if not cursor.at_end:
            raise cursor.expected("the end of the line")
        before = self.types.get(declared[1])
        every: dict[Constant, None] = dict.fromkeys([*(before.values or () if before else ()), *values])
        span = Span(self._source, declared.start(), end)
        self.types[declared[1]] = TypeDeclaration(declared[1], tuple(every), span=span)

    def _probability(self, text: str, start: int, end: int) -> float:
        number = float(text)
        if not 0 <= number <= 1:
            raise LanguageError(
                f"{text} is no probability: soft evidence lies between 0 and 1",
                span=Span(self._source, start, end),
                hint="a fact that is certain stands alone: Smokes(Anna)",
            )
        return number

    def _without_separators(self, text: str) -> str:
        """The text without lines of ``---``; raise LanguageError if they separate several databases."""
        if "---" not in text:
            return text
        several = [part for part in _DATABASES_APART.split(text) if part.strip()]
        whole = _DATABASES_APART.sub(lambda bar: " " * len(bar[0]), text)
        if len(several) < 2:
            return whole
        bars = _DATABASES_APART.finditer(text)
        start = next(bar.end() for bar in bars if whole[: bar.start()].strip())
        raise LanguageError(
            f"this file holds {len(several)} databases, kept apart by lines of '---'",
            span=Span(self._source, start, start),
            hint="each is a world of its own: save them as one file each",
        )

    def _add(
        self, predicate: str, kind: FactKind, columns: Sequence[Sequence[str]], starts: Sequence[int]
    ) -> None:
        arity, first = self._first_uses.setdefault(predicate, (len(columns), starts[0]))
        if arity != len(columns):
            raise LanguageError(
                f"'{predicate}' has {counted(len(columns), 'argument')} here and {arity} before",
                span=self._source.rest_of_line(starts[0]),
                related=[("before", self._source.rest_of_line(first))],
            )
        table = self._tables.get((predicate, kind))
        if table is None:
            table = self._tables[predicate, kind] = PredicateRows(predicate, kind)
        table.add(columns, starts)


def _plain_columns(group: LineGroup) -> list[list[str]] | None:
    """Constants of lines with one plain fact each, column by column; ``None`` if some line is not one."""
    if not _HEAD.fullmatch(group.head) or not group.tails[0]:
        return None
    body = "\n".join(group.tails) + "\n"
    arity = len(_CONSTANTS.findall(group.tails[0]))
    if not arity:
        return None
    tight = body.replace(", ", ",")
    if _lines_of(arity, _PLAIN_WORD, blank="").fullmatch(tight):
        cells = tight.replace(")\n", ",").split(",")
        cells.pop()
    elif _lines_of(arity, _CONSTANT, blank=r"[ \t]*").fullmatch(body):
        cells = [_text_of(cell) for cell in _CONSTANTS.findall(body)]
    else:
        return None
    return [cells[column::arity] for column in range(arity)]


@lru_cache(maxsize=64)
def _lines_of(arity: int, constant: str, blank: str) -> re.Pattern[str]:
    """Pattern of all lines after their opening brackets; possessive, so that a bad line causes no
    backtracking."""
    others = rf"(?:{blank},{blank}{constant}){{{arity - 1}}}"
    return re.compile(rf"(?:{blank}{constant}{others}{blank}\){blank}\n)*+")


def _constants_in(arguments: str) -> list[list[str]]:
    """The constants of one row, as columns of one cell."""
    return [[_text_of(constant)] for constant in _CONSTANTS.findall(arguments)]


def _text_of(constant: str) -> str:
    return text_of_string(constant) if constant[0] == '"' else constant


def _without_comments(source: Source) -> str:
    """The text with blanks in place of comments, so that all offsets stay the same."""
    text = source.text
    if "//" not in text and "/*" not in text and "#" not in text:
        return text

    def blanked(match: re.Match[str]) -> str:
        text = match.group()
        if text.startswith("/*") and not (text.endswith("*/") and len(text) >= 4):
            raise LanguageError(
                "this comment is never closed", span=Span(source, match.start(), match.start() + 2)
            )
        return text if text[0] == '"' else _NOT_NEWLINE.sub(" ", text)

    return _STRING_OR_COMMENT.sub(blanked, text)


def _misread(source: Source, start: int, end: int) -> LanguageError:
    """Error for the fact that begins at ``start``."""
    for pattern, message, hint in _REFUSED:
        if pattern.match(source.text, start, end):
            return LanguageError(message, span=Span(source, start, end), hint=hint)
    try:
        _read_strictly(Cursor(source, TOKENS, start, end))
    except LanguageError as error:
        return error
    return LanguageError("expected a fact such as Smokes(Anna)", span=Span(source, start, end))


def _read_strictly(cursor: Cursor) -> None:
    """Read a fact token by token; raise LanguageError at the first wrong one."""
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
