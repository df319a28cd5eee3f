"""How often learned statements hold in worlds that are drawn, while the weights move.

Chains of Gibbs sampling go on from world to world and are never begun anew: weights move little from one look
to the next, so that the chains follow.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.gibbs.chains import begun
from herbrand.engines.gibbs.kernels import met_entries, operations, sweeps
from herbrand.factors.graph import Array
from herbrand.learning.both_sides import refuse_cancellation
from herbrand.learning.parameters import Parameters
from herbrand.learning.weighted_graph import WeightedGraph
from herbrand.loops import chosen
from herbrand.program.program import Program

PARALLEL = 1e5
"""Operations of a sweep from which on chains have threads of their own."""
SWEEPS_EXPECTED = 1000
MOST_COUNTED = 2.0**53
"""Groundings: floats count no further one by one."""


class SampledSide:
    """A program's worlds, drawn by several chains."""

    def __init__(
        self, program: Program, parameters: Parameters, chains: int, budget: Budget, seed: list[int]
    ) -> None:
        """Raises where groundings do not fit or are too many to be counted, or hard statements leave no way
        from world to world."""
        refuse_cancellation(program, MOST_COUNTED)
        graph = WeightedGraph.of(program, parameters, budget)
        self._chains = None
        self._dice = [np.random.default_rng([*seed, chain]) for chain in range(chains)]
        if graph.compiled.atom_count:
            found, self._chains = begun(graph.compiled, chains, lambda chain: self._dice[chain], budget)
            graph = WeightedGraph(found, graph.groundings)
        self._graph, self._count = graph, chains

    def drawn(self, weights: Array, count: int) -> Array:
        """Counts of true groundings [chain, sweep, weight] after each of so many sweeps at these weights."""
        graph, chains = self._graph, self._chains
        found = np.tile(graph.certain, (self._count, count, 1))
        if chains is None:
            return found
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
                found[chain, sweep] += slopes @ entries

        with ThreadPoolExecutor(os.cpu_count() if cost > PARALLEL else 1) as threads:
            list(threads.map(draw, range(self._count)))
        return found
