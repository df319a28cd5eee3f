"""Rules planted in random worlds of many kinds, searched for by ``induce`` and tried on fresh worlds.

    python -m benchmarks.induction_problems [SHARE OF LABELS FLIPPED [SEED [BEGINNING OF A NAME...]]]

The problems are those of :mod:`benchmarks.rule_problems`; their targets are worked out by plain loops.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from benchmarks.rule_problems import games, networks, pieces, tables
from benchmarks.rule_problems.problem import TARGET, Problem, write
from benchmarks.rule_problems.trial import Trial, trial
from herbrand.language.parse import parse_theory

BUDGET = 1.0
"""Minutes for a problem."""

FRESH = 3
"""Worlds never seen."""

PROBLEMS = pieces.PROBLEMS | games.PROBLEMS | networks.PROBLEMS | tables.PROBLEMS


def solve(name: str, problem: Problem, flipped: float, seed: int) -> Trial:
    """Rules from one world, a share of whose labels is wrong."""
    rng = np.random.default_rng([seed, sum(map(ord, name))])
    given, *fresh = (problem.draw(rng, problem.size) for _ in range(1 + FRESH))
    labels = {row: truth != (rng.random() < flipped) for row, truth in given.labels.items()}
    with tempfile.TemporaryDirectory() as folder:
        worlds, others = Path(folder) / "worlds", Path(folder) / "fresh"
        write(given.facts, labels, worlds / "w")
        for number, world in enumerate(fresh):
            write(world.facts, world.labels, others / f"w{number}")
        theory = parse_theory(problem.declarations)
        return trial(theory, TARGET, worlds, others, BUDGET, "search", seed)


def report(arguments: Sequence[str] = ()) -> str:
    """The problems whose rules are not right in all fresh worlds, and a summary."""
    torch.set_num_threads(1)
    flipped, seed = float(arguments[0]) if arguments else 0.0, int(arguments[1]) if arguments[1:] else 0
    rows, done = [], []
    for name, problem in PROBLEMS.items():
        if arguments[2:] and not name.startswith(tuple(arguments[2:])):
            continue
        one = solve(name, problem, flipped, seed)
        done.append(one)
        cells = (name, f"{one.accuracy:.3f}", one.errors, f"{one.seconds:.0f}")
        rows.append(f"| {' | '.join(cells)} | {'<br>'.join(f'`{line}`' for line in one.lines)} |")
        print(rows[-1], file=sys.stderr, flush=True)
    right = sum(one.accuracy == 1 for one in done)
    mean = np.mean([one.accuracy for one in done])
    median = np.median([one.seconds for one in done])
    return "\n".join(
        [
            f"With {flipped:.0%} of the labels flipped, a budget of {BUDGET:g} minute and seed {seed}, "
            f"{right} of {len(done)} problems have rules without an error in {FRESH} fresh worlds. The mean "
            f"balanced accuracy there is {mean:.3f}, the median time {median:.0f} CPU seconds. The others:",
            "",
            "| problem | balanced accuracy | errors learned from | CPU seconds | rules |",
            "| --- | ---: | ---: | ---: | --- |",
            *(row for row, one in zip(rows, done, strict=True) if one.accuracy < 1),
        ]
    )


if __name__ == "__main__":
    print(report(sys.argv[1:]))
