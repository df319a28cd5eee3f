"""Weights by likelihood, beside an optimiser over all worlds, planted weights, and pseudo-likelihood.

    python -m benchmarks likelihood

The oracle (``tests/oracles/likelihood.py``) adds up all worlds in plain loops, and SciPy's BFGS climbs it
from several starts. Nothing of it comes from the package but the syntax of statements.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import herbrand as hb
from benchmarks.learnable_theories import KINDS, Task, drawn_task
from benchmarks.published_data import DATA
from herbrand.language.dialects.benchmark import read_benchmark
from herbrand.language.theory import Theory
from herbrand.learning.learned import LearnedWeight
from tests.oracles.likelihood import highest

THEORIES = 100
TOLERANCE = 1e-6
STARTS = 12
"""Of the independent optimiser."""
PENALTIES = (0.1, 0.0)
SAMPLE = 200
"""Worlds drawn by planted weights."""


def report() -> str:
    """The page's tables."""
    return "\n\n".join(
        [
            f"{THEORIES} random theories of two or three people with two labelled worlds each, of every "
            "combination of kinds, are learned by `--method likelihood`. They are compared with SciPy's "
            f"BFGS on plain loops over all worlds, from {STARTS} starts. *equal*: the penalised "
            f"log-likelihoods differ by at most {TOLERANCE:g}; *lower*: ours is lower by more; *value off "
            "by*: the largest difference between the log-likelihood in the answer and that of the loops at "
            "the same weights. A theory of several kinds is in several rows.",
            optima(range(THEORIES)),
            f"Planted weights are drawn from a normal distribution. {SAMPLE} worlds are drawn by the "
            "probabilities of all worlds, and weights are learned from them without a penalty. *within 2*: "
            "weights at most two standard errors from the planted one (0.954 is expected). Weights that the "
            "statements do not distinguish have no standard error. Theories are left out if some weight "
            "grows without end on the drawn worlds, which learning reports.",
            planted(range(THEORIES)),
            "Likelihood and pseudo-likelihood, without a penalty. Friends are symmetric by a hard "
            "statement, so each pair is one choice with two groundings, and the exact weight is half its "
            "log-odds:",
            friends(),
        ]
    )


# Optima


@dataclass(frozen=True)
class Optimum:
    """``short``: how far ours is below the other's; ``off``: how far its value is from the loops' there."""

    kinds: tuple[str, ...]
    weights: int
    short: float
    off: float


def optima(seeds: Iterable[int]) -> str:
    lines = [
        "| penalty | theories | number | weights | equal | lower | higher | value off by |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    numbers = list(seeds)
    for l2 in PENALTIES:
        found = [optimum(seed, l2) for seed in numbers]
        lines.append(_optima_line(l2, "all", found))
        lines += [_optima_line(l2, kind, [one for one in found if kind in one.kinds]) for kind in KINDS]
    return "\n".join(lines)


def optimum(seed: int, l2: float) -> Optimum:
    """What learning reaches on one theory, beside what the loops' optimiser does."""
    kinds = combination(seed, KINDS)
    task = drawn_task(random.Random(seed), kinds)
    loops, found = task.by_loops(), task.learned(l2)
    weights = task.in_order(found)
    value = sum(world.value(weights) for world in loops)
    best = highest(loops, len(weights), l2, starts=STARTS)
    short = best - (value - l2 / 2 * float(weights @ weights))
    return Optimum(kinds, len(weights), short, abs(value - found.metrics["log_likelihood"]))


def combination(number: int, kinds: Sequence[str]) -> tuple[str, ...]:
    """All combinations in turn."""
    every = [chosen for size in range(len(kinds) + 1) for chosen in combinations(kinds, size)]
    return every[number % len(every)]


def _optima_line(l2: float, kind: str, found: Sequence[Optimum]) -> str:
    lower = sum(one.short > TOLERANCE for one in found)
    higher = sum(one.short < -TOLERANCE for one in found)
    weights, off = sum(one.weights for one in found), max(one.off for one in found)
    equal = len(found) - lower - higher
    return f"| {l2:g} | {kind} | {len(found)} | {weights} | {equal} | {lower} | {higher} | {off:.0e} |"


# Planted weights


def planted(seeds: Iterable[int]) -> str:
    heads = ("theories", "number", "left out", "weights", "with a standard error", "within 2", "share")
    lines = [f"| {' | '.join(heads)} |", "| --- |" + " ---: |" * 6]
    kinds = ("tied", "many-valued")
    found = [(combination(seed, kinds), recovered(seed, combination(seed, kinds))) for seed in seeds]
    for name in ("all", *kinds):
        own = [apart for drawn, apart in found if name == "all" or name in drawn]
        weights = [one for apart in own if apart is not None for one in apart]
        sure = [one for one in weights if one is not None]
        near = sum(one <= 2 for one in sure)
        counts = (len(own), sum(apart is None for apart in own), len(weights), len(sure), near)
        lines.append(f"| {name} | {' | '.join(map(str, counts))} | {near / len(sure):.3f} |")
    return "\n".join(lines)


def recovered(seed: int, kinds: Sequence[str]) -> list[float | None] | None:
    """How many standard errors each learned weight is from the planted one, ``None`` where it has none;
    ``None`` for all where a weight has no finite value."""
    task = drawn_task(random.Random(seed), kinds, SAMPLE)
    found = task.learned(0.0)
    return [_errors_apart(task, weight) for weight in found.weights] if found.status.converged else None


def _errors_apart(task: Task, weight: LearnedWeight) -> float | None:
    if weight.standard_error is None:
        return None
    return abs(weight.weight - float(task.planted[task.place(weight)])) / weight.standard_error


# Friends


PAIRS = """\
type person = {"a", "b", "c"}
predicate friends(person, person)
hard: friends(x, y) => friends(y, x)
?: friends(x, y) where x != y
"""
BOXES = """\
type box = {"1", "2", "3", "4"}
predicate red(box)
predicate blue(box)
predicate green(box)
hard: red(x) xor blue(x) xor green(x)
hard: not (red(x) and blue(x) and green(x))
?: red(x)
"""
SMOKERS = """\
predicate smokes(person)
predicate friends(person, person)
predicate cancer(person)
?: smokes(x) => cancer(x)
?: friends(x, y) => (smokes(x) <=> smokes(y))
"""
SYMMETRIC = SMOKERS + "hard: friends(x, y) => friends(y, x)\n"
STORED = "0.646696, 1.519900 (pracmln's file)"
Facts = Mapping[str, Sequence[Any]]


def friends() -> str:
    heads = ("world", "exact or stored", "pseudo-likelihood", "likelihood", "log-likelihood at each")
    lines = [f"| {' | '.join(heads)} |", "| --- | --- | --- | --- | --- |"]
    both = [("a", "b"), ("b", "a")]
    lines.append(_friends_line("three people, one pair of friends", "-0.346574", PAIRS, {"friends": both}))
    boxes = {"red": ["1", "2"], "blue": ["3"], "green": ["4"]}
    lines.append(_friends_line("four boxes, two red, each of one colour", "0.693147", BOXES, boxes))
    if DATA.is_dir():
        people, facts = tutorial_world()
        for name, stored, rules in (
            ("pracmln's smokers", STORED, SMOKERS),
            ("the same, friends symmetric by a hard statement", "", SYMMETRIC),
        ):
            lines.append(_friends_line(name, stored, people + rules, facts))
    return "\n".join(lines)


def _friends_line(name: str, stored: str, rules: str, facts: Facts) -> str:
    cells, heights = [], []
    for method in ("pseudo-likelihood", "likelihood"):
        try:
            found = hb.Model(hb.parse(rules), facts).learn(method, target=list(facts), l2=0)
        except hb.HerbrandError:
            cells.append("refused")
            heights.append("")
            continue
        cells.append(", ".join(f"{weight.weight:.6f}" for weight in found.weights))
        heights.append(f"{log_likelihood(found.theory, facts):.6f}")
    return f"| {name} | {stored} | {' | '.join(cells)} | {', '.join(filter(None, heights))} |"


def log_likelihood(theory: Theory, facts: Facts) -> float:
    """Of a world of which everything is known: by the log-partition of that world and that of all."""
    known = hb.Model(theory, facts, closed=list(facts)).infer(log_partition=True).log_partition
    free = hb.Model(theory).infer(log_partition=True).log_partition
    assert known is not None and free is not None
    return known - free


def tutorial_world() -> tuple[str, Facts]:
    """The eight people of Alchemy's tutorial that pracmln's weights were learned from, friends both ways."""
    data = read_benchmark(DATA / "smoke")
    people = "abcdefgh"
    rows: dict[str, set[tuple[Any, ...]]] = {"smoke": set(), "friend": set(), "cancer": set()}
    for fact in data.theory.facts:
        if fact.kind == "true":
            rows[fact.predicate] |= {row for row in zip(*fact.columns, strict=True) if {*row} <= {*people}}
    both = sorted(rows["friend"] | {(y, x) for x, y in rows["friend"]})
    facts = {"smokes": sorted(x for (x,) in rows["smoke"]), "friends": both}
    listed = ", ".join(f'"{name}"' for name in people)
    return f"type person = {{{listed}}}\n", {**facts, "cancer": sorted(x for (x,) in rows["cancer"])}
