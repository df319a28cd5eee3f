"""What is known of the atoms of a program whose facts are in a database: counts here, rows there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from herbrand.contraction.relational_databases import Database
from herbrand.errors import FactsError
from herbrand.program.evidence import LATENT, Evidence, Known, codes_of
from herbrand.program.program import Program
from herbrand.scale.facts import StoredFacts
from herbrand.scale.loading import PredicateTables

NONE = np.empty(0, np.int64)
ASKED = "asked"


@dataclass(frozen=True, eq=False)
class StoredKnown(Known):
    """How many atoms are settled; which, only the database knows: ``query`` asks it for code and value."""

    settled: int = 0
    database: Database | None = None
    query: str = ""

    @property
    def all_latent(self) -> bool:
        return self.default == LATENT and not self.settled

    def latent_count(self) -> int:
        return self.atom_count - self.settled if self.default == LATENT else 0

    def lookup(self, codes: np.ndarray) -> np.ndarray:
        found = np.full(len(codes), self.default, dtype=np.int64)
        if len(codes) and self.settled:
            assert self.database is not None
            self.database.put(ASKED, pa.table({"place": np.arange(len(codes)), "code": codes}))
            matched = f"SELECT a.place, k.value FROM {ASKED} a JOIN ({self.query}) k ON k.code = a.code"
            rows = self.database.arrow(matched)
            self.database.drop(ASKED)
            found[rows["place"].to_numpy()] = rows["value"].to_numpy()
        return found


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

    def known_query(self, predicate: str) -> str:
        """``code`` and ``value`` of the atoms of a predicate that the facts list."""
        tables, columns = self.tables(predicate), self.columns(predicate)
        code = mixed(columns, self.sizes(predicate))
        if self.is_valued(predicate):
            return f"SELECT {code} AS code, a{len(columns)} AS value FROM {tables.true}"
        return (
            f"SELECT {code} AS code, 1 AS value FROM {tables.true} UNION ALL "
            f"SELECT {code} AS code, 0 AS value FROM {tables.false}"
        )

    def _known(self, predicate: str) -> Known:
        sizes, (true, false, _) = self.sizes(predicate), self.tables(predicate).counts
        world = self.program.table(predicate).world
        asked = self.database, self.known_query(predicate) if math.prod(sizes) < 2**63 else ""
        if not self.is_valued(predicate):
            if world == "closed":
                return StoredKnown(sizes, NONE, NONE, 0, true, *asked)
            return StoredKnown(sizes, NONE, NONE, LATENT, true + false, *asked)
        known = StoredKnown(sizes, NONE, NONE, LATENT, true, *asked)
        if world == "closed" and known.latent_count():
            raise FactsError(
                f"{known.latent_count():,} atoms of {predicate} have no value, though it is observed",
                hint="list a value for every atom of an observed many-valued predicate, or declare it open",
            )
        return known


def mixed(arguments: Sequence[str], sizes: Sequence[int]) -> str:
    """Numbers below these sizes as one mixed-radix number, in SQL; raises where 64 bits cannot hold it.

    >>> mixed(["a0", "a1"], [3, 5])
    '(CAST(a0 AS BIGINT)) * 5 + CAST(a1 AS BIGINT)'
    """
    codes_of(np.empty((0, len(sizes)), np.int64), sizes)
    code = "CAST(0 AS BIGINT)"
    for place, (argument, size) in enumerate(zip(arguments, sizes, strict=True)):
        own = f"CAST({argument} AS BIGINT)"
        code = f"({code}) * {size} + {own}" if place else own
    return code
