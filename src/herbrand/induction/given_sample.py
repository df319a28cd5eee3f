"""Tensors of example worlds for a machine, and the tuples of which the target is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from herbrand.induction.given_worlds import GivenWorld
from herbrand.induction.task import Sample

Vocabulary = Mapping[int, tuple[str, ...]]
"""Names of predicates by arity, in the order of the channels."""


def by_arity(predicates: Mapping[str, int]) -> dict[int, tuple[str, ...]]:
    """Group predicate names by arity.

    >>> by_arity({"edge": 2, "red": 1, "after": 2})
    {2: ('edge', 'after'), 1: ('red',)}
    """
    names: dict[int, tuple[str, ...]] = {}
    for name, arity in predicates.items():
        names[arity] = (*names.get(arity, ()), name)
    return names


def sample_of(worlds: Sequence[GivenWorld], vocabulary: Vocabulary, arity: int) -> Sample:
    """Build one batch of all worlds, for a target of this arity; ``present`` masks the padding of smaller
    worlds."""
    count, largest = len(worlds), max(len(world.objects) for world in worlds)
    predicates = {
        width: torch.zeros(count, *[largest] * width, len(names)) for width, names in vocabulary.items()
    }
    shape = (count, *[largest] * arity)
    target, known = torch.zeros(shape), torch.zeros(shape, dtype=torch.bool)
    present = torch.zeros(count, largest, dtype=torch.bool)
    for number, world in enumerate(worlds):
        present[number, : len(world.objects)] = True
        for width, names in vocabulary.items():
            for channel, name in enumerate(names):
                rows = world.facts.get(name)
                if rows is not None and len(rows):
                    predicates[width][(number, *rows.T, channel)] = 1.0
        if len(world.true):
            target[(number, *world.true.T)] = 1.0
        for rows in known_rows(world, arity):
            known[(number, *rows.T)] = True
    return Sample(predicates, target, present, known)


def known_rows(world: GivenWorld, arity: int) -> list[np.ndarray]:
    """Tuples whose target is known: all that fit in a closed world, else the listed ones."""
    return [fitting_rows(world, arity)] if world.false is None else [world.true, world.false]


def fitting_rows(world: GivenWorld, arity: int) -> np.ndarray:
    """All tuples whose objects fit the arguments of the target."""
    if arity == 0:
        return np.zeros((1, 0), np.int64)
    axes = np.meshgrid(*[np.flatnonzero(fits) for fits in world.typed], indexing="ij")
    return np.stack([axis.ravel() for axis in axes], 1)
