"""Independences between the atoms of a factor, by separation in the graph over atoms.

Compiled loops compute them within the scopes of many factors of a large graph. Every walk has a limit of
atoms it may visit; atoms count as dependent where it is met, which is safe.

A factor's independences are those within its scope; cells represent them in the search. Sound mode uses only
those that the Markov condition implies: by d-separation where the graph over atoms has no cycle (jointly: an
atom is independent of all atoms it is separated from), else those Markov statements, or parts of them, whose
atoms all lie in the scope. Paper mode takes all atoms but the message's own to be pairwise independent
(equation 24), implied or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations, product
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from herbrand.engines.credal.ariel.simplex import Cells
from herbrand.engines.credal.markov import Arrows, Graph, Separation, graph_of
from herbrand.engines.credal.network import Network
from herbrand.loops import loop, often
from herbrand.row_keys import equal_rows

Array = NDArray[Any]

MOST_VISITED = 20_000
"""Most atoms that a d-separation visits in a graph without cycles."""
MOST_FOLLOWED = 2_000
"""Most descendants that are followed in a graph with cycles. There most atoms reach most others, so that a
walk would go through half of the graph for each factor."""


class Marks(NamedTuple):
    """For each atom the number of the last walk that met it, so that marks need no clearing.

    ``above``: as an ancestor of the pair or of the subset; ``opened``: as an ancestor of the subset;
    ``seen`` [atoms, 2]: on a way down, and up. ``waiting`` is the queue of atoms, each with 1 for upwards.
    """

    above: Array
    opened: Array
    seen: Array
    waiting: Array


@loop
def statements_within(scopes: Array, arrows: Arrows) -> tuple[Array, Array]:
    """For each atom x of each scope the part of its Markov statement that lies in the scope, as bit masks.

    ``given[f, i]``: the parents of x; ``others[f, i]``: the atoms of which x is independent given them, 0
    where a parent lies outside the scope.
    """
    factors, k = scopes.shape
    into_start, into = arrows.into_start, arrows.into
    given, others = np.zeros((factors, k), np.int64), np.zeros((factors, k), np.int64)
    seen = np.zeros(len(into_start) - 1, np.int64)
    walls = np.zeros(len(into_start) - 1, np.int64)
    waiting = np.empty(MOST_FOLLOWED + 1, np.int64)
    walk = 0
    for f in range(factors):
        for i in range(k):
            x = scopes[f, i]
            parents = 0
            contained = into_start[x + 1] - into_start[x] < k
            for e in range(into_start[x], into_start[x + 1] if contained else into_start[x]):
                place = -1
                for j in range(k):
                    if scopes[f, j] == into[e]:
                        place = j
                if place < 0:
                    contained = False
                    break
                parents |= 1 << place
            targets = (1 << k) - 1 - (1 << i) - parents
            if not contained or targets == 0:
                continue
            walk += 1
            for e in range(into_start[x], into_start[x + 1]):
                walls[into[e]] = walk
            given[f, i] = parents
            others[f, i] = _not_reached(scopes[f], targets, x, arrows, seen, walls, waiting, walk)
    return given, others


@loop
def _not_reached(
    scope: Array, targets: int, x: int, arrows: Arrows, seen: Array, walls: Array, waiting: Array, walk: int
) -> int:
    """The atoms of the mask ``targets`` that are no descendants of x; 0 where these are too many to
    follow."""
    out_start, out = arrows.out_start, arrows.out
    waiting[0] = x
    seen[x] = walk
    count, at = 1, 0
    while at < count and targets != 0:
        here = waiting[at]
        at += 1
        for e in range(out_start[here], out_start[here + 1]):
            child = out[e]
            if seen[child] == walk:
                continue
            seen[child] = walk
            for j in range(len(scope)):
                if scope[j] == child:
                    targets &= ~(1 << j)
            if walls[child] != walk:
                if count > MOST_FOLLOWED:
                    return 0
                waiting[count] = child
                count += 1
    return targets


@loop
def separators_within(scopes: Array, subsets: Array, arrows: Arrows) -> Array:
    """[f, i, s] Bit mask of the atoms of scope f that atom i is d-separated from given subset s.

    ``subsets``: bit masks, small ones first; a pair is tested only with subsets that contain no separator of
    it found before.
    """
    factors, k = scopes.shape
    separated = np.zeros((factors, k, len(subsets)), np.int64)
    atoms = len(arrows.into_start) - 1
    seen, waiting = np.zeros((atoms, 2), np.int64), np.empty((2 * MOST_VISITED + 2, 2), np.int64)
    marks = Marks(np.zeros(atoms, np.int64), np.zeros(atoms, np.int64), seen, waiting)
    walk = 0
    for f in range(factors):
        for i in range(k):
            for j in range(i):
                for s in range(len(subsets)):
                    subset = subsets[s]
                    if subset >> i & 1 or subset >> j & 1:
                        continue
                    smaller = False
                    for r in range(s):
                        if subsets[r] & subset == subsets[r] and separated[f, i, r] >> j & 1:
                            smaller = True
                    if smaller:
                        continue
                    walk += 1
                    if _separated(scopes[f], i, j, subset, arrows, marks, walk):
                        separated[f, i, s] |= 1 << j
                        separated[f, j, s] |= 1 << i
    return separated


@loop
def _separated(scope: Array, i: int, j: int, subset: int, arrows: Arrows, marks: Marks, walk: int) -> bool:
    """Whether a subset d-separates two atoms; False too where ancestors are too many.

    Paths are followed only through ancestors of the two atoms and the subset, which suffices.
    """
    above, opened, seen, waiting = marks
    into_start, into, out_start, out = arrows
    count = _mark_above(scope, subset, arrows, opened, waiting, walk)
    if count < 0:
        return False
    everything = subset | 1 << i | 1 << j
    if _mark_above(scope, everything, arrows, above, waiting, walk) < 0:
        return False
    start, goal = scope[i], scope[j]
    waiting[0, 0], waiting[0, 1] = start, 1  # as if reached from a child
    seen[start, 1] = walk
    count, at = 1, 0
    while at < count:
        here, upwards = waiting[at, 0], waiting[at, 1]
        at += 1
        if here == goal:
            return False
        blocked = False
        for m in range(len(scope)):
            if subset >> m & 1 and scope[m] == here:
                blocked = True
        if (upwards == 1 and not blocked) or (upwards == 0 and opened[here] == walk):
            for e in range(into_start[here], into_start[here + 1]):
                if seen[into[e], 1] != walk:
                    seen[into[e], 1] = walk
                    waiting[count, 0], waiting[count, 1] = into[e], 1
                    count += 1
        if not blocked:
            for e in range(out_start[here], out_start[here + 1]):
                child = out[e]
                if above[child] == walk and seen[child, 0] != walk:
                    seen[child, 0] = walk
                    waiting[count, 0], waiting[count, 1] = child, 0
                    count += 1
    return True


@loop
def _mark_above(scope: Array, subset: int, arrows: Arrows, marks: Array, waiting: Array, walk: int) -> int:
    """Mark the atoms of a subset and their ancestors; return their number, or -1 if they are too many."""
    into_start, into = arrows.into_start, arrows.into
    count, at = 0, 0
    for m in range(len(scope)):
        if subset >> m & 1:
            marks[scope[m]] = walk
            waiting[count, 0] = scope[m]
            count += 1
    while at < count:
        here = waiting[at, 0]
        at += 1
        for e in range(into_start[here], into_start[here + 1]):
            if marks[into[e]] != walk:
                if count >= MOST_VISITED:
                    return -1
                marks[into[e]] = walk
                waiting[count, 0] = into[e]
                count += 1
    return count


MOST_ENTRIES = 100_000
"""Most numbers in the forms of a factor's independences; beyond that the search uses fewer independences,
and its bounds stay sound."""
WIDEST_FULLY_ASKED = 6
"""Widest scope in which all separators are tried; in wider ones those of up to two atoms."""


Separations = tuple[Separation, ...]
"""Independences between columns of a scope."""


class Independences(Protocol):
    """A source of the independences within scopes."""

    def separations(self, scopes: np.ndarray) -> Iterator[tuple[np.ndarray, Separations]]: ...


@dataclass(frozen=True, eq=False)
class Links:
    """The graph over atoms, and whether it is acyclic."""

    arrows: Arrows
    acyclic: bool

    @staticmethod
    def of(network: Network) -> Links:
        return Links.over(graph_of(network))

    @staticmethod
    def over(graph: Graph) -> Links:
        return Links(graph.arrows, not graph.is_core.any())

    def separations(self, scopes: np.ndarray) -> Iterator[tuple[np.ndarray, Separations]]:
        """Group factors, as row numbers of ``scopes`` [factors, k], by their independences."""
        if len(scopes):
            yield from coded_separations(self.codes(scopes), scopes.shape[1], self.acyclic)

    def codes(self, scopes: np.ndarray) -> np.ndarray:
        """The independences within each scope, as a row of bit masks that can be compared."""
        walks, links = scopes.size, 2 * len(self.arrows.into)
        if self.acyclic:
            subsets = _subsets(scopes.shape[1])
            walks *= scopes.shape[1] * len(subsets)
            codes = often(separators_within, walks * min(links, MOST_VISITED))(scopes, subsets, self.arrows)
            return codes.reshape(len(scopes), -1)
        codes = often(statements_within, walks * min(links, MOST_FOLLOWED))(scopes, self.arrows)
        return np.concatenate(codes, axis=1)


def coded_separations(codes: np.ndarray, k: int, acyclic: bool) -> Iterator[tuple[np.ndarray, Separations]]:
    """Group equal rows of :meth:`Links.codes` over scopes of k atoms, with their independences."""
    read = partial(_from_separators, subsets=_subsets(k), k=k) if acyclic else _from_statements
    for pattern, factors in equal_rows(codes):
        yield factors, read(pattern.tolist())


def pairwise(columns: Iterable[int]) -> Separations:
    """The independences of equation 24 of the ARIEL paper: any two of the columns are independent."""
    return tuple(Separation(i, (), (j,)) for i, j in combinations(columns, 2))


def _subsets(k: int) -> np.ndarray:
    """Bit masks of the sets of columns that are tried as separators, small ones first."""
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
