"""The Markov condition of a credal network: the graph over its atoms, and each atom's independences.

The graph is the primal graph of logical credal networks with its formula nodes, one for each sentence,
contracted: a sentence ``P(q | r)`` links every atom of r to every atom of q, and unless it is ``independent``
the atoms of q to each other, both ways; ``P(q)`` links nothing. The sentence counts as it is written,
with its observed atoms. No atom is its own parent. Then, for every atom x jointly over the whole set T,

    x is independent of T given S,  S the parents of x,  T what is neither x, nor S, nor a descendant of x,

where descendants are the atoms that x reaches by directed paths that do not pass through S. So with q of two
atoms or more, a conditional sentence makes a cycle of these; a cycle is no chain component: its atoms are not
merged.

Without a cycle the condition is that of a Bayesian network: it says exactly that P is the product of the
P(x | S), and d-separation gives its consequences. With a cycle there is no product, since positivity is not
required: the statements hold as they stand.

>>> import numpy as np
>>> graph = Graph.of(4, np.array([[0, 2], [1, 2], [2, 3]]))
>>> graph.parents(2), graph.descendants(0), graph.core
((0, 1), (2, 3), ())
>>> Graph.of(2, np.array([[0, 1], [1, 0]])).statement(0)
Separation(atom=0, given=(1,), others=())
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from herbrand.engines.credal.network import Network
from herbrand.graphs import component_of, reached
from herbrand.loops import chosen, loop
from herbrand.row_keys import by_number


class Separation(NamedTuple):
    """``atom`` is independent of all ``others`` jointly, given ``given``: atoms, or columns of a scope."""

    atom: int
    given: tuple[int, ...]
    others: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Graph:
    """A directed graph over atoms 0 .. count - 1, each link once, none from an atom to itself."""

    count: int
    links: np.ndarray  # [m, 2] from, to

    @staticmethod
    def of(count: int, links: np.ndarray) -> Graph:
        """Build a graph without links from an atom to itself and without repeated links."""
        links = links[links[:, 0] != links[:, 1]]
        codes = np.unique(links[:, 1] * np.int64(max(count, 1)) + links[:, 0])
        return Graph(count, np.stack([codes % max(count, 1), codes // max(count, 1)], axis=1))

    @cached_property
    def arrows(self) -> Arrows:
        """The links in compressed rows, for compiled loops."""
        sources, targets = self.links[:, 0], self.links[:, 1]
        by_target, into_start = by_number(targets, self.count)
        by_source, out_start = by_number(sources, self.count)
        return Arrows(into_start, sources[by_target], out_start, targets[by_source])

    @cached_property
    def into(self) -> list[tuple[int, ...]]:
        """The parents of each atom, ascending."""
        return _listed(self.arrows.into_start, self.arrows.into)

    @cached_property
    def out(self) -> list[tuple[int, ...]]:
        """The children of each atom, ascending."""
        return _listed(self.arrows.out_start, self.arrows.out)

    def parents(self, atom: int) -> tuple[int, ...]:
        return self.into[atom]

    def descendants(self, atom: int) -> tuple[int, ...]:
        """Atoms reached from an atom by directed paths that do not pass through its parents; ascending."""
        walls = {atom, *self.into[atom]}
        below = reached(self.out[atom], lambda child: () if child in walls else self.out[child])
        return tuple(sorted({*below} - {atom}))

    def statement(self, atom: int) -> Separation:
        """The Markov statement of one atom."""
        parents = self.into[atom]
        excluded = {atom, *parents, *self.descendants(atom)}
        return Separation(atom, parents, tuple(a for a in range(self.count) if a not in excluded))

    @cached_property
    def is_core(self) -> np.ndarray:
        """[atoms] bool: whether an atom is on a cycle or has a path to one.

        These remain when childless atoms are removed repeatedly.
        """
        into_start, into, out_start, _ = self.arrows
        left = np.ones(self.count, bool)
        chosen(_without_childless, len(into))(np.diff(out_start), into_start, into, left)
        return left

    @cached_property
    def core(self) -> tuple[int, ...]:
        """The atoms on cycles and above them."""
        return tuple(np.flatnonzero(self.is_core).tolist())

    def ancestors(self, atoms: Collection[int]) -> set[int]:
        """The atoms and all atoms with a directed path to one of them."""
        return set(reached(atoms, self.into.__getitem__))


class Arrows(NamedTuple):
    """The links of a graph in compressed rows.

    The parents of atom a are ``into[into_start[a]:into_start[a + 1]]``; its children are in ``out`` likewise.
    """

    into_start: np.ndarray
    into: np.ndarray
    out_start: np.ndarray
    out: np.ndarray

    def parents(self, atom: int) -> np.ndarray:
        return self.into[self.into_start[atom] : self.into_start[atom + 1]]

    def children(self, atom: int) -> np.ndarray:
        return self.out[self.out_start[atom] : self.out_start[atom + 1]]


def graph_of(network: Network) -> Graph:
    """The dependency graph of a network's sentences as they are written."""
    pairs = [network.links]
    pairs += [group.atoms[:, list(link)] for group in network.groups for link in group.links]
    return Graph.of(len(network.atoms), np.concatenate(pairs))


@loop
def _without_childless(
    children: np.ndarray, begins: np.ndarray, parents: np.ndarray, left: np.ndarray
) -> None:
    """Repeatedly take childless atoms out of ``left``; ``children`` counts each atom's and is decremented."""
    ready = np.flatnonzero(children == 0)
    waiting = np.empty(len(children), np.int64)
    waiting[: len(ready)] = ready
    count = len(ready)
    while count:
        count -= 1
        atom = waiting[count]
        left[atom] = False
        for place in range(begins[atom], begins[atom + 1]):
            parent = parents[place]
            children[parent] -= 1
            if children[parent] == 0:
                waiting[count] = parent
                count += 1


def components(network: Network) -> np.ndarray:
    """Component number of each atom; sentences and links connect atoms."""
    pairs = [network.links]
    pairs += [group.atoms[:, [0, column]] for group in network.groups for column in range(1, group.arity)]
    return component_of(len(network.atoms), np.concatenate(pairs))


def _listed(starts: np.ndarray, values: np.ndarray) -> list[tuple[int, ...]]:
    numbers = values.tolist()
    return [tuple(numbers[start:end]) for start, end in pairwise(starts.tolist())]
