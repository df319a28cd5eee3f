"""Explanation of an atom's belief by the messages of the factors around it, which add up to its log-odds.

For an atom that is true or false the sum is exact. Of a many-valued atom the log-odds of one value against
the others are not a sum of messages; each message counts by its slope, and the rest is the remainder.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from herbrand.answers.explanation import Explanation, Reason
from herbrand.answers.guarantee import Guarantee
from herbrand.engines.belief.messages import log_beliefs
from herbrand.engines.belief.origins import Origins, Stated, reason_of, soft_evidence_on
from herbrand.engines.reading import ExplainedAtom, forced
from herbrand.factors.compiled import Compiled
from herbrand.factors.graph import Array
from herbrand.program.question import Question


def explained(
    compiled: Compiled, question: Question, messages: Array, guarantee: Guarantee, engine: str
) -> Explanation:
    """Explain the log-odds of the queried atom."""
    queried = ExplainedAtom.of(question, compiled.evidence)
    axis = int(compiled.axes_of(queried.predicate, queried.codes)[0])
    around = _Around(compiled, queried, axis, messages)
    value = around.value
    if not math.isfinite(value):
        return queried.explained(value, engine, guarantee, around.forcing())
    reasons = (reason for reason in around.reasons() if reason.contribution)
    return queried.explained(value, engine, guarantee, reasons, around.base)


class _Around:
    """One atom's axis with its own weights and the messages to it."""

    def __init__(self, compiled: Compiled, queried: ExplainedAtom, axis: int, messages: Array) -> None:
        self.compiled, self.queried, self.axis, self.messages = compiled, queried, axis, messages
        self.origins = Origins(compiled, queried)
        run = compiled.graph
        start = int(run.starts[compiled.axis_class[axis]])
        size = int(run.sizes[compiled.axis_class[axis]])
        self.belief = log_beliefs(run, messages).values[start : start + size]
        self.others = np.arange(size) != queried.value

    @property
    def value(self) -> float:
        rest = self.belief[self.others]
        return float(self.belief[self.queried.value] - np.logaddexp.reduce(rest)) if len(rest) else math.inf

    @property
    def base(self) -> float:
        """Log-odds of one value against all others under the uniform distribution."""
        return -math.log(max(1, int(self.others.sum())))

    def reasons(self) -> Iterator[Reason]:
        contributions: dict[tuple[Stated, ...], float] = defaultdict(float)
        for stated, log_values, times in (*self._own(), *self._incoming()):
            contributions[stated] += times * self._share(log_values)
        for stated, contribution in contributions.items():
            yield reason_of(stated, contribution)
        opinion = self._opinion()
        if opinion.any():
            yield reason_of((soft_evidence_on(self.queried.atom),), self._share(opinion))

    def forcing(self) -> tuple[Reason, ...]:
        """Reasons for each statement that excludes some of the values that the answer excludes; for a certain
        value, any other value."""
        barred = self.others if self.value > 0 else ~self.others
        parts = (*self._own(), *self._incoming())
        forcing = dict.fromkeys(
            stated for stated, log_values, _ in parts if np.isneginf(log_values[barred]).any()
        )
        return tuple(reason_of(stated, self.value) for stated in forcing) or (forced(self.value),)

    def _share(self, log_values: Array) -> float:
        """Contribution of a message to finite log-odds."""
        mine, rest = log_values[self.queried.value], log_values[self.others]
        belief = self.belief[self.others]
        there = ~np.isneginf(belief)
        weights = np.exp(belief[there] - np.logaddexp.reduce(belief[there]))
        return float(mine - (weights * rest[there]).sum())

    def _own(self) -> Iterator[tuple[tuple[Stated, ...], Array, float]]:
        """Yield the statements about this atom alone with their tables."""
        for origin in self.origins.on_axes([self.axis])[self.axis]:
            stated, table = origin
            if table is not None:
                yield (stated,), table, 1.0

    def _opinion(self) -> Array:
        """Log-weights from facts: the axis's own weights less those of statements."""
        graph = self.compiled.built.graph
        start = int(graph.starts[self.axis])
        opinion = graph.unary[start : start + int(graph.sizes[self.axis])].copy()
        for _, table, _ in self._own():
            finite = ~np.isneginf(table)
            opinion[finite] -= table[finite]
            opinion[~finite & np.isneginf(opinion)] = 0.0
        return np.where(np.abs(opinion) < 1e-12, 0.0, opinion)

    def _incoming(self) -> Iterator[tuple[tuple[Stated, ...], Array, float]]:
        """Yield the messages of the factors around the atom."""
        built, run = self.compiled.built.graph, self.compiled.graph
        edges = np.flatnonzero((built.edge_axes == self.axis) & (built.exponents > 0))
        factors = built.owners[edges]
        stated = self.origins.of_factors(factors.tolist())
        for edge, factor in zip(edges.tolist(), factors.tolist(), strict=True):
            start = int(run.message_starts[self.compiled.edge_class[edge]])
            message = self.messages[start : start + int(built.sizes[self.axis])]
            yield stated[factor], message, float(built.exponents[edge])
