"""Bayesian networks beside pyAgrum in one process, from the file to the marginals of all variables.

    python -m benchmarks networks

pyAgrum is no dependency: where it is not installed only our times are told. ``HERBRAND_NETWORKS`` names a
folder of published ``.bif`` files; networks of our own making have their shapes. Both run in turn, in one
thread, and the seconds are the processor's, so that a busy machine disturbs them alike.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np

import herbrand as hb
from benchmarks.measurement import in_turn

PUBLISHED = Path(os.environ.get("HERBRAND_NETWORKS", "../shared/cases/networks"))
REPEATS, SLOW = 200, 5.0
MOST_ROWS = 50_000
Marginals = dict[str, list[float]]


def ours(path: Path) -> Marginals:
    tables = hb.Model(hb.read(path)).infer().tables
    return {table.predicate: table.probabilities[0].tolist() for table in tables}


def theirs(path: Path) -> Marginals:
    agrum = import_module("pyagrum")
    network = agrum.loadBN(str(path))
    engine = agrum.LazyPropagation(network)
    engine.setNumberOfThreads(1)
    engine.makeInference()
    return {network.variable(node).name(): engine.posterior(node).tolist() for node in network.nodes()}


def made(folder: Path) -> Iterator[tuple[str, Path]]:
    """Networks whose variables have parents among those shortly before them."""
    shapes = {
        "20 variables of 2 to 6 values": (20, (2, 3, 4, 5, 6), 2, 8),
        "70 variables of 2 to 4 values": (70, (2, 3, 4), 3, 6),
        "220 variables of 2 values": (220, (2,), 3, 8),
        "190 variables of 3 to 12 values": (190, (3, 4, 5, 6, 7, 12), 2, 4),
        "35 variables of 4 to 60 values": (35, (4, 6, 12, 15, 30, 60), 2, 4),
    }
    for seed, (name, shape) in enumerate(shapes.items()):
        path = folder / f"{seed}.bif"
        path.write_text(network_text(np.random.default_rng(seed), *shape))
        yield name, path


def network_text(
    draw: np.random.Generator, count: int, sizes: tuple[int, ...], most_parents: int, window: int
) -> str:
    """A ``.bif`` text, its rows in the order that the format's files mostly have."""
    values = draw.choice(sizes, count).tolist()
    lines = ["network made {\n}"]
    for node, size in enumerate(values):
        labels = ", ".join(f"s{value}" for value in range(size))
        lines.append(f"variable v{node} {{\n  type discrete [ {size} ] {{ {labels} }};\n}}")
    for node, size in enumerate(values):
        before = range(max(0, node - window), node)
        parents = draw.permutation(before)[: draw.integers(0, most_parents + 1)].tolist()
        while math.prod(values[parent] for parent in parents) > MOST_ROWS:
            parents.pop()
        given = f" | {', '.join(f'v{parent}' for parent in parents)}" if parents else ""
        lines.append(f"probability ( v{node}{given} ) {{")
        for case in product(*(range(values[parent]) for parent in reversed(parents))):
            row = ", ".join(map(repr, draw.dirichlet(np.full(size, 0.5)).tolist()))
            named = f"({', '.join(f's{value}' for value in reversed(case))})" if parents else "table"
            lines.append(f"  {named} {row};")
        lines.append("}")
    return "\n".join(lines)


def took(path: Path, systems: list[Callable[[Path], Marginals]]) -> list[float]:
    """For each system the median seconds of the processor, after a run to warm up."""
    for system in systems:
        system(path)
    return in_turn([partial(system, path) for system in systems], REPEATS, SLOW)


def report() -> str:
    lines = [
        "| network | variables | ours (s) | pyAgrum (s) | ours ÷ pyAgrum | largest difference |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    installed = find_spec("pyagrum") is not None
    with tempfile.TemporaryDirectory() as folder:
        published = [(path.stem, path) for path in sorted(PUBLISHED.glob("*.bif"))]
        for name, path in (*published, *made(Path(folder))):
            mine = ours(path)
            if installed:
                own, other = took(path, [ours, theirs])
                apart = max(
                    abs(p - q)
                    for node, row in theirs(path).items()
                    for p, q in zip(mine[node], row, strict=True)
                )
                beside = f"{other:.4f} | {own / other:.1f} | {apart:.0e}"
            else:
                (own,), beside = took(path, [ours]), "not installed | |"
            lines.append(f"| {name} | {len(mine)} | {own:.4f} | {beside} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(report())
