"""Many games played at once by a policy.

>>> from benchmarks.games.policies import policy_for
>>> from benchmarks.games.environments import games_named
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

from benchmarks.games.decisions import positions
from benchmarks.games.environments import MOVE
from benchmarks.games.policies import chosen

Policy = Callable[[Any], torch.Tensor]


@dataclass(frozen=True, eq=False)
class Step:
    """One move of the games that were still going: which they are, what they were, what was done."""

    rows: np.ndarray
    games: Any
    actions: np.ndarray


@dataclass(frozen=True, eq=False)
class Episodes:
    """``solved`` and ``moves`` of each game; ``steps`` only where they were asked for; ``came_back``: which
    games were in a position twice, where moves are not to be repeated."""

    solved: np.ndarray
    moves: np.ndarray
    steps: tuple[Step, ...] = ()
    came_back: np.ndarray | None = None

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
    policy: Policy,
    games: Any,
    rng: np.random.Generator | None = None,
    keep_steps: bool = False,
    repeat: bool = True,
) -> Episodes:
    """All games to their end, taking the best action, or with ``rng`` one by its probability.

    Without ``repeat``, what was done before in the same position of the same game is not done again: the
    best action of a position that comes back would bring it back for ever. Games that would be solved
    otherwise are played alike.
    """
    solved, limit = games.solved(), games.limit()
    moves = np.zeros(games.worlds, np.int64)
    going = np.flatnonzero(~solved & (limit > 0))
    current, steps = games.take(going), []
    done = _Done(games.worlds)
    while len(going):
        with torch.no_grad():
            scores = policy(current)
        if repeat:
            actions = chosen(scores, rng)
        else:
            places = positions(current)
            actions = chosen(done.left_out(scores, going, places), rng)
            done.note(going, places, actions)
        if keep_steps:
            steps.append(Step(going, current, actions))
        current = current.moved(actions)
        moves[going] += 1
        now = current.solved()
        solved[going] = now
        stay = np.flatnonzero(~now & (moves[going] < limit[going]))
        going, current = going[stay], current.take(stay)
    return Episodes(solved, moves, tuple(steps), None if repeat else done.came_back)


class _Done:
    """What was done in which position of each game."""

    def __init__(self, games: int) -> None:
        self.came_back = np.zeros(games, bool)
        self._actions: dict[tuple[int, bytes], list[int]] = {}

    def left_out(self, scores: torch.Tensor, rows: np.ndarray, places: list[bytes]) -> torch.Tensor:
        """The scores without actions that were taken before."""
        scores = scores.clone()
        for number, key in enumerate(zip(rows.tolist(), places, strict=True)):
            if key in self._actions:
                scores[number, self._actions[key]] = -torch.inf
                self.came_back[key[0]] = True
        return scores

    def note(self, rows: np.ndarray, places: list[bytes], actions: np.ndarray) -> None:
        for row, place, action in zip(rows.tolist(), places, actions.tolist(), strict=True):
            self._actions.setdefault((row, place), []).append(action)
