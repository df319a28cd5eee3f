"""The kernels' ways back: from slopes of what a push made to slopes of what was pushed and of the facts.

Each walks the same compressed rows as its kernel in :mod:`herbrand.engines.proof.kernels` and touches nothing
else, so that a gradient costs about twice what the answer did and nothing is stored beside the states.

>>> pointers, columns = np.array([0, 2, 3]), np.array([0, 1, 1], np.int32)
>>> values, weights = np.array([1.0, 5.0]), np.array([1.0, 1.0, 3.0])
>>> of_values, of_weights = np.zeros(2), np.zeros(3)
>>> push_back(np.array([0, 2]), np.array([0, 1]), values, pointers, columns, weights, np.zeros(2),
...           np.array([0, 2]), np.array([0, 1]), np.array([1.0, 10.0]), of_values, of_weights)
>>> of_values.tolist(), of_weights.tolist()
([11.0, 30.0], [1.0, 10.0, 50.0])
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from herbrand.engines.proof.kernels import Array

ANY_ORDER = {"reassoc", "contract"}
"""Sums may be taken in any order: then they are computed several at a time."""


@numba.njit(cache=True, nogil=True)
def push_back(
    groups: Array, pivots: Array, values: Array, pointers: Array, columns: Array, weights: Array,
    slopes: Array, ends: Array, found: Array, slope: Array, of_values: Array, of_weights: Array,
) -> None:  # fmt: skip
    """Of :func:`~herbrand.engines.proof.kernels.push`: group g found ``found[ends[g]:ends[g + 1]]``.

    ``slopes`` [width] is workspace; ``of_values`` and ``of_weights`` are 0 and filled, the latter if it is
    not empty.
    """
    plain, wanted = len(weights) == 0, len(of_weights) > 0
    for group in range(len(groups) - 1):
        for place in range(ends[group], ends[group + 1]):
            slopes[found[place]] = slope[place]
        for one in range(groups[group], groups[group + 1]):
            value, total = values[one], 0.0
            for entry in range(pointers[pivots[one]], pointers[pivots[one] + 1]):
                here = slopes[columns[entry]]
                total += here if plain else here * weights[entry]
                if wanted:
                    of_weights[entry] += here * value
            of_values[one] = total


@numba.njit(cache=True, nogil=True)
def push_where_back(
    groups: Array, pivots: Array, values: Array, pointers: Array, columns: Array, weights: Array,
    sums: Array, slopes: Array, first: Array, length: Array, allowed: Array, allowed_weights: Array,
    ends: Array, found: Array, slope: Array, of_values: Array, of_weights: Array, of_allowed: Array,
) -> None:  # fmt: skip
    """Of :func:`~herbrand.engines.proof.kernels.push_where`; ``sums``
    and ``slopes`` [width] are workspace, 0 before and after."""
    plain, evenly = len(weights) == 0, len(allowed_weights) == 0
    wanted, wanted_allowed = len(of_weights) > 0, len(of_allowed) > 0
    for group in range(len(groups) - 1):
        if ends[group] == ends[group + 1]:
            continue
        for place in range(ends[group], ends[group + 1]):
            slopes[found[place]] = slope[place]
        if wanted_allowed:
            for one in range(groups[group], groups[group + 1]):
                for entry in range(pointers[pivots[one]], pointers[pivots[one] + 1]):
                    sums[columns[entry]] += values[one] if plain else values[one] * weights[entry]
            for place in range(first[group], first[group] + length[group]):
                of_allowed[place] += slopes[allowed[place]] * sums[allowed[place]]
            for one in range(groups[group], groups[group + 1]):
                for entry in range(pointers[pivots[one]], pointers[pivots[one] + 1]):
                    sums[columns[entry]] = 0.0
        if not evenly:
            for place in range(first[group], first[group] + length[group]):
                slopes[allowed[place]] *= allowed_weights[place]
        for one in range(groups[group], groups[group + 1]):
            value, total = values[one], 0.0
            for entry in range(pointers[pivots[one]], pointers[pivots[one] + 1]):
                here = slopes[columns[entry]]
                total += here if plain else here * weights[entry]
                if wanted:
                    of_weights[entry] += here * value
            of_values[one] = total
        for place in range(ends[group], ends[group + 1]):
            slopes[found[place]] = 0.0


@numba.njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def pull_back(
    pointers: Array, sources: Array, weights: Array, state: Array, active: Array, slope: Array,
    of_state: Array, of_weights: Array,
) -> None:  # fmt: skip
    """Of :func:`~herbrand.engines.proof.kernels.pull`; ``of_state``
    and ``of_weights`` are 0 and filled, each if it is not empty."""
    plain = len(weights) == 0
    wanted_state, wanted = len(of_state) > 0, len(of_weights) > 0
    many = state.shape[1]
    for row in range(len(pointers) - 1):
        above = slope[row]
        some = False
        for place in range(many):
            if above[place] != 0.0:
                some = True
                break
        if not some:
            continue
        for entry in range(pointers[row], pointers[row + 1]):
            source = sources[entry]
            if not active[source]:
                continue
            if wanted_state:
                weight = 1.0 if plain else weights[entry]
                into = of_state[source]
                for place in range(many):
                    into[place] += weight * above[place]
            if wanted:
                out_of = state[source]
                total = 0.0
                for place in range(many):
                    total += out_of[place] * above[place]
                of_weights[entry] += total


NONE: NDArray[np.float64] = np.empty(0)
NO_MATRIX: NDArray[np.float64] = np.empty((0, 0))
"""What is not needed."""
