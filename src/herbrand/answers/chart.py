"""Bars as an SVG picture, without a plotting library: a label, a bar and a number in each row.

>>> chart = bar_chart("marginals", [Bar("rain", 0.0, 0.8, "0.8000"), Bar("wet", 0.0, 0.5, "0.5000")])
>>> chart.svg.count("<rect")
2
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from herbrand.language.drawing import Drawing

ROW, LETTER, MARGIN, WIDTH = 22, 7.3, 10, 320
"""Pixels: the height of a row, the width of a letter, the space around all, the width of the longest bar."""
LONGEST_LABEL = 60
COLOUR = "#4a7ebb"
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Bar:
    """A bar from ``begin`` to ``end``, both shares of the width from 0 to 1; NaN draws none."""

    label: str
    begin: float
    end: float
    number: str = ""


def bar_chart(title: str, bars: Sequence[Bar], ticks: Sequence[str] = ()) -> Drawing:
    """The bars under a title; ``ticks`` are spread evenly over the axis below them."""
    labels = [_cut(bar.label) for bar in bars]
    left = MARGIN * 2 + LETTER * max(map(len, labels), default=0)
    right = left + WIDTH
    heads = [_cut(line) for line in title.splitlines()]
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
    name = escape(_xml(title), quote=True)
    return Drawing(
        f"<svg xmlns='http://www.w3.org/2000/svg' role='img' aria-label=\"{name}\" width='{width:.0f}' "
        f"height='{height:.0f}' font-family='monospace' font-size='12'>{''.join(parts)}</svg>"
    )


def stacked(drawings: Sequence[Drawing]) -> Drawing:
    """Pictures below each other, as one."""
    sizes = [tuple(map(int, re.findall(r" (?:width|height)='(\d+)'", one.svg)[:2])) for one in drawings]
    parts, y = [], 0
    for one, (_, height) in zip(drawings, sizes, strict=True):
        parts.append(one.svg.replace("<svg ", f"<svg y='{y}' ", 1))
        y += height
    width = max((width for width, _ in sizes), default=0)
    return Drawing(
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{y}'>{''.join(parts)}</svg>"
    )


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def text_at(text: str, x: float, y: float, anchor: str = "start") -> str:
    """Words at a place of a picture."""
    place = f"x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='currentColor'"
    return f"<text {place}>{escape(_xml(text))}</text>"
