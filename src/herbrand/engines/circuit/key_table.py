"""A hash table in arrays, from two keys of 64 bits to a number, for loops that must not allocate.

The first key decides where an entry belongs; if that place is taken, the next free one is used. So the first
key must look random. The table is copied into a larger one when it is half full.

>>> keys, values = table(4)
>>> with np.errstate(over="ignore"):
...     one = mixed(3, 5)
>>> look_up(keys, values, one, np.uint64(7)).item()
-1
>>> remember(keys, values, one, np.uint64(7), 11)
>>> look_up(keys, values, one, np.uint64(7)).item()
11
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herbrand.loops import in_place, run_often

Array = NDArray[Any]

LARGE = 2**20
"""Entries of a table (some MB) from which it grows by 2 and not by 4, as memory then counts more than
copying."""
UPPER, SHIFT = np.uint64(32), np.uint64(33)
FIRST_SPREAD, SECOND_SPREAD = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)


def table(size: int) -> tuple[Array, Array]:
    """The keys and numbers of an empty table; ``size`` must be a power of two."""
    return np.zeros((size, 2), np.uint64), np.full(size, -1, np.int64)


def larger(keys: Array, values: Array) -> tuple[Array, Array]:
    """A copy of a table with four times the size, or twice if it is large."""
    grown = table((4 if len(values) < LARGE else 2) * len(values))
    run_often(_copied, 4 * len(values), keys, values, *grown)
    return grown


@in_place
def mixed(one: Any, other: Any) -> Any:
    """Mix two numbers below 2^32 into one that looks random; no two pairs share it (the end of
    MurmurHash3)."""
    key = (np.uint64(one) << UPPER) | np.uint64(other)
    key = (key ^ (key >> SHIFT)) * FIRST_SPREAD
    key = (key ^ (key >> SHIFT)) * SECOND_SPREAD
    return key ^ (key >> SHIFT)


@in_place
def look_up(keys: Array, values: Array, one: Any, two: Any) -> Any:
    """The number stored for a key, or -1."""
    size = len(values)
    place = one & np.uint64(size - 1)
    while values[place] >= 0:
        if keys[place, 0] == one and keys[place, 1] == two:
            return values[place]
        place = (place + np.uint64(1)) & np.uint64(size - 1)
    return np.int64(-1)


@in_place
def remember(keys: Array, values: Array, one: Any, two: Any, number: Any) -> None:
    """Write a key that is not there into the first free place from its own on."""
    size = len(values)
    place = one & np.uint64(size - 1)
    while values[place] >= 0:
        place = (place + np.uint64(1)) & np.uint64(size - 1)
    keys[place, 0], keys[place, 1] = one, two
    values[place] = number


@in_place
def _copied(old_keys: Array, old_values: Array, keys: Array, values: Array) -> None:
    for i in range(len(old_values)):
        if old_values[i] >= 0:
            remember(keys, values, old_keys[i, 0], old_keys[i, 1], old_values[i])
