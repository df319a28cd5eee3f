"""Escape characters that would control a terminal or reorder its text.

Constants, file names and messages of other systems may contain terminal escapes, line breaks or U+202E. They
are escaped as in JSON, which the language reads too, so that quoted text keeps its meaning.

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
    """Escape a cell or a name, line breaks included."""
    return text if text.isascii() and text.isprintable() else _ANY.sub(_escape, text)


def visible_lines(text: str) -> str:
    """Escape a text of several lines; line breaks and tabs stay."""
    return _ANY_BUT_BREAKS.sub(_escape, text)


def shortened(text: str, most: int = 40) -> str:
    """The text, or its beginning and ``...`` if it is longer than ``most``.

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
