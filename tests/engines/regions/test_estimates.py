"""What regions, and counting, are estimated to cost, beside what a run is counted to do.

Counted are the entries that every step of tensors and of tables of messages makes, and the bytes that are
held at the same time: no clock. An estimate may be off as far as the number of rounds and reused tables are,
not by the counting itself.
"""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import herbrand as hb
from herbrand.arrays import Array
from herbrand.budget import UNLIMITED
from herbrand.engines.engine import Settings
from herbrand.engines.lifted.costs import CALLS
from herbrand.engines.loop import run
from herbrand.engines.regions import messages
from herbrand.engines.registry import engine_named
from herbrand.program.program import Program
from herbrand.program.question import Question
from tests.engines.estimates import cost_of
from tests.engines.lifted.symmetric_theories import MANY_CELLS

FEW_CALLS = 20 * CALLS
"""The estimate of what calling steps costs, which makes no entries."""

FEW_BYTES = 4e6
"""Of objects that are no tables."""


@dataclass
class Work:
    """Entries that were made, and the bytes that were held at the same time."""

    entries: float = 0.0
    largest: float = 0.0

    def __enter__(self) -> Work:
        self._begin = begin = Array.__init__

        def counting(array: Array, data: np.ndarray, *rest: Any) -> None:
            self.entries += data.size
            begin(array, data, *rest)

        Array.__init__ = counting  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        Array.__init__ = self._begin  # type: ignore[method-assign]

    def counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counting(table: np.ndarray, *others: Any) -> Any:
            self.entries += table.size
            return call(table, *others)

        return counting


@contextmanager
def work(monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    counter = Work()
    with monkeypatch.context() as patched, counter:
        for name in ("summed", "normalised", "spread", "corrected"):
            patched.setattr(messages, name, counter.counted(getattr(messages, name)))
        tracemalloc.start()
        yield counter
        counter.largest = float(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()


@pytest.fixture(autouse=True, scope="module")
def warm() -> None:
    """Whatever is imported or compiled at first is no table."""
    patch = pytest.MonkeyPatch()
    for seed in range(2):
        with work(patch):
            run(engine_named("infer", "regions", Settings()), program_of(seed), Question())


def clauses(dice: random.Random) -> str:
    """Unary predicates of types of their own, under clauses over three of them."""
    size, predicates = dice.randint(3, 14), dice.randint(4, 6)
    listed = ", ".join(f'"c{i}"' for i in range(size))
    lines = [f"type t{p} = {{{listed}}}\npredicate r{p}(t{p})" for p in range(predicates)]
    for _ in range(predicates):
        a, b, c = dice.sample(range(predicates), 3)
        lines.append(f"{dice.gauss(0, 0.5):.3f}: r{a}(x) or r{b}(y) or r{c}(z)")
    return "\n".join(lines)


def linked(dice: random.Random) -> str:
    """A grid, a comb or random links between constants, under a rule along them."""
    wide, long = dice.randint(2, 6), dice.randint(4, 12)
    cells = [(i, j) for i in range(wide) for j in range(long)]
    links = [((i, j), (i + 1, j)) for i, j in cells if i + 1 < wide]
    links += [((i, j), (i, j + 1)) for i, j in cells if j + 1 < long]
    links = [link for link in links if dice.random() < dice.choice([0.6, 1.0])]
    lines = ["predicate e(c, c): observed", "predicate p(c)", "0.3: p(x)", "0.8: e(x, y) and p(x) => p(y)"]
    return "\n".join([*lines, *(f'e("{a}", "{b}")' for a, b in links or [((0, 0), (0, 1))])])


def program_of(seed: int) -> Program:
    dice = random.Random(seed)
    return hb.Model(hb.parse((linked if seed % 2 else clauses)(dice))).program


def compare(seed: int, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, made = program_of(seed), engine_named("infer", engine, Settings())
    told = cost_of(made, program)
    assert told.operations is not None and told.bytes is not None
    if told.handed:
        return
    run(made, program, Question())  # compiles and imports what it needs
    with work(monkeypatch) as done:
        run(made, program, Question())
    assert done.entries <= 10 * told.operations + FEW_CALLS, (seed, done.entries, told.operations)
    assert told.operations <= 100 * done.entries + FEW_CALLS * 10, (seed, done.entries, told.operations)
    assert done.largest <= 10 * told.bytes + FEW_BYTES, (seed, done.largest, told.bytes)
    assert told.bytes <= 100 * done.largest + FEW_BYTES, (seed, done.largest, told.bytes)


@pytest.mark.parametrize("engine", ["regions", "lifted"])
def test_estimates_are_of_the_plan_that_runs(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(6):
        compare(seed, engine, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["regions", "lifted"])
def test_estimates_are_of_the_plan_that_runs_at_length(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(50):
        compare(seed, engine, monkeypatch)


def grid(wide: int, long: int) -> str:
    down = [f'e("{i}_{j}", "{i + 1}_{j}")' for i in range(wide - 1) for j in range(long)]
    along = [f'e("{i}_{j}", "{i}_{j + 1}")' for i in range(wide) for j in range(long - 1)]
    rule = "predicate e(c, c): observed\npredicate p(c)\n0.3: p(x)\n0.8: e(x, y) and p(x) => p(y)\n"
    return rule + "\n".join([*down, *along])


@pytest.mark.parametrize(("wide", "long"), [(4, 4), (6, 20), (8, 30)])
def test_a_grid_costs_regions_what_it_costs_counting(wide: int, long: int) -> None:
    program = hb.Model(hb.parse(grid(wide, long))).program
    made = {name: engine_named("infer", name, Settings()) for name in ("regions", "lifted")}
    told = {name: cost_of(engine, program) for name, engine in made.items()}
    costs = {name: (one.operations, one.bytes) for name, one in told.items()}
    assert None not in (*costs["regions"], *costs["lifted"])
    assert costs["regions"] == pytest.approx(costs["lifted"], rel=0.5)
    if costs["lifted"][0] > 1e7:  # type: ignore[operator]
        prepared = made["regions"].prepare(program, Question(), UNLIMITED)
        assert prepared.begin() is not prepared.begin(), "nothing was counted for the estimate"


def test_counting_that_takes_longer_than_the_time_limit_is_not_begun() -> None:
    """A table over counts of thirty cells would take a minute; messages of bp take none."""
    answer = hb.Model(hb.parse(MANY_CELLS)).infer(engine="regions", time_limit=20.0)
    assert "counting would take about" in answer.status.advice
    exact = hb.Model(hb.parse(MANY_CELLS)).infer(engine="exact")
    for one, other in zip(answer.rows(), exact.rows(), strict=True):
        assert one.probability == pytest.approx(other.probability, abs=0.05)
