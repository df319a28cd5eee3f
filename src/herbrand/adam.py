"""Adam (Kingma and Ba 2015), without the three seconds that importing torch's optimisers takes.

>>> weights = torch.zeros(2, dtype=torch.float64, requires_grad=True)
>>> adam = Adam.of([weights], rate=0.5)
>>> (weights - torch.tensor([3.0, -3.0])).square().sum().backward()
>>> adam.step()
>>> [round(weight, 4) for weight in weights.tolist()]
[0.5, -0.5]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from herbrand.tensor_files import alike

KEPT, KEPT_SQUARE, TINY = 0.9, 0.999, 1e-8
"""Beta 1, beta 2 and epsilon of the paper, which are torch's defaults too."""


@dataclass(eq=False)
class Adam:
    """Adam's state: ``means`` and ``squares`` are running means of gradients and of their squares."""

    parameters: tuple[Tensor, ...]
    rate: float
    means: list[Tensor]
    squares: list[Tensor]
    steps: int = 0

    @classmethod
    def of(cls, parameters: Iterable[Tensor], rate: float) -> Adam:
        known = tuple(parameters)
        return cls(known, rate, list(map(torch.zeros_like, known)), list(map(torch.zeros_like, known)))

    @torch.no_grad()
    def step(self) -> None:
        """Move the parameters against their gradients, and clear these."""
        self.steps += 1
        for parameter, mean, square in zip(self.parameters, self.means, self.squares, strict=True):
            slope = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            mean.lerp_(slope, 1 - KEPT)
            square.mul_(KEPT_SQUARE).addcmul_(slope, slope, value=1 - KEPT_SQUARE)
            # Both divisors correct the bias of means that start at 0 (the paper's algorithm 1). The order of
            # operations is torch's, so that a run has the same bits.
            size = (square.sqrt() / math.sqrt(1 - KEPT_SQUARE**self.steps)).add_(TINY)
            parameter.addcdiv_(mean, size, value=-self.rate / (1 - KEPT**self.steps))
        self.forget()

    def forget(self) -> None:
        """Clear the gradients, those too that an interrupted step left."""
        for parameter in self.parameters:
            parameter.grad = None

    def tensors(self) -> dict[str, Tensor]:
        """Running means and the number of steps, by name, to be saved."""
        named = {"mean": self.means, "square": self.squares}
        means = {f"adam.{name}.{place}": t for name, kept in named.items() for place, t in enumerate(kept)}
        return means | {"adam.steps": torch.tensor(self.steps)}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore what :meth:`tensors` returned."""
        places = range(len(self.parameters))
        self.means = [alike(tensors[f"adam.mean.{i}"], self.means[i]).clone() for i in places]
        self.squares = [alike(tensors[f"adam.square.{i}"], self.squares[i]).clone() for i in places]
        self.steps = int(tensors["adam.steps"])
