"""Learning a decision task lesson by lesson: small worlds first, an exam before each larger size.

After each exam its games go to one of two pools, solved or failed; training draws from both, so that
failures are met again. The mark needed rises by half a point a lesson up to 100 % for the last."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from herbrand.induction.policies import policy_for
from herbrand.induction.reinforce import Reinforce, lesson
from herbrand.induction.rollouts import play
from herbrand.induction.worlds.decisions import together
from herbrand.induction.worlds.environments import games_named

RECENT = 3
"""Exams and training take their sizes from so many latest lessons."""

POOL = 300
"""Games of a size and an outcome that are kept at most, the latest."""


@dataclass(frozen=True)
class Curriculum:
    """Sizes of the first and last lesson; the share of solved games; episodes of an epoch and an exam."""

    first: int
    last: int
    solved_share: float
    epochs: int
    episodes: int
    exam_episodes: int
    batch: int = 16
    reinforce: Reinforce = field(default_factory=Reinforce)
    entropy_decay: float = 0.8
    rate_decay: float = 0.9


CURRICULA = {
    "sorting": Curriculum(4, 10, 0.5, 50, 200, 200, reinforce=Reinforce(entropy=0.01)),
    "path": Curriculum(3, 12, 0.5, 400, 600, 1000, reinforce=Reinforce(entropy=0.1)),
    "blocks": Curriculum(2, 12, 0.6, 500, 1000, 1000, reinforce=Reinforce(entropy=0.2)),
}
"""By the paper's table of hyper-parameters; an epoch's episodes are played in batches."""


@dataclass(frozen=True)
class Lesson:
    """What an epoch showed: its size, the exam's success, and whether the last exam is passed."""

    epoch: int
    size: int
    success: float
    episodes: int
    seconds: float
    graduated: bool


class Schooling:
    """A policy on its way through the lessons."""

    def __init__(self, name: str, curriculum: Curriculum | None = None, seed: int = 0) -> None:
        self.name, self.curriculum = name, curriculum or CURRICULA[name]
        self.kind = games_named(name)
        self.policy = policy_for(name, seed)
        self._rng = np.random.default_rng([seed, 3])
        settings = self.curriculum.reinforce
        self._optimiser = torch.optim.Adam(self.policy.parameters(), lr=settings.rate)
        self._entropy = settings.entropy
        self._pools: dict[tuple[int, bool], Any] = {}
        self._size, self._episodes, self._seconds = self.curriculum.first, 0, 0.0

    def run(self, seconds: float | None = None) -> Iterator[Lesson]:
        """Trains epoch by epoch until graduation, the last epoch or the end of the time."""
        until = None if seconds is None else time.monotonic() + seconds
        for epoch in range(self.curriculum.epochs):
            began = time.process_time()
            success = self._exam()
            passed = success >= self._threshold()
            graduated = passed and self._size == self.curriculum.last
            if passed and not graduated:
                self._advance()
            elif not passed:
                self._train(until)
            self._seconds += time.process_time() - began
            yield Lesson(epoch, self._size, success, self._episodes, self._seconds, graduated)
            if graduated or (until is not None and time.monotonic() >= until):
                return

    def _threshold(self) -> float:
        return 1 - 0.005 * (self.curriculum.last - self._size)

    def _advance(self) -> None:
        self._size += 1
        self._entropy *= self.curriculum.entropy_decay
        for group in self._optimiser.param_groups:
            group["lr"] *= self.curriculum.rate_decay

    def _sizes(self) -> list[int]:
        return list(range(max(self.curriculum.first, self._size - RECENT + 1), self._size + 1))

    def _exam(self) -> float:
        """The share solved among games of recent sizes, which then go into the pools."""
        sizes, solved = self._sizes(), []
        for size in sizes:
            count = max(1, self.curriculum.exam_episodes // len(sizes))
            games = self.kind.draw(self._rng, count, size)
            result = play(self.policy, games).solved
            solved.append(result)
            for outcome in (True, False):
                self._keep(games.take(np.flatnonzero(result == outcome)), outcome)
        return float(np.concatenate(solved).mean())

    def _keep(self, games: Any, outcome: bool) -> None:
        if games.worlds:
            key = games.objects, outcome
            known = [self._pools[key]] if key in self._pools else []
            every = together([*known, games])
            self._pools[key] = every.take(np.arange(max(0, every.worlds - POOL), every.worlds))

    def _train(self, until: float | None) -> None:
        plan, sizes = self.curriculum, self._sizes()
        for _ in range(max(1, plan.episodes // plan.batch)):
            size = int(self._rng.choice(sizes))
            games = self._sampled(size, plan.batch)
            lesson(self.policy, self._optimiser, games, self._rng, plan.reinforce, self._entropy)
            self._episodes += games.worlds
            if until is not None and time.monotonic() >= until:
                return

    def _sampled(self, size: int, count: int) -> Any:
        wanted = int(self._rng.binomial(count, self.curriculum.solved_share))
        parts = []
        for outcome, number in ((True, wanted), (False, count - wanted)):
            pool = self._pools.get((size, outcome))
            if number and pool is not None:
                parts.append(pool.take(self._rng.integers(pool.worlds, size=number)))
        return together(parts) if parts else self.kind.draw(self._rng, count, size)
