"""Rows of texts under each other in columns, however many there are.

>>> list(aligned(lambda: [("atom", "probability"), ("p(1)", "0.5000")], words=(0,)))
['atom  probability', 'p(1)       0.5000']
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from unicodedata import combining, east_asian_width

from herbrand.visible import visible

GAP = "  "
Rows = Callable[[], Iterable[Sequence[str]]]
"""Gives the rows anew each time: once for the widths and once for the lines, so that none must be kept."""


def aligned(rows: Rows, words: Collection[int]) -> Iterator[str]:
    """A line for each row: columns of ``words`` stand to the left, all others to the right."""
    widths: list[int] = []
    for row in _visible(rows):
        widths += [0] * (len(row) - len(widths))
        for place, text in enumerate(row):
            if (wide := width(text)) > widths[place]:
                widths[place] = wide
    for row in _visible(rows):
        yield GAP.join(
            _padded(text, widths[place], place in words) for place, text in enumerate(row)
        ).rstrip()


def _visible(rows: Rows) -> Iterator[Sequence[str]]:
    return (tuple(map(visible, row)) for row in rows())


def width(text: str) -> int:
    """How many cells of a terminal a text takes.

    >>> width("anna"), width("東京"), width("é")
    (4, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def _padded(text: str, wide: int, left: bool) -> str:
    room = " " * (wide - width(text))
    return text + room if left else room + text
