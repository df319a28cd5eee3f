"""Quick fixes: the advice of a mistake as a change of the text, offered only where it helps.

A fix is tried first: it is offered if the text then has fewer mistakes, or the first one comes later.

>>> from herbrand.editing.document import Document
>>> document = Document("1.5: smokes(x) -> cancer(x)")
>>> [fix.title for fix in fixes(document, document.mistakes[0])]
["replace '->' by '=>'"]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from herbrand.errors import Mistake

if TYPE_CHECKING:
    from herbrand.editing.document import Document

LONGEST_TRIED = 200_000
"""Most characters of a text for which fixes are offered, as each trial reads the text again."""


@dataclass(frozen=True)
class Fix:
    """A change of a text: ``text`` replaces the characters from ``start`` to ``end``."""

    title: str
    start: int
    end: int
    text: str

    def applied(self, text: str) -> str:
        """The whole text after the change."""
        return text[: self.start] + self.text + text[self.end :]


def fixes(document: Document, mistake: Mistake) -> list[Fix]:
    """Fixes for a mistake of this document that leave fewer mistakes or a later first one; often none."""
    if mistake.span is None or len(document.text) > LONGEST_TRIED:
        return []
    by_change: dict[tuple[int, int, str], Fix] = {}
    for fix in _proposed(document, mistake):
        by_change.setdefault((fix.start, fix.end, fix.text), fix)
    return [fix for fix in by_change.values() if _helps(document, fix)]


def _helps(document: Document, fix: Fix) -> bool:
    before, after = document.mistakes, document.changed(fix.applied(document.text)).mistakes
    if len(after) != len(before):
        return len(after) < len(before)
    moved = len(fix.text) - (fix.end - fix.start)
    return _first(after) > max(_first(before), fix.end + moved - 1)


def _first(mistakes: tuple[Mistake, ...]) -> int:
    return min((mistake.span.start for mistake in mistakes if mistake.span), default=-1)


_DID_YOU_MEAN = re.compile(r"did you mean '([^']+)'\?")
_NAMED = re.compile(r"'([^']+)'")
_WRITE = re.compile(r"\bwrite (?:'(?P<quoted>[^']+)'|(?P<sign>[:<=>!|]+|[01]\.\d+))")
_SECOND = re.compile(r", (?P<sign>=>|:-) for")
_WORD = re.compile(r"[^\W\d]\w*")


def _proposed(document: Document, mistake: Mistake) -> Iterator[Fix]:
    text, span, hint = document.text, mistake.span, mistake.hint
    assert span is not None
    start, end, given = span.start, span.end, span.text
    meant = _DID_YOU_MEAN.search(hint)
    if meant:
        yield from _respelled(text, mistake, meant[1])
    for advice in (_WRITE.search(hint), _SECOND.search(hint)):
        if advice is not None and "..." not in advice[0] and len(given) <= 3 * len(advice[0]):
            yield from _written(text, start, end, advice["sign"] or advice[1])
    if "quotes" in hint:
        yield from _quoted(text, start, end)
    if hint.startswith("without arguments"):
        opening = text.rfind("(", 0, end)
        yield _replacing(text, opening, end, "")
    if hint == "leave out the last comma":
        comma = text.rfind(",", 0, start)
        yield _replacing(text, comma, comma + 1, "")
    if hint.startswith(
        ("a statement ends with its line; no", "there is no ", "a positive number has no sign")
    ):
        yield _replacing(text, start, start + 1, "")
    if hint.startswith("comments begin with #"):
        yield _replacing(text, start, start + (2 if text.startswith("//", start) else 1), "#")
    if hint.startswith(("a comma is missing", "the parts of a rule's body")):
        blank = len(text[:start].rstrip())
        yield _replacing(text, blank, blank, ",")
    if hint.startswith("a colon stands between"):
        blank = len(text[:start].rstrip())
        yield _replacing(text, blank, blank, ":")
    if "is never closed" in mistake.message:
        line_end = text.find("\n", start)
        line = text[start : len(text) if line_end < 0 else line_end].partition("#")[0].rstrip()
        closing = {"(": ")", "[": "]", "{": "}"}.get(given[:1])
        if closing:
            yield _replacing(text, start + len(line), start + len(line), closing)
    if "is not declared" in mistake.message:
        yield from _declared(document, mistake)


def _replacing(text: str, start: int, end: int, by: str) -> Fix:
    given = text[start:end]
    if not given:
        return Fix(f"insert '{by}'", start, end, by)
    return Fix(f"replace '{given}' by '{by}'" if by else f"remove '{given}'", start, end, by)


def _respelled(text: str, mistake: Mistake, meant: str) -> Iterator[Fix]:
    """Yield replacements of the misspelt name: a name in the message, or the word before the mistake."""
    span = mistake.span
    assert span is not None
    for wrong in _NAMED.findall(mistake.message):
        place = text.find(wrong, span.start, span.end)
        if place >= 0:
            yield _replacing(text, place, place + len(wrong), meant)
    line = text.rfind("\n", 0, span.start) + 1
    before = [*_WORD.finditer(text, line, span.start)][-1:]
    for word in before:
        yield _replacing(text, word.start(), word.end(), meant)


def _written(text: str, start: int, end: int, sign: str) -> Iterator[Fix]:
    """Yield replacements by another sign or word, with blanks around it where necessary."""
    blank = " " if sign[0].isalpha() or sign[0] in "<=>:!" else ""
    left = blank if start and not text[start - 1].isspace() and text[start - 1] != "(" else ""
    right = blank if end < len(text) and not text[end].isspace() else ""
    given = text[start:end]
    yield Fix(f"replace '{given}' by '{sign}'", start, end, f"{left}{sign}{right}")
    word = [*_WORD.finditer(text, text.rfind("\n", 0, start) + 1, start)][-1:]
    if word and word[0][0].lower() == sign:
        yield _replacing(text, word[0].start(), word[0].end(), sign)


_ODD_QUOTES = re.compile(
    "['\u2018\u2019\u201c\u201d]([^'\"\u2018\u2019\u201c\u201d\\n]*)['\u2018\u2019\u201c\u201d]"
)


def _quoted(text: str, start: int, end: int) -> Iterator[Fix]:
    odd = _ODD_QUOTES.match(text, start)
    if odd:
        yield _replacing(text, start, odd.end(), f'"{odd[1]}"')
    elif _WORD.fullmatch(text, start, end):
        yield _replacing(text, start, end, f'"{text[start:end]}"')
    elif text[start : start + 1] == '"':
        number = text[start:end].strip('"')
        yield _replacing(text, start, end, number)


def _declared(document: Document, mistake: Mistake) -> Iterator[Fix]:
    """Yield a declaration to insert after the others, with types from other atoms of the statement."""
    text, span = document.text, mistake.span
    assert span is not None
    atom = re.match(r"(`[^`\n]+`|[^\W\d]\w*)(?:\(([^()]*)\))?", span.text)
    if atom is None:
        return
    start = span.start
    statement = next((word.statement for word in document.words if word.start == start), start)
    arguments = [] if atom[2] is None else [each.strip() for each in atom[2].split(",")]
    kinds = (document.type_of_variable(each, statement) or "thing" for each in arguments)
    types = f"({', '.join(kinds)})" if arguments else ""
    last = [*re.finditer(r"^predicate [^\n]*\n", text, re.MULTILINE)][-1:]
    place = last[0].end() if last else 0
    yield Fix(f"declare predicate {atom[1]}{types}", place, place, f"predicate {atom[1]}{types}\n")
