"""Normalisation of rows of probabilities that files round, so that they add up to 1.

>>> normalised(np.array([[0.333, 0.333, 0.333]])).tolist()
[[0.3333333333333333, 0.3333333333333333, 0.3333333333333333]]
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from herbrand.errors import LanguageError, Span

ROUNDING = 0.01
"""Largest error of a row's sum that is accepted: thirds with two decimals are off by 0.01."""
SAME = 1e-13
"""Rows whose sum has at most this error stay as they are written."""


def refuse_bad_entry(values: np.ndarray, span_of: Callable[[int], Span]) -> None:
    """Raise LanguageError for the first entry that is negative or not finite.

    ``span_of``: span of an entry by its index.
    """
    bad = np.flatnonzero(~((values >= 0) & np.isfinite(values)))
    if len(bad):
        message = f"{values[bad[0]]:g} is not a number of at least 0"
        raise LanguageError(message, span=span_of(int(bad[0])))


def refuse_bad_sum(rows: np.ndarray, what: str, hint: str, span_of: Callable[[int], Span]) -> None:
    """Raise LanguageError for the first row whose sum differs from 1 by more than rounding.

    ``what``: subject of the message. ``span_of``: span of a row by its index.
    """
    sums = rows.sum(axis=-1)
    wrong = np.flatnonzero(np.abs(sums - 1) > ROUNDING + SAME)
    if len(wrong):
        message = f"{what} add up to {sums[wrong[0]]:.6g}"
        raise LanguageError(message, span=span_of(int(wrong[0])), hint=f"{hint}, but for rounding")


def normalised(values: np.ndarray) -> np.ndarray:
    """The array with rows along the last axis scaled to add up to 1, unless they already do."""
    sums = values.sum(axis=-1, keepdims=True)
    return values / np.where(np.abs(sums - 1) > SAME, sums, 1.0)


def row_sums(numbers: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Sums of consecutive rows of these widths."""
    return np.add.reduceat(numbers, np.cumsum(widths) - widths) if len(widths) else numbers


def are_normal(numbers: np.ndarray, sums: np.ndarray) -> bool:
    """Whether no entry is negative or not finite, and all row sums are 1 up to rounding."""
    return not len(sums) or bool(numbers.min() >= 0 and (np.abs(sums - 1) <= ROUNDING + SAME).all())


def normalised_rows(numbers: np.ndarray, sums: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Consecutive rows with these sums and widths, scaled as in :func:`normalised`."""
    off = np.abs(sums - 1) > SAME
    return numbers / np.repeat(np.where(off, sums, 1.0), widths) if off.any() else numbers
