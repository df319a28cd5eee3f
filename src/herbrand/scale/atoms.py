"""Numbers of the latent ground atoms of facts in a database.

Atoms are ordered by predicate, in the order of the signature, then by arguments: the order of
:class:`~herbrand.program.ground.LatentAtoms`, but with gaps for settled atoms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from herbrand.errors import BudgetError
from herbrand.relations.expression import Expression, Given, literal
from herbrand.relations.relation import Relation
from herbrand.scale.evidence import StoredEvidence


@dataclass(frozen=True, eq=False)
class StoredAtoms:
    """Numbering of the atoms of predicates that have latent ones."""

    evidence: StoredEvidence

    @cached_property
    def starts(self) -> dict[str, int]:
        """Number of each predicate's first atom."""
        starts, start = {}, 0
        for name in self.evidence.latent_predicates:
            starts[name] = start
            start += math.prod(self.evidence.sizes(name))
        if start >= 2**62:
            raise BudgetError(f"there are {float(start):.1e} atoms, more than can be numbered")
        return starts

    def number(self, predicate: str, arguments: Sequence[Given]) -> Expression:
        """Number of the atom with these arguments, as an expression."""
        stride, parts = 1, list[Expression]()
        for argument, size in zip(reversed(arguments), reversed(self.evidence.sizes(predicate)), strict=True):
            parts.append(literal(argument) * stride)
            stride *= size
        return sum(reversed(parts), literal(self.starts[predicate]))

    def latent(self, predicate: str) -> Relation:
        """Arguments of the latent atoms, one row each."""
        known = self.evidence.settled(predicate)
        return self.evidence.every_atom(predicate).without(known, self.evidence.columns(predicate))
