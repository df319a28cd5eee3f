"""Sorting an array by swaps of two elements: slots are the objects.

>>> arrays = Arrays.draw(np.random.default_rng(0), worlds=2, objects=5)
>>> arrays.predicates()[2].shape, arrays.actions
(torch.Size([2, 5, 5, 2]), 25)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.games.decisions import Flags, Numbers, taken


@dataclass(frozen=True, eq=False)
class Arrays:
    """``values``: ``[worlds, m]``. Action ``i * m + j`` swaps the elements in slots i and j."""

    values: Numbers

    vocabulary: ClassVar[Mapping[int, tuple[str, ...]]] = {2: ("before", "smaller")}
    limit_is_part_of_the_task: ClassVar[bool] = False
    final_exam: ClassVar[Mapping[str, int]] = {}

    @classmethod
    def draw(cls, rng: np.random.Generator, worlds: int, objects: int) -> Self:
        return cls(np.argsort(rng.random((worlds, objects)), 1))

    @property
    def worlds(self) -> int:
        return len(self.values)

    @property
    def objects(self) -> int:
        return self.values.shape[1]

    @property
    def actions(self) -> int:
        return self.objects**2

    def predicates(self) -> dict[int, torch.Tensor]:
        slots = np.arange(self.objects)
        before = np.broadcast_to(slots[:, None] < slots, (self.worlds, self.objects, self.objects))
        smaller = self.values[:, :, None] < self.values[:, None]
        return {2: torch.from_numpy(np.stack([before, smaller], -1).astype(np.float32))}

    def legal(self) -> Flags:
        apart = ~np.eye(self.objects, dtype=bool).ravel()
        return np.broadcast_to(apart, (self.worlds, self.actions))

    def solved(self) -> Flags:
        return np.all(np.diff(self.values, axis=1) >= 0, axis=1)

    def limit(self) -> Numbers:
        return np.full(self.worlds, 2 * self.objects)

    def moved(self, actions: Numbers) -> Self:
        every, values = np.arange(self.worlds), self.values.copy()
        left, right = np.divmod(actions, self.objects)
        values[every, left], values[every, right] = self.values[every, right], self.values[every, left]
        return type(self)(values)

    def take(self, rows: npt.NDArray[Any]) -> Self:
        return taken(self, rows)
