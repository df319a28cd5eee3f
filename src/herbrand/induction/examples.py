"""Labelled tuples of a target predicate: the examples of a search for clauses.

>>> from herbrand.induction.database import World
>>> database = Database.of([World(2, {"edge": [(0, 1)]})])
>>> examples = Examples.of("back", np.array([[1, 0]]), 2, database)
>>> examples.rows[examples.positive].tolist(), len(examples.rows)
([[1, 0]], 4)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from herbrand.induction.database import Database, Rows


@dataclass(frozen=True, eq=False)
class Examples:
    """Labelled tuples of a ``target``: ``rows``, and which of them are ``positive``. ``of_worlds``: whether
    the target has no arguments; then the rows are numbers of worlds."""

    target: str
    rows: Rows
    positive: np.ndarray
    of_worlds: bool = False

    @classmethod
    def of(cls, target: str, positives: Rows, arity: int, database: Database) -> Examples:
        """Build the examples of a closed world: every tuple that is not positive is negative."""
        rows = database.every_tuple(arity)
        positive = np.isin(database.codes(rows), database.codes(positives))
        return cls(target, rows, positive, arity == 0)

    def take(self, kept: np.ndarray) -> Examples:
        return Examples(self.target, self.rows[kept], self.positive[kept], self.of_worlds)
