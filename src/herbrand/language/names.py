"""Names and constants of the language: reserved and quoted names, and how both are written and read.

>>> shown_name("smokes"), shown_name("P"), shown_constant('say "hi"')
('smokes', '`P`', '"say \\\\"hi\\\\""')
>>> shown_constant(1.0), shown_constant(number_from("2.50"))
('1', '2.5')
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from herbrand.visible import visible

if TYPE_CHECKING:  # at run time, code that only shows names must not import whole theories
    from herbrand.language.syntax import Value

RESERVED = frozenset(
    {"type", "predicate", "hard", "where", "exists", "forall"}
    | {"and", "or", "xor", "not", "in", "true", "false", "P"}
)
LARGEST_NUMBER = 2**63 - 1
_PLAIN = re.compile(r"[^\W\d]\w*")
_UNWRITABLE = re.compile(r"[`\n\r]")
_BETWEEN_QUOTES = re.compile(r'"(?:[^"\\]|\\.)*"|`([^`]*)`')
_LISTED = re.compile(rf"{_BETWEEN_QUOTES.pattern}|[()\[\]{{}}]|, ")
_WHOLE = re.compile(r"-?[0-9]+")
_LONGEST_WHOLE = 20
"""Characters of the longest number of 64 bits with its sign; Python refuses to read far longer ones."""
_quoted = json.JSONEncoder(ensure_ascii=False).encode


def is_reserved(name: str) -> bool:
    return name in RESERVED


def is_made(name: str) -> bool:
    """Whether a name is that of a predicate made for a computed value; no text can hold it."""
    return name.startswith("`")


def placeholder(place: int, name: str) -> str:
    """Name of a variable that marks an argument in the text of a made predicate.

    No text of a theory can hold it, as names have no line breaks.
    """
    return f"\n{place} {name}"


_PLACEHOLDER = re.compile(r"`\n([0-9]+) ([^`\n]*)`")


def text_of_made(name: str, arguments: Sequence[str] = ()) -> str:
    """Text of a made predicate as the user wrote it, with these ``arguments`` in place of its variables.

    >>> made = "`3`" + f"p = {shown_name(placeholder(0, 'n'))} * 1.19"
    >>> text_of_made(made), text_of_made(made, ["100"])
    ('p = n * 1.19', 'p = 100 * 1.19')
    """

    def argument(match: re.Match[str]) -> str:
        return arguments[int(match[1])] if arguments else shown_name(match[2])

    return _PLACEHOLDER.sub(argument, name.split("`", 2)[2])


def shown_predicate(name: str) -> str:
    """The name of a predicate, or the text of a made one as the user wrote it."""
    return text_of_made(name) if is_made(name) else name


def not_taken(name: str, taken: Container[str]) -> str:
    """The name, with underscores appended until it is not taken.

    >>> not_taken("thing", {"thing", "thing_"}), not_taken("person", {"thing"})
    ('thing__', 'person')
    """
    while name in taken:
        name += "_"
    return name


def shown_name(name: str) -> str:
    """The name as a theory file writes it, in back-quotes if necessary."""
    return name if _PLAIN.fullmatch(name) and name not in RESERVED else f"`{name}`"


def respelled(text: str, names: Mapping[str, str]) -> str:
    """A printed text with its back-quoted names replaced as ``names`` maps them.

    >>> respelled('`p/2`("a", "`p/2`")', {"p/2": "p"})
    'p("a", "`p/2`")'
    """
    return _BETWEEN_QUOTES.sub(lambda one: shown_name(names[one[1]]) if one[1] in names else one[0], text)


def parts_of_list(text: str) -> list[str]:
    """The parts of a text between commas that stand in no quotes and no brackets.

    >>> parts_of_list('n = max(i, 1), "a, b" != x')
    ['n = max(i, 1)', '"a, b" != x']
    """
    begins, depth = [0], 0
    for one in _LISTED.finditer(text):
        depth += (one[0] in "([{") - (one[0] in ")]}")
        if one[0] == ", " and not depth:
            begins.append(one.end())
    ends = [begin - len(", ") for begin in begins[1:]]
    return [text[begin:end] for begin, end in zip(begins, [*ends, len(text)], strict=True)]


def is_writable(name: str) -> bool:
    """Whether a theory file can hold the name, plain or in back-quotes."""
    return bool(name) and not _UNWRITABLE.search(name)


def made_writable(name: str) -> str:
    """The name with ``_`` for each character that no theory file can hold; ``''`` if it is empty.

    >>> made_writable("it's"), made_writable("a`b"), made_writable("")
    ("it's", 'a_b', "''")
    """
    return _UNWRITABLE.sub("_", name) or "''"


def shown_constant(value: Value) -> str:
    """The constant as a theory file writes it: quoted text or a number; equal numbers are written alike."""
    if isinstance(value, str):
        return visible(_quoted(value))
    simple = simplest(value)
    return repr(float(simple)) if isinstance(simple, float) else str(int(simple))


def shown_where(constants: Iterable[tuple[str, Value]]) -> str:
    """Text of the values of variables, as in ``x = "anna", y = 2``."""
    return ", ".join(f"{name} = {shown_constant(value)}" for name, value in constants)


def shown_number(number: float) -> str:
    """Shortest text of a weight or probability that reads back to the same float."""
    return repr(float(number))


def number_from(text: str) -> int | float:
    """Parse a number as a constant; raise OverflowError if 64 bits do not hold it."""
    if _WHOLE.fullmatch(text):
        number = int(text) if len(text) <= _LONGEST_WHOLE else LARGEST_NUMBER + 1
        if not fits(number):
            raise OverflowError
        return number
    number = float(text)
    if math.isinf(number):
        raise OverflowError
    return simplest(number)


def floats_from(texts: Sequence[str]) -> list[float]:
    """Parse texts as floats; raise ValueError for numbers that only Python accepts, such as `1_0`."""
    together = "".join(texts)
    if "_" in together or not together.isascii():
        raise ValueError("digits and signs of numbers alone")
    return list(map(float, texts))


MIDNIGHT = r"[T ]00:00:00(\.0+)?$"
"""Time of day that may follow a date, as data frames keep days."""


FINER = r"[.,]\d{6}\d*[1-9]"
"""A fraction of a second finer than a microsecond, which constants do not keep."""


def moment(calendar: str, text: str) -> str:
    """Canonical form of a date or time, that of its constant; raise ValueError if the text is neither.

    A time with a zone is converted to UTC, so that the order of the texts is that of time. A time at midnight
    is also read as a date.

    >>> moment("date", "20261122"), moment("time", "2026-11-22 09:30")
    ('2026-11-22', '2026-11-22T09:30:00')
    >>> moment("date", "2026-11-22T00:00:00")
    '2026-11-22'
    >>> moment("time", "2026-11-22T09:30+02:00")
    '2026-11-22T07:30:00'
    """
    if calendar == "date":
        return date.fromisoformat(re.sub(MIDNIGHT, "", text)).isoformat()
    if re.search(FINER, text):
        raise ValueError("finer than a microsecond")
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is not None:
        try:
            instant = instant.astimezone(UTC).replace(tzinfo=None)
        except OverflowError as error:
            raise ValueError(str(error)) from None
    return instant.isoformat()


EXPECTED_MOMENT = {
    "date": 'expected: date "2026-11-22"',
    "time": 'expected: time "2026-11-22T09:30", to the microsecond at most',
}


def wrong_moment(calendar: str, value: Value) -> tuple[str, str] | None:
    """Why a value is not a constant of a type of dates or times, and a hint; ``None`` if it is one.

    >>> wrong_moment("time", "2026-11-22T09:30")
    ('"2026-11-22T09:30" is another form of the time "2026-11-22T09:30:00"', 'write time "2026-11-22T09:30"')
    """
    try:
        kept = moment(calendar, value) if isinstance(value, str) else None
    except ValueError:
        kept = None
    if kept is None:
        return f"{shown_constant(value)} is no {calendar}", EXPECTED_MOMENT[calendar]
    if kept == value:
        return None
    message = f"{shown_constant(value)} is another form of the {calendar} {shown_constant(kept)}"
    return message, f"write {calendar} {shown_constant(value)}"


def simplest(number: int | float) -> int | float:
    """The number as ``int`` if it is whole and 64 bits hold it, else unchanged.

    >>> simplest(2.0), simplest(2.5), simplest(1e20)
    (2, 2.5, 1e+20)
    """
    return int(number) if isinstance(number, float) and number.is_integer() and fits(number) else number


def fits(number: float) -> bool:
    """Whether the 64 bits of a table's column hold a whole number."""
    return -LARGEST_NUMBER - 1 <= number <= LARGEST_NUMBER


def text_from(token: str) -> str:
    """The text between quotes, with JSON escapes decoded; raise ValueError if it is not valid."""
    if "\\" not in token:
        return token[1:-1]
    text = json.loads(token, strict=False)
    text.encode()
    return text
