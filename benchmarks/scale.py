"""Mean field beyond memory: one theory over more and more links on DuckDB, beside the kernel in memory.

Every size runs in a process of its own, whose peak memory is what the system saw. The links are drawn by
hashing, so every run has the same ones. ``python -m benchmarks.scale FOLDER 10000000 100000000`` chooses
where the worlds are made, and sizes. A run that was cut off goes on where it was: the folder, by default
``.benchmarks/scale``, has what is done, and is removed at the end.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import duckdb

import herbrand as hb
from benchmarks.line_plot import line_plot
from herbrand.answers.marginals import Marginals

THEORY = """
predicate friends(person, person): observed
predicate smokes(person)
0.1: smokes(x) and friends(x, y) => smokes(y)
-1.0: smokes(x)
"""
LINKS_A_PERSON = 10
MEMORY = "4GB"
STEPS = 3
SIZES = (10**5, 10**6, 10**7, 10**8)
LARGEST_IN_MEMORY = 10**7
PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "scale-growth.svg"
FOLDER = Path(__file__).parents[1] / ".benchmarks" / "scale"
SECONDS_BETWEEN_LOOKS = 0.5


@dataclass(frozen=True)
class Row:
    """Of one size: seconds to number the facts and for a step, of the clock and of the processor, all
    threads together; peak bytes of the process, of the database file and of all beside it, for a while."""

    where: str
    links: int
    loading: float
    loading_processor: float
    step: float
    step_processor: float
    peak: int
    file: int
    disk: int
    bound: float


def world(path: Path, links: int) -> None:
    """Links between people, some of whom have many more than others."""
    people = links // LINKS_A_PERSON
    made = path.with_suffix(".new")
    made.unlink(missing_ok=True)
    with duckdb.connect(str(made), config={"memory_limit": "2GB"}) as connection:
        connection.execute(
            f"CREATE TABLE friends AS SELECT CAST(hash(range) % {people} AS BIGINT) AS a, "
            f"CAST(hash(range + {links}) % {people} AS BIGINT) AS b FROM range({links})"
        )
    made.rename(path)


class Log:
    """What happened when, a line each, so that a run that goes on has all that went before."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def tell(self, what: str, **more: float) -> None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        line = {
            "what": what,
            "clock": time.monotonic(),
            "processor": used.ru_utime + used.ru_stime,
            "peak": used.ru_maxrss * 1024,
            **more,
        }
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def runs(self) -> list[list[dict[str, Any]]]:
        """The lines of each process."""
        found: list[list[dict[str, Any]]] = []
        for text in self.path.read_text().splitlines() if self.path.exists() else ():
            line = json.loads(text)
            if line["what"] == "began":
                found.append([])
            found[-1].append(line)
        return found


def on_duckdb(path: Path, log: Log) -> None:
    """Facts numbered, and some steps."""
    log.tell("began")
    model = hb.Model(
        hb.parse(THEORY), on=f"duckdb:{path}", progress=lambda what, _: log.tell(what.split(",")[0])
    )
    resume = len(log.runs()) > 1
    found = model.infer(
        iterations=STEPS, top=1, memory=MEMORY, resume=resume, note=lambda _: log.tell("loaded")
    )
    log.tell("ended", bound=_bound(found))


def in_memory(path: Path, log: Log) -> None:
    log.tell("began")
    model = hb.Model(hb.parse(THEORY), str(path), progress=lambda what, _: log.tell(what.split(",")[0]))
    _ = model.program
    log.tell("loaded")
    model.infer(engine="mean-field", iterations=1)  # what is compiled or imported once is no part of a step
    found = model.infer(engine="mean-field", iterations=STEPS)
    log.tell("ended", bound=_bound(found))


def _bound(found: Marginals) -> float:
    assert found.log_partition is not None
    return found.log_partition


RUNS: Mapping[str, Callable[[Path, Log], None]] = {"DuckDB": on_duckdb, "memory": in_memory}


def measured(where: str, links: int, folder: Path) -> Row:
    """In a process of its own."""
    kept = folder / f"{where}_{links}.json"
    if kept.exists():
        return Row(**json.loads(kept.read_text()))
    path, log = folder / f"world_{links}.duckdb", Log(folder / f"{where}_{links}.log")
    if not path.exists():
        world(path, links)
        log.path.unlink(missing_ok=True)
    before = path.stat().st_size
    command = [sys.executable, "-m", "benchmarks.scale", "--one", where, str(path), str(log.path)]
    watch = _DiskWatch(folder)
    watch.start()
    try:
        subprocess.run(command, check=True)
    finally:
        watch.stop()
    row = _row(where, links, log.runs(), path.stat().st_size, watch.most - before)
    kept.write_text(json.dumps(asdict(row)))
    return row


def _row(where: str, links: int, runs: Sequence[Sequence[dict[str, Any]]], file: int, disk: int) -> Row:
    loads, steps = [], []
    for run in runs:
        loaded = [line for line in run if line["what"] == "loaded"]
        loads.append(_between(run[0], (loaded[:1] or run)[-1]))
        for before, after in pairwise(run):
            if all(line["what"].startswith("iteration") for line in (before, after)):
                steps.append(_between(before, after))
    return Row(
        where,
        links,
        sum(clock for clock, _ in loads),
        sum(processor for _, processor in loads),
        median(clock for clock, _ in steps),
        median(processor for _, processor in steps),
        max(line["peak"] for run in runs for line in run),
        file if where == "DuckDB" else 0,
        disk if where == "DuckDB" else 0,
        runs[-1][-1]["bound"],
    )


def _between(before: dict[str, Any], after: dict[str, Any]) -> tuple[float, float]:
    return after["clock"] - before["clock"], after["processor"] - before["processor"]


class _DiskWatch(threading.Thread):
    """The most bytes that a folder has held since the start."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder, self.most, self._ended = folder, 0, threading.Event()

    def run(self) -> None:
        while not self._ended.wait(SECONDS_BETWEEN_LOOKS):
            self.most = max(self.most, _size(self.folder))

    def stop(self) -> None:
        self._ended.set()
        self.join()
        self.most = max(self.most, _size(self.folder))


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue  # the database took it away in between
    return total


def report(sizes: Sequence[int] = SIZES, folder: Path = FOLDER) -> str:
    """A table in Markdown, and the picture of how seconds grow."""
    folder.mkdir(exist_ok=True, parents=True)
    rows = []
    for links in sizes:
        places = ["DuckDB", "memory"] if links <= LARGEST_IN_MEMORY else ["DuckDB"]
        rows += [measured(where, links, folder) for where in places]
        (folder / f"world_{links}.duckdb").unlink(missing_ok=True)
        _draw(rows)
    shutil.rmtree(folder)
    return "\n".join([*_heads(), *map(_line, rows)])


def _draw(rows: Sequence[Row]) -> None:
    curves = {}
    for where in RUNS:
        own = [row for row in rows if row.where == where]
        curves[f"step, {where}"] = [row.step for row in own]
        curves[f"load, {where}"] = [row.loading for row in own]
    marks = [f"1e{len(str(row.links)) - 1}" for row in rows if row.where == "DuckDB"]
    if len(marks) > 1:
        drawn = line_plot("Facts numbered, and a step of mean field", "links", "seconds", curves, 1e-3, marks)
        PICTURE.write_text(drawn)


def _heads() -> list[str]:
    heads = ("links", "latent atoms", "where", "facts numbered, s (CPU s)", "step, s (CPU s)")
    heads += ("peak memory, MB", "file, MB", "disk at most, MB", "bound on log Z")
    return [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]


def _line(row: Row) -> str:
    cells = [
        f"{row.links:,}",
        f"{row.links // LINKS_A_PERSON:,}",
        row.where,
        f"{row.loading:.1f} ({row.loading_processor:.1f})",
        f"{row.step:.3f} ({row.step_processor:.3f})",
        f"{row.peak / 2**20:,.0f}",
        f"{row.file / 2**20:,.0f}",
        f"{row.disk / 2**20:,.0f}",
        f"{row.bound:.6f}",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        RUNS[sys.argv[2]](Path(sys.argv[3]), Log(Path(sys.argv[4])))
    else:
        given = tuple(map(int, sys.argv[2:])) or SIZES
        print(report(given, Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER))
