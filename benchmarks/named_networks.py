"""Small Bayesian networks known from textbooks, their tables widened to intervals at random.

Asia: Lauritzen and Spiegelhalter, 1988. Cancer and Earthquake: Korb and Nicholson, Bayesian Artificial
Intelligence. An entry p becomes an interval of random width that holds p.
"""

from __future__ import annotations

import itertools
import random

Tables = dict[str, tuple[tuple[str, ...], tuple[float, ...]]]
"""Parents of each atom, and its probability in each case of them, all false first."""

ASIA: Tables = {
    "asia": ((), (0.01,)),
    "tub": (("asia",), (0.01, 0.05)),
    "smoke": ((), (0.5,)),
    "lung": (("smoke",), (0.01, 0.1)),
    "bronc": (("smoke",), (0.3, 0.6)),
    "either": (("lung", "tub"), (0.0, 1.0, 1.0, 1.0)),
    "xray": (("either",), (0.05, 0.98)),
    "dysp": (("bronc", "either"), (0.1, 0.7, 0.8, 0.9)),
}
CANCER: Tables = {
    "pollution": ((), (0.1,)),
    "smoker": ((), (0.3,)),
    "cancer": (("pollution", "smoker"), (0.001, 0.03, 0.02, 0.05)),
    "xray": (("cancer",), (0.2, 0.9)),
    "dysp": (("cancer",), (0.3, 0.65)),
}
EARTHQUAKE: Tables = {
    "burglary": ((), (0.01,)),
    "earthquake": ((), (0.02,)),
    "alarm": (("burglary", "earthquake"), (0.001, 0.29, 0.94, 0.95)),
    "john": (("alarm",), (0.05, 0.9)),
    "mary": (("alarm",), (0.01, 0.7)),
}
NAMES = ("asia", "cancer", "earthquake")
WIDEST = 0.3


def asia(n: int, seed: int) -> str:
    """An ``.lcn`` text; there is only one size, of eight atoms."""
    return _widened("asia", ASIA, n, seed)


def cancer(n: int, seed: int) -> str:
    return _widened("cancer", CANCER, n, seed)


def earthquake(n: int, seed: int) -> str:
    return _widened("earthquake", EARTHQUAKE, n, seed)


def _widened(name: str, tables: Tables, n: int, seed: int) -> str:
    assert n == len(tables), f"{name} has {len(tables)} atoms"
    rng = random.Random(f"{name} {seed}")
    lines = []
    for atom, (parents, table) in tables.items():
        for case, value in zip(itertools.product((False, True), repeat=len(parents)), table, strict=True):
            signed = [p if holds else f"!{p}" for p, holds in zip(parents, case, strict=True)]
            given = f" | {' and '.join(signed)}" if signed else ""
            lower = max(0.0, value - rng.random() * WIDEST / 2)
            upper = min(1.0, value + rng.random() * WIDEST / 2)
            lines.append(f"s{len(lines) + 1}: {lower:.4f} <= P({atom}{given}) <= {upper:.4f}\n")
    return "".join(lines)
