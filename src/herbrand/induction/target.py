"""A machine with one conclusion: the log-odds that a target
predicate holds, for every tuple of a world's objects.

>>> learner = TargetMachine((0, 0, 4), target_arity=1)
>>> learner({2: torch.rand(2, 10, 10, 4)}).shape
torch.Size([2, 10])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from herbrand.induction.machine import LogicMachine, Predicates


@dataclass(frozen=True)
class Shape:
    """Hyperparameters of a machine, from which it can be built again."""

    inputs: tuple[int, ...]
    target_arity: int
    depth: int = 4
    breadth: int = 3
    width: int = 8
    hidden: tuple[int, ...] = ()
    residual: bool = True
    rebuild_widest: bool = False

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Shape:
        lists = {name: tuple(fields[name]) for name in ("inputs", "hidden")}
        return cls(**{**fields, **lists})


class TargetMachine(nn.Module):
    """A :class:`~herbrand.induction.machine.LogicMachine` and one weighted sum of its conclusions.

    Further keywords are those of the machine.
    """

    def __init__(self, inputs: Sequence[int], target_arity: int, **options: Any) -> None:
        super().__init__()
        self.shape = Shape(tuple(inputs), target_arity, **options)
        self.machine = LogicMachine(**self.shape.to_dict())
        self.conclusion = nn.Linear(self.machine.outputs[target_arity], 1)

    def forward(self, predicates: Predicates, present: torch.Tensor | None = None) -> torch.Tensor:
        """Compute the log-odds of the target, ``[worlds, m * target_arity]``."""
        conclusions = self.machine(predicates, present)[self.shape.target_arity]
        return self.conclusion(conclusions).squeeze(-1)
