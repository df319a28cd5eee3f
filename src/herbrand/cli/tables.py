"""Text tables of answers: fitted to a terminal, or as wide as needed for a file or a pipe.

The library that draws on a terminal is imported only there, so that ``--help`` costs little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING

from herbrand.answers.columns import Columns, aligned, in_columns
from herbrand.visible import visible, visible_lines

if TYPE_CHECKING:
    from herbrand.answers.sheet import Sheet

MOST_FITTED = 1_000
"""Largest number of rows that are fitted to a terminal, at half a millisecond each; longer tables are only
aligned."""


@dataclass(frozen=True)
class Table:
    """A table of text. Columns of ``words`` are aligned left, numbers right. ``rows`` returns an iterator
    over the rows; ``columns`` returns them column by column, where that is faster."""

    heads: Sequence[str]
    rows: Callable[[], Iterable[Sequence[str]]]
    title: str | None = None
    words: Sequence[int] = (0,)
    columns: Callable[[], Columns] | None = None

    def headed(self) -> Columns:
        if self.columns is None:
            return in_columns(chain([self.heads], self.rows()))
        return chain([[[head] for head in self.heads]], self.columns())


def sheet_table(sheet: Sheet, title: str | None = None) -> Table:
    """Table of an answer, under its own title unless another is given."""
    title = sheet.title if title is None else title
    return Table(sheet.heads, sheet.cells, title, sheet.words, sheet.cell_columns)


def lines(tables: Sequence[Table], on_terminal: bool) -> Iterator[list[str]]:
    """Lines of the tables, separated by empty lines, in batches."""
    for place, table in enumerate(tables):
        if place:
            yield [""]
        if on_terminal and sum(1 for _ in islice(table.rows(), MOST_FITTED + 1)) <= MOST_FITTED:
            yield _fitted(table)
        else:
            if table.title:
                yield [visible_lines(table.title)]
            yield from aligned(table.headed, table.words)


def _fitted(table: Table) -> list[str]:
    """Lines of a table in colour, folded if the terminal is too narrow."""
    import rich.console
    import rich.markup
    import rich.table

    def plain(text: str) -> str:
        return rich.markup.escape(visible(text))

    drawn = rich.table.Table(
        title=table.title and rich.markup.escape(visible_lines(table.title)),
        title_justify="left",
        box=None,
        pad_edge=False,
        header_style="bold",
    )
    for place, column in enumerate(table.heads):
        drawn.add_column(plain(column), justify="left" if place in table.words else "right", overflow="fold")
    for row in table.rows():
        drawn.add_row(*map(plain, row))
    console = rich.console.Console(force_terminal=True)
    with console.capture() as captured:
        console.print(drawn, soft_wrap=True)
    return [line.rstrip() for line in captured.get().splitlines()]
