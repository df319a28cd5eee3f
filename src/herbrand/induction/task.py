"""What a learning task is: named predicates of random worlds, and a target to predict from them.

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
    """Worlds of one batch. ``predicates``: ``[worlds, m * arity, channels]`` by arity; ``target``:
    ``[worlds, m * arity]``; ``present``: which objects each world has, ``None`` for all; ``known``: where the
    target is known, ``None`` for everywhere."""

    predicates: Mapping[int, torch.Tensor]
    target: torch.Tensor
    present: torch.Tensor | None = None
    known: torch.Tensor | None = None

    @property
    def worlds(self) -> int:
        return len(self.target)

    def take(self, rows: torch.Tensor | np.ndarray | list[int]) -> Sample:
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
    """``vocabulary``: predicate names by arity, in the order of the channels.
    ``sizes``: objects in training and in the larger exam; ``examples``: the
    worlds that the paper trains on; ``depth`` and ``breadth`` likewise."""

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
        """How many predicates there are of each arity."""
        return tuple(len(self.vocabulary.get(arity, ())) for arity in range(self.breadth + 1))

    def draw(self, rng: np.random.Generator, worlds: int, objects: int) -> Sample:
        """Fresh worlds, as they come."""
        if worlds < 1 or objects < 1:
            raise HerbrandError(f"{worlds} worlds of {objects} objects", hint="at least one of each")
        return self.draw_worlds(rng, worlds, objects)

    def draw_for_training(self, rng: np.random.Generator, worlds: int, objects: int) -> Sample:
        """Fresh worlds; where positives are rare, at least three quarters of the worlds have one.

        Worlds without are put back at most twenty times, so that tiny sizes end too.
        """
        sample = self.draw(rng, worlds, objects)
        if not self.rare:
            return sample
        wanted, kept, without = worlds - worlds // 4, [], [sample.take([0])]
        for _ in range(20):
            has_target = sample.target.flatten(1).any(1)
            kept.append(sample.take(torch.nonzero(has_target).flatten()))
            without.append(sample.take(torch.nonzero(~has_target).flatten()))
            if sum(part.worlds for part in kept) >= wanted:
                break
            sample = self.draw(rng, worlds * 4, objects)
        parts = [joined(kept).take(range_of(joined(kept), wanted)), joined(without[1:])]
        return joined(parts).take(range_of(joined(parts), worlds))


def range_of(sample: Sample, most: int) -> torch.Tensor:
    return torch.arange(min(most, sample.worlds))


def joined(samples: list[Sample]) -> Sample:
    """Samples of equal sizes as one."""
    first = samples[0]
    return Sample(
        {arity: torch.cat([s.predicates[arity] for s in samples]) for arity in first.predicates},
        torch.cat([s.target for s in samples]),
        None if first.present is None else torch.cat([s.present for s in samples if s.present is not None]),
        None if first.known is None else torch.cat([s.known for s in samples if s.known is not None]),
    )
