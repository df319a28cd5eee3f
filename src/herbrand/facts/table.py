"""What is known of one predicate: its facts as sorted rows of indices.

>>> table = FactTable.empty(2, "closed")
>>> table.true.shape, table.weights, table.world
((0, 2), None, 'closed')
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from herbrand.facts.column import Index

World = Literal["open", "closed"]
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FactTable:
    """Rows of domain indices, sorted and unique; a many-valued predicate's last column is its value.

    The arrays are read-only and stored column by column, so that ``true[:, 0]`` is contiguous.
    ``log_odds`` are the sum of the opinions about each soft row, and ``probabilities`` the one opinion that
    counts as much; a probability alone would lose what many sure opinions add up to.
    ``weights`` is ``None`` where no fact has one; 1 for a fact without, among others that have.
    """

    true: Index  # [n, columns]
    false: Index  # [m, columns]
    soft: Index  # [s, columns]
    probabilities: Numbers  # [s]
    log_odds: Numbers  # [s]
    weights: Numbers | None  # [n]
    world: World

    def __post_init__(self) -> None:
        for array in (self.true, self.false, self.soft, self.probabilities, self.log_odds, self.weights):
            if array is not None:
                array.flags.writeable = False

    @staticmethod
    @cache
    def empty(columns: int, world: World) -> FactTable:
        """The table without facts: one for all predicates, of which there may be a million."""
        none = np.empty((0, columns), np.int32)
        return FactTable(none, none, none, np.empty(0), np.empty(0), None, world)

    @property
    def columns(self) -> int:
        return self.true.shape[1]

    def __repr__(self) -> str:
        return (
            f"FactTable({len(self.true):,} true, {len(self.false):,} false, "
            f"{len(self.soft):,} soft, {self.world})"
        )
