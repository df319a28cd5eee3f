"""All mistakes of a file, raised together.

>>> mistakes = MistakeList()
>>> with mistakes.collecting():
...     raise LanguageError("the first")
>>> with mistakes.collecting():
...     raise LanguageError("the second")
>>> mistakes.raise_any()
Traceback (most recent call last):
herbrand.errors.LanguageError: the first
the second
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TypeVar

from herbrand.errors import HerbrandError, LanguageError, Mistake, Span, UnsupportedError

Part = TypeVar("Part")


class MistakeList:
    """Mistakes noted while reading goes on."""

    def __init__(self) -> None:
        self._noted: list[Mistake] = []

    def note(
        self,
        message: str,
        span: Span | None = None,
        hint: str = "",
        related: tuple[tuple[str, Span], ...] = (),
    ) -> None:
        self._noted.append(Mistake(message, span, hint, related))

    def add(self, error: HerbrandError) -> None:
        """Keep the mistakes of an error that was caught."""
        self._noted.extend(error.mistakes)

    def collecting(self) -> MistakeList:
        """An error raised inside ends the block, and is kept for later."""
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, HerbrandError):
            self.add(error)
        return isinstance(error, HerbrandError)

    def raise_any(self, kind: type[HerbrandError] = LanguageError) -> None:
        """Raise one error of all that was noted, in the order of the files' lines, if anything was."""
        if self._noted:
            raise kind(sorted(self._noted, key=_place))


def written_lines(parts: Iterable[Part], lines: Callable[[Part], Iterable[str]]) -> list[str]:
    """The lines of every part; one ``UnsupportedError`` of all that cannot be said."""
    refused = MistakeList()
    written: list[str] = []
    for part in parts:
        with refused.collecting():
            written += lines(part)
    refused.raise_any(UnsupportedError)
    return written


def as_text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _place(mistake: Mistake) -> tuple[str, int]:
    return (mistake.span.source.name, mistake.span.start) if mistake.span else ("", 0)
