"""Learning the weights of facts and rules through proofs: paths on grids, and TensorLog's own data.

    python -m benchmarks query_learning

On a grid each cell asks for its nearest corner; two thirds of the cells train the weights of the edges, the
others are the test. Published data are read where they lie (``HERBRAND_DATA``, or ``shared/data`` beside the
checkout), and left out with a note where they do not. Seconds are CPU seconds of one thread, after the
kernels were compiled; "accuracy" is the share of test questions whose heaviest answer is right.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

import herbrand as hb
from benchmarks.published_data import DATA
from benchmarks.query import WEIGHT, grid
from herbrand.learning.learned import Learning

TENSORLOG = DATA / "tensorlog"
SEEDS = range(5)
GRIDS = ((16, 10, 100), (24, 18, 100), (32, 20, 60))
"""Side, depth and steps of Adam."""
PATHS = """\
type node = number
predicate edge(node, node): learned
predicate path(node, node)
path(x, y) :- edge(x, y)
path(x, y) :- edge(x, z), path(z, y)
"""
Answers = Mapping[str, list[tuple[str, str]]]


@dataclass(frozen=True)
class Outcome:
    """One run: CPU seconds of learning, the share of held-out questions right, before and after."""

    seconds: float
    before: float
    after: float
    weights: int


def report() -> str:
    torch.set_num_threads(1)
    return "\n\n".join([_grids(), _published()])


# Grids


def _grids() -> str:
    on_grid(8, 4, 2, 0)  # compiles the kernels
    lines = [
        "| grid | depth | steps | weights | CPU seconds, median | accuracy on held-out cells, five seeds |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for side, depth, steps in GRIDS:
        runs = [on_grid(side, depth, steps, seed) for seed in SEEDS]
        shares = ", ".join(f"{run.after:.1%}" for run in runs)
        seconds = float(np.median([run.seconds for run in runs]))
        lines.append(
            f"| {side} × {side} | {depth} | {steps} | {runs[0].weights:,} | {seconds:.1f} | {shares} |"
        )
    return "\n".join(lines)


def on_grid(side: int, depth: int, steps: int, seed: int) -> Outcome:
    """Learn the edges' weights from two thirds of the cells."""
    starts, stops = grid(side)
    order = np.random.default_rng(seed).permutation(side * side)
    taught, held_out = np.split(order, [2 * side * side // 3])
    corners = nearest_corners(side)
    edges = pa.table({"x": starts, "y": stops, "weight": np.full(len(starts), WEIGHT)})
    facts = {"edge": edges, "path": pa.table({"x": taught, "y": corners[taught]})}
    began = time.process_time()
    found = hb.Model(hb.parse(PATHS), facts).learn("proof", depth=depth, iterations=steps, seed=seed)
    seconds = time.process_time() - began
    right = {str(cell): [str(corners[cell])] for cell in held_out.tolist()}
    goals = {str(cell): f"path({cell}, y)" for cell in held_out.tolist()}
    before = _accuracy(hb.Model(hb.parse(PATHS), {"edge": edges}), goals, right, depth)
    return Outcome(
        seconds, before, _accuracy(hb.Model(found.theory), goals, right, depth), len(found.weights)
    )


def nearest_corners(side: int) -> np.ndarray:
    """The cell of the corner that is nearest to each cell."""
    rows, columns = np.divmod(np.arange(side * side), side)
    ends = [np.where(place < side / 2, 0, side - 1) for place in (rows, columns)]
    return ends[0] * side + ends[1]


def _accuracy(model: hb.Model, goals: Mapping[str, str], right: Mapping[str, list[str]], depth: int) -> float:
    """The share of goals whose heaviest answer is right; answers of one weight share the point."""
    hits = []
    for name, answer in zip(goals, model.query(list(goals.values()), depth=depth), strict=True):
        weights, values = np.asarray(answer.weights), [str(value) for value in answer.columns[0]]
        best = [v for v, w in zip(values, weights, strict=True) if w == weights.max()]
        hits.append(sum(value in right[name] for value in best) / len(best) if best else 0.0)
    return float(np.mean(hits)) if hits else 0.0


# Published data


def _published() -> str:
    if not TENSORLOG.is_dir():
        return "TensorLog's own data are not at hand (`HERBRAND_DATA`)."
    lines = [
        "| data | test questions | weights | CPU seconds | accuracy before | accuracy after |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for title, number, run in _runs():
        shares = f"{run.before:.1%} | {run.after:.1%}"
        lines.append(f"| {title} | {number} | {run.weights:,} | {run.seconds:.1f} | {shares} |")
    return "\n".join(lines)


def _runs() -> Iterator[tuple[str, int, Outcome]]:
    family, texts = TENSORLOG / "family", TENSORLOG / "textcat"
    yield _from_examples(
        "family: a weight for each of 150 rules", family / "kinship-train-isg.ppr", family / "kinship.cfacts",
        examples(family / "kinship-train.examples"), examples(family / "kinship-test.examples"),
        iterations=30, l2=0.01,
    )  # fmt: skip
    yield _from_examples(
        "toy texts: a weight for each word and label", texts / "textcat2.ppr", texts / "textcattoy.cfacts",
        listed(texts / "toytrain.exam"), listed(texts / "toytest.exam"),
    )  # fmt: skip


def _from_examples(
    title: str, rules: Path, facts: Path, train: Answers, test: Answers, depth: int = 10, **options: object
) -> tuple[str, int, Outcome]:
    right: dict[str, list[str]] = {}
    goals = {}
    for name, rows in test.items():
        for given, answer in rows:
            right.setdefault(f"{name} {given}", []).append(answer)
            goals[f"{name} {given}"] = f'{name}("{given}", y)'
    theory = hb.read(str(rules))
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers.cfacts"
        rows = (f"{name}\t{a}\t{b}\n" for name, pairs in train.items() for a, b in pairs)
        answers.write_text("".join(rows))
        model = hb.Model(theory, [str(facts), str(answers)])
        told = {"target": tuple(train), "depth": depth, **options}
        start: Learning = model.learn("proof", **{**told, "rate": 0.0, "iterations": 1})  # type: ignore[arg-type]
        began = time.process_time()
        found: Learning = model.learn("proof", **told)  # type: ignore[arg-type]
        seconds = time.process_time() - began
    before, after = (_learned_accuracy(one, facts, goals, right, depth) for one in (start, found))
    return title, len(goals), Outcome(seconds, before, after, len(found.weights))


def _learned_accuracy(
    found: Learning, facts: Path, goals: Mapping[str, str], right: Mapping[str, list[str]], depth: int
) -> float:
    """Of the learned theory over the facts whose weights were not learned."""
    learned = {statement.predicate for statement in found.theory.facts}
    kept = [line for line in facts.read_text().splitlines() if line.split("\t")[0] not in learned]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "facts.cfacts"
        path.write_text("\n".join(kept) + "\n")
        return _accuracy(hb.Model(found.theory, str(path)), goals, right, depth)


def examples(path: Path) -> dict[str, list[tuple[str, str]]]:
    """The right answers of a file in ProPPR's layout, by predicate."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, given, answer in re.findall(r"\+(\w+)\(([^,()]+),([^,()]+)\)", path.read_text()):
        found.setdefault(name, []).append((given, answer))
    return found


def listed(path: Path) -> dict[str, list[tuple[str, str]]]:
    """The same of a file with a line for each question: predicate, constant, right answers."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in path.read_text().splitlines():
        name, given, *answers = line.split()
        found.setdefault(name, []).extend((given, answer) for answer in answers)
    return found
