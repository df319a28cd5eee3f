"""Clusters over large counts, whose tables are never made: one variable is always summed out.

A formula over independent variables is linear in each of its counts: given the others it tilts a count.
Summing that count out takes one interpolated number for each vector of the others, within a proved bound
(:mod:`herbrand.engines.lifted.cumulants`). Such a cluster sends one variable at a time; to send one it
sums out another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from herbrand.engines.lifted.cumulants import log_sums
from herbrand.engines.regions.counts import CountGraph, Line
from herbrand.engines.regions.graph import Scope
from herbrand.engines.regions.tables import along, summed


@dataclass(frozen=True, eq=False)
class WideCluster:
    """A ``scope`` and the factors in it; all of these are linear in each variable of ``lines``."""

    counts: CountGraph
    scope: Scope
    factors: tuple[Scope, ...]
    lines: Scope
    made: dict[int, Line] = field(default_factory=dict)

    @classmethod
    def of(cls, counts: CountGraph, scope: Scope, inside: Sequence[Scope]) -> WideCluster:
        """Cluster with the factors ``inside``; those over one variable are left to ``unary`` weights."""
        several = tuple(factor for factor in inside if len(factor) > 1)
        return cls(counts, scope, several, counts.lines(scope, several))

    @property
    def entries(self) -> float:
        """Number of entries of the largest table that is made: over all but the second
        longest linear variable."""
        return self.counts.narrow(self.scope, self.factors)

    def weighed(self, unary: Mapping[int, np.ndarray], keep: Collection[int]) -> np.ndarray:
        """Log-weights of the variables to keep; ``unary``: log-weights of each variable by itself."""
        out = max(set(self.lines) - set(keep), key=lambda v: len(self.counts.variables[v]))
        rest = tuple(variable for variable in self.scope if variable != out)
        base, slope = self._line(out)
        table = base + log_sums(self.counts.variables[out].by_count(unary[out]), slope)
        for variable in rest:
            table += along(unary[variable], (variable,), rest)
        return summed(table, [place for place, variable in enumerate(rest) if variable not in keep])

    def _line(self, variable: int) -> Line:
        """Intercept and slope of the sum of all factors along a variable."""
        if variable not in self.made:
            rest = tuple(v for v in self.scope if v != variable)
            base, slope = (np.zeros([len(self.counts.variables[v]) for v in rest]) for _ in range(2))
            for scope in self.factors:
                others = tuple(v for v in scope if v != variable)
                if variable in scope:
                    first, rise = self.counts.line(scope, variable)
                    slope += along(rise, others, rest)
                else:
                    first = self.counts.table(scope)
                base += along(first, others, rest)
            self.made[variable] = base, slope
        return self.made[variable]
