"""REINFORCE over batches of games, each played several times.

Every game is played ``rollouts`` times; the advantage of an episode is its return less the mean return over
the episodes of the *same* game. A hard game thus counts as much as an easy one, and a game that always ends
alike contributes nothing. The loss is ``-log p(action) * advantage - beta * entropy``. The published code has
``-p(action)``, which learns little from rare actions; ``objective="probability"`` is there to compare. A
policy may also learn to predict whether moves are valid, which trains the same conclusions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from herbrand.adam import Adam
from herbrand.options.kinds import Kind, Name, Number, Whole, check_values
from herbrand.tasks.games import distinct, together
from herbrand.tasks.policies import TellsValidity
from herbrand.tasks.rollouts import Episodes, play

Objective = Literal["log", "probability"]

CHUNK = 1 << 17
"""Largest number of pairs of objects in the positions of one training pass, which limits the memory."""

LONGEST = 1.0
"""Norm to which longer gradients are clipped."""


_KINDS: Mapping[str, Kind] = {
    "objective": Name(get_args(Objective)),
    "discount": Number(0, 1),
    "rollouts": Whole(1),
    **dict.fromkeys(("entropy", "validity", "rate"), Number(0)),
}


@dataclass(frozen=True)
class Reinforce:
    """Settings of REINFORCE. ``rollouts``: number of times that a game is played in a lesson; ``entropy``:
    beta at the start; ``validity``: weight of the loss of predicting valid moves; ``rate``: Adam's learning
    rate."""

    objective: Objective = "log"
    discount: float = 0.99
    rollouts: int = 8
    entropy: float = 0.002
    validity: float = 0.1
    rate: float = 0.01

    def __post_init__(self) -> None:
        check_values(_KINDS, vars(self))

    @property
    def rounds(self) -> int:
        """Number of times that a game is played in a lesson."""
        return self.rollouts

    def beside(self, policy: nn.Module, seed: int) -> dict[str, nn.Module]:
        """No modules are trained beside the policy."""
        return {}

    def lesson(
        self,
        learned: nn.ModuleDict,
        adam: Adam,
        games: Any,
        rng: np.random.Generator,
        entropy: float,
    ) -> Episodes:
        """Play each game several times with actions drawn by the policy, and train on the episodes."""
        policy, again = learned["policy"], games.take(np.repeat(np.arange(games.worlds), self.rollouts))
        episodes = play(partial(once_each, policy), again, rng, keep_steps=True)
        if not episodes.steps:
            return episodes
        better = advantages(episodes.returns(self.discount), self.rollouts)
        met = together([step.games for step in episodes.steps])
        firsts, of = distinct(met)
        positions = Positions(
            met.take(firsts),
            of,
            np.concatenate([step.actions for step in episodes.steps]),
            np.concatenate([better[step.rows] for step in episodes.steps]),
        )
        adam.forget()
        for part in positions.chunks():
            (loss_of(policy, part, self, entropy) / len(positions.actions)).backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), LONGEST)
        adam.step()
        return episodes


@dataclass(frozen=True, eq=False)
class Positions:
    """Games of one size and the actions taken in them: the game of each action (``of``) and the advantage of
    its episode."""

    games: Any
    of: np.ndarray
    actions: np.ndarray
    advantages: np.ndarray

    def chunks(self) -> Iterator[Positions]:
        step, worlds = max(1, CHUNK // self.games.objects**2), self.games.worlds
        for first in range(0, worlds, step):
            games = self.games.take(np.arange(first, min(first + step, worlds)))
            here = np.flatnonzero((self.of >= first) & (self.of < first + step))
            yield Positions(games, self.of[here] - first, self.actions[here], self.advantages[here])


def once_each(policy: nn.Module, games: Any) -> torch.Tensor:
    """Scores of the policy, computed once for equal games: rollouts share their first positions."""
    firsts, which = distinct(games)
    return policy(games.take(firsts))[torch.from_numpy(which)]


def advantages(returns: np.ndarray, rollouts: int) -> np.ndarray:
    """Returns less the mean over each game's rollouts, in standard deviations over the batch.

    >>> advantages(np.array([1.0, 0.0, 5.0, 5.0]), rollouts=2).round(2)
    array([ 1.41, -1.41,  0.  ,  0.  ])
    """
    by_game = returns.reshape(-1, rollouts)
    apart = by_game - by_game.mean(1, keepdims=True)
    return (apart / (apart.std() + 1e-3)).ravel()


def loss_of(policy: nn.Module, positions: Positions, settings: Reinforce, entropy: float) -> torch.Tensor:
    """Summed loss of the actions taken."""
    games, validity = positions.games, torch.zeros(())
    if isinstance(policy, TellsValidity):
        scores, valid = policy.with_validity(games)
        validity = settings.validity * invalidity(scores, valid, games) * len(positions.actions)
    else:
        scores = policy(games)
    every, of = torch.log_softmax(scores, 1), torch.from_numpy(positions.of)
    taken = every[of, torch.from_numpy(positions.actions)]
    if settings.objective == "probability":
        taken = taken.exp()
    better = torch.from_numpy(positions.advantages).float()
    return -(taken * better).sum() - entropy * disorder(every)[of].sum() + validity


def disorder(log_probabilities: torch.Tensor) -> torch.Tensor:
    """Entropy of each position's actions; an action of probability 0 contributes nothing."""
    finite = torch.where(torch.isfinite(log_probabilities), log_probabilities, 0.0)
    return -(log_probabilities.exp() * finite).sum(1)


def invalidity(scores: torch.Tensor, valid: torch.Tensor, games: Any) -> torch.Tensor:
    """Cross-entropy of predicting which moves are valid."""
    right, apart = torch.from_numpy(games.legal()).float(), torch.isfinite(scores)
    return functional.binary_cross_entropy_with_logits(valid[apart], right[apart])
