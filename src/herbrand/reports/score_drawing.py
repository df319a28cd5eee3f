"""Pictures of a score: calibration, precision over recall, and recall over the false positive rate.

>>> from herbrand.reports.metrics import Bin, Cut
>>> picture = score_drawing([("smokes", [Bin(0.0, 0.1, 4, 0.05, 0.0)], [Cut(0.9, 1, 1, 2, 2)])])
>>> picture.svg.count("<circle"), picture.svg.count("<polyline")
(1, 2)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from herbrand.language.drawing import Drawing, text_at
from herbrand.reports.metrics import Bin, Cut

SIDE, MARGIN, LINE = 200, 44, 16
"""Pixels: side of a picture's square, margin for labels, height of a line of text."""
WIDTH, HEIGHT = SIDE + 2 * MARGIN, SIDE + 2 * MARGIN
COLOUR = "#4a7ebb"
LARGEST, SMALLEST = 12.0, 2.5
"""Pixels: radius of the point of an interval with all rows, and the smallest radius."""
Group = tuple[str, Sequence[Bin], Sequence[Cut]]


def score_drawing(groups: Sequence[Group]) -> Drawing:
    """Draw three pictures for each group, which is a name, intervals of probabilities, and cuts."""
    rows = [
        part
        for place, (name, bins, cuts) in enumerate(groups)
        for column, drawn in enumerate((_calibration(name, bins), _recall(cuts), _operating(cuts)))
        for part in (f"<g transform='translate({column * WIDTH} {place * HEIGHT})'>", *drawn, "</g>")
    ]
    label = "calibration, precision over recall, and recall over the false positive rate"
    return Drawing(
        f"<svg xmlns='http://www.w3.org/2000/svg' role='img' aria-label='{label}' width='{3 * WIDTH}' "
        f"height='{HEIGHT * len(groups)}' font-family='monospace' font-size='11'>{''.join(rows)}</svg>"
    )


def score_page(table: str, heads: Sequence[str], cells: Iterable[Sequence[str]], picture: Drawing) -> str:
    """HTML page of a score, without external files."""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in cells)
    style = (
        "body{font-family:sans-serif;margin:2em}td,th{padding:2px 8px;text-align:right}svg{max-width:100%}"
    )
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>score</title>"
        f"<style>{style}</style></head><body><h1>Score</h1>{table}<h2>Calibration</h2>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{picture.svg}</body></html>\n"
    )


def _calibration(name: str, bins: Sequence[Bin]) -> Iterator[str]:
    """Calibration: a point for each interval, with an area proportional to its rows; the diagonal is
    ideal."""
    yield from _frame(name, "mean probability", "share true")
    yield _line([(0.0, 0.0), (1.0, 1.0)], "currentColor", "stroke-dasharray='4 3' stroke-opacity='0.5'")
    rows = sum(one.rows for one in bins)
    for one in bins:
        x, y = _place(one.probability, one.truth)
        radius = max(SMALLEST, LARGEST * math.sqrt(one.rows / rows))
        words = f"{one.rows:,} rows of {one.lower:g} to {one.upper:g}: mean {one.probability:.3f}, true "
        yield (
            f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius:.1f}' fill='{COLOUR}' fill-opacity='0.8'>"
            f"<title>{words}{one.truth:.3f}</title></circle>"
        )


def _recall(cuts: Sequence[Cut]) -> Iterator[str]:
    """Precision over recall, as steps, since precision is constant between two thresholds."""
    yield from _frame("", "recall", "precision")
    points: list[tuple[float, float]] = []
    for one in cuts:
        if one.true and one.rows:
            points += [(points[-1][0] if points else 0.0, one.precision), (one.recall, one.precision)]
    yield _line(points, COLOUR)


def _operating(cuts: Sequence[Cut]) -> Iterator[str]:
    yield from _frame("", "false positive rate", "recall")
    if cuts and cuts[0].true and cuts[0].false:
        points = [(0.0, 0.0), *((one.false_positive_rate, one.recall) for one in cuts)]
        yield _line(points, COLOUR)
    else:
        yield _words("all rows are of one truth", MARGIN + SIDE / 2, MARGIN + SIDE / 2)


def _frame(name: str, below: str, beside: str) -> Iterator[str]:
    yield (
        f"<rect x='{MARGIN}' y='{MARGIN}' width='{SIDE}' height='{SIDE}' fill='none' "
        "stroke='currentColor' stroke-opacity='0.4'/>"
    )
    yield _words(name, MARGIN + SIDE / 2, MARGIN - LINE)
    yield _words(below, MARGIN + SIDE / 2, MARGIN + SIDE + 2 * LINE)
    yield _words(f"{beside} (upwards)", MARGIN + SIDE / 2, MARGIN - LINE / 4)
    for share in (0.0, 0.5, 1.0):
        x, y = _place(share, share)
        yield _words(f"{share:g}", x, MARGIN + SIDE + LINE)
        yield _words(f"{share:g}", MARGIN - LINE, y + LINE / 4)


def _place(x: float, y: float) -> tuple[float, float]:
    return MARGIN + SIDE * x, MARGIN + SIDE * (1 - y)


def _line(points: Sequence[tuple[float, float]], colour: str, more: str = "") -> str:
    if not points:
        return ""
    if len(points) == 2 and more:
        (x1, y1), (x2, y2) = (_place(*point) for point in points)
        return f"<line x1='{x1}' y1='{y1}' x2='{x2}' y2='{y2}' stroke='{colour}' {more}/>"
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in (_place(*point) for point in points))
    return f"<polyline points='{places}' fill='none' stroke='{colour}' stroke-width='1.5' {more}/>"


def _words(text: str, x: float, y: float) -> str:
    return text_at(text, x, y, "middle")
