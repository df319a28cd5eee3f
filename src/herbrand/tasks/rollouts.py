"""Play many games at once by a policy.

>>> episodes = Episodes(solved=np.array([True, False]), moves=np.array([2, 3]))
>>> episodes.success, episodes.returns(discount=1.0).round(2).tolist()
(0.5, [0.99, -0.03])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from herbrand.tasks.games import positions
from herbrand.tasks.policies import chosen

MOVE = -0.01
"""Reward of a move that does not solve the game; one that does earns 1."""

Policy = Callable[[Any], torch.Tensor]


@dataclass(frozen=True, eq=False)
class Step:
    """One move of the games that were not over: their numbers, positions and actions, and the rewards if the
    game defines them."""

    rows: np.ndarray
    games: Any
    actions: np.ndarray
    rewards: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Episodes:
    """Played games. ``solved`` and ``moves`` of each game; ``steps`` if they were kept; ``came_back``: which
    games were in a position twice, if moves are not to be repeated."""

    solved: np.ndarray
    moves: np.ndarray
    steps: tuple[Step, ...] = ()
    came_back: np.ndarray | None = None

    @property
    def success(self) -> float:
        """Share of games that were solved."""
        return float(self.solved.mean())

    @property
    def mean_moves(self) -> float:
        """Mean number of moves of a game, solved or not."""
        return float(self.moves.mean())

    def returns(self, discount: float) -> np.ndarray:
        """Discounted sum of each game's rewards."""
        if any(step.rewards is not None for step in self.steps):
            returns = np.zeros(len(self.moves))
            for number, step in enumerate(self.steps):
                returns[step.rows] += discount**number * np.asarray(step.rewards, float)
            return returns
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
    """Play all games to their end, by the best action or, with ``rng``, by one drawn by its probability.

    Without ``repeat``, an action is not taken twice in the same position of the same game: the best action of
    a recurring position would make it recur for ever. Other games are played as with ``repeat``.
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
        before, current = current, current.moved(actions)
        if keep_steps:
            steps.append(Step(going, before, actions, before.rewards(current)))
        moves[going] += 1
        now = current.solved()
        solved[going] = now
        stay = np.flatnonzero(~now & (moves[going] < limit[going]))
        going, current = going[stay], current.take(stay)
    return Episodes(solved, moves, tuple(steps), None if repeat else done.came_back)


class _Done:
    """Actions taken in each position of each game."""

    def __init__(self, games: int) -> None:
        self.came_back = np.zeros(games, bool)
        self._actions: dict[tuple[int, bytes], list[int]] = {}

    def left_out(self, scores: torch.Tensor, rows: np.ndarray, places: list[bytes]) -> torch.Tensor:
        """Scores without the actions that were taken before."""
        scores = scores.clone()
        for number, key in enumerate(zip(rows.tolist(), places, strict=True)):
            if key in self._actions:
                scores[number, self._actions[key]] = -torch.inf
                self.came_back[key[0]] = True
        return scores

    def note(self, rows: np.ndarray, places: list[bytes], actions: np.ndarray) -> None:
        for row, place, action in zip(rows.tolist(), places, actions.tolist(), strict=True):
            self._actions.setdefault((row, place), []).append(action)
