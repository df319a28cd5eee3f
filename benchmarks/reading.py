"""How fast the bulk formats are read, each beside the least that any reader of the same text must do.

The limit is one pass of a bare regular expression over the tokens (for bounds), or the cutting of the text
into lines and cells (for facts), on the same text in the same run.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable

from benchmarks.measurement import Measurement

from herbrand.errors import Source
from herbrand.language.dialects.alchemy.facts import read_db
from herbrand.language.dialects.lcn.theory import read_lcn
from herbrand.language.dialects.tensorlog.facts import read_cfacts

FACTS = 1_000_000
BOUND_BYTES = 10_000_000
_CONSTANTS = 100_000
_TOKEN = re.compile(r"\w+|[^\w\s]")


def measure() -> list[Measurement]:
    draw = random.Random(1)
    bounds, db, cfacts = lcn_text(draw), db_text(draw), cfacts_text(draw)
    return [
        Measurement(
            "read .lcn",
            f"{len(bounds) / 1e6:.0f} MB",
            seconds(lambda: read_lcn(Source("bounds.lcn", bounds))),
            "bare token scan",
            seconds(lambda: _TOKEN.findall(bounds)),
        ),
        Measurement(
            "read .db",
            f"{FACTS:,} facts",
            seconds(lambda: read_db(Source("facts.db", db))),
            "split into lines and cells",
            seconds(lambda: [line.split(",") for line in db.split("\n")]),
        ),
        Measurement(
            "read .cfacts",
            f"{FACTS:,} facts",
            seconds(lambda: read_cfacts(Source("facts.cfacts", cfacts))),
            "split into lines and cells",
            seconds(lambda: [line.split("\t") for line in cfacts.split("\n")]),
        ),
    ]


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


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
