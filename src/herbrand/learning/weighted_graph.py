"""The ground factor graph of a program as a function of the weights to be learned.

Every entry of its tables, and of what axes weigh by themselves, is linear in the weights: so a graph is built
once, and other weights only change its numbers. How often the entries are met by a world tells how often each
learned statement holds.

>>> import herbrand as hb
>>> theory = hb.parse('type t = {"a", "b"}\\npredicate s(t)\\n?: s(x) => s(y)\\n0.5: s(x)')
>>> program = hb.Model(theory).program
>>> found = WeightedGraph.of(program, Parameters.of(program), Budget())
>>> graph = found.at(np.array([1.5]))
>>> graph.unary.tolist(), graph.tables.tolist()
([-0.5, 0.0, -0.5, 0.0], [0.0, -1.5, -1.5, 0.0])
>>> found.certain.tolist()  # of four groundings, less those that fail
[4.0]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from herbrand.budget import Budget
from herbrand.factors.compiled import Compiled
from herbrand.factors.graph import Array, FactorGraph, own_tables
from herbrand.factors.ground_graph import ground_graph
from herbrand.learning.groundings import Groundings
from herbrand.learning.parameters import Parameters
from herbrand.program.ground import ground
from herbrand.program.program import Program


@dataclass(frozen=True, eq=False)
class WeightedGraph:
    """``compiled`` at weights of 0, each factor with a table of its own.

    Entries are the own weights of axes, then those of all tables.
    """

    compiled: Compiled
    groundings: Groundings

    @classmethod
    def of(cls, program: Program, parameters: Parameters, budget: Budget) -> WeightedGraph:
        """Raises ``BudgetError`` where the groundings do not fit."""
        grounded = ground(program, budget)
        groundings = Groundings(grounded, parameters)
        built = ground_graph(grounded, budget, worths=groundings.without_learned())
        graph = own_tables(built.graph, budget)
        groundings.gather(built, graph.table_starts + len(graph.unary), graph.starts)
        same = np.arange(graph.axis_count), np.arange(graph.edge_count)
        return cls(Compiled(program, grounded.evidence, built, graph, *same), groundings)

    @cached_property
    def slopes(self) -> csr_array:
        """What each weight adds to each entry [entry, weight]; made when all weights are known."""
        return csr_array(self.groundings.entries(len(self._entries)) @ self.groundings.columns())

    @cached_property
    def certain(self) -> Array:
        """How often statements hold whatever the world is [weight]."""
        return self.groundings.certain()

    def at(self, weights: Array) -> FactorGraph:
        """The graph at these weights, but for the constant that does not depend on the world."""
        graph, entries = self.compiled.graph, self._entries + self.slopes @ weights
        return graph._replace(unary=entries[: len(graph.unary)], tables=entries[len(graph.unary) :])

    @property
    def _entries(self) -> Array:
        return np.concatenate([self.compiled.graph.unary, self.compiled.graph.tables])
