"""Tables in log space over the counts of some variables: seen over more of them, summed, normalised."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from herbrand.engines.regions.graph import Scope


def along(table: np.ndarray, scope: Scope, whole: Scope) -> np.ndarray:
    """A table seen over more variables, to be broadcast."""
    sizes = dict(zip(scope, table.shape, strict=True))
    return table.reshape([sizes.get(variable, 1) for variable in whole])


def summed(table: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """Log-sums over axes; each sum is scaled by its own largest entry, so that rare counts keep digits."""
    if not axes:
        return table
    largest = table.max(axis=tuple(axes), keepdims=True)
    safe = np.where(np.isneginf(largest), 0.0, largest)
    with np.errstate(divide="ignore"):
        return np.squeeze(
            np.log(np.exp(table - safe).sum(axis=tuple(axes), keepdims=True)) + safe, tuple(axes)
        )


def normalised(table: np.ndarray) -> np.ndarray:
    """Log-probabilities; ``nan`` where nothing is possible."""
    with np.errstate(invalid="ignore"):
        return table - summed(table, range(table.ndim))


def times(counts: np.ndarray, message: np.ndarray) -> np.ndarray:
    """A message to one element, as often as elements have each profile [row]; 0 times minus infinity is 0."""
    impossible = np.isneginf(message)
    total = counts @ np.where(impossible, 0.0, message)
    return np.where((counts[:, impossible] > 0).any(axis=1), -np.inf, total)
