"""Bounds with variables by plain loops: a mass for every world, two rows for every choice of constants.

No independence: what is left is one linear program. It reads syntax and nothing else of the project; every
type and predicate of a theory is declared, and every type lists its constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from tests.oracles.worlds import GroundAtom, Universe

POSSIBLE = 1e-9


@dataclass(frozen=True)
class BoundedWorlds:
    """``universe`` has the worlds that observed facts leave; ``evidence`` is what is known of open atoms."""

    universe: Universe
    bounds: tuple[s.Bound, ...]
    evidence: tuple[tuple[GroundAtom, bool], ...]

    @staticmethod
    def of(theory: Theory) -> BoundedWorlds:
        domains: dict[str, list[s.Value]] = {}
        predicates: dict[str, tuple[Sequence[str], Sequence[s.Value] | None]] = {}
        closed = set()
        for statement in theory.statements:
            if isinstance(statement, s.TypeDeclaration):
                low, high = statement.bounds or (0, -1)
                listed = [constant.value for constant in statement.values or ()]
                domains[statement.name] = listed or list(range(low, high + 1))
            elif isinstance(statement, s.PredicateDeclaration):
                values = statement.values
                listed = None if values is None else [c.value for c in values if isinstance(c, s.Constant)]
                predicates[statement.name] = statement.types, listed
                closed |= {statement.name} if statement.role == "observed" else set()
        known: dict[GroundAtom, object] = {}
        evidence: dict[GroundAtom, bool] = {}
        for fact in theory.statements:
            if isinstance(fact, s.FactRows):
                for row in map(fact.row, range(fact.row_count)):
                    atom = fact.predicate, row[:-1] if fact.valued else row
                    if fact.predicate in closed:
                        known[atom] = row[-1] if fact.valued else fact.kind == "true"
                    else:
                        evidence[atom] = fact.kind == "true"
        universe = Universe(domains, predicates, known, frozenset(closed))
        bounds = tuple(statement for statement in theory.statements if isinstance(statement, s.Bound))
        return BoundedWorlds(universe, bounds, tuple(evidence.items()))

    def instances(self, bound: s.Bound) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each choice of constants in which worlds event and condition hold, and the condition."""
        given = bound.given or s.Truth(True)
        worlds = list(self.universe.worlds())
        for binding in self.universe.bindings(s.WeightedFormula(1.0, s.And((bound.event, given)))):
            told = np.array(list(map(self.universe.meaning(given, binding), worlds)))
            held = np.array(list(map(self.universe.meaning(bound.event, binding), worlds)))
            yield told & held, told

    def interval(self, event: s.Formula, given: s.Formula | None = None) -> tuple[float, float] | None:
        """Both ends of P(event | given and evidence), of closed formulas; ``None``: it cannot be given."""
        worlds = list(self.universe.worlds())
        told = np.array(list(map(self.universe.meaning(given or s.Truth(True), {}), worlds)))
        for atom, truth in self.evidence:
            told &= np.array([world[atom] is truth for world in worlds])
        held = told & np.array(list(map(self.universe.meaning(event, {}), worlds)))
        if self.extreme(-told.astype(float), np.ones(len(worlds))) > -POSSIBLE:
            return None
        low = self.extreme(held.astype(float), told.astype(float))
        return low, -self.extreme(-held.astype(float), told.astype(float))

    def extreme(self, costs: np.ndarray, sums_to_one: np.ndarray) -> float:
        """The least cost of masses that satisfy all bounds; raises where there are none."""
        rows = []
        for bound in self.bounds:
            for held, told in self.instances(bound):
                rows += [bound.lower * told - held, held - bound.upper * told]
        above = np.array(rows, float).reshape(-1, len(costs))
        found = linprog(costs, above, np.zeros(len(above)), sums_to_one[None], [1.0])
        assert found.status == 0, found.message
        return float(found.fun)
