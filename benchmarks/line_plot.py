"""Curves over steps as a small SVG picture, on a scale of powers of ten.

>>> line_plot("halves", "step", "left", {"a": [1.0, 0.5, 0.25]}).count("<polyline")
1
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 460, 260
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 34, 40
INKS = ("#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad")


def line_plot(
    title: str,
    across: str,
    up: str,
    curves: Mapping[str, Sequence[float]],
    least: float = 1e-9,
    marks: Sequence[str] | None = None,
) -> str:
    """The curves by name, one value a step from step 1 on; what is below ``least`` is drawn there.

    ``marks``: what the steps are called, their numbers if None.
    """
    steps = max(map(len, curves.values()))
    bottom = math.floor(math.log10(least))
    top = math.ceil(math.log10(max(least * 10, *(max(curve) for curve in curves.values()))))

    def place(step: int, value: float) -> tuple[float, float]:
        share = (math.log10(max(value, least)) - bottom) / (top - bottom)
        x = LEFT + (WIDTH - LEFT - RIGHT) * (step - 1) / max(steps - 1, 1)
        return x, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(WIDTH / 2, 16, title, 12),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, f"{across}; {up}, powers of ten"),
    ]
    for power in range(bottom, top + 1, max(1, (top - bottom) // 5)):
        x, y = place(1, 10.0**power)
        parts.append(f'<line x1="{x}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(_text(x - 26, y + 4, f"1e{power}"))
    marks = marks or [str(step) for step in range(1, steps + 1)]
    parts += [_text(place(step, least)[0], HEIGHT - 24, mark) for step, mark in enumerate(marks, 1)]
    for (name, curve), ink in zip(curves.items(), INKS, strict=False):
        places = [place(step, value) for step, value in enumerate(curve, 1)]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{ink}" stroke-width="1.8"/>')
        line = TOP + 14 * list(curves).index(name)
        parts.append(_text(WIDTH - RIGHT - 60, line, name, ink=ink))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _text(x: float, y: float, text: str, size: int = 11, ink: str = "black") -> str:
    shown = escape(text)
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" font-size="{size}" fill="{ink}">{shown}</text>'
    )
