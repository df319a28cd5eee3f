"""The raw tables of the schedule: python examples/schedule/tables.py FOLDER"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

PEOPLE = ("anna", "bob", "carl", "dora")
TASKS = tuple(f"t{number}" for number in range(8))
BEFORE = [("t0", "t3"), ("t1", "t3"), ("t2", "t5")]


def make(folder: Path, seed: int = 5) -> None:
    """A CSV file a predicate, without headers."""
    folder.mkdir(exist_ok=True)
    draw = random.Random(seed)
    tables = {
        "skill": [(p, t, round(draw.uniform(0.4, 0.99), 2)) for p in PEOPLE for t in TASKS],
        "presence": [(p, s, draw.choice([0.95, 0.8, 0.5])) for p in PEOPLE for s in range(1, 5)],
        "value": [(t, draw.randint(1, 10)) for t in TASKS],
        "before": BEFORE,
    }
    for name, rows in tables.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
