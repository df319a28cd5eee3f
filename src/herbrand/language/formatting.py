"""Formatter of theory texts: blanks between words, indents of continued lines, lines between statements.

Words, comments and line breaks stay as they are, so that nothing is lost; only white space changes, and never
inside a string.

>>> print(spaced('''
... 1.5:smokes( x )and friends(x,y)=>
...   smokes(y)   # peers
...
...
... smokes("anna")@2
... '''), end="")
1.5: smokes(x) and friends(x, y) =>
    smokes(y)  # peers
<BLANKLINE>
smokes("anna") @ 2
"""

from __future__ import annotations

import re
from itertools import pairwise

from herbrand.language.layout import STRING, stretches
from herbrand.language.names import RESERVED

INDENT = "    "
_WORDS = re.compile(
    STRING
    + r"|`[^`\n]*`|\#[^\n]*|<=>|=>|:-|::|\.\.|<=|>=|!=|//"
    + r"|[^\W\d]\w*|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|\S"
)
_SPACED_BOTH_SIDES = {"=>", "<=>", ":-", "::", "=", "!=", "<", "<=", ">", ">=", "|", "~", "@"}
_CLOSED_UP_BEFORE = {")", "]", "}", ",", ";", ":", ".."}
_CLOSED_UP_AFTER = {"(", "[", "{", ".."}
_KEYWORDS = RESERVED - {"P"}
_AS_WRITTEN = {"+", "-", "*", "/", "//", "%"}


def spaced(text: str) -> str:
    """Format a text; even a text that is not a theory keeps its words.

    >>> spaced("") == spaced(chr(10)) == ""
    True
    >>> spaced(spaced("?[x,y]:a( x )")) == spaced("?[x,y]:a( x )")
    True
    """
    continued = _continued_lines(text)
    lines: list[str] = []
    for number, line in enumerate(text.split("\n")):
        words = _spaced_line(line)
        if words:
            lines.append(INDENT + words if number in continued else words)
        elif lines and lines[-1]:
            lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n" if any(lines) else ""


def _continued_lines(text: str) -> set[int]:
    """Numbers, from 0, of the lines that continue a statement from the line above."""
    lines: set[int] = set()
    line = at = 0
    for stretch in stretches(text):
        line += text.count("\n", at, stretch.start)
        breaks = text.count("\n", stretch.start, stretch.end)
        lines.update(range(line + 1, line + breaks + 1))
        line, at = line + breaks, stretch.end
    return lines


def _spaced_line(line: str) -> str:
    """Format one line: one blank, or none, between neighbouring words, and two before a comment."""
    words = list(_WORDS.finditer(line))
    if not words:
        return ""
    parts = [words[0][0].rstrip()]
    labelled = _label_end(words)
    for place, (left, right) in enumerate(pairwise(words)):
        blank = _blank(left, right, place == labelled)
        parts.append(blank if blank or _stay_apart(left[0], right[0]) else " ")
        parts.append(right[0].rstrip())
    return "".join(parts)


def _label_end(words: list[re.Match[str]]) -> int | None:
    """Position of the word that closes the label ``[name]`` at the beginning of a statement, if any."""
    return 2 if [word[0] for word in (*words[:1], *words[2:3])] == ["[", "]"] else None


def _blank(left: re.Match[str], right: re.Match[str], after_label: bool) -> str:
    before, after = left[0], right[0]
    if after.startswith("#"):
        return "  "
    if after_label:
        return " "
    if _AS_WRITTEN & {before, after}:
        return " " * (left.end() != right.start() and before not in _CLOSED_UP_AFTER)
    if before in _SPACED_BOTH_SIDES or after in _SPACED_BOTH_SIDES:
        return " "
    if after in _CLOSED_UP_BEFORE or before in _CLOSED_UP_AFTER:
        return ""
    if after == "(" and _is_name(before):
        return ""
    if after == "[" and before == "?":
        return ""
    return " "


def _stay_apart(before: str, after: str) -> bool:
    """Whether two words remain two without a blank between them, unlike ``:`` and ``:``."""
    return _WORDS.findall(before + after) == [before, after]


def _is_name(word: str) -> bool:
    return word[0] == "`" or ((word[0].isalpha() or word[0] == "_") and word not in _KEYWORDS)
