"""Which clusters make the largest regions, under a bound on what one may cost.

The smallest choice is one cluster a formula. Clusters that share variables are then merged, two at a time, as
long as the table of both together stays within the bound: each merge moves inference from between regions to
within one. When one cluster holds everything, the answer is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from herbrand.engines.regions.counts import CountGraph
from herbrand.engines.regions.graph import Region, joined, maximal

Pair = tuple[Region, Region]


def one_a_formula(graph: CountGraph) -> list[Region]:
    """What factors are about, less what is inside others; and variables that no factor is about."""
    alone = [graph.all_of((variable,)) for variable in range(len(graph.variables))]
    return maximal([*graph.parts, *alone])


def within(graph: CountGraph, cost: float) -> list[Region]:
    """For each factor all elements of its variables; where that would be more than ``cost`` entries, only so
    many elements as one grounding names of the variables that make it largest."""
    alone = [Region(((variable, 1),)) for variable in range(len(graph.variables))]
    return maximal(_taken(graph, part, cost) for part in maximal([*graph.parts, *alone]))


def _taken(graph: CountGraph, part: Region, cost: float) -> Region:
    found = graph.all_of(part.scope)
    waiting = sorted(part.taken, key=lambda pair: len(graph.variables[pair[0]]))
    while graph.entries(found) > cost and waiting:
        variable, number = waiting.pop()
        found = Region(tuple((v, number if v == variable else taken) for v, taken in found.taken))
    return found


def merged(graph: CountGraph, clusters: Iterable[Region], cost: float) -> list[Region]:
    """Clusters merged greedily, the most promising two first, into tables of at most ``cost`` entries."""
    clusters = list(clusters)
    strength = {about: _strength(table) for about, table in graph.factors.items()}
    gains = _gains(graph, clusters, clusters, strength, cost)
    while gains:
        pair = max(gains, key=lambda pair: (gains[pair], pair))
        union = joined(*pair)
        absorbed = {cluster for cluster in clusters if cluster.fits(union)}
        clusters = [cluster for cluster in clusters if cluster not in absorbed]
        gains = {two: gain for two, gain in gains.items() if not absorbed & set(two)}
        gains |= _gains(graph, [union], clusters, strength, cost)
        clusters.append(union)
    return maximal(clusters)


def _gains(
    graph: CountGraph,
    new: Sequence[Region],
    clusters: Sequence[Region],
    strength: dict[Region, float],
    cost: float,
) -> dict[Pair, tuple[int, int, float, float]]:
    """What merging a new cluster with another would bring: how many clusters come inside, how much the two
    share, how much is said about what they share; of equals the smaller table."""
    found = {}
    for one in new:
        for other in clusters:
            pair = (min(one, other), max(one, other))
            shared = set(one.scope) & set(other.scope)
            if one == other or not shared or pair in found:
                continue
            union = joined(*pair)
            entries = graph.entries(union)
            if entries > cost or graph.holds_wide(union):
                continue
            inside = sum(cluster.fits(union) for cluster in clusters)
            said = sum(s for about, s in strength.items() if shared & set(about.scope) and about.fits(union))
            found[pair] = (inside, len(shared), said, -entries)
    return found


def _strength(table: np.ndarray) -> float:
    """How much a factor can move a log-weight."""
    finite = table[np.isfinite(table)]
    return float(np.ptp(finite)) if finite.size == table.size and table.size else np.inf
