"""Compiled copies from one array into another for ariel's loops.

numba compiles an error message about shapes into each assignment of an array to a slice, and with it all its
support for lists of strings. Every loop that calls such an assignment is compiled with that again: this took
a third of the time of ariel's first run on a machine. These functions copy entry by entry, without a check of
the shapes.

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
    """Set the first ``count`` entries to one value."""
    for i in range(count):
        target[i] = value


@loop
def copy_row(source: Array, target: Array, count: int) -> None:
    """Copy the first ``count`` entries of a row."""
    for i in range(count):
        target[i] = source[i]


@loop
def copy_table(source: Array, target: Array, count: int) -> None:
    """Copy the first ``count`` rows of a table."""
    for i in range(count):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]
