"""Small Bayesian networks known from textbooks, their tables widened to intervals at random.

Asia: Lauritzen and Spiegelhalter, 1988. Cancer and Earthquake: Korb and Nicholson, Bayesian Artificial
Intelligence. An entry p becomes an interval of random width that holds p. ``alarm_like`` is our own, of the
size and shape of ALARM (Beinlich and others, 1989): 37 atoms, 46 links, 12 roots, up to four parents.
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
NAMES = ("asia", "cancer", "earthquake", "alarm_like")
PARENT_COUNTS = {0: 12, 1: 11, 2: 9, 3: 3, 4: 2}
"""How many atoms of ``alarm_like`` have so many parents."""
NEAR = 6
"""Its parents are among so many atoms before."""
WIDEST = 0.3


def asia(n: int, seed: int) -> str:
    """An ``.lcn`` text; there is only one size, of eight atoms."""
    return _widened("asia", ASIA, n, seed)


def cancer(n: int, seed: int) -> str:
    return _widened("cancer", CANCER, n, seed)


def earthquake(n: int, seed: int) -> str:
    return _widened("earthquake", EARTHQUAKE, n, seed)


def alarm_like(n: int, seed: int) -> str:
    """Always the same network; ``seed`` chooses the intervals."""
    return _widened("alarm_like", _alarm_like(), n, seed)


def _alarm_like() -> Tables:
    """Six roots first; every later atom has its parents near it, as the monitors of a patient do."""
    rng = random.Random("alarm_like")
    counts = [count for count, several in PARENT_COUNTS.items() for _ in range(several)]
    early, late = counts[:6], counts[6:]
    rng.shuffle(late)
    tables: Tables = {}
    for atom, wanted in enumerate(early + late):
        near = [f"m{other}" for other in range(max(0, atom - NEAR), atom)]
        parents = tuple(sorted(rng.sample(near, wanted), key=lambda name: int(name[1:])))
        tables[f"m{atom}"] = parents, tuple(rng.uniform(0.02, 0.98) for _ in range(2**wanted))
    return tables


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
