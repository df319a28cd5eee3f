"""Rules planted in random worlds, searched for by ``induce`` and tried on fresh worlds of twice the size.

    python -m benchmarks.induction_rules [recursion|traffic|noise] [SEEDS [TASK...]]

The worlds are made by :mod:`benchmarks.planted_worlds`, whose targets are worked out by plain loops.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import torch

from benchmarks.planted_worlds import WORLDS, World, write
from herbrand.errors import HerbrandError
from herbrand.induction.database import Database
from herbrand.induction.database import World as Numbered
from herbrand.induction.evaluation import evaluated
from herbrand.induction.induce import Induced, induce
from herbrand.language.parse import parse_theory

BUDGET = 0.5
"""Minutes for a search."""

SEEDS = 5
RECURSION = {
    "reachability": 7,
    "undirected reachability": 10,
    "ancestor (father, mother)": 12,
    "ancestor (parent)": 12,
    "same generation": 10,
    "even": 8,
    "even length": 12,
    "same colour path": 8,
    "red path": 8,
    "way to an exit": 14,
}
"""Objects of a world to learn from."""

COUNTS = (3, 5, 10)
FRESH = 30
"""Worlds never seen, of twice the size."""


@dataclass(frozen=True)
class Run:
    """How one search went; ``errors``: tuples of fresh worlds."""

    found: Induced | None
    errors: int
    seconds: float

    @property
    def right(self) -> bool:
        return self.found is not None and not self.errors


def run(
    worlds: Sequence[World],
    fresh: Sequence[World],
    seed: int,
    budget: float = BUDGET,
    labels: Sequence[dict[tuple[str, ...], bool]] | None = None,
) -> Run:
    """Rules from ``worlds``, or from ``labels`` in place of their target, tried on ``fresh`` ones."""
    arities = {name: len(row) for world in (*worlds, *fresh) for name, rows in world.items() for row in rows}
    declared = [f"predicate {name}({', '.join(['thing'] * arity)})" for name, arity in arities.items()]
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        for number, world in enumerate(worlds):
            write(world, Path(folder) / f"w{number:02}", None if labels is None else labels[number])
        try:
            theory = parse_theory("\n".join(declared))
            found = induce(theory, target="t", worlds=folder, budget=budget, engine="search", seed=seed)
        except HerbrandError:
            found = None
    seconds = time.process_time() - began
    wrong = 0
    if found is not None:
        wrong = sum(len(derived(found, world, arities) ^ world["t"]) for world in fresh)
    return Run(found, wrong, seconds)


def derived(found: Induced, world: World, arities: dict[str, int]) -> set[tuple[str, ...]]:
    """What the rules conclude in a world."""
    names = sorted({name for rows in world.values() for row in rows for name in row})
    number = {name: place for place, name in enumerate(names)}
    facts = {
        name: np.array([[number[one] for one in row] for row in sorted(rows)], np.int64).reshape(
            len(rows), arities[name]
        )
        for name, rows in world.items()
        if name != "t"
    }
    after = evaluated(found.rules, Database.of([Numbered(len(names), facts, names)])).tables["t"]
    return {tuple(names[place] for place in row) for row in after.tolist()}


def recursion(seeds: int = SEEDS, names: Sequence[str] = ()) -> list[str]:
    """How many of ``seeds`` searches found rules without an error in fresh worlds."""
    lines = [
        f"Recursion: the number of searches whose rules make no error in {FRESH} fresh worlds of twice the "
        "size.",
        "",
        f"| task | objects | {' | '.join(f'{n} worlds' for n in COUNTS)} | CPU seconds (median) | rules |",
        f"| --- | ---: | {' | '.join(['---:'] * len(COUNTS))} | ---: | --- |",
    ]
    for name in names or RECURSION:
        size, cells, runs = RECURSION[name], [], []
        for count in COUNTS:
            own = []
            for seed in range(seeds):
                rng = np.random.default_rng([seed, count])
                worlds = [WORLDS[name](rng, size) for _ in range(count)]
                fresh = [WORLDS[name](rng, 2 * size) for _ in range(FRESH)]
                own.append(run(worlds, fresh, seed))
            cells.append(f"{sum(one.right for one in own)} of {seeds}")
            runs += own
        seconds = median(one.seconds for one in runs)
        lines.append(f"| {name} | {size} | {' | '.join(cells)} | {seconds:.1f} | {_shown(runs)} |")
        print(lines[-1], file=sys.stderr)
    return lines


def _shown(runs: Sequence[Run]) -> str:
    """The shortest rules that are right, else the last ones."""
    right = [one.found for one in runs if one.right] or [one.found for one in runs[-1:]]
    found = [one for one in right if one is not None]
    if not found:
        return ""
    best = min(found, key=lambda one: sum(1 + clause.literals for clause in one.rules))
    return "<br>".join(f"`{line}`" for line in best.text.splitlines() if ":-" in line)


def traffic(seeds: int = SEEDS) -> list[str]:
    """Right-of-way rules with exceptions, from 40 worlds, tried on 200."""
    lines = [
        "Right of way, with two exceptions: rules are learned from 40 worlds of 3 to 5 cars; errors are "
        "counted in 200 fresh worlds of 3 to 8.",
        "",
        "| seed | errors learned from | errors in fresh worlds | CPU seconds | rules |",
        "| ---: | ---: | ---: | ---: | --- |",
    ]
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        worlds = [WORLDS["traffic"](rng, int(rng.integers(3, 6))) for _ in range(40)]
        fresh = [WORLDS["traffic"](rng, int(rng.integers(3, 9))) for _ in range(200)]
        one = run(worlds, fresh, seed, budget=1.0)
        errors = "none found" if one.found is None else one.found.errors
        lines.append(f"| {seed} | {errors} | {one.errors} | {one.seconds:.1f} | {_shown([one])} |")
        print(lines[-1], file=sys.stderr)
    return lines


NOISY = {
    "zendo": ("zendo", 1, 100),
    "zendo, 4 worlds": ("zendo", 4, 100),
    "trains": ("trains", 1, 100),
    "trains, 4 worlds": ("trains", 4, 100),
    "uncle, 8 worlds": ("uncle", 8, 14),
}
"""What is planted, in how many worlds, and how many things each has."""

PLANTED = {
    "zendo": "t(s) :- piece(s, p), red(p), small(p), contact(p, q), blue(q)",
    "trains": "t(x) :- has_car(x, c), short(c), closed(c)\n"
    "t(x) :- has_car(x, c), long(c), load(c, l), triangle(l)",
    "uncle": "t(y, x) :- parent(z, x), parent(u, z), parent(u, y), y != z, man(y)",
}
"""The rules that the worlds were made by; the bar for those found is the longest of them."""


def longest(name: str) -> int:
    """Literals and comparisons of the longest planted body."""
    return max(len(rule.body) for rule in parse_theory(PLANTED[name]).rules)


FLIPPED = (0.0, 0.05, 0.1, 0.2)
FALSE = 2
"""False labels of a world in which nothing is true."""


def noise(seeds: int = 10, names: Sequence[str] = ()) -> list[str]:
    """Accuracy on clean fresh worlds after labels were flipped, and whether rules grew."""
    lines = [
        f"Flipped labels: balanced accuracy on clean fresh worlds, mean of {seeds} seeds, with the share of "
        "runs in brackets in which no rule is longer than the longest planted one.",
        "",
        f"| task | {' | '.join(f'{share:.0%} flipped' for share in FLIPPED)} | CPU seconds (median) |",
        f"| --- | {' | '.join(['---:'] * len(FLIPPED))} | ---: |",
    ]
    for row in names or NOISY:
        name, count, size = NOISY[row]
        cells, times = [], []
        for share in FLIPPED:
            accuracies, short = [], 0
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                worlds = [WORLDS[name](rng, size) for _ in range(count)]
                fresh = [WORLDS[name](rng, size) for _ in range(5)]
                one = run(worlds, fresh, seed, labels=[_flipped(rng, world, share) for world in worlds])
                times.append(one.seconds)
                accuracies.append(_balanced(one.found, fresh))
                short += one.found is not None and max(c.literals for c in one.found.rules) <= longest(name)
            cells.append(f"{np.mean(accuracies):.3f} ({short / seeds:.0%})")
            print(f"{row}, {share:.0%} flipped: {cells[-1]}", file=sys.stderr, flush=True)
        lines.append(f"| {row} | {' | '.join(cells)} | {median(times):.1f} |")
        print(lines[-1], file=sys.stderr)
    return lines


def _every(world: World) -> list[tuple[str, ...]]:
    """Tuples that the target may hold of: structures, trains, or pairs of people."""
    first = {"piece", "has_car"} & set(world)
    if first:
        return sorted({row[:1] for name in first for row in world[name]})
    names = sorted({name for rows in world.values() for row in rows for name in row})
    return [(x, y) for x in names for y in names if x != y]


def _flipped(rng: np.random.Generator, world: World, share: float) -> dict[tuple[str, ...], bool]:
    """Labels, at most twice as many false as true ones where there are any, a share of them wrong."""
    true = sorted(world["t"])
    false = [row for row in _every(world) if row not in world["t"]]
    most = max(2 * len(true), FALSE)
    if len(false) > most:
        false = [false[place] for place in np.sort(rng.choice(len(false), most, replace=False))]
    return {row: (row in world["t"]) != (rng.random() < share) for row in (*true, *false)}


def _balanced(found: Induced | None, worlds: Sequence[World]) -> float:
    right = np.zeros(2)
    whole = np.zeros(2)
    for world in worlds:
        arities = {name: len(row) for rows in [world] for name, r in rows.items() for row in r}
        arities |= dict.fromkeys(set(world) - set(arities), 1)
        concluded = set() if found is None else derived(found, world, arities)
        for row in _every(world):
            truth = int(row in world["t"])
            whole[truth] += 1
            right[truth] += (row in concluded) == bool(truth)
    return float((right / np.maximum(whole, 1)).mean())


def report(argv: Sequence[str] = ()) -> str:
    """The tables, or the one that is named, by so many seeds, of the tasks that follow."""
    torch.set_num_threads(1)
    kinds = {"recursion": recursion, "traffic": traffic, "noise": noise}
    if not argv:
        return "\n".join("\n".join([*kind(), ""]) for kind in kinds.values())
    kind = kinds[argv[0]]
    return "\n".join(kind(*map(int, argv[1:2]), *([argv[2:]] if argv[2:] else [])))


if __name__ == "__main__":
    print(report(sys.argv[1:]))
