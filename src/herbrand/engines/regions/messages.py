"""Messages between regions, each computed once for all its copies, and what regions believe.

A region's belief is its potential times every message that enters it or a descendant from outside; a message
to one of n alike elements enters as many times as elements have each profile, so exponents are counts. A
message is corrected by the ratio of what the parent believes of the child and what the child believes, which
divides out everything that both hold: factors, descendants' messages, and the number of ways C(n, k), which
would be counted twice if it stayed inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.engines.regions.counts import CountGraph
from herbrand.engines.regions.graph import Region, RegionGraph, Scope

Messages = tuple[np.ndarray, ...]
"""Of each edge, over the child's table, in log space; the largest entry is 0."""


@dataclass(frozen=True, eq=False)
class Propagation:
    """Region graph and tables: everything that does not change from round to round."""

    counts: CountGraph
    graph: RegionGraph

    @cached_property
    def potentials(self) -> tuple[np.ndarray, ...]:
        """The log-potential of each region."""
        return tuple(self._potential(i, region) for i, region in enumerate(self.graph.regions))

    @property
    def possible(self) -> bool:
        """Whether every region by itself has something possible."""
        return self.counts.constant > -np.inf and all((table > -np.inf).any() for table in self.potentials)

    @cached_property
    def no_messages(self) -> Messages:
        return tuple(np.zeros(self.shape(self.graph.regions[child])) for _, child in self.graph.edges)

    def shape(self, region: Region) -> tuple[int, ...]:
        """Of a region's table."""
        if region.single:
            return (self.counts.variables[region.scope[0]].counts.shape[1],)
        return tuple(len(self.counts.variables[v]) for v in region.scope)

    def copies(self, region: Region) -> int:
        """How many ground regions it stands for."""
        return self.counts.variables[region.scope[0]].elements if region.single else 1

    def belief(self, number: int, messages: Messages) -> np.ndarray:
        """Log-probabilities over a region's table; ``nan`` where nothing is possible."""
        return normalised(self.weighed(number, messages))

    def weighed(self, number: int, messages: Sequence[np.ndarray]) -> np.ndarray:
        """A region's potential with all messages, not yet normalised."""
        region = self.graph.regions[number]
        total = self.potentials[number].copy()
        for edge in self.graph.entering[number]:
            total += self.inside(messages[edge], self.graph.regions[self.graph.edges[edge][1]], region)
        return total

    def round(self, messages: Messages, damping: float) -> tuple[Messages, float]:
        """All messages anew at once, and by how much parents and children disagreed in a probability."""
        beliefs = [self.belief(number, messages) for number in range(len(self.graph.regions))]
        moved, fresh = 0.0, []
        for (parent, child), message in zip(self.graph.edges, messages, strict=True):
            told = self.shared(beliefs[parent], parent, self.graph.regions[child])
            new, gap = corrected(message, told, beliefs[child], damping)
            fresh.append(new)
            moved = float(np.maximum(moved, gap))
        return tuple(fresh), moved

    def sweep(self, messages: Messages, damping: float) -> tuple[Messages, float]:
        """The messages to one region after another, each from the latest beliefs."""
        current, moved = list(messages), 0.0
        for child, edges in self.graph.into.items():
            here = normalised(self.weighed(child, current))
            told = []
            for edge in edges:
                parent = self.graph.edges[edge][0]
                belief = self.weighed(parent, current)
                told.append(normalised(self.shared(belief, parent, self.graph.regions[child])))
            for edge, of_parent in zip(edges, told, strict=True):
                current[edge], gap = corrected(current[edge], of_parent, here, damping)
                moved = float(np.maximum(moved, gap))
        return tuple(current), moved

    def shared(self, belief: np.ndarray, number: int, child: Region) -> np.ndarray:
        """What a region believes of a smaller one, log-weights as its own are."""
        scope = self.graph.regions[number].scope
        axes = tuple(place for place, variable in enumerate(scope) if variable not in child.scope)
        rows = summed(belief, axes)
        return self._of_one(rows, child.scope[0]) if child.single else rows

    def free_energy(self, messages: Messages) -> float:
        """The log-partition as regions see it: an approximation, exact without cycles; no bound."""
        total = self.counts.constant
        for number, region in enumerate(self.graph.regions):
            belief, potential = self.belief(number, messages), self.potentials[number]
            here = belief > -np.inf
            inside = np.exp(belief[here]) @ (potential[here] - belief[here])
            total += self.graph.counting[number] * self.copies(region) * float(inside)
        return total

    def _potential(self, number: int, region: Region) -> np.ndarray:
        if region.single:
            weights = self.counts.variables[region.scope[0]].weights
            assert weights is not None
            return weights
        total = np.zeros(self.shape(region))
        for variable in region.scope:
            total += along(self.counts.variables[variable].prior, (variable,), region.scope)
        for (scope, table), owners in zip(self.counts.factors.items(), self.graph.owners, strict=True):
            if number in owners:
                total += along(table, scope, region.scope)
        return total

    def inside(self, message: np.ndarray, child: Region, region: Region) -> np.ndarray:
        """A message to a child, over a region that it is inside of (or is)."""
        if child.single and not region.single:
            message = times(self.counts.variables[child.scope[0]].counts, message)
        return message if region.single else along(message, child.scope, region.scope)

    def _of_one(self, rows: np.ndarray, variable: int) -> np.ndarray:
        """What a belief over counts says of one element."""
        found = self.counts.variables[variable]
        with np.errstate(divide="ignore"):
            shares = np.log(found.counts / found.elements)
        return summed(rows[:, None] + shares, (0,))


def corrected(
    message: np.ndarray, told: np.ndarray, here: np.ndarray, damping: float
) -> tuple[np.ndarray, float]:
    """The message under which parent and child would agree, and how far they did not."""
    possible = (told > -np.inf) & (here > -np.inf)
    new = np.full(message.shape, -np.inf)
    new[possible] = message[possible] + (1 - damping) * (told[possible] - here[possible])
    gap = float(np.abs(np.exp(told) - np.exp(here)).max())
    return new - new.max(initial=-np.inf) if possible.any() else new, gap


def along(table: np.ndarray, scope: Scope, whole: Scope) -> np.ndarray:
    """A table seen over more variables, to be broadcast."""
    sizes = dict(zip(scope, table.shape, strict=True))
    return table.reshape([sizes.get(variable, 1) for variable in whole])


def summed(table: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """Log-sums over axes; each sum is scaled by its own largest entry, so that rare counts keep digits."""
    if not axes:
        return table
    largest = table.max(axis=tuple(axes), keepdims=True)
    safe = np.where(np.isneginf(largest), 0.0, largest)
    with np.errstate(divide="ignore"):
        return np.squeeze(
            np.log(np.exp(table - safe).sum(axis=tuple(axes), keepdims=True)) + safe, tuple(axes)
        )


def normalised(table: np.ndarray) -> np.ndarray:
    """Log-probabilities; ``nan`` where nothing is possible."""
    with np.errstate(invalid="ignore"):
        return table - summed(table, range(table.ndim))


def times(counts: np.ndarray, message: np.ndarray) -> np.ndarray:
    """A message to one element, as often as elements have each profile [row]; 0 times minus infinity is 0."""
    impossible = np.isneginf(message)
    total = counts @ np.where(impossible, 0.0, message)
    return np.where((counts[:, impossible] > 0).any(axis=1), -np.inf, total)
