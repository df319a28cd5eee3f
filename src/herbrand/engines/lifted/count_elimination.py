"""Choose the counts to sum out by their cumulants, before tables over the others are contracted.

Where all terms are linear in a count, given the others, summing it out takes a number for each vector of the
others (see :mod:`~herbrand.engines.lifted.cumulants`): three clauses over three types of 1,000 constants are
a million numbers, not a thousand million. Two counts that are summed out in this way share no table.

>>> three = Structure({"a": 1001, "b": 1001, "c": 1001}, {("a", "b", "c"): frozenset("abc")})
>>> found = three.cheapest("log")
>>> found.summed, found.entries
(('a',), 1002001.0)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from herbrand.budget import ANY_MACHINE, UNLIMITED, Budget
from herbrand.contraction import Contraction, plan
from herbrand.engines.lifted.cumulants import DEGREE, FEW
from herbrand.engines.lifted.factors import Axes
from herbrand.errors import BudgetError, OutOfTimeError

WORTH_IT = 1e6
"""Operations up to which a contraction is left as it is."""

GRADIENT = 3
"""Cost of a contraction with its gradient, in contractions."""

AN_ENTRY = 4 * DEGREE
"""Operations for one interpolated number and its slope."""


@dataclass(frozen=True)
class CountElimination:
    """A choice of axes to sum out first. ``entries``: of the tables that the axes ``summed`` leave;
    ``operations`` and ``bytes``: in all, those of the gradient included."""

    summed: tuple[str, ...]
    entries: float
    operations: float
    bytes: float


@dataclass(frozen=True)
class Structure:
    """The tables over counts. ``sizes``: of axes; ``linear``: for each scope of tables over several axes,
    those in which all of them are linear."""

    sizes: Mapping[str, float]
    linear: Mapping[Axes, frozenset[str]]

    @classmethod
    def of(cls, sizes: Mapping[str, float], tables: Iterable[tuple[Axes, frozenset[str]]]) -> Structure:
        """Structure of ``tables``, each with its scope and the axes in which it is linear."""
        linear: dict[Axes, frozenset[str]] = {}
        for scope, lines in tables:
            linear[scope] = linear.get(scope, lines) & lines
        return cls(sizes, linear)

    def cheapest(self, algebra: str, budget: Budget = UNLIMITED) -> CountElimination:
        """Choose axes greedily, that with the smallest table over its neighbours first, while the total gets
        cheaper."""
        best = self._planned((), algebra, budget)
        if best.operations <= WORTH_IT:
            return best
        for axis in sorted(self._candidates(), key=lambda name: (self._around(name), name)):
            if any(axis in self.neighbours(other) for other in best.summed):
                continue
            tried = self._planned((*best.summed, axis), algebra, budget)
            if tried.operations < best.operations:
                best = tried
        return best

    def lines(self, scope: Axes) -> frozenset[str]:
        """The axes in which all tables over several axes within a scope are linear."""
        inside = [other for other in self.linear if len(other) > 1 and set(other) <= set(scope)]
        bent = {name for other in inside for name in set(other) - self.linear[other]}
        return frozenset(name for name in scope if self.sizes[name] > 1) - bent

    def narrow(self, scope: Axes) -> float:
        """Entries of a scope's tables if one axis is always summed out, where any one axis may be wanted;
        infinity where that is impossible."""
        lines = sorted((self.sizes[name] for name in self.lines(scope)), reverse=True)
        return self.entries(scope) / lines[1] if len(lines) > 1 else math.inf

    def neighbours(self, axis: str) -> Axes:
        """The other axes of all tables that have this axis."""
        return tuple(sorted({name for scope in self.linear if axis in scope for name in scope} - {axis}))

    def entries(self, names: Axes) -> float:
        return float(math.prod(self.sizes[name] for name in names))

    def _candidates(self) -> list[str]:
        return [
            name
            for name, size in self.sizes.items()
            if size > FEW and self.neighbours(name)
            if all(name in line for scope, line in self.linear.items() if name in scope and len(scope) > 1)
        ]

    def _around(self, axis: str) -> float:
        return self.entries(self.neighbours(axis))

    def _planned(self, summed: Axes, algebra: str, budget: Budget) -> CountElimination:
        new_scopes = {self.neighbours(axis) for axis in summed}
        kept = {scope for scope in self.linear if not set(scope) & set(summed)}
        alone = {(name,) for name in self.sizes if name not in summed}
        sizes = {name: int(size) for name, size in self.sizes.items() if name not in summed}
        entries = sum(self._around(axis) for axis in summed)
        scopes = tuple(sorted({*new_scopes, *kept, *alone}))
        try:
            whole = Contraction(scopes, (), sizes, algebra=algebra)
            planned = plan(whole, None, ANY_MACHINE, gradient=True, budget=budget)
        except OutOfTimeError:
            raise
        except BudgetError:
            return CountElimination(summed, entries, math.inf, math.inf)
        tables = sum(map(self.entries, scopes))
        operations = GRADIENT * planned.operations + tables + AN_ENTRY * entries
        return CountElimination(summed, entries, operations, planned.bytes + 8 * (3 * tables + 6 * entries))
