"""Whether facts are more than memory holds, known before they are read.

Only those that a database reads where they are, Parquet files and DuckDB files, are measured: their rows are
known without reading them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from herbrand.budget import Budget, holds_database, readable
from herbrand.facts.source import FactSource

BYTES_A_CELL = 45
"""Of memory, at the most, while facts are read and sorted; measured on 20 million cells of numbers."""

DISK_A_CELL = 20
"""Of a database with the facts numbered, and of what is written on the way; measured on 200 million."""


@dataclass(frozen=True)
class TooLarge:
    """``why`` memory does not do; ``disk``: bytes that the facts take in a database, as far as is known."""

    why: str
    disk: float = 0.0


def cells_of(sources: Iterable[FactSource], read: Collection[str] | None = None) -> int:
    """The cells of the facts that are known without reading them. ``read``: the tables that are read of
    databases; all of them if not given."""
    return sum(source.cells(read) for source in sources)


def facts_too_large(cells: float, budget: Budget) -> TooLarge | None:
    """Whether so many are more than memory holds; never where a database could not be opened either."""
    allowed = budget.bytes
    if not holds_database(allowed):
        return None
    if cells * BYTES_A_CELL <= allowed:
        return None
    needed = readable(cells * BYTES_A_CELL)
    return TooLarge(
        f"the facts need about {needed} in memory, and {readable(allowed)} are allowed", cells * DISK_A_CELL
    )
