"""Walking to a target node along a shortest path: nodes are the objects, an action is the next node.

A walker may take as many steps as the target is away, so every step must be on a shortest path.

>>> walks = Walks.draw(np.random.default_rng(0), worlds=2, objects=12)
>>> walks.predicates()[1].shape, bool((walks.limit() >= 1).all())
(torch.Size([2, 12, 2]), True)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.games.decisions import Flags, Numbers, taken, together
from herbrand.induction.worlds.graphs import nearest_neighbours, shortest

FARTHEST = 5
"""Distances between start and target go from 1 to this, unless one is asked for."""

TRIES = 200
"""Rounds of graphs among which one with the wanted distance is looked for; then a nearer pair is taken."""


@dataclass(frozen=True, eq=False)
class Walks:
    """``edges``: ``[worlds, m, m]``; ``here`` and ``target``: the walker's node and where it should go."""

    edges: npt.NDArray[np.float32]
    here: Numbers
    target: Numbers
    away: Numbers

    vocabulary: ClassVar[Mapping[int, tuple[str, ...]]] = {1: ("here", "target"), 2: ("edge",)}
    limit_is_part_of_the_task: ClassVar[bool] = True
    final_exam: ClassVar[Mapping[str, int]] = {"distance": 4}

    @classmethod
    def draw(cls, rng: np.random.Generator, worlds: int, objects: int, distance: int | None = None) -> Self:
        """Random graphs with two nodes that are ``distance`` apart (any up to five by default)."""
        most = max(1, min(FARTHEST if distance is None else distance, objects - 1))
        low = 1 if distance is None else most
        wanted = rng.integers(low, most + 1, size=worlds)
        found: list[tuple[int, Self]] = []
        waiting = np.arange(worlds)
        for attempt in range(TRIES):
            if attempt == TRIES - 1:
                wanted[waiting] = 1
            edges = nearest_neighbours(rng, len(waiting), objects)
            lengths = shortest(edges, most)
            chosen = rng.random(lengths.shape) * (lengths == wanted[waiting, None, None])
            best = chosen.reshape(len(waiting), -1).argmax(1)
            here, there = np.divmod(best, objects)
            fine = chosen.reshape(len(waiting), -1).max(1) > 0
            made = cls(edges, here, there, wanted[waiting])
            found += [(int(waiting[i]), made.take(np.array([i]))) for i in np.flatnonzero(fine)]
            waiting = waiting[~fine]
            if not len(waiting) or objects == 1:
                break
        if objects == 1:
            none = np.zeros(worlds, np.int64)
            return cls(np.zeros((worlds, 1, 1), np.float32), none, none, none + 1)
        return together([walk for _, walk in sorted(found, key=lambda pair: pair[0])])

    @property
    def worlds(self) -> int:
        return len(self.here)

    @property
    def objects(self) -> int:
        return self.edges.shape[1]

    @property
    def actions(self) -> int:
        return self.objects

    def predicates(self) -> dict[int, torch.Tensor]:
        nodes = np.arange(self.objects)
        unary = np.stack([nodes == self.here[:, None], nodes == self.target[:, None]], -1)
        return {
            1: torch.from_numpy(unary.astype(np.float32)),
            2: torch.from_numpy(self.edges[..., None].astype(np.float32)),
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

    def take(self, rows: npt.NDArray[Any]) -> Self:
        return taken(self, rows)
