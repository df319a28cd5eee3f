"""Damage to files: of bytes, of tokens (exchanged with tokens of their kind) and of statements."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|[A-Za-z_]\w*|-?\d+(?:\.\d+)?|<=>|=>|:-|!=|<=|>=|\.\.|\s+|.', re.DOTALL
)
PIECES = [
    *"()[]{}\"',:|~?@=<-0x_#é%;\\ \t\r\n\0\u2028\ufeff\u202e\x1b`",
    *(
        ":-",
        "=>",
        "<=>",
        "not ",
        "and",
        "or",
        "xor",
        "exists x: ",
        "forall y: ",
        "hard: ",
        "P(",
        "in",
        "?[w]",
        "!=",
    ),
    *("..", " where x != y", " @ 0.5", " ~ 0.5", " | ", "true", "false", "observed", "type", "predicate"),
    *(
        "1e999",
        "nan",
        "-1",
        "0",
        "1",
        "0.5",
        "1e-300",
        "1e300",
        "99999999999999999999",
        '"anna"',
        '"b"',
        "x",
        "y",
    ),
]
AMOUNTS = (1, 1, 1, 2, 3)
RAW = [b"\xff", b"\x00", b"\xed\xa0\x80", b"\r\n", b"\xef\xbb\xbf", b"PAR1"]


KEYWORDS = {
    "type",
    "predicate",
    "hard",
    "where",
    "exists",
    "forall",
    "and",
    "or",
    "xor",
    "not",
    "in",
    "P",
    "observed",
}


def kind(token: str, following: str) -> str:
    """What a token may be exchanged for without breaking the grammar at once, by itself and the next one."""
    if token in KEYWORDS:
        return "connective" if token in ("and", "or", "xor") else token
    if token[0] == '"':
        return "text"
    if token[0].isdigit() or (token[0] == "-" and len(token) > 1):
        return "number"
    if token[0].isalpha() or token[0] == "_":
        return "predicate" if following == "(" else "name"
    return "connective" if token in ("=>", "<=>") else token


def bytes_damaged(data: bytes, rng: random.Random) -> bytes:
    """One to three cuts, doublings, exchanges, flips and insertions anywhere."""
    for _ in range(rng.choice(AMOUNTS)):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice((1, 1, 2, 5, 20)))
        piece = rng.choice(RAW) if rng.random() < 0.2 else rng.choice(PIECES).encode()
        match rng.randrange(5):
            case 0:
                data = data[:start] + data[end:]
            case 1:
                data = data[:end] + data[start:]
            case 2:
                data = data[:start] + piece + data[end:]
            case 3 if start < end:
                data = data[:start] + bytes([data[start] ^ 1 << rng.randrange(8)]) + data[start + 1 :]
            case _:
                data = data[:start] + piece + data[start:]
    return data


def tokens_damaged(text: str, rng: random.Random) -> str:
    """One to three tokens exchanged for others of their kind, dropped, doubled or swapped."""
    tokens = TOKEN.findall(text)
    for _ in range(rng.choice(AMOUNTS)):
        places = [n for n, token in enumerate(tokens) if not token.isspace()]
        if not places:
            break
        n = rng.choice(places)
        kinds = [kind(*pair) for pair in zip(tokens, [*tokens[1:], ""], strict=True)]
        alike = [token for token, its in zip(tokens, kinds, strict=True) if its == kinds[n]]
        match rng.randrange(9):
            case 0 | 1 | 2 | 3 | 4 | 5:
                tokens[n] = rng.choice(alike)
            case 6:
                tokens[n] = rng.choice(PIECES)
            case 7:
                tokens[n : n + 1] = []
            case _:
                m = rng.choice(places)
                tokens[n], tokens[m] = tokens[m], tokens[n]
    return "".join(tokens)


def lines_damaged(text: str, rng: random.Random) -> str:
    """Lines dropped, doubled, moved, joined, or made longer by a part of another."""
    lines = text.splitlines(keepends=True)
    for _ in range(rng.choice(AMOUNTS)):
        if not lines:
            break
        n, m = rng.randrange(len(lines)), rng.randrange(len(lines))
        match rng.randrange(5):
            case 0:
                lines[n : n + 1] = []
            case 1:
                lines.insert(m, lines[n])
            case 2:
                lines[n], lines[m] = lines[m], lines[n]
            case 3:
                lines[n] = lines[n].rstrip("\n") + " "
            case _:
                tail = re.split(r"[:,]", lines[m], maxsplit=1)[-1]
                lines[n] = lines[n].rstrip("\n") + rng.choice([" and", " or", " =>", ",", " |", ""]) + tail
    return "".join(lines)


TEXTUAL: Sequence[Callable[[str, random.Random], str]] = (tokens_damaged, lines_damaged, lines_damaged)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A damaged copy: binary files byte by byte, text mostly by tokens and lines."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return bytes_damaged(data, rng)
    if rng.random() < 0.25:
        return bytes_damaged(data, rng)
    return rng.choice(TEXTUAL)(text, rng).encode()


ODD = (
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "1",
    "2.5",
    "1e-300",
    "1e300",
    "",
    "x",
    "é",
    "99999999999999999999",
    "0x10",
)
OPTIONS = (
    *(
        "--tolerance",
        "--iterations",
        "--damping",
        "--seed",
        "--top",
        "--min",
        "--memory",
        "--time-limit",
        "--depth",
    ),
    *(
        "--samples",
        "--starts",
        "--structure",
        "--clip",
        "--algebra",
        "--engine",
        "--method",
        "--normalize",
        "--mode",
    ),
    *(
        "--format",
        "--given",
        "--query",
        "--open",
        "--closed",
        "--ignore",
        "--header",
        "--facts",
        "--dialect",
        "--on",
    ),
)
WORDS = (
    "exact",
    "bp",
    "smokes",
    'smokes("anna")',
    "not a",
    "P(a)",
    "weights",
    "yes",
    "2GB",
    "json",
    "csv",
    "fixpoint",
)


def options_damaged(arguments: list[str], rng: random.Random) -> list[str]:
    """One more option with a strange value, or one argument less."""
    if rng.random() < 0.15 and len(arguments) > 2:
        n = rng.randrange(1, len(arguments))
        return [*arguments[:n], *arguments[n + 1 :]]
    return [*arguments, rng.choice(OPTIONS), rng.choice((*ODD, *WORDS))]
