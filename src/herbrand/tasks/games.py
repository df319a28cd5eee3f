"""Games: many worlds of one size that are observed and acted on together.

A game is a frozen value; a step gives the games that come of it. Worlds that are done stay as they are.

>>> @dataclass(frozen=True, eq=False)
... class Corridor(Games):
...     # rooms in a row; the last one is the way out
...     here: np.ndarray
...     rooms: np.ndarray
...
...     vocabulary = {1: ("here",), 2: ("next",)}
...     action = "go"
...
...     @classmethod
...     def draw(cls, rng, worlds, size):
...         return cls(rng.integers(size, size=worlds), np.full(worlds, size))
...
...     @property
...     def size(self):
...         return int(self.rooms[0])
...
...     def relations(self):
...         rooms = np.arange(self.objects)
...         following = np.broadcast_to(rooms[:, None] + 1 == rooms, (self.worlds, len(rooms), len(rooms)))
...         return {"here": rooms == self.here[:, None], "next": following}
...
...     def solved(self):
...         return self.here == self.rooms - 1
...
...     def moved(self, actions):
...         return replace(self, here=np.where(actions == self.here + 1, actions, self.here))
>>> games = Corridor.draw(np.random.default_rng(0), worlds=3, size=5)
>>> games.actions, games.predicates()[2].shape
(5, torch.Size([3, 5, 5, 1]))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch

from herbrand.tasks.relations import Relations, channels

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Games(ABC):
    """A batch of ``worlds`` games of one size. A user's game is a frozen dataclass of arrays ``[worlds,
    ...]`` with ``draw``, ``size``, ``relations``, ``solved`` and ``moved``."""

    vocabulary: ClassVar[Mapping[int, tuple[str, ...]]]
    """Names of the observed relations, by arity."""
    action: ClassVar[str] = "act"
    """Name of the action predicate in rules."""
    arity: ClassVar[int] = 1
    """Number of objects that an action names: 1, such as an object to go to; 2, such as a pair to swap."""
    depth: ClassVar[int] = 4
    """Number of layers of a policy's machine, the reasoning steps from observation to action."""
    breadth: ClassVar[int] = 2
    """Largest arity of the machine's predicates."""
    limit_is_part_of_the_task: ClassVar[bool] = False
    """Whether running out of moves ends the game (``terminated``) or only the episode (``truncated``)."""
    final_exam: ClassVar[Mapping[str, int]] = {}
    """Further arguments of ``draw`` for the games of the final exam."""

    @classmethod
    @abstractmethod
    def draw(cls, rng: np.random.Generator, worlds: int, size: int) -> Self:
        """Random games of a size."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Size that lessons increase: number of elements or nodes, side of a board."""

    @property
    def objects(self) -> int:
        """Number of objects in a world; the size unless overridden."""
        return self.size

    def relations(self) -> Relations:
        """Observed relations: a table for each name of the vocabulary, 1 or true where it holds."""
        raise NotImplementedError(f"{type(self).__name__} has no relations")

    @abstractmethod
    def solved(self) -> Flags:
        """Whether each game is won, ``[worlds]``."""

    @abstractmethod
    def moved(self, actions: Numbers) -> Self:
        """The games after one action each; an illegal one does nothing."""

    def limit(self) -> Numbers:
        """Largest number of moves of each game."""
        return np.full(self.worlds, 4 * self.size)

    def legal(self) -> Flags:
        """Whether each action is valid, ``[worlds, actions]``; environments report it."""
        return np.ones((self.worlds, self.actions), bool)

    def rewards(self, after: Self) -> npt.NDArray[np.float64] | None:
        """Rewards of the moves that led to ``after``, ``[worlds]``. ``None``: a move costs 0.01, and one that
        solves the game earns 1."""
        return None

    @property
    def worlds(self) -> int:
        """Number of games in the batch."""
        return len(getattr(self, fields(self)[0].name))

    @property
    def actions(self) -> int:
        """Number of actions, legal or not."""
        return self.objects**self.arity

    def named(self, actions: Numbers) -> tuple[Numbers, ...]:
        """Objects that actions name, an array for each argument."""
        return np.unravel_index(actions, (self.objects,) * self.arity)

    def predicates(self) -> dict[int, torch.Tensor]:
        """Observed relations as input of a machine, a tensor for each arity."""
        return channels(self.relations(), self.vocabulary)

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """The games of these ``rows``."""
        return replace(self, **{f.name: getattr(self, f.name)[rows] for f in fields(self)})


def together(parts: list[Any]) -> Any:
    """Concatenate batches of games of one size."""
    first = parts[0]
    names = [f.name for f in fields(first)]
    return replace(first, **{name: np.concatenate([getattr(p, name) for p in parts]) for name in names})


def positions(games: Any) -> list[bytes]:
    """Bytes that identify the position of each game."""
    held = [np.ascontiguousarray(getattr(games, f.name)) for f in fields(games)]
    return [b"".join(part[row].tobytes() for part in held) for row in range(games.worlds)]


def distinct(games: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows of the distinct games, and for each game the index of its equal among them."""
    places: dict[bytes, int] = {}
    firsts, which = [], np.empty(games.worlds, np.int64)
    for row, position in enumerate(positions(games)):
        place = places.setdefault(position, len(firsts))
        if place == len(firsts):
            firsts.append(row)
        which[row] = place
    return np.array(firsts, np.int64), which
