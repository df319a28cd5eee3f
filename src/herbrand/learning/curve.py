"""How training went, as a picture: the watched value by step.

>>> steps = [Progress(1, 3, "loss", 0.9), Progress(2, 3, "loss", 0.5), Progress(3, 3, "loss", 0.4)]
>>> picture(steps).count(","), "loss" in picture(steps)
(3, True)
>>> picture(steps[:1])
''
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from herbrand.learning.settings import Progress

WIDTH, HEIGHT, MARGIN = 420, 140, 24
POINTS = 400
"""Longer curves are thinned to about this many points."""


def picture(curve: Sequence[Progress]) -> str:
    """An SVG; empty where there is no line to draw."""
    finite = [p for p in curve if math.isfinite(p.value)]
    shown = finite[:: max(1, len(finite) // POINTS)]
    if len(shown) < 2:
        return ""
    first, last = shown[0].step, shown[-1].step
    low, high = min(p.value for p in shown), max(p.value for p in shown)
    across = (WIDTH - 2 * MARGIN) / max(last - first, 1)
    up = (HEIGHT - 2 * MARGIN) / ((high - low) or 1.0)
    points = " ".join(
        f"{MARGIN + across * (p.step - first):.1f},{HEIGHT - MARGIN - up * (p.value - low):.1f}"
        for p in shown
    )
    words = (
        (MARGIN, MARGIN - 8, f"{shown[0].metric} {high:.4g}"),
        (MARGIN, HEIGHT - 6, f"{low:.4g}; steps {first} to {last}"),
    )
    texts = "".join(
        f"<text x='{x}' y='{y}' fill='currentColor'>{escape(text)}</text>" for x, y, text in words
    )
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}' font-size='11'>"
        f"<polyline points='{points}' fill='none' stroke='#4a7ebb' stroke-width='1.5'/>{texts}</svg>"
    )
