"""Groundings sorted by which of a statement's leaves are known, and which are the same atom.

>>> [(pattern.tolist(), rows.tolist()) for pattern, rows in patterns_of(np.array([[5, 7], [6, -1], [3, 3]]))]
[([0, -1], [1]), ([0, 0], [2]), ([0, 1], [0])]
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

KNOWN_FALSE, KNOWN_TRUE = -2, -1
COMPARED_PAIR_BY_PAIR = 64


def patterns_of(values: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows in which the same leaves are known and the same leaves are one atom: the pattern and its rows.

    A pattern has, for each leaf, its truth where that is known, else the first leaf that is the same atom.
    """
    patterns = values.copy()
    for position in range(values.shape[1]):
        unsettled = values[:, position] >= 0
        patterns[unsettled, position] = position
        for earlier in range(position if values.shape[1] <= COMPARED_PAIR_BY_PAIR else 0):
            same = unsettled & (values[:, earlier] == values[:, position])
            same &= patterns[:, position] == position
            patterns[same, position] = earlier
    if values.shape[1] > COMPARED_PAIR_BY_PAIR:
        _same_atoms(values, patterns)
    distinct, which = np.unique(patterns, axis=0, return_inverse=True)
    which = which.reshape(-1)
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(len(distinct) + 1))
    for number, pattern in enumerate(distinct):
        yield pattern, order[ends[number] : ends[number + 1]]


def _same_atoms(values: np.ndarray, patterns: np.ndarray) -> None:
    """For many leaves: the first place of each atom, row by row."""
    for row, pattern in zip(values, patterns, strict=True):
        _, first, which = np.unique(row, return_index=True, return_inverse=True)
        unsettled = row >= 0
        pattern[unsettled] = first[which.reshape(-1)][unsettled]
