"""What a dialect cannot say, told together.

>>> print(as_text(written_lines(["smokes", "friends"], lambda name: [f"// {name}", name])), end="")
// smokes
smokes
// friends
friends
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from herbrand.errors import Mistakes, UnsupportedError

Part = TypeVar("Part")


def written_lines(parts: Iterable[Part], lines: Callable[[Part], Iterable[str]]) -> list[str]:
    """The lines of every part; one ``UnsupportedError`` of all that cannot be said."""
    refused = Mistakes()
    written: list[str] = []
    for part in parts:
        with refused.collecting():
            written += lines(part)
    refused.raise_any(UnsupportedError)
    return written


def as_text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
