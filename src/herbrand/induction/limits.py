"""Limits of a search: sizes, and work. Work is counted in steps, not seconds, so that equal inputs lead to
equal results.

>>> whole = Effort(most=100)
>>> part = whole.part(0.25)
>>> part.spend(25)
>>> part.over, whole.done, whole.over
(True, 25, False)
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from herbrand.induction.journal import Journal

NOISE = 0.3
"""Default share of labels that may be wrong."""


@dataclass
class Effort:
    """A budget of work: ``done`` steps of ``most``. Steps of a part count in its ``whole`` too."""

    done: float = 0
    most: float = 10_000
    whole: Effort | None = None

    def spend(self, steps: float) -> None:
        self.done += steps
        if self.whole is not None:
            self.whole.spend(steps)

    @property
    def left(self) -> float:
        own = max(self.most - self.done, 0.0)
        return own if self.whole is None else min(own, self.whole.left)

    @property
    def over(self) -> bool:
        return not self.left

    @property
    def account(self) -> list[float]:
        """Steps done so far, here and in each enclosing ``whole``."""
        return [self.done, *([] if self.whole is None else self.whole.account)]

    def set_account(self, done: Sequence[float]) -> None:
        """Restore the steps of an :attr:`account`."""
        self.done = done[0]
        if self.whole is not None:
            self.whole.set_account(done[1:])

    def part(self, share: float) -> Effort:
        """Budget of a ``share`` of the steps left, for a stage that may lead nowhere."""
        return Effort(most=self.left * share, whole=self)


@dataclass(frozen=True)
class Limits:
    """Limits of a search. ``literals``: most literals of a body; ``spread``: most bindings that a join makes
    of one, on average; ``beam``: width of a beam; ``clauses``: most clauses of a theory; ``sample``: most
    examples of each label that guide the search; ``exceptions``: depth of exceptions to exceptions;
    ``noise``: share of labels that may be wrong; ``recursive``: whether bodies may contain the target;
    ``until``: a time of ``time.monotonic`` that ends the search between two steps; ``journal``: recorded
    results of an earlier run, and where new ones are kept; ``effort``: the budget of work."""

    literals: int = 7
    spread: float = float("inf")
    beam: int = 24
    clauses: int = 24
    sample: int = 1_500
    exceptions: int = 2
    noise: float = NOISE
    recursive: bool = True
    until: float | None = None
    journal: Journal | None = field(default=None, compare=False, repr=False)
    effort: Effort = field(default_factory=Effort, compare=False, repr=False)

    @property
    def late(self) -> bool:
        """Whether the time limit has passed."""
        return self.until is not None and time.monotonic() > self.until

    @property
    def over(self) -> bool:
        return self.late or self.effort.over

    def part(self, share: float, **changes: float) -> Limits:
        """The same limits with a ``share`` of the work that is left; ``changes`` replace other limits."""
        return replace(self, effort=self.effort.part(share), **changes)
