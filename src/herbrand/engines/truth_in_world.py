"""Whether formulas hold in one world: no ground row that forbids worlds without them holds there.

Takes closed formulas, and how to look up the world's atoms; grounds no more than the formulas speak of.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.reading import LookUp
from herbrand.language.syntax import Formula
from herbrand.program.evidence import Evidence
from herbrand.program.ground import SATISFIED, GroundConjunction, LatentAtoms, ground_template
from herbrand.program.lower import forbidding
from herbrand.program.template import literals_of


@dataclass(frozen=True, eq=False)
class ChosenWorld:
    """``look_up`` gives 1 for the value of each latent atom; ``budget``: what grounding may take."""

    evidence: Evidence
    look_up: LookUp
    budget: Budget
    _known: dict[frozenset[str], tuple[LatentAtoms, np.ndarray]] = field(default_factory=dict)

    def holds(self, formula: Formula) -> bool:
        """Whether a closed formula is true; ``BudgetError`` where it speaks of too many atoms."""
        templates = forbidding(self.evidence.program, formula)
        atoms, values = self._atoms(
            frozenset(x.predicate for t in templates for x in literals_of(t.conjunction))
        )
        grounded = (ground_template(t, self.evidence, atoms, self.budget) for t in templates)
        return not any(g.multiplicity and rows_that_hold(g.conjunction, values).any() for g in grounded)

    def _atoms(self, predicates: frozenset[str]) -> tuple[LatentAtoms, np.ndarray]:
        """The latent atoms of these predicates and their values."""
        if predicates not in self._known:
            atoms = LatentAtoms(self.evidence, self.budget, predicates)
            values = [self.look_up(name, codes).argmax(1) for name, codes in atoms.codes.items()]
            self._known[predicates] = atoms, np.concatenate([np.empty(0, np.int64), *values])
        return self._known[predicates]


def rows_that_hold(conjunction: GroundConjunction, values: np.ndarray) -> np.ndarray:
    found = np.ones(len(conjunction), dtype=bool)
    for column, allowed in zip(conjunction.atoms.T, conjunction.allowed, strict=True):
        latent = column != SATISFIED
        found[latent] &= np.isin(values[column[latent]], allowed)
    for block in conjunction.blocks:
        some = np.zeros(len(conjunction), dtype=bool)
        for piece in block.pieces:
            some[piece.origin[rows_that_hold(piece, values)]] = True
        found &= some == block.some
    return found
