"""Policies of the decision tasks: a machine that gives each action of a game its log-odds.

>>> from herbrand.induction.worlds.environments import games_named
>>> games = games_named("sorting").draw(np.random.default_rng(0), worlds=2, objects=4)
>>> policy_for("sorting")(games).shape
torch.Size([2, 16])
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from herbrand.errors import HerbrandError
from herbrand.induction.checkpoint import read_tensors, write_tensors
from herbrand.induction.machine import LogicMachine
from herbrand.induction.worlds.blocks import Towers
from herbrand.induction.worlds.environments import GAMES, games_named


class ActionPolicy(nn.Module):
    """An action is a tuple of objects: the conclusions about it,
    weighed. The action of no change (``i, i``) of pairs is left out."""

    def __init__(
        self, vocabulary: Mapping[int, tuple[str, ...]], arity: int, depth: int, breadth: int
    ) -> None:
        super().__init__()
        inputs = [len(vocabulary.get(r, ())) for r in range(breadth + 1)]
        self.machine = LogicMachine(
            inputs, depth=depth, breadth=breadth, target_arity=arity, rebuild_widest=breadth > 2
        )
        self.score = nn.Linear(self.machine.outputs[arity], 1)
        self.arity = arity

    def forward(self, games: Any) -> torch.Tensor:
        """``[worlds, actions]``: log-odds up to a constant."""
        conclusions = self.machine(games.predicates())[self.arity]
        assert conclusions is not None
        scores = self.score(conclusions).squeeze(-1)
        if self.arity == 2:
            scores = _without_diagonal(scores)
        return scores.flatten(1)


class TowerPolicy(nn.Module):
    """Moves of block i onto object j: what is concluded of both, in the world and in the picture, beside how
    they compare, through a hidden layer (the original has none; sums alone make "this block, there" hard).

    ``valid`` is a second score, for whether the move would do anything.
    """

    def __init__(self, depth: int = 7, breadth: int = 2, hidden: int = 16) -> None:
        super().__init__()
        inputs = [0, 0, len(Towers.vocabulary[2])]
        self.machine = LogicMachine(inputs, depth=depth, breadth=breadth, target_arity=1)
        width, compared = 2 * self.machine.outputs[1], 2 * len(Towers.vocabulary[2])
        self.first, self.second = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.pair, self.score = nn.Linear(compared, hidden), nn.Linear(hidden, 2)

    def scores(self, games: Towers) -> torch.Tensor:
        """``[worlds, blocks + 1, blocks + 1, 2]``: of the move, and of its being valid."""
        about = self.machine(games.predicates())[1]
        assert about is not None
        count = games.objects + 1
        both = torch.cat([about[:, :count], about[:, count:]], -1)
        pairs = self.first(both).unsqueeze(2) + self.second(both).unsqueeze(1) + self.pair(games.pairs())
        return self.score(torch.sigmoid(pairs))

    def forward(self, games: Towers) -> torch.Tensor:
        return _without_diagonal(self.scores(games)[..., 0]).flatten(1)

    def with_validity(self, games: Towers) -> tuple[torch.Tensor, torch.Tensor]:
        """The scores of the moves, and the log-odds that each is valid."""
        scores = self.scores(games)
        return _without_diagonal(scores[..., 0]).flatten(1), scores[..., 1].flatten(1)


def _without_diagonal(scores: torch.Tensor) -> torch.Tensor:
    same = torch.eye(scores.shape[1], dtype=torch.bool)
    return scores.masked_fill(same, -torch.inf)


def policy_for(name: str, seed: int = 0) -> ActionPolicy | TowerPolicy:
    """A fresh policy of the paper's depth and breadth; equal seeds, equal weights."""
    games = games_named(name)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        match name:
            case "blocks":
                return TowerPolicy()
            case "sorting":
                return ActionPolicy(games.vocabulary, 2, depth=3, breadth=2)
        return ActionPolicy(games.vocabulary, 1, depth=5, breadth=3)


TIE = 1e-3
"""Log-odds that differ by less are equal: objects that no predicate tells apart differ by rounding only."""


def save_policy(path: str | Path, policy: ActionPolicy | TowerPolicy, about: dict[str, Any]) -> None:
    """Saves weights with what is to be known of them; ``about["task"]`` names the decision task."""
    write_tensors(path, dict(policy.state_dict()), about)


def load_policy(path: str | Path) -> tuple[ActionPolicy | TowerPolicy, dict[str, Any]]:
    """A saved policy, and what was said of it."""
    tensors, about = read_tensors(path)
    if about.get("task") not in GAMES:
        raise HerbrandError(f"'{path}' holds no policy", hint="expected what save_policy wrote")
    policy = policy_for(about["task"])
    policy.load_state_dict(tensors)
    return policy, about


def chosen(scores: torch.Tensor, rng: np.random.Generator | None) -> np.ndarray:
    """The best action of each game, the first of equals;
    with a generator, one drawn by the policy's probabilities."""
    if rng is None:
        return (scores >= scores.amax(1, keepdim=True) - TIE).int().argmax(1).numpy()
    noise = -np.log(-np.log(rng.uniform(1e-12, 1 - 1e-12, size=scores.shape)))
    return (scores + torch.from_numpy(noise).to(scores)).argmax(1).numpy()
