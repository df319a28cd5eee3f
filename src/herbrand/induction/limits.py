"""How wide and how long a search may be; work is counted in steps, which no clock measures.

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
"""The share of labels that may be wrong where nothing else is given."""


@dataclass
class Effort:
    """Steps of work that were done, and may be; those of a part count for the ``whole`` too."""

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
        """What was done so far, here and in each whole that this is a part of."""
        return [self.done, *([] if self.whole is None else self.whole.account)]

    def set_account(self, done: Sequence[float]) -> None:
        """Take up where so much was done."""
        self.done = done[0]
        if self.whole is not None:
            self.whole.set_account(done[1:])

    def part(self, share: float) -> Effort:
        """A share of what is left, for what may lead nowhere."""
        return Effort(most=self.left * share, whole=self)


@dataclass(frozen=True)
class Limits:
    """``literals`` in a body, ``spread``: bindings that a join may make of one, on average; ``beam`` bodies
    that go on, ``clauses`` of a theory, ``sample`` examples of each kind that guide; ``exceptions`` to
    exceptions; ``noise``: the share of labels that may be wrong; ``recursive``: the target may stand in
    bodies; ``effort``: work that was done and may be; ``until``, a time of ``time.monotonic`` that ends the
    search between two steps; ``journal``: what was found before, and where it is kept."""

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
        """True if the clock has ended the search."""
        return self.until is not None and time.monotonic() > self.until

    @property
    def over(self) -> bool:
        return self.late or self.effort.over

    def part(self, share: float, **changes: float) -> Limits:
        """The same for a share of the work that is left, with other limits if they are given."""
        return replace(self, effort=self.effort.part(share), **changes)
