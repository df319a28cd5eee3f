"""Atoms that share a table with one other atom only, summed out of a network before anything is planned.

A tree has nothing else, and most large networks have a rim of trees. Each such atom sends one message to its
neighbour, which may then be the next; all that can be sent at a time are one operation on arrays. What is
left, the core, goes to elimination, with the messages among its tables. On the way back each atom's marginal
is its neighbour's, times how likely each of its values is beside each of the neighbour's.

>>> network = Network([2, 2, 2], 3, {(0, 1): np.log([[3.0, 1], [1, 3]]), (1, 2): np.log([[2.0, 1], [1, 2]])})
>>> core, leaves = without_leaves(network, "log")
>>> {scope: np.exp(table).round(6).tolist() for scope, table in core.tables.items()}
{(1,): [12.0, 12.0]}
>>> shares = np.array([[0.0, 0.0], [0.5, 0.5], [0.0, 0.0]])
>>> leaves.add_shares(shares)
>>> shares.round(6).tolist()
[[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.ground_network import Network, Scope

BYTES_AN_ENTRY = 24
MOST_OF_THE_MEMORY = 0.25


@dataclass(frozen=True, eq=False)
class Messages:
    """What atoms of one size send to neighbours of one size: ``chances`` [atom, its value, the neighbour's]
    says how likely a value is beside the neighbour's, or which is the best."""

    atoms: np.ndarray
    neighbours: np.ndarray
    chances: np.ndarray


@dataclass(frozen=True, eq=False)
class Leaves:
    """Messages in the order in which they are sent."""

    sent: tuple[Messages, ...] = ()

    @property
    def operations(self) -> float:
        return float(sum(messages.chances.size for messages in self.sent))

    def add_shares(self, shares: np.ndarray) -> None:
        """Fill in the shares of the atoms that were summed out; those of the core are there."""
        for messages in reversed(self.sent):
            size, around = messages.chances.shape[1:]
            beside = shares[messages.neighbours, :around]
            shares[messages.atoms, :size] = (messages.chances @ beside[:, :, None])[:, :, 0]


def without_leaves(network: Network, algebra: str, budget: Budget = UNLIMITED) -> tuple[Network, Leaves]:
    """The network that is left, and what was summed (in the algebra ``log``) or maximised out of it.

    Helpers, and atoms in tables with them or with three axes and more, stay; all do where tables that atoms
    share would need too much memory one by one.
    """
    count = network.atom_count
    pairs = [scope for scope in network.tables if len(scope) == 2 and scope[1] < count]
    entries = sum(network.sizes[one] * network.sizes[other] for one, other in pairs)
    if not pairs or entries * BYTES_AN_ENTRY > budget.bytes * MOST_OF_THE_MEMORY:
        return network, Leaves()
    fixed, weights = np.zeros(len(network.sizes), dtype=bool), np.zeros((count, max(network.sizes[:count])))
    for scope, table in network.tables.items():
        if len(scope) > 2 or max(scope) >= count:
            fixed[list(scope)] = True
        elif len(scope) == 1:
            weights[scope[0], : len(table)] = table
    sizes = np.array(network.sizes)
    sent, out, heard = [], np.zeros(len(sizes), dtype=bool), np.zeros(len(sizes), dtype=bool)
    for atoms, neighbours, links in _rounds(np.array(pairs), fixed):
        budget.check()
        out[atoms], heard[neighbours] = True, True
        for own in _alike(sizes[atoms], sizes[neighbours]):
            tables = _tables(network, [pairs[link] for link in links[own].tolist()], atoms[own])
            sent.append(_send(weights, atoms[own], neighbours[own], tables, algebra))
    gone = set(np.flatnonzero(out).tolist())
    left = {scope: table for scope, table in network.tables.items() if gone.isdisjoint(scope)}
    left |= {(atom,): weights[atom, : sizes[atom]].copy() for atom in np.flatnonzero(heard & ~out).tolist()}
    return Network(network.sizes, count, left, network.constant, network.budget), Leaves(tuple(sent))


def _rounds(ends: np.ndarray, fixed: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
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


def _alike(sizes: np.ndarray, others: np.ndarray) -> Iterator[np.ndarray]:
    """The places of pairs whose tables have one shape."""
    shapes = sizes * (others.max() + 1) + others
    for shape in np.unique(shapes):
        yield np.flatnonzero(shapes == shape)


def _tables(network: Network, scopes: Sequence[Scope], atoms: np.ndarray) -> np.ndarray:
    """[atom, its value, the neighbour's value]."""
    return np.stack(
        [
            network.tables[scope] if scope[0] == atom else network.tables[scope].T
            for scope, atom in zip(scopes, atoms.tolist(), strict=True)
        ]
    )


def _send(
    weights: np.ndarray, atoms: np.ndarray, neighbours: np.ndarray, tables: np.ndarray, algebra: str
) -> Messages:
    """Add to each neighbour's weights what its atoms sum up to."""
    size, around = tables.shape[1:]
    joint = weights[atoms, :size][:, :, None] + tables
    most = joint.max(axis=1)
    if algebra == "log":
        chances = np.exp(joint - np.where(most == -math.inf, 0.0, most)[:, None, :])
        totals = chances.sum(axis=1)
        with np.errstate(divide="ignore"):
            most = most + np.log(totals)
        chances /= np.where(totals > 0, totals, 1.0)[:, None, :]
    else:
        chances = (np.arange(size)[None, :, None] == joint.argmax(axis=1)[:, None, :]).astype(float)
    np.add.at(weights, (neighbours[:, None], np.arange(around)), most)
    return Messages(atoms, neighbours, chances)
