"""The training loop: steps until a limit is reached or the loss stops falling.

Training has converged if the smoothed loss has no new minimum for some steps.

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
from herbrand.language.theory import Theory, show
from herbrand.learning.example import World
from herbrand.learning.settings import LearningSettings, Progress, kept_before
from herbrand.tensor_files import read_tensors, restoring, save_tensors, whole_number

# Early stopping


@dataclass(frozen=True)
class EarlyStopping:
    """Training ends after ``patience`` steps without a smaller smoothed value; ``None``: never.

    ``smoothing`` is the share of the old mean that a step keeps, as single steps are noisy.
    """

    patience: int | None = None
    smoothing: float = 0.0
    mean: float = math.nan
    best: float = math.inf
    waited: int = 0

    @property
    def saved(self) -> list[Any]:
        """State for JSON: the smoothed value, the best one, and the steps since then."""
        return [repr(self.mean), repr(self.best), self.waited]

    def restored(self, saved: Sequence[Any]) -> EarlyStopping:
        """This object with the state from :attr:`saved`."""
        mean, best, waited = saved
        return replace(self, mean=float(mean), best=float(best), waited=whole_number(waited))

    def after(self, value: float) -> EarlyStopping:
        """The state after one more step with this value."""
        kept = value if math.isnan(self.mean) else self.smoothing * self.mean + (1 - self.smoothing) * value
        if kept < self.best:
            return replace(self, mean=kept, best=kept, waited=0)
        return replace(self, mean=kept, waited=self.waited + 1)

    @property
    def over(self) -> bool:
        return self.patience is not None and self.waited >= self.patience


# The loop


SAVED_EVERY = 100
"""Steps between saved states."""

Options = Mapping[str, Any]
"""Settings that the steps of a training depend on, by the names of the command line."""


class Stepping(Protocol):
    """A training with its state. ``mark`` identifies it, see :func:`mark_of`."""

    mark: str
    steps: int
    losses: list[float]
    stopping: EarlyStopping

    @property
    def options(self) -> Options: ...

    def step(self) -> float:
        """Take a step; return the loss before it."""
        ...

    def kept(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """State that the next step depends on: tensors, and values for JSON."""
        ...

    def restore(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        """Restore what :meth:`kept` returned."""
        ...


def run_steps(state: Stepping, settings: LearningSettings, steps: int) -> Status:
    """Take steps until a limit is reached or training converges, and save the state if the settings say so.
    ``steps``: most steps if the settings give no number."""
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


# Saving and resuming


def mark_of(theory: Theory, worlds: Sequence[World], *beside: object) -> str:
    """A hash of the theory and the worlds' facts; ``beside``: what else training depends on."""
    digest = hashlib.sha256(repr((show(theory), beside)).encode())
    for world in worlds:
        digest.update(world.facts.digest)
    return digest.hexdigest()


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
    """Restore the state from the file that the settings name, if any; raise UnsupportedError if it is of
    another training."""
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
