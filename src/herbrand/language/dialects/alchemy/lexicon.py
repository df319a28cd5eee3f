"""Tokens of Alchemy's files, and the names of constants.

>>> is_constant_name("Anna"), is_constant_name("x"), written_constant("Anna"), written_constant("New York")
(True, False, 'Anna', '"New York"')
"""

from __future__ import annotations

import re

from herbrand.language.formulas import Value

NAME = r"[^\W\d](?:['\w]|-(?=\w))*"
WORD = r"(?:[\w.'@%+:&$~-]|/(?![/*]))+"
"""A constant without quotes, where nothing else can stand: ``chicken.n.01``, ``10:30``."""
NUMBER = r"-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?"
STRING = r'"(?:[^"\\\n]|\\.)*"'
COMMENT = r"//[^\n]*|/\*.*?\*/|\#(?![^\W\d])[^\n]*"
TOKENS = re.compile(
    rf"""(?P<comment>{COMMENT})
    |(?P<unclosed>/\*.*)
    |(?P<newline>\n)
    |(?P<blank>[^\S\n]+)
    |(?P<string>{STRING})
    |(?P<dots>\.\.\.)
    |(?P<number>{NUMBER})
    |(?P<directive>\#\w+)
    |(?P<marked>\?{NAME})
    |(?P<setting>\$\w+)
    |(?P<name>{NAME})
    |(?P<sign><=>|=>|=/=|!=|<=|>=|:=|:-|[()\[\]{{}}^!=<>,.:+*?@/|])
    |(?P<unknown>.)""",
    re.VERBOSE | re.DOTALL,
)

EXISTS_WORDS = {"exist", "exists"}
FORALL_WORDS = {"forall"}
QUANTIFIERS = EXISTS_WORDS | FORALL_WORDS
INFINITE = {"inf", "infty", "infinity"}
"""Weights that are words, in any case."""
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "r": "\r", "f": "\f"}
_PLAIN_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_PLAIN_NAME = re.compile(NAME)


def is_constant_name(name: str) -> bool:
    """Whether a name is that of a constant, as it begins with a capital, and not of a variable."""
    return name[0].isupper()


def text_of_string(literal: str) -> str:
    """The text of a quoted constant, with escapes decoded."""
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), literal[1:-1])


def written_constant(value: Value) -> str:
    """The constant as a file writes it: bare if that reads back as a constant, else quoted."""
    text = str(value)
    reads_back = is_constant_name(text) if _PLAIN_NAME.fullmatch(text) else _PLAIN_NUMBER.fullmatch(text)
    return text if reads_back and text.lower() not in QUANTIFIERS else _quoted(text)


def is_plain_name(name: str) -> bool:
    """Whether a file can write this name of a predicate, type or variable."""
    return bool(_PLAIN_NAME.fullmatch(name)) and name != "v" and name.lower() not in QUANTIFIERS


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    for letter, character in _ESCAPES.items():
        escaped = escaped.replace(character, f"\\{letter}")
    return f'"{escaped}"'
