"""The least or greatest value of a linear function over a program, proved.

What counts is ``bound``: a value that no solution goes beyond, whether or not the search came to its end.
Every bound is checked in outward-rounded or rational arithmetic (:mod:`.duals`, :mod:`.polynomial`).
``value`` is that of the best point found. Programs with products are searched by :mod:`.branching`; where
that finds no good point soon, SCIP is asked for one.

>>> from herbrand.engines.credal.polynomial import Assembly
>>> made = Assembly()
>>> x = made.variables(2, 0.0, 1.0)
>>> made.row(x, np.ones(2), 0.5, 0.5)
>>> round(optimum(made.program(), x[:1], np.ones(1), least=False, seconds=9).bound, 12)
0.5
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from herbrand.engines.credal.branching import Proof, Search
from herbrand.engines.credal.polynomial import PolynomialProgram, tightened
from herbrand.engines.credal.scip_search import Request, SearchProcess, search_installed

TOLERANCE = 1e-6
SOON = 0.5
"""Seconds for which a search looks for points by itself."""
SHARE = 0.3
"""How much of the time that is left SCIP may take to suggest one."""
Watch = Callable[[float], None]
"""Called with the gap that is left, while a search goes on."""
SCIP = SearchProcess()


class InfeasibleError(Exception):
    """It is proved that nothing satisfies the program."""


@dataclass(frozen=True)
class Optimum:
    """``bound`` is proved; ``value`` was reached (``None``: nothing found in time); ``nodes`` searched.

    ``proved``: the two are within the tolerance of each other. ``more`` goes on for some seconds with a
    search that was stopped.
    """

    bound: float
    value: float | None
    nodes: int
    more: Callable[[float], Optimum] | None = field(default=None, compare=False, repr=False)
    proved: bool = True

    @property
    def gap(self) -> float:
        """How far the bound may be from the optimum."""
        return 1.0 if self.value is None else abs(self.bound - self.value)


def optimum(
    program: PolynomialProgram,
    variables: np.ndarray,
    factors: np.ndarray,
    *,
    least: bool,
    seconds: float,
    tolerance: float = TOLERANCE,
    watch: Watch | None = None,
) -> Optimum:
    """The least or greatest value of factors times variables; the tolerance is relative to it.

    Raises :class:`InfeasibleError`.
    """
    cost = np.zeros(program.size)
    np.add.at(cost, variables, factors if least else -factors)
    found = tightened(program)
    if found is None:
        raise InfeasibleError
    ends = np.where(cost > 0, found.upper, found.lower), np.where(cost > 0, found.lower, found.upper)
    sizes = [abs(float(cost[at] @ end[at])) for end in ends if len(at := np.flatnonzero(cost))]
    largest = max(sizes, default=0.0)
    search = Search(found, cost, tolerance, largest if math.isfinite(largest) else 1.0)
    return _Run(search, 1.0 if least else -1.0).on(seconds, watch)


@dataclass(frozen=True, eq=False)
class _Run:
    """A search that may be gone on with; ``sign`` is -1 where the greatest value is asked for."""

    search: Search
    sign: float

    def on(self, seconds: float, watch: Watch | None = None) -> Optimum:
        until = time.monotonic() + seconds
        search = self.search
        asked = search.suggested or not search.has_products or not search_installed()
        proof = search.run(until if asked else min(until, time.monotonic() + SOON), watch)
        if not proof.done and not asked:
            left = (until - time.monotonic()) * SHARE
            request = Request(search.program, search.cost, left)
            search.suggest(SCIP.best_point(request, until) if left > 0 else None)
            proof = search.run(until, watch)
        return self._read(proof)

    def _read(self, proof: Proof) -> Optimum:
        if proof.bound == math.inf:
            raise InfeasibleError
        value = None if proof.value is None else self.sign * proof.value
        more = None if proof.done or not self.search.has_products else self.on
        return Optimum(self.sign * proof.bound, value, proof.nodes, more, proof.done)
