"""The loop of what trains step by step: until the limits are met or nothing gets better.

Training has learned what it will where there is no better value for some time.

>>> stopping = EarlyStopping(patience=2)
>>> for value in (3.0, 1.0, 1.5, 1.2):
...     stopping = stopping.after(value)
>>> stopping.over, stopping.best
(True, 1.0)
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from torch import Tensor

from herbrand.answers.guarantee import Status, out_of_time
from herbrand.errors import UnsupportedError
from herbrand.language.show import show
from herbrand.language.syntax import Theory
from herbrand.learning.example import World
from herbrand.learning.settings import LearningSettings, Progress, kept_before
from herbrand.tensor_files import read_tensors, restoring, save_tensors, whole_number

# Nothing gets better


@dataclass(frozen=True)
class EarlyStopping:
    """``patience`` steps without a smaller smoothed value end training; ``None``: never.

    ``smoothing`` is the share of the old mean that a step keeps, as single steps are noisy.
    """

    patience: int | None = None
    smoothing: float = 0.0
    mean: float = math.nan
    best: float = math.inf
    waited: int = 0

    @property
    def saved(self) -> list[Any]:
        """As JSON holds it: the mean, the best and how long it has waited."""
        return [repr(self.mean), repr(self.best), self.waited]

    def restored(self, saved: Sequence[Any]) -> EarlyStopping:
        """This one where a training was saved, which :attr:`saved` tells."""
        mean, best, waited = saved
        return replace(self, mean=float(mean), best=float(best), waited=whole_number(waited))

    def after(self, value: float) -> EarlyStopping:
        """The state after one more step."""
        kept = value if math.isnan(self.mean) else self.smoothing * self.mean + (1 - self.smoothing) * value
        if kept < self.best:
            return replace(self, mean=kept, best=kept, waited=0)
        return replace(self, mean=kept, waited=self.waited + 1)

    @property
    def over(self) -> bool:
        return self.patience is not None and self.waited >= self.patience


# The loop


SAVED_EVERY = 100
"""Steps from one saved state to the next."""

Options = Mapping[str, Any]
"""What the steps of a training depend on, by the names of the command line."""


class Stepping(Protocol):
    """A training: what changes from step to step. ``mark`` tells it from others, see :func:`mark_of`."""

    mark: str
    steps: int
    losses: list[float]
    stopping: EarlyStopping

    @property
    def options(self) -> Options: ...

    def step(self) -> float:
        """One more step; gives the loss before it."""
        ...

    def kept(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What else the next step depends on: tensors, and what JSON can hold."""
        ...

    def restore(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        """Go on from what :meth:`kept` gave."""
        ...


def run_steps(state: Stepping, settings: LearningSettings, steps: int) -> Status:
    """Steps until the limits are met or nothing gets better; the state is kept where that is wanted.
    ``steps``: the most that are made where the settings do not say."""
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
            _save(state, settings.save)
    if settings.save is not None:
        _save(state, settings.save)
    return Status(not advice, state.steps, time.perf_counter() - began, advice, tuple(state.losses))


# What is kept


def mark_of(theory: Theory, worlds: Sequence[World], *beside: object) -> str:
    """Differs where what is trained, or on what, does; ``beside``: what else that depends on."""
    made = hashlib.sha256(repr((show(theory), beside)).encode())
    for world in worlds:
        made.update(world.facts.digest)
    return made.hexdigest()


def _save(state: Stepping, path: str) -> None:
    tensors, about = state.kept()
    always = {
        "mark": state.mark,
        "options": state.options,
        "steps": state.steps,
        "stopping": state.stopping.saved,
    }
    save_tensors(path, tensors, always | about)


def resume(state: Stepping, settings: LearningSettings) -> None:
    """Go on where a training was saved, if the settings say so; raises where it was another one."""
    path = kept_before(settings)
    if path is None:
        return
    tensors, about = read_tensors(path)
    if about.get("mark") != state.mark:
        raise UnsupportedError(
            f"'{path}' was trained on another theory or other facts",
            hint="resume with the theory, facts and targets it was saved with",
        )
    with restoring(path):
        kept = dict(about["options"])
    for name, own in state.options.items():
        if kept.get(name) != own:
            raise UnsupportedError(
                f"'{path}' was trained with another --{name}",
                hint=f"resume {_with(name, kept.get(name))}, as it was saved, and not {_with(name, own)}",
            )
    with restoring(path):
        state.steps = whole_number(about["steps"])
        state.stopping = state.stopping.restored(about["stopping"])
        state.restore(tensors, about)


def _with(option: str, value: object) -> str:
    return f"without --{option}" if value is None else f"with --{option} {value}"
