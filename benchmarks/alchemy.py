"""Files of the Alchemy family as others write them: how many are read, and what `infer` over them takes.

    python -m benchmarks alchemy

``HERBRAND_ALCHEMY`` names the folders, each of which keeps its own theories and databases together. A
database is asked by the first theory of its folder that answers; seconds are those of the process, by the
clock, its start among them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import herbrand as hb

FOLDERS = Path(os.environ.get("HERBRAND_ALCHEMY", "../shared/cases/alchemy"))
GOAL, STOPPED, SLOWEST = 20, 90, 5


@dataclass(frozen=True)
class Answered:
    """``said``: what a refusal says; empty where there is an answer."""

    database: str
    seconds: float
    said: str


def report() -> str:
    if not FOLDERS.is_dir():
        return f"No files at {FOLDERS}."
    theories = sorted(FOLDERS.rglob("*.mln"))
    refused = [said for path in theories if (said := refusal(path))]
    found = [answered(path) for path in sorted(FOLDERS.rglob("*.db")) if any(path.parent.glob("*.mln"))]
    found.sort(key=lambda one: -one.seconds)
    answers = [one for one in found if not one.said]
    within = sum(one.seconds <= GOAL for one in answers)
    lines = [
        f"{len(theories) - len(refused)} of {len(theories)} theories are read. Queries on {len(answers)} of "
        f"the {len(found)} databases beside theories are answered, {within} of them within {GOAL} s.",
        "",
        "| the slowest, and what is refused | seconds | |",
        "| --- | ---: | --- |",
    ]
    shown = [*answers[:SLOWEST], *(one for one in found if one.said)]
    lines += [f"| {one.database} | {one.seconds:.1f} | {one.said} |" for one in shown]
    return "\n".join([*lines, *(f"\nRefused: {said}" for said in refused)])


def refusal(path: Path) -> str:
    try:
        hb.read(path)
    except hb.HerbrandError as error:
        return f"{path.name}: {first_line(str(error))}"
    return ""


def answered(database: Path) -> Answered:
    """By the first theory of the folder that answers; else the last refusal."""
    *_, last = _tried(database)
    return last


def _tried(database: Path) -> Iterator[Answered]:
    for theory in sorted(database.parent.glob("*.mln")):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "herbrand", "infer", str(theory), "--facts", str(database)]
            began = time.perf_counter()
            try:
                run = subprocess.run(
                    [*command, "-o", f"{folder}/answers.txt"], capture_output=True, text=True, timeout=STOPPED
                )
                said = "" if run.returncode == 0 else first_line(run.stderr)
            except subprocess.TimeoutExpired:
                said = f"stopped after {STOPPED} s"
        one = Answered(f"{database.parent.name}/{database.name}", time.perf_counter() - began, said)
        yield one
        if not one.said:
            return


def first_line(text: str) -> str:
    """The error that a text begins with, without where it stands."""
    lines = [line for line in text.splitlines() if line.strip()]
    error = next((line for line in lines if "error" in line.lower()), lines[0] if lines else "")
    return error.replace("|", "/")[-120:]


if __name__ == "__main__":
    print(report())
