"""Small tasks, written as a user would."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from herbrand import tasks


def two_steps(rng: np.random.Generator, worlds: int, size: int) -> dict[str, np.ndarray]:
    """Who is two steps from whom else in random directed graphs without loops."""
    apart = ~np.eye(size, dtype=bool)
    edge = (rng.random((worlds, size, size)) < 0.3) & apart
    return {"edge": edge, "two": (edge[:, :, :, None] & edge[:, None]).any(2) & apart}


@dataclass(frozen=True, eq=False)
class Corridor(tasks.Games):
    """Rooms in a row, one with the way out."""

    here: np.ndarray
    way_out: np.ndarray
    rooms: np.ndarray

    vocabulary = {1: ("here", "out"), 2: ("right", "before")}  # noqa: RUF012 (as a user writes it)
    action = "go"

    @classmethod
    def draw(cls, rng: np.random.Generator, worlds: int, size: int) -> Self:
        here, way_out = np.argsort(rng.random((worlds, size)), 1)[:, :2].T
        return cls(here, way_out, np.full(worlds, size))

    @property
    def size(self) -> int:
        return int(self.rooms[0])

    def relations(self) -> dict[str, np.ndarray]:
        rooms = np.arange(self.size)
        pairs = (self.worlds, self.size, self.size)
        return {
            "here": rooms == self.here[:, None],
            "out": rooms == self.way_out[:, None],
            "right": np.broadcast_to(rooms[:, None] + 1 == rooms, pairs),
            "before": np.broadcast_to(rooms[:, None] < rooms, pairs),
        }

    def solved(self) -> np.ndarray:
        return self.here == self.way_out

    def moved(self, actions: np.ndarray) -> Self:
        return replace(self, here=np.where(abs(actions - self.here) == 1, actions, self.here))


@dataclass(frozen=True, eq=False)
class Graded(Corridor):
    """The same with fewer names, and moves that earn how much nearer they come."""

    vocabulary = {1: ("here", "out"), 2: ("right",)}  # noqa: RUF012 (as a user writes it)

    def limit(self) -> np.ndarray:
        return np.full(self.worlds, 3)

    def rewards(self, after: Self) -> np.ndarray:
        return (abs(self.way_out - self.here) - abs(after.way_out - after.here)).astype(float)


@dataclass(frozen=True, eq=False)
class Pairs(tasks.Games):
    """Things that are chosen two at a time."""

    held: np.ndarray

    vocabulary = {1: ("held",)}  # noqa: RUF012 (as a user writes it)
    arity = 2

    @classmethod
    def draw(cls, rng: np.random.Generator, worlds: int, size: int) -> Self:
        return cls(np.zeros((worlds, size), np.int64))

    @property
    def size(self) -> int:
        return self.held.shape[1]

    def solved(self) -> np.ndarray:
        return self.held.all(1)

    def moved(self, actions: np.ndarray) -> Self:
        return self
