"""Where a literal holds in a world that is known, as a relation of ones and zeros ready to be contracted.

>>> import herbrand as hb
>>> model = hb.Model(hb.parse("predicate f(t, t): observed"), {"f": [("a", "b")]})
>>> axes, relation = Indicators(Evidence(model.program)).of(Literal("f", ("x", "y"), (0,)))
>>> axes, relation.to_dense().tolist()
(('x', 'y'), [[1.0, 0.0], [1.0, 1.0]])
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from herbrand.contraction.expression import Axes
from herbrand.contraction.relation import Dense, Relation, Sparse
from herbrand.program.evidence import LATENT, Evidence
from herbrand.program.program import FALSE, Literal

Pattern = tuple[int | None, ...]
"""For each argument the constant that it is, or ``None`` for a variable."""


class Indicators:
    """Relations by literal; those that differ in the names of variables only are made once.

    An atom of which nothing is known makes no literal hold.
    """

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self._made: dict[tuple[str, tuple[int, ...], Pattern], Relation] = {}

    def of(self, literal: Literal) -> tuple[Axes, Relation]:
        """The names of the literal's variables, argument by argument, and where it holds."""
        pattern = tuple(a if isinstance(a, int) else None for a in literal.arguments)
        axes = tuple(a for a in literal.arguments if isinstance(a, str))
        key = (literal.predicate, literal.allowed, pattern)
        if key not in self._made:
            self._made[key] = self._relation(*key)
        return axes, self._made[key]

    def _relation(self, predicate: str, allowed: tuple[int, ...], pattern: Pattern) -> Relation:
        sizes = self.evidence.sizes(predicate)
        shape = tuple(size for size, constant in zip(sizes, pattern, strict=True) if constant is None)
        rows, listed = self._listed(predicate, allowed)
        rows = _selected(rows, pattern)
        if not shape:
            return Dense(torch.tensor(float(bool(len(rows)) == listed), dtype=torch.float64))
        values = torch.full((len(rows),), float(listed), dtype=torch.float64)
        return Sparse.of(rows, values, shape, default=float(not listed))

    def _listed(self, predicate: str, allowed: tuple[int, ...]) -> tuple[np.ndarray, bool]:
        """Rows of arguments, and whether the literal holds for these, or for all others."""
        known = self.evidence.known(predicate)
        table = self.evidence.program.table(predicate)
        if self.evidence.is_valued(predicate):
            return table.true[np.isin(table.true[:, -1], allowed)][:, :-1], True
        if allowed != FALSE:
            return table.true, True
        return (table.false, True) if known.default == LATENT else (table.true, False)


def _selected(rows: np.ndarray, pattern: Sequence[int | None]) -> np.ndarray:
    """The rows that have the pattern's constants, without the columns of these."""
    kept = np.ones(len(rows), dtype=bool)
    for position, constant in enumerate(pattern):
        if constant is not None:
            kept &= rows[:, position] == constant
    free = [position for position, constant in enumerate(pattern) if constant is None]
    return rows[kept][:, free]
