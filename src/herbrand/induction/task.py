"""Learning tasks: named predicates of random worlds, and a target predicate to predict from them.

>>> def rows(rng, worlds, objects):
...     step = torch.eye(objects).roll(1, 1).tril(-1).repeat(worlds, 1, 1)
...     return Sample({2: step[..., None]}, step.amax(2))
>>> task = Task("has-step", "has_step", 1, {2: ("step",)}, rows, (5, 8), 10, 1_000)
>>> sample = task.draw(np.random.default_rng(0), worlds=3, objects=10)
>>> sample.predicates[2].shape, sample.target.shape
(torch.Size([3, 10, 10, 1]), torch.Size([3, 10]))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch

from herbrand.errors import HerbrandError


@dataclass(frozen=True, eq=False)
class Sample:
    """A batch of worlds. ``predicates``: ``[worlds, m * arity, channels]`` by arity; ``target``:
    ``[worlds, m * arity]``; ``present``: mask of the objects in each world, ``None`` for all; ``known``: mask
    of the tuples with a known target, ``None`` for all."""

    predicates: Mapping[int, torch.Tensor]
    target: torch.Tensor
    present: torch.Tensor | None = None
    known: torch.Tensor | None = None

    @property
    def worlds(self) -> int:
        """Number of worlds."""
        return len(self.target)

    def take(self, rows: torch.Tensor | np.ndarray | list[int]) -> Sample:
        """The sample with the worlds of these ``rows`` only."""
        rows = torch.as_tensor(rows)
        return Sample(
            {arity: tensor[rows] for arity, tensor in self.predicates.items()},
            self.target[rows],
            None if self.present is None else self.present[rows],
            None if self.known is None else self.known[rows],
        )


Draw = Callable[[np.random.Generator, int, int], Sample]


@dataclass(frozen=True)
class Task:
    """A learning task. ``vocabulary``: predicate names by arity, in the order of the channels. ``sizes``:
    number of objects in training and in the larger exam; ``final_size``: in the final examination;
    ``examples``, ``depth`` and ``breadth``: training worlds and machine of the paper; ``rare``: whether few
    tuples are positive."""

    name: str
    target: str
    target_arity: int
    vocabulary: Mapping[int, tuple[str, ...]]
    draw_worlds: Draw = field(repr=False)
    sizes: tuple[int, int]
    final_size: int
    examples: int
    depth: int = 4
    breadth: int = 3
    rare: bool = False

    @property
    def inputs(self) -> tuple[int, ...]:
        """Number of predicates of each arity from 0 to ``breadth``."""
        return tuple(len(self.vocabulary.get(arity, ())) for arity in range(self.breadth + 1))

    def draw(self, rng: np.random.Generator, worlds: int, objects: int) -> Sample:
        """Draw fresh worlds, whatever their labels."""
        if worlds < 1 or objects < 1:
            raise HerbrandError(f"{worlds} worlds of {objects} objects", hint="at least one of each")
        return self.draw_worlds(rng, worlds, objects)

    def draw_for_training(self, rng: np.random.Generator, worlds: int, objects: int) -> Sample:
        """Draw fresh worlds; where positives are rare, three quarters of the worlds have one.

        After twenty draws the batch is filled with worlds that have none, so that sizes too small for
        positives end too.
        """
        sample = self.draw(rng, worlds, objects)
        if not self.rare:
            return sample
        count, kept, without = worlds - worlds // 4, list[Sample](), list[Sample]()
        for _ in range(20):
            has_target = sample.target.flatten(1).any(1)
            kept.append(sample.take(torch.nonzero(has_target).flatten()))
            without.append(sample.take(torch.nonzero(~has_target).flatten()))
            if sum(part.worlds for part in kept) >= count:
                break
            sample = self.draw(rng, worlds * 4, objects)
        positives = joined(kept)
        more = range_of(positives, positives.worlds)[count:]
        filled = joined([positives.take(range_of(positives, count)), joined(without), positives.take(more)])
        return filled.take(range_of(filled, worlds))


def range_of(sample: Sample, most: int) -> torch.Tensor:
    return torch.arange(min(most, sample.worlds))


def joined(samples: list[Sample]) -> Sample:
    """Concatenate samples of equal sizes."""
    first = samples[0]
    return Sample(
        {arity: torch.cat([s.predicates[arity] for s in samples]) for arity in first.predicates},
        torch.cat([s.target for s in samples]),
        None if first.present is None else torch.cat([s.present for s in samples if s.present is not None]),
        None if first.known is None else torch.cat([s.known for s in samples if s.known is not None]),
    )
