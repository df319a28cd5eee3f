"""Bounds by interval messages: time against size, error against exact bounds, and many observed features.

The classes, sizes and figures are those of the ARIEL paper's tables 1, 2 and 4; the networks are our own.
"""

from __future__ import annotations

import importlib.util
import random
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import herbrand as hb
from benchmarks import credal_networks
from herbrand.errors import HerbrandError

SIZES = {1_000: 820.73, 10_000: 8509.23, 100_000: 89668.61}
LARGEST = 1_000_000
FORMULAS = (10_000, 100_000)
COMPARED = {"polytree": (5, 6, 7), "dag": (5, 6, 7), "cyclic": (5,)}
INSTANCES = 10
PASSES = (1, 2, 3, 5, 10)
CHEMISTRY = {10: 324.51, 20: 322.01, 50: 329.58, 100: 339.47, 200: 362.70, 500: 410.43}
FEATURES = 985


def report(largest: int = LARGEST) -> str:
    """Markdown tables."""
    timed(credal_networks.cyclic(100, 0))  # so that loading compiled code is not counted
    return "\n\n".join([scaling(largest), errors(), convergence(), chemistry()])


def timed(text: str) -> tuple[float, float, int, int]:
    """Seconds from the file to the bounds, seconds of them in messages, statements, passes."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "network.lcn"
        path.write_text(text)
        began = time.perf_counter()
        theory = hb.read(path)
        answer = hb.Model(theory).bound(engine="ariel")
        return (
            time.perf_counter() - began,
            answer.status.seconds,
            len(theory.bounds),
            answer.status.iterations,
        )


def scaling(largest: int) -> str:
    lines = [
        "| class | atoms | sentences | seconds with file | of them messages | passes | paper, seconds |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for n in (*SIZES, *([largest] if largest > max(SIZES) else [])):
        whole, messages, sentences, passes = timed(credal_networks.cyclic(n, 0))
        paper = f"{SIZES[n]:,.0f}" if n in SIZES else ""
        lines.append(
            f"| random | {n:,} | {sentences:,} | {whole:.2f} | {messages:.2f} | {passes} | {paper} |"
        )
    for n in FORMULAS:
        whole, messages, sentences, passes = timed(formulas(n, 0))
        lines.append(
            f"| formulas of three atoms | {n:,} | {sentences:,} | {whole:.2f} | {messages:.2f} | {passes} | |"
        )
    return "\n".join(lines)


def formulas(n: int, seed: int) -> str:
    """Sentences on three atoms each with "and", "or" and "xor", around hidden independent atoms."""
    rng = random.Random(f"formulas {n} {seed}")
    alone = [rng.uniform(0.2, 0.8) for _ in range(n)]
    lines = []
    for i in range(n):
        j, k = _others(i, n, rng)
        a, b, c = alone[i], alone[j], alone[k]
        joined, chance = rng.choice(
            [("and", b * c), ("or", b + c - b * c), ("xor", b * (1 - c) + c * (1 - b))]
        )
        said, value = rng.choice(
            [
                (f"x{i} | x{j} {joined} x{k}", a),
                (f"x{i} or x{j} | x{k}", a + b - a * b),
                (f"x{i} and (x{j} {joined} x{k})", a * chance),
            ]
        )
        low, high = max(0.0, value - rng.uniform(0, 0.3)), min(1.0, value + rng.uniform(0, 0.3))
        lines.append(f"s{i}: {low:.6f} <= P({said}) <= {high:.6f}")
    return "\n".join(lines)


def _others(i: int, n: int, rng: random.Random) -> tuple[int, int]:
    j, k = (other + (other >= i) for other in rng.sample(range(n - 1), 2))
    return j, k


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
    found: dict[str, list[float]] = {"sound": [], "paper": []}
    infeasible = 0
    for seed in range(INSTANCES):
        exact, texts = _exact(kind, n, seed)
        for mode in found:
            try:
                answer = _model(texts).bound(engine="ariel", mode=mode)
            except HerbrandError:
                infeasible += 1
                continue
            found[mode] += [
                signed
                for row in answer.rows()
                if row.query in exact
                for signed in (exact[row.query][0] - row.lower, row.upper - exact[row.query][1])
            ]
    cells = [f"{np.abs(f).mean():.4f}, {np.abs(f).max():.4f}" for f in map(np.array, found.values())]
    narrow = int((np.array(found["paper"]) < -1e-3).sum())
    return f"| {kind} | {n} | {len(found['sound'])} | {cells[0]} | {cells[1]} | {narrow} | {infeasible} |"


def _exact(kind: str, n: int, seed: int) -> tuple[dict[str, tuple[float, float]], str]:
    """The proved intervals of a network and its text."""
    text = getattr(credal_networks, kind)(n, seed)
    answer = _model(text).bound(engine="exact", time_limit=30.0)
    return {row.query: (row.lower, row.upper) for row in answer.rows() if not row.gap}, text


def _model(text: str) -> hb.Model:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "network.lcn"
        path.write_text(text)
        return hb.Model(hb.read(path))


def convergence() -> str:
    """The mean width of intervals over passes; at every pass they are outer bounds."""
    lines = [
        f"| class | atoms | {' | '.join(f'{p} passes' for p in PASSES)} |",
        f"| --- | ---: |{' ---: |' * len(PASSES)}",
    ]
    for kind, n in (("polytree", 6), ("dag", 6), ("cyclic", 1000)):
        model = _model(getattr(credal_networks, kind)(n, 0))
        widths = []
        for passes in PASSES:
            answer = model.bound(engine="ariel", iterations=passes)
            widths.append(f"{(answer.upper - answer.lower).mean():.6f}")
        lines.append(f"| {kind} | {n:,} | {' | '.join(widths)} |")
    return "\n".join(lines)


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
        began = time.perf_counter()
        (row,) = model.bound(f"P(y | {shape.observed(FEATURES, count)})", engine="ariel").rows()
        seconds = time.perf_counter() - began
        lines.append(f"| {count} | {seconds:.2f} | {row.upper - row.lower:.4f} | {paper:.2f} |")
    return "\n".join(lines)
