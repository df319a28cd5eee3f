"""Policies of the decision tasks: a machine that gives each action of a game its log-odds.

>>> from benchmarks.games.environments import games_named
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

from benchmarks.games.blocks import Towers
from benchmarks.games.environments import GAMES, games_named
from herbrand.errors import HerbrandError
from herbrand.induction.machine import SPREAD, LogicMachine, draw_weights
from herbrand.tensor_files import read_tensors, restoring, save_tensors


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

    def __init__(self, depth: int = 5, width: tuple[int, int, int] = (8, 16, 8), hidden: int = 32) -> None:
        super().__init__()
        inputs = [0, 0, len(Towers.vocabulary[2])]
        self.machine = LogicMachine(inputs, depth=depth, breadth=2, width=width, target_arity=1)
        self.channels, compared = 2 * self.machine.outputs[1], 2 * len(Towers.vocabulary[2])
        self.first, self.second = (nn.Linear(self.channels, hidden, bias=False) for _ in range(2))
        self.pair, self.score = nn.Linear(compared, hidden), nn.Linear(hidden, 2)

    def about(self, games: Towers) -> torch.Tensor:
        """``[worlds, blocks + 1, channels]``: what is concluded of each object and of its picture."""
        found = self.machine(games.predicates())[1]
        assert found is not None
        count = games.objects + 1
        return torch.cat([found[:, :count], found[:, count:]], -1)

    def moves_and_validity(self, about: torch.Tensor, games: Towers) -> tuple[torch.Tensor, torch.Tensor]:
        """The scores of the moves, and the log-odds that each is valid."""
        pairs = self.first(about).unsqueeze(2) + self.second(about).unsqueeze(1) + self.pair(games.pairs())
        scores = self.score(torch.sigmoid(pairs))
        return _without_diagonal(scores[..., 0]).flatten(1), scores[..., 1].flatten(1)

    def with_validity(self, games: Towers) -> tuple[torch.Tensor, torch.Tensor]:
        """The scores of the moves, and the log-odds that each is valid."""
        return self.moves_and_validity(self.about(games), games)

    def forward(self, games: Towers) -> torch.Tensor:
        return self.with_validity(games)[0]


def _without_diagonal(scores: torch.Tensor) -> torch.Tensor:
    same = torch.eye(scores.shape[1], dtype=torch.bool)
    return scores.masked_fill(same, -torch.inf)


SPREADS = {"sorting": 1.0, "path": SPREAD, "blocks": SPREAD}
"""Of fresh weights. Sorting needs to tell little, and what tells more at the start generalises worse."""


def policy_for(name: str, seed: int = 0) -> ActionPolicy | TowerPolicy:
    """A fresh policy; equal seeds, equal weights.

    Depth and breadth are the paper's, but for blocks world: what has to be known of a block takes four layers
    (see the decisions), and the paper's seven take longer than the five here."""
    games = games_named(name)
    policy: ActionPolicy | TowerPolicy
    match name:
        case "blocks":
            policy = TowerPolicy()
        case "sorting":
            policy = ActionPolicy(games.vocabulary, 2, depth=3, breadth=2)
        case _:
            policy = ActionPolicy(games.vocabulary, 1, depth=6, breadth=3)
    draw_weights(policy, seed, SPREADS[name])
    return policy


TIE = 1e-3
"""Log-odds that differ by less are equal: objects that no predicate tells apart differ by rounding only."""


def save_policy(path: str | Path, policy: ActionPolicy | TowerPolicy, about: dict[str, Any]) -> None:
    """Saves weights with what is to be known of them; ``about["task"]`` names the decision task."""
    save_tensors(path, dict(policy.state_dict()), about)


def load_policy(path: str | Path) -> tuple[ActionPolicy | TowerPolicy, dict[str, Any]]:
    """A saved policy, and what was said of it."""
    tensors, about = read_tensors(path)
    if about.get("task") not in GAMES:
        raise HerbrandError(f"'{path}' holds no policy", hint="expected what save_policy wrote")
    policy = policy_for(about["task"])
    with restoring(path):
        policy.load_state_dict(tensors)
    return policy, about


def chosen(scores: torch.Tensor, rng: np.random.Generator | None) -> np.ndarray:
    """The best action of each game, the first of equals;
    with a generator, one drawn by the policy's probabilities."""
    if rng is None:
        return (scores >= scores.amax(1, keepdim=True) - TIE).int().argmax(1).numpy()
    noise = -np.log(-np.log(rng.uniform(1e-12, 1 - 1e-12, size=scores.shape)))
    return (scores + torch.from_numpy(noise).to(scores)).argmax(1).numpy()
