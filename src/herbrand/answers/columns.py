"""Align rows of texts in columns, in batches, so that long tables need little memory.

>>> list(aligned(lambda: in_columns([("atom", "probability"), ("p(1)", "0.5000")]), words=(0,)))
[['atom  probability', 'p(1)       0.5000']]
>>> list(in_rows(in_columns([("atom", "probability"), ("p(1)", "0.5000")])))
[('atom', 'probability'), ('p(1)', '0.5000')]
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, islice, repeat, zip_longest
from unicodedata import combining, east_asian_width

from herbrand.visible import visible

GAP = "  "
TOGETHER = 4_096
"""Number of rows or lines of a batch."""
Columns = Iterable[Sequence[Sequence[str]]]
"""Batches of rows, each as the texts of every column."""
Measure = Callable[[str], int]
Column = tuple[Sequence[str], Measure]
"""Texts with control characters escaped, and the function that measures each in cells of a terminal."""


def in_columns(rows: Iterable[Sequence[str]]) -> Iterator[Sequence[Sequence[str]]]:
    """Batches of rows, by columns."""
    left = iter(rows)
    while some := list(islice(left, TOGETHER)):
        yield [*zip_longest(*some, fillvalue="")]


def in_rows(columns: Columns) -> Iterator[tuple[str, ...]]:
    """Rows of the batches, one by one."""
    return chain.from_iterable(zip(*some, strict=True) for some in columns)


def aligned(columns: Callable[[], Columns], words: Collection[int]) -> Iterator[list[str]]:
    """Aligned lines of the rows, in batches: columns of ``words`` to the left, all others to the right.

    ``columns`` is called twice, for the widths and for the lines, so that no batch need be kept.
    """
    widths: list[int] = []
    plain: list[list[bool]] = []
    for some in columns():
        widths += [0] * (len(some) - len(widths))
        plain.append([*map(_is_plain, some)])
        for place, (texts, cells) in enumerate(map(_seen, some, plain[-1])):
            widths[place] = max(widths[place], *map(cells, texts))
    for some, are_plain in zip(columns(), plain, strict=True):
        seen = map(_seen, some, are_plain)
        padded = [_padded(*column, widths[place], place in words) for place, column in enumerate(seen)]
        yield [*map(str.rstrip, map(GAP.join, zip(*padded, strict=True)))]


def _seen(texts: Sequence[str], plain: bool) -> Column:
    """Texts to show and their measure; plain texts are measured by their length."""
    return (texts, len) if plain else ([*map(visible, texts)], width)


def _is_plain(texts: Sequence[str]) -> bool:
    """Whether every character is printable ASCII, which takes one cell."""
    whole = "".join(texts)
    return whole.isascii() and whole.isprintable()


def width(text: str) -> int:
    """Number of cells of a terminal that a text takes.

    >>> width("anna"), width("東京"), width("é")
    (4, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def _padded(texts: Sequence[str], cells: Measure, wide: int, left: bool) -> list[str]:
    if cells is len:
        return [*map(str.ljust if left else str.rjust, texts, repeat(wide))]
    rooms = [" " * (wide - cells(text)) for text in texts]
    return [text + room if left else room + text for text, room in zip(texts, rooms, strict=True)]
