"""Learning from success and failure: REINFORCE over batches of games.

The loss is ``-log p(action) * return - beta * entropy``. The original's code has ``-p(action) * return``,
which learns little from actions that are rare; ``objective="probability"`` is there to compare. Blocks
world also learns to tell whether moves are valid, which shapes the same conclusions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch.nn import functional

from herbrand.induction.policies import ActionPolicy, TowerPolicy
from herbrand.induction.rollouts import Episodes, Step, play

Objective = Literal["log", "probability"]


@dataclass(frozen=True)
class Reinforce:
    """``entropy``: beta at the start; ``validity``: the weight of telling
    valid moves; ``centred``: returns are measured from their mean over the
    batch, in standard deviations, so that what merely works is not praised."""

    objective: Objective = "log"
    discount: float = 0.99
    entropy: float = 0.1
    validity: float = 0.1
    rate: float = 0.005
    centred: bool = True


def lesson(
    policy: ActionPolicy | TowerPolicy,
    optimiser: torch.optim.Optimizer,
    games: Any,
    rng: np.random.Generator,
    settings: Reinforce,
    entropy: float,
) -> Episodes:
    """Plays the games by the policy's own probabilities and learns from how they went."""
    episodes = play(policy, games, rng, keep_steps=True)
    if not episodes.steps:
        return episodes
    gains = episodes.returns(settings.discount)
    every = np.concatenate(gains)
    count, middle, spread = len(every), every.mean(), every.std() + 1e-3
    optimiser.zero_grad()
    for step, gain in zip(episodes.steps, gains, strict=True):
        returns = (gain - middle) / spread if settings.centred else gain
        loss = step_loss(policy, step, torch.from_numpy(returns).float(), settings, entropy)
        (loss / count).backward()
    optimiser.step()
    return episodes


def step_loss(
    policy: ActionPolicy | TowerPolicy,
    step: Step,
    returns: torch.Tensor,
    settings: Reinforce,
    entropy: float,
) -> torch.Tensor:
    """The summed loss of one move in each of a step's games."""
    validity = torch.zeros(())
    if isinstance(policy, TowerPolicy):
        scores, valid = policy.with_validity(step.games)
        right = torch.from_numpy(step.games.legal()).float()
        apart = torch.isfinite(scores)
        loss = functional.binary_cross_entropy_with_logits(valid[apart], right[apart])
        validity = settings.validity * loss * len(returns)
    else:
        scores = policy(step.games)
    log_probabilities = torch.log_softmax(scores, 1)
    taken = log_probabilities.gather(1, torch.from_numpy(step.actions)[:, None])[:, 0]
    if settings.objective == "probability":
        taken = taken.exp()
    spread = torch.where(torch.isfinite(log_probabilities), log_probabilities, 0.0)
    disorder = -(log_probabilities.exp() * spread).sum(1)
    return -(taken * returns).sum() - entropy * disorder.sum() + validity
