"""What the decision tasks share: many worlds of one size that are observed and acted on together.

A game is a frozen value; a step gives the games that come of it. Worlds that are done stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt
import torch

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Games(Protocol):
    """``worlds`` games, each with the same number of objects."""

    vocabulary: ClassVar[Mapping[int, tuple[str, ...]]]
    """Names of the predicates that are observed, by arity."""
    limit_is_part_of_the_task: ClassVar[bool]
    """Whether running out of moves ends the game (``terminated``) or only the episode (``truncated``)."""
    final_exam: ClassVar[Mapping[str, int]]
    """What large games are drawn with in the paper's exam."""

    @property
    def worlds(self) -> int: ...

    @property
    def objects(self) -> int:
        """What the user calls the size: elements, nodes, blocks."""
        ...

    @property
    def actions(self) -> int: ...

    def predicates(self) -> dict[int, torch.Tensor]: ...

    def legal(self) -> Flags:
        """``[worlds, actions]``: which actions do something."""
        ...

    def solved(self) -> Flags: ...

    def limit(self) -> Numbers:
        """How many moves each game may take."""
        ...

    def moved(self, actions: Numbers) -> Self:
        """The games after one action each; an illegal one does nothing."""
        ...

    def take(self, rows: npt.NDArray[Any]) -> Self: ...


def taken(games: Any, rows: npt.NDArray[Any]) -> Any:
    """Some of the games, for those whose fields are all arrays ``[worlds, ...]``."""
    return replace(games, **{f.name: getattr(games, f.name)[rows] for f in fields(games)})


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
