"""Neural Logic Machines: speed and memory of the layer, beside the paper's appendix F in the same run.

python -m benchmarks.induction
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch

from benchmarks.nlm_appendix_f import AppendixF
from herbrand.induction.machine import LogicMachine

HERE = Path(__file__).parent

MODES = ("ours", "appendix F")


def report() -> str:
    """Speed and memory, as Markdown."""
    torch.set_num_threads(1)
    return "\n\n".join([_speed_table(), _memory_table()])


SIZES = ((10, 4, 9), (20, 4, 7), (50, 4, 3), (100, 1, 1))
"""Objects, worlds of a batch, and how often each is run."""


def _speed_table() -> str:
    lines = [
        "Times are CPU seconds, with depth 4, breadth 3 and 4 binary predicates. A training step is a "
        "forward and a backward pass.",
        "",
        "| what | objects | worlds | target | ours | appendix F | ratio |",
        "| --- | ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    for what, training in (("training step", True), ("inference", False)):
        for objects, worlds, repeats in SIZES:
            for arity, kind in ((1, "unary"), (2, "binary")):
                ours, theirs = _race(objects, arity, worlds, training, repeats)
                lines.append(
                    f"| {what} | {objects} | {worlds} | {kind} | {ours:.4f} | {theirs:.4f} "
                    f"| {theirs / ours:.1f} |"
                )
    return "\n".join(lines)


def _race(objects: int, arity: int, worlds: int, training: bool, repeats: int) -> tuple[float, float]:
    works = [_work(mode, objects, arity, worlds, training) for mode in MODES]
    for work in works if repeats > 1 else []:
        work()  # the first call is slower; where one takes long it does not matter
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
        "Peak memory in MB, above what the process holds before the work:",
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
