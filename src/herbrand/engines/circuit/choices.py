"""Independent choices and evidence as constraints with weights, compiled and summed.

>>> from herbrand.budget import UNLIMITED
>>> made = ChoiceConstraints()
>>> red, blue = made.choice([0.2, 0.3])
>>> made.stipulate(made.net.either([red, blue]), "red or blue")
>>> [round(share, 2) for share in made.shares([red, blue], UNLIMITED)]
[0.4, 0.6]
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.circuit.circuit import Circuit
from herbrand.engines.circuit.compile import compiled
from herbrand.engines.circuit.constraints import FALSE, TRUE, Constraints, negated
from herbrand.engines.circuit.network import WeightedConstraints
from herbrand.errors import ContradictionError

CERTAIN = 1e-12
"""What is left of a choice's probability below this is rounding."""
FEW_STATEMENTS = 64
"""Up to so many pieces of evidence are searched for a smallest set that has probability 0."""


@dataclass(frozen=True)
class Stipulation:
    """A literal that evidence fixes, and the text that names it."""

    literal: int
    text: str


class ChoiceConstraints(WeightedConstraints):
    """``normal``: variables whose two weights add up to 1; ``evidence``: literals that were required.

    ``whole``: single worlds are looked at, so that what a choice does not come to has no weight in them; sums
    over worlds need not care, and are cheaper without.
    """

    def __init__(self, whole: bool = False) -> None:
        super().__init__()
        self.whole = whole
        self.normal: set[int] = set()
        self.evidence: list[Stipulation] = []

    def choice(self, chances: Sequence[float]) -> list[int]:
        """The literals of a choice's outcomes, of which at most one holds: the first or a later one, and so
        on."""
        found: list[int] = []
        later = TRUE
        for place, chance in enumerate(chances):
            left = 1 - math.fsum(chances[:place])
            if chance <= 0.0:
                found.append(FALSE)
                continue
            taken = TRUE if left - chance <= CERTAIN else self._drawn_once(chance / left, later)
            found.append(self.net.every([later, taken]))
            later = self.net.every([later, negated(taken)])
        return found

    def _drawn_once(self, chance: float, later: int) -> int:
        """A two-way choice, to be drawn where ``later`` holds."""
        variable = self.net.variable()
        yes, no = 2 * variable, 2 * variable + 1
        if self.whole and later != TRUE:
            self.net.require([later, yes])
            yes, no = self.net.every([later, yes]), self.net.every([later, no])
        else:
            self.normal.add(variable)
        self.weigh(yes, math.log(chance))
        self.weigh(no, math.log1p(-chance))
        return 2 * variable

    def stipulate(self, literal: int, text: str) -> None:
        """Keep only worlds in which the literal holds."""
        self.evidence.append(Stipulation(literal, text))
        self.net.require([literal])

    def circuit(
        self, literals: Collection[int], budget: Budget, sums: bool = True, maximized: bool = False
    ) -> Circuit:
        """The circuit that tells of these literals; without ``sums``, of every choice too. ``maximized``:
        the best values of these are wanted, and the rest is summed out."""
        wanted = {literal >> 1 for literal in literals if literal >= 0} if maximized else ()
        told = {literal >> 1 for literal in literals if literal >= 0}
        told |= {literal >> 1 for literal in self.weights} - self.normal
        return compiled(self.net, budget, told, self.normal - told if sums else (), wanted)

    def shares(self, literals: Sequence[int], budget: Budget) -> list[float]:
        """The probability of each literal, given the evidence.

        Raises ``ContradictionError`` where the evidence holds in no world.
        """
        circuit, weights = self.circuit(literals, budget), self.log_weights()
        values = circuit.values(weights)
        if values[circuit.root] == -math.inf:
            raise impossible_evidence(self.smallest_evidence(budget))
        shares = circuit.shares(weights, values)
        return [share_of(shares, literal) for literal in literals]

    def smallest_evidence(self, budget: Budget) -> list[Stipulation]:
        """Evidence that holds together in no world, while it may without any one of them; empty where no
        world is left without any evidence."""
        stated = self.evidence
        if not _possible(self.net, budget, {s.literal for s in stated}):
            return []
        needed = list(stated)
        if len(stated) <= FEW_STATEMENTS:
            for one in stated:
                rest = [other for other in needed if other is not one]
                dropped = {s.literal for s in stated} - {s.literal for s in rest}
                if not _possible(self.net, budget, dropped):
                    needed = rest
        return needed


def share_of(shares: np.ndarray, literal: int) -> float:
    """The probability of a literal by that of each variable."""
    if literal in (TRUE, FALSE):
        return float(literal == TRUE)
    share = float(np.clip(shares[literal >> 1], 0.0, 1.0))
    return 1.0 - share if literal & 1 else share


def impossible_evidence(needed: Sequence[Stipulation]) -> ContradictionError:
    """Names the evidence that holds in no world."""
    shown = " and ".join(s.text for s in needed)
    hint = "give other evidence"
    if len(needed) == 1:
        hint = (
            "a fact of what rules derive is evidence, so some proof must be possible; what needs none is a "
            "fact of a predicate of its own, from which a rule derives"
        )
    return ContradictionError(f"the evidence has probability 0: {shown}", hint=hint)


def _possible(net: Constraints, budget: Budget, dropped: set[int]) -> bool:
    """Whether some world is left when these literals need not hold."""
    smaller = Constraints()
    smaller.gates, smaller.groups = list(net.gates), list(net.groups)
    for clause, owner in zip(net.clauses, net.owners, strict=True):
        if len(clause) == 1 and clause[0] in dropped:
            continue
        if clause or FALSE not in dropped:
            smaller.clauses.append(clause)
            smaller.owners.append(owner)
    smaller.consistent = () not in smaller.clauses
    circuit = compiled(smaller, budget)
    return circuit.total(np.zeros((len(smaller), 2))) > -math.inf
