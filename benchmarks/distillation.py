"""Predictors taught by rules: what they rank right, under the published protocol.

    python -m benchmarks distillation      (make bench-learning)

All weights 1, open world, no label seen, the average precision after the *final* step over five seeds. Data
of third parties is read where it lies (``HERBRAND_DATA``, or ``shared/data`` beside the checkout) and is
never part of the project.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from statistics import mean, stdev

import numpy as np
import torch

from benchmarks.baselines import by_hand, precision_by_hand
from benchmarks.labelled_worlds import CORA, KINSHIP, UW_CSE, LabelledWorld, own, published
from herbrand.learning.distillation import Training, training
from herbrand.learning.settings import LearningSettings
from herbrand.learning.steps import run_steps
from herbrand.reports.metrics import average_precision

SEEDS, STEPS, LAYERS, BATCH = 5, 200, 5, 1024


def report() -> str:
    """The page's table."""
    return "\n\n".join([
        f"**Unsupervised distillation** by the published protocol (Adam 5e-4, embeddings of 128, {LAYERS} "
        f"layers, batch {BATCH:,}, facts with p = 0.9), in an open world, with all weights 1 and without "
        f"labels. Values are average precision after the last of {STEPS} steps, mean ± deviation over "
        f"{SEEDS} seeds. No setting was chosen on these labels.",
        quality(),
    ])  # fmt: skip


def worlds() -> dict[str, LabelledWorld]:
    found = [*published("smoke", ("",)), *published("kinship", KINSHIP), *published("uw_cse", UW_CSE)]
    return {world.name: world for world in (*found, *published("cora", CORA), *own())}


def quality() -> str:
    heads = ("data", "base rate", "by hand", "final step", "lowest seed", "highest seed")
    lines = [f"| {' | '.join(heads)} |", "| --- | ---: | --- |" + " ---: |" * 3]
    known = worlds()
    tasks = list(product(known, range(SEEDS)))
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        figures = dict(zip(tasks, pool.map(final, *zip(*tasks, strict=True)), strict=True))
    for name, world in known.items():
        found = [figures[name, seed] for seed in range(SEEDS)]
        ranking = by_hand(world)
        beside = "" if ranking is None else f"{ranking[0]} {precision_by_hand(world):.3f}"
        lines.append(
            f"| {name} | {world.labels.mean():.3f} | {beside} | {mean(found):.3f} ± {stdev(found):.3f} "
            f"| {min(found):.3f} | {max(found):.3f} |"
        )
    for folder in ("kinship", "uw_cse", "cora"):
        own_figures = [figure for (name, _), figure in figures.items() if name.startswith(folder)]
        if own_figures:
            lines.append(f"| {folder}, average | | | {mean(own_figures):.3f} | | |")
    return "\n".join(lines)


def final(name: str, seed: int) -> float:
    """The average precision of the predictor after its last step."""
    torch.set_num_threads(1)
    world = worlds()[name]
    settings = LearningSettings(batch=BATCH, layers=LAYERS, seed=seed, iterations=STEPS)
    state = training(world.program, settings)
    run_steps(state, settings, STEPS)
    return average_precision(world.labels, log_odds(state, world))


@torch.no_grad()
def log_odds(state: Training, world: LabelledWorld) -> np.ndarray:
    """What the predictor says to the asked atoms."""
    found = []
    for name, places in world.asked:
        logits = state.predictor(name, torch.from_numpy(np.stack(places, axis=1)))
        found.append((logits[:, 1] - logits[:, 0]).numpy())
    return np.concatenate(found)
