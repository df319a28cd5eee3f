"""Supervised tasks learned by Neural Logic Machines, and what they learned as rules.

    python -m benchmarks.induction_tasks                       the table of kept trainings
    python -m benchmarks.induction_tasks train TASK [SEED...]  to graduation; resumes where it was stopped
    python -m benchmarks.induction_tasks final TASK SEED       kept weights in 1,000 large worlds
    python -m benchmarks.induction_tasks rules [TASK...]       rules from kept machines, in 1,000 large worlds

Trainings write checkpoints into ``build/induction`` and graduated weights, with their figures, into
``benchmarks/induction_weights``.
"""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, replace

import numpy as np
import torch

from benchmarks.induction_runs import KEPT, add_final, end, ended, middle, unfinished, weights_of
from benchmarks.worlds.tasks import TASKS, task_named
from herbrand.induction.checkpoint import load_machine, save_machine
from herbrand.induction.examination import examine
from herbrand.induction.extraction import extract, verify
from herbrand.induction.machine import SPREAD
from herbrand.induction.training import Plan, Training
from herbrand.language.theory import show
from herbrand.tensor_files import read_tensors

PLAN = Plan(rebuild_widest=True)
THOROUGH = Plan(rebuild_widest=True, spread=SPREAD, again=0.5, rate_decay=0.9)
SMALL = replace(THOROUGH, batch=4, exam_every=800)
RACE = replace(SMALL, starts=6, start_examples=800, patience=0.04)
WIDE = replace(
    SMALL,
    width=16,
    starts=3,
    start_examples=1_200,
    margin=1.0,
)
PLANS = {
    "grandparents": THOROUGH,
    "uncle": WIDE,
    "maternal-great-uncle": THOROUGH,
    "6-connectivity": THOROUGH,
    "2-out-degree": RACE,
}
"""Tasks of several joins, or of dear worlds; see the decisions."""

WITH_WEIGHTS = 3
"""Weights are kept of so many seeds, figures of all."""

PAPER = {
    "has-father": "100 %", "has-sister": "100 %", "grandparents": "100 %", "uncle": "90 %",
    "maternal-great-uncle": "20 %", "adjacent-to-red": "90 %", "4-connectivity": "100 %",
    "6-connectivity": "60 %", "1-out-degree": "100 %", "2-out-degree": "100 %",
}  # fmt: skip
"""The share of runs that graduated, from the paper's appendix B."""


# Trainings


def train(name: str, seeds: list[int]) -> None:
    """Each seed to graduation or the end of the paper's number of examples."""
    torch.set_num_threads(1)
    for seed, checkpoint in unfinished(name, seeds):
        plan = PLANS.get(name, PLAN)
        training = Training(task_named(name), plan, seed)
        if checkpoint.exists():
            training.resume(checkpoint)
        last = None
        for last in training.run():
            training.save(checkpoint)
            errors = [marks.errors for marks in last.marks]
            print(
                f"{name} seed {seed}: {last.examples:,} examples, loss {last.loss:.4f}, accuracy "
                f"{last.accuracy:.4f}, errors {errors}, restarts {last.restarts}, {last.seconds:.0f} s",
                flush=True,
            )
        if last is None:
            last = training.progress()
        about = {
            "command": f"python -m benchmarks.induction_tasks train {name} {seed}",
            "task": name,
            "seed": seed,
            "plan": asdict(plan),
            "examples": last.examples,
            "restarts": last.restarts,
            "cpu_seconds": round(last.seconds, 1),
            "graduated": last.graduated,
        }
        if last.graduated and seed < WITH_WEIGHTS:
            save_machine(weights_of(name, seed), training.machine, about)
        end(about, checkpoint)


def final(name: str, seed: int, worlds: int = 1_000) -> None:
    """The final exam: errors on fresh large worlds; the figure joins the others of the run."""
    torch.set_num_threads(1)
    task = task_named(name)
    machine, _ = load_machine(weights_of(name, seed))
    began = time.process_time()
    rng = np.random.default_rng([seed, 9])
    found = examine(lambda s: machine(s.predicates, s.present), task, rng, worlds, task.final_size)
    figures = {
        "worlds": found.worlds,
        "objects": task.final_size,
        "errors": found.errors,
        "margin": found.margin,
        "cpu_seconds": round(time.process_time() - began, 1),
    }
    add_final(name, seed, figures)


def report() -> str:
    """A table of the kept runs."""
    lines = [
        "Only completed runs are listed; the [decisions](decisions/induction.md) name those that were "
        "stopped earlier.",
        "",
        "| task | runs | graduated | paper | CPU seconds (median) | examples (median) | final exam: errors |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for name in TASKS:
        runs = ended(name)
        if not runs:
            lines.append(f"| {name} | 0 | | {PAPER[name]} | | | |")
            continue
        done = [run for run in runs if run["graduated"]]
        seconds = middle(done, "cpu_seconds")
        examples = middle(done, "examples")
        finals = [r["final"] for r in done if "final" in r]
        told = "; ".join(f"{f['errors']} in {f['worlds']:,} of {f['objects']}" for f in finals)
        lines.append(
            f"| {name} | {len(runs)} | {len(done) / len(runs):.0%} | {PAPER[name]} | {seconds} "
            f"| {examples} | {told} |"
        )
    return "\n".join(lines)


# Rules


def rules(names: list[str], worlds: int = 1_000) -> None:
    """Rules from each kept machine, and their errors on fresh large worlds, by exact evaluation."""
    torch.set_num_threads(1)
    for path in sorted(KEPT.glob("*.safetensors")):
        name = read_tensors(path)[1]["task"]
        if name not in (names or TASKS):
            continue
        task, (machine, about) = task_named(name), load_machine(path)
        began = time.process_time()
        rng = np.random.default_rng([about["seed"], 5])
        found = extract(task, lambda s, m=machine: m(s.predicates, s.present), rng)
        taken = time.process_time() - began
        marks = verify(task, found.clauses, np.random.default_rng([7]), worlds, task.final_size)
        agreed, large = found.agreement, f"{marks.worlds:,} worlds of {task.final_size}"
        print(f"# {path.stem}: {taken:.1f} CPU s; {marks.errors} errors in {large}")
        print(f"# differs from its machine on {agreed.errors} of {agreed.tuples:,} tuples")
        print(show(found.theory), flush=True)


def main(arguments: list[str]) -> None:
    match arguments:
        case []:
            print(report())
        case ["train", name, *seeds]:
            train(name, [int(seed) for seed in seeds] or list(range(10)))
        case ["final", name, seed]:
            final(name, int(seed))
        case ["rules", *names]:
            rules(names)
        case _:
            print(__doc__)
            sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
