"""Exact probability bounds: how long a network takes, and how many of its bounds are proved.

The classes and sizes of the ARIEL paper's table 1. The paper's figures are seconds a network by interior
points, whose answers are local optima; ours are proved. Seconds are the processor's.
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
INSTANCES = 10
SECONDS_A_NETWORK = {"polytree": 30.0, "dag": 30.0, "cyclic": 20.0}
TOLERANCE = 1e-5
SECONDS = "Times are processor seconds."


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
    began = time.process_time()
    answer = model.bound(engine="exact", time_limit=seconds, tolerance=TOLERANCE)
    gaps = [row.gap or 0.0 for row in answer.rows()]
    proved = sum(gap <= TOLERANCE for gap in gaps)
    return Run(time.process_time() - began, len(gaps), proved, max(gaps))


def report() -> str:
    """A Markdown table, a row a class and size."""
    sizes = {kind: tuple(paper) for kind, paper in PAPER.items()}
    return solved_table(sizes, INSTANCES, SECONDS_A_NETWORK)


def solved_table(sizes: dict[str, tuple[int, ...]], instances: int, seconds: dict[str, float]) -> str:
    """A row for each class and size; ``seconds`` is the time limit of a network."""
    solved("dag", 5, 0, 5.0)  # so that loading is not counted
    lines = [
        f"{SECONDS} Each search has a limit of elapsed time; intervals that are not proved to {TOLERANCE:g} "
        "by then have a gap.",
        "",
        "| class | atoms | networks | seconds a network | paper (s) | intervals proved | largest gap |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [_row(kind, n, instances, seconds[kind]) for kind, several in sizes.items() for n in several]
    return "\n".join(lines)


def _row(kind: str, n: int, instances: int, limit: float) -> str:
    runs = [solved(kind, n, seed, limit) for seed in range(instances)]
    seconds = sum(run.seconds for run in runs) / len(runs)
    proved, bounds = sum(run.proved for run in runs), sum(run.bounds for run in runs)
    gap = max(run.gap for run in runs)
    name = "random" if kind == "cyclic" else kind
    paper = f"{PAPER[kind][n]:,.2f}" if n in PAPER[kind] else ""
    told = f"{gap:.1e}" if gap > TOLERANCE else "0"
    return f"| {name} | {n} | {instances} | {seconds:.2f} | {paper} | {proved} of {bounds} | {told} |"
