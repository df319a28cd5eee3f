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
    """``worlds`` games of the same size. A game of one's own is a frozen dataclass of arrays
    ``[worlds, ...]`` with ``draw``, ``size``, ``relations``, ``solved`` and ``moved``."""

    vocabulary: ClassVar[Mapping[int, tuple[str, ...]]]
    """Names of the relations that are observed, by how many arguments they have."""
    action: ClassVar[str] = "act"
    """What rules call an action."""
    arity: ClassVar[int] = 1
    """How many objects an action names: 1, an object to go to; 2, a pair to swap."""
    depth: ClassVar[int] = 4
    """Layers of a policy's machine: so many steps lie between what is observed and what is done."""
    breadth: ClassVar[int] = 2
    """How many objects the machine's predicates relate at most."""
    limit_is_part_of_the_task: ClassVar[bool] = False
    """Whether running out of moves ends the game (``terminated``) or only the episode (``truncated``)."""
    final_exam: ClassVar[Mapping[str, int]] = {}
    """What games of the final exam are drawn with beside their size."""

    @classmethod
    @abstractmethod
    def draw(cls, rng: np.random.Generator, worlds: int, size: int) -> Self:
        """Random games of a size."""

    @property
    @abstractmethod
    def size(self) -> int:
        """What lessons go by: elements, nodes, the side of a board."""

    @property
    def objects(self) -> int:
        """How many objects there are in a world: as many as the size says, if nothing else is defined."""
        return self.size

    def relations(self) -> Relations:
        """What is observed: a table for each name of the vocabulary, 1 or true where it holds."""
        raise NotImplementedError(f"{type(self).__name__} has no relations")

    @abstractmethod
    def solved(self) -> Flags:
        """``[worlds]``: which games are won."""

    @abstractmethod
    def moved(self, actions: Numbers) -> Self:
        """The games after one action each; an illegal one does nothing."""

    def limit(self) -> Numbers:
        """How many moves each game may take."""
        return np.full(self.worlds, 4 * self.size)

    def legal(self) -> Flags:
        """``[worlds, actions]``: which actions do something, as an environment tells it."""
        return np.ones((self.worlds, self.actions), bool)

    def rewards(self, after: Self) -> npt.NDArray[np.float64] | None:
        """What the moves that led to ``after`` earned, ``[worlds]``. ``None``: a move costs a hundredth, and
        one that solves the game earns 1."""
        return None

    @property
    def worlds(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    @property
    def actions(self) -> int:
        """How many actions there are, legal or not."""
        return self.objects**self.arity

    def named(self, actions: Numbers) -> tuple[Numbers, ...]:
        """The objects that actions name, an array for each place."""
        return np.unravel_index(actions, (self.objects,) * self.arity)

    def predicates(self) -> dict[int, torch.Tensor]:
        """What is observed as a machine reads it, a tensor for each arity."""
        return channels(self.relations(), self.vocabulary)

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """Some of the games."""
        return replace(self, **{f.name: getattr(self, f.name)[rows] for f in fields(self)})


def together(parts: list[Any]) -> Any:
    """Games of one size as one."""
    first = parts[0]
    names = [f.name for f in fields(first)]
    return replace(first, **{name: np.concatenate([getattr(p, name) for p in parts]) for name in names})


def positions(games: Any) -> list[bytes]:
    """What tells the position of each game from others."""
    held = [np.ascontiguousarray(getattr(games, f.name)) for f in fields(games)]
    return [b"".join(part[row].tobytes() for part in held) for row in range(games.worlds)]


def distinct(games: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows in which every game stands once, and for each game which of those rows holds its equal."""
    places: dict[bytes, int] = {}
    firsts, which = [], np.empty(games.worlds, np.int64)
    for row, position in enumerate(positions(games)):
        place = places.setdefault(position, len(firsts))
        if place == len(firsts):
            firsts.append(row)
        which[row] = place
    return np.array(firsts, np.int64), which
