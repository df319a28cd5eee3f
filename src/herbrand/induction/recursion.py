"""Theories in which the target stands in bodies; such a theory counts by its least fixpoint.

Clauses that read the target are looked for among what the theory so far derives, so that none is its own
reason, as ``t(x, y) :- t(y, x)`` would be among the labels; they join while they pay."""

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
"""Clauses that are tried as the next one of a theory, at most."""

STARTS = 12
"""Recursive clauses that are tried with each of a few clauses to begin with."""

BASES = 4
"""The shortest clauses, and those that cover most a bit, to begin with."""


def reads(clause: Clause, predicate: str) -> bool:
    return any(literal.predicate == predicate for literal in clause.body)


@dataclass
class Recursion:
    """A search for a recursive theory. ``plain``: clauses without errors that do not read the target;
    ``bits``: the length of the best theory, which is ``theory`` once one is found that is shorter."""

    setting: Setting
    plain: list[Candidate]
    limits: Limits
    bits: float
    theory: list[Candidate] | None = None

    def run(self) -> list[Candidate] | None:
        """A theory that describes the examples in fewer bits, if there is one."""
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
        """Clauses that read the target where it is ``known``, for what those ``beside`` them leave, the
        shortest descriptions first."""
        pool = Pool(len(self.positive))
        Beam(self.setting, Aim.beside(beside, self.positive), limits, pool).run(self.setting.root(known))
        recursive = [c for c in pool.candidates() if reads(c.clause, self.setting.examples.target)]
        done = union(beside, len(self.positive))
        return sorted(recursive, key=lambda one: one.bits + Errors.of(done | one.covers, self.positive).bits)

    def _completed(
        self, theory: list[Candidate], steps: Sequence[Candidate], limits: Limits
    ) -> list[Candidate]:
        """The theory with clauses for what its fixpoint misses, while each of them pays, and without those
        that do not pay any more. Where no ``steps`` are given, clauses that read the target are looked for
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
        """The description of the examples by the fixpoint of a theory."""
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
            return np.ones(len(self.positive), bool)


def _first(candidates: list[Candidate], key: Callable[[Candidate], float]) -> list[Candidate]:
    return sorted(candidates, key=key)[:BASES]
