"""A quick lower bound on how wide a table any elimination must make, to refuse hopeless networks at once.

The treewidth of a graph is at least that of any of its minors, and at least the smallest degree in it:
whoever is summed out first has that many neighbours. So a vertex of smallest degree is merged into a
neighbour, again and again, and the largest of these smallest degrees is the bound. A large graph is first
made small by merging half of its vertices at once; where a part of it links everyone with many others, that
alone is the bound.

>>> least_width(np.array([[0, 1], [1, 2], [2, 3]])), least_width(np.array([[0, 1], [1, 2], [2, 0]]))
(1, 2)
"""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from herbrand.budget import UNLIMITED, Budget

MANY = 10_000
"""With more links than this a bound found by one merger at a time would take seconds."""
ENOUGH_A_VERTEX = 4
"""Links beyond this number a vertex only make a hopeless network more so."""
MOST_PEELED = 1_000_000
"""Links that are looked at, where there are more, for a part in which all have many neighbours."""
PEELINGS = 50
SEED = 0


def least_width(links: np.ndarray, enough: float = math.inf, budget: Budget = UNLIMITED) -> int:
    """Some table of any elimination of tables has more axes than this; ``links``: the pairs of axes that
    share a table, or some of them, [pair, 2].

    The search ends where the bound reaches ``enough``.
    """
    if len(links) > MANY:
        if math.isfinite(enough) and _has_core(links, int(enough), budget):
            return int(enough)
        links = _coarse(links)
    return _by_mergers(links, enough, budget)


def _has_core(links: np.ndarray, degree: int, budget: Budget) -> bool:
    """Whether a part of the graph links each of its vertices with at least so many others of it.

    Others are taken out, until all that are left have enough. A graph where that takes long has a thin rim.
    """
    count = int(links.max(initial=-1)) + 1
    if len(links) > MOST_PEELED:
        links = links[:: len(links) // MOST_PEELED + 1]
    one, other = links.min(axis=1, initial=count), links.max(axis=1, initial=0)
    keys = np.unique((one * count + other)[one != other])
    links = np.stack(np.divmod(keys, max(count, 1)), axis=1)
    for _ in range(PEELINGS):
        budget.check()
        enough = np.bincount(links.ravel(), minlength=count) >= degree
        kept = enough[links].all(axis=1)
        if kept.all():
            return len(links) > 0
        links = links[kept]
    return False


def _coarse(links: np.ndarray) -> np.ndarray:
    """A minor with few links, by merging vertices of one random half into neighbours in the other half."""
    random = np.random.default_rng(SEED)
    links = np.unique(links, return_inverse=True)[1].reshape(links.shape)
    count = int(links.max(initial=-1)) + 1
    if len(links) > ENOUGH_A_VERTEX * count:
        links = random.choice(links, ENOUGH_A_VERTEX * count, replace=False, shuffle=False)
    while len(links) > MANY:
        joining = random.random(count) < 0.5
        both = np.concatenate([links, links[:, ::-1]])
        both = both[joining[both[:, 0]] & ~joining[both[:, 1]]]
        merged = np.arange(count)
        merged[both[:, 0]] = both[:, 1]
        left = merged == np.arange(count)
        count, number = int(left.sum()), np.cumsum(left) - 1
        one, other = number[merged[links]].T
        keys = np.unique(np.minimum(one, other) * count + np.maximum(one, other))
        links = np.stack(np.divmod(keys, count), axis=1)
        links = links[links[:, 0] != links[:, 1]]
    return links


def _by_mergers(links: np.ndarray, enough: float, budget: Budget) -> int:
    neighbours: dict[int, set[int]] = defaultdict(set)
    for one, other in links.tolist():
        neighbours[one].add(other)
        neighbours[other].add(one)
    by_degree: dict[int, set[int]] = defaultdict(set)
    for axis, others in neighbours.items():
        others.discard(axis)
        by_degree[len(others)].add(axis)
    width, smallest = 0, 0
    while neighbours and width < enough:
        budget.check()
        while not by_degree[smallest]:
            smallest += 1
        width = max(width, smallest)
        axis = by_degree[smallest].pop()
        around = neighbours.pop(axis)
        for other in around:
            by_degree[len(neighbours[other])].discard(other)
            neighbours[other].discard(axis)
        _merge(around, neighbours)
        for other in around:
            by_degree[len(neighbours[other])].add(other)
        smallest = max(0, smallest - 1)
    return width


def _merge(around: set[int], neighbours: dict[int, set[int]]) -> None:
    """The neighbours of a vertex that was taken out become those of the least of them."""
    if len(around) < 2:
        return
    into = min(around, key=lambda other: len(neighbours[other]))
    neighbours[into] |= around
    neighbours[into].discard(into)
    for other in around:
        if other != into:
            neighbours[other].add(into)
