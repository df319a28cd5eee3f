"""The loop: when it stops, and what it says of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from herbrand.answers.guarantee import out_of_iterations
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines import registry
from herbrand.engines.engine import Cost, Prepared
from herbrand.engines.loop import Limits, run, settle
from tests.conftest import Outcome


@dataclass(frozen=True)
class Halving:
    """Each state is half the one before."""

    name: str = "halving"

    budget: Budget = UNLIMITED

    def prepare(self, program: Any, question: Any, within: Budget) -> Prepared[float]:
        return Prepared.ready(1.0, Cost())

    def step(self, state: float) -> float:
        return state / 2

    def residual(self, state: float) -> float:
        return state

    def read(self, state: float, status: Any) -> Any:
        return state, status


def ran(limits: Limits, **options: Any) -> Any:
    return run(Halving(), None, None, limits, **options)  # type: ignore[arg-type]


def test_stops_where_little_moves() -> None:
    state, status = ran(Limits(tolerance=0.1))
    assert (state, status.converged, status.iterations, status.advice) == (0.0625, True, 4, "")
    assert status.trace == (0.5, 0.25, 0.125, 0.0625)


def test_an_iteration_limit_is_told() -> None:
    _, status = ran(Limits(tolerance=0.0, iterations=3))
    assert (status.converged, status.iterations) == (False, 3)
    assert status.advice == "stopped after 3 iterations; allow more by --iterations"
    assert ran(Limits(tolerance=0.0, iterations=1))[1].advice.startswith("stopped after 1 iteration;")
    assert out_of_iterations(1_200).startswith("stopped after 1,200 iterations;")


@dataclass(frozen=True)
class Circling(Halving):
    """A state that never comes to rest."""

    def step(self, state: float) -> float:
        return 3 - state


def test_a_run_that_comes_no_closer_is_not_sent_on() -> None:
    """More iterations change nothing where messages grow for ever, as circles of hard rules make them."""
    _, status = settle(Circling(), lambda: 1.0, Limits(iterations=200))
    assert status.advice == (
        "stopped after 200 iterations, the last 100 no closer to a fixed point; try another --engine"
    )
    for engine, limits in ((Circling(), Limits(iterations=60)), (Halving(), Limits(0.0, iterations=200))):
        _, status = settle(engine, lambda: 1.0, limits)
        assert status.advice.endswith("allow more by --iterations")


def test_a_time_limit_is_told() -> None:
    _, status = ran(Limits(tolerance=0.0, budget=Budget(seconds=0.0)))
    assert not status.converged and status.advice.endswith("allow more by --time-limit")


def test_every_step_can_be_watched() -> None:
    seen: list[tuple[int, float]] = []
    ran(Limits(tolerance=0.2), watch=lambda number, residual: seen.append((number, residual)))
    assert seen == [(1, 0.5), (2, 0.25), (3, 0.125)]


def test_the_command_line_says_so_and_exits_with_3(
    herbrand: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(registry.INFERENCE, "restless", "tests.engines.restless:Restless")
    theory = tmp_path / "t.hb"
    theory.write_text("1.0: a => b\n")
    outcome = herbrand("infer", theory, "--engine", "restless", "--iterations", "3", "--format", "json")
    assert outcome.status == 3
    assert json.loads(outcome.out)["converged"] is False
    assert outcome.err.startswith("not converged: stopped after ")
