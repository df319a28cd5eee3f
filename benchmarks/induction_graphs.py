"""Rules of one large world: mined, and asked for triples that were left out.

    python -m benchmarks.induction_graphs [wordnet|made]

``wordnet``: WN18RR where it is at hand (``HERBRAND_DATA``, or ``shared/data`` beside the checkout), a random
tenth of each relation left out, which is not the published split. ``made``: a random graph of a million
triples, in which one relation is composed of two others. Each runs in a process of its own, whose peak of
memory is reported.
"""

from __future__ import annotations

import csv
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.published_data import DATA
from herbrand.induction.mine import Mined, mine

WORDNET = DATA / "kg" / "wn18rr"
LENGTH = 3
LEFT_OUT = 0.1
MADE_TRIPLES = 1_000_000
MADE_ENTITIES = 200_000
MADE_RELATIONS = 10
PLANTED = 0.8
"""Share of what ``r0(x, z), r1(z, y)`` derives that ``composed`` has."""

Triples = dict[str, list[tuple[str, str]]]


def wordnet() -> Triples | None:
    """The published triples by relation; ``None`` where they are not at hand."""
    if not WORDNET.is_dir():
        return None
    return {path.stem: list(map(_pair, _rows(path))) for path in sorted(WORDNET.glob("*.csv"))}


def made(rng: np.random.Generator, triples: int = MADE_TRIPLES, entities: int = MADE_ENTITIES) -> Triples:
    """Random relations, and one that is composed of the first two of them, up to noise."""
    share = triples // (MADE_RELATIONS + 1)
    pairs = [np.unique(rng.integers(0, entities, (share, 2)), axis=0).tolist() for _ in range(MADE_RELATIONS)]
    after: dict[int, list[int]] = {}
    for z, y in pairs[1]:
        after.setdefault(z, []).append(y)
    composed = sorted({(x, y) for x, z in pairs[0] for y in after.get(z, ()) if x != y})
    kept = rng.random(len(composed)) < PLANTED
    planted = [pair for pair, stays in zip(composed, kept, strict=True) if stays]
    named = {f"r{number}": rows for number, rows in enumerate(pairs)} | {"composed": planted}
    return {name: [(f"e{x}", f"e{y}") for x, y in rows] for name, rows in named.items()}


def split(triples: Triples, rng: np.random.Generator) -> tuple[Triples, Triples]:
    """A random tenth of each relation is left out."""
    kept: Triples = {}
    left_out: Triples = {}
    for name, rows in triples.items():
        out = rng.random(len(rows)) < LEFT_OUT
        kept[name] = [row for row, gone in zip(rows, out, strict=True) if not gone]
        left_out[name] = [row for row, gone in zip(rows, out, strict=True) if gone]
    return kept, left_out


def measured(kind: str) -> str:
    """A row of the table: one graph, read, mined and asked."""
    rng = np.random.default_rng(0)
    triples = wordnet() if kind == "wordnet" else made(rng)
    if triples is None:
        return f"| {kind} | | | | | | | | | no data at hand |"
    kept, left_out = split(triples, rng)
    del triples
    with tempfile.TemporaryDirectory() as folder:
        graph, asked = Path(folder) / "graph", Path(folder) / "left_out"
        _write(graph, kept)
        _write(asked, left_out)
        del kept, left_out
        began, used = time.monotonic(), time.process_time()
        found = mine(facts=str(graph), length=LENGTH, held_out=str(asked), header=False)
        whole, used = time.monotonic() - began, time.process_time() - used
    return _row(kind, found, whole, used)


def _row(kind: str, found: Mined, whole: float, used: float) -> str:
    assert found.links is not None
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    figures = [f"{one[0]:.3f} / {one[3]:.3f}" for one in (found.links.by_max, found.links.by_noisy_or)]
    cells = [
        kind,
        f"{found.graph.triples:,}",
        f"{len(found.rules):,}",
        f"{found.seconds:.0f}",
        f"{whole:.0f}",
        f"{used:.0f}",
        f"{memory:.2f}",
        *figures,
        f"`{found.rules[0].text(found.graph)}`",
    ]
    return f"| {' | '.join(cells)} |"


def _rows(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def _pair(row: list[str]) -> tuple[str, str]:
    subject, object_ = row
    return subject, object_


def _write(folder: Path, triples: Triples) -> None:
    folder.mkdir()
    for name, rows in triples.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)


def report(names: Sequence[str] = ()) -> str:
    """A row for each graph, or for those named."""
    lines = [
        f"Rules have bodies of up to {LENGTH} literals. A random tenth of the triples of each relation is "
        "left out, and its objects and subjects are predicted (filtered; MRR / Hits@10). GiB is the peak "
        "memory of the process.",
        "",
        "| graph | triples | rules | seconds to read and mine | with the questions | CPU seconds | GiB "
        "| by max | by noisy-or | first rule |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    fresh = multiprocessing.get_context("spawn")
    for name in names or ("wordnet", "made"):
        with fresh.Pool(1) as one:
            lines.append(one.apply(measured, (name,)))
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(sys.argv[1:]))
