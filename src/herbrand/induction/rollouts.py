"""Many games played at once by a policy.

>>> from herbrand.induction.policies import policy_for
>>> from herbrand.induction.worlds.environments import games_named
>>> games = games_named("path").draw(np.random.default_rng(0), worlds=3, objects=8)
>>> play(policy_for("path"), games).moves.shape
(3,)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from herbrand.induction.policies import chosen
from herbrand.induction.worlds.environments import MOVE

Policy = Callable[[Any], torch.Tensor]


@dataclass(frozen=True, eq=False)
class Step:
    """One move of the games that were still going: which they are, what they were, what was done."""

    rows: np.ndarray
    games: Any
    actions: np.ndarray


@dataclass(frozen=True, eq=False)
class Episodes:
    """``solved`` and ``moves`` of each game; ``steps`` only where they were asked for."""

    solved: np.ndarray
    moves: np.ndarray
    steps: tuple[Step, ...] = ()

    @property
    def success(self) -> float:
        return float(self.solved.mean())

    @property
    def mean_moves(self) -> float:
        return float(self.moves.mean())

    def returns(self, discount: float) -> np.ndarray:
        """The discounted sum of each game's rewards."""
        costly = self.moves - self.solved  # all moves but one that solves
        weights = discount ** np.arange(self.moves.max(initial=0) + 1)
        before = np.concatenate([[0.0], np.cumsum(weights)])
        return MOVE * before[np.maximum(costly, 0)] + np.where(
            self.solved, weights[np.maximum(costly, 0)], 0.0
        )


def play(
    policy: Policy, games: Any, rng: np.random.Generator | None = None, keep_steps: bool = False
) -> Episodes:
    """All games to their end, taking the best action, or with ``rng`` one by its probability."""
    solved, limit = games.solved(), games.limit()
    moves = np.zeros(games.worlds, np.int64)
    going = np.flatnonzero(~solved & (limit > 0))
    current, steps = games.take(going), []
    while len(going):
        with torch.no_grad():
            actions = chosen(policy(current), rng)
        if keep_steps:
            steps.append(Step(going, current, actions))
        current = current.moved(actions)
        moves[going] += 1
        now = current.solved()
        solved[going] = now
        stay = np.flatnonzero(~now & (moves[going] < limit[going]))
        going, current = going[stay], current.take(stay)
    return Episodes(solved, moves, tuple(steps))
