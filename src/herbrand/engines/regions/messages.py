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
from herbrand.engines.regions.tables import along, normalised, summed, times
from herbrand.engines.regions.wide import WideCluster

Messages = tuple[np.ndarray, ...]
"""Of each edge, over the child's table, in log space; the largest entry is 0."""


@dataclass(frozen=True, eq=False)
class Propagation:
    """Region graph and tables: everything that does not change from round to round."""

    counts: CountGraph
    graph: RegionGraph

    @cached_property
    def wide(self) -> dict[int, WideCluster]:
        """The clusters whose tables are not made."""
        found = {}
        for number, region in enumerate(self.graph.regions):
            inside = [
                s for s, owners in zip(self.counts.scopes, self.graph.owners, strict=True) if number in owners
            ]
            if any(scope in self.counts.wide for scope in inside):
                found[number] = WideCluster.of(self.counts, region.scope, inside)
        return found

    @cached_property
    def potentials(self) -> tuple[np.ndarray | None, ...]:
        """The log-potential of each region that has a table."""
        return tuple(
            None if i in self.wide else self._potential(i, region)
            for i, region in enumerate(self.graph.regions)
        )

    @property
    def possible(self) -> bool:
        """Whether every region by itself has something possible."""
        tables = (*(t for t in self.potentials if t is not None), *(v.prior for v in self.counts.variables))
        return self.counts.constant > -np.inf and all((table > -np.inf).any() for table in tables)

    @cached_property
    def no_messages(self) -> Messages:
        return tuple(np.zeros(self.shape(self.graph.regions[child])) for _, child in self.graph.edges)

    def entries(self, number: int) -> float:
        """Of a region's largest table."""
        region = self.graph.regions[number]
        if number in self.wide:
            return self.wide[number].entries
        return 1.0 if region.single else self.counts.entries(region.scope)

    def shape(self, region: Region) -> tuple[int, ...]:
        """Of a region's table."""
        if region.single:
            return (self.counts.variables[region.scope[0]].counts.shape[1],)
        return tuple(len(self.counts.variables[v]) for v in region.scope)

    def copies(self, region: Region) -> int:
        """How many ground regions it stands for."""
        return self.counts.variables[region.scope[0]].elements if region.single else 1

    def belief(self, number: int, messages: Sequence[np.ndarray]) -> np.ndarray:
        """Log-probabilities over a region's table; ``nan`` where nothing is possible."""
        return normalised(self.weighed(number, messages))

    def weighed(self, number: int, messages: Sequence[np.ndarray]) -> np.ndarray:
        """A region's potential with all messages, not yet normalised."""
        region, total = self.graph.regions[number], self.potentials[number]
        assert total is not None, "a wide cluster has no table"
        total = total.copy()
        for edge in self.graph.entering[number]:
            total += self.inside(messages[edge], self.graph.regions[self.graph.edges[edge][1]], region)
        return total

    def marginal(self, number: int, scope: Scope, messages: Sequence[np.ndarray]) -> np.ndarray:
        """Log-weights of some of a region's variables, with all messages, not yet normalised."""
        if number in self.wide:
            return self.wide[number].weighed(self._said_of_each(number, messages), scope)
        own = self.graph.regions[number].scope
        away = [place for place, variable in enumerate(own) if variable not in scope]
        return summed(self.weighed(number, messages), away)

    def told(self, parent: int, child: Region, messages: Sequence[np.ndarray]) -> np.ndarray:
        """What a region believes of a smaller one, as log-probabilities."""
        rows = self.marginal(parent, child.scope, messages)
        return normalised(self._of_one(rows, child.scope[0]) if child.single else rows)

    def round(self, messages: Messages, damping: float) -> tuple[Messages, float]:
        """All messages anew at once, and by how much parents and children disagreed in a probability."""
        moved, fresh = 0.0, []
        for (parent, child), message in zip(self.graph.edges, messages, strict=True):
            told = self.told(parent, self.graph.regions[child], messages)
            new, gap = corrected(message, told, self.belief(child, messages), damping)
            fresh.append(new)
            moved = float(np.maximum(moved, gap))
        return tuple(fresh), moved

    def sweep(self, messages: Messages, damping: float) -> tuple[Messages, float]:
        """The messages to one region after another, each from the latest beliefs."""
        current, moved = list(messages), 0.0
        for child, edges in self.graph.into.items():
            here, region = self.belief(child, current), self.graph.regions[child]
            told = [self.told(self.graph.edges[edge][0], region, current) for edge in edges]
            for edge, of_parent in zip(edges, told, strict=True):
                current[edge], gap = corrected(current[edge], of_parent, here, damping)
                moved = float(np.maximum(moved, gap))
        return tuple(current), moved

    def free_energy(self, messages: Messages) -> float:
        """The log-partition as regions see it: an approximation, exact without cycles; no bound."""
        total = self.counts.constant
        for number, region in enumerate(self.graph.regions):
            inside = self._inside_energy(number, messages)
            total += self.graph.counting[number] * self.copies(region) * inside
        return total

    def _inside_energy(self, number: int, messages: Messages) -> float:
        """What is expected of a region's log-potential less its log-belief. That is its log-sum with all
        messages less what is expected of these; so wide clusters need no table."""
        potential = self.potentials[number]
        if potential is not None:
            belief = self.belief(number, messages)
            here = belief > -np.inf
            return float(np.exp(belief[here]) @ (potential[here] - belief[here]))
        first = self.marginal(number, self.graph.regions[number].scope[:1], messages)
        total = float(summed(first, (0,)))
        for edge in self.graph.entering[number]:
            child = self.graph.regions[self.graph.edges[edge][1]]
            told, message = np.exp(self.told(number, child, messages)), messages[edge]
            total -= self.copies(child) * float(told[told > 0] @ message[told > 0])
        return total

    def _said_of_each(self, number: int, messages: Sequence[np.ndarray]) -> dict[int, np.ndarray]:
        """For each variable of a wide cluster its prior, all messages about it, and factors of it alone."""
        region = self.graph.regions[number]
        found = {v: self.counts.variables[v].prior for v in region.scope}
        for scope, owners in zip(self.counts.scopes, self.graph.owners, strict=True):
            if len(scope) == 1 and number in owners:
                found[scope[0]] = found[scope[0]] + self.counts.factors[scope]
        for edge in self.graph.entering[number]:
            child = self.graph.regions[self.graph.edges[edge][1]]
            (variable,) = child.scope
            alone = Region(child.scope)
            found[variable] = found[variable] + self.inside(messages[edge], child, alone)
        return found

    def _potential(self, number: int, region: Region) -> np.ndarray:
        if region.single:
            weights = self.counts.variables[region.scope[0]].weights
            assert weights is not None
            return weights
        total = np.zeros(self.shape(region))
        for variable in region.scope:
            total += along(self.counts.variables[variable].prior, (variable,), region.scope)
        for scope, owners in zip(self.counts.scopes, self.graph.owners, strict=True):
            if number in owners:
                total += along(self.counts.factors[scope], scope, region.scope)
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
