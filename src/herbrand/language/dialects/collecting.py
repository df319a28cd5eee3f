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

from collections.abc import Iterator
from contextlib import contextmanager

from herbrand.errors import LanguageError, Mistake, Span


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

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """A LanguageError raised inside ends the block, and is kept for later."""
        try:
            yield
        except LanguageError as error:
            self._noted.extend(error.mistakes)

    def raise_any(self) -> None:
        """Raise one LanguageError of all that was noted, in the order of the files' lines, if anything was."""
        if self._noted:
            raise LanguageError(sorted(self._noted, key=_place))


def _place(mistake: Mistake) -> tuple[str, int]:
    return (mistake.span.source.name, mistake.span.start) if mistake.span else ("", 0)
