"""Mean field beyond memory: one theory over more and more links on DuckDB, beside the kernel in memory.

Every size runs in a process of its own, whose peak memory is what the system saw. The links are drawn by
hashing, so every run has the same ones. ``python -m benchmarks.scale 10000000 100000000`` chooses sizes.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb

import herbrand as hb

THEORY = """
predicate friends(person, person): observed
predicate smokes(person)
0.1: smokes(x) and friends(x, y) => smokes(y)
-1.0: smokes(x)
"""
LINKS_A_PERSON = 10
MEMORY = "4GB"
STEPS = 2
SIZES = (10**5, 10**6, 10**7)
LARGEST_IN_MEMORY = 10**7


@dataclass(frozen=True)
class Row:
    """Of one size: seconds of the processor, all threads together, to number the facts and for a step; peak
    bytes of the process, and bytes that the database file grew by."""

    where: str
    links: int
    loading: float
    step: float
    peak: int
    disk: int
    bound: float


def world(path: Path, links: int) -> None:
    """Links between people, some of whom have many more than others."""
    people = links // LINKS_A_PERSON
    with duckdb.connect(str(path), config={"memory_limit": "2GB"}) as connection:
        connection.execute(
            f"CREATE TABLE friends AS SELECT CAST(hash(range) % {people} AS BIGINT) AS a, "
            f"CAST(hash(range + {links}) % {people} AS BIGINT) AS b FROM range({links})"
        )


def on_duckdb(path: Path, links: int) -> Row:
    """Loading and a step; then a step, and more steps, by themselves."""
    model = hb.Model(hb.parse(THEORY), on=f"duckdb:{path}")
    before, began = path.stat().st_size, _processor()

    def stepped(iterations: int) -> float:
        found.append(model.infer(iterations=iterations, top=1, memory=MEMORY, resume=iterations > 1))
        return _processor()

    found: list[hb.Marginals] = []
    loaded, once, more = stepped(1), stepped(2), stepped(3 + STEPS)
    step = ((more - once) - (once - loaded)) / STEPS
    disk = path.stat().st_size - before
    return Row("DuckDB", links, loaded - began - (once - loaded), step, _peak(), disk, _bound(found[-1]))


def in_memory(path: Path, links: int) -> Row:
    model = hb.Model(hb.parse(THEORY), str(path))
    began = _processor()
    _ = model.program
    loaded = _processor()
    model.infer(engine="mean-field", iterations=1)  # what is compiled or imported once is no part of a step
    ready = _processor()
    model.infer(engine="mean-field", iterations=1)
    once = _processor()
    found = model.infer(engine="mean-field", iterations=3 + STEPS)
    step = ((_processor() - once) - (once - ready)) / (2 + STEPS)
    return Row("memory", links, loaded - began, step, _peak(), 0, _bound(found))


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _bound(found: hb.Marginals) -> float:
    assert found.log_partition is not None
    return found.log_partition


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measured(where: str, links: int, folder: Path) -> Row:
    """In a process of its own."""
    path = folder / f"world_{links}.duckdb"
    if not path.exists():
        world(path, links)
    command = [sys.executable, "-m", "benchmarks.scale", "--one", where, str(links), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Row(**json.loads(done.stdout))


def report(sizes: tuple[int, ...] = SIZES) -> str:
    """A table in Markdown."""
    heads = ("links", "latent atoms", "where", "facts numbered, CPU s", "step, CPU s")
    heads += ("peak memory, MB", "disk, MB", "bound")
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    with tempfile.TemporaryDirectory(prefix="herbrand-scale-") as name:
        for links in sizes:
            places = ["DuckDB", "memory"] if links <= LARGEST_IN_MEMORY else ["DuckDB"]
            lines += [_line(measured(where, links, Path(name))) for where in places]
            (Path(name) / f"world_{links}.duckdb").unlink()
    return "\n".join(lines)


def _line(row: Row) -> str:
    cells = [
        f"{row.links:,}",
        f"{row.links // LINKS_A_PERSON:,}",
        row.where,
        f"{row.loading:.1f}",
        f"{row.step:.3f}",
        f"{row.peak / 2**20:,.0f}",
        f"{row.disk / 2**20:,.0f}",
        f"{row.bound:.6f}",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        run = on_duckdb if sys.argv[2] == "DuckDB" else in_memory
        print(json.dumps(asdict(run(Path(sys.argv[4]), int(sys.argv[3])))))
    else:
        print(report(tuple(map(int, sys.argv[1:])) or SIZES))
