"""Compiled questions about a large graph: what depends on what within the scopes of many factors.

Works on lists in compressed rows: ``into[into_start[a]:into_start[a + 1]]`` are the parents of atom a. Every
walk has a limit of atoms it may visit; a question that meets it is answered by "dependent", which is safe.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

MOST_VISITED = 20_000
MOST_FOLLOWED = 2_000
"""Descendants that are followed in a graph with cycles. There most atoms reach most others, so that a walk
would go through half of the graph for each factor."""


@numba.njit(cache=True, nogil=True)
def statements_within(
    scopes: Array, into_start: Array, into: Array, out_start: Array, out: Array
) -> tuple[Array, Array]:
    """For each atom x of each scope the part of its Markov statement that lies in the scope, as bit masks.

    ``given[f, i]``: the parents of x; ``others[f, i]``: what x is independent of given them, 0 where a parent
    lies outside.
    """
    factors, k = scopes.shape
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
            wanted = (1 << k) - 1 - (1 << i) - parents
            if not contained or wanted == 0:
                continue
            walk += 1
            for e in range(into_start[x], into_start[x + 1]):
                walls[into[e]] = walk
            given[f, i] = parents
            others[f, i] = _not_reached(scopes[f], wanted, x, out_start, out, seen, walls, waiting, walk)
    return given, others


@numba.njit(cache=True, nogil=True)
def _not_reached(
    scope: Array,
    wanted: int,
    x: int,
    out_start: Array,
    out: Array,
    seen: Array,
    walls: Array,
    waiting: Array,
    walk: int,
) -> int:
    """Those of ``wanted`` that are no descendants of x."""
    waiting[0] = x
    seen[x] = walk
    count, at = 1, 0
    while at < count and wanted != 0:
        here = waiting[at]
        at += 1
        for e in range(out_start[here], out_start[here + 1]):
            child = out[e]
            if seen[child] == walk:
                continue
            seen[child] = walk
            for j in range(len(scope)):
                if scope[j] == child:
                    wanted &= ~(1 << j)
            if walls[child] != walk:
                if count > MOST_FOLLOWED:
                    return 0
                waiting[count] = child
                count += 1
    return wanted


@numba.njit(cache=True, nogil=True)
def separators_within(
    scopes: Array, subsets: Array, into_start: Array, into: Array, out_start: Array, out: Array
) -> Array:
    """``found[f, i, s]``: the atoms (a bit mask) of scope f that atom i is d-separated from given subset s.

    ``subsets``: bit masks, small ones first; a pair is asked only of subsets that hold no separator of it.
    """
    factors, k = scopes.shape
    found = np.zeros((factors, k, len(subsets)), np.int64)
    atoms = len(into_start) - 1
    above, opened = np.zeros(atoms, np.int64), np.zeros(atoms, np.int64)
    seen = np.zeros((atoms, 2), np.int64)
    waiting = np.empty((2 * MOST_VISITED + 2, 2), np.int64)
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
                        if subsets[r] & subset == subsets[r] and found[f, i, r] >> j & 1:
                            smaller = True
                    if smaller:
                        continue
                    walk += 1
                    if _separated(
                        scopes[f],
                        i,
                        j,
                        subset,
                        into_start,
                        into,
                        out_start,
                        out,
                        above,
                        opened,
                        seen,
                        waiting,
                        walk,
                    ):
                        found[f, i, s] |= 1 << j
                        found[f, j, s] |= 1 << i
    return found


@numba.njit(cache=True, nogil=True)
def _separated(
    scope: Array,
    i: int,
    j: int,
    subset: int,
    into_start: Array,
    into: Array,
    out_start: Array,
    out: Array,
    above: Array,
    opened: Array,
    seen: Array,
    waiting: Array,
    walk: int,
) -> bool:
    """Whether every path between two atoms is blocked; only their ancestors and the subset's matter."""
    count = _mark_above(scope, subset, into_start, into, opened, waiting, walk)
    if count < 0:
        return False
    everything = subset | 1 << i | 1 << j
    if _mark_above(scope, everything, into_start, into, above, waiting, walk) < 0:
        return False
    start, goal = scope[i], scope[j]
    waiting[0, 0], waiting[0, 1] = start, 1  # as if come to from a child
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


@numba.njit(cache=True, nogil=True)
def _mark_above(
    scope: Array, subset: int, into_start: Array, into: Array, marks: Array, waiting: Array, walk: int
) -> int:
    """Marks the atoms of a subset and their ancestors; gives their number, -1 where they are too many."""
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
