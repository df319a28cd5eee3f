"""The one fixed-point loop: it steps an engine until
nothing moves, a limit is met, or the user has had enough.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Halving:
...     def start(self, program, question): return 1.0
...     def step(self, state): return state / 2
...     def residual(self, state): return state
...     def read(self, state, status): return state, status
>>> state, status = run(Halving(), None, None, Limits(tolerance=0.1))
>>> state, status.converged, status.iterations
(0.0625, True, 4)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from herbrand.answers.status import Status, out_of_iterations, out_of_time
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.engine import Engine, Settings
from herbrand.program.program import Program
from herbrand.program.question import Question


@dataclass(frozen=True)
class Limits:
    """When to stop: a residual small enough, or too many steps or seconds."""

    tolerance: float = 1e-6
    iterations: int = 1000
    budget: Budget = UNLIMITED

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """What the settings say; the rest by default."""
        return cls(
            cls.tolerance if settings.tolerance is None else settings.tolerance,
            cls.iterations if settings.iterations is None else settings.iterations,
            settings.budget,
        )


def run(
    engine: Engine[Any],
    program: Program,
    question: Question,
    limits: Limits | None = None,
    watch: Callable[[int, float], None] | None = None,
    state: Any = None,
) -> Any:
    """The engine's answer. ``watch`` is called with each step's number and residual;
    ``state`` is where to go on."""
    return engine.read(*settle(engine, program, question, limits, watch, state))


def settle(
    engine: Engine[Any],
    program: Program,
    question: Question,
    limits: Limits | None = None,
    watch: Callable[[int, float], None] | None = None,
    state: Any = None,
) -> tuple[Any, Status]:
    """The state in which the engine came to rest, or was stopped, and how it went. Who interrupts an engine
    whose state is ``certified``, bounds that hold already, gets the last ones."""
    limits = limits or Limits()
    began = time.perf_counter()
    state = engine.start(program, question) if state is None else state
    trace: list[float] = []
    advice = ""
    while True:
        try:
            state = engine.step(state)
        except KeyboardInterrupt:
            if not getattr(state, "certified", False):
                raise
            advice = "stopped by hand"
            break
        trace.append(engine.residual(state))
        if watch is not None:
            watch(len(trace), trace[-1])
        if trace[-1] <= limits.tolerance:
            break
        advice = _limit_met(limits, len(trace))
        if advice:
            break
    seconds = time.perf_counter() - began
    return state, Status(not advice, len(trace), seconds, advice, tuple(trace))


def _limit_met(limits: Limits, steps: int) -> str:
    if steps >= limits.iterations:
        return out_of_iterations(steps)
    if limits.budget.ended:
        return out_of_time(limits.budget.elapsed)
    return ""
