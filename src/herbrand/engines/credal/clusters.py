"""Clusters of atoms, such that tables over them that agree where they meet are one distribution.

Atoms are eliminated one after another; a cluster is an atom with the neighbours that are left. Under the
Markov condition an atom goes only when all its children have gone: then its parents are among those
neighbours, and it is independent of the other neighbours given them. Independence in every cluster makes the
whole the product of the P(x | parents of x), so nothing more need be said. A core of cycles stays together:
it is no cluster of this kind, and what is left when all others have gone.

>>> import numpy as np
>>> from herbrand.engines.credal.markov import Graph
>>> graph = Graph.of(4, np.array([[0, 2], [1, 2], [2, 3]]))
>>> for cluster in clusters_of(NetworkPart(graph, (), (0, 1, 2, 3), markov=True)):
...     print(cluster)
Cluster(atom=3, neighbours=(2,), parents=(2,))
Cluster(atom=2, neighbours=(0, 1), parents=(0, 1))
Cluster(atom=0, neighbours=(1,), parents=())
Cluster(atom=1, neighbours=(), parents=())
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from herbrand.engines.credal.part import NetworkPart


class Cluster(NamedTuple):
    """An atom and the neighbours left when it goes; ``parents`` are those that it depends on.

    ``parents`` is all of ``neighbours`` where no independence is asked.
    """

    atom: int
    neighbours: tuple[int, ...]
    parents: tuple[int, ...]

    @property
    def width(self) -> int:
        return len(self.neighbours) + 1


def clusters_of(part: NetworkPart, scopes: Iterable[Collection[int]] = ()) -> tuple[Cluster, ...]:
    """The clusters in the order in which their atoms go; each sentence and scope lies within one of them.

    Or within the graph's core, the atoms on and above cycles, which have no clusters of their own.
    """
    graph, core = part.graph, part.graph.core
    near: list[set[int]] = [set() for _ in range(graph.count)]
    for scope in (core, *scopes, *(sentence.atoms for sentence in part.sentences)):
        _connect(near, scope)
    for atom in range(graph.count):
        _connect(near, (atom, *graph.parents(atom)))
    left = set(range(graph.count)) - set(core)
    children = [len(out) for out in graph.out]
    found = []
    while left:
        atom = min((a for a in left if not children[a]), key=lambda a: (_fill(near, a), len(near[a]), a))
        found.append(_gone(atom, near, part))
        left.remove(atom)
        for parent in graph.parents(atom):
            children[parent] -= 1
    return tuple(found)


def _gone(atom: int, near: list[set[int]], part: NetworkPart) -> Cluster:
    """Eliminate an atom: its neighbours become neighbours of each other."""
    neighbours = tuple(sorted(near[atom]))
    _connect(near, neighbours)
    for other in neighbours:
        near[other].discard(atom)
    return Cluster(atom, neighbours, part.graph.parents(atom) if part.markov else neighbours)


def _connect(near: list[set[int]], scope: Collection[int]) -> None:
    for atom in scope:
        near[atom].update(scope)
        near[atom].discard(atom)


def _fill(near: list[set[int]], atom: int) -> int:
    """How many pairs of neighbours are no neighbours yet."""
    around = near[atom]
    return sum(len(around) - 1 - len(around & near[other]) for other in around) // 2
