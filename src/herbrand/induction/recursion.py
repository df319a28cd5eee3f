"""Search for theories in which the target occurs in bodies; such a theory is scored by its least fixpoint.

A clause that reads the target is looked for with the target as the labels say, to be paired with one that
does not, and as the theory so far derives it. In the latter case none is its own reason, as
``t(x, y) :- t(y, x)`` may be among the labels. Clauses join while they save bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from herbrand.errors import BudgetError
from herbrand.induction.beam import Aim, Beam, Setting
from herbrand.induction.cover import Candidate, Errors, bits_of, union
from herbrand.induction.evaluation import Clause, evaluated
from herbrand.induction.limits import Limits
from herbrand.induction.pool import Pool
from herbrand.induction.simpler import covering

WIDE = 10
"""Most clauses that are tried as the next one of a theory."""

STARTS = 12
"""Most recursive clauses that are paired with each base."""

BASES = 4
"""Number of bases: the shortest clauses, and as many that cover most examples for each bit."""


def reads(clause: Clause, predicate: str) -> bool:
    return any(literal.predicate == predicate for literal in clause.body)


@dataclass
class Recursion:
    """A search for a recursive theory. ``plain``: clauses without errors that do not read the target;
    ``bits``: those of the best theory so far, which is ``theory`` once a shorter one than at the start is
    reached."""

    setting: Setting
    plain: list[Candidate]
    limits: Limits
    bits: float
    theory: list[Candidate] | None = None

    def run(self) -> list[Candidate] | None:
        """Search for a theory that describes the examples in fewer bits; ``None`` if there is none."""
        bases = _first(self.plain, lambda c: c.bits) + _first(self.plain, lambda c: -c.covers.sum() / c.bits)
        bases = list(dict.fromkeys(bases))
        narrow = replace(self.limits, beam=max(self.limits.beam // 2, 4))
        for base in bases[:2]:
            self._try([base], [], narrow)
        steps = self._candidates(self.positive, [], narrow)
        pairs = [[base, step] for step in steps[:STARTS] for base in bases]
        pairs = [pair for pair in pairs if bits_of(pair) < self.bits and not self.limits.over]
        for pair in sorted(pairs, key=self.length)[: STARTS // 2]:
            self._try(pair, steps, self.limits)
        for base in bases if self.theory is None else ():
            self._try([base], [], self.limits)
        return self.theory

    @property
    def positive(self) -> np.ndarray:
        return self.setting.examples.positive

    def _try(self, start: list[Candidate], steps: Sequence[Candidate], limits: Limits) -> None:
        if limits.over or bits_of(start) >= self.bits:
            return
        theory = self._completed(start, steps, limits)
        bits = self.length(theory)
        if bits < self.bits - 1e-9 and self.errors(theory).within(limits.noise):
            self.theory, self.bits = theory, bits

    def _candidates(self, known: np.ndarray, beside: Sequence[Candidate], limits: Limits) -> list[Candidate]:
        """Clauses that read the target, true where ``known``, for the positives that those ``beside`` leave;
        the shortest descriptions first."""
        pool = Pool(len(self.positive))
        Beam(self.setting, Aim.beside(beside, self.positive), limits, pool).run(self.setting.root(known))
        recursive = [c for c in pool.candidates() if reads(c.clause, self.setting.examples.target)]
        done = union(beside, len(self.positive))
        return sorted(recursive, key=lambda one: one.bits + Errors.of(done | one.covers, self.positive).bits)

    def _completed(
        self, theory: list[Candidate], steps: Sequence[Candidate], limits: Limits
    ) -> list[Candidate]:
        """Add clauses for the positives that the theory's fixpoint misses, while each saves bits, and drop
        clauses that no longer do. If no ``steps`` are given, clauses that read the target are looked for
        among what the theory derives: none is then its own reason."""
        bits = self.length(theory)
        while len(theory) < limits.clauses:
            covers = self._fixpoint(theory)
            left = self.positive & ~covers
            if not left.any() or (covers & ~self.positive).any():
                break
            whole = replace(theory[0], bits=0.0, covers=covers)
            others = steps or ([] if limits.over else self._candidates(covers, [whole], limits))
            right = [c for c in (*self.plain, *others) if not (c.covers & ~self.positive).any()]
            shares = {one: (one.covers & left).sum() / one.bits for one in right}
            right = sorted(right, key=shares.__getitem__, reverse=True)[:WIDE]
            if not right:
                break
            more = min(([*theory, one] for one in right), key=self.length)
            if self.length(more) >= bits:
                break
            theory, bits = more, self.length(more)
        for one in list(theory):
            rest = [other for other in theory if other is not one]
            if rest and self.length(rest) <= bits:
                theory, bits = rest, self.length(rest)
        return theory

    def length(self, theory: Sequence[Candidate]) -> float:
        """Bits of a theory and of the errors of its fixpoint."""
        return bits_of(theory) + self.errors(theory).bits

    def errors(self, theory: Sequence[Candidate]) -> Errors:
        return Errors.of(self._fixpoint(theory), self.positive)

    def _fixpoint(self, theory: Sequence[Candidate]) -> np.ndarray:
        clauses = [c for one in theory for c in (*one.helpers, one.clause)]
        self.limits.effort.spend(2)
        try:
            database = evaluated(clauses, self.setting.database)
            return covering(clauses, self.setting.examples, database)
        except BudgetError:
            # A theory too large to evaluate is scored as if it covered every example.
            return np.ones(len(self.positive), bool)


def _first(candidates: list[Candidate], key: Callable[[Candidate], float]) -> list[Candidate]:
    return sorted(candidates, key=key)[:BASES]
