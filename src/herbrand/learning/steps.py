"""The loop of what trains step by step: until the limits are met or nothing gets better."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from herbrand.answers.guarantee import Status, out_of_time
from herbrand.learning.settings import LearningSettings, Progress
from herbrand.learning.stopping import EarlyStopping

SAVED_EVERY = 100
"""Steps from one saved state to the next."""


class Stepping(Protocol):
    """A training: what changes from step to step."""

    steps: int
    losses: list[float]
    stopping: EarlyStopping

    def step(self) -> float:
        """One more step; gives the loss before it."""
        ...


def run_steps(state: Stepping, settings: LearningSettings, steps: int, save: Callable[[str], None]) -> Status:
    """``steps``: the most that are made where the settings do not say; ``save`` keeps the state in a file."""
    began, most = time.perf_counter(), settings.iterations or steps
    advice = ""
    while state.steps < most and not state.stopping.over:
        loss = state.step()
        state.losses.append(loss)
        state.stopping = state.stopping.after(loss)
        if settings.watch is not None:
            settings.watch(Progress(state.steps, most, "loss", state.stopping.mean))
        if settings.budget.ended:
            advice = out_of_time(settings.budget.elapsed)
            break
        if settings.save is not None and state.steps % SAVED_EVERY == 0:
            save(settings.save)
    if settings.save is not None:
        save(settings.save)
    return Status(not advice, state.steps, time.perf_counter() - began, advice, tuple(state.losses))
