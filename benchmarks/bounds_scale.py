"""Bounds by interval messages: processor seconds against size, the reading of the file included.

The sizes and figures are those of the ARIEL paper's table 2; the networks are our own.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import herbrand as hb
from benchmarks import credal_networks
from benchmarks.bounds import SECONDS

SIZES = {1_000: 820.73, 10_000: 8509.23, 100_000: 89668.61}
FORMULAS = (1_000, 10_000, 100_000)


def report() -> str:
    """A Markdown table."""
    for warming in (credal_networks.cyclic(100, 0), formulas(100, 0)):
        timed(warming)  # so that loading compiled code is not counted
    return scaling()


def timed(text: str) -> tuple[float, float, int, int]:
    """Seconds from the file to the bounds, how many of them bounding took, statements, passes."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "network.lcn"
        path.write_text(text)
        began = time.process_time()
        theory = hb.read(path)
        model = hb.Model(theory)
        assert model.program
        read = time.process_time()
        answer = model.bound(engine="ariel")
        ended = time.process_time()
        sentences = sum(map(len, theory.statements))  # type: ignore[arg-type]
        return ended - began, ended - read, sentences, answer.status.iterations


def scaling() -> str:
    """A row for each size, of the random class and of formulas on three atoms."""
    lines = [
        SECONDS,
        "",
        "| class | atoms | sentences | seconds with file | of them bounding | passes | paper, seconds |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for n in SIZES:
        whole, messages, sentences, passes = timed(credal_networks.cyclic(n, 0))
        paper = f"{SIZES[n]:,.0f}"
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
