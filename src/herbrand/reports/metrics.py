"""Metrics of probabilities against labels: numbers and curves with exact definitions.

Average precision: with rows ranked by probability, the highest first, the mean over the true rows of the
share of true rows among all that rank at least as high. Rows of equal probability are one step (``ties
kept``, as in scikit-learn). ``expected`` is its mean over all orders of such rows. Probabilities that differ
only by rounding (:data:`ROUNDING`) count as equal, so that figures are the same on every machine.

>>> labels, probabilities = np.array([1, 0, 1, 0]), np.array([0.9, 0.6, 0.6, 0.1])
>>> round(average_precision(labels, probabilities), 4)
0.8333
>>> round(expected_average_precision(labels, probabilities), 4)
0.9167
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

LEAST = 1e-15
"""Least probability under a logarithm; smaller ones are raised to it."""
ROUNDING = 1e-12
"""Relative difference of two neighbouring probabilities up to which they count as equal."""


def average_precision(labels: np.ndarray, probabilities: np.ndarray) -> float:
    """Average precision with ties kept: each distinct probability is one step. ``nan`` without true rows."""
    total = 0.0
    for group in _groups(labels, probabilities):
        total += group.true * (group.true_before + group.true) / (group.before + group.size)
    return _share(total, float(labels.sum()))


def expected_average_precision(labels: np.ndarray, probabilities: np.ndarray) -> float:
    """Mean of average precision over all orders of the rows of equal probability."""
    total = 0.0
    for group in _groups(labels, probabilities):
        place = np.arange(group.size)
        others = (group.true - 1) / max(1, group.size - 1)
        ahead = group.true_before + 1 + place * others
        total += group.true / group.size * float((ahead / (group.before + place + 1)).sum())
    return _share(total, float(labels.sum()))


def log_loss(chances: np.ndarray) -> float:
    """Mean of -log of the probability given to each atom's true value."""
    return 0.0 - float(np.log(np.clip(chances, LEAST, 1.0)).mean()) if len(chances) else float("nan")


@dataclass(frozen=True)
class Cut:
    """Predictions at a threshold: number of rows at or above it, and of true rows among these.

    Undefined figures are ``nan``: precision without predicted rows, recall without true rows.
    """

    threshold: float
    rows: int
    right: int
    true: int
    false: int

    @property
    def precision(self) -> float:
        return _share(self.right, self.rows)

    @property
    def recall(self) -> float:
        return _share(self.right, self.true)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 if no true row is predicted."""
        return _share(2.0 * self.right, self.rows + self.true)

    @property
    def false_positive_rate(self) -> float:
        return _share(self.rows - self.right, self.false)


def equal(one: float, other: float) -> bool:
    """Whether two probabilities are equal up to rounding."""
    return math.isclose(one, other, rel_tol=ROUNDING)


def cut_at(labels: np.ndarray, probabilities: np.ndarray, threshold: float) -> Cut:
    """The cut at a threshold."""
    called, true = probabilities >= threshold * (1 - ROUNDING), int(labels.sum())
    return Cut(threshold, int(called.sum()), int(labels[called].sum()), true, len(labels) - true)


def cuts(labels: np.ndarray, probabilities: np.ndarray) -> list[Cut]:
    """A cut for each distinct probability, the highest first: the points of both curves."""
    true = int(labels.sum())
    order = np.argsort(-probabilities, kind="stable")
    ranked = probabilities[order]
    ends = _ends(ranked)
    right = np.cumsum(labels[order])[ends - 1] if len(ends) else np.empty(0, int)
    counts = zip(ranked[ends - 1].tolist(), ends.tolist(), right.tolist(), strict=True) if len(ends) else ()
    return [Cut(p, int(rows), int(hits), true, len(labels) - true) for p, rows, hits in counts]


def roc_area(curve: list[Cut]) -> float:
    """Area under the ROC curve: the probability that a true row ranks above a false one, with ties counted
    half. ``nan`` if all rows are true, or none is."""
    if not curve or not curve[0].true or not curve[0].false:
        return float("nan")
    area = before_right = before_wrong = 0.0
    for one in curve:
        wrong = one.rows - one.right
        area += (wrong - before_wrong) * (one.right + before_right) / 2
        before_right, before_wrong = float(one.right), float(wrong)
    return area / (curve[0].true * curve[0].false)


@dataclass(frozen=True)
class Bin:
    """Rows with probabilities in an interval: their number, mean probability, and share of true rows."""

    lower: float
    upper: float
    rows: int
    probability: float
    truth: float


def calibration(labels: np.ndarray, probabilities: np.ndarray, bins: int = 10) -> list[Bin]:
    """Rows by intervals of equal width, of which the last is closed above; empty ones are left out."""
    place = np.minimum((probabilities * bins * (1 + ROUNDING)).astype(np.int64), bins - 1)
    filled = []
    for number in np.unique(place).tolist():
        own = place == number
        filled.append(
            Bin(
                number / bins,
                (number + 1) / bins,
                int(own.sum()),
                float(probabilities[own].mean()),
                float(labels[own].mean()),
            )
        )
    return filled


def calibration_error(bins: list[Bin]) -> float:
    """Expected calibration error: mean over rows of the distance between the mean probability and the share
    of true rows of their interval."""
    rows = sum(b.rows for b in bins)
    return sum(b.rows * abs(b.probability - b.truth) for b in bins) / rows if rows else float("nan")


@dataclass(frozen=True)
class _Group:
    """Rows of one probability: their number, that of true ones, and the same of all rows above."""

    size: int
    true: int
    before: int
    true_before: int


def _groups(labels: np.ndarray, probabilities: np.ndarray) -> Iterator[_Group]:
    """Groups of equal probability, the highest first."""
    order = np.argsort(-probabilities, kind="stable")
    ranked, truth = probabilities[order], labels[order].astype(np.int64)
    before = true_before = 0
    for end in _ends(ranked).tolist():
        true = int(truth[before:end].sum())
        yield _Group(end - before, true, before, true_before)
        before, true_before = end, true_before + true


def _ends(ranked: np.ndarray) -> np.ndarray:
    """End index of each group of equal probabilities, in descending order."""
    if not len(ranked):
        return np.empty(0, int)
    return np.append(np.flatnonzero(-np.diff(ranked) > ROUNDING * ranked[:-1]) + 1, len(ranked))


def _share(total: float, of: float) -> float:
    return total / of if of else float("nan")
