"""How fast and in how much memory facts load, beside DuckDB's own reading of the same file in the same run.

Two limits: a bare scan (the bytes of every cell summed), and the distinct constants of each column, counted.
Each load runs in a process of its own, so that its peak memory is its own; what a peak includes is the whole
process. Loads and limits take turns, and each has two rows: medians of the clock, and of the processor, which
counts the seconds of all threads and which others on the machine hardly disturb.

    python -m benchmarks.loading
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from benchmarks.measurement import Measurement
from herbrand.facts.load import load_facts
from herbrand.facts.source import fact_sources
from herbrand.language.signature import Predicate, Signature, Type
from herbrand.language.syntax import FactRows

SIZES = (1_000_000, 10_000_000)
TURNS = 5
ROWS_A_CONSTANT = 10
_SIGNATURE = Signature(
    {"person": Type("person", declared=True)},
    {"friends": Predicate("friends", ("person", "person"), declared=True)},
    strict=True,
)


def measure() -> list[Measurement]:
    """Text constants in two columns, as CSV, as Parquet and as rows of a theory."""
    found: list[Measurement] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            for path in written(friends(size), Path(folder)):
                found += beside_duckdb(path, size)
                path.unlink()
    return [*found, rows_of_a_theory(SIZES[0])]


def beside_duckdb(path: Path, size: int) -> list[Measurement]:
    turns = [{task: in_a_process(task, path) for task in TASKS} for _ in range(TURNS)]
    gigabytes = max(turn["load"][-1] for turn in turns)
    return [
        Measurement(
            f"load {path.name}, peak {gigabytes:.2f} GB, {clock}",
            f"{size:,} facts",
            median(turn["load"][number] for turn in turns),
            f"DuckDB: {task}",
            median(turn[task][number] for turn in turns),
        )
        for task in ("scan", "distinct")
        for number, clock in enumerate(("clock", "processor"))
    ]


def rows_of_a_theory(size: int) -> Measurement:
    columns = tuple(tuple(column.to_pylist()) for column in friends(size).columns)
    rows = FactRows("friends", columns, size)
    return Measurement(
        "load facts of a theory",
        f"{size:,} facts",
        seconds_of(lambda: load_facts([rows], _SIGNATURE)),
        "a set of the rows",
        seconds_of(lambda: set(zip(*columns, strict=True))),
    )


def friends(size: int) -> pa.Table:
    draw = np.random.default_rng(size)
    count = size // ROWS_A_CONSTANT
    names = pa.array([f"person{i:07d}" for i in range(count)])
    return pa.table({name: names.take(pa.array(draw.integers(0, count, size))) for name in ("a", "b")})


def written(table: pa.Table, folder: Path) -> list[Path]:
    text, parquet = folder / "friends.csv", folder / "friends.parquet"
    csv.write_csv(table, text, csv.WriteOptions(include_header=False, quoting_style="needed"))
    pq.write_table(table, parquet)
    return [text, parquet]


# One task in a process of its own


def in_a_process(task: str, path: Path) -> tuple[float, float, float]:
    """Seconds of the clock and of the processor, and gigabytes at the peak."""
    command = [sys.executable, "-m", "benchmarks.loading", task, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    clock, processor, gigabytes = json.loads(done.stdout)
    return clock, processor, gigabytes


def seconds_of(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def load(path: str) -> None:
    load_facts([], _SIGNATURE, fact_sources(path), progress=lambda message, done: None)


def scan(path: str) -> None:
    duckdb.execute(f"SELECT sum(strlen(column0)), sum(strlen(column1)) FROM ({_columns(path)})").fetchall()


def distinct(path: str) -> None:
    duckdb.execute(
        f"SELECT count(DISTINCT column0), count(DISTINCT column1) FROM ({_columns(path)})"
    ).fetchall()


def _columns(path: str) -> str:
    if path.endswith(".csv"):
        return f"SELECT column0, column1 FROM read_csv('{path}', header=false)"
    return f"SELECT a AS column0, b AS column1 FROM '{path}'"


TASKS: dict[str, Callable[[str], None]] = {"load": load, "scan": scan, "distinct": distinct}


def main(arguments: list[str]) -> None:
    if arguments:
        task, path = arguments
        began = time.process_time()
        clock = seconds_of(lambda: TASKS[task](path))
        processor = time.process_time() - began
        print(json.dumps([clock, processor, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6]))
        return
    for row in measure():
        print(row)


if __name__ == "__main__":
    main(sys.argv[1:])
