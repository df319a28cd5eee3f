"""The sum over all counts: elements gathered into axes, tables over their counts, contracted.

Takes a :class:`Tabulated` scene; gives :class:`Sums`. Everything is differentiable, so the expected number of
elements in each state, and of pairs in each two profiles, is a gradient of the total. In the max algebra the
total is the largest log-weight, and these numbers are those of one best world.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from herbrand.contraction import Contraction, Dense, Statistics, plan, run
from herbrand.engines.lifted.bunches import Tie, bunches_of
from herbrand.engines.lifted.factors import Axes, Factors
from herbrand.engines.lifted.gathering import FLOAT, Axis, Clamp, Gathering
from herbrand.engines.lifted.tabulated import Tabulated

ANY_MACHINE = 2**50
"""Plans are made for whatever any machine might have; the engine compares costs with its own limits."""

K = TypeVar("K")


@dataclass(frozen=True, eq=False)
class Sums:
    """``states`` [state] of each bunch, hubs first: expected numbers of elements. ``ties`` [hub's state,
    element's state]: expected numbers of pairs. ``pairs`` [profile, profile] of two pools."""

    total: Tensor
    states: tuple[np.ndarray, ...]
    ties: Mapping[tuple[int, Tie], np.ndarray]
    pairs: Mapping[tuple[int, int], np.ndarray]


@dataclass(frozen=True, eq=False)
class Layout:
    """Axes of counts and tables over them, before anything is summed; axis i is named ``c{i}``.

    ``pairs``: what has been added to the tables of usual pairs, as zeros, to be differentiated.
    """

    gathering: Gathering
    constant: Tensor
    axes: tuple[Axis, ...]
    factors: tuple[tuple[Axes, Tensor], ...]
    pairs: Mapping[tuple[int, int], Tensor]

    @property
    def tables(self) -> list[tuple[Axes, Tensor]]:
        """Everything that is multiplied."""
        priors = [((f"c{i}",), axis.prior) for i, axis in enumerate(self.axes)]
        return [((), self.constant), *priors, *self.factors]


class Summation:
    """All that is needed to sum once, or again with an element clamped."""

    def __init__(self, tabulated: Tabulated) -> None:
        self.tabulated = tabulated
        self.scene = tabulated.scene
        self.bunches = bunches_of(tabulated)

    @property
    def impossible(self) -> bool:
        """Whether evidence and hard statements leave some element no cell."""
        weights = self.tabulated.weights
        return any(
            not bool((weights[self.scene.pools[b.pool].family][b.klass].detach() > -torch.inf).any())
            for b in self.bunches.all
        )

    def total(self) -> Tensor:
        """The log-partition, or the largest log-weight."""
        if self.impossible:
            return torch.tensor(-torch.inf, dtype=FLOAT)
        return self._total(self.layout())

    def sums(self, clamp: Clamp | None = None) -> Sums:
        """The total with everything that is expected."""
        layout = self.layout(clamp)
        return expectations(layout, self._total(layout))

    def layout(self, clamp: Clamp | None = None) -> Layout:
        """What there is to sum over."""
        gathering = self._gathering(clamp)
        axes = gathering.axes()
        factors = _factors(self.tabulated, axes)
        tables = (*factors.of_pairs(), *factors.of_counts())
        return Layout(gathering, self._constant(), tuple(axes), tables, factors.pairs)

    def _gathering(self, clamp: Clamp | None) -> Gathering:
        cells, bunches = self.tabulated.cells, self.bunches
        states = [_zeros(cells[bunch.pool].states) for bunch in bunches.all]
        ties = {
            (number, tie): _zeros(cells[bunches.hubs[tie.hub].pool].states, cells[bunch.pool].states)
            for number, bunch in enumerate(bunches.all)
            for tie in bunch.ties
        }
        return Gathering(self.tabulated, bunches, states, ties, clamp)

    def _total(self, layout: Layout) -> Tensor:
        sizes = {f"c{i}": len(axis) for i, axis in enumerate(layout.axes)}
        tables = layout.tables
        scopes = tuple(scope for scope, _ in tables)
        contraction = Contraction(scopes, (), sizes, algebra=self.tabulated.algebra.name)
        made = plan(contraction, [Statistics()] * len(scopes), ANY_MACHINE, gradient=True)
        return run(made, [Dense(table.contiguous()) for _, table in tables]).to_dense()

    def _constant(self) -> Tensor:
        """What unusual pairs give whose elements have one state each."""
        total = torch.zeros((), dtype=FLOAT)
        for (group, pattern, left, right), times in self.bunches.settled.items():
            total = total + times * self.tabulated.unusual(group, pattern, left, right)[0, 0]
        return total


def expectations(layout: Layout, total: Tensor) -> Sums:
    """What is expected, as the gradient of a total, or of anything that has the same one."""
    numbered = dict(enumerate(layout.gathering.states))
    ties, pairs = layout.gathering.ties, layout.pairs
    wanted = [*numbered.values(), *ties.values(), *pairs.values()]
    slopes = iter(torch.autograd.grad(total, wanted, allow_unused=True, retain_graph=True) if wanted else ())

    def expected(tensors: Mapping[K, Tensor]) -> dict[K, np.ndarray]:
        return {key: _number(next(slopes), tensor) for key, tensor in tensors.items()}

    return Sums(total.detach(), tuple(expected(numbered).values()), expected(ties), expected(pairs))


def _factors(tabulated: Tabulated, axes: list[Axis]) -> Factors:
    names = {pool: f"c{i}" for i, axis in enumerate(axes) for pool in axis.pools}
    return Factors(tabulated, {pool: c for axis in axes for pool, c in axis.counts.items()}, names)


def _zeros(*shape: int) -> Tensor:
    return torch.zeros(shape, dtype=FLOAT, requires_grad=True)


def _number(slope: Tensor | None, tensor: Tensor) -> np.ndarray:
    return np.zeros(tensor.shape) if slope is None else slope.numpy()
