"""Samples of weighted formulas by variable elimination, without a circuit.

Atoms are summed out one after another, as for marginals. The tables that each sum is of are kept: they weigh
an atom's values, given those of the atoms that it is linked with and that go later. Worlds are drawn in
reverse, each atom by these weights. Time and memory are those of exact inference. Where formulas link too
many atoms, a circuit may still use that they exclude most worlds.

>>> from herbrand.budget import UNLIMITED
>>> from herbrand.factors.graph import Assembly, Tables
>>> graph = Assembly([2, 2])
>>> graph.add_tables(Tables(np.array([[0, 1]]), np.array([0]), np.log([[[8.0, 1], [1, 2]]])))
>>> summed_out = SummedOut.of(graph.build(), UNLIMITED)
>>> chances = summed_out.steps[0].chances(np.array([[0, 0], [0, 1]]))
>>> round(math.exp(summed_out.total), 6), chances.round(3).tolist()
(12.0, [[0.889, 0.333], [0.111, 0.667]])
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from herbrand.answers.samples import DrawnAtom, World
from herbrand.budget import Budget
from herbrand.contraction.order import cheapest_elimination
from herbrand.engines.circuit.sampling import NUMBERS_AT_ONCE, drawn_atom, drawn_values
from herbrand.engines.components import chained
from herbrand.engines.elimination import normalised, spread
from herbrand.engines.engine import REFUSALS
from herbrand.factors.graph import Array, FactorGraph, table_factors
from herbrand.factors.ground_graph import ground_graph
from herbrand.language.syntax import Value
from herbrand.program.ground import MOST_GROUNDINGS, ground
from herbrand.program.program import Program

BYTES_AN_ENTRY = 8
"""An atom has two values or more, so that the sums have at most half as many entries as they are of; the
other half is room for the one that is being made."""

LogTable = tuple[tuple[int, ...], Array]
"""A table of log-weights over some axes, the one that goes first in front."""


@dataclass(frozen=True, eq=False)
class Conditional:
    """Tables that weigh the values of an axis, each with that axis in front."""

    axis: int
    tables: tuple[LogTable, ...]

    def chances(self, values: Array) -> Array:
        """Chances [value, draw], given the values [axis, draw] of the other axes; one column where there are
        none."""
        weights = np.zeros((1, 1))
        for (_, *others), table in self.tables:
            given = [values[axis] for axis in others] or [None]
            weights = weights + table[(slice(None), *given)]
        return normalised(weights)[1]


@dataclass(frozen=True, eq=False)
class Unlinked:
    """Chances [axis, value] of ``axes`` of one size that no table links with others."""

    axes: Array
    chances: Array


@dataclass(frozen=True, eq=False)
class SummedOut:
    """All axes of a graph: those linked, each given those that are summed out later, and the ``unlinked``
    ones, which are drawn together; ``total``: the log-partition."""

    steps: tuple[Conditional, ...]
    total: float
    unlinked: tuple[Unlinked, ...] = ()

    @property
    def axis_count(self) -> int:
        return len(self.steps) + sum(len(alike.axes) for alike in self.unlinked)

    @classmethod
    def of(cls, graph: FactorGraph, budget: Budget, most: float = math.inf) -> SummedOut | None:
        """None where the sums are of more than ``most`` entries, or too large for the memory."""
        edges = zip(graph.factor_edges[:-1].tolist(), graph.factor_edges[1:].tolist(), strict=True)
        scopes = [tuple(f"a{axis}" for axis in graph.edge_axes[start:end].tolist()) for start, end in edges]
        sizes = {f"a{axis}": size for axis, size in enumerate(graph.sizes.tolist())}
        entries, order = cheapest_elimination(scopes, (), sizes, budget, restarted=False)
        if entries > min(most, budget.bytes / BYTES_AN_ENTRY):
            return None
        return cls._run(graph, [int(name[1:]) for name in order], budget)

    @classmethod
    def _run(cls, graph: FactorGraph, order: Sequence[int], budget: Budget) -> SummedOut:
        place = [-1] * graph.axis_count
        for number, axis in enumerate(order):
            place[axis] = number
        waiting: dict[int, list[LogTable]] = {}
        for axis in order:
            start = graph.starts[axis]
            waiting[axis] = [((axis,), graph.unary[start : start + graph.sizes[axis]])]
        for alike in table_factors(graph):
            for scope, table in zip(alike.scopes.tolist(), alike.tables(graph), strict=True):
                axes = sorted(range(len(scope)), key=lambda at: place[scope[at]])
                first, *others = (scope[at] for at in axes)
                waiting[first].append(((first, *others), table.transpose(axes)))
        unlinked, total = _unlinked(graph, np.flatnonzero(np.array(place) < 0))
        steps, total = [], total + graph.constant
        for axis in budget.each(order):
            steps.append(Conditional(axis, tuple(waiting[axis])))
            (_, *others), joint = _joined(waiting[axis], place)
            sums = np.logaddexp.reduce(joint, axis=0)
            if others:
                waiting[others[0]].append((tuple(others), sums))
            else:
                total += float(sums)
        return cls(tuple(steps), total, unlinked)

    def drawn(self, random: np.random.Generator, count: int) -> tuple[Array, Array]:
        """Values [axis, draw] of ``count`` worlds, and their log-weights."""
        values = np.zeros((self.axis_count, count), np.int64)
        weights = np.full(count, self.total)
        for alike in self.unlinked:
            own = drawn_values(np.repeat(alike.chances, count, axis=0), random).reshape(-1, count)
            values[alike.axes] = own
            weights += np.log(np.take_along_axis(alike.chances, own, 1)).sum(axis=0)
        for step in reversed(self.steps):
            chances = step.chances(values)
            rows = np.broadcast_to(chances.reshape(len(chances), -1).T, (count, len(chances)))
            values[step.axis] = own = drawn_values(rows, random)
            weights += np.log(np.take_along_axis(rows, own[:, None], 1)[:, 0])
        return values, weights


def _unlinked(graph: FactorGraph, axes: Array) -> tuple[tuple[Unlinked, ...], float]:
    """Chances of the values of axes without tables, by their sizes, and the log-sum of their weights."""
    groups: list[Unlinked] = []
    total = 0.0
    for size in np.unique(graph.sizes[axes]).tolist():
        alike = axes[graph.sizes[axes] == size]
        sums, chances = normalised(graph.unary[graph.starts[alike][:, None] + np.arange(size)], axis=1)
        groups.append(Unlinked(alike, chances))
        total += math.fsum(sums.tolist())
    return tuple(groups), total


def _joined(tables: Sequence[LogTable], place: Sequence[int]) -> LogTable:
    """The sum of tables over all their axes."""
    sizes = {axis: size for axes, table in tables for axis, size in zip(axes, table.shape, strict=True)}
    scope = tuple(sorted(sizes, key=place.__getitem__))
    at = {axis: number for number, axis in enumerate(scope)}
    joint = np.zeros([sizes[axis] for axis in scope])
    for axes, table in tables:
        joint += spread(table[None], tuple(at[axis] for axis in axes), joint.shape)[0]
    return scope, joint


@dataclass(frozen=True, eq=False)
class EliminationSamples:
    """Sampler of a program without choices. ``atoms``: each latent atom that a text can name, by its axis."""

    engine: ClassVar[str] = "exact"
    summed_out: SummedOut
    atoms: dict[int, tuple[str, DrawnAtom]]

    @classmethod
    def of(cls, program: Program, budget: Budget, most: float = math.inf) -> EliminationSamples | None:
        """None where choices weigh worlds, sums would be of more than ``most`` entries or too large for the
        memory, or no world is possible."""
        if program.uncertain:
            return None
        try:
            grounded = ground(program, budget, MOST_GROUNDINGS)
            graph = chained(ground_graph(grounded, budget, by_formula=False).graph, budget)
        except REFUSALS:
            return None
        summed_out = SummedOut.of(graph, budget, most)
        if summed_out is None or summed_out.total == -math.inf:
            return None
        latent, named = grounded.atoms, program.signature.named
        rows = ((axis, *latent.row(axis)) for axis in range(latent.count))
        return cls(
            summed_out, {axis: drawn_atom(program, name, row) for axis, name, row in rows if name in named}
        )

    def worlds(self, count: int, seed: int, budget: Budget) -> Iterator[World]:
        """Draw ``count`` independent worlds."""
        random, left = np.random.default_rng(seed), count
        at_once = max(1, NUMBERS_AT_ONCE // max(1, self.summed_out.axis_count))
        while left:
            budget.check()
            values, weights = self.summed_out.drawn(random, min(at_once, left))
            for own, weight in zip(values.T.tolist(), weights.tolist(), strict=True):
                yield self._world(own, weight)
            left -= len(weights)

    def _world(self, values: Sequence[int], weight: float) -> World:
        """The world with these values of axes; an atom may have none of its values."""
        true: list[str] = []
        chosen: dict[str, Value] = {}
        for axis, (text, atom) in self.atoms.items():
            value = values[axis]
            if not atom.values:
                true += [text] * value
            elif value < len(atom.values):
                chosen[text] = atom.values[value]
        return World(tuple(true), chosen, weight)
