"""Text as a terminal may be given it: what would steer it, or reorder what is read, is written as escapes.

Terminal escapes, line breaks within a cell, U+202E and the like come with constants, names of files and other
systems' messages. The escapes are those of JSON, which the language reads too: text within quotes keeps its
meaning.

>>> visible("\\x1b[2J" + "gnp.\\u202eexe"), visible("two\\nlines"), visible_lines("two\\nlines\\r")
('\\\\u001b[2Jgnp.\\\\u202eexe', 'two\\\\nlines', 'two\\nlines\\\\r')
"""

from __future__ import annotations

import re

_LETTERS = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_STEERING = (
    "\x00-\x1f\x7f-\x9f"  # terminal escapes begin with one of these
    "\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # bidi, invisible
    "\ud800-\udfff"  # halves of characters: no encoding has them
    "\U000e0000-\U000e0fff"  # tags: text within text
)
_ANY = re.compile(f"[{_STEERING}]")
_ANY_BUT_BREAKS = re.compile(f"(?![\n\t])[{_STEERING}]")


def visible(text: str) -> str:
    """One cell or name: no line break either."""
    return text if text.isascii() and text.isprintable() else _ANY.sub(_escape, text)


def visible_lines(text: str) -> str:
    """Text of several lines."""
    return _ANY_BUT_BREAKS.sub(_escape, text)


def shortened(text: str, most: int = 40) -> str:
    """The text, or its beginning where it is longer than ``most``.

    >>> shortened("long enough", 8), shortened("short", 8)
    ('long ...', 'short')
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character in _LETTERS:
        return _LETTERS[character]
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
