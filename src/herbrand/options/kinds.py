"""Kinds of values that options take; each checks a value, and its error says what was expected.

>>> Number(0, below=1).check("--damping", 1.5)
Traceback (most recent call last):
herbrand.errors.UnsupportedError: --damping is a number from 0 up to, not including, 1, not 1.5
>>> texts(None), texts("smokes"), texts(["smokes", "rain"])
((), ('smokes',), ('smokes', 'rain'))
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from herbrand.errors import UnsupportedError, nearest
from herbrand.files import refuse_losing, refuse_unwritable
from herbrand.visible import shortened

MOST = 2**63 - 1
"""Largest whole number of an option: the largest int64 of arrays, databases and random generators."""
FIXPOINT = "fixpoint"
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([kKMGT]?i?[bB]|[kKMGT]|%)?")


class Kind(Protocol):
    """A kind of value. ``check`` raises an error for a value of another kind; it is never given ``None``."""

    def check(self, flag: str, value: Any) -> None: ...


def is_whole(value: object) -> bool:
    """Whether a value is a whole number of Python or NumPy."""
    return isinstance(value, Integral) and not isinstance(value, bool)


@dataclass(frozen=True)
class Whole:
    """Whole numbers. ``usage``: the command line's parser refuses numbers out of range, as wrong usage."""

    least: int
    most: int = MOST
    usage: bool = True

    def check(self, flag: str, value: Any) -> None:
        whole = is_whole(value)
        if whole and int(value) > self.most:
            raise UnsupportedError(f"{flag} is a whole number up to {self.most}, not {_shown(value)}")
        if not whole or int(value) < self.least:
            raise UnsupportedError(f"{flag} is a whole number from {self.least} on, not {_shown(value)}")


@dataclass(frozen=True)
class Number:
    """Finite numbers in a range: ``least`` and ``most`` belong to it, ``above`` and ``below`` do not."""

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    @property
    def expected(self) -> str:
        """The range in words."""
        start = f"above {self.above:g}" if self.above is not None else f"from {self.least:g}"
        if self.most is not None:
            return f"a number {start} to {self.most:g}"
        if self.below is not None:
            return f"a number {start} up to, not including, {self.below:g}"
        return f"a number {start}" if self.above is not None else f"a number {start} on"

    def check(self, flag: str, value: Any) -> None:
        if not (isinstance(value, Real) and not isinstance(value, bool) and self._fits(value)):
            raise UnsupportedError(f"{flag} is {self.expected}, not {_shown(value)}")

    def _fits(self, number: Real) -> bool:
        try:
            value = float(number)
        except OverflowError:  # a whole number beyond all floats
            return False
        return (
            math.isfinite(value)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )


@dataclass(frozen=True)
class Name:
    """One of several names, or a name of a table. ``usage``: the command line's parser refuses others, as
    wrong usage."""

    names: Collection[str]
    usage: bool = False

    def check(self, flag: str, value: Any) -> None:
        if not (isinstance(value, str) and value in self.names):
            option = flag.removeprefix("--").replace("-", " ")
            given = _quoted(value)
            hint = nearest(given.strip("'"), self.names) or f"one of {', '.join(self.names)}"
            raise UnsupportedError(f"there is no {option} {given}", hint=hint)


@dataclass(frozen=True)
class Depth:
    """A whole number from 0 on, also as a text, or ``"fixpoint"``."""

    def check(self, flag: str, value: Any) -> None:
        if isinstance(value, str) and value == FIXPOINT:
            return
        number = int(value) if isinstance(value, str) and _in_digits(value) else value
        if not (is_whole(number) and 0 <= int(number) <= MOST):
            raise UnsupportedError(
                f"{_quoted(value)} is no depth", hint=f"a whole number from 0 on, or '{FIXPOINT}'"
            )


def _in_digits(text: str) -> bool:
    return len(text) < 1000 and text.strip().removeprefix("-").isdecimal()


@dataclass(frozen=True)
class Amount:
    """Amounts of memory, read by :func:`amount`."""

    def check(self, flag: str, value: Any) -> None:
        amount(value)


def amount(value: Any) -> tuple[float, str]:
    """Parse an amount of memory into a number and a unit: ``B``, ``K``, ``M``, ``G``, ``T`` or ``%``."""
    if is_whole(value) and 0 <= int(value) <= MOST:
        return int(value), "B"
    match = _AMOUNT.fullmatch(value.strip()) if isinstance(value, str) else None
    unit = (match[2] or "B")[0].upper() if match else ""
    if match is None or float(match[1]) * (1 if unit == "%" else 1024 ** "BKMGT".index(unit)) > MOST:
        hint = "such as 500MB, 4GB or 50%"
        raise UnsupportedError(f"{_quoted(value)} is not an amount of memory", hint=hint)
    return float(match[1]), unit


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def check(self, flag: str, value: Any) -> None:
        if not (isinstance(value, bool | int) or type(value).__name__ == "bool") or value not in (0, 1):
            raise UnsupportedError(f"{flag} is True or False, not {_shown(value)}")


@dataclass(frozen=True)
class Text:
    """A text, or a path if it may name a file. Whether the file exists is checked where it is used."""

    path: bool = True

    def check(self, flag: str, value: Any) -> None:
        if not isinstance(value, str | PathLike if self.path else str):
            raise UnsupportedError(f"{flag} is a text, not {_shown(value)}")


@dataclass(frozen=True)
class Several:
    """A tuple or list of values of one kind; ``count``: their number, if it is fixed."""

    kind: Kind
    count: int | None = None

    def check(self, flag: str, value: Any) -> None:
        if not isinstance(value, tuple | list) or self.count not in (None, len(value)):
            many = "values" if self.count is None else f"{self.count} values"
            raise UnsupportedError(f"{flag} is a tuple of {many}, not {_shown(value)}")
        for one in value:
            self.kind.check(f"each of {flag}", one)


def check_values(kinds: Mapping[str, Kind], values: Mapping[str, Any]) -> None:
    """Raise an error for the first of the named values that is not of its kind."""
    for name, kind in kinds.items():
        kind.check(name, values[name])


def check_functions(**given: Any) -> None:
    """Raise an error for an argument that is not callable; ``None`` is allowed."""
    for name, value in given.items():
        if value is not None and not callable(value):
            raise UnsupportedError(f"{name} is a function, not {_shown(value)}")


@dataclass(frozen=True)
class Facts:
    """A path of fact tables; from Python, facts in any form. They are checked when they are read."""

    def check(self, flag: str, value: Any) -> None: ...


@dataclass(frozen=True)
class Texts:
    """One text or several."""

    def check(self, flag: str, value: Any) -> None:
        texts(value, flag)


def texts(given: Any, flag: str = "") -> tuple[str, ...]:
    """Tuple of one text or several; empty for ``None``. ``flag``: the option, for messages.

    A mapping is refused: without its values ``{'rain': False}`` would mean its opposite.
    """
    if given is None:
        return ()
    if isinstance(given, str):
        return (given,)
    expected = (
        f"{flag}: expected a text, or a list of texts" if flag else "expected a text, or a list of texts"
    )
    if isinstance(given, Mapping):
        raise UnsupportedError(
            f"{expected}, not {_shown(given)}", hint="evidence that is false is a text such as 'not rain'"
        )
    values = tuple(given) if isinstance(given, Iterable) else (given,)
    for text in values:
        if not isinstance(text, str):
            raise UnsupportedError(f"{expected}, not {_shown(text)}")
    return values


@dataclass(frozen=True)
class File:
    """A file that will be written. ``folders``: missing folders will be made. ``tensors``: it will hold saved
    tensors, and must not replace a file of another format."""

    folders: bool = False
    tensors: bool = False

    def check(self, flag: str, value: Any) -> None:
        if not isinstance(value, str | Path):
            raise UnsupportedError(f"{flag} is the name of a file, not {_shown(value)}")
        refuse_unwritable(value, self.folders)
        if self.tensors:
            refuse_losing(value)


def _shown(value: Any, write: Callable[[Any], str] = repr) -> str:
    """Python's text of a value, shortened."""
    try:
        shown = write(value)
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        return "a number of thousands of digits"
    return shortened(shown, 60)


def _quoted(value: Any) -> str:
    return f"'{_shown(value, str)}'"
