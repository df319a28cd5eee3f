"""Walking to a target node along a shortest path: nodes are the objects, an action is the next node.

A walker may take as many steps as the target is away, so every step must be on a shortest path.

>>> walks = Walks.draw(np.random.default_rng(0), worlds=2, size=12)
>>> walks.predicates()[1].shape, bool((walks.limit() >= 1).all())
(torch.Size([2, 12, 2]), True)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from benchmarks.worlds.graphs import nearest_neighbours, shortest
from herbrand.tasks.games import Flags, Games, Numbers, together
from herbrand.tasks.relations import Relations

FARTHEST = 5
"""Distances between start and target go from 1 to this, unless one is asked for."""

TRIES = 200
"""Rounds of graphs among which one with the wanted distance is looked for; then a nearer pair is taken."""


@dataclass(frozen=True, eq=False)
class Walks(Games):
    """``edges``: ``[worlds, m, m]``; ``here`` and ``target``: the walker's node and where it should go."""

    edges: npt.NDArray[np.float32]
    here: Numbers
    target: Numbers
    away: Numbers

    vocabulary: ClassVar[Mapping[int, tuple[str, ...]]] = {1: ("here", "target"), 2: ("edge",)}
    action: ClassVar[str] = "step"
    depth: ClassVar[int] = 6
    breadth: ClassVar[int] = 3
    limit_is_part_of_the_task: ClassVar[bool] = True
    final_exam: ClassVar[Mapping[str, int]] = {"distance": 4}

    @classmethod
    def draw(cls, rng: np.random.Generator, worlds: int, size: int, distance: int | None = None) -> Self:
        """Random graphs with two nodes that are ``distance`` apart (any up to five by default)."""
        most = max(1, min(FARTHEST if distance is None else distance, size - 1))
        low = 1 if distance is None else most
        wanted = rng.integers(low, most + 1, size=worlds)
        found: list[tuple[int, Self]] = []
        waiting = np.arange(worlds)
        for attempt in range(TRIES):
            if attempt == TRIES - 1:
                wanted[waiting] = 1
            edges = nearest_neighbours(rng, len(waiting), size)
            lengths = shortest(edges, most)
            chosen = rng.random(lengths.shape) * (lengths == wanted[waiting, None, None])
            best = chosen.reshape(len(waiting), -1).argmax(1)
            here, there = np.divmod(best, size)
            fine = chosen.reshape(len(waiting), -1).max(1) > 0
            made = cls(edges, here, there, wanted[waiting])
            found += [(int(waiting[i]), made.take(np.array([i]))) for i in np.flatnonzero(fine)]
            waiting = waiting[~fine]
            if not len(waiting) or size == 1:
                break
        if size == 1:
            none = np.zeros(worlds, np.int64)
            return cls(np.zeros((worlds, 1, 1), np.float32), none, none, none + 1)
        return together([walk for _, walk in sorted(found, key=lambda pair: pair[0])])

    @property
    def size(self) -> int:
        return self.edges.shape[1]

    def relations(self) -> Relations:
        nodes = np.arange(self.size)
        return {
            "here": nodes == self.here[:, None],
            "target": nodes == self.target[:, None],
            "edge": self.edges,
        }

    def legal(self) -> Flags:
        return self.edges[np.arange(self.worlds), self.here] > 0

    def solved(self) -> Flags:
        return self.here == self.target

    def limit(self) -> Numbers:
        return self.away

    def moved(self, actions: Numbers) -> Self:
        linked = self.edges[np.arange(self.worlds), self.here, actions] > 0
        return replace(self, here=np.where(linked, actions, self.here))
