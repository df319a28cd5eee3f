"""Pool of clauses that a search generated and may use, by the examples that they cover.

>>> pool = Pool(examples=3)
>>> covers = np.array([True, False, True])
>>> pool.add(Pool.key(covers), 5.0, Clause("t", (0,), ()))
>>> [(one.bits, one.covers.tolist()) for one in pool.candidates()]
[(5.0, [True, False, True])]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from herbrand.induction.cover import Candidate, Errors
from herbrand.induction.evaluation import Clause
from herbrand.induction.vocabulary import LITERAL

MOST = 4_000
"""Most sets of examples in a pool; above, only the half whose clauses save most bits is kept."""

TIES = 4
"""Most clauses kept for one set of examples."""


@dataclass
class Pool:
    """The shortest clauses for each set of ``examples`` that they cover. ``wide``: clauses that also cover
    negatives, each with the bits that it would save without these exceptions, and its bits."""

    examples: int
    wide: dict[bytes, tuple[float, float, Clause]] = field(default_factory=dict)
    _clauses: dict[bytes, list[tuple[float, Clause]]] = field(default_factory=dict)

    @staticmethod
    def key(covers: np.ndarray) -> bytes:
        return np.packbits(covers).tobytes()

    def covers(self, key: bytes) -> np.ndarray:
        return np.unpackbits(np.frombuffer(key, np.uint8), count=self.examples).astype(bool)

    def __len__(self) -> int:
        return len(self._clauses)

    def wants(self, key: bytes, bits: float) -> bool:
        """False if ``TIES`` clauses that are no longer cover the same examples."""
        known = self._clauses.get(key, [])
        return len(known) < TIES or known[-1][0] > bits

    def add(self, key: bytes, bits: float, clause: Clause) -> None:
        clauses = self._clauses.setdefault(key, [])
        if all(clause != other for _, other in clauses):
            clauses.append((bits, clause))
            clauses.sort(key=lambda one: one[0])
            del clauses[TIES:]

    def add_wide(self, key: bytes, saving: float, bits: float, clause: Clause) -> None:
        if saving > self.wide.get(key, (0.0,))[0]:
            self.wide[key] = (saving, bits, clause)

    def widest(self, most: int) -> list[tuple[bytes, tuple[float, float, Clause]]]:
        """The ``most`` clauses in ``wide`` that would save most bits without their exceptions, best first."""
        return sorted(self.wide.items(), key=lambda one: (-one[1][0], one[1][1]))[:most]

    def candidates(self) -> list[Candidate]:
        """The shortest clause for each set of examples; clauses at most a literal longer are its ties."""
        candidates = []
        for key, clauses in self._clauses.items():
            bits, clause = clauses[0]
            ties = tuple(other for cost, other in clauses[1:] if cost <= bits + LITERAL)
            candidates.append(Candidate(clause, bits, self.covers(key), (), ties))
        return candidates

    def copy(self) -> Pool:
        """Copy of the pool that later additions do not change."""
        clauses = {key: list(known) for key, known in self._clauses.items()}
        return Pool(self.examples, dict(self.wide), clauses)

    def changes(self, before: Pool) -> dict[str, Any]:
        """Changes since ``before`` as plain lists: each changed set of examples with all its clauses, new
        sets in their order."""
        return {
            "clauses": [
                [key.hex(), [[bits, clause.to_list()] for bits, clause in known]]
                for key, known in self._clauses.items()
                if before._clauses.get(key) != known
            ],
            "wide": [
                [key.hex(), saving, bits, clause.to_list()]
                for key, (saving, bits, clause) in self.wide.items()
                if before.wide.get(key) != (saving, bits, clause)
            ],
        }

    def change(self, changes: Mapping[str, Any]) -> None:
        """Apply the lists of :meth:`changes`."""
        for key, known in changes["clauses"]:
            self._clauses[bytes.fromhex(key)] = [(bits, Clause.from_list(parts)) for bits, parts in known]
        for key, saving, bits, parts in changes["wide"]:
            self.wide[bytes.fromhex(key)] = (saving, bits, Clause.from_list(parts))

    def shrink(self, positive: np.ndarray, needed: set[bytes]) -> None:
        """If there are more than ``MOST`` sets of examples, keep ``MOST // 2`` whose clauses save most bits
        alone, and those ``needed``."""
        if len(self._clauses) <= MOST:
            return
        nothing = Errors.of(np.zeros(self.examples, bool), positive)

        def saving(one: Candidate) -> float:
            return nothing.bits - Errors.of(one.covers, positive).bits - one.bits

        kept = sorted(self.candidates(), key=saving, reverse=True)[: MOST // 2]
        needed = needed | {self.key(one.covers) for one in kept}
        self._clauses = {key: clauses for key, clauses in self._clauses.items() if key in needed}
