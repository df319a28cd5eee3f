"""The policy of blocks world: what is concluded of both objects of a move, in the world and in the picture.

>>> import numpy as np
>>> policy = TowerPolicy()
>>> policy(Towers.draw(np.random.default_rng(0), worlds=2, size=4)).shape
torch.Size([2, 25])
"""

from __future__ import annotations

import torch
from torch import nn

from benchmarks.games.blocks import Towers
from herbrand.induction.machine import LogicMachine
from herbrand.tasks.policies import without_diagonal


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
        return without_diagonal(scores[..., 0]).flatten(1), scores[..., 1].flatten(1)

    def with_validity(self, games: Towers) -> tuple[torch.Tensor, torch.Tensor]:
        """The scores of the moves, and the log-odds that each is valid."""
        return self.moves_and_validity(self.about(games), games)

    def forward(self, games: Towers) -> torch.Tensor:
        return self.with_validity(games)[0]
