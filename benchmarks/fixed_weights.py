"""The first protocol: weights as the data give them (all 1), all groundings at once, no label seen.

Part of ``python -m benchmarks mean_field``. A second table is of a changed model, in which what a statement
says to an atom is clipped; its setting is chosen, for every split, on the other splits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import mean

from benchmarks.baselines import by_hand, precision_by_hand
from benchmarks.labelled_worlds import CORA, KINSHIP, UW_CSE, LabelledWorld, own, published
from herbrand.engines.engine import first_state
from herbrand.engines.loop import Limits, settle
from herbrand.engines.mean_field.engine import MeanField
from herbrand.program.question import Question

MOST_STEPS = 100
CLIPS = (1.0, 1.5, 2.0, 3.0)
CLIPPED_STEPS = 12
CEILINGS = {"S1": 0.9583, "S2": 0.9719, "S3": 0.9850, "S4": 0.9848}
"""Of any inference with Kinship's rules: some queried persons occur in no fact that a rule mentions."""


def worlds() -> Iterator[LabelledWorld]:
    yield from published("smoke", ("",))
    yield from published("kinship", KINSHIP)
    yield from published("uw_cse", UW_CSE)
    yield from published("cora", CORA)
    yield from own()


def table() -> str:
    """One step, ten damped ones, and at rest; beside what can be written by hand."""
    heads = (
        "data",
        "base rate",
        "by hand",
        "one step",
        "ten steps, damping 0.8",
        "seconds",
        "at rest",
        "steps",
    )
    lines = [f"| {' | '.join(heads)} |", "| --- | ---: | --- |" + " ---: |" * 5]
    for world in worlds():
        _, first, _ = found(world, MeanField(), 1)
        took, early, _ = found(world, MeanField(damping=0.8), 10)
        _, late, steps = found(world, MeanField(), MOST_STEPS)
        shown = "not" if steps is None else f"{steps}"
        lines.append(
            f"| {world.name} | {world.labels.mean():.3f} | {_beside(world)} | {first:.4f} | {early:.4f} "
            f"| {took:.2f} | {late:.4f} | {shown} |"
        )
    return "\n".join(lines)


def found(world: LabelledWorld, engine: MeanField, most: int) -> tuple[float, float, int | None]:
    """Seconds from a program to log-odds, average precision, and the steps to rest if it came to it."""
    began = time.perf_counter()
    state, status = settle(
        engine,
        lambda: first_state(engine, world.program, Question()),
        Limits(tolerance=1e-3, iterations=most),
    )
    took = time.perf_counter() - began
    return took, world.precision(state.best.logits), status.iterations if status.converged else None


def _beside(world: LabelledWorld) -> str:
    split = world.name.partition("/")[2]
    if world.name.startswith("kinship"):
        return f"ceiling {CEILINGS[split]:.4f}"
    ranking = by_hand(world)
    return "" if ranking is None else f"{ranking[0]} {precision_by_hand(world):.3f}"


def clipped_table() -> str:
    """UW-CSE under every clip; the last column is each split's figure under what is best on the others."""
    splits = list(published("uw_cse", UW_CSE))
    figures = {
        world.name: {
            clip: found(world, MeanField(damping=0.5, clip=clip), CLIPPED_STEPS)[1] for clip in CLIPS
        }
        for world in splits
    }
    heads = ("data", "base rate", "by hand", *(f"clip {clip:g}" for clip in CLIPS), "chosen on other splits")
    lines = [f"| {' | '.join(heads)} |", "| --- | ---: |" + " ---: |" * (len(CLIPS) + 2)]
    honest = []
    for world in splits:
        others = [figures[other.name] for other in splits if other is not world]
        best = max(CLIPS, key=lambda clip: mean(one[clip] for one in others))
        honest.append(figures[world.name][best])
        shown = " | ".join(f"{figure:.3f}" for figure in figures[world.name].values())
        lines.append(
            f"| {world.name} | {world.labels.mean():.3f} | {precision_by_hand(world):.3f} | {shown} "
            f"| {honest[-1]:.3f} (clip {best:g}) |"
        )
    averages = " | ".join(f"{mean(one[clip] for one in figures.values()):.3f}" for clip in CLIPS)
    hand = mean(precision_by_hand(world) for world in splits)
    lines.append(f"| average | | {hand:.3f} | {averages} | {mean(honest):.3f} |")
    return "\n".join(lines)
