"""The cold start of commands, each in a process of its own, beside importing what they cannot do without.

python -m benchmarks.start

Seconds of the processor, medians of interleaved processes; ours is the whole command, from start to exit.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from statistics import median

from benchmarks.measurement import Measurement, table

REPEATS = 9
SMOKERS = ["infer", "examples/smokers/smokers.hb"]
RUNS = {
    "herbrand infer, the smokers": ([*SMOKERS], "import torch"),
    "the same with its facts": ([*SMOKERS, "--facts", "examples/smokers/facts"], "import torch"),
    "herbrand --help": (["--help"], "import typer, rich"),
}


def spent(command: list[str]) -> float:
    """Of a command that may keep the bytecode of what it imports, as it does for users."""
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = processor_seconds()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return processor_seconds() - before


def processor_seconds() -> float:
    """What all processes that were waited for have taken."""
    told = resource.getrusage(resource.RUSAGE_CHILDREN)
    return told.ru_utime + told.ru_stime


def measure() -> list[Measurement]:
    """Each command in turn with its limit, after a first round that is not counted."""
    found = []
    for what, (arguments, imported) in RUNS.items():
        commands = [sys.executable, "-m", "herbrand", *arguments], [sys.executable, "-c", imported]
        rounds = [[spent(command) for command in commands] for _ in range(REPEATS + 1)][1:]
        ours, limit = (median(column) for column in zip(*rounds, strict=True))
        found.append(Measurement(what, "a process", ours, imported, limit))
    return found


def report() -> str:
    return f"{table(measure())}\n\n{WHY}"


WHY = """\
Times are processor seconds. Ours is a whole process, which imports no torch and no DuckDB: exact inference
computes on NumPy arrays ([decision](decisions/arrays.md)), and Python reads tables of a few rows
([decision](decisions/start.md)). `herbrand` pauses Python's garbage collector while it imports, and ends its
process as soon as all output is written. `tests/cli/test_start.py` lists what a small run must not load:
torch, pandas, scipy, other engines."""


if __name__ == "__main__":
    print(report())
