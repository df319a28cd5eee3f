"""Drawing of a theory for notebooks: statements at the left, with lines to the predicates that they name.

>>> from herbrand.language.parse import parse_theory
>>> drawing = drawn(parse_theory("1.5: rain => wet\\nP(rain) in [0.2, 0.3]"))
>>> drawing.svg.count("<line"), drawing.svg.count("<ellipse")
(3, 2)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from itertools import chain, islice

from herbrand.language.show import statement_text
from herbrand.language.syntax import (
    Bound,
    Choice,
    Hard,
    Rule,
    Single,
    WeightedFormula,
    predicates_of,
)
from herbrand.language.theory import Theory, refuse_no_theory

STATEMENTS_SHOWN = 60
LONGEST_TEXT = 72
ROW, LETTER, MARGIN, GAP = 30, 7.3, 12, 140
"""Pixels: height of a statement, width of a letter, outer margin, gap for the lines."""
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
COLOURS = {
    "weighted": "#4a7ebb",
    "hard": "#444444",
    "bound": "#3a9d5d",
    "rule": "#c77d2e",
    "choice": "#8e5bb5",
}


@dataclass(frozen=True)
class Drawing:
    """A picture that notebooks show; ``svg`` is its source text."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<a picture of {len(self.svg):,} characters of SVG; a notebook shows it, .svg is its text>"


def drawn(theory: Theory) -> Drawing:
    """Draw the first weighted formulas, bounds, rules and choices of a theory, and their predicates."""
    refuse_no_theory("draw", theory)
    drawable = (s for s in theory.singly() if isinstance(s, WeightedFormula | Bound | Rule | Choice))
    statements = list(islice(drawable, STATEMENTS_SHOWN))
    names = list(dict.fromkeys(chain.from_iterable(map(predicates_of, statements))))
    texts = [cut(statement_text(statement), LONGEST_TEXT) for statement in statements]
    box = LETTER * max(map(len, texts), default=0) + 2 * MARGIN
    ellipse = LETTER * max(map(len, names), default=0) + 4 * MARGIN
    height = ROW * max(len(texts), len(names), 1) + 2 * MARGIN
    left = _spread(len(texts), height)
    right = dict(zip(names, _spread(len(names), height), strict=True))
    middle = MARGIN + box + GAP + ellipse / 2
    lines = (
        f"<line x1='{MARGIN + box:.0f}' y1='{left[i]:.0f}' x2='{middle - ellipse / 2:.0f}' "
        f"y2='{right[name]:.0f}' stroke='{COLOURS[_kind(statement)]}' stroke-opacity='0.6'/>"
        for i, statement in enumerate(statements)
        for name in dict.fromkeys(predicates_of(statement))
    )
    boxes = (
        f"<rect x='{MARGIN}' y='{left[i] - ROW / 2 + 3:.0f}' width='{box:.0f}' height='{ROW - 6}' rx='4' "
        f"fill='none' stroke='{COLOURS[_kind(statement)]}'/>{_text(text, MARGIN + box / 2, left[i])}"
        for i, (statement, text) in enumerate(zip(statements, texts, strict=True))
    )
    ellipses = (
        f"<ellipse cx='{middle:.0f}' cy='{y:.0f}' rx='{ellipse / 2:.0f}' ry='{ROW / 2 - 3}' fill='none' "
        f"stroke='currentColor'/>{_text(name, middle, y)}"
        for name, y in right.items()
    )
    width = 2 * MARGIN + box + GAP + ellipse
    return Drawing(
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width:.0f}' height='{height:.0f}' "
        f"font-family='monospace' font-size='12'>{''.join(chain(lines, boxes, ellipses))}</svg>"
    )


def _kind(statement: Single) -> str:
    match statement:
        case Bound():
            return "bound"
        case Rule():
            return "rule"
        case Choice():
            return "choice"
        case WeightedFormula(weight=Hard()):
            return "hard"
    return "weighted"


def _spread(count: int, height: float) -> list[float]:
    """Vertical centres of ``count`` items, evenly spread from top to bottom."""
    return [height * (2 * i + 1) / (2 * count) for i in range(count)]


def _text(text: str, x: float, y: float) -> str:
    return text_at(text, x, y + 4, "middle")


def cut(text: str, most: int) -> str:
    """The text, shortened to at most ``most`` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def in_xml(text: str) -> str:
    """The text with a replacement character for each one that XML cannot hold."""
    return _NOT_XML.sub(REPLACEMENT, text)


def text_at(text: str, x: float, y: float, anchor: str = "start") -> str:
    """SVG element of a text at a point; ``anchor`` aligns it."""
    place = f"x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='currentColor'"
    return f"<text {place}>{escape(in_xml(text))}</text>"
