"""Examination of machines: how often one is wrong on fresh worlds.

>>> Marks(worlds=10, tuples=200, errors=1).perfect
False
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from herbrand.induction.task import Sample, Task

Conclude = Callable[[Sample], torch.Tensor]
"""A function that computes the log-odds of the target in the worlds of a sample."""

CELLS = 2_000_000
"""About how many cells the widest group of a batch has in an examination."""


@dataclass(frozen=True)
class Marks:
    """Result of an examination. ``margin``: the smallest log-odds of a true label, at most 0 where there are
    errors."""

    worlds: int
    tuples: int
    errors: int
    margin: float = float("inf")

    @property
    def perfect(self) -> bool:
        return self.errors == 0

    @property
    def accuracy(self) -> float:
        return 1 - self.errors / max(self.tuples, 1)

    def __add__(self, other: Marks) -> Marks:
        return Marks(
            self.worlds + other.worlds,
            self.tuples + other.tuples,
            self.errors + other.errors,
            min(self.margin, other.margin),
        )


def marks(conclude: Conclude, sample: Sample) -> Marks:
    """Compare the conclusions about a sample's worlds with the truth, where it is known."""
    with torch.no_grad():
        right = on_the_right_side(conclude(sample), sample)
    right = right[sample.known] if sample.known is not None else right
    if not right.numel():
        return Marks(sample.worlds, 0, 0)
    return Marks(sample.worlds, right.numel(), int((right <= 0).sum()), float(right.min()))


def failed_worlds(log_odds: torch.Tensor, sample: Sample, margin: float) -> torch.Tensor:
    """Indices of the worlds in which some known tuple is not right by more than ``margin``."""
    short = on_the_right_side(log_odds, sample) <= margin
    short = short & sample.known if sample.known is not None else short
    return torch.nonzero(short.flatten(1).any(1)).flatten()


def on_the_right_side(log_odds: torch.Tensor, sample: Sample) -> torch.Tensor:
    """Log-odds of the true label of each tuple; negative where the conclusion is wrong."""
    return torch.where(sample.target > 0.5, log_odds, -log_odds)


def examine(
    conclude: Conclude,
    task: Task,
    rng: np.random.Generator,
    worlds: int,
    objects: int,
    stop_at_error: bool = False,
) -> Marks:
    """Examine a machine on fresh worlds; with ``stop_at_error`` stop after the batch with the first error."""
    step = max(1, min(worlds, CELLS // objects ** min(task.breadth, 3)))
    total = Marks(0, 0, 0)
    while total.worlds < worlds and not (stop_at_error and total.errors):
        sample = task.draw(rng, min(step, worlds - total.worlds), objects)
        total += marks(conclude, sample)
    return total
