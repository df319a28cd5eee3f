"""One damaged case: what it runs, what came out, and what is wrong with that."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import random
import shlex
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from herbrand.cli.app import main
from tests.fuzz.families import FAMILIES, Files, drawn
from tests.fuzz.mutations import damaged, options_damaged

SECONDS = 15
GUARANTEES = ("exact", "bound", "approximation")
OTHERS = {"infer": ("exact", "lifted"), "bound": ("exact", "ariel")}
FORMATS = ("json", "json", "json", "table", "csv", "parquet")


@dataclass(frozen=True)
class Case:
    """A command in a folder of these files."""

    name: str
    files: Files
    arguments: tuple[str, ...]

    @property
    def form(self) -> str:
        last = len(self.arguments) - self.arguments[::-1].index("--format")  # of several the command takes it
        return self.arguments[last]

    def kept(self, folder: Path) -> None:
        """Write the files and a script that repeats the case."""
        write(self.files, folder)
        (folder / "run.sh").write_text(f"herbrand {shlex.join(self.arguments)}\n")


@dataclass(frozen=True)
class Ended:
    """What one run of a command left behind; a ``fault`` is an exception that reached the top."""

    status: int
    out: bytes
    err: str
    fault: str = ""


def case(seed: int, scratch: Path) -> Case:
    """The case of this number: a family in some formats, one or two files or an option damaged."""
    rng = random.Random(seed)
    name = rng.choice([name for name, family in FAMILIES.items() for _ in family.commands])
    family = FAMILIES[name]
    files, tables = drawn(family, rng, scratch)
    command = shlex.split(rng.choice(family.commands))
    theory = next(iter(files))
    arguments = []
    for word in command:
        arguments += [theory] if word == "THEORY" else tables if word == "FACTS" else [word]
    if command[0] not in ("convert", "learn", "induce"):
        arguments += ["--format", rng.choice(FORMATS)]
    names = list(files)
    if rng.random() < 0.2:
        arguments = options_damaged(arguments, rng)
    if rng.random() < 0.9:
        for chosen in {
            theory if rng.random() < 0.6 else rng.choice(names) for _ in range(rng.choice((1, 1, 1, 2)))
        }:
            files[chosen] = damaged(files[chosen], rng)
    return Case(f"{name} {seed}", files, tuple(arguments))


def write(files: Files, folder: Path) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def wrong(tried: Case, folder: Path) -> str | None:
    """What is wrong with the outcome of a case, if anything; the folder is emptied first."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        return _wrong(tried, folder)
    finally:
        os.chdir(before)


def _wrong(tried: Case, folder: Path) -> str | None:
    """Nothing is interrupted, as a compilation that is cannot be repeated: a process that hangs is killed."""
    ended, seconds = _fresh(tried, folder)
    if seconds > SECONDS:  # the first use of a compiled loop on a machine takes longer
        ended, seconds = _fresh(tried, folder)
        if seconds > SECONDS:
            return f"took {seconds:.0f} s of processor time"
    return complaint(tried, ended) or _disagreement(tried, ended)


def _disagreement(tried: Case, ended: Ended) -> str | None:
    """What another engine of the same promise says against this answer; nothing where it refuses."""
    command, *_ = tried.arguments
    if command not in OTHERS or ended.status != 0 or tried.form != "json" or "--map" in tried.arguments:
        return None
    answer = json.loads(ended.out)
    first, second = OTHERS[command]
    other = second if answer["engine"] == first else first
    again = run((*tried.arguments, "--engine", other))
    if again.status != 0:
        return again.fault or None
    expected = json.loads(again.out)
    if command == "bound":
        return _disjoint(answer, expected)
    if answer["guarantee"] != "exact" or expected["guarantee"] != "exact":
        return None
    rows = {(row["atom"], row["value"]): row["probability"] for row in answer["marginals"]}
    for row in expected["marginals"]:
        if abs(row["probability"] - rows.get((row["atom"], row["value"]), row["probability"])) > 1e-6:
            return f"{answer['engine']} against {other}: {row}"
    return None


def _disjoint(answer: Mapping[str, Any], expected: Mapping[str, Any]) -> str | None:
    """Two sound intervals of one probability overlap."""
    ends = {row["query"]: row for row in expected["bounds"] if row["lower"] is not None}
    for row in answer["bounds"]:
        other = ends.get(row["query"])
        if other and row["lower"] is not None and not _overlap(row, other):
            return f"disjoint intervals: {row} and {other}"
    return None


def _overlap(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return row["lower"] <= other["upper"] + 1e-6 and other["lower"] <= row["upper"] + 1e-6


def _fresh(tried: Case, folder: Path) -> tuple[Ended, float]:
    for old in folder.iterdir():
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    write(tried.files, folder)
    start = time.process_time()
    return run(tried.arguments), time.process_time() - start


def run(arguments: tuple[str, ...]) -> Ended:
    """A command in this process, as from a terminal of 200 columns."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
    status, fault = 0, ""
    environment = mock.patch.dict(os.environ, {"HERBRAND_DEBUG": "1", "COLUMNS": "200"})
    argv = mock.patch.object(sys, "argv", ["herbrand", *arguments])
    with environment, argv, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            status, fault = 1, traceback.format_exc(limit=-4)
    return Ended(status, out.buffer.getvalue(), err.getvalue(), fault)  # type: ignore[attr-defined]


def complaint(tried: Case, ended: Ended) -> str | None:
    """The first promise about every outcome that this one breaks."""
    if ended.fault:
        return ended.fault
    if ended.status not in (0, 1, 2, 3):
        return f"status {ended.status}"
    if "Traceback" in ended.err or "internal error" in ended.err:
        return ended.err
    if ended.status in (1, 2):
        if len(ended.err.strip()) < 10:
            return f"status {ended.status} without a message: {ended.err!r}"
        return f"refused, but wrote {ended.out[:80]!r}" if ended.out else None
    if not ended.out and "-o" not in tried.arguments and tried.arguments[0] != "convert":
        return f"nothing was written, status {ended.status}: {ended.err!r}"
    if "--format" in tried.arguments and tried.form == "json":
        return _complaint_of_json(ended)
    return None


def _complaint_of_json(ended: Ended) -> str | None:
    def refuse(word: str) -> float:
        raise ValueError(f"{word} is no JSON")

    try:
        answer = json.loads(ended.out, parse_constant=refuse)
    except ValueError as error:
        return f"invalid JSON: {error}"
    if answer.get("guarantee", "exact") not in GUARANTEES:
        return f"guarantee {answer['guarantee']!r}"
    if "converged" in answer and bool(answer["converged"]) != (ended.status == 0):
        return f"converged {answer['converged']} with status {ended.status}"
    for key, check in CHECKS.items():
        for row in answer.get(key, ()):
            if not check(row):
                return f"{key}: {row}"
    return None


def _a_probability(row: Mapping[str, Any]) -> bool:
    """Of a comparison a row holds one by engine."""
    given = row.get("probability")
    return given is None or (isinstance(given, float | int) and 0 <= given <= 1)


def _an_interval(row: Mapping[str, Any]) -> bool:
    return row["lower"] is None or 0 <= row["lower"] <= row["upper"] <= 1


CHECKS: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "marginals": _a_probability,
    "bounds": _an_interval,
    "answers": lambda row: not math.isnan(row["weight"]),
}
