"""Average precision and the other figures of a score by plain loops over rows and orders."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence


def average_precision_with_ties_kept(labels: Sequence[bool], probabilities: Sequence[float]) -> float:
    """The mean, over true rows, of the share of true rows among those at least as probable."""
    shares = []
    for label, probability in zip(labels, probabilities, strict=True):
        if label:
            above = [own for own, p in zip(labels, probabilities, strict=True) if p >= probability]
            shares.append(sum(above) / len(above))
    return sum(shares) / len(shares)


def average_precision_over_all_orders(labels: Sequence[bool], probabilities: Sequence[float]) -> float:
    """The mean over every order of the rows in which probabilities do not rise."""
    found = []
    for order in itertools.permutations(range(len(labels))):
        ranked = [probabilities[i] for i in order]
        if all(a >= b for a, b in itertools.pairwise(ranked)):
            shares, true = [], 0
            for place, i in enumerate(order, 1):
                true += labels[i]
                if labels[i]:
                    shares.append(true / place)
            found.append(sum(shares) / len(shares))
    return sum(found) / len(found)


def log_loss(labels: Sequence[bool], probabilities: Sequence[float]) -> float:
    losses = [-math.log(max(p if y else 1 - p, 1e-15)) for y, p in zip(labels, probabilities, strict=True)]
    return sum(losses) / len(losses)


def calibration_error(labels: Sequence[bool], probabilities: Sequence[float]) -> float:
    total = 0.0
    for number in range(10):
        own = [
            (y, p)
            for y, p in zip(labels, probabilities, strict=True)
            if (number <= p * 10 < number + 1) or (number == 9 and p == 1)
        ]
        if own:
            total += abs(sum(y for y, _ in own) - sum(p for _, p in own))
    return total / len(labels)
