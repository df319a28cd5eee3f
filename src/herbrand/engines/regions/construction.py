"""Construction of the clusters that become the largest regions, under a bound on their tables.

The smallest choice is one cluster for each formula. Clusters that share variables are then merged, two at a
time, while the table of both together stays within the bound: each merge moves inference from between regions
to within one. When one cluster holds everything, the answer is exact.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.regions.counts import CountGraph
from herbrand.engines.regions.graph import Region, RegionIndex, joined, maximal


@dataclass(frozen=True)
class Merge:
    """A merge of two clusters. ``gain``: number of clusters that are absorbed, number of shared
    variables, strength of the factors about those, and, for ties, the smaller table. The most promising
    merge compares smallest."""

    pair: tuple[Region, Region]
    gain: tuple[int, int, float, float]

    def __lt__(self, other: Merge) -> bool:
        return (self.gain, self.pair) > (other.gain, other.pair)


def one_a_formula(graph: CountGraph) -> list[Region]:
    """A cluster for each factor, without those inside others, and for each variable that no
    factor is about."""
    alone = [graph.all_of((variable,)) for variable in range(len(graph.variables))]
    return maximal([*graph.parts, *alone])


def within(graph: CountGraph, cost: float) -> list[Region]:
    """A cluster for each factor with all elements of its variables. While that has more than ``cost``
    entries, the largest variables are reduced to the number of elements that one grounding names."""
    alone = [Region(((variable, 1),)) for variable in range(len(graph.variables))]
    return maximal(_taken(graph, part, cost) for part in maximal([*graph.parts, *alone]))


def _taken(graph: CountGraph, part: Region, cost: float) -> Region:
    region = graph.all_of(part.scope)
    waiting = sorted(part.taken, key=lambda pair: len(graph.variables[pair[0]]))
    while graph.entries(region) > cost and waiting:
        variable, number = waiting.pop()
        region = Region(tuple((v, number if v == variable else taken) for v, taken in region.taken))
    return region


def merged(
    graph: CountGraph, clusters: Iterable[Region], cost: float, budget: Budget = UNLIMITED
) -> list[Region]:
    """Merge clusters greedily, the most promising pair first, into tables of at most ``cost`` entries."""
    strength = {about: _strength(table) for about, table in graph.factors.items()}
    known, left = RegionIndex(strength), RegionIndex(clusters)
    merges = [
        merge
        for cluster in budget.each(left.all, 16)
        for merge in _merges(graph, cluster, left, known, strength, cost)
        if merge.pair[0] == cluster
    ]
    heapq.heapify(merges)
    while merges:
        budget.check()
        best = heapq.heappop(merges)
        if not all(cluster in left.all for cluster in best.pair):
            continue
        union = joined(*best.pair)
        for cluster in left.inside(union):
            left.remove(cluster)
        for merge in _merges(graph, union, left, known, strength, cost):
            heapq.heappush(merges, merge)
        left.add(union)
    return maximal(left.all)


def _merges(
    graph: CountGraph,
    one: Region,
    clusters: RegionIndex,
    known: RegionIndex,
    strength: dict[Region, float],
    cost: float,
) -> Iterator[Merge]:
    """Yield all merges of a cluster with others. ``known``: regions of the factors."""
    for other in clusters.sharing(one):
        pair = (min(one, other), max(one, other))
        union = joined(*pair)
        entries = graph.entries(union)
        if one == other or entries > cost or graph.holds_wide(union):
            continue
        shared = set(one.scope) & set(other.scope)
        strengths = sum(strength[about] for about in known.inside(union) if shared.intersection(about.scope))
        yield Merge(pair, (len(clusters.inside(union)), len(shared), strengths, -entries))


def _strength(table: np.ndarray) -> float:
    """Range of the log-weights of a factor; infinite if one is."""
    finite = table[np.isfinite(table)]
    return float(np.ptp(finite)) if finite.size == table.size and table.size else np.inf
