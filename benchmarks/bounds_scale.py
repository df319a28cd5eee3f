"""Bounds by interval messages: processor seconds against size, the reading of the file included.

The sizes and figures are those of the ARIEL paper's table 2; the networks are our own.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import herbrand as hb
from benchmarks import credal_networks
from herbrand.engines.credal.lowering import credal_network

Timed = tuple[float, float, int, int]
SIZES = {1_000: 820.73, 10_000: 8509.23, 100_000: 89668.61}
PEOPLE = """\
predicate friends(person, person): observed
predicate smokes(person)
predicate cancer(person)
P(smokes(x)) in [0.2, 0.6]
P(cancer(x) | smokes(x)) in [0.3, 0.5]
P(cancer(x) | not smokes(x)) in [0.01, 0.1]
P(smokes(x) | smokes(y) and friends(y, x)) >= 0.3
"""


def report() -> str:
    """A Markdown table."""
    for warming in (credal_networks.cyclic(100, 0), formulas(100, 0)):
        timed(warming)  # so that loading compiled code is not counted
    timed(PEOPLE, "people.hb", friends(100, 0))
    return scaling()


def timed(text: str, name: str = "network.lcn", facts: str = "") -> Timed:
    """Seconds from the files to the bounds, how many of them bounding took, ground sentences, passes."""
    with TemporaryDirectory() as folder:
        path, table = Path(folder) / name, Path(folder) / "friends.csv"
        path.write_text(text)
        table.write_text(facts)
        began = time.process_time()
        theory = hb.read(path)
        model = hb.Model(theory, table if facts else None)
        assert model.program
        read = time.process_time()
        answer = model.bound(engine="ariel")
        ended = time.process_time()
        lines = path.suffix == ".lcn"
        count = sum(map(len, theory.statements)) if lines else len(credal_network(model.program))  # type: ignore[arg-type]
        return ended - began, ended - read, count, answer.status.iterations


def scaling() -> str:
    """A row for each class and size: seconds a sentence stay the same where growth is linear."""
    lines = [
        "Times are processor seconds, including reading, checking and grounding the files.",
        "",
        "| class | atoms | sentences | seconds | of them bounding | µs a sentence | passes | paper (s) |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, run in CLASSES.items():
        for n, theirs in SIZES.items():
            whole, messages, sentences, passes = run(n)
            paper = f"{theirs:,.0f}" if name == "random" else ""
            lines.append(
                f"| {name} | {n:,} | {sentences:,} | {whole:.2f} | {messages:.2f} "
                f"| {1e6 * whole / sentences:.0f} | {passes} | {paper} |"
            )
    return "\n".join(lines)


def friends(n: int, seed: int) -> str:
    """A table of friends among as many people as make ``n`` ground atoms; no circle of them."""
    rng = random.Random(f"friends {n} {seed}")
    return "".join(f"p{rng.randrange(max(0, i - 50), i)},p{i}\n" for i in range(1, n // 2))


def ground(n: int, seed: int) -> str:
    """A bound for every atom of a chain in which each third begins anew, one a line."""
    rng = random.Random(f"ground {n} {seed}")
    lines = ["predicate smokes(person)"]
    for i in range(n):
        given = f' | smokes("p{i - 1}")' if i % 3 else ""
        low, high = sorted(rng.uniform(0.05, 0.95) for _ in range(2))
        lines.append(f'P(smokes("p{i}"){given}) in [{low:.4f}, {high:.4f}]')
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


CLASSES: dict[str, Callable[[int], Timed]] = {
    "random": lambda n: timed(credal_networks.cyclic(n, 0)),
    "formulas of three atoms": lambda n: timed(formulas(n, 0)),
    "four statements over people and friends": lambda n: timed(PEOPLE, "people.hb", friends(n, 0)),
    "ground bounds of a `.hb` file": lambda n: timed(ground(n, 0), "ground.hb"),
}
