"""Plot of a training run: the watched value by step.

>>> steps = [Progress(1, 3, "loss", 0.9), Progress(2, 3, "loss", 0.5), Progress(3, 3, "loss", 0.4)]
>>> picture(steps).count(","), "loss" in picture(steps)
(3, True)
>>> picture(steps[:1])
''
>>> lines("F1", {"without": [0.5, 0.6], "with": [0.5, 0.8]}).count("<polyline")
2
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import cycle

from herbrand.learning.settings import Progress

WIDTH, HEIGHT, MARGIN = 420, 140, 24
INKS = ("#4a7ebb", "#c0504d", "#5b8c3e")
POINTS = 400
"""Longer curves are thinned to about this many points."""


def picture(curve: Sequence[Progress]) -> str:
    """The plot as SVG; empty if there are fewer than two finite values."""
    finite = [p for p in curve if math.isfinite(p.value)]
    shown = finite[:: max(1, len(finite) // POINTS)]
    if len(shown) < 2:
        return ""
    return _drawn(shown[0].metric, {"": [(p.step, p.value) for p in shown]})


def lines(metric: str, curves: Mapping[str, Sequence[float]]) -> str:
    """An SVG of several curves by name, each with one finite value for each step, from step 1 on."""
    return _drawn(metric, {name: list(enumerate(values, 1)) for name, values in curves.items()})


def _drawn(metric: str, curves: Mapping[str, Sequence[tuple[int, float]]]) -> str:
    """The plot of points (step, value) of each curve; a curve's name is written at its end."""
    steps = [step for points in curves.values() for step, _ in points]
    values = [value for points in curves.values() for _, value in points]
    first, last, low, high = min(steps), max(steps), min(values), max(values)
    across = (WIDTH - 2 * MARGIN) / max(last - first, 1)
    up = (HEIGHT - 2 * MARGIN) / ((high - low) or 1.0)

    def place(step: int, value: float) -> tuple[float, float]:
        return MARGIN + across * (step - first), HEIGHT - MARGIN - up * (value - low)

    words = [
        (MARGIN, MARGIN - 8, "start", "currentColor", f"{metric} {high:.4g}"),
        (MARGIN, HEIGHT - 6, "start", "currentColor", f"{low:.4g}; steps {first} to {last}"),
    ]
    parts = []
    for (name, points), ink in zip(curves.items(), cycle(INKS)):
        path = " ".join("{:.1f},{:.1f}".format(*place(*point)) for point in points)
        parts.append(f"<polyline points='{path}' fill='none' stroke='{ink}' stroke-width='1.5'/>")
        if name:
            x, y = place(*points[-1])
            words.append((round(x), round(y) - 4, "end", ink, name))
    texts = "".join(
        f"<text x='{x}' y='{y}' fill='{ink}' text-anchor='{anchor}'>{escape(text)}</text>"
        for x, y, anchor, ink, text in words
    )
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}' font-size='11'>"
        f"{''.join(parts)}{texts}</svg>"
    )
