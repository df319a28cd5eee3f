"""The published ablations: layers, batches, and contraction, in groundings a CPU second.

    python -m benchmarks ablations      (make bench-learning)

One layer or five; a sample of groundings or all; all listed one by one or contracted. Data of third parties
is read where it lies (``HERBRAND_DATA``, or ``shared/data`` beside the checkout) and is never part of the
project.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

from benchmarks.labelled_worlds import LabelledWorld, own, published
from herbrand.learning.batch import Batch, Batches
from herbrand.learning.distillation import Lesson, training
from herbrand.learning.settings import LearningSettings
from herbrand.learning.whole_graph import WholeLessons
from herbrand.program.bindings import Bindings
from herbrand.program.evidence import Evidence
from herbrand.program.program import Program, Template

LAYERS, BATCH = 5, 1024
MOST_LISTED = 4_000_000
"""Programs of more groundings are not listed one by one."""


def report() -> str:
    """The page's tables."""
    torch.set_num_threads(1)
    return "\n\n".join([
        "A training step on one thread samples groundings or contracts all of them, runs the layers that "
        "teach, and makes the predictor's own step. The official code was measured once on such a machine: "
        "406 groundings a CPU second on Kinship S1 (2.5 s for a step of 1,024), 177 on UW-CSE ai (5.8 s), "
        "no step within 110 s on Cora S1.",
        speeds(),
        "The layers alone, over all groundings. *Listed*: groundings are rows made beforehand (the layer "
        "without its einsum). *Contracted*: they are sums of products over logical variables:",
        teachers(),
    ])  # fmt: skip


def listed(program: Program) -> Batch:
    """Every grounding as a row."""
    rows = [(t, every_grounding(t, program)) for t in program.templates if t.conjunction.literals]
    return Batches(Evidence(program)).of(rows)


def every_grounding(template: Template, program: Program) -> Bindings:
    """All assignments to a template's variables under which those that must differ do."""
    names = [name for name, _ in template.conjunction.variables]
    sizes = [len(program.domain(kind)) for _, kind in template.conjunction.variables]
    places = np.indices(sizes).reshape(len(sizes), -1)
    found = Bindings(dict(zip(names, places, strict=True)), np.arange(places.shape[1]))
    for left, right in template.conjunction.distinct:
        found = found.take(np.flatnonzero(found.column(left) != found.column(right)))
    return found


def speeds() -> str:
    """Of whole training steps: lessons drawn, taught by the layers, learned by the predictor."""
    heads = ("data", "groundings a step", "layers", "groundings a CPU second", "CPU s a step")
    lines = [f"| {' | '.join(heads)} |", "| --- | --- |" + " ---: |" * 3]
    for world, batch, layers in product(chosen(), (16, BATCH, None), (1, LAYERS)):
        state = training(world.program, LearningSettings(batch=batch, layers=layers))
        state.step()
        before = state.groundings
        step = _seconds(state.step)
        drawn = (state.groundings - before) / step.times
        shown = f"all {drawn:.1e}" if batch is None else f"{batch:,} sampled"
        lines.append(
            f"| {world.name} | {shown} | {layers} | {_shown(drawn / step.seconds)} | {step.seconds:.4f} |"
        )
    return "\n".join(lines)


def teachers() -> str:
    """Of the layers alone, over all groundings."""
    heads = ("data", "groundings", "layers", "listed, CPU s", "contracted, CPU s", "times as fast")
    heads = (*heads, "contracted, groundings a CPU second")
    lines = [f"| {' | '.join(heads)} |", "| --- |" + " ---: |" * 6]
    for world, layers in product(chosen(), (1, LAYERS)):
        whole = WholeLessons.of(world.program, layers, None)
        fast, slow, times = _taught(whole, layers), "", ""
        if len(whole) <= MOST_LISTED:
            by_rows = _taught(listed(world.program), layers)
            slow, times = f"{by_rows:.4f}", f"{by_rows / fast:.1f}"
        lines.append(
            f"| {world.name} | {len(whole):.1e} | {layers} | {slow} | {fast:.4f} | {times} "
            f"| {_shown(len(whole) / fast)} |"
        )
    return "\n".join(lines)


def _taught(lesson: Lesson, layers: int) -> float:
    """CPU seconds of the layers, from random logits."""
    shape = lesson.possible.shape
    unary = torch.randn(shape, generator=torch.Generator().manual_seed(0)).masked_fill(
        ~lesson.possible, -math.inf
    )
    with torch.no_grad():
        lesson.taught(unary, layers)
        return _seconds(lambda: lesson.taught(unary, layers)).seconds


@dataclass(frozen=True)
class Timed:
    """CPU seconds of one call, the mean over so many ``times``; other processes disturb them less."""

    seconds: float
    times: int


def _seconds(work: Callable[[], object], at_least: float = 1.0) -> Timed:
    began, times = time.process_time(), 0
    while (took := time.process_time() - began) < at_least:
        work()
        times += 1
    return Timed(took / times, times)


def _shown(rate: float) -> str:
    return f"{rate:,.0f}" if rate < 1e7 else f"{rate:.1e}"


def chosen() -> list[LabelledWorld]:
    """Those whose speed is told."""
    family = next(world for world in own() if world.name == "own family")
    uw_cse, cora = published("uw_cse", ("language", "ai")), published("cora", ("S1",))
    return [family, *published("kinship", ("S1",)), *uw_cse, *cora]
