"""Counts of learned statements in sampled worlds, while the weights change.

Chains of Gibbs sampling continue from world to world and are never restarted: weights change little between
two calls, so the chains follow.

Every entry of a factor graph's tables, and of its axes' own weights, is linear in the weights: so a graph is
built once, and other weights only change its numbers. The number of times that a world selects each entry
gives the count of each learned statement.

>>> import herbrand as hb
>>> theory = hb.parse('type t = {"a", "b"}\\npredicate s(t)\\n?: s(x) => s(y)\\n0.5: s(x)')
>>> program = hb.Model(theory).program
>>> found = WeightedGraph.of(program, Parameters.of(program), Budget())
>>> graph = found.at(np.array([1.5]))
>>> graph.unary.tolist(), graph.tables.tolist()
([-0.5, 0.0, -0.5, 0.0], [0.0, -1.5, -1.5, 0.0])
>>> found.groundings.certain.tolist()  # of four groundings, less those that fail
[4.0]
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from herbrand.budget import Budget
from herbrand.engines.gibbs.chains import begun
from herbrand.engines.gibbs.kernels import met_entries, operations, sweeps
from herbrand.factors.compiled import Compiled
from herbrand.factors.graph import Array, FactorGraph, own_tables
from herbrand.factors.ground_graph import ground_graph
from herbrand.learning.both_sides import refuse_cancellation
from herbrand.learning.groundings import Groundings
from herbrand.learning.parameters import Parameters
from herbrand.loops import chosen
from herbrand.program.ground import ground
from herbrand.program.program import Program

# The ground factor graph of a program as a function of the weights


@dataclass(frozen=True, eq=False)
class WeightedGraph:
    """A factor graph with its dependence on weights: ``compiled`` at weights of 0, with a separate table for
    each factor.

    Entries are the axes' own weights, followed by those of all tables.
    """

    compiled: Compiled
    groundings: Groundings

    @classmethod
    def of(cls, program: Program, parameters: Parameters, budget: Budget) -> WeightedGraph:
        """Build the graph; raise BudgetError if the groundings do not fit."""
        grounded = ground(program, budget)
        groundings = Groundings(grounded, parameters)
        built = ground_graph(grounded, budget, log_weights=groundings.without_learned())
        graph = own_tables(built.graph, budget)
        groundings.gather(built, graph.table_starts + len(graph.unary), graph.starts)
        same = np.arange(graph.axis_count), np.arange(graph.edge_count)
        return cls(Compiled(program, grounded.evidence, built, graph, *same), groundings)

    @cached_property
    def slopes(self) -> csr_array:
        """Derivative of each entry by each weight [entry, weight]; available when all weights are known."""
        return csr_array(self.groundings.entries(len(self._entries)) @ self.groundings.columns)

    def at(self, weights: Array) -> FactorGraph:
        """The graph at these weights, without the constant that is equal for all worlds."""
        graph, entries = self.compiled.graph, self._entries + self.slopes @ weights
        return graph._replace(unary=entries[: len(graph.unary)], tables=entries[len(graph.unary) :])

    @property
    def _entries(self) -> Array:
        return np.concatenate([self.compiled.graph.unary, self.compiled.graph.tables])


# Chains


PARALLEL = 1e5
"""Operations of a sweep above which chains run in separate threads."""
SWEEPS_EXPECTED = 1000
MOST_COUNTED = 2.0**53
"""Most groundings: beyond this floats cannot count in steps of one."""


class SampledSide:
    """Worlds of a program, sampled by several chains."""

    def __init__(
        self, program: Program, parameters: Parameters, chains: int, budget: Budget, seed: list[int]
    ) -> None:
        """Begin the chains; raise an error if groundings do not fit or are too many to be counted, or if hard
        statements prevent moves between worlds."""
        refuse_cancellation(program, MOST_COUNTED)
        graph = WeightedGraph.of(program, parameters, budget)
        self._chains = None
        self._dice = [np.random.default_rng([*seed, chain]) for chain in range(chains)]
        if graph.compiled.atom_count:
            compiled, self._chains = begun(graph.compiled, chains, lambda chain: self._dice[chain], budget)
            graph = WeightedGraph(compiled, graph.groundings)
        self._graph, self._count = graph, chains

    def drawn(self, weights: Array, count: int) -> Array:
        """Sample: counts of true groundings [chain, sweep, weight] after each of ``count`` sweeps at these
        weights."""
        graph, chains = self._graph, self._chains
        counts = np.tile(graph.groundings.certain, (self._count, count, 1))
        if chains is None:
            return counts
        network = chains.network._replace(graph=graph.at(weights))
        cost, blocks = operations(network), len(network.state_counts)
        expected = cost * self._count * SWEEPS_EXPECTED
        swept, met = chosen(sweeps, expected), chosen(met_entries, expected)
        slopes = graph.slopes.T

        def draw(chain: int) -> None:
            values, holding = chains.values[chain], chains.holding[chain]
            seen = np.zeros(len(network.graph.unary), np.int64)
            for sweep in range(count):
                swept(network, values, holding, self._dice[chain].random((1, blocks)), seen)
                entries = np.zeros(len(seen) + len(network.graph.tables))
                met(network.graph, values, entries)
                counts[chain, sweep] += slopes @ entries

        with ThreadPoolExecutor(os.cpu_count() if cost > PARALLEL else 1) as threads:
            list(threads.map(draw, range(self._count)))
        return counts
