"""A quick lower bound on how wide a table any elimination must make, to refuse hopeless networks at once.

The degeneracy of a graph (the largest smallest degree among its subgraphs) is at most its treewidth: whoever
is summed out first of the densest part has at least that many neighbours.

>>> least_width([(0, 1), (1, 2), (2, 3)]), least_width([(0, 1, 2, 3)])
(1, 3)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence


def least_width(scopes: Iterable[Sequence[int]]) -> int:
    """Some table of any elimination of tables over these scopes has more axes than this."""
    neighbours: dict[int, set[int]] = defaultdict(set)
    for scope in scopes:
        for axis in scope:
            neighbours[axis].update(scope)
    degrees = {axis: len(others) - 1 for axis, others in neighbours.items()}
    by_degree: dict[int, set[int]] = defaultdict(set)
    for axis, degree in degrees.items():
        by_degree[degree].add(axis)
    width, smallest = 0, 0
    while degrees:
        while not by_degree[smallest]:
            smallest += 1
        width = max(width, smallest)
        axis = by_degree[smallest].pop()
        del degrees[axis]
        for other in neighbours[axis]:
            if other in degrees:
                by_degree[degrees[other]].discard(other)
                degrees[other] -= 1
                by_degree[degrees[other]].add(other)
        smallest = max(0, smallest - 1)
    return width
