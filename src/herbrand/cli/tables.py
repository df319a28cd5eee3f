"""Answers as tables of text: fitted to a terminal, or as wide as they need for a file or a pipe.

What draws on a terminal is imported only there, so that ``--help`` costs little.
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
"""Fitting a row to a terminal costs half a millisecond; longer tables are only aligned."""


@dataclass(frozen=True)
class Table:
    """Columns of ``words`` stand to the left, numbers to the right. ``rows`` gives the rows anew each time;
    ``columns`` the same column by column, where that is quicker."""

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
    """An answer as a table, under its own title unless another is given."""
    title = sheet.title if title is None else title
    return Table(sheet.heads, sheet.cells, title, sheet.words, sheet.cell_columns)


def lines(tables: Sequence[Table], on_terminal: bool) -> Iterator[list[str]]:
    """The tables one under the other, an empty line between two; some lines at a time."""
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
    """Coloured, and folded where the terminal is too narrow."""
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
