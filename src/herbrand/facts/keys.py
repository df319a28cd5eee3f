"""Sorted row keys, each once: alone, or with a number.

>>> unique_sorted(np.array([8, 5, 8])).tolist()
[5, 8]
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from herbrand.row_keys import Keys


def unique_sorted(keys: Keys) -> Keys:
    """Ascending, each once: the keys themselves, if they are."""
    if len(keys) < 2 or (keys[:-1] < keys[1:]).all():
        return keys
    ordered = np.sort(keys)
    first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered if first.all() else ordered[first]


def unique_pairs(keys: Keys, numbers: npt.NDArray[np.float64]) -> tuple[Keys, npt.NDArray[np.float64]]:
    """Ascending by key, then by number, each pair once."""
    order = np.lexsort((numbers, keys))
    keys, numbers = keys[order], numbers[order]
    if len(keys) < 2:
        return keys, numbers
    first = np.ones(len(keys), bool)
    first[1:] = (keys[1:] != keys[:-1]) | (numbers[1:] != numbers[:-1])
    return keys[first], numbers[first]
