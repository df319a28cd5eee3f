"""The blocks world: towers are to be rebuilt as in a picture, one block a move.

Object 0 is the ground, others are blocks. A block that carries none may be moved onto the ground or onto
another that carries none. Objects have coordinates: a block on the ground stands at its own number. What is
observed are comparisons of world, number, x and y between all objects of both worlds, the present one and
the picture.

>>> towers = Towers.draw(np.random.default_rng(0), worlds=2, size=4)
>>> towers.predicates()[2].shape, towers.actions
(torch.Size([2, 10, 10, 8]), 25)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import torch

from herbrand.tasks.games import Flags, Games, Numbers

GROUND = 0
PROPERTIES = ("world", "number", "x", "y")


@dataclass(frozen=True, eq=False)
class Towers(Games):
    """``[worlds, blocks + 1]``: what each object stands on
    (the ground on itself), its place, and the picture's.

    Action ``i * (blocks + 1) + j`` moves block i onto object j.
    """

    under: Numbers
    x: Numbers
    y: Numbers
    wanted: Numbers
    wanted_x: Numbers
    wanted_y: Numbers

    vocabulary: ClassVar[Mapping[int, tuple[str, ...]]] = {
        2: tuple(f"{kind}_{name}" for name in PROPERTIES for kind in ("smaller", "same"))
    }

    @classmethod
    def draw(cls, rng: np.random.Generator, worlds: int, size: int) -> Self:
        """Two random heaps of ``size`` blocks: each block in turn is put on what can carry one."""
        return cls(*_heaps(rng, worlds, size), *_heaps(rng, worlds, size))

    @property
    def size(self) -> int:
        return self.under.shape[1] - 1

    @property
    def actions(self) -> int:
        return (self.objects + 1) ** 2

    def properties(self) -> Numbers:
        """``[worlds, 2 (blocks + 1), 4]``: world, number, x, y; the present world first."""
        count = self.objects + 1
        number = np.broadcast_to(np.arange(count), self.under.shape)
        now = np.stack([np.zeros_like(self.x), number, self.x, self.y], -1)
        picture = np.stack([np.ones_like(self.x), number, self.wanted_x, self.wanted_y], -1)
        return np.concatenate([now, picture], 1)

    def predicates(self) -> dict[int, torch.Tensor]:
        return {2: compared(self.properties())}

    def pairs(self) -> torch.Tensor:
        """``[worlds, blocks + 1, blocks + 1, 8 * 2]``: the comparisons within each of the two worlds."""
        properties, count = self.properties(), self.objects + 1
        return torch.cat([compared(properties[:, :count]), compared(properties[:, count:])], -1)

    def clear(self) -> Flags:
        """Objects that may be put upon; of these, blocks may be moved."""
        carried = np.zeros_like(self.under, dtype=bool)
        carried[np.arange(self.worlds)[:, None], self.under] = True
        carried[:, GROUND] = False
        return ~carried

    def legal(self) -> Flags:
        clear = self.clear()
        movable = clear.copy()
        movable[:, GROUND] = False
        allowed = movable[:, :, None] & clear[:, None] & ~np.eye(self.objects + 1, dtype=bool)
        return allowed.reshape(self.worlds, -1)

    def solved(self) -> Flags:
        return (self.under == self.wanted).all(1)

    def moved(self, actions: Numbers) -> Self:
        every = np.arange(self.worlds)
        block, onto = np.divmod(actions, self.objects + 1)
        fine = self.legal()[every, actions]
        rows, block, onto = every[fine], block[fine], onto[fine]
        under, x, y = self.under.copy(), self.x.copy(), self.y.copy()
        under[rows, block] = onto
        x[rows, block] = np.where(onto == GROUND, block, self.x[rows, onto])
        y[rows, block] = self.y[rows, onto] + 1
        return replace(self, under=under, x=x, y=y)


def compared(properties: Numbers) -> torch.Tensor:
    """``[worlds, n, n, 2 properties]``: smaller and same for each property in turn."""
    left, right = properties[:, :, None], properties[:, None]
    both = np.stack([left < right, left == right], -1)
    return torch.from_numpy(both.reshape(*both.shape[:3], -1).astype(np.float32))


def _heaps(rng: np.random.Generator, worlds: int, blocks: int) -> tuple[Numbers, Numbers, Numbers]:
    """What each object stands on, and x and y; the blocks of each world are numbered at random."""
    every = np.arange(worlds)
    under, x, y = (np.zeros((worlds, blocks + 1), np.int64) for _ in range(3))
    number = np.zeros((worlds, blocks + 1), np.int64)
    number[:, 1:] = 1 + np.argsort(rng.random((worlds, blocks)), 1)
    free = np.zeros((worlds, blocks + 1), bool)
    free[:, GROUND] = True
    for step in range(1, blocks + 1):
        block = number[:, step]
        onto = (rng.random(free.shape) * free).argmax(1)
        free[every, onto] = onto == GROUND
        free[every, block] = True
        under[every, block] = onto
        x[every, block] = np.where(onto == GROUND, block, x[every, onto])
        y[every, block] = y[every, onto] + 1
    return under, x, y
