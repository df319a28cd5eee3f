"""Choice of a set of clauses from many candidates: the theory that describes the labels in the fewest bits.

>>> positive = np.array([True, True, True, True, False])
>>> def candidate(covers: str, bits: float) -> Candidate:
...     return Candidate(Clause("t", (0,), ()), bits, np.array([c == "1" for c in covers]))
>>> pool = [candidate("11000", 5), candidate("00110", 5), candidate("11110", 9), candidate("11111", 1)]
>>> [one.bits for one in exact_cover(pool, positive)]
[9]

A theory pays if the labels cost fewer bits with it, by more than its own bits. Labels without errors cost one
bit; else the errors are counted first, among the examples that the theory covers and among the others, and
then located.

>>> round(float(error_bits(30, 0, 30, 0)), 1), round(float(error_bits(30, 2, 30, 1)), 1)
(1.0, 21.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from herbrand.induction.evaluation import Clause

# Bits


Number = Any
"""A count, or an array of counts."""


@lru_cache(maxsize=64)
def _log_factorials(size: int) -> np.ndarray:
    """Log2 of the factorials of 0 to ``size``, cached: a search asks for few sizes, very often."""
    return np.concatenate([[0.0], np.cumsum(np.log2(np.arange(1, size + 1)))])


def choice_bits(many: Number, few: Number, most: int) -> Number:
    """Bits that say which ``few`` of ``many`` are meant, the log2 of a binomial coefficient; ``many`` is at
    most ``most``."""
    table = _log_factorials(most)
    many, few = np.asarray(many, np.int64), np.asarray(few, np.int64)
    return table[many] - table[few] - table[many - few]


def error_bits(covered: Number, wrong: Number, others: Number, missed: Number) -> Number:
    """Bits that say which of the covered examples are negative, and which of the others are positive.

    Literals cost the same however many examples there are, but the more there are, the better some literal
    fits their errors by chance. So errors count less from 32 examples on, down to a half, as if a literal
    cost half the logarithm of the number of examples."""
    most = int(np.max(np.add(covered, others), initial=0))
    share = np.clip(5 / np.log2(max(most, 2)), 0.5, 1.0)
    counted = np.log2(np.add(covered, 1)) + np.log2(np.add(others, 1))
    located = choice_bits(covered, wrong, most) + choice_bits(others, missed, most)
    return np.where(np.add(wrong, missed) > 0, 1 + share * (counted + located), 1.0)


# The search


MOST_CLAUSES = 24


@dataclass(frozen=True, eq=False)
class Candidate:
    """A clause of the target, its bits, and which examples it covers; ``helpers`` define the predicates that
    were invented for it; ``ties``: clauses that cover the same examples."""

    clause: Clause
    bits: float
    covers: np.ndarray
    helpers: tuple[Clause, ...] = ()
    ties: tuple[Clause, ...] = ()


@dataclass(frozen=True)
class Errors:
    """Errors of a theory: ``missed`` positives, ``wrong`` negatives that it covers, and the examples
    ``covered``, of ``positives`` and ``examples`` in all."""

    missed: int
    wrong: int
    covered: int
    positives: int
    examples: int

    @classmethod
    def of(cls, covers: np.ndarray, positive: np.ndarray) -> Errors:
        missed = int((positive & ~covers).sum())
        wrong = int((covers & ~positive).sum())
        return cls(missed, wrong, int(covers.sum()), int(positive.sum()), len(positive))

    @classmethod
    def left_by(cls, theory: Sequence[Candidate], positive: np.ndarray) -> Errors:
        return cls.of(union(theory, len(positive)), positive)

    @property
    def total(self) -> int:
        return self.missed + self.wrong

    @cached_property
    def bits(self) -> float:
        others = self.examples - self.covered
        return float(error_bits(self.covered, self.wrong, others, self.missed))

    def saved(self, right: np.ndarray, wrong: np.ndarray) -> np.ndarray:
        """Bits saved by covering more examples: ``right`` positives and ``wrong`` negatives."""
        covered = self.covered + right + wrong
        missed = np.maximum(self.missed - right, 0)
        return self.bits - error_bits(covered, self.wrong + wrong, self.examples - covered, missed)

    def within(self, noise: float) -> bool:
        """Whether at most this share of the positives is missed, and of the covered examples wrong."""
        return self.missed <= noise * self.positives and self.wrong <= noise * self.covered


BEGINNINGS = 8
"""Most candidates that a theory may begin with though they do not pay alone."""


def union(theory: Sequence[Candidate], examples: int) -> np.ndarray:
    covers = np.zeros(examples, bool)
    for one in theory:
        covers |= one.covers
    return covers


def bits_of(theory: Sequence[Candidate]) -> float:
    """Bits of the clauses of a theory."""
    return sum(one.bits for one in theory)


def description(theory: Sequence[Candidate], positive: np.ndarray) -> float:
    """Bits of a theory and of the errors that it leaves."""
    return Errors.left_by(theory, positive).bits + bits_of(theory)


def shortest_cover(
    pool: Sequence[Candidate], positive: np.ndarray, most: int = MOST_CLAUSES
) -> list[Candidate]:
    """Add candidates one by one while the description gets shorter, then try to drop or replace each. If at
    most one pays, start from each of the best too: a candidate that does not pay alone may pay beside
    another."""
    if not pool:
        return []
    whole = _Pool(pool)
    theory = _added([], whole, positive, most)
    if len(theory) < 2:
        best = np.argsort(-whole.saved(np.zeros(len(positive), bool), positive), kind="stable")
        theories = [theory, *(_added([pool[n]], whole, positive, most) for n in best[:BEGINNINGS])]
        theory = min(theories, key=lambda t: description(t, positive))
    for _ in range(3):
        before = description(theory, positive)
        for one in list(theory):
            rest = [other for other in theory if other is not one]
            changed = min(rest, _added(rest, whole, positive, most), key=lambda t: description(t, positive))
            if description(changed, positive) < description(theory, positive) - 1e-9:
                theory = changed
                break
        if description(theory, positive) >= before - 1e-9:
            return theory
    return theory


class _Pool:
    """Candidates in tables: what each covers, and its bits."""

    def __init__(self, pool: Sequence[Candidate]) -> None:
        self.own = pool
        self.covers = np.stack([one.covers for one in pool]).astype(np.float32)
        self.bits = np.array([one.bits for one in pool])

    def saved(self, covers: np.ndarray, positive: np.ndarray) -> np.ndarray:
        """Bits that each candidate saves beside a theory that covers ``covers``."""
        right = self.covers @ (positive & ~covers).astype(np.float32)
        wrong = self.covers @ (~positive & ~covers).astype(np.float32)
        return Errors.of(covers, positive).saved(right, wrong) - self.bits


def _added(theory: Sequence[Candidate], pool: _Pool, positive: np.ndarray, most: int) -> list[Candidate]:
    chosen = list(theory)
    covers = union(chosen, len(positive))
    while len(chosen) < most:
        saved = pool.saved(covers, positive)
        best = int(np.argmax(saved))
        if saved[best] <= 1e-9:
            break
        chosen.append(pool.own[best])
        covers = covers | pool.own[best].covers
    return chosen


def exact_cover(pool: Sequence[Candidate], positive: np.ndarray, most: int = MOST_CLAUSES) -> list[Candidate]:
    """Choose candidates that cover no negative and together as many positives as they can, in few bits.
    Greedy choice by three weights of the cost; the best of the three theories is returned."""
    right = [one for one in pool if not (one.covers & ~positive).any()]
    if not right:
        return []
    table = np.stack([one.covers for one in right])
    costs = np.array([one.bits for one in right])
    theories = []
    for power in (0.0, 0.5, 1.0):
        chosen: list[Candidate] = []
        left = positive.copy()
        while left.any() and len(chosen) < most:
            gains = (table & left).sum(1) / costs**power - 1e-6 * costs
            best = int(np.argmax(gains))
            if not (right[best].covers & left).any():
                break
            chosen.append(right[best])
            left &= ~right[best].covers
        theories.append(_without_needless(chosen, positive))
    return min(theories, key=lambda t: (Errors.left_by(t, positive).missed, bits_of(t)))


def _without_needless(theory: Sequence[Candidate], positive: np.ndarray) -> list[Candidate]:
    kept = list(theory)
    for one in sorted(theory, key=lambda c: -c.bits):
        rest = [other for other in kept if other is not one]
        if not (positive & one.covers & ~union(rest, len(positive))).any():
            kept = rest
    return kept


def best_theory(
    pool: Sequence[Candidate], positive: np.ndarray, noise: float, most: int = MOST_CLAUSES
) -> list[Candidate]:
    """The theory of the shortest description, if its errors are within the noise, else the one with fewer
    errors; without noise, one that covers no negative."""
    exact = exact_cover(pool, positive, most)
    if not noise:
        return exact
    short = shortest_cover(pool, positive, most)
    errors, others = (Errors.left_by(theory, positive) for theory in (short, exact))
    if not errors.within(noise):
        return exact if others.total < errors.total else short
    return min(short, exact, key=lambda theory: description(theory, positive) if theory else np.inf)
