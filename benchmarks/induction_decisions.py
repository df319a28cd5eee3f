"""Decision tasks learned by Neural Logic Machines: sorting, path and blocks world.

    python -m benchmarks.induction_decisions                        the table of kept policies
    python -m benchmarks.induction_decisions school TASK [SEED...]  lessons up to graduation; resumes
    python -m benchmarks.induction_decisions play TASK SEED [N]     N games (1,000) of 50 objects

Schoolings write checkpoints into ``build/induction`` and graduated policies, with their figures, into
``benchmarks/induction_weights``.
"""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from benchmarks.games.schools import GAMES, games_named, load_policy, save_policy, school_of
from benchmarks.induction_runs import add_final, end, ended, middle, unfinished, weights_of
from herbrand.tasks.rollouts import play

PAPER = {"sorting": ("100 %", 45), "path": ("60 %", 4), "blocks": ("40 %", 84)}
"""Share of graduated runs (appendix B) and mean moves at 50 objects (Table 2)."""

BATCH = {"sorting": 100, "path": 20, "blocks": 20}
"""Games of 50 objects that are played at once."""


def school(name: str, seeds: list[int]) -> None:
    """Each seed to graduation or the last epoch."""
    torch.set_num_threads(1)
    for seed, checkpoint in unfinished(name, seeds):
        schooling = school_of(name, seed=seed)
        if checkpoint.exists():
            schooling.resume(checkpoint)
        last = None
        for last in schooling.run():
            schooling.save(checkpoint)
            print(
                f"{name} seed {seed}: epoch {last.epoch}, size {last.size}, exam {last.success:.3f} in "
                f"{last.moves:.1f} moves, drawn actions {last.sampled:.3f}, {last.episodes:,} games, "
                f"{last.seconds:.0f} s",
                flush=True,
            )
        if last is None:
            continue
        about = {
            "command": f"python -m benchmarks.induction_decisions school {name} {seed}",
            "task": name,
            "seed": seed,
            "curriculum": asdict(schooling.curriculum),
            "epochs": last.epoch,
            "games": last.episodes,
            "cpu_seconds": round(last.seconds, 1),
            "graduated": last.graduated,
        }
        if last.graduated:
            save_policy(weights_of(name, seed), schooling.policy, about)
        end(about, checkpoint)


def final(name: str, seed: int, games: int = 1_000, objects: int = 50) -> None:
    """Fresh large games by the best action that was not taken before in the same position; the figures join
    the others of the run. ``alone``: games solved by the best action without such memory."""
    torch.set_num_threads(1)
    policy, _ = load_policy(weights_of(name, seed))
    kind, rng = games_named(name), np.random.default_rng([seed, 9])
    began, solved, moves, alone = time.process_time(), [], [], 0
    for start in range(0, games, BATCH[name]):
        drawn = kind.draw(rng, min(BATCH[name], games - start), objects, **kind.final_exam)
        found = play(policy, drawn, repeat=False)
        came_back = found.came_back
        assert came_back is not None  # as play was told not to repeat
        alone += int((found.solved & ~came_back).sum())
        solved.append(found.solved)
        moves.append(found.moves)
    figures = {
        "games": games,
        "objects": objects,
        "solved": int(np.concatenate(solved).sum()),
        "alone": alone,
        "moves": round(float(np.concatenate(moves).mean()), 2),
        "cpu_seconds": round(time.process_time() - began, 1),
    }
    add_final(name, seed, figures)


def report() -> str:
    """A table of the kept policies."""
    lines = [
        "| task | seeds | graduated | paper | CPU seconds (median) | games (median) "
        "| solved at 50 objects | moves | paper |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- | --- | ---: |",
    ]
    for name in GAMES:
        share, most = PAPER[name]
        runs = ended(name)
        done = [run for run in runs if run["graduated"]]
        finals = [run["final"] for run in done if "final" in run]
        seconds = middle(done, "cpu_seconds")
        games = middle(done, "games")
        solved = ", ".join(_solved(figures) for figures in finals)
        moves = ", ".join(f"{f['moves']:.1f}" for f in finals)
        school = f"{name} | {len(runs)} | {len(done)} | {share} | {seconds} | {games}"
        lines.append(f"| {school} | {solved} | {moves} | {most} |")
    return "\n".join(lines)


def _solved(figures: dict[str, Any]) -> str:
    told, alone = f"{figures['solved']:,} of {figures['games']:,}", figures.get("alone")
    return told if alone in (None, figures["solved"]) else f"{told} ({alone:,} by the best action alone)"


def main(arguments: list[str]) -> None:
    match arguments:
        case []:
            print(report())
        case ["school", name, *seeds]:
            school(name, [int(seed) for seed in seeds] or list(range(3)))
        case ["play", name, seed, *games]:
            final(name, int(seed), *map(int, games))
        case _:
            print(__doc__)
            sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
