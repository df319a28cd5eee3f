"""Region graphs beside loopy belief propagation, on random models whose exact answers are known.

python -m benchmarks regions

Models are run for a quarter of an hour at most and kept in ``build/regions``: another run goes on with more.

Fifteen predicates, each over constants of a type of its own, and fifteen clauses over three of them, with
weights from a normal distribution of deviation σ; and friends, smokers, parents and cancer with drawn
weights: the two experiments of "Lifted Region-Based Belief Propagation" (Smith, Singla and Gogate). What is
told is the mean Kullback-Leibler divergence of an atom's probability from the exact one, for each structure
of regions in the same run. The pictures go to ``docs/pictures``. A third table has models whose exact answers
counting still gives at 1,000 constants.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

import herbrand as hb
from benchmarks.heat_map import heat_map
from herbrand.answers.marginals import Marginals
from herbrand.budget import Budget
from herbrand.engines.belief.engine import BeliefPropagation
from herbrand.engines.choice import AnyEngine
from herbrand.engines.engine import Settings
from herbrand.engines.loop import Limits, run
from herbrand.engines.regions.engine import Regions, with_messages
from herbrand.engines.registry import engine_named
from herbrand.errors import BudgetError
from herbrand.program.program import Program
from herbrand.program.question import Question

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
PREDICATES = 15
SIZES = (2, 3, 5, 8)
DEVIATIONS = (0.2, 0.5, 1.0)
MODELS = 84
"""So many are drawn; each is run with every number of constants and every deviation: 1,008 in all."""

SECONDS, FRIENDS_SECONDS = 720.0, 60.0
"""For so long models are run; what is found is kept, and the next run goes on."""

KEPT = Path(__file__).parents[1] / "build" / "regions"
"""Found by earlier runs; to be deleted where engines have changed."""

LARGE = (10, 30, 100, 300, 1000)
LARGE_MODELS = 4
LEAVES = 4
EXACT_SECONDS = 60.0
BASES = (2, 5)
APART = 1e-6
ROUNDING = 1e-15

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
    JOINT: lambda size: with_messages(Regions(merge=False)),
    MERGED: lambda size: with_messages(Regions(cost=(size + 1.0) ** VARIABLES)),
}


def report() -> str:
    """All tables; draws the pictures."""
    PICTURES.mkdir(exist_ok=True)
    run_models("clauses", SECONDS)
    run_models("friends", FRIENDS_SECONDS)
    return "\n\n".join([_random_clauses(), _friends(), _large()])


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


def hubs(number: int, size: int, base: int) -> str:
    """Two predicates that clauses share, and four others; an atom feels as much as it would at ``base``
    constants, so that models do not all saturate."""
    dice = random.Random(number)
    names = ["a", "b", *(f"c{i}" for i in range(LEAVES))]
    constants = ", ".join(f'"{i}"' for i in range(size))
    lines = [f"type t{name} = {{{constants}}}\npredicate {name}(t{name})" for name in names]
    for _ in range(2 * LEAVES):
        about = (*dice.choice([("a", "b"), ("a", "b"), ("a",), ("b",)]), dice.choice(names[2:]))
        literals = [f"{dice.choice(['', 'not '])}{n}({v})" for n, v in zip(about, "xyz", strict=False)]
        weight = dice.gauss(0, 1) * (base / size) ** (len(about) - 1)
        lines.append(f"{weight!r}: {dice.choice([' or ', ' xor ']).join(literals)}")
    return "\n".join(lines)


def measured(program: Program, exact: Marginals, engine: AnyEngine) -> Found:
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


def _structures(family: str) -> Structures:
    if family == "clauses":
        return STRUCTURES
    return {LOOPY: STRUCTURES[LOOPY], MERGED: lambda _: with_messages(Regions())}


def run_models(family: str, seconds: float) -> None:
    """Runs models that no earlier run has, one a cell in turn, and keeps each; starts none after so long."""
    done, began = set(_kept(family)), time.perf_counter()
    KEPT.mkdir(parents=True, exist_ok=True)
    cells = [(n, size, sigma) for n in range(MODELS) for size in SIZES for sigma in DEVIATIONS]
    with (KEPT / f"{family}.jsonl").open("a") as file:
        for cell in cells:
            if cell not in done and time.perf_counter() - began < seconds:
                file.write(json.dumps([cell, _of_model(family, *cell)]) + "\n")
                file.flush()


def _of_model(family: str, number: int, size: int, deviation: float) -> dict[str, Any]:
    """What each structure makes of a model; nothing, where counting cannot answer it."""
    written = {"clauses": clauses, "friends": friends}[family]
    program = hb.Model(hb.parse(written(number, size, deviation))).program
    try:
        exact = run(
            engine_named("infer", "lifted", Settings(budget=Budget(seconds=EXACT_SECONDS))),
            program,
            Question(),
        )
    except BudgetError:
        return {}
    found = {n: measured(program, exact, engine(size)) for n, engine in _structures(family).items()}
    return {name: asdict(one) for name, one in found.items()}


def _kept(family: str) -> dict[tuple[int, int, float], dict[str, Any]]:
    """By number, size and deviation what earlier runs found; a line that was cut off is left out."""
    path, found = KEPT / f"{family}.jsonl", {}
    for line in path.read_text().splitlines() if path.exists() else []:
        with contextlib.suppress(json.JSONDecodeError):
            (number, size, deviation), told = json.loads(line)
            found[number, size, deviation] = told
    return found


@cache
def _grid(family: str, size: int, deviation: float) -> dict[str, list[Found]]:
    models = [told for (_, s, d), told in _kept(family).items() if (s, d) == (size, deviation) and told]
    return {name: [Found(**told[name]) for told in models] for name in _structures(family)}


def _models(family: str) -> str:
    """How many models there are in all, and in each cell."""
    told = [len(_grid(family, size, deviation)[LOOPY]) for size in SIZES for deviation in DEVIATIONS]
    return f"{sum(told):,} models in all, {min(told)} to {max(told)} a cell"


def _rows(family: str, names: Sequence[str]) -> Iterator[str]:
    for size in SIZES:
        for deviation in DEVIATIONS:
            found = _grid(family, size, deviation)
            cells = [_cell(found[name]) for name in names]
            yield f"| {size} | {deviation} | " + " | ".join(cells) + " |"


def _cell(found: Sequence[Found]) -> str:
    """Mean and median divergence, and how many of the runs converged."""
    if not found:
        return "not run"
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
        f"Random clauses, {_models('clauses')} (without those that counting cannot answer in "
        f"{EXACT_SECONDS:.0f} s). Cells show the mean divergence, with its median in brackets. Merged "
        f"clusters hold at most {VARIABLES} predicates.\n\n"
    )
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
    told = f"Friends, smokers, parents, cancer, with unit clauses, {_models('friends')}:\n\n"
    return told + "\n".join([*lines, "", picture])


def _large() -> str:
    """Where tables over three counts are too large to be made, and exact answers are known all the same."""
    lines = [
        f"Eight formulas about two predicates that they share and four others, {LARGE_MODELS} models a row. "
        "Weights are reduced so that the total influence on an atom is the same as at the number of "
        "constants in *like*. *Nearer*: the number of models where regions are at least as near to the "
        "exact answer as belief propagation. *Reported*: among the models whose divergences differ by more "
        f"than {APART:g}, the number where the nearer method has the larger log-partition.",
        "",
        "| constants | like | first-order belief propagation | regions | nearer | reported | "
        "error of log Z: loopy, regions | seconds: exact, loopy, regions |",
        "| ---: | ---: | --- | --- | ---: | ---: | --- | --- |",
    ]
    return "\n".join([*lines, *(_large_row(size, base) for size in LARGE for base in BASES)])


def _large_row(size: int, base: int) -> str:
    found: list[tuple[Found, Found]] = []
    took = []
    for number in range(LARGE_MODELS):
        program = hb.Model(hb.parse(hubs(number, size, base))).program
        began = time.process_time()
        settings = Settings()
        exact = run(engine_named("infer", "lifted", settings), program, Question())
        took.append(time.process_time() - began)
        engines: tuple[Any, ...] = (BeliefPropagation(), with_messages(Regions()))
        loopy, regions = (measured(program, exact, engine) for engine in engines)
        found.append((loopy, regions))
    sides = [[pair[i] for pair in found] for i in (0, 1)]
    nearer = [two.divergence <= max(one.divergence, ROUNDING) for one, two in found]
    apart = [(one, two) for one, two in found if abs(one.divergence - two.divergence) > APART]
    told = [(two.off > one.off) == (two.divergence < one.divergence) for one, two in apart]
    errors = ", ".join(f"{mean(abs(one.off) for one in side):.0e}" for side in sides)
    times = ", ".join(f"{mean(t):.2f}" for t in (took, *([f.seconds for f in side] for side in sides)))
    return (
        f"| {size:,} | {base} | {_cell(sides[0])} | {_cell(sides[1])} | {sum(nearer)} of {len(found)} | "
        f"{sum(told)} of {len(told)} | {errors} | {times} |"
    )


def _drawn(family: str, name: str, file: str) -> str:
    """Draws the heat map of a structure, and says where it is."""
    grid = [[mean(f.divergence for f in _grid(family, size, d)[name]) for size in SIZES] for d in DEVIATIONS]
    (PICTURES / file).write_text(heat_map(name, SIZES, DEVIATIONS, grid))
    return f"![{name}](pictures/{file})"
