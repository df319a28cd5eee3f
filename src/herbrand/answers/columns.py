"""Rows of texts under each other in columns, however many there are.

>>> list(aligned(lambda: [("atom", "probability"), ("p(1)", "0.5000")], words=(0,)))
['atom  probability', 'p(1)       0.5000']
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from unicodedata import combining, east_asian_width

from herbrand.visible import visible

GAP = "  "
TOGETHER = 4_096
Rows = Callable[[], Iterable[Sequence[str]]]
"""Gives the rows anew each time: once for the widths and once for the lines, so that none must be kept."""
Measure = Callable[[str], int]
Column = tuple[Sequence[str], Measure]
"""Texts as they are seen, and what says how many cells of a terminal each takes."""


def aligned(rows: Rows, words: Collection[int]) -> Iterator[str]:
    """A line for each row: columns of ``words`` stand to the left, all others to the right."""
    widths: list[int] = []
    for columns in _columns(rows):
        widths += [0] * (len(columns) - len(widths))
        for place, (texts, cells) in enumerate(columns):
            widths[place] = max(widths[place], *map(cells, texts))
    for columns in _columns(rows):
        padded = [_padded(*column, widths[place], place in words) for place, column in enumerate(columns)]
        yield from (GAP.join(row).rstrip() for row in zip(*padded, strict=True))


def _columns(rows: Rows) -> Iterator[list[Column]]:
    """The rows some at a time, as columns: those of plain text are measured at once."""
    left = iter(rows())
    while some := list(islice(left, TOGETHER)):
        columns = zip_longest(*some, fillvalue="")
        yield [(texts, len) if _is_plain(texts) else ([*map(visible, texts)], width) for texts in columns]


def _is_plain(texts: Sequence[str]) -> bool:
    """Whether each sign is seen as it is, and takes one cell."""
    whole = "".join(texts)
    return whole.isascii() and whole.isprintable()


def width(text: str) -> int:
    """How many cells of a terminal a text takes.

    >>> width("anna"), width("東京"), width("é")
    (4, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def _padded(texts: Sequence[str], cells: Measure, wide: int, left: bool) -> list[str]:
    rooms = [" " * (wide - cells(text)) for text in texts]
    return [text + room if left else room + text for text, room in zip(texts, rooms, strict=True)]
