"""Neural Logic Machines: speed and memory of the layer, and trainings that are kept.

    python -m benchmarks.induction                     speed and memory, and the table of kept trainings
    python -m benchmarks.induction train TASK [SEED...]  a supervised task; resumes where it was stopped
    python -m benchmarks.induction final TASK SEED     the final exam of kept weights: 1,000 large worlds
    python -m benchmarks.induction rules [TASK...]     rules from kept machines, evaluated on 1,000 large
    worlds

Trainings write checkpoints into ``build/induction`` and graduated weights, with their figures, into
``benchmarks/induction_weights``.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from statistics import median

import numpy as np
import torch

from benchmarks.nlm_appendix_f import AppendixF
from herbrand.induction.checkpoint import load_machine, read_tensors, save_machine
from herbrand.induction.examination import examine
from herbrand.induction.extraction import extract, verify
from herbrand.induction.machine import LogicMachine
from herbrand.induction.training import Plan, Training
from herbrand.induction.worlds.tasks import TASKS, task_named
from herbrand.language.show import show

HERE = Path(__file__).parent
KEPT = HERE / "induction_weights"
RUNNING = HERE.parent / "build" / "induction"
PLAN = Plan(rebuild_widest=True)
SLOWER = Plan(rebuild_widest=True, batch=4, rate=0.005, most_balance=1.0, patience=0.25)
PLANS = {"uncle": SLOWER, "maternal-great-uncle": SLOWER}
"""Tasks that stood still under the common plan."""

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
    for seed in seeds:
        result, checkpoint = KEPT / f"{name}-{seed}.json", RUNNING / f"{name}-{seed}.safetensors"
        if result.exists():
            continue
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
            "command": f"python -m benchmarks.induction train {name} {seed}",
            "task": name,
            "seed": seed,
            "plan": asdict(plan),
            "examples": last.examples,
            "restarts": last.restarts,
            "cpu_seconds": round(last.seconds, 1),
            "graduated": last.graduated,
        }
        KEPT.mkdir(exist_ok=True)
        if last.graduated:
            save_machine(KEPT / f"{name}-{seed}.safetensors", training.machine, about)
        result.write_text(json.dumps(about, indent=1) + "\n")
        checkpoint.unlink(missing_ok=True)


def final(name: str, seed: int, worlds: int = 1_000) -> None:
    """The final exam: errors on fresh large worlds; the figure joins the others of the run."""
    torch.set_num_threads(1)
    task, path = task_named(name), KEPT / f"{name}-{seed}.safetensors"
    machine, _ = load_machine(path)
    began = time.process_time()
    rng = np.random.default_rng([seed, 9])
    found = examine(lambda s: machine(s.predicates, s.present), task, rng, worlds, task.final_size)
    result = KEPT / f"{name}-{seed}.json"
    about = json.loads(result.read_text())
    about["final"] = {
        "worlds": found.worlds,
        "objects": task.final_size,
        "errors": found.errors,
        "margin": found.margin,
        "cpu_seconds": round(time.process_time() - began, 1),
    }
    result.write_text(json.dumps(about, indent=1) + "\n")
    print(name, seed, about["final"], flush=True)


def trainings() -> str:
    """A table of the kept runs."""
    lines = [
        "| task | runs | graduated | paper | CPU seconds (median) | examples (median) | final exam: errors |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for name in TASKS:
        runs = [json.loads(p.read_text()) for p in sorted(KEPT.glob(f"{name}-*.json"))]
        if not runs:
            lines.append(f"| {name} | 0 | | {PAPER[name]} | | | |")
            continue
        done = [run for run in runs if run["graduated"]]
        seconds = f"{median(r['cpu_seconds'] for r in done):.0f}" if done else ""
        examples = f"{median(r['examples'] for r in done):,.0f}" if done else ""
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
        if names and name not in names:
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


# Speed and memory

MODES = ("ours", "appendix F")


def report() -> str:
    """Speed, memory and the kept trainings, as Markdown."""
    torch.set_num_threads(1)
    return "\n\n".join([_speed_table(), _memory_table(), trainings()])


def _speed_table() -> str:
    lines = [
        "CPU seconds: training steps of 4 worlds and inference; depth 4, breadth 3, 4 binary predicates.",
        "",
        "| what | objects | target | ours | appendix F | ratio |",
        "| --- | ---: | --- | ---: | ---: | ---: |",
    ]
    for objects, repeats in ((10, 9), (20, 7), (50, 3)):
        for arity in (1, 2):
            ours, theirs = _race(objects, arity, 4, True, repeats)
            lines.append(_speed_row("training step", objects, arity, ours, theirs))
    for arity in (1, 2):
        ours, theirs = _race(100, arity, 1, False, 3)
        lines.append(_speed_row("inference, 1 world", 100, arity, ours, theirs))
    return "\n".join(lines)


def _speed_row(what: str, objects: int, arity: int, ours: float, theirs: float) -> str:
    kind = {1: "unary", 2: "binary"}[arity]
    return f"| {what} | {objects} | {kind} | {ours:.4f} | {theirs:.4f} | {theirs / ours:.1f} |"


def _race(objects: int, arity: int, worlds: int, training: bool, repeats: int) -> tuple[float, float]:
    works = [_work(mode, objects, arity, worlds, training) for mode in MODES]
    for work in works:
        work()
    times = [[_cpu(work) for work in works] for _ in range(repeats)]
    ours, theirs = (median(column) for column in zip(*times, strict=True))
    return ours, theirs


def _work(mode: str, objects: int, arity: int, worlds: int, training: bool) -> Callable[[], object]:
    generator = torch.Generator().manual_seed(0)
    known = (torch.rand(worlds, objects, objects, 4, generator=generator) < 0.1).float()
    machine: torch.nn.Module
    if mode == "ours":
        machine = LogicMachine((0, 0, 4), depth=4, breadth=3, target_arity=arity)
    else:
        machine = AppendixF([0, 0, 4], depth=4, breadth=3)
    head = torch.nn.Linear(machine.outputs[arity], 1)

    def work() -> None:
        with torch.set_grad_enabled(training):
            loss = head(machine([None, None, known, None])[arity]).square().mean()
            if training:
                loss.backward()

    return work


def _cpu(work: Callable[[], object]) -> float:
    gc.collect()
    began = time.process_time()
    work()
    return time.process_time() - began


def _memory_table() -> str:
    lines = [
        "Peak memory of a process above what it holds before the work, in MB.",
        "",
        "| what | objects | target | ours | appendix F | ratio |",
        "| --- | ---: | --- | ---: | ---: | ---: |",
    ]
    for arity in (1, 2):
        ours, theirs = (_peak(mode, 50, arity) for mode in MODES)
        kind = {1: "unary", 2: "binary"}[arity]
        lines.append(
            f"| training step, 4 worlds | 50 | {kind} | {ours:.0f} | {theirs:.0f} | {theirs / ours:.1f} |"
        )
    for mode, objects in (("binary", 5_000), ("ternary", 1_000)):
        what = "binary-only inference" if mode == "binary" else "inference with ternaries never stored"
        seconds, peak = _large(mode, objects)
        lines.append(f"| {what} ({seconds:.0f} CPU s) | {objects:,} | unary | {peak:.0f} | | |")
    return "\n".join(lines)


def _peak(mode: str, objects: int, arity: int) -> float:
    return _alone(["peak", mode, str(objects), str(arity)])[1]


def _large(mode: str, objects: int) -> tuple[float, float]:
    return _alone(["large", mode, str(objects)])


def _alone(arguments: list[str]) -> tuple[float, float]:
    """CPU seconds and megabytes, told by a process of its own."""
    command = [sys.executable, "-m", "benchmarks.induction", *arguments]
    told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE.parent).stdout
    seconds, megabytes = map(float, told.split())
    return seconds, megabytes


def _tell_peak(work: Callable[[], object]) -> None:
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before = _peak_so_far()
    seconds = _cpu(work)
    print(seconds, (_peak_so_far() - before) / 1024)


def _peak_so_far() -> int:
    """Kilobytes of memory that this process held at most."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def _large_work(mode: str, objects: int) -> Callable[[], object]:
    known = (torch.rand(1, objects, objects, 4) < 2 / objects).float()
    breadth = 2 if mode == "binary" else 3
    rebuilt = mode == "ternary"
    machine = LogicMachine((0, 0, 4), depth=4, breadth=breadth, target_arity=1, rebuild_widest=rebuilt)

    def work() -> None:
        with torch.no_grad():
            machine([None, None, known])

    return work


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
        case ["peak", mode, objects, arity]:
            torch.set_num_threads(1)
            _work(mode, 5, int(arity), 1, True)()
            _tell_peak(_work(mode, int(objects), int(arity), 4, True))
        case ["large", mode, objects]:
            torch.set_num_threads(1)
            _tell_peak(_large_work(mode, int(objects)))
        case _:
            print(__doc__)
            sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
