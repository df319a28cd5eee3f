"""Rows of probabilities as files round them, made to add up to 1.

>>> normalised(np.array([[0.333, 0.333, 0.333]])).tolist()
[[0.3333333333333333, 0.3333333333333333, 0.3333333333333333]]
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from herbrand.errors import LanguageError, Span

ROUNDING = 0.01
"""Files give a few decimals: thirds to two of them are off by 0.01."""
SAME = 1e-13
"""Rows that are off by less are left as they are written."""


def refuse_bad_entry(values: np.ndarray, span_of: Callable[[int], Span]) -> None:
    """Raise for the first entry that is not finite and at least 0; ``span_of``: where an entry stands."""
    bad = np.flatnonzero(~((values >= 0) & np.isfinite(values)))
    if len(bad):
        message = f"{values[bad[0]]:g} is not a number of at least 0"
        raise LanguageError(message, span=span_of(int(bad[0])))


def refuse_bad_sum(rows: np.ndarray, what: str, hint: str, span_of: Callable[[int], Span]) -> None:
    """Raise for the first row that does not add up to 1 but for rounding; ``span_of``: where a row stands."""
    sums = rows.sum(axis=-1)
    wrong = np.flatnonzero(np.abs(sums - 1) > ROUNDING + SAME)
    if len(wrong):
        message = f"{what} add up to {sums[wrong[0]]:.6g}"
        raise LanguageError(message, span=span_of(int(wrong[0])), hint=f"{hint}, but for rounding")


def normalised(values: np.ndarray) -> np.ndarray:
    """Rows, along the last axis, scaled to add up to 1 where rounding put them off."""
    sums = values.sum(axis=-1, keepdims=True)
    return values / np.where(np.abs(sums - 1) > SAME, sums, 1.0)


def row_sums(numbers: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """What rows of these widths, one after another, add up to."""
    return np.add.reduceat(numbers, np.cumsum(widths) - widths) if len(widths) else numbers


def are_normal(numbers: np.ndarray, sums: np.ndarray) -> bool:
    """Whether rows of these sums hold no bad entry, and none is a bad row."""
    return not len(sums) or bool(numbers.min() >= 0 and (np.abs(sums - 1) <= ROUNDING + SAME).all())


def normalised_rows(numbers: np.ndarray, sums: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Rows of these sums and widths, scaled as :func:`normalised` does."""
    off = np.abs(sums - 1) > SAME
    return numbers / np.repeat(np.where(off, sums, 1.0), widths) if off.any() else numbers
