"""Split of a theory text into statements.

Takes a text; returns the stretches that hold one statement each. A statement ends with its line unless a
bracket is open or the line's last token needs a continuation; and even then it ends if the next line plainly
begins a new statement, so that a broken statement does not hide the next.

>>> text = "1.5: smokes(x) =>\\n     cancer(x)  # why not\\nsmokes(\\"anna\\")\\n"
>>> [text[s.start:s.end] for s in stretches(text)]
['1.5: smokes(x) =>\\n     cancer(x)', 'smokes("anna")']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

BLANK = " \t\f\n"
STRING = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
_MARKS = re.compile(STRING + r"|`[^`\n]*`|#[^\n]*|[\n()\[\]{}]")
_MARKS_OR_QUOTE = re.compile(_MARKS.pattern + '|"')
_ASKS_FOR_MORE = re.compile(r"(?:[,;:|@~]|:-|=>|(?<![<>])=|(?<!\w)(?:and|or|xor|not|in|where))$")
_BLANKS = re.compile(r"(?:[ \t\f\n]+|#[^\n]*)*")
_PLAINLY_A_NEW_STATEMENT = re.compile(
    r"[ \t]*(?:(?:type|predicate)[ \t]+[^\W\d]|P[ \t]*\("
    r"|(?:hard|-?[0-9][0-9.eE+-]*|\?)[ \t]*(?:\*[ \t]*\w+[ \t]*)?:(?!-))"
)
_AN_ALTERNATIVE = re.compile(r"[ \t]*(?:-?[0-9][0-9.eE+-]*|\?)[ \t]*::")
# Characters searched at the end of a line: more than any of these words and signs has, and few, so that the
# search does not go through the whole statement again at each of its lines.
_LONGEST_ENDING = 8


@dataclass(frozen=True, slots=True)
class Stretch:
    """Offsets of one statement; ``unclosed``: offset of a bracket that is never closed."""

    start: int
    end: int
    unclosed: int | None = None


def skip_blank(text: str, position: int) -> int:
    """Offset of the first character at or after ``position`` that is neither space nor comment."""
    blanks = _BLANKS.match(text, position)
    return blanks.end() if blanks else position


def stretches(text: str) -> Iterator[Stretch]:
    """Yield the stretches of all statements of a text, in order."""
    layout = Layout(text)
    position = skip_blank(text, 0)
    while position < len(text):
        stretch = layout.stretch(position)
        yield stretch
        position = skip_blank(text, stretch.end)


class Layout:
    """Scanner for the ends of statements; used from front to back, it reads a text at most about twice.

    A bracket that is never closed would swallow the rest of the text, so its statement ends with the
    bracket's own line. The brackets that were open then are remembered as never closed; otherwise a file of
    unclosed brackets would be read to its end once for each of them.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._never_closed: set[int] = set()

    def stretch(self, start: int) -> Stretch:
        """The statement that begins at ``start``."""
        text = self._text
        open_brackets: list[int] = []
        said_until = passed = start
        for mark in _MARKS.finditer(text, start):
            at, character = mark.start(), text[mark.start()]
            said_until = _end_of_words(text, passed, at) or said_until
            passed = mark.end()
            if character == "\n":
                new = _begins_a_statement(text, passed, said_until)
                if open_brackets and (new or open_brackets[0] in self._never_closed):
                    return self._cut_short(start, open_brackets)
                if not open_brackets and (new or not _asks_for_more(text, start, said_until)):
                    return Stretch(start, said_until)
            elif character != "#":
                said_until = passed
                if character in "([{":
                    open_brackets.append(at)
                elif character in ")]}" and open_brackets:
                    open_brackets.pop()
        if open_brackets:
            return self._cut_short(start, open_brackets)
        return Stretch(start, _end_of_words(text, passed, len(text)) or said_until)

    def _cut_short(self, start: int, open_brackets: list[int]) -> Stretch:
        """The stretch of a statement with a bracket that is never closed, which ends with that line."""
        self._never_closed.update(open_brackets)
        newline = self._text.find("\n", open_brackets[0])
        return Stretch(start, len(self._text) if newline < 0 else newline, unclosed=open_brackets[0])


def open_quote(text: str, start: int, end: int) -> int | None:
    """Offset of the first string that is not closed on its line, if any."""
    return next((m.start() for m in _MARKS_OR_QUOTE.finditer(text, start, end) if m[0] == '"'), None)


def _end_of_words(text: str, start: int, end: int) -> int:
    """End of the text between two marks without trailing space; 0 if it is blank."""
    words = text[start:end].rstrip(BLANK)
    return start + len(words) if words else 0


def _begins_a_statement(text: str, line: int, said_until: int) -> bool:
    """Whether a line plainly begins a statement; ``0.6 :: tails(c)`` after a semicolon does not."""
    if _PLAINLY_A_NEW_STATEMENT.match(text, line) is None:
        return False
    return text[said_until - 1] != ";" or _AN_ALTERNATIVE.match(text, line) is None


def _asks_for_more(text: str, start: int, end: int) -> bool:
    return _ASKS_FOR_MORE.search(text, max(start, end - _LONGEST_ENDING), end) is not None
