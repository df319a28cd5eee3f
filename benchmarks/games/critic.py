"""Learning to play with a critic: how many moves are still to come is learned too, and tells good moves.

An episode of many moves says little of each one. The critic forecasts, for every position, how many moves
are still to come: a sum over the objects of what the policy's machine concludes of each, so that it can
count. A move is as good as the forecasts fall by more than the move itself; ``trace`` goes from looking
one move ahead (0) to the whole episode (1). Of solved games the critic also learns how often each block
was moved from then on, which says more than a sum. All of it is learned from the same episodes and shapes
the same conclusions; to play, the critic is not needed.

>>> rows = (np.array([0]), np.array([0]))  # one game, solved by two moves
>>> forecasts = Forecasts((np.array([5.0]), np.array([1.0])), beyond=np.zeros(1))
>>> better, to_come = judged(rows, np.array([2]), np.array([True]), forecasts, discount=1.0, trace=1.0)
>>> better[0].tolist(), to_come[0].tolist()
([3.0], [2.0])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from benchmarks.games.tower_policy import TowerPolicy
from herbrand.adam import Adam
from herbrand.induction.machine import draw_weights
from herbrand.tasks.games import together
from herbrand.tasks.reinforce import LONGEST, disorder, invalidity
from herbrand.tasks.rollouts import Episodes, play


@dataclass(frozen=True)
class ActorCritic:
    """``entropy``: beta at the start; ``validity``, ``forecast`` and ``blocks``: the weights of telling valid
    moves, of forecasting moves to come, and of doing so block by block; ``rate``: Adam's; ``parts``: a batch
    is learned from in so many steps."""

    discount: float = 0.99
    trace: float = 0.9
    entropy: float = 0.01
    validity: float = 1.0
    forecast: float = 0.1
    blocks: float = 0.3
    rate: float = 0.005
    parts: int = 4

    @property
    def rounds(self) -> int:
        """How often a batch is learned from."""
        return self.parts

    def beside(self, policy: nn.Module, seed: int) -> dict[str, nn.Module]:
        """The critic."""
        assert isinstance(policy, TowerPolicy)
        critic = Critic(policy)
        draw_weights(critic, seed, spread=1.0)
        return {"critic": critic}

    def lesson(
        self,
        learned: nn.ModuleDict,
        adam: Adam,
        games: Any,
        rng: np.random.Generator,
        entropy: float,
    ) -> Episodes:
        """Plays each game once and learns from what the critic says of it."""
        policy, critic = cast("TowerPolicy", learned["policy"]), cast("Critic", learned["critic"])
        return coached_lesson(policy, critic, adam, games, rng, self, entropy)


class Critic(nn.Module):
    """Moves still to come, from what a policy's machine concludes of each block."""

    def __init__(self, policy: TowerPolicy) -> None:
        super().__init__()
        self.each = nn.Linear(policy.channels, 2)

    def forward(self, about: torch.Tensor) -> torch.Tensor:
        """``[worlds]``: the discounted moves to come."""
        return functional.softplus(self.each(about)[..., 0]).sum(1)

    def of_blocks(self, about: torch.Tensor) -> torch.Tensor:
        """``[worlds, blocks + 1]``: how often each will be moved if the game is solved."""
        return functional.softplus(self.each(about)[..., 1])


@dataclass(frozen=True, eq=False)
class Forecasts:
    """``steps``: of the positions of each step; ``beyond``: of the positions after each game's last move."""

    steps: Sequence[np.ndarray]
    beyond: np.ndarray


def coached_lesson(
    policy: TowerPolicy,
    critic: Critic,
    adam: Adam,
    games: Any,
    rng: np.random.Generator,
    settings: ActorCritic,
    entropy: float,
) -> Episodes:
    """Plays each game once by the policy's own probabilities and learns from what the critic says of it."""
    told: list[np.ndarray] = []

    def watched(games: Any) -> torch.Tensor:
        about = policy.about(games)
        told.append(critic(about).numpy())
        return policy.moves_and_validity(about, games)[0]

    episodes = play(watched, games, rng, keep_steps=True)
    if not episodes.steps:
        return episodes
    forecasts = Forecasts(told, _beyond(policy, critic, episodes))
    rows = [step.rows for step in episodes.steps]
    better, to_come = judged(
        rows, episodes.moves, episodes.solved, forecasts, settings.discount, settings.trace
    )
    games = together([step.games for step in episodes.steps])
    actions = torch.from_numpy(np.concatenate([step.actions for step in episodes.steps]))
    advantages = torch.from_numpy(np.concatenate(better)).float()
    advantages = (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-3)
    targets = torch.from_numpy(np.concatenate(to_come)).float()
    of_blocks = torch.from_numpy(np.concatenate(moves_of_blocks(episodes))).float()
    known = torch.from_numpy(np.concatenate([episodes.solved[here] for here in rows])).float()[:, None]
    weights = [*policy.parameters(), *critic.parameters()]
    order = rng.permutation(len(actions))
    for part in np.array_split(order, min(settings.parts, len(order))):
        here = games.take(part)
        about = policy.about(here)
        scores, valid = policy.moves_and_validity(about, here)
        log_probabilities = torch.log_softmax(scores, 1)
        taken = log_probabilities.gather(1, actions[part][:, None])[:, 0]
        loss = (
            -(taken * advantages[part]).mean()
            - entropy * disorder(log_probabilities).mean()
            + settings.validity * invalidity(scores, valid, here)
            + settings.forecast * functional.smooth_l1_loss(critic(about), targets[part])
            + settings.blocks * _apart(critic.of_blocks(about), of_blocks[part], known[part])
        )
        adam.forget()
        loss.backward()
        nn.utils.clip_grad_norm_(weights, LONGEST)
        adam.step()
    return episodes


def judged(
    rows: Sequence[np.ndarray],
    moves: np.ndarray,
    solved: np.ndarray,
    forecasts: Forecasts,
    discount: float,
    trace: float,
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """For each step, how much better its moves were than forecast, and the moves to come learned from it.

    ``rows``: which games each step moved; ``moves`` and ``solved``: how each game ended."""
    later, surprises = forecasts.beyond.astype(float), np.zeros(len(moves))
    better: list[np.ndarray] = []
    to_come: list[np.ndarray] = []
    for number in reversed(range(len(rows))):
        here, forecast = rows[number], forecasts.steps[number]
        ends = solved[here] & (moves[here] == number + 1)
        surprise = 1 + discount * np.where(ends, 0.0, later[here]) - forecast
        surprises[here] = surprise + discount * trace * np.where(ends, 0.0, surprises[here])
        better.append(-surprises[here])
        to_come.append(forecast + surprises[here])
        later[here] = forecast
    return better[::-1], to_come[::-1]


def moves_of_blocks(episodes: Episodes) -> list[np.ndarray]:
    """For each step and each of its games, how often each object is moved from then on."""
    found: list[np.ndarray] = []
    objects = episodes.steps[0].games.objects + 1
    later = np.zeros((len(episodes.moves), objects))
    for step in reversed(episodes.steps):
        later[step.rows, step.actions // objects] += 1
        found.append(later[step.rows])
    return found[::-1]


def _apart(told: torch.Tensor, right: torch.Tensor, known: torch.Tensor) -> torch.Tensor:
    return (functional.smooth_l1_loss(told, right, reduction="none") * known).mean()


def _beyond(policy: TowerPolicy, critic: Critic, episodes: Episodes) -> np.ndarray:
    """Forecasts of what lay behind the last move of games that ran out of moves; 0 for others."""
    found = np.zeros(len(episodes.moves))
    for number, step in enumerate(episodes.steps, 1):
        left = np.flatnonzero(~episodes.solved[step.rows] & (episodes.moves[step.rows] == number))
        if len(left):
            games = step.games.take(left).moved(step.actions[left])
            with torch.no_grad():
                found[step.rows[left]] = critic(policy.about(games)).numpy()
    return found
