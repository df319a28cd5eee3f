"""Which independences hold within the scope of each factor, and the cells that represent them in the search.

Sound mode uses only what the Markov condition implies: by d-separation where the graph over atoms has no
cycle (jointly: an atom is independent of everything it is separated from), else those Markov statements, or
parts of them, whose atoms all lie in the scope. Paper mode takes all atoms but the message's own to be
pairwise independent (equation 24), implied or not.

A :class:`Separation` speaks of columns of a scope: ``atom`` is independent of ``others`` jointly given
``given``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations, product
from typing import NamedTuple, Protocol

import numpy as np

from herbrand.engines.credal.ariel.search import Cells
from herbrand.engines.credal.ariel.separation import separators_within, statements_within
from herbrand.engines.credal.markov import Graph, graph_of
from herbrand.engines.credal.network import Network
from herbrand.graphs import strong_component_of

MOST_ENTRIES = 100_000
"""Forms of independences fill at most so many numbers for a factor; beyond that the search knows of fewer
independences, and its bounds stay sound."""
WIDEST_FULLY_ASKED = 6
"""In wider scopes only separators of up to two atoms are looked for."""


class Separation(NamedTuple):
    atom: int
    given: tuple[int, ...]
    others: tuple[int, ...]


Separations = tuple[Separation, ...]


class Independences(Protocol):
    """Whatever gives the independences within scopes."""

    def separations(self, scopes: np.ndarray) -> Iterator[tuple[np.ndarray, Separations]]: ...


@dataclass(frozen=True, eq=False)
class Links:
    """The graph over atoms in compressed rows, both ways."""

    into_start: np.ndarray
    into: np.ndarray
    out_start: np.ndarray
    out: np.ndarray
    acyclic: bool

    @staticmethod
    def of(network: Network) -> Links:
        return Links.over(graph_of(network))

    @staticmethod
    def over(graph: Graph) -> Links:
        sources, targets = graph.links[:, 0], graph.links[:, 1]
        into_start, into = _compressed(graph.count, targets, sources)
        out_start, out = _compressed(graph.count, sources, targets)
        strong = strong_component_of(graph.count, graph.links)
        return Links(into_start, into, out_start, out, len(np.unique(strong)) == graph.count)

    def separations(self, scopes: np.ndarray) -> Iterator[tuple[np.ndarray, Separations]]:
        """Which factors (row numbers of ``scopes`` [factors, k]) share which independences."""
        if len(scopes):
            yield from coded_separations(self.codes(scopes), scopes.shape[1], self.acyclic)

    def codes(self, scopes: np.ndarray) -> np.ndarray:
        """The independences within each of these scopes as a row of numbers."""
        lists = (self.into_start, self.into, self.out_start, self.out)
        if self.acyclic:
            found = separators_within(scopes, _subsets(scopes.shape[1]), *lists)
            return found.reshape(len(scopes), -1)
        return np.concatenate(statements_within(scopes, *lists), axis=1)


def coded_separations(codes: np.ndarray, k: int, acyclic: bool) -> Iterator[tuple[np.ndarray, Separations]]:
    """Which rows of :meth:`Links.codes`, over scopes of k atoms, say the same, and what."""
    read = partial(_from_separators, subsets=_subsets(k), k=k) if acyclic else _from_statements
    patterns, which = np.unique(codes, axis=0, return_inverse=True)
    which = which.reshape(-1)
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(len(patterns) + 1))
    for number, pattern in enumerate(patterns):
        yield order[ends[number] : ends[number + 1]], read(pattern.tolist())


def pairwise(columns: Iterable[int]) -> Separations:
    """Equation 24: each two of the columns are independent."""
    return tuple(Separation(i, (), (j,)) for i, j in combinations(columns, 2))


def _compressed(count: int, keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(keys, kind="stable")
    return np.searchsorted(keys[order], np.arange(count + 1)), values[order]


def _subsets(k: int) -> np.ndarray:
    """The sets of columns that are tried as separators, small ones first, as bit masks."""
    largest = k - 2 if k <= WIDEST_FULLY_ASKED else 2
    sets = (
        sum(1 << i for i in chosen) for size in range(largest + 1) for chosen in combinations(range(k), size)
    )
    return np.array(list(sets), np.int64)


def _from_separators(row: Sequence[int], subsets: np.ndarray, k: int) -> Separations:
    masks = np.array(row).reshape(k, len(subsets))
    return tuple(
        Separation(atom, _columns(int(subset)), _columns(int(mask)))
        for atom in range(k)
        for subset, mask in zip(subsets, masks[atom], strict=True)
        if mask
    )


def _from_statements(row: Sequence[int]) -> Separations:
    k = len(row) // 2
    return tuple(
        Separation(atom, _columns(row[atom]), _columns(row[k + atom])) for atom in range(k) if row[k + atom]
    )


def _columns(mask: int) -> tuple[int, ...]:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


@lru_cache(maxsize=1024)
def cells_of(columns: int, separations: Separations) -> Cells:
    """The cells of independences over 2^columns states; column 0 is the high bit of a state's number."""
    truths = np.array(list(product((0.0, 1.0), repeat=columns))).reshape(-1, columns)
    states = len(truths)
    cells: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
    holds: list[np.ndarray] = []
    givens: list[np.ndarray] = []
    products: dict[tuple[int, int], None] = {}
    spreads: list[tuple[int, np.ndarray]] = []

    def fits(more: int) -> bool:
        return (4 * len(products) + 2 * len(spreads) + more) * states <= MOST_ENTRIES

    def cell(atom: int, case: tuple[tuple[int, int], ...]) -> int:
        if (atom, case) not in cells:
            cells[atom, case] = len(cells)
            given = np.all([truths[:, c] == t for c, t in case], axis=0) if case else np.ones(states, bool)
            givens.append(given.astype(float))
            holds.append(given * truths[:, atom])
        return cells[atom, case]

    for atom, given, others in sorted(separations, key=lambda s: len(s.given)):
        for case in product((0, 1), repeat=len(given)):
            assigned = tuple(zip(given, case, strict=True))
            one = cell(atom, assigned)
            for other in others if fits(4 * len(others)) else ():
                pair = sorted((one, cell(other, assigned)))
                products[pair[0], pair[1]] = None
            if len(others) > 1 and fits(2 * 2 ** len(others)):
                spreads += [
                    (one, givens[one] * np.all(truths[:, others] == values, axis=1))
                    for values in product((0.0, 1.0), repeat=len(others))
                ]
    atoms = [atom if not case else -1 for atom, case in cells]
    return Cells(
        np.array(holds).reshape(-1, states),
        np.array(givens).reshape(-1, states),
        np.array(atoms, np.int64),
        np.array(list(products), np.int64).reshape(-1, 2),
        np.array([cell for cell, _ in spreads], np.int64),
        np.array([mask for _, mask in spreads]).reshape(-1, states),
    )
