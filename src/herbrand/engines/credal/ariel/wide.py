"""Factors over too many atoms to enumerate their cases: a sound and cheap relaxation.

It takes one sentence P(event | given) and one atom at a time. The cases of the factor then differ only by
whether the atom, the event and the condition hold: six states at most, with the atom's interval, the
sentence, and the interval of P(given), by Frechet bounds, where the condition is a conjunction of literals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.credal.ariel.scopes import Pattern
from herbrand.engines.credal.ariel.simplex import least, workspace
from herbrand.engines.credal.ariel.sweeps import Beliefs, Factors, learn, visit
from herbrand.engines.credal.rounding import at_least, at_most
from herbrand.loops import often

OPERATIONS = 1_000
"""Estimated operations of the programs for one sentence and one atom."""


@dataclass(frozen=True, eq=False)
class Wide(Factors):
    """Factors over more than ``WIDEST`` atoms."""

    def sweep(self, beliefs: Beliefs, budget: Budget) -> int:
        for factor, atoms in enumerate(self.atoms):
            if not visit(factor, self.atoms, self.visited, beliefs):
                continue
            for row in range(self.scope.start[factor], self.scope.start[factor + 1]):
                for column, atom in enumerate(atoms.tolist()):
                    interval = self._interval(row, column, atoms, beliefs)
                    if interval is None:
                        return factor
                    learn(atom, *interval, beliefs)
        return -1

    def _interval(
        self, row: int, column: int, atoms: np.ndarray, beliefs: Beliefs
    ) -> tuple[float, float] | None:
        """The interval of one atom by one sentence, or ``None`` where the sentence cannot hold."""
        pattern = self.scope.patterns[self.scope.pattern[row]]
        truth = (np.arange(len(pattern.event)) >> (len(atoms) - 1 - column)) & 1
        kind = np.where(pattern.given, 1 + pattern.event, 0)
        states = np.unique(truth * 3 + kind)
        holds, kind = (states // 3).astype(float), states % 3
        given, both = (kind > 0).astype(float), (kind == 2).astype(float)
        atom = atoms[column]
        least_given, most_given = _conjunction(pattern, beliefs.lower[atoms], beliefs.upper[atoms])
        stated_lower, stated_upper = self.scope.ends
        forms = np.array(
            [
                at_least(both, given, float(stated_lower[row])),
                at_most(both, given, float(stated_upper[row])),
                holds - beliefs.lower[atom] + 1e-10,
                beliefs.upper[atom] - holds + 1e-10,
                given - least_given + 1e-10,
                most_given - given + 1e-10,
            ]
        )
        room, scale = workspace(len(forms), len(states)), np.ones(len(states))
        solved = often(least, OPERATIONS)
        low, _ = solved(holds, forms, len(forms), scale, 1.0, room)
        high, _ = solved(-holds, forms, len(forms), scale, 1.0, room)
        if low > 1 + 1e-6 or -high < -1e-6:
            return None
        return low, -high


def _conjunction(pattern: Pattern, lower: np.ndarray, upper: np.ndarray) -> tuple[float, float]:
    """Frechet bounds on P(given); [0, 1] where the condition is no conjunction of literals."""
    cases = np.flatnonzero(pattern.given)
    free = int(np.bitwise_or.reduce(cases ^ cases[0])) if len(cases) else 0
    if len(cases) != 2 ** free.bit_count():
        return 0.0, 1.0
    columns = len(lower)
    fixed = [c for c in range(columns) if not free >> (columns - 1 - c) & 1]
    truths = [bool(cases[0] >> (columns - 1 - c) & 1) for c in fixed]
    lows = [lower[c] if t else 1 - upper[c] for c, t in zip(fixed, truths, strict=True)]
    highs = [upper[c] if t else 1 - lower[c] for c, t in zip(fixed, truths, strict=True)]
    return max(0.0, 1.0 - sum(1.0 - low for low in lows)), min(highs, default=1.0)
