"""Copies from one array into another for ariel's loops, compiled.

numba puts a message about shapes into each assignment of an array to a slice, and with it all that lists of
texts need. Every loop that calls such a one is compiled with that again: a third of the time that ariel's
first run on a machine took. The copies do the same in the order of the entries; nothing checks the shapes.

>>> import numpy as np
>>> kept = np.zeros(3)
>>> copy_row(np.array([0.5, 0.25]), kept, 2)
>>> kept.tolist()
[0.5, 0.25, 0.0]
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from herbrand.loops import loop

Array = NDArray[Any]


@loop
def fill_row(target: Array, count: int, value: float) -> None:
    """The first entries all get one value."""
    for i in range(count):
        target[i] = value


@loop
def copy_row(source: Array, target: Array, count: int) -> None:
    """The first entries of a row."""
    for i in range(count):
        target[i] = source[i]


@loop
def copy_table(source: Array, target: Array, count: int) -> None:
    """The first rows of a table."""
    for i in range(count):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]
