"""A result as one HTML page that needs no server, no script and no other file.

>>> page = result_page({"marginals": [{"atom": "rain", "probability": 0.25}]}, "0.5: rain", "Rain")
>>> "rain" in page and "0.2500" in page and "<script src" not in page
True
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

Cells = Sequence[str]
Rows = tuple[Cells, list[tuple[Cells, tuple[float, float] | None]]]
"""A table: heads, and rows of cells with the ends of a bar between 0 and 1 (``None``: no bar)."""
TOLD = (
    "engine",
    "guarantee",
    "converged",
    "iterations",
    "seconds",
    "log_partition",
    "log_partition_guarantee",
    "method",
    "subject",
    "quantity",
    "value",
    "base",
    "remainder",
    "truncated",
    "note",
    "advice",
)


def result_page(answer: Mapping[str, Any], theory: str, title: str) -> str:
    """Build the page. ``answer``: a JSON object as the command line writes it, which the page also shows
    whole."""
    facts = "".join(
        f"<dt>{_text(name.replace('_', ' '))}</dt><dd>{_text(_shown(answer[name]))}</dd>"
        for name in TOLD
        if answer.get(name) not in (None, "")
    )
    tables = "".join(_table(caption, rows) for caption, rows in _tables(answer))
    whole = json.dumps(answer, ensure_ascii=False, indent=1)
    return PAGE.format(
        title=_text(title), facts=facts, tables=tables, theory=_text(theory), answer=_text(whole)
    )


def _tables(answer: Mapping[str, Any]) -> list[tuple[str, Rows]]:
    tables: list[tuple[str, Rows]] = []
    for key, columns in COLUMNS.items():
        rows = answer.get(key)
        if isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows):
            tables.append((key.replace("_", " "), _rows(rows, columns)))
    for end in ("lower", "upper"):
        if isinstance(answer.get(end), Mapping):
            tables += [(f"{end}: {caption}", rows) for caption, rows in _tables(answer[end])]
    return tables


COLUMNS: dict[str, tuple[str, ...]] = {
    "marginals": (),
    "bounds": ("query", "lower", "upper", "certified"),
    "answers": ("bindings", "weight"),
    "reasons": ("contribution", "statement", "grounding"),
    "weights": ("weight", "standard_error", "statement", "constants"),
    "engines": ("engine", "guarantee", "seconds", "log_partition", "largest_difference"),
    "failures": ("engine", "reason"),
    "worlds": ("true", "values", "log_weight"),
}
"""Lists of an answer and their columns; an empty tuple means all columns of the rows, except ``LEFT_OUT``."""
LEFT_OUT = ("predicate", "arguments")


def _rows(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> Rows:
    names = columns or tuple(name for name in rows[0] if name not in LEFT_OUT)
    used = [name for name in names if any(row.get(name) is not None for row in rows)]
    return used, [([_shown(row.get(name)) for name in used], _bar(row)) for row in rows]


def _bar(row: Mapping[str, Any]) -> tuple[float, float] | None:
    ends = (0.0, row["probability"]) if "probability" in row else (row.get("lower"), row.get("upper"))
    low, high = ends
    if isinstance(low, int | float) and isinstance(high, int | float) and 0 <= low <= high <= 1:
        return low, high
    return None


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e6 else f"{value:.3e}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {json.dumps(each, ensure_ascii=False)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)


def _text(text: str) -> str:
    return html.escape(text)


def _table(caption: str, rows: Rows) -> str:
    heads, body = rows
    bars = any(bar is not None for _, bar in body)
    head = "".join(f"<th scope=col>{_text(name.replace('_', ' '))}</th>" for name in heads)
    lines = "".join(f"<tr>{_cells(cells)}{_drawn(bar) if bars else ''}</tr>" for cells, bar in body)
    head += "<td></td>" if bars else ""
    return (
        f"<table><caption>{_text(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{lines}</tbody></table>"
    )


def _cells(cells: Cells) -> str:
    return "".join(f"<td>{_text(cell)}</td>" for cell in cells)


def _drawn(bar: tuple[float, float] | None) -> str:
    if bar is None:
        return "<td></td>"
    left, width = 100 * bar[0], max(100 * (bar[1] - bar[0]), 0.5)
    return f'<td class=bar aria-hidden=true><i style="margin-left:{left:.1f}%;width:{width:.1f}%"></i></td>'


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
table {{ border-collapse: collapse; margin: 1.5rem 0; width: 100%; }}
caption {{ text-align: left; font-weight: 600; }}
td, th {{ text-align: left; padding: .2rem .7rem .2rem 0; vertical-align: top; }}
tr {{ border-bottom: 1px solid #8884; }}
td {{ font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }}
.bar {{ width: 12rem; }} .bar i {{ display: block; height: .7rem; margin-top: .4rem; background: #3b7dd8; }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; }} dd {{ margin: 0; }}
pre {{ overflow: auto; padding: 1rem; border: 1px solid #8884; }}
</style></head>
<body><h1>{title}</h1>
<dl>{facts}</dl>
{tables}
<h2>Theory</h2><pre>{theory}</pre>
<details><summary>The answer as JSON</summary><pre>{answer}</pre></details>
<p>Made with Herbrand.</p></body></html>
"""
