"""Which clusters of variables make the largest regions, under a bound on what one may cost.

The smallest choice is one cluster a formula. Clusters that share variables are then merged, two at a time, as
long as the table of both together stays within the bound: each merge moves inference from between regions to
within one. When one cluster holds everything, the answer is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from herbrand.engines.regions.counts import CountGraph
from herbrand.engines.regions.graph import Scope

Pair = tuple[Scope, Scope]


def one_a_formula(graph: CountGraph) -> list[Scope]:
    """The scopes of factors that are not inside others, and variables that no factor is about."""
    alone = [(variable,) for variable in range(len(graph.variables))]
    distinct = sorted({*graph.scopes, *alone}, key=lambda scope: (-len(scope), scope))
    return [s for s in distinct if not any(set(s) < set(other) for other in distinct)]


def merged(graph: CountGraph, clusters: Iterable[Scope], cost: float) -> list[Scope]:
    """Clusters merged greedily, the most promising two first, into tables of at most ``cost`` entries."""
    clusters = list(clusters)
    strength = {scope: _strength(table) for scope, table in graph.factors.items()}
    gains = _gains(graph, clusters, clusters, strength, cost)
    while gains:
        pair = max(gains, key=lambda pair: (gains[pair], pair))
        union = _union(pair)
        absorbed = {cluster for cluster in clusters if set(cluster) <= set(union)}
        clusters = [cluster for cluster in clusters if cluster not in absorbed]
        gains = {two: gain for two, gain in gains.items() if not absorbed & set(two)}
        gains |= _gains(graph, [union], clusters, strength, cost)
        clusters.append(union)
    return sorted(clusters, key=lambda scope: (-len(scope), scope))


def _gains(
    graph: CountGraph,
    new: Sequence[Scope],
    clusters: Sequence[Scope],
    strength: dict[Scope, float],
    cost: float,
) -> dict[Pair, tuple[int, int, float, float]]:
    """What merging a new cluster with another would bring: how many clusters come inside, how much the two
    share, how much is said about what they share; of equals the smaller table."""
    found = {}
    for one in new:
        for other in clusters:
            pair = (min(one, other), max(one, other))
            shared = set(one) & set(other)
            if one == other or not shared or pair in found:
                continue
            union = _union(pair)
            entries = graph.entries(union)
            if entries > cost or any(set(scope) <= set(union) for scope in graph.wide):
                continue
            inside = sum(set(cluster) <= set(union) for cluster in clusters)
            said = sum(s for scope, s in strength.items() if shared & set(scope) and set(scope) <= set(union))
            found[pair] = (inside, len(shared), said, -entries)
    return found


def _union(pair: Pair) -> Scope:
    return tuple(sorted({*pair[0], *pair[1]}))


def _strength(table: np.ndarray) -> float:
    """How much a factor can move a log-weight."""
    finite = table[np.isfinite(table)]
    return float(np.ptp(finite)) if finite.size == table.size and table.size else np.inf
