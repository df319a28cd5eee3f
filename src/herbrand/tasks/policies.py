"""Policies of games: machines that give each action its log-odds.

>>> policy = ActionPolicy({1: ("here",), 2: ("edge",)}, arity=1)
>>> policy.scores({1: torch.zeros(2, 6, 1), 2: torch.zeros(2, 6, 6, 1)}).shape
torch.Size([2, 6])
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import nn

from herbrand.errors import HerbrandError
from herbrand.induction.machine import LogicMachine, draw_weights
from herbrand.tasks.games import Games
from herbrand.tensor_files import read_tensors, restoring, save_tensors

TIE = 1e-3
"""Log-odds that differ by less count as equal: those of indistinguishable objects differ by rounding."""


class ActionPolicy(nn.Module):
    """A policy whose actions are tuples of ``arity`` objects; the log-odds are a linear function of the
    machine's conclusions about the tuple. Pairs (``i, i``), which change nothing, are left out.
    ``vocabulary``, ``depth`` and ``breadth`` are those of a game."""

    def __init__(
        self, vocabulary: Mapping[int, tuple[str, ...]], arity: int, depth: int = 4, breadth: int = 2
    ) -> None:
        super().__init__()
        self.vocabulary, self.arity = dict(vocabulary), arity
        inputs = [len(vocabulary.get(r, ())) for r in range(max(breadth, *vocabulary) + 1)]
        self.machine = LogicMachine(
            inputs, depth=depth, breadth=breadth, target_arity=arity, rebuild_widest=breadth > 2
        )
        self.score = nn.Linear(self.machine.outputs[arity], 1)

    def forward(self, games: Any) -> torch.Tensor:
        """Log-odds of the actions up to a constant, ``[worlds, actions]``."""
        return self.scores(games.predicates())

    def scores(self, predicates: Mapping[int, torch.Tensor]) -> torch.Tensor:
        """Log-odds of the actions from the observed relations."""
        conclusions = self.machine(predicates)[self.arity]
        assert conclusions is not None
        scores = self.score(conclusions).squeeze(-1)
        if self.arity == 2:
            scores = without_diagonal(scores)
        return scores.flatten(1)

    def save(self, path: str | Path, about: Mapping[str, Any]) -> None:
        """Save the weights and the shape, with the description ``about``."""
        shape = {
            "vocabulary": [[arity, list(names)] for arity, names in self.vocabulary.items()],
            "arity": self.arity,
            "depth": self.machine.depth,
            "breadth": self.machine.breadth,
        }
        save_tensors(path, dict(self.state_dict()), {**about, "policy": shape})

    @classmethod
    def load(cls, path: str | Path) -> tuple[ActionPolicy, dict[str, Any]]:
        """Load a policy that :meth:`save` wrote, and its description."""
        tensors, about = read_tensors(path)
        if not isinstance(about.get("policy"), dict):
            raise HerbrandError(f"'{path}' holds no policy", hint="expected what a policy's save wrote")
        with restoring(path):
            shape = about.pop("policy")
            vocabulary = {int(arity): tuple(names) for arity, names in shape["vocabulary"]}
            policy = cls(vocabulary, shape["arity"], shape["depth"], shape["breadth"])
            policy.load_state_dict(tensors)
        return policy, about


def fresh_policy(kind: type[Games], seed: int, spread: float) -> ActionPolicy:
    """An untrained policy of a game; equal seeds give equal weights."""
    policy = ActionPolicy(kind.vocabulary, kind.arity, kind.depth, kind.breadth)
    draw_weights(policy, seed, spread)
    return policy


@runtime_checkable
class TellsValidity(Protocol):
    """A policy that also learns to predict which actions are valid."""

    def with_validity(self, games: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-odds of the actions, and the log-odds that each is valid."""
        ...


def without_diagonal(scores: torch.Tensor) -> torch.Tensor:
    """Scores of pairs without the diagonal."""
    same = torch.eye(scores.shape[1], dtype=torch.bool)
    return scores.masked_fill(same, -torch.inf)


def chosen(scores: torch.Tensor, rng: np.random.Generator | None) -> np.ndarray:
    """The best action of each game, the first of equals;
    with a generator, one drawn by the policy's probabilities."""
    if rng is None:
        return (scores >= scores.amax(1, keepdim=True) - TIE).int().argmax(1).numpy()
    noise = -np.log(-np.log(rng.uniform(1e-12, 1 - 1e-12, size=scores.shape)))
    return (scores + torch.from_numpy(noise).to(scores)).argmax(1).numpy()
