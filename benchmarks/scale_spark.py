"""Belief propagation on two executors of Spark, beside DuckDB: what each stage takes of the processor.

``python -m benchmarks.scale_spark [LINKS] [ROUNDS]`` needs Linux, Java 17 and the extra ``scale``.
Seconds are those of this process and of all that it has started. Options for Java and for Spark are read,
as always, from ``spark-defaults.conf`` in the folder that ``SPARK_CONF_DIR`` names.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median

import herbrand as hb

THEORY = """
predicate friends(person, person): observed
predicate smokes(person)
0.1: smokes(x) and friends(x, y) => smokes(y)
-1.0: smokes(x)
"""
LINKS, ROUNDS, LINKS_A_PERSON = 20_000, 5, 10
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Watch:
    """Seconds of the processor when facts were numbered, and after each round."""

    numbered: float = 0.0
    rounds: list[float] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.numbered = self.numbered or processor_seconds()

    def progress(self, what: str, share: float) -> None:
        if what.startswith("iteration"):
            self.rounds.append(processor_seconds())


def links(count: int) -> list[tuple[int, int]]:
    draw, people = random.Random(0), count // LINKS_A_PERSON
    return [(draw.randrange(people), draw.randrange(people)) for _ in range(count)]


def stages(place: str, facts: list[tuple[int, int]], rounds: int) -> Iterator[tuple[str, float]]:
    """What was done, and the seconds that it took of the processor."""
    watch, began = Watch(), processor_seconds()
    model = hb.Model(hb.parse(THEORY), {"friends": facts}, on=place, progress=watch.progress)
    model.infer(engine="bp", iterations=rounds, tolerance=0, top=1, note=watch.note)
    a_round = median(after - before for before, after in pairwise(watch.rounds))
    yield "begun, facts numbered", watch.numbered - began
    yield "factors and colours made", watch.rounds[0] - a_round - watch.numbered
    yield "a round", a_round


def processor_seconds() -> float:
    """Of this process and all that it has started, and that they have."""
    parents, used = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                told = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = int(told[1])
            used[int(folder.name)] = (int(told[11]) + int(told[12])) / TICKS

    def is_ours(process: int) -> bool:
        while process > 1 and process != os.getpid():
            process = parents.get(process, 0)
        return process == os.getpid()

    return sum(seconds for process, seconds in used.items() if is_ours(process))


def main(count: int, rounds: int) -> None:
    facts = links(count)
    with tempfile.TemporaryDirectory() as folder:
        for where, place in (
            ("DuckDB", f"duckdb:{folder}/world.duckdb"),
            ("Spark", f"local-cluster[2,1,1024]/{folder}/tables"),
        ):
            for what, seconds in stages(place, facts, rounds):
                print(f"{where:<8}{what:<28}{seconds:8.2f} CPU s", flush=True)


if __name__ == "__main__":
    told = [int(text) for text in sys.argv[1:]]
    main(*(told + [LINKS, ROUNDS][len(told) :]))
