"""Atoms that share a table with one other atom only, summed out of a graph before anything is planned.

A tree has nothing else, and most large graphs have a rim of trees. Each such atom sends one message to its
neighbour, which may then be the next; all that can be sent at a time are one operation on arrays. What is
left, the core, goes to elimination, with the messages among the weights of its atoms. On the way back each
atom's marginal is its neighbour's, times how likely each of its values is beside each of the neighbour's.

>>> from herbrand.factors.graph import Assembly, Tables
>>> graph = Assembly([2, 2, 2])
>>> tables = np.log([[[3.0, 1], [1, 3]], [[2.0, 1], [1, 2]]])
>>> graph.add_tables(Tables(np.array([[0, 1], [1, 2]]), np.arange(2), tables))
>>> core, leaves = without_leaves(Core.whole(graph.build(), 3), "log")
>>> np.flatnonzero(core.present), np.exp(core.unary).round(6)[2:4]
(array([1]), array([12., 12.]))
>>> shares = np.array([[0.0, 0.0], [0.5, 0.5], [0.0, 0.0]])
>>> leaves.add_shares(shares)
>>> shares.round(6).tolist()
[[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.components import Core
from herbrand.factors.graph import Array, FactorGraph, table_factors

BYTES_AN_ENTRY = 24
MOST_OF_THE_MEMORY = 0.25


@dataclass(frozen=True, eq=False)
class Messages:
    """What atoms of one size send to neighbours of one size: ``chances`` [atom, its value, the neighbour's]
    says how likely a value is beside the neighbour's, or which is the best."""

    atoms: Array
    neighbours: Array
    chances: Array


@dataclass(frozen=True, eq=False)
class Leaves:
    """Messages in the order in which they are sent."""

    sent: tuple[Messages, ...] = ()

    @property
    def operations(self) -> float:
        return float(sum(messages.chances.size for messages in self.sent))

    def add_shares(self, shares: Array) -> None:
        """Fill in the shares of the atoms that were summed out; those of the core are there."""
        for messages in reversed(self.sent):
            size, around = messages.chances.shape[1:]
            beside = shares[messages.neighbours, :around]
            shares[messages.atoms, :size] = (messages.chances @ beside[:, :, None])[:, :, 0]


def without_leaves(core: Core, algebra: str, budget: Budget = UNLIMITED) -> tuple[Core, Leaves]:
    """The core that is left, and what was summed (in the algebra ``log``) or maximised out of it.

    Helpers, and atoms in tables with them or with three axes and more, stay; all do where tables that atoms
    share would need too much memory one by one.
    """
    graph, count = core.graph, core.atom_count
    fixed, pairs = np.arange(graph.axis_count) >= count, []
    for alike in table_factors(graph, core.factors):
        if alike.scopes.shape[1] == 2:
            with_helper = alike.scopes.max(axis=1) >= count
            fixed[alike.scopes[with_helper]] = True
            pairs.append(alike.only(np.flatnonzero(~with_helper)))
        else:
            fixed[alike.scopes] = True
    entries = sum(len(alike.factors) * math.prod(alike.sizes) for alike in pairs)
    if not entries or entries * BYTES_AN_ENTRY > budget.bytes * MOST_OF_THE_MEMORY:
        return core, Leaves()
    factors, ends = (
        np.concatenate([getattr(alike, name) for alike in pairs]) for name in ("factors", "scopes")
    )
    unary, present, sent = core.unary.copy(), core.present.copy(), []
    gone = [np.empty(0, np.int64)]
    for atoms, neighbours, links in _rounds(ends, fixed):
        budget.check()
        present[atoms] = False
        gone.append(factors[links])
        for own in _by_sizes(graph.sizes[atoms], graph.sizes[neighbours]):
            tables = _tables(graph, factors[links[own]], atoms[own], neighbours[own])
            sent.append(_send(graph, unary, atoms[own], neighbours[own], tables, algebra))
    left = np.setdiff1d(core.factors, np.concatenate(gone), assume_unique=True)
    return replace(core, factors=left, unary=unary, present=present), Leaves(tuple(sent))


def _rounds(ends: Array, fixed: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Atoms with one link left, those at its other end, and the links, again and again. Of two that have but
    each other, the second goes."""
    degree = np.bincount(ends.ravel(), minlength=len(fixed))
    last = np.zeros(len(fixed), dtype=np.int64)  # all links that an atom has, in one number
    for side in ends.T:
        np.bitwise_xor.at(last, side, np.arange(len(ends)))
    ready = np.flatnonzero((degree == 1) & ~fixed)
    while len(ready):
        links = last[ready]
        others = ends[links].sum(axis=1) - ready
        goes = (degree[others] > 1) | fixed[others] | (others < ready)
        ready, others, links = ready[goes], others[goes], links[goes]
        yield ready, others, links
        degree[ready] = 0
        np.subtract.at(degree, others, 1)
        np.bitwise_xor.at(last, others, links)
        ready = np.unique(others)
        ready = ready[(degree[ready] == 1) & ~fixed[ready]]


def _by_sizes(sizes: Array, others: Array) -> Iterator[Array]:
    """The places of pairs whose tables have one shape."""
    shapes = sizes * (others.max() + 1) + others
    for shape in np.unique(shapes):
        yield np.flatnonzero(shapes == shape)


def _tables(graph: FactorGraph, factors: Array, atoms: Array, neighbours: Array) -> Array:
    """[atom, its value, the neighbour's value]."""
    mine, around = int(graph.sizes[atoms[0]]), int(graph.sizes[neighbours[0]])
    is_first = graph.edge_axes[graph.factor_edges[factors]] == atoms
    steps = np.where(is_first, around, 1), np.where(is_first, 1, mine)  # from one value of each to the next
    own, other = (step[:, None] * np.arange(n) for step, n in zip(steps, (mine, around), strict=True))
    places = graph.table_starts[factors][:, None, None] + own[:, :, None] + other[:, None, :]
    return graph.tables[places]


def _send(
    graph: FactorGraph, unary: Array, atoms: Array, neighbours: Array, tables: Array, algebra: str
) -> Messages:
    """Add to each neighbour's weights what its atoms sum up to."""
    size, around = tables.shape[1:]
    joint = unary[graph.starts[atoms][:, None] + np.arange(size)][:, :, None] + tables
    most = joint.max(axis=1)
    if algebra == "log":
        chances = np.exp(joint - np.where(most == -math.inf, 0.0, most)[:, None, :])
        totals = chances.sum(axis=1)
        with np.errstate(divide="ignore"):
            most = most + np.log(totals)
        chances /= np.where(totals > 0, totals, 1.0)[:, None, :]
    else:
        chances = (np.arange(size)[None, :, None] == joint.argmax(axis=1)[:, None, :]).astype(float)
    np.add.at(unary, graph.starts[neighbours][:, None] + np.arange(around), most)
    return Messages(atoms, neighbours, chances)
