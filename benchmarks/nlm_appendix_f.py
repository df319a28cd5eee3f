"""A straightforward Neural Logic Machine, after appendix F of the paper, in torch: the limit that ours is
held against. Frozen: it is not to be made faster.

Expansions, permutations and masked copies are written out, and every arity is computed in every layer.
Weights are those of :class:`herbrand.induction.machine.LogicMachine` with all arities, so both can run the
same machine."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import torch
from torch import nn


class AppendixF(nn.Module):
    def __init__(self, inputs: list[int], depth: int, breadth: int, width: int = 8, residual: bool = True):
        super().__init__()
        self.breadth, self.residual = breadth, residual
        channels = [*inputs, *[0] * (breadth + 1 - len(inputs))]
        self.layers = nn.ModuleList()
        for _ in range(depth):
            units, outputs = nn.ModuleDict(), []
            for arity in range(breadth + 1):
                total = channels[arity]
                total += channels[arity - 1] if arity else 0
                total += 2 * channels[arity + 1] if arity < breadth else 0
                count = len(list(permutations(range(arity))))
                if total:
                    units[str(arity)] = nn.Linear(count * total, width)
                outputs.append((width if total else 0) + (channels[arity] if residual else 0))
            self.layers.append(units)
            channels = outputs
        self.outputs = channels

    def forward(self, inputs: list[Any]) -> list[Any]:
        objects = next(tensor.shape[1] for tensor in inputs[1:] if tensor is not None)
        layers: Any = self.layers
        for units in layers:
            outputs = []
            for arity, own in enumerate(inputs):
                parts = []
                if arity and inputs[arity - 1] is not None:
                    parts.append(expand(inputs[arity - 1], objects))
                if own is not None:
                    parts.append(own)
                if arity < self.breadth and inputs[arity + 1] is not None:
                    parts.append(reduce(inputs[arity + 1]))
                made: Any = None
                if parts:
                    made = torch.sigmoid(units[str(arity)](permuted(torch.cat(parts, -1))))
                if self.residual and own is not None:
                    made = torch.cat([own, made], -1)
                outputs.append(made)
            inputs = outputs
        return inputs


def expand(group: torch.Tensor, objects: int) -> torch.Tensor:
    return group.unsqueeze(-2).repeat(*[1] * (group.dim() - 1), objects, 1)


def reduce(group: torch.Tensor) -> torch.Tensor:
    mask = distinct(group)
    some = (group * mask).max(-2).values
    every = (group * mask + (1 - mask)).min(-2).values
    return torch.stack([some, every], -1).flatten(-2)


def distinct(group: torch.Tensor) -> torch.Tensor:
    """1 where all objects differ."""
    arity, objects = group.dim() - 2, group.shape[1]
    mask = torch.ones([objects] * arity)
    apart = 1 - torch.eye(objects)
    for left in range(arity):
        for right in range(left + 1, arity):
            mask = mask * apart.view([objects if axis in (left, right) else 1 for axis in range(arity)])
    return mask[None, ..., None]


def permuted(group: torch.Tensor) -> torch.Tensor:
    arity = group.dim() - 2
    orders = permutations(range(1, 1 + arity))
    return torch.cat([group.permute(0, *order, 1 + arity) for order in orders], -1)
