"""Bounds by interval messages: error against exact bounds, passes, and many observed features.

The classes, sizes and figures are those of the ARIEL paper's tables 1, 3 and 4; the networks are our own.
"""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np

import herbrand as hb
from benchmarks import credal_networks, named_networks
from benchmarks.bounds import SECONDS, TOLERANCE
from benchmarks.line_plot import line_plot
from herbrand.errors import HerbrandError

COMPARED = {
    "polytree": (5, 6, 7, 8, 9, 10),
    "dag": (5, 6, 7, 8, 9, 10),
    "cyclic": (5, 6),
    "asia": (8,),
    "cancer": (5,),
    "earthquake": (5,),
    "alarm_like": (37,),
}
NAMED = {"cyclic": "random", "alarm_like": "alarm-like"}
INSTANCES = 10
SECONDS_A_NETWORK = 8.0
PASSES = (1, 2, 3, 4, 5, 6, 8, 10)
CONVERGING = {"polytree": 1000, "dag": 1000, "cyclic": 1000}
PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "bounds-convergence.svg"
CHEMISTRY = {10: 324.51, 20: 322.01, 50: 329.58, 100: 339.47, 200: 362.70, 500: 410.43}
FEATURES = 985


def report() -> str:
    """Markdown tables."""
    proved = f"Errors are measured at the ends that the exact engine proves in {SECONDS_A_NETWORK:.0f} s."
    return "\n\n".join([f"{proved} {SECONDS}", errors(), convergence(), chemistry()])


def errors() -> str:
    """Mean absolute errors of both modes beside exact bounds, and how often paper mode fails."""
    lines = [
        "| class | atoms | proved ends | sound: mean error, largest | paper: mean error, largest | "
        "paper: ends too narrow | paper: networks called infeasible |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for kind, sizes in COMPARED.items():
        lines += [_error_row(kind, n) for n in sizes]
    return "\n".join(lines)


def _error_row(kind: str, n: int) -> str:
    found: dict[Literal["sound", "paper"], list[float]] = {"sound": [], "paper": []}
    infeasible = 0
    for seed in range(INSTANCES):
        exact, texts = _exact(kind, n, seed)
        for mode in found:
            try:
                answer = _model(texts).bound(engine="ariel", mode=mode)
            except HerbrandError:
                if mode == "sound":
                    raise
                infeasible += 1
                continue
            found[mode] += [
                signed
                for row in answer.rows()
                if row.query in exact
                for signed in (exact[row.query][0] - row.lower, row.upper - exact[row.query][1])
            ]
    cells = [f"{np.abs(f).mean():.4f}, {np.abs(f).max():.4f}" if f else "none" for f in found.values()]
    narrow = int((np.array(found["paper"]) < -1e-3).sum())
    name, ends = NAMED.get(kind, kind), len(found["sound"])
    return f"| {name} | {n} | {ends} | {cells[0]} | {cells[1]} | {narrow} | {infeasible} |"


def _exact(kind: str, n: int, seed: int) -> tuple[dict[str, tuple[float, float]], str]:
    """The proved intervals of a network and its text."""
    networks = named_networks if kind in named_networks.NAMES else credal_networks
    text = getattr(networks, kind)(n, seed)
    answer = _model(text).bound(engine="exact", time_limit=SECONDS_A_NETWORK)
    proved = (row for row in answer.rows() if (row.gap or 0.0) <= TOLERANCE)
    return {row.query: (row.lower, row.upper) for row in proved}, text


def _model(text: str) -> hb.Model:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "network.lcn"
        path.write_text(text)
        return hb.Model(hb.read(path))


def convergence() -> str:
    """The mean width of intervals over passes, as a table and a picture; all are outer bounds."""
    lines = [
        f"| class | atoms | {' | '.join(f'pass {p}' for p in PASSES)} |",
        f"| --- | ---: |{' ---: |' * len(PASSES)}",
    ]
    curves = {}
    for kind, n in CONVERGING.items():
        widths = _widths(kind, n)
        curves[NAMED.get(kind, kind)] = [width - widths[-1] for width in widths[:-1]]
        told = " | ".join(f"{widths[p - 1]:.6f}" for p in PASSES)
        lines.append(f"| {NAMED.get(kind, kind)} | {n:,} | {told} |")
    title = "How far intervals are from rest, pass by pass (1,000 atoms)"
    PICTURE.write_text(line_plot(title, "passes", "mean width above that at rest", curves))
    return "\n".join([*lines, "", f"![{title}](pictures/{PICTURE.name})"])


def _widths(kind: str, n: int) -> list[float]:
    """The mean width after each pass, and last of all at rest."""
    model = _model(getattr(credal_networks, kind)(n, 0))
    found = [
        model.bound(engine="ariel", iterations=passes, tolerance=0.0) for passes in range(1, max(PASSES) + 1)
    ]
    rest = model.bound(engine="ariel", tolerance=0.0)
    return [float((answer.upper - answer.lower).mean()) for answer in (*found, rest)]


def chemistry() -> str:
    """One class, 985 features and six rules, k observed."""
    place = Path(__file__).parents[1] / "examples" / "chemistry_bounds" / "generate.py"
    spec = importlib.util.spec_from_file_location("chemistry", place)
    assert spec is not None and spec.loader is not None
    shape = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shape)
    model = hb.Model(hb.parse("\n".join(shape.theory(FEATURES))))
    model.bound("P(y)", engine="ariel")
    lines = [
        "| observed features | seconds | width of P(y \\| observed) | paper, seconds |",
        "| ---: | ---: | ---: | ---: |",
    ]
    for count, paper in CHEMISTRY.items():
        began = time.process_time()
        (row,) = model.bound(f"P(y | {shape.observed(FEATURES, count)})", engine="ariel").rows()
        seconds = time.process_time() - began
        lines.append(f"| {count} | {seconds:.2f} | {row.upper - row.lower:.4f} | {paper:.2f} |")
    return "\n".join(lines)
