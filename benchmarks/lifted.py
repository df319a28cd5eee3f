"""Counting beside ground elimination, and how its time grows with the number of constants.

python -m benchmarks lifted

The Python package for weighted first-order model counting, wfomc, could not be installed where the figures
were taken, so there is none of it.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import herbrand as hb
from benchmarks.measurement import seconds
from herbrand.answers.marginals import Marginals
from herbrand.errors import BudgetError

SMOKERS = """\
predicate smokes(person)
predicate friends(person, person)
1.5: smokes(x) and friends(x, y) => smokes(y)
-1.0: smokes(x)
-0.8: friends(x, y)
"""
CANCER = """\
predicate smokes(person)
predicate cancer(person)
predicate friends(person, person)
predicate parent(person, person)
1.0: smokes(x) and friends(x, y) => smokes(y)
0.8: smokes(x) => cancer(x)
0.5: cancer(y) and parent(y, x) => cancer(x)
0.6: smokes(y) and parent(x, y) => smokes(x)
-0.3: smokes(x)
-0.5: cancer(x)
-0.7: friends(x, y)
-0.9: parent(x, y)
"""
CLAUSES = """\
predicate r(a)
predicate s(b)
predicate t(c)
0.003: r(x) or s(y) or t(z)
-0.004: r(x) or s(y)
0.002: s(y) or t(z)
"""
MOST_GROUND_ATOMS = 130
"""Ground elimination is asked up to so many latent atoms."""


@dataclass(frozen=True)
class Case:
    """A theory over so many constants of each type, and evidence."""

    name: str
    theory: str
    types: tuple[str, ...]
    size: int
    evidence: str = ""
    query: tuple[str, ...] = ()

    def model(self) -> hb.Model:
        constants = ", ".join(f'"p{i}"' for i in range(self.size))
        types = "".join(f"type {name} = {{{constants}}}\n" for name in self.types)
        return hb.Model(hb.parse(types + self.theory + self.evidence))


def report() -> str:
    """A row a case: medians of three, with the marginals of all atoms unless some are asked for."""
    lines = [
        "| theory | constants | latent atoms | counting (s) | log partition | ground (s) |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    return "\n".join([*lines, *map(_row, _cases())])


def _cases() -> list[Case]:
    person = ("person",)
    known = "".join(f'smokes("p{i}")\n' if i % 2 else f'not smokes("p{i}")\n' for i in range(40))
    opinions = "".join(f'smokes("p{i}") ~ {0.2 + i / 200:.3f}\n' for i in range(100))
    links = "".join(f'friends("p{7 * i % 100}", "p{(7 * i + 13) % 100}")\n' for i in range(10))
    return [
        *(Case("friends and smokers", SMOKERS, person, size) for size in (8, 10, 50, 100, 1000)),
        *(Case("friends, smokers, parents, cancer", CANCER, person, size) for size in (4, 10, 30, 100)),
        *(
            Case("three clauses over three types", CLAUSES, ("a", "b", "c"), size)
            for size in (8, 100, 300, 1000)
        ),
        Case("friends and smokers, 40 known", SMOKERS, person, 100, known),
        Case(
            "friends and smokers, another opinion on each; who smokes",
            SMOKERS,
            person,
            100,
            opinions,
            ("smokes",),
        ),
        Case("friends and smokers, 10 known links", SMOKERS, person, 100, links),
    ]


def _row(case: Case) -> str:
    model = case.model()
    answer = model.infer(case.query, engine="lifted")
    assert not answer.status.advice, answer.status.advice
    ours = sorted(seconds(lambda: model.infer(case.query, engine="lifted")) for _ in range(3))[1]
    return (
        f"| {case.name} | {case.size:,} | {len(answer):,} | {ours:.3f} | {answer.log_partition:.6f} | "
        f"{_ground(model, answer)} |"
    )


def _ground(model: hb.Model, answer: Marginals) -> str:
    """Seconds of ground elimination, whose answer is the same; or that it refuses, or was not asked."""
    if len(answer) > MOST_GROUND_ATOMS:
        return "not asked"
    began = time.perf_counter()
    try:
        found = model.infer(engine="exact")
    except BudgetError:
        return "refused"
    told = f"{time.perf_counter() - began:.3f}"
    assert math.isclose(found.log_partition or 0.0, answer.log_partition or 0.0, rel_tol=1e-10)
    return told
