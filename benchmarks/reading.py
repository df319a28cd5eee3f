"""How fast the bulk formats are read, each beside the least that any reader of the same text must do.

The limit is one pass of a bare regular expression over the tokens (for bounds), or the cutting of the text
into lines and cells (for facts), on the same text in the same run.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from benchmarks.measurement import Measurement, race
from herbrand.language.dialects import read_theory_text

FACTS = 1_000_000
BOUND_BYTES = 10_000_000
_CONSTANTS = 100_000
_TOKEN = re.compile(r"\w+|[^\w\s]")


def measure() -> list[Measurement]:
    draw = random.Random(1)
    bounds, db, cfacts = lcn_text(draw), db_text(draw), cfacts_text(draw)
    return [
        _read("lcn", bounds, f"{len(bounds) / 1e6:.0f} MB", "bare token scan", _TOKEN.findall),
        _read("db", db, f"{FACTS:,} facts", "split into lines and cells", _cells(",")),
        _read("cfacts", cfacts, f"{FACTS:,} facts", "split into lines and cells", _cells("\t")),
    ]


def _read(dialect: str, text: str, size: str, limit_name: str, limit: Callable[[str], object]) -> Measurement:
    return race(
        f"read .{dialect}", size, lambda: read_theory_text(text, dialect), limit_name, lambda: limit(text), 3
    )


def _cells(separator: str) -> Callable[[str], object]:
    return lambda text: [line.split(separator) for line in text.split("\n")]


def lcn_text(draw: random.Random) -> str:
    """Lines as generated networks have them, ten megabytes of them."""
    lines: list[str] = []
    size = 0
    while size < BOUND_BYTES:
        a, b, c = (draw.randrange(1000) for _ in range(3))
        lower = draw.random() / 2
        line = f"s{len(lines)}: {lower:.4f} <= P(x{a} | !x{b} and !x{c}) <= {lower + 0.3:.4f}\n"
        lines.append(line)
        size += len(line)
    return "".join(lines)


def db_text(draw: random.Random) -> str:
    return "".join(
        f"Friends(P{draw.randrange(_CONSTANTS)}, P{draw.randrange(_CONSTANTS)})\n"
        if draw.random() < 0.7
        else f"!Smokes(P{draw.randrange(_CONSTANTS)})\n"
        for _ in range(FACTS)
    )


def cfacts_text(draw: random.Random) -> str:
    return "".join(
        f"edge\tn{draw.randrange(_CONSTANTS)}\tn{draw.randrange(_CONSTANTS)}\t{draw.random():.3f}\n"
        for _ in range(FACTS)
    )
