"""Base class of all answers: a title and rows, shown as plain text, in a notebook, or as a DataFrame.

An answer defines its ``title``, its ``heads`` and its ``cells()``; ``spans()``, if it has any, gives a bar
beside each row, from one share of the width to another. In a notebook a click on a head sorts.

>>> class Scores(Sheet):
...     title, heads = "scores", ("who", "score")
...     def cells(self): return iter([("anna", "0.5000"), ("bob", "0.2500")])
...     def spans(self): return iter([(0.0, 0.5), (0.0, 0.25)])
...     def __len__(self): return 2
>>> Scores()
scores
who    score
anna  0.5000
bob   0.2500
>>> Scores()._repr_html_().count("<tr>")
3

Bar charts are SVG pictures, made without a plotting library: a label, a bar and a number in each row.

>>> chart = bar_chart("marginals", [Bar("rain", 0.0, 0.8, "0.8000"), Bar("wet", 0.0, 0.5, "0.5000")])
>>> chart.svg.count("<rect")
2

JSON has no infinity: a float that is not finite is written by its name.

>>> in_json(0.5), in_json(float("-inf")), in_json(3), in_json(None)
(0.5, '-inf', 3, None)
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any, ClassVar

from herbrand.answers.columns import Columns, aligned, in_columns
from herbrand.errors import UnsupportedError
from herbrand.language.drawing import Drawing, cut, in_xml, text_at
from herbrand.options.kinds import Whole

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa


ROW, LETTER, MARGIN, WIDTH = 22, 7.3, 10, 320
"""Pixels: height of a row, width of a letter, margin, and width of the longest bar."""
LONGEST_LABEL = 60
COLOUR = "#4a7ebb"


@dataclass(frozen=True)
class Bar:
    """A bar from ``begin`` to ``end``, both shares of the width from 0 to 1; NaN draws none."""

    label: str
    begin: float
    end: float
    number: str = ""


def bar_chart(title: str, bars: Sequence[Bar], ticks: Sequence[str] = ()) -> Drawing:
    """Draw bars under a title; ``ticks`` are spread evenly over the axis below them."""
    labels = [cut(bar.label, LONGEST_LABEL) for bar in bars]
    left = MARGIN * 2 + LETTER * max(map(len, labels), default=0)
    right = left + WIDTH
    heads = [cut(line, LONGEST_LABEL) for line in title.splitlines()]
    top = MARGIN + ROW * len(heads)
    bottom = top + ROW * len(bars)
    width = right + MARGIN * 2 + LETTER * max((len(bar.number) for bar in bars), default=0)
    width = max(width, MARGIN * 2 + LETTER * max(map(len, heads), default=0))
    parts = [text_at(line, MARGIN, MARGIN + ROW * (row + 0.7)) for row, line in enumerate(heads)]
    for place, tick in enumerate(ticks):
        x = left + WIDTH * place / max(len(ticks) - 1, 1)
        parts.append(
            f"<line x1='{x:.1f}' y1='{top}' x2='{x:.1f}' y2='{bottom}' stroke='currentColor' "
            f"stroke-opacity='0.25'/>{text_at(tick, x, bottom + ROW * 0.7, 'middle')}"
        )
    for row, (bar, label) in enumerate(zip(bars, labels, strict=True)):
        y = top + ROW * row
        parts.append(text_at(label, left - MARGIN, y + ROW * 0.7, "end"))
        if bar.begin == bar.begin and bar.end == bar.end:
            parts.append(
                f"<rect x='{left + WIDTH * bar.begin:.1f}' y='{y + 4}' height='{ROW - 8}' "
                f"width='{max(WIDTH * (bar.end - bar.begin), 1.5):.1f}' fill='{COLOUR}'/>"
            )
        parts.append(text_at(bar.number, right + MARGIN, y + ROW * 0.7))
    height = bottom + (ROW if ticks else 0) + MARGIN
    name = escape(in_xml(title), quote=True)
    return Drawing(
        f"<svg xmlns='http://www.w3.org/2000/svg' role='img' aria-label=\"{name}\" width='{width:.0f}' "
        f"height='{height:.0f}' font-family='monospace' font-size='12'>{''.join(parts)}</svg>"
    )


def stacked(drawings: Sequence[Drawing]) -> Drawing:
    """Join pictures, one below the other."""
    sizes = [tuple(map(int, re.findall(r" (?:width|height)='(\d+)'", one.svg)[:2])) for one in drawings]
    parts, y = [], 0
    for one, (_, height) in zip(drawings, sizes, strict=True):
        parts.append(one.svg.replace("<svg ", f"<svg y='{y}' ", 1))
        y += height
    width = max((width for width, _ in sizes), default=0)
    return Drawing(
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{y}'>{''.join(parts)}</svg>"
    )


ROWS_SHOWN, NOTEBOOK_ROWS, ROWS_PLOTTED = 20, 200, 40
BAR_WIDTH = 100
PROBABILITIES = ("0", "0.5", "1")
"""Labels of the axis of probabilities."""
_SORT = (
    "const t=this.closest('table'),b=t.tBodies[0],i=this.cellIndex,d=this.dataset.d=-(this.dataset.d||1);"
    "const v=r=>r.cells[i].textContent;"
    "[...b.rows].sort((r,s)=>d*(isNaN(v(r))||isNaN(v(s))?v(r).localeCompare(v(s)):v(s)-v(r)))"
    ".forEach(r=>b.append(r))"
)


class Sheet:
    """Rows of texts under a title."""

    words: ClassVar[Sequence[int]] = (0,)
    """Columns that are aligned left; the others, of numbers, are aligned right."""

    ticks: ClassVar[Sequence[str]] = ()
    """Texts along the axis of a picture, spread evenly."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The line above the table."""

    @property
    @abstractmethod
    def heads(self) -> tuple[str, ...]:
        """Heads of the columns that are printed."""

    @abstractmethod
    def cells(self) -> Iterator[tuple[str, ...]]:
        """Each row as it is shown."""

    def cell_columns(self) -> Columns:
        """The same column by column, some rows at a time."""
        return in_columns(self.cells())

    @abstractmethod
    def __len__(self) -> int: ...

    def rows(self) -> Iterator[Any]:
        """Rows as values; by default their cells."""
        return self.cells()

    def __iter__(self) -> Iterator[Any]:
        return self.rows()

    def spans(self) -> Iterator[tuple[float, float]] | None:
        """Begin and end of each row's bar, from 0 to 1; ``None`` for no bars."""
        return None

    def bars(self) -> Iterator[Bar]:
        """The rows as bars of a picture."""
        spans = self.spans()
        if spans is None:
            raise UnsupportedError("these rows have no picture", hint="to_pandas() gives them as a table")
        for row, (begin, end) in zip(self.cells(), spans, strict=False):
            sides: tuple[list[str], list[str]] = ([], [])
            for place, text in enumerate(row):
                sides[place in self.words].append(text)
            numbers, words = ([text for text in side if text] for side in sides)
            yield Bar("  ".join(words), begin, end, "  ".join(numbers))

    def plot(self, rows: int = ROWS_PLOTTED) -> Drawing:
        """The first rows as a picture; a notebook shows it, and ``.svg`` is its text."""
        Whole(0).check("--rows", rows)
        bars = list(islice(self.bars(), rows))
        more = f"; the first {rows:,} of {len(self):,} rows" if len(self) > rows == len(bars) else ""
        return bar_chart(self.title + more, bars, self.ticks)

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """Columns of values, not of texts."""

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame of pandas, with the columns of ``to_arrow``."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The rows as a data frame of polars, with the columns of ``to_arrow``."""
        import polars  # only when the user has it

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def __repr__(self) -> str:
        return "\n".join([self.title, *self._lines()])

    def _lines(self) -> Iterator[str]:
        rows = [self.heads, *islice(self.cells(), ROWS_SHOWN)]
        yield from chain.from_iterable(aligned(lambda: in_columns(rows), self.words))
        if len(self) > ROWS_SHOWN:
            yield f"... {len(self) - ROWS_SHOWN:,} more rows"

    def _repr_html_(self) -> str:
        """A table for a notebook, with a bar for each row that has one."""
        spans = self.spans()
        drawn = repeat("") if spans is None else (f"<td>{_bar(*span)}</td>" for span in spans)
        rows = "".join(
            f"<tr>{self._row(row)}{bar}</tr>"
            for row, bar in zip(islice(self.cells(), NOTEBOOK_ROWS), drawn, strict=False)
        )
        heads = "".join(
            f"<th onclick='{escape(_SORT)}' style='cursor:pointer'>{escape(head)}</th>" for head in self.heads
        )
        more = f"; the first {NOTEBOOK_ROWS:,} of {len(self):,} rows" if len(self) > NOTEBOOK_ROWS else ""
        title = "<br>".join(escape(line) for line in (self.title + more).splitlines())
        return (
            f"<table><caption>{title}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        )

    def _row(self, row: tuple[str, ...]) -> str:
        sides = ("left" if place in self.words else "right" for place in range(len(row)))
        return "".join(
            f"<td style='text-align:{side}'>{escape(text)}</td>"
            for side, text in zip(sides, row, strict=True)
        )


def _bar(begin: float, end: float) -> str:
    """HTML of a bar; one of no width is drawn as a point."""
    left, width = BAR_WIDTH * begin, max(BAR_WIDTH * (end - begin), 1.5)
    inner = f"margin-left:{left:.1f}px;width:{width:.1f}px;height:10px;background:#4a7ebb"
    return f"<div style='width:{BAR_WIDTH}px;background:#8882'><div style='{inner}'></div></div>"


# Numbers as JSON can hold them


def in_json(value: Any) -> Any:
    """The value itself, or the name of a float that is not finite."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
