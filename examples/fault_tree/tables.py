"""The raw tables of the fault tree: python examples/fault_tree/tables.py FOLDER"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

TABLES = {
    "part": [
        *(("cooling", part) for part in ("pumps", "valve", "power")),
        *(("pumps", part) for part in ("pump1", "pump2")),
        *(("alarm", part) for part in ("sensors", "power")),
        *(("sensors", part) for part in ("sensor1", "sensor2", "sensor3")),
        *(("accident", part) for part in ("cooling", "alarm")),
    ],
    "redundant": [("pumps",), ("sensors",), ("accident",)],
    "series": [("cooling",), ("alarm",)],
    "kind": [
        *(("pump1", "pump"), ("pump2", "pump"), ("valve", "valve"), ("power", "power")),
        *((f"sensor{number}", "sensor") for number in (1, 2, 3)),
    ],
}


def make(folder: Path, seed: int = 1) -> None:
    """A CSV file a predicate, without headers; the seed orders the rows."""
    folder.mkdir(exist_ok=True)
    draw = random.Random(seed)
    for name, rows in TABLES.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(draw.sample(rows, len(rows)))


if __name__ == "__main__":
    make(Path(sys.argv[1]))
