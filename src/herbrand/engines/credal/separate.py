"""Networks in which every sentence bounds one row of one conditional table, whatever the others say.

Where the graph has no cycle and every sentence is ``P(x | one case of all parents of x)``, the distributions
are the products of such rows, each anywhere in its own interval. Sentences about several cases fit where
they say 0 or 1, for then they say it of every case that is possible.

>>> import herbrand as hb
>>> from herbrand.engines.credal.network_query import NetworkQuestion
>>> from herbrand.engines.credal.lowering import credal_network
>>> from herbrand.engines.credal.question import BoundQuestion
>>> theory = hb.parse("P(a) <= 0.3\\nP(b | a) in [0.6, 0.7]\\nP(not b | not a) = 0.75")
>>> part = NetworkQuestion(credal_network(hb.Model(theory).program), BoundQuestion(), True).whole
>>> for table in separate_tables(part):
...     print(table.parents, table.true.low.tolist(), table.false.low.tolist())
() [[0.0], [0.3]] [[1.0], [0.7]]
(0,) [[0.25, 0.6], [0.25, 0.7]] [[0.75, 0.4], [0.75, 0.30000000000000004]]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from herbrand.engines.credal.part import MOST_KEPT, MOST_PARENTS, NetworkPart
from herbrand.engines.credal.rounding import Enclosure, complement
from herbrand.engines.credal.sentence import Sentence


@dataclass(frozen=True, eq=False)
class RowTable:
    """The ends of each row of an atom's conditional table.

    ``true[end, case]`` encloses P(atom | case) at its lower (0) and upper end (1), ``false`` 1 minus it: each
    is exact where a sentence states it, so neither loses digits when it is small.
    """

    parents: tuple[int, ...]
    true: Enclosure
    false: Enclosure
    fixed: np.ndarray  # [case] bool: the two ends are one


class _Rows:
    """The tightest stated end of each row so far. An end is a number and whether it is that of the atom."""

    def __init__(self, parents: tuple[int, ...]) -> None:
        self.parents = parents
        self.ends: list[list[tuple[float, bool]]] = [
            [(0.0, True), (1.0, True)] for _ in range(2 ** len(parents))
        ]

    def add(self, case: int, positive: bool, lower: float, upper: float) -> None:
        stated = ((lower, True), (upper, True)) if positive else ((upper, False), (lower, False))
        low, high = self.ends[case]
        if _exact(stated[0]) > _exact(low):
            self.ends[case][0] = stated[0]
        if _exact(stated[1]) < _exact(high):
            self.ends[case][1] = stated[1]

    def table(self) -> RowTable | None:
        """``None`` where no number is within some row's bounds: its case must have probability 0."""
        if any(_exact(low) > _exact(high) for low, high in self.ends):
            return None
        stated = np.array([[end for end, _ in row] for row in self.ends]).T
        positive = np.array([[of_atom for _, of_atom in row] for row in self.ends]).T
        other = complement(stated)
        true = Enclosure(np.where(positive, stated, other.low), np.where(positive, stated, other.high))
        false = Enclosure(np.where(positive, other.low, stated), np.where(positive, other.high, stated))
        fixed = np.array([_exact(low) == _exact(high) for low, high in self.ends])
        return RowTable(self.parents, true, false, fixed)


def _exact(end: tuple[float, bool]) -> Fraction:
    value, of_atom = end
    return Fraction(value) if of_atom else 1 - Fraction(value)


@lru_cache(MOST_KEPT)
def separate_tables(part: NetworkPart) -> tuple[RowTable, ...] | None:
    """The table of every atom of a part; ``None`` where something says more than single rows do."""
    if not part.markov or part.graph.core:
        return None
    if max(map(len, part.graph.into), default=0) > MOST_PARENTS:
        return None
    rows = [_Rows(parents) for parents in part.graph.into]
    for sentence in part.sentences:
        if not _entered(sentence, rows):
            return None
    tables = [found.table() for found in rows]
    return None if any(table is None for table in tables) else tuple(t for t in tables if t is not None)


def _entered(sentence: Sentence, rows: Sequence[_Rows]) -> bool:
    """Enter a sentence in the table of its atom, if it is about rows of it one by one."""
    if sentence.lower <= 0 and sentence.upper >= 1:
        return True
    for atom in sentence.atoms:
        found = sentence.literal_on(atom, rows[atom].parents)
        if found is None:
            continue
        cases, positive = found
        sure = sentence.lower == sentence.upper and sentence.lower in (0.0, 1.0)
        if cases.sum() != 1 and not sure:
            return False
        for case in np.flatnonzero(cases):
            rows[atom].add(int(case), positive, sentence.lower, sentence.upper)
        return True
    return False
