"""Exact probability bounds: how long a network takes, and how many of its bounds are proved.

The classes and sizes of the ARIEL paper's table 1, and larger ones. The paper's figures are seconds a network
by interior points, whose answers are local optima; ours are proved.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import herbrand as hb
from benchmarks import credal_networks
from herbrand.language.dialects import read_theory_text

PAPER = {
    "polytree": {5: 0.38, 6: 0.76, 7: 4.94, 8: 64.96, 9: 837.52, 10: 4252.04},
    "dag": {5: 9.12, 6: 5.63, 7: 193.07, 8: 3625.37, 9: 7251.62, 10: 17195.05},
    "cyclic": {5: 9.48, 6: 3.98},
}
LARGER = {"polytree": (15, 20, 30), "dag": (15, 20)}
INSTANCES, LARGER_INSTANCES = 5, 3
SECONDS_A_NETWORK = {"cyclic": 20.0}
SECONDS_A_LARGER_NETWORK = 60.0
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Run:
    """What became of the bounds of one network."""

    seconds: float
    bounds: int
    proved: int
    gap: float


def solved(kind: str, n: int, seed: int, seconds: float) -> Run:
    """All bounds of one random network within a time limit."""
    text = getattr(credal_networks, kind)(n, seed)
    model = hb.Model(read_theory_text(text, "lcn"))
    began = time.perf_counter()
    answer = model.bound(engine="exact", time_limit=seconds, tolerance=TOLERANCE)
    gaps = [row.gap or 0.0 for row in answer.rows()]
    return Run(time.perf_counter() - began, len(gaps), sum(gap == 0 for gap in gaps), max(gaps))


def report() -> str:
    """A Markdown table, a row a class and size."""
    solved("dag", 5, 0, 5.0)  # so that loading SCIP is not counted
    lines = [
        "| class | atoms | networks | seconds a network | paper (s) | intervals proved | largest gap |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for kind, sizes in PAPER.items():
        for n, paper in sizes.items():
            limit = SECONDS_A_NETWORK.get(kind, SECONDS_A_LARGER_NETWORK)
            lines.append(_row(kind, n, INSTANCES, limit, f"{paper:,.2f}"))
    for kind, larger in LARGER.items():
        lines += [_row(kind, n, LARGER_INSTANCES, SECONDS_A_LARGER_NETWORK, "") for n in larger]
    return "\n".join(lines)


def _row(kind: str, n: int, instances: int, limit: float, paper: str) -> str:
    runs = [solved(kind, n, seed, limit) for seed in range(instances)]
    seconds = sum(run.seconds for run in runs) / len(runs)
    proved, bounds = sum(run.proved for run in runs), sum(run.bounds for run in runs)
    gap = max(run.gap for run in runs)
    name = "random" if kind == "cyclic" else kind
    told = f"{gap:.1e}" if gap else "0"
    return f"| {name} | {n} | {instances} | {seconds:.2f} | {paper} | {proved} of {bounds} | {told} |"
