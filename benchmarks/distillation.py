"""Predictors taught by rules: how fast they train, and what they rank right on published data.

    python -m benchmarks distillation      (make bench-learning)

Speed is measured on a family of the project's own and, where its files are, on Kinship. Quality is the
published protocol: all weights 1, open world, no label seen, the average precision of the *final* step over
five seeds. Data of third parties is read where it lies (``HERBRAND_DATA``, or ``shared/data`` beside the
checkout) and is never part of the project.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from statistics import mean, stdev

import numpy as np
import torch

import herbrand as hb
from benchmarks.published_data import DATA
from herbrand.language.dialects.benchmark import Benchmark, read_benchmark
from herbrand.learning.distillation import Training, train, training
from herbrand.learning.settings import LearningSettings
from herbrand.program.program import Program
from herbrand.reports.metrics import average_precision

UW_CSE = ("ai", "graphics", "language", "systems", "theory")
SEEDS, STEPS, LAYERS = 5, 200, 5

FAMILY = """\
predicate father(p, p): observed
predicate mother(p, p): observed
predicate son(p, p): observed
predicate husband(p, p)
predicate male(p)
predicate female(p)
1.0: father(x, z) and mother(y, z) => husband(x, y)
1.0: father(x, y) => male(x)
1.0: mother(x, y) => female(x)
1.0: son(x, y) => male(x)
1.0: male(x) => not female(x)
1.0: husband(x, y) => male(x)
1.0: husband(x, y) => female(y)
"""


def report() -> str:
    """The page's tables."""
    torch.set_num_threads(1)
    parts = [
        "Sampled training: groundings drawn, taught and learned in a CPU second (one thread).",
        "\n".join(
            ["| data | batch | layers | groundings a CPU second |", "| --- | ---: | ---: | ---: |", *speeds()]
        ),
    ]
    if DATA.is_dir():
        parts += [
            f"UW-CSE, open world, all weights 1, no label seen: average precision after the last of {STEPS} "
            f"steps, mean ± deviation over {SEEDS} seeds. Settings are those of the published protocol "
            "(Adam 5e-4, embeddings of 128, 5 layers, batch 1024, facts with p = 0.9); nothing was "
            "chosen on these labels.",
            quality(),
        ]
    return "\n\n".join(parts)


def speeds() -> Iterator[str]:
    known = [("own family of 60", family(60))]
    if DATA.is_dir():
        known.append(("Kinship S1", hb.Model(read_benchmark(DATA / "kinship" / "S1").theory).program))
    for name, program in known:
        for batch in (16, 1024, None):
            for layers in (1, 5):
                state = training(program, LearningSettings(batch=batch, layers=layers))
                state.step()
                rate = _rate(state)
                shown = "all" if batch is None else f"{batch:,}"
                yield f"| {name} | {shown} | {layers} | {rate:,.0f} |"


def _rate(state: Training, seconds: float = 2.0) -> float:
    """Groundings a CPU second, which other processes disturb less."""
    began, before = time.process_time(), state.groundings
    while time.process_time() - began < seconds:
        state.step()
    return (state.groundings - before) / (time.process_time() - began)


def family(people: int) -> Program:
    """Couples and their sons, generation after generation."""
    rng = random.Random(0)
    names = [f"p{i:03}" for i in range(people)]
    facts: dict[str, list[tuple[str, str]]] = {"father": [], "mother": [], "son": []}
    for child in range(4, people):
        father, mother = rng.randrange(0, child // 2) * 2 % child, rng.randrange(0, child // 2) * 2 + 1
        facts["father"].append((names[father], names[child]))
        facts["mother"].append((names[min(mother, child - 1)], names[child]))
        if child % 2 == 0:
            facts["son"].append((names[child], names[father]))
    return hb.Model(hb.parse(FAMILY), facts).program


def quality() -> str:
    lines = ["| split | final step | lowest seed | highest seed |", "| --- | ---: | ---: | ---: |"]
    averages = []
    for split in UW_CSE:
        found = [final(split, seed) for seed in range(SEEDS)]
        averages.append(mean(found))
        lines.append(
            f"| {split} | {averages[-1]:.3f} ± {stdev(found):.3f} | {min(found):.3f} | {max(found):.3f} |"
        )
    lines.append(f"| average | {mean(averages):.3f} | | |")
    return "\n".join(lines)


def final(split: str, seed: int) -> float:
    """The average precision of the predictor after its last step."""
    data = read_benchmark(DATA / "uw_cse" / split)
    program = hb.Model(data.theory).program
    settings = LearningSettings(batch=1024, layers=LAYERS, seed=seed, iterations=STEPS)
    state = training(program, settings)
    train(state, settings)
    return average_precision(*ranked(state, program, data))


@torch.no_grad()
def ranked(state: Training, program: Program, data: Benchmark) -> tuple[np.ndarray, np.ndarray]:
    """Labels and log-odds of all queries."""
    labels: list[bool] = []
    odds: list[float] = []
    for rows in data.queries:
        indices = torch.from_numpy(query_indices(program, rows.predicate, rows.columns))
        logits = state.predictor(rows.predicate, indices)
        odds += (logits[:, 1] - logits[:, 0]).tolist()
        labels += [rows.kind != "false"] * rows.row_count
    return np.array(labels), np.array(odds)


def query_indices(program: Program, predicate: str, columns: Sequence[Sequence]) -> np.ndarray:
    """Rows of domain indices for columns of constants."""
    types = program.signature.predicates[predicate].types
    found = [program.domain(t).indices_of(list(c)) for t, c in zip(types, columns, strict=True)]
    return np.stack(found, axis=1).astype(np.int64)
