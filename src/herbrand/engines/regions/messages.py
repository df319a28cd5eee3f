"""Messages between regions, each computed once for all its copies, and the beliefs of regions.

A region's belief is its potential times every message that enters it or a descendant from outside; a message
about a few of its elements enters once for each choice of them that has each profile, so exponents are
numbers of choices. A message is corrected by the ratio of what the parent believes of the child and what the
child believes, which divides out everything that both hold: factors, descendants' messages, and the number of
ways C(n, k), which would be counted twice if it stayed inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.engines.regions.counts import CountGraph
from herbrand.engines.regions.graph import Region, RegionGraph, Scope
from herbrand.engines.regions.tables import along, drawn, normalised, spread, summed
from herbrand.engines.regions.wide import WideCluster

Ways = Sequence[np.ndarray | None]
"""Along each axis of a table the matrix that carries it to more elements, or None; empty if all are None."""

DIGITS = 1e-4
"""Logarithms beyond the inverse of this are compared relative to their size: sums of such
numbers are rounded."""

Messages = tuple[np.ndarray, ...]
"""Log-message of each edge over the child's table; the largest entry is 0."""


@dataclass(frozen=True, eq=False)
class Propagation:
    """Region graph and tables: everything that stays fixed from round to round."""

    counts: CountGraph
    graph: RegionGraph

    @cached_property
    def wide(self) -> dict[int, WideCluster]:
        """Clusters whose tables are not made."""
        clusters = {}
        for number, region in enumerate(self.graph.regions):
            inside = [part.scope for part, _ in self.owned(number)]
            if self.counts.wide and any(scope in self.counts.wide for scope in inside):
                clusters[number] = WideCluster.of(self.counts, region.scope, inside)
        return clusters

    def owned(self, number: int) -> Iterator[tuple[Region, float]]:
        """The factors of a region, and the share of each that it has."""
        for part, (owners, share) in zip(self.counts.parts, self.graph.owners, strict=True):
            if number in owners:
                yield part, share

    @cached_property
    def potentials(self) -> tuple[np.ndarray | None, ...]:
        """Log-potential of each region; None if its table is not made."""
        return tuple(
            None if i in self.wide else self._potential(i, region)
            for i, region in enumerate(self.graph.regions)
        )

    @property
    def possible(self) -> bool:
        """Whether every region and every variable by itself has a possible entry."""
        graph, counts = self.graph, self.counts
        held = {v: region.numbers[v] for region in reversed(graph.regions) for v in region.scope}
        tables = [table for table in self.potentials if table is not None]
        tables += [counts.variables[v].prior(number) for v, number in held.items()]
        return counts.constant > -np.inf and all((table > -np.inf).any() for table in tables)

    @cached_property
    def no_messages(self) -> Messages:
        return tuple(np.zeros(self.counts.shape(self.graph.regions[child])) for _, child in self.graph.edges)

    def entries(self, number: int) -> float:
        """Number of entries of a region's largest table."""
        if number in self.wide:
            return self.wide[number].entries
        return self.counts.entries(self.graph.regions[number])

    def belief(self, number: int, messages: Sequence[np.ndarray]) -> np.ndarray:
        """Log-probabilities over a region's table; ``nan`` if nothing is possible."""
        return normalised(self.weighed(number, messages))

    def weighed(self, number: int, messages: Sequence[np.ndarray]) -> np.ndarray:
        """Potential of a region with all its messages, unnormalised."""
        total = self.potentials[number]
        assert total is not None, "a wide cluster has no table"
        return total + self.incoming(number, messages)

    def incoming(self, number: int, messages: Sequence[np.ndarray]) -> np.ndarray:
        """Sum of all messages that enter a region, over its table."""
        total = np.zeros(self.counts.shape(self.graph.regions[number]))
        for (edge, exponent), (ways, shape) in zip(
            self.graph.entering[number], self._entrances[number], strict=True
        ):
            message = spread(messages[edge], ways).reshape(shape)
            total += message if exponent == 1 else exponent * message
        return total

    @cached_property
    def _entrances(self) -> tuple[tuple[tuple[Ways, tuple[int, ...]], ...], ...]:
        """For each region and message that enters it, the matrices that carry it there and its
        shape to broadcast."""
        regions = self.graph.regions
        return tuple(
            tuple(self._into(regions[self.graph.edges[edge][1]], region) for edge, _ in entering)
            for region, entering in zip(regions, self.graph.entering, strict=True)
        )

    def _into(self, small: Region, region: Region) -> tuple[Ways, tuple[int, ...]]:
        """Matrices that carry a table to a region in which its own fits, and its shape to broadcast there."""
        variables, numbers = self.counts.variables, region.numbers
        ways = [
            None if numbers[v] == few else variables[v].choices(numbers[v], few) for v, few in small.taken
        ]
        shape = tuple(variables[v].rows(number) if v in small.numbers else 1 for v, number in region.taken)
        return (ways if any(matrix is not None for matrix in ways) else ()), shape

    def marginal(self, number: int, scope: Scope, messages: Sequence[np.ndarray]) -> np.ndarray:
        """Log-weights of some of a region's variables, with all messages, unnormalised."""
        if number in self.wide:
            return self.wide[number].weighed(self._on_each(number, messages), scope)
        own = self.graph.regions[number].scope
        away = [place for place, variable in enumerate(own) if variable not in scope]
        return summed(self.weighed(number, messages), away)

    def implied(self, parent: int, child: Region, messages: Sequence[np.ndarray]) -> np.ndarray:
        """Log-probabilities of a smaller region according to a region."""
        numbers, variables = self.graph.regions[parent].numbers, self.counts.variables
        rows = self.marginal(parent, child.scope, messages)
        if any(numbers[v] != few for v, few in child.taken):
            chances = [
                None if numbers[v] == few else variables[v].chances(numbers[v], few) for v, few in child.taken
            ]
            rows = drawn(rows, chances)
        return normalised(rows)

    def round(self, messages: Messages, damping: float) -> tuple[Messages, float]:
        """Update all messages at once; also return the disagreement of parents and children
        (:func:`apart`)."""
        moved, fresh = 0.0, []
        for (parent, child), message in zip(self.graph.edges, messages, strict=True):
            implied = self.implied(parent, self.graph.regions[child], messages)
            new, gap = corrected(message, implied, self.belief(child, messages), damping)
            fresh.append(new)
            moved = float(np.maximum(moved, gap))
        return tuple(fresh), moved

    def sweep(self, messages: Messages, damping: float) -> tuple[Messages, float]:
        """Update the messages to one region after another, each from the latest beliefs."""
        current, moved = list(messages), 0.0
        for child, edges in self.graph.into.items():
            here, region = self.belief(child, current), self.graph.regions[child]
            implied = [self.implied(self.graph.edges[edge][0], region, current) for edge in edges]
            for edge, of_parent in zip(edges, implied, strict=True):
                current[edge], gap = corrected(current[edge], of_parent, here, damping)
                moved = float(np.maximum(moved, gap))
        return tuple(current), moved

    def free_energy(self, messages: Messages) -> float:
        """Region free energy: at rest an approximation of the log-partition, exact without cycles; no bound.

        The expectations of messages cancel at rest, as each is counted equally often with either sign, and
        are left out: they would multiply the rounding of beliefs by weights.
        """
        total = self.counts.constant
        for number, counted in enumerate(self.graph.counting):
            total += counted * self.graph.copies(number) * self._log_sum(number, messages)
        return total

    def _log_sum(self, number: int, messages: Messages) -> float:
        """Log-sum of a region's potential with all messages."""
        if number not in self.wide:
            return float(np.logaddexp.reduce(self.weighed(number, messages), axis=None))
        first = self.marginal(number, self.graph.regions[number].scope[:1], messages)
        return float(summed(first, (0,)))

    def _on_each(self, number: int, messages: Sequence[np.ndarray]) -> dict[int, np.ndarray]:
        """For each variable of a wide cluster its prior, all messages about it, and factors of it alone."""
        region = self.graph.regions[number]
        sums = {v: self.counts.variables[v].all_ways for v in region.scope}
        for part, share in self.owned(number):
            if len(part.scope) == 1:
                sums[part.scope[0]] = sums[part.scope[0]] + share * self.counts.factors[part]
        for edge, exponent in self.graph.entering[number]:
            child = self.graph.regions[self.graph.edges[edge][1]]
            (variable,) = child.scope
            alone = self.counts.all_of((variable,))
            sums[variable] = sums[variable] + exponent * self.inside(messages[edge], child, alone)
        return sums

    def _potential(self, number: int, region: Region) -> np.ndarray:
        total = np.zeros(self.counts.shape(region))
        for variable, taken in region.taken:
            total += along(self.counts.variables[variable].prior(taken), (variable,), region.scope)
        for part, share in self.owned(number):
            total += share * self.inside(self.counts.factors[part], part, region)
        return total

    def inside(self, table: np.ndarray, small: Region, region: Region) -> np.ndarray:
        """Sum of a table over all ground regions of a kind inside a region in which they fit."""
        ways, shape = self._into(small, region)
        return spread(table, ways).reshape(shape)


def corrected(
    message: np.ndarray, implied: np.ndarray, here: np.ndarray, damping: float
) -> tuple[np.ndarray, float]:
    """The message under which parent and child would agree, damped, and by how much they disagreed."""
    possible = (implied > -np.inf) & (here > -np.inf)
    new = np.full(message.shape, -np.inf)
    new[possible] = message[possible] + (1 - damping) * (implied[possible] - here[possible])
    return new - new.max(initial=-np.inf) if possible.any() else new, apart(implied, here)


def apart(implied: np.ndarray, here: np.ndarray) -> float:
    """Largest difference between two log-beliefs in a probability or a log-probability, relative for large
    logarithms: counts that both find improbable may become likely once other regions are heard, so that two
    regions which disagree about them only are not at rest. ``nan`` if nothing is possible."""
    possible = (implied > -np.inf) & (here > -np.inf)
    logs = np.abs(implied[possible] - here[possible]) / np.maximum(1.0, DIGITS * np.abs(implied[possible]))
    return float(np.maximum(np.abs(np.exp(implied) - np.exp(here)).max(), logs.max(initial=0.0)))
