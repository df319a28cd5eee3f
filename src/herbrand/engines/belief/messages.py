"""Messages on a factor graph: one round, their beliefs, and the Bethe log-partition.

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
    """Unnormalised log-beliefs [value of some axis], minus infinity for impossible values."""

    values: Array

    def probabilities(self, graph: FactorGraph) -> Array:
        """Probabilities [axis, value]; 0 for values beyond an axis's own, nan if no value is possible."""
        table = graph.by_axis(self.values, -np.inf)
        with np.errstate(invalid="ignore"):
            shares = np.exp(table - table.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)


def no_messages(graph: FactorGraph) -> Array:
    """Uniform first messages."""
    return np.zeros(graph.message_count)


def flood(graph: FactorGraph, messages: Array, damping: float, before: int = 0) -> tuple[Array, float]:
    """Update all messages from the old ones; also return the largest change before damping.

    The change is nan if some message leaves its axis no value. ``before``: number of rounds already taken;
    the loops of a long run are compiled.
    """
    rounds = chosen(kernels.rounds, graph.operations * (before + 1))
    return rounds(graph, messages, np.arange(graph.factor_count), damping, True)


def sweep(
    graph: FactorGraph, messages: Array, order: Array, damping: float, before: int = 0
) -> tuple[Array, float]:
    """Update one factor after another in this order, each from the latest messages;
    returns as :func:`flood`."""
    rounds = chosen(kernels.rounds, graph.operations * (before + 1))
    return rounds(graph, messages, order, damping, False)


def bethe(graph: FactorGraph, messages: Array) -> float:
    """Bethe log-partition: axes plus factors minus edges, each times its number of ground copies.

    Minus infinity if some axis has no value left.
    """
    return float(chosen(kernels.bethe, graph.operations)(graph, messages))


def log_beliefs(graph: FactorGraph, messages: Array) -> LogBeliefs:
    """Sum the incoming log-messages of each axis and its own weights."""
    total, impossible = np.empty(len(graph.unary)), np.empty(len(graph.unary))
    chosen(kernels.totals, graph.operations)(graph, messages, total, impossible)
    return LogBeliefs(np.where(impossible > 0.5, -np.inf, total))
