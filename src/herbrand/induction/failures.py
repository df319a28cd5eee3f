"""Pool of worlds that a machine got wrong, to be trained on again.

Worlds that are taken leave the pool, unless they fail again. If there are too many, the latest stay.

>>> pool = Failures(most=3)
>>> pool.keep(Sample({1: torch.zeros(4, 5, 1)}, torch.zeros(4, 5)))
>>> pool.worlds, pool.taken(np.random.default_rng(0), 2)[0].worlds, pool.worlds
(3, 2, 1)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from herbrand.induction.task import Sample, joined
from herbrand.tensor_files import within

MOST = 300
"""Most worlds in a pool."""


class Failures:
    """A pool of failed worlds, all of one size."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._held: Sample | None = None

    @property
    def worlds(self) -> int:
        return 0 if self._held is None else self._held.worlds

    def keep(self, failed: Sample) -> None:
        """Add worlds to the pool; the oldest leave it where there are more than ``most``."""
        every = failed if self._held is None else joined([self._held, failed])
        self._held = every.take(np.arange(max(0, every.worlds - self.most), every.worlds))

    def taken(self, rng: np.random.Generator, count: int) -> list[Sample]:
        """Remove at most ``count`` random worlds and return them as one sample; an empty list if there are
        none."""
        if self._held is None or not self.worlds or not count:
            return []
        order = rng.permutation(self.worlds)
        chosen, left = order[:count], np.sort(order[count:])
        sample, self._held = self._held.take(chosen), self._held.take(left)
        return [sample]

    def tensors(self) -> dict[str, torch.Tensor]:
        """Named tensors of the pool, for a file."""
        if self._held is None:
            return {}
        held = self._held
        named = {f"predicates.{arity}": tensor for arity, tensor in held.predicates.items()}
        others = {"target": held.target, "present": held.present, "known": held.known}
        return named | {name: tensor for name, tensor in others.items() if tensor is not None}

    @classmethod
    def of(cls, tensors: Mapping[str, torch.Tensor]) -> Failures:
        """Build a pool from the tensors of :meth:`tensors`."""
        pool = cls()
        if tensors:
            named = {int(arity): tensor for arity, tensor in within("predicates", tensors).items()}
            pool._held = Sample(named, tensors["target"], tensors.get("present"), tensors.get("known"))
        return pool
