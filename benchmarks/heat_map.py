"""Heat maps as small SVG pictures: divergence by domain size and deviation, on a scale of powers of ten."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

SIDE = 56
LEFT, TOP = 60, 40
BEST, WORST = 1e-8, 1.0


def heat_map(
    title: str, columns: Sequence[float], rows: Sequence[float], values: Sequence[Sequence[float]]
) -> str:
    """``values`` [row][column]; the darker the worse. Rows from the bottom up."""
    width, height = LEFT + SIDE * len(columns) + 10, TOP + SIDE * len(rows) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        _text(width / 2, 18, title, 12),
    ]
    for r, (row, line) in enumerate(zip(rows, values, strict=True)):
        y = TOP + SIDE * (len(rows) - 1 - r)
        parts.append(_text(LEFT - 22, y + SIDE / 2 + 4, f"σ {row}"))
        for c, value in enumerate(line):
            parts += _cell(LEFT + SIDE * c, y, value)
    for c, column in enumerate(columns):
        parts.append(_text(LEFT + SIDE * (c + 0.5), TOP + SIDE * len(rows) + 16, f"{column}"))
    parts.append(_text(LEFT + SIDE * len(columns) / 2, TOP + SIDE * len(rows) + 32, "constants"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _cell(x: float, y: float, value: float) -> list[str]:
    share = _share(value)
    red, green, blue = (round(255 - share * (255 - end)) for end in (140, 20, 40))
    ink = "white" if share > 0.6 else "black"
    box = f'<rect x="{x}" y="{y}" width="{SIDE - 2}" height="{SIDE - 2}" fill="rgb({red},{green},{blue})"/>'
    return [box, _text(x + SIDE / 2 - 1, y + SIDE / 2 + 4, f"{abs(value):.0e}", 11, ink)]


def _share(value: float) -> float:
    """Where on the scale: 0 for the best, 1 for the worst."""
    clipped = min(max(value, BEST), WORST)
    return math.log(clipped / BEST) / math.log(WORST / BEST)


def _text(x: float, y: float, text: str, size: int = 11, ink: str = "black") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="middle" font-size="{size}" fill="{ink}">{escape(text)}</text>'
