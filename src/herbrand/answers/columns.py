"""Rows of texts under each other in columns, however many there are.

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
"""So many rows or lines are taken at once."""
Columns = Iterable[Sequence[Sequence[str]]]
"""Some rows at a time, as the texts of each column."""
Measure = Callable[[str], int]
Column = tuple[Sequence[str], Measure]
"""Texts as they are seen, and what says how many cells of a terminal each takes."""


def in_columns(rows: Iterable[Sequence[str]]) -> Iterator[Sequence[Sequence[str]]]:
    """Rows, some at a time."""
    left = iter(rows)
    while some := list(islice(left, TOGETHER)):
        yield [*zip_longest(*some, fillvalue="")]


def in_rows(columns: Columns) -> Iterator[tuple[str, ...]]:
    """Each row of them."""
    return chain.from_iterable(zip(*some, strict=True) for some in columns)


def aligned(columns: Callable[[], Columns], words: Collection[int]) -> Iterator[list[str]]:
    """A line for each row, some at a time: columns of ``words`` stand to the left, all others to the right.

    The columns are asked for twice, once for the widths and once for the lines, so that none must be kept.
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
    """Those of plain text are measured at once."""
    return (texts, len) if plain else ([*map(visible, texts)], width)


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
    if cells is len:
        return [*map(str.ljust if left else str.rjust, texts, repeat(wide))]
    rooms = [" " * (wide - cells(text)) for text in texts]
    return [text + room if left else room + text for text, room in zip(texts, rooms, strict=True)]
