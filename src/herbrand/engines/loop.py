"""The fixed-point loop, which steps an engine until it is at rest, meets a limit, or is interrupted.

>>> class Halving:
...     def step(self, state): return state / 2
...     def residual(self, state): return state
>>> state, status = settle(Halving(), lambda: 1.0, Limits(tolerance=0.1))
>>> state, status.converged, status.iterations
(0.0625, True, 4)

The module also defines the order in which a step replaces beliefs, and when damping, the share of the old
beliefs that a step keeps, is raised.

>>> careful = Patience(rounds=10, least_step=1e-3)
>>> careful.is_over(9, 0.0), careful.is_over(10, 0.0), careful.is_over(10, 0.5)
(False, True, False)
>>> careful.raised(0.0, moved=1.0, mark=1.5), careful.raised(0.5, moved=0.1, mark=1.5)
(0.5, 0.5)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, Protocol, TypeVar

from herbrand.answers.guarantee import Status, out_of_iterations, out_of_time
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.engine import Engine, first_state

JUDGED, STALLED = 50, 0.9
"""Least length of the halves of a run that are compared, and the ratio of their least residuals up to which
the second half is closer."""


class Schedule(StrEnum):
    """Order of updates: all at once from the old beliefs, or one after another from the latest."""

    parallel = "parallel"
    sequential = "sequential"


@dataclass(frozen=True)
class Patience:
    """When damping is raised. ``rounds``: number of undamped rounds in which the residual should halve;
    damped rounds move less, so that more are allowed. ``least_step``: smallest share of the new beliefs
    in an update."""

    rounds: int
    least_step: float

    def is_over(self, rounds: int, damping: float) -> bool:
        """Whether enough rounds have passed to judge whether they helped."""
        return rounds * (1 - damping) >= self.rounds

    def raised(self, damping: float, moved: float, mark: float) -> float:
        """Raised damping, or the same if the residual has halved since it was ``mark``."""
        if moved <= 0.5 * mark:
            return damping
        return 1 - max(self.least_step, (1 - damping) / 2)


State = TypeVar("State")
Asked = TypeVar("Asked")
Program = TypeVar("Program")
Answer = TypeVar("Answer")


class Steps(Protocol[State]):
    """Methods of an engine that the loop uses."""

    def step(self, state: State) -> State: ...

    def residual(self, state: State) -> float: ...


class Resumed:
    """State of a run that an earlier call may have begun, of an engine that keeps its steps.

    ``step``: number of steps taken in all. ``rest``: residual at which the run is at rest, if that is less
    than the tolerance.
    """

    step: int

    @property
    def rest(self) -> float:
        return math.inf


class Stopping(Protocol):
    """Settings that limit a run."""

    @property
    def tolerance(self) -> float | None: ...

    @property
    def iterations(self) -> int | None: ...

    @property
    def budget(self) -> Budget: ...


@dataclass(frozen=True)
class Limits:
    """Limits of a run: tolerance of the residual, number of steps, and budget."""

    tolerance: float = 1e-6
    iterations: int = 1000
    budget: Budget = UNLIMITED

    @classmethod
    def of(cls, settings: Stopping, tolerance: float = tolerance) -> Limits:
        """Limits from settings, with defaults for those that are None."""
        return cls(
            tolerance if settings.tolerance is None else settings.tolerance,
            cls.iterations if settings.iterations is None else settings.iterations,
            settings.budget,
        )


def watching(
    progress: Callable[[str, float], None] | None, limits: Limits
) -> Callable[[int, float], None] | None:
    """Callback that reports each iteration through ``progress``; None without one."""
    if progress is None:
        return None
    return lambda step, residual: progress(
        f"iteration {step:,}, residual {residual:.1e}", min(step / limits.iterations, 1.0)
    )


def run(
    engine: Engine[Program, Asked, Any, Answer, Any],
    program: Program,
    question: Asked,
    limits: Limits | None = None,
    watch: Callable[[int, float], None] | None = None,
) -> Answer:
    """Answer of the engine. ``watch`` is called with each step's number and residual."""
    return engine.read(*settle(engine, partial(first_state, engine, program, question), limits, watch))


def settle(
    engine: Steps[State],
    begin: Callable[[], State],
    limits: Limits | None = None,
    watch: Callable[[int, float], None] | None = None,
) -> tuple[State, Status]:
    """Run an engine until it is at rest or stopped; return its state and status. If an engine whose
    state is ``certified`` (bounds that already hold) is interrupted, by the user or the timer, its last
    state is returned."""
    limits = limits or Limits()
    started = time.perf_counter()
    state = begin()
    tolerance, before = limits.tolerance, 0
    if isinstance(state, Resumed):
        tolerance, before = min(tolerance, state.rest), state.step
    if before and engine.residual(state) <= tolerance:
        return state, Status(True, before)
    if before >= limits.iterations:
        return state, Status(False, before, advice=out_of_iterations(before))
    trace: list[float] = []
    advice = ""
    while True:
        try:
            state = engine.step(state)
        except KeyboardInterrupt:
            if not getattr(state, "certified", False):
                raise
            advice = out_of_time(limits.budget.elapsed) if limits.budget.ended else "stopped by hand"
            break
        trace.append(engine.residual(state))
        steps = before + len(trace)
        if watch is not None:
            watch(steps, trace[-1])
        if trace[-1] <= tolerance:
            break
        advice = _limit_met(limits, steps, trace)
        if advice:
            break
    seconds = time.perf_counter() - started
    return state, Status(not advice, before + len(trace), seconds, advice, tuple(trace))


def _limit_met(limits: Limits, steps: int, trace: Sequence[float]) -> str:
    if steps >= limits.iterations:
        return out_of_iterations(steps, _vain(trace))
    if limits.budget.ended:
        return out_of_time(limits.budget.elapsed)
    return ""


def _vain(trace: Sequence[float]) -> int:
    """Length of the second half of a long run if none of its residuals is clearly below all of the first
    half, else 0: messages that grow or cycle forever never come to rest."""
    half = len(trace) // 2
    stalled = half >= JUDGED and min(trace[half:]) > STALLED * min(trace[:half])
    return len(trace) - half if stalled else 0
