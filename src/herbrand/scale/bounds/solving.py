"""Solvers of a network's parts: worker processes of this machine, or Spark's executors.

Both apply a function to the rows of a query and store the results in a table.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pyarrow as pa

from herbrand.budget import allowed_bytes, readable
from herbrand.errors import BudgetError
from herbrand.relations.database import Database
from herbrand.relations.spark import Spark
from herbrand.scale.bounds.sweeping import SOLVED_SCHEMA, swept_each
from herbrand.scale.bounds.workers import Workers

SHARE_FOR_WORKERS = 0.4
"""Share of the memory allowed for worker processes; a database and this process have the rest."""
BYTES_A_WORKER = 250 << 20
FUNCTION = "herbrand.scale.bounds.sweeping:swept"


class PoolSolver:
    """Worker processes of this machine, beside a database that is here."""

    def __init__(self, database: Database, workers: Workers) -> None:
        self.database = database
        self.workers = workers

    @property
    def where(self) -> str:
        """Description of the solver."""
        return f"{self.workers.count} worker processes"

    def store_solved(self, table: str, query: str) -> None:
        """Solve the parts in the rows of a query, and store the intervals of their atoms as a table."""
        rows = self.database.arrow(query).to_batches(max_chunksize=1)
        solved = list(self.workers.worked(rows))
        self.database.put(table, pa.Table.from_batches(solved, SOLVED_SCHEMA))


class SparkSolver:
    """Spark's executors, each of which solves the parts that it holds."""

    def __init__(self, database: Spark) -> None:
        self.database = database

    @property
    def where(self) -> str:
        return "Spark's executors"

    def store_solved(self, table: str, query: str) -> None:
        self.database.make_by(table, query, swept_each, SOLVED_SCHEMA)


Solver = PoolSolver | SparkSolver


@contextlib.contextmanager
def solver(database: Database, memory: int | None) -> Iterator[Solver]:
    """The solver for this database; ``memory`` is the limit for everything together."""
    if isinstance(database, Spark):
        yield SparkSolver(database)
        return
    with Workers(FUNCTION, worker_count(memory)) as workers:
        yield PoolSolver(database, workers)


def database_memory(kind: str, memory: int | None) -> int | None:
    """Memory left for the database and this process if there are workers beside it."""
    return int(allowed_bytes(memory) * (1 - SHARE_FOR_WORKERS)) if kind == "duckdb" else memory


def worker_count(memory: int | None) -> int:
    """Number of workers that fit into memory, at most one for each processor."""
    allowed = int(allowed_bytes(memory) * SHARE_FOR_WORKERS)
    if allowed < BYTES_A_WORKER:
        raise BudgetError(
            f"a worker process takes about {readable(BYTES_A_WORKER)}, and the workers may use "
            f"{readable(allowed)} of {readable(allowed_bytes(memory))}",
            hint="allow more by --memory",
        )
    return max(1, min(os.cpu_count() or 1, allowed // BYTES_A_WORKER))
