"""Region graphs beside loopy belief propagation, on random models whose exact answers are known.

python -m benchmarks regions

Fifteen predicates, each over constants of a type of its own, and fifteen clauses over three of them, with
weights from a normal distribution of deviation σ; and friends, smokers, parents and cancer with drawn
weights: the two experiments of "Lifted Region-Based Belief Propagation" (Smith, Singla and Gogate). What is
told is the mean Kullback-Leibler divergence of an atom's probability from the exact one, for each structure
of regions in the same run. The pictures go to ``docs/pictures``.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

import herbrand as hb
from benchmarks.heat_map import heat_map
from herbrand.answers.marginals import Marginals
from herbrand.engines.belief.engine import BeliefPropagation
from herbrand.engines.engine import Engine, Settings
from herbrand.engines.loop import Limits, run
from herbrand.engines.regions.engine import Regions
from herbrand.engines.registry import engine_named
from herbrand.program.program import Program
from herbrand.program.question import Question

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
PREDICATES = 15
SIZES = (2, 3, 5)
DEVIATIONS = (0.5, 1.0)
MODELS = 4
"""So many are drawn; each is run with every number of constants and every deviation."""

VARIABLES = 5
"""Merged clusters are of at most so many predicates."""

PARENTS = """\
predicate smokes(person)
predicate cancer(person)
predicate friends(person, person)
predicate parent(person, person)
{}: smokes(x) and friends(x, y) => smokes(y)
{}: smokes(x) => cancer(x)
{}: cancer(y) and parent(y, x) => cancer(x)
{}: smokes(y) and parent(x, y) => smokes(x)
{}: smokes(x)
{}: cancer(x)
{}: friends(x, y)
{}: parent(x, y)
"""


@dataclass(frozen=True)
class Found:
    """Of one model and structure."""

    divergence: float
    converged: bool
    rounds: int
    seconds: float
    off: float
    """How much the log-partition is too large."""


Structures = dict[str, Callable[[int], Any]]
LOOPY = "first-order belief propagation"
SINGLE = "a formula a cluster, one element at a time"
JOINT = "a formula a cluster, joint counts"
MERGED = "merged clusters"
STRUCTURES: Structures = {
    LOOPY: lambda size: BeliefPropagation(),
    SINGLE: lambda size: Regions(merge=False, joint=False, starts=1),
    JOINT: lambda size: Regions(merge=False),
    MERGED: lambda size: Regions(cost=(size + 1.0) ** VARIABLES),
}


def report() -> str:
    """Both tables; draws the pictures."""
    PICTURES.mkdir(exist_ok=True)
    return "\n\n".join([_random_clauses(), _friends()])


def clauses(number: int, size: int, deviation: float) -> str:
    """The same clauses for a number, whatever the size and the deviation."""
    dice = random.Random(number)
    lines = []
    for p in range(PREDICATES):
        constants = ", ".join(f'"c{i}"' for i in range(size))
        lines += [f"type t{p} = {{{constants}}}", f"predicate r{p}(t{p})"]
    for _ in range(PREDICATES):
        a, b, c = dice.sample(range(PREDICATES), 3)
        lines.append(f"{dice.gauss(0, deviation)!r}: r{a}(x) or r{b}(y) or r{c}(z)")
    return "\n".join(lines)


def friends(number: int, size: int, deviation: float) -> str:
    dice = random.Random(number)
    people = ", ".join(f'"p{i}"' for i in range(size))
    return f"type person = {{{people}}}\n" + PARENTS.format(
        *(repr(dice.gauss(0, deviation)) for _ in range(8))
    )


def measured(program: Program, exact: Marginals, engine: Engine[Any]) -> Found:
    """One run beside the exact answer."""
    began = time.process_time()
    answer = run(engine, program, Question(), Limits(iterations=1000))
    seconds = time.process_time() - began
    assert answer.log_partition is not None and exact.log_partition is not None
    return Found(
        divergence(exact, answer),
        answer.status.converged,
        answer.status.iterations,
        seconds,
        answer.log_partition - exact.log_partition,
    )


def divergence(exact: Marginals, answer: Marginals) -> float:
    """The mean over atoms, each atom a coin."""
    pairs = [(e.probability, a.probability) for e, a in zip(exact.rows(), answer.rows(), strict=True)]
    return mean(_of_coins(p, q) for p, q in pairs)


def _of_coins(p: float, q: float) -> float:
    least = np.finfo(float).tiny
    sides = [(p, q), (1 - p, 1 - q)]
    return math.fsum(a * math.log(a / max(b, least)) for a, b in sides if a > 0)


@cache
def _grid(family: str, size: int, deviation: float) -> dict[str, list[Found]]:
    written = {"clauses": clauses, "friends": friends}[family]
    structures = (
        STRUCTURES if family == "clauses" else {LOOPY: STRUCTURES[LOOPY], MERGED: lambda _: Regions()}
    )
    found: dict[str, list[Found]] = {name: [] for name in structures}
    for number in range(MODELS):
        program = hb.Model(hb.parse(written(number, size, deviation))).program
        exact = run(engine_named("lifted", Settings()), program, Question())
        for name, engine in structures.items():
            found[name].append(measured(program, exact, engine(size)))
    return found


def _rows(family: str, names: Sequence[str]) -> Iterator[str]:
    for size in SIZES:
        for deviation in DEVIATIONS:
            found = _grid(family, size, deviation)
            cells = [_cell(found[name]) for name in names]
            yield f"| {size} | {deviation} | " + " | ".join(cells) + " |"


def _cell(found: Sequence[Found]) -> str:
    """Mean and median divergence, and how many of the runs converged."""
    divergences = [one.divergence for one in found]
    share = mean(one.converged for one in found)
    told = f"{mean(divergences):.1e} ({abs(median(divergences)):.0e})"
    return told if share == 1 else f"{told}, {share:.0%} converged"


def _random_clauses() -> str:
    names = list(STRUCTURES)
    heads = "| constants | σ | " + " | ".join(names) + " |"
    lines = [heads, "| ---: | ---: |" + " --- |" * len(names), *_rows("clauses", names)]
    small = [_grid("clauses", size, deviation) for size in SIZES for deviation in DEVIATIONS]
    told = (
        f"{MODELS} models of random clauses a cell: mean divergence, its median in brackets; merged clusters "
    )
    told += f"hold at most {VARIABLES} predicates.\n\n"
    files = [f"regions-{name}.svg" for name in ("loopy", "single", "joint", "merged")]
    pictures = [_drawn("clauses", name, file) for name, file in zip(names, files, strict=True)]
    return told + "\n".join([*lines, "", _summary(small, names), "", *pictures])


def _summary(grids: Sequence[dict[str, list[Found]]], names: Sequence[str]) -> str:
    """Over all models together."""
    lines = [
        "| all of these | mean divergence | of loopy | converged | rounds | seconds | error of log Z |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    loopy = mean(one.divergence for grid in grids for one in grid[LOOPY])
    for name in names:
        found = [one for grid in grids for one in grid[name]]
        worst = mean(one.divergence for one in found)
        lines.append(
            f"| {name} | {worst:.1e} | {worst / loopy:.4f} | {mean(one.converged for one in found):.0%} | "
            f"{mean(one.rounds for one in found):.0f} | {mean(one.seconds for one in found):.2f} | "
            f"{mean(abs(one.off) for one in found):.1e} |"
        )
    return "\n".join(lines)


def _friends() -> str:
    names = [LOOPY, MERGED]
    heads = "| people | σ | " + " | ".join([LOOPY, "regions (one: exact)"]) + " |"
    lines = [heads, "| ---: | ---: | --- | --- |", *_rows("friends", names)]
    picture = _drawn("friends", LOOPY, "regions-friends-loopy.svg")
    return "Friends, smokers, parents, cancer, with unit clauses:\n\n" + "\n".join([*lines, "", picture])


def _drawn(family: str, name: str, file: str) -> str:
    """Draws the heat map of a structure, and says where it is."""
    grid = [[mean(f.divergence for f in _grid(family, size, d)[name]) for size in SIZES] for d in DEVIATIONS]
    (PICTURES / file).write_text(heat_map(name, SIZES, DEVIATIONS, grid))
    return f"![{name}](pictures/{file})"
