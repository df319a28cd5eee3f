"""How large the program of a query is, estimated before it is made.

>>> Size(entries=28, products=2, core=0, width=3).seconds < 1
True
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from herbrand.budget import allowed_bytes, readable
from herbrand.engines.credal.clusters import clusters_of
from herbrand.engines.credal.interval import LocalQuery
from herbrand.engines.credal.part import MOST_KEPT, NetworkPart
from herbrand.errors import BudgetError

MOST_WIDTH = 16
"""Atoms in one table."""
MOST_CORE = 10
"""Atoms on and above cycles, which have one table together."""
BYTES_AN_ENTRY = 2000
LEAST_SECONDS = 0.01
"""What the smallest program takes."""


@dataclass(frozen=True)
class Size:
    """Table entries and products of a program; ``core`` atoms on and above cycles, the widest table."""

    entries: int
    products: int
    core: int
    width: int

    @property
    def seconds(self) -> float:
        """A rough estimate for both ends, from measurements."""
        return LEAST_SECONDS + 1e-4 * self.entries + 1e-3 * self.products**2

    @property
    def bytes(self) -> int:
        return self.entries * BYTES_AN_ENTRY

    def fits(self, memory: int | None) -> bool:
        """Whether it is small enough to be made."""
        return self.core <= MOST_CORE and self.width <= MOST_WIDTH and self.bytes <= allowed_bytes(memory)

    def check(self, memory: int | None, query: str) -> None:
        """Raise before anything is made that is too large."""
        hint = "--engine ariel takes larger ones"
        if self.core > MOST_CORE:
            raise BudgetError(
                f"P({query}) depends on {self.core:,} atoms on or above cycles of the network; the exact "
                f"engine takes {MOST_CORE}, as it needs one table of all their cases",
                hint=hint,
            )
        if not self.fits(memory):
            raise BudgetError(
                f"P({query}) needs a table over {self.width:,} atoms, about {readable(float(self.bytes))} "
                "in all",
                hint=hint,
            )


@lru_cache(MOST_KEPT)
def size_of(part: NetworkPart, query: LocalQuery | None = None) -> Size:
    """The size of the program for a query, or for consistency alone."""
    core = len(part.graph.core)
    if core > MOST_CORE:
        return Size(0, 0, core, core)
    clusters = clusters_of(part, [] if query is None else [query.atoms])
    products = sum(2 ** (c.width - 1) for c in clusters if len(c.parents) < len(c.neighbours))
    for atom in part.graph.core:
        statement = part.graph.statement(atom)
        others = [other for other in statement.others if other in set(part.graph.core)]
        products += 2 ** (len(statement.parents) + len(others)) if others else 0
    widest = max([cluster.width for cluster in clusters], default=0)
    entries = 2**core + sum(2**cluster.width for cluster in clusters)
    return Size(entries, products, core, max(widest, core))
