"""Where each statement of a theory text begins and ends.

Takes a text; gives the stretches that hold one statement each. A statement ends with its line unless a bracket
is open or the line's last token asks for more, so one broken statement never hides the next.

>>> text = "1.5: smokes(x) =>\\n     cancer(x)  # why not\\nsmokes(\\"anna\\")\\n"
>>> [text[s.start:s.end] for s in stretches(text)]
['1.5: smokes(x) =>\\n     cancer(x)', 'smokes("anna")']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MARKS = re.compile(r'"(?:[^"\\\n]|\\.)*"|`[^`\n]*`|#[^\n]*|[\n()\[\]{}]')
_MARKS_OR_QUOTE = re.compile(_MARKS.pattern + '|"')
_ASKS_FOR_MORE = re.compile(r"(?:[,:|@~]|:-|=>|<=>|(?<![<>])=|(?<!\w)(?:and|or|xor|not|in|where))$")
_BLANK = re.compile(r"(?:[ \t\f\n]|#[^\n]*)*")
_PLAINLY_A_NEW_STATEMENT = re.compile(
    r"[ \t]*(?:(?:type|predicate)[ \t]+[^\W\d]|(?:hard|-?\d[\d.eE+-]*|\?)[ \t]*:(?!-)|P[ \t]*\()"
)
_LONGEST_ENDING = 8


@dataclass(frozen=True, slots=True)
class Stretch:
    """One statement's characters; ``unclosed`` is where a bracket opens that is never closed."""

    start: int
    end: int
    unclosed: int | None = None


def skip_blank(text: str, position: int) -> int:
    """The first character at or after ``position`` that is neither space nor comment."""
    found = _BLANK.match(text, position)
    return found.end() if found else position


def stretches(text: str) -> Iterator[Stretch]:
    """All statements of a text, in order."""
    position = skip_blank(text, 0)
    while position < len(text):
        stretch = next_stretch(text, position)
        yield stretch
        position = skip_blank(text, stretch.end)


def next_stretch(text: str, start: int) -> Stretch:
    """The statement that begins at ``start``."""
    open_brackets: list[int] = []
    said_until = start
    for mark in _MARKS.finditer(text, start):
        character = text[mark.start()]
        if character in "([{":
            open_brackets.append(mark.start())
        elif character in ")]}":
            if open_brackets:
                open_brackets.pop()
        elif character == "#":
            said_until = _rstripped(text, said_until, mark.start())
            continue
        elif character == "\n":
            said_until = _rstripped(text, said_until, mark.start())
            if open_brackets:
                if _PLAINLY_A_NEW_STATEMENT.match(text, mark.end()):
                    return _cut_at_line(text, start, open_brackets[0])
            elif not _ASKS_FOR_MORE.search(text, max(start, said_until - _LONGEST_ENDING), said_until):
                return Stretch(start, said_until)
            continue
        said_until = mark.end()
    if open_brackets:
        return _cut_at_line(text, start, open_brackets[0])
    return Stretch(start, _rstripped(text, said_until, len(text)))


def open_quote(text: str, start: int, end: int) -> int | None:
    """Where a string begins that is not closed on its line, if there is one."""
    return next((m.start() for m in _MARKS_OR_QUOTE.finditer(text, start, end) if m[0] == '"'), None)


def _rstripped(text: str, said_until: int, end: int) -> int:
    """The end of what is said before ``end``, trailing space and comments left out."""
    tail = text[said_until:end].rstrip()
    hash_at = tail.find("#")
    if hash_at >= 0:
        tail = tail[:hash_at].rstrip()
    return said_until + len(tail)


def _cut_at_line(text: str, start: int, bracket: int) -> Stretch:
    """Give up on a bracket that is never closed: its statement ends with its line."""
    newline = text.find("\n", bracket)
    end = len(text) if newline < 0 else newline
    return Stretch(start, end, unclosed=bracket)
