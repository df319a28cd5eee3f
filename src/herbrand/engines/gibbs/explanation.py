"""Explanation of a sampled probability: the contribution of each factor, averaged over worlds drawn.

In every world the log-odds of an atom given all others are a sum over the factors around it. The averages of
the summands are the contributions; the log-odds of the average probability differ from the average of the
log-odds, and the difference is the remainder.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from herbrand.answers.explanation import Explanation, Reason
from herbrand.answers.guarantee import Guarantee
from herbrand.engines.belief.origins import Origins, Stated, opinion_on, reason_of
from herbrand.engines.gibbs.chains import Chains
from herbrand.engines.gibbs.kernels import Network, operations, sweeps, weights_by_state
from herbrand.engines.reading import ExplainedAtom
from herbrand.factors.compiled import Compiled
from herbrand.factors.graph import Array
from herbrand.loops import chosen

WORLDS = 200
"""Number of worlds of each chain that are averaged over."""

ROUNDING = 1e-12
"""Size below which a share is a rounding error of subtracting statements from the weights of an axis."""


def explained(
    compiled: Compiled,
    queried: ExplainedAtom,
    chains: Chains,
    probability: float,
    random: np.random.Generator,
    engine: str,
) -> Explanation:
    """Explain the log-odds of an atom whose estimated probability is given."""
    axis = int(compiled.axes_of(queried.predicate, queried.codes)[0])
    shares, conditional = _averaged(compiled, queried, chains, axis, random)
    drawn = 0 < probability < 1
    value = math.log(probability) - math.log1p(-probability) if drawn else conditional
    if not math.isfinite(value):
        note = "every world that was drawn agrees on it"
        return queried.explained(value, engine, Guarantee.APPROXIMATION, (Reason(note, {}, value),))
    reasons = (reason_of(stated, share) for stated, share in shares.items() if abs(share) > ROUNDING)
    base = -math.log(max(1, int(compiled.graph.sizes[axis]) - 1))
    note = "contributions are averages over worlds drawn"
    if not drawn:
        note += ", which all agree on it: the log-odds are those of its mean conditional probability there"
    return queried.explained(value, engine, Guarantee.APPROXIMATION, reasons, base, note)


def _averaged(
    compiled: Compiled, queried: ExplainedAtom, chains: Chains, axis: int, random: np.random.Generator
) -> tuple[dict[tuple[Stated, ...], float], float]:
    """Mean share of each factor in the conditional log-odds, and the log-odds of the
    mean conditional probability."""
    network = chains.network
    place = int(np.flatnonzero(network.block_atoms == axis)[0])
    block = int(np.searchsorted(network.block_starts, place, side="right") - 1)
    width = int(network.block_starts[block + 1] - network.block_starts[block])
    count = int(network.state_counts[block])
    start = int(network.state_starts[block])
    states = network.states[start : start + count * width].reshape(count, width)
    holds = states[:, place - int(network.block_starts[block])] == queried.value
    parts = _parts(compiled, queried, network, block, states)
    seen = np.zeros(len(network.graph.unary), np.int64)
    sums: dict[tuple[Stated, ...], float] = defaultdict(float)
    yes = no = -math.inf
    work = WORLDS * len(chains.values) * operations(network)
    swept, weighed = chosen(sweeps, work), chosen(weights_by_state, work)
    for values, holding in zip(chains.values.copy(), chains.holding.copy(), strict=True):
        for _ in range(WORLDS):
            swept(network, values, holding, random.random((1, len(network.state_counts))), seen)
            weights = weighed(network, block, values.copy(), holding.copy())
            totals = weights.sum(axis=1)
            slope = _slope(totals, holds)
            sides = np.logaddexp.reduce(totals[holds]), np.logaddexp.reduce(totals[~holds])
            yes, no = (
                float(np.logaddexp(mean, side - np.logaddexp(*sides)))
                for mean, side in zip((yes, no), sides, strict=True)
            )
            for key, share in zip(parts.statements, slope @ parts.split(weights), strict=True):
                sums[key] += float(share) / (WORLDS * len(chains.values))
    return sums, yes - no


def _slope(log_weights: Array, holds: Array) -> Array:
    """Derivative of the log-odds by each state's log-weight."""
    yes, no = _shares(np.where(holds, log_weights, -np.inf)), _shares(np.where(holds, -np.inf, log_weights))
    return yes - no


def _shares(log_weights: Array) -> Array:
    """Probability of each state; all 0 if none is possible."""
    most = log_weights.max()
    if np.isneginf(most):
        return np.zeros(len(log_weights))
    shares = np.exp(log_weights - most)
    return shares / shares.sum()


def _finite(weights: Array) -> Array:
    """Log-weights with 0 for impossible states, whose slope is 0."""
    return np.where(np.isneginf(weights), 0.0, weights)


@dataclass(frozen=True, eq=False)
class _Parts:
    """Statements behind each part of a block's log-weight. ``statements`` [part]: those of the ``tables``
    first, then of axes, then of single columns. The own weights of axes are sums: ``stated`` [state, column]
    is what statements add to the axis ``of`` [column]."""

    statements: list[tuple[Stated, ...]]
    tables: int
    stated: Array
    of: list[int]

    def split(self, weights: Array) -> Array:
        """Split :func:`weights_by_state`'s weights into finite columns: tables, the rest
        of axes, statements."""
        parts = _finite(weights)
        for column, axis in enumerate(self.of):
            parts[:, self.tables + axis] -= self.stated[:, column]
        return np.concatenate([_finite(parts), self.stated], axis=1)


def _parts(compiled: Compiled, queried: ExplainedAtom, network: Network, block: int, states: Array) -> _Parts:
    """Statements of the tables near a block, of the rest of its axes' weights, and of each weight on them."""
    origins = Origins(compiled, queried)
    tables = network.near_tables[network.table_starts[block] : network.table_starts[block + 1]].tolist()
    axes = network.near_axes[network.axis_starts[block] : network.axis_starts[block + 1]].tolist()
    in_tables, on_axes = origins.of_factors(tables), origins.on_axes(axes)
    statements = [in_tables[table] for table in tables]
    stated: list[Array] = []
    of: list[int] = []
    by_statement: list[tuple[Stated, ...]] = []
    for place, axis in enumerate(axes):
        if place >= states.shape[1]:  # a helper: its weight is that of one statement
            statements.append(tuple(dict.fromkeys(text for text, _ in on_axes[axis])))
            continue
        statements.append((opinion_on(compiled, axis),))
        for text, table in on_axes[axis]:
            assert table is not None
            stated.append(_finite(table[states[:, place]]))
            of.append(place)
            by_statement.append((text,))
    columns = np.stack(stated, axis=1) if stated else np.zeros((len(states), 0))
    return _Parts([*statements, *by_statement], len(tables), columns, of)
