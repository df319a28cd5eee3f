"""What is known of the atoms of a program whose facts are in a database: counts here, rows there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from herbrand.contraction.relational_databases import Database
from herbrand.errors import FactsError
from herbrand.program.evidence import LATENT, Evidence, Known
from herbrand.program.program import Program
from herbrand.scale.facts import StoredFacts
from herbrand.scale.loading import PredicateTables

NONE = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class StoredKnown(Known):
    """How many atoms are settled; which, only the database knows."""

    settled: int = 0

    @property
    def all_latent(self) -> bool:
        return self.default == LATENT and not self.settled

    def latent_count(self) -> int:
        return self.atom_count - self.settled if self.default == LATENT else 0


class StoredEvidence(Evidence):
    """As :class:`Evidence`, as far as counts go; ``tables`` name the rows."""

    def __init__(self, program: Program, stored: StoredFacts) -> None:
        super().__init__(program)
        self.stored = stored
        self.database: Database = stored.database

    def tables(self, predicate: str) -> PredicateTables:
        return self.stored.tables[predicate]

    def columns(self, predicate: str) -> list[str]:
        """The columns of a predicate's arguments."""
        return [f"a{place}" for place in range(len(self.sizes(predicate)))]

    def _known(self, predicate: str) -> Known:
        sizes, (true, false, _) = self.sizes(predicate), self.tables(predicate).counts
        world = self.program.table(predicate).world
        if not self.is_valued(predicate):
            if world == "closed":
                return StoredKnown(sizes, NONE, NONE, 0, true)
            return StoredKnown(sizes, NONE, NONE, LATENT, true + false)
        known = StoredKnown(sizes, NONE, NONE, LATENT, true)
        if world == "closed" and known.latent_count():
            raise FactsError(
                f"{known.latent_count():,} atoms of {predicate} have no value, though it is observed",
                hint="list a value for every atom of an observed many-valued predicate, or declare it open",
            )
        return known
