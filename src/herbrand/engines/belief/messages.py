"""Messages on a factor graph: one step, the beliefs they make, and what they say of the whole.

Takes a :class:`FactorGraph`; messages are one flat array of log-values, all 0 to begin with.

>>> from herbrand.factors.graph import Assembly, Tables
>>> graph = Assembly([2, 2])
>>> graph.add_unary(np.array([0]), np.array([0.0, np.log(3)]))
>>> graph.add_tables(Tables(np.array([[0, 1]]), np.array([0]), np.array([[[0.0, 0.0], [0.0, np.log(2)]]])))
>>> graph = graph.build()
>>> messages, _ = flood(graph, no_messages(graph), 0.0)
>>> log_beliefs(graph, messages).probabilities(graph)[:, 1].round(4)
array([0.8182, 0.6364])
>>> round(float(np.exp(bethe(graph, messages))), 9)  # (0, 0), (0, 1), (1, 0), (1, 1): 1 + 1 + 3 + 6
11.0
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from herbrand.engines.belief import kernels
from herbrand.factors.graph import Array, FactorGraph
from herbrand.loops import chosen


@dataclass(frozen=True, eq=False)
class LogBeliefs:
    """Unnormalised log-beliefs [value of some axis], minus infinity where a value is impossible."""

    values: Array

    def probabilities(self, graph: FactorGraph) -> Array:
        """[axis, value], values that an axis does not have 0; a row of nan where no value is possible."""
        widest = int(graph.sizes.max(initial=2))
        table = np.full((graph.axis_count, widest), -np.inf)
        rows = np.repeat(np.arange(graph.axis_count), graph.sizes)
        columns = np.arange(len(self.values)) - graph.starts[rows]
        table[rows, columns] = self.values
        with np.errstate(invalid="ignore"):
            shares = np.exp(table - table.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)


def no_messages(graph: FactorGraph) -> Array:
    """Where the iteration begins: every factor says nothing."""
    return np.zeros(graph.message_count)


def flood(graph: FactorGraph, messages: Array, damping: float, before: int = 0) -> tuple[Array, float]:
    """Every message anew from the ones before, and the largest change that damping did not yet take off.

    The change is nan where some message leaves its axis no value. ``before``: how many rounds were taken; the
    loops of a run that lasts are compiled.
    """
    rounds = chosen(kernels.rounds, graph.operations * (before + 1))
    return rounds(graph, messages, np.arange(graph.factor_count), damping, True)


def sweep(
    graph: FactorGraph, messages: Array, order: Array, damping: float, before: int = 0
) -> tuple[Array, float]:
    """One factor after another in this order, each receiving what those before it sent; as :func:`flood`."""
    rounds = chosen(kernels.rounds, graph.operations * (before + 1))
    return rounds(graph, messages, order, damping, False)


def bethe(graph: FactorGraph, messages: Array) -> float:
    """The Bethe log-partition: axes plus factors minus edges, each as often as it stands in the ground.

    Minus infinity where some axis has no value left.
    """
    return float(chosen(kernels.bethe, graph.operations)(graph, messages))


def log_beliefs(graph: FactorGraph, messages: Array) -> LogBeliefs:
    """What each axis makes of the messages to it."""
    total, impossible = np.empty(len(graph.unary)), np.empty(len(graph.unary))
    chosen(kernels.totals, graph.operations)(graph, messages, total, impossible)
    return LogBeliefs(np.where(impossible > 0.5, -np.inf, total))
