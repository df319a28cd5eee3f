"""Blocks of atoms that hard statements tie together, and their possible joint states.

A single atom cannot move where a hard statement only lets several move together, so all atoms that hard
statements link are one block, drawn jointly from a list of its possible states. A block with more states than
:data:`MOST_STATES` is refused: a sampler that cannot get from one possible world to another must not answer.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from herbrand.factors.graph import Array, FactorGraph, table_factors
from herbrand.graphs import component_of

MOST_STATES = 4096


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of atoms. Block b has the atoms ``atoms[pointers[b]:pointers[b + 1]]`` and
    ``state_counts[b]`` joint states.

    Their values begin at ``state_starts[b]`` in ``states``, state by state.
    """

    pointers: Array
    atoms: Array
    state_starts: Array
    state_counts: Array
    states: Array

    def __len__(self) -> int:
        return len(self.state_counts)


class TooLargeError(Exception):
    """A block has too many states; ``factors`` are the tables and ``axes`` the helpers that
    tie its ``atoms``."""

    def __init__(self, atoms: int, factors: Array, axes: Array) -> None:
        super().__init__(f"{atoms} atoms")
        self.atoms, self.factors, self.axes = atoms, factors, axes


class ImpossibleError(Exception):
    """No state of a block is possible."""


def freed(graph: FactorGraph) -> FactorGraph:
    """The graph with the constraint of helpers that must be false moved to their members: values that would
    make one true are forbidden."""
    makers, unary = graph.makers, graph.unary.copy()
    helpers = np.flatnonzero(makers >= 0)
    waiting = helpers[np.isneginf(unary[graph.starts[helpers] + 1])].tolist()
    while waiting:
        factor = makers[helper := waiting.pop()]
        unary[graph.starts[helper] + 1] = 0.0
        for edge in range(int(graph.factor_edges[factor]) + 1, int(graph.factor_edges[factor + 1])):
            member, start = int(graph.edge_axes[edge]), graph.message_starts[edge]
            barred = np.flatnonzero(graph.allowed[start : start + graph.edge_sizes[edge]])
            unary[graph.edge_starts[edge] + barred] = -math.inf
            if makers[member] >= 0 and 1 in barred:
                waiting.append(member)
    return graph._replace(unary=unary)


def blocks_of(graph: FactorGraph, atom_count: int, made: Sequence[int] = ()) -> Blocks:
    """A block for each atom, or for all atoms that hard statements link. ``made``: atoms of parts of
    formulas, whose values follow from those of others before them."""
    hard = _Hard(graph, frozenset(made))
    labels = hard.labels()
    sizes = graph.sizes[:atom_count]
    tied = np.isin(labels[:atom_count], labels[hard.axes]) if len(hard.axes) else np.zeros(atom_count, bool)
    parts: list[tuple[Array, Array]] = []
    single = np.flatnonzero(~tied)
    joint: dict[int, list[int]] = defaultdict(list)
    for atom in np.flatnonzero(tied):
        joint[int(labels[atom])].append(int(atom))
    factors_of, helpers_of = hard.by_label(labels)
    for label, atoms in joint.items():
        parts.append(
            (np.array(atoms), hard.states(atoms, factors_of.get(label, []), helpers_of.get(label, [])))
        )
    return _assembled(single, sizes, parts)


def _assembled(single: Array, sizes: Array, parts: Sequence[tuple[Array, Array]]) -> Blocks:
    """Blocks of one atom, whose states are its values, followed by those of several."""
    widths = np.concatenate([np.ones(len(single), np.int64), [len(atoms) for atoms, _ in parts]])
    counts = np.concatenate([sizes[single], [len(states) for _, states in parts]]).astype(np.int64)
    entries = (widths * counts).astype(np.int64)
    ends = np.cumsum(sizes[single])
    alone = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - sizes[single], sizes[single])
    return Blocks(
        np.concatenate([[0], np.cumsum(widths)]).astype(np.int64),
        np.concatenate([single, *(atoms for atoms, _ in parts)]).astype(np.int64),
        np.cumsum(entries) - entries,
        counts,
        np.concatenate([alone, *(states.reshape(-1) for _, states in parts)]).astype(np.int64),
    )


class _Hard:
    """The factors and helpers of a graph that make worlds impossible."""

    def __init__(self, graph: FactorGraph, made: Set[int]) -> None:
        self.graph, self.maker, self.made = graph, graph.makers, made
        barring = [np.empty(0, np.int64)]
        for alike in table_factors(graph):
            tables, which = alike.shared(graph)
            barred = np.flatnonzero(np.isneginf(tables).reshape(len(tables), -1).any(axis=1))
            barring.append(alike.factors[np.isin(which, barred)])
        self.factors = np.concatenate(barring)
        helpers = np.flatnonzero(self.maker >= 0)
        own = graph.starts[helpers][:, None] + np.arange(2)
        barred_helpers = helpers[np.isneginf(graph.unary[own]).any(axis=1)]
        linked = np.isin(graph.owners, self.factors)
        self.links = self._links(graph.edge_axes[linked], barred_helpers)
        self.axes = np.unique(self.links)

    def table(self, factor: int) -> Array:
        graph = self.graph
        edges = slice(graph.factor_edges[factor], graph.factor_edges[factor + 1])
        sizes = graph.sizes[graph.edge_axes[edges]]
        start = graph.table_starts[factor]
        return graph.tables[start : start + int(np.prod(sizes))].reshape(sizes)

    def _scope(self, factor: int) -> list[int]:
        graph = self.graph
        return graph.edge_axes[graph.factor_edges[factor] : graph.factor_edges[factor + 1]].tolist()

    def _links(self, in_tables: Array, barred: Array) -> Array:
        """Pairs of tied axes: those of a hard table, and a hard helper with all members below it."""
        graph = self.graph
        pairs = []
        widths = graph.factor_edges[self.factors + 1] - graph.factor_edges[self.factors]
        first = np.repeat(graph.edge_axes[graph.factor_edges[self.factors]], widths)
        pairs.append(np.stack([first, in_tables], axis=1))
        waiting = [a for a in np.union1d(in_tables, barred).tolist() if self.maker[a] >= 0]
        seen = set(waiting)
        while waiting:
            helper = waiting.pop()
            members = self._scope(int(self.maker[helper]))[1:]
            pairs.append(np.array([[helper, member] for member in members]))
            waiting += [m for m in members if self.maker[m] >= 0 and m not in seen]
            seen.update(waiting)
        return np.concatenate(pairs).astype(np.int64)

    def labels(self) -> Array:
        return component_of(self.graph.axis_count, self.links)

    def by_label(self, labels: Array) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """Hard tables and hard helpers of each component."""
        factors: dict[int, list[int]] = defaultdict(list)
        helpers: dict[int, list[int]] = defaultdict(list)
        for factor in self.factors.tolist():
            factors[int(labels[self._scope(factor)[0]])].append(factor)
        for axis in self.axes.tolist():
            if self.maker[axis] >= 0:
                helpers[int(labels[axis])].append(axis)
        return factors, helpers

    def states(self, atoms: Sequence[int], factors: Sequence[int], helpers: Sequence[int]) -> Array:
        """Possible joint states [state, atom]; raises if there are too many, or none."""
        free = [atom for atom in atoms if atom not in self.made]
        if math.prod(len(self._open(atom)) for atom in free) > MOST_STATES:
            raise TooLargeError(len(free), np.array(factors, np.int64), np.array(helpers, np.int64))
        order = [*free, *(atom for atom in atoms if atom in self.made)]
        states = list(self._possible(order, factors, helpers))
        if not states:
            raise ImpossibleError
        return np.array(states, dtype=np.int64)[:, np.argsort(order)]

    def _open(self, axis: int) -> list[int]:
        start = int(self.graph.starts[axis])
        unary = self.graph.unary[start : start + int(self.graph.sizes[axis])]
        return np.flatnonzero(~np.isneginf(unary)).tolist()

    def _possible(
        self, atoms: Sequence[int], factors: Sequence[int], helpers: Sequence[int]
    ) -> Iterable[tuple[int, ...]]:
        """Possible values of the atoms, one atom after the other: what is barred is left out as soon as all
        atoms that it depends on have values."""
        place = {atom: number for number, atom in enumerate(atoms)}
        barring: dict[int, list[tuple[list[int], Array]]] = defaultdict(list)
        for factor in factors:
            scope = self._scope(factor)
            barring[max(self._latest(axis, place) for axis in scope)].append((scope, self.table(factor)))
        for helper in helpers:
            barred = np.where(np.isin([0, 1], self._open(helper)), 0.0, -math.inf)
            barring[self._latest(helper, place)].append(([helper], barred))
        states: Iterable[tuple[int, ...]] = [()]
        for number, atom in enumerate(atoms):
            longer = [(*state, value) for state in states for value in self._open(atom)]
            states = [state for state in longer if self._allows(barring[number], atoms, state)]
        return states

    def _latest(self, axis: int, place: Mapping[int, int]) -> int:
        """Place of the last atom on which the value of an axis depends."""
        if axis in place:
            return place[axis]
        return max((self._latest(one, place) for one in self._scope(int(self.maker[axis]))[1:]), default=0)

    def _allows(
        self, barring: Sequence[tuple[list[int], Array]], atoms: Sequence[int], state: tuple[int, ...]
    ) -> bool:
        world = dict(zip(atoms, state, strict=False))
        return all(
            table[tuple(self._evaluate(axis, world) for axis in scope)] > -math.inf
            for scope, table in barring
        )

    def _evaluate(self, axis: int, world: dict[int, int]) -> int:
        """Value of an axis; that of a helper is computed from its members."""
        if axis not in world:
            graph, factor = self.graph, self.maker[axis]
            edges = range(int(graph.factor_edges[factor]) + 1, int(graph.factor_edges[factor + 1]))
            world[axis] = int(
                any(
                    graph.allowed[graph.message_starts[e] + self._evaluate(int(graph.edge_axes[e]), world)]
                    for e in edges
                )
            )
        return world[axis]
