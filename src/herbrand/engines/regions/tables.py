"""Log-space tables over the counts of some variables: broadcast, summed, normalised."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from herbrand.engines.regions.graph import Scope


def along(table: np.ndarray, scope: Scope, whole: Scope) -> np.ndarray:
    """Table over ``scope``, reshaped to broadcast over the variables ``whole``."""
    sizes = dict(zip(scope, table.shape, strict=True))
    return table.reshape([sizes.get(variable, 1) for variable in whole])


def summed(table: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """Log-sums over axes; each sum is scaled by its own largest entry, so that rare counts
    keep their digits."""
    if not axes:
        return table
    axes = tuple(axes)
    largest = table.max(axis=axes, keepdims=True)
    if largest.min(initial=np.inf) == -np.inf:
        largest[largest == -np.inf] = 0.0
    with np.errstate(divide="ignore"):
        return np.log(np.exp(table - largest).sum(axis=axes)) + largest.squeeze(axes)


def normalised(table: np.ndarray) -> np.ndarray:
    """Log-probabilities; ``nan`` if nothing is possible."""
    with np.errstate(invalid="ignore"):
        return table - summed(table, range(table.ndim))


def spread(table: np.ndarray, ways: Sequence[np.ndarray | None]) -> np.ndarray:
    """Sum of a table about a few elements over all choices of these out of more. ``ways`` [row of more, row
    of few] along each axis: number of choices, None where all elements are taken; empty if they are along
    every axis. 0 times minus infinity is 0."""
    if not len(ways):
        return table
    impossible = table == -np.inf
    if not impossible.any():
        return _carried(table, ways)
    total = _carried(np.where(impossible, 0.0, table), ways)
    return np.where(_carried(impossible.astype(float), ways) > 0, -np.inf, total)


def _carried(table: np.ndarray, ways: Sequence[np.ndarray | None]) -> np.ndarray:
    """Multiply each axis by its matrix, if it has one."""
    for axis, matrix in enumerate(ways):
        if matrix is not None:
            if table.ndim == 1:
                return matrix @ table
            table = np.moveaxis(np.tensordot(matrix, table, (1, axis)), 0, axis)
    return table


def drawn(table: np.ndarray, chances: Sequence[np.ndarray | None]) -> np.ndarray:
    """Log-beliefs about a few elements drawn at random, from those about many. ``chances`` [row of many, row
    of few] along each axis: log-probabilities of the draw, or None where all are taken."""
    for axis, matrix in enumerate(chances):
        if matrix is not None:
            wide = np.moveaxis(table, axis, 0)
            wide = wide.reshape(len(matrix), 1, -1) + matrix[:, :, None]
            rest = [size for place, size in enumerate(table.shape) if place != axis]
            table = np.moveaxis(summed(wide, (0,)).reshape(-1, *rest), 0, axis)
    return table


def times(counts: np.ndarray, message: np.ndarray) -> np.ndarray:
    """Sum of a log-message to one element over elements with these counts of profiles [row]; 0 times minus
    infinity is 0."""
    impossible = np.isneginf(message)
    total = counts @ np.where(impossible, 0.0, message)
    return np.where((counts[:, impossible] > 0).any(axis=1), -np.inf, total)
