"""Probabilities of closed formulas, by elimination of a ground network whose log-partition is known.

The probability of a formula over a few atoms is a sum of entries of their joint distribution: a table of
zeros over the atoms changes nothing, and the gradient by its entries is that distribution. So many
formulas are read from one elimination, as long as their tables do not make it wide; if they do, it is
done for each half of them. Atoms that were summed out as leaves need no table: they hang from others
(:mod:`.leaf_joints`). Nor do atoms of different components, which are independent. A formula with
helpers, or with many cases, is made hard, and the log-partition is computed again.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, cast

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.components import Core, chained
from herbrand.engines.elimination import Eliminated, Elimination, planned, planned_entirely
from herbrand.engines.leaf_joints import Scope, anchored_scopes
from herbrand.errors import BudgetError, OutOfTimeError
from herbrand.factors.graph import Array, Assembly, FactorGraph, Tables
from herbrand.factors.ground_graph import ground_cases, ground_graph
from herbrand.factors.pieces import together
from herbrand.language.syntax import (
    And,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    children,
)
from herbrand.program.ground import Ground, rows_in
from herbrand.program.normal_form import MOST_LEAVES, case_count

MOST_CASES, MOST_CASES_ALONE = 2**12, 2**MOST_LEAVES
"""Joint values of a formula's atoms up to which it has a table, among others and alone."""
FEW_CASES = 16
"""Number of cases that are enumerated, which is then faster than combining tables of a formula's parts, and
gives narrower chains than a table."""

FEW = 1e7
"""Operations up to which several formulas are computed together, whatever they would cost separately."""

GRADIENT = 4
"""Cost of all shares, in partitions."""


@dataclass(frozen=True, eq=False)
class TruthTable:
    """Atoms of a formula, and the combinations of their values for which it ``holds``."""

    scope: Scope
    holds: Array

    def over(self, scope: Scope) -> Array:
        """Truth table with an axis for each atom of a larger scope."""
        own = iter(self.holds.shape)
        return self.holds.reshape([next(own) if atom in self.scope else 1 for atom in scope])


class _Lowered(NamedTuple):
    """A formula; if they are few, the ``cases`` in which it is false. ``table`` is None if it has helpers or
    would be large. The table of a formula with many cases is made of its parts': a parity of n atoms has 2^(n
    - 1) cases."""

    formula: Formula
    cases: Ground | None
    table: TruthTable | None


@dataclass(frozen=True, eq=False)
class FormulaShares:
    """Probabilities of formulas. ``sums``: result of the ``elimination`` of all; ``allowed`` raises if
    another elimination is too large."""

    ground: Ground
    elimination: Elimination
    sums: Eliminated
    budget: Budget
    allowed: Callable[[Elimination], None]

    def of(self, formulas: Sequence[Formula]) -> list[float]:
        """Probability of each formula."""
        lowered = list(map(self._lowered, formulas))
        tables = (one.table for one in lowered if one.table is not None)
        scopes = {table.scope for table in tables if table.holds.size <= MOST_CASES}
        shares = {scope: self._own(scope) for scope in scopes if len(scope) < 2}
        shares |= self._joint(sorted(scope for scope in scopes if len(scope) > 1))
        return [
            self._alone(one)
            if one.table is None or one.table.scope not in shares
            else min(1.0, float(shares[one.table.scope][one.table.holds].sum()))
            for one in lowered
        ]

    def _negated(self, formula: Formula) -> Ground:
        self.budget.check()
        return self.ground.negation(formula, self.budget, rows_in(self.budget))

    def _lowered(self, formula: Formula) -> _Lowered:
        if case_count(formula) <= FEW_CASES or isinstance(formula, Exists | Forall):
            cases = self._negated(formula)
            return _Lowered(formula, cases, _table_of_cases(cases, self.budget))
        tables = [self._lowered(part).table for part in children(formula)]
        table = None if None in tables else self._joined(formula, cast(list[TruthTable], tables))
        return _Lowered(formula, None, table)

    def _factor_of(self, table: TruthTable) -> FactorGraph:
        """Graph of one factor, which forbids the entries that are false."""
        joint = Assembly(self.elimination.graph.sizes[: self.elimination.core.atom_count])
        logs = np.where(table.holds, 0.0, -np.inf)[None]
        joint.add_tables(Tables(np.array([table.scope]), np.zeros(1, np.int64), logs))
        return joint.build()

    def _joined(self, formula: Formula, parts: Sequence[TruthTable]) -> TruthTable | None:
        """Table of a connective over all atoms of its parts; None if that would be large."""
        scope = tuple(sorted({atom for part in parts for atom in part.scope}))
        sizes = self.elimination.graph.sizes[list(scope)]
        if math.prod(sizes.tolist()) > MOST_CASES_ALONE:
            return None
        apart = [part.over(scope) for part in parts]
        match formula:
            case Not():
                holds = ~apart[0]
            case And():
                holds = reduce(np.logical_and, apart)
            case Or():
                holds = reduce(np.logical_or, apart)
            case Implies():
                holds = ~apart[0] | apart[1]
            case Iff():
                holds = apart[0] == apart[1]
            case _:
                holds = reduce(np.logical_xor, apart)
        return TruthTable(scope, np.broadcast_to(holds, sizes))

    def _own(self, scope: Scope) -> Array:
        """Shares of the values of one atom, or 1 for no atom."""
        sizes = [int(self.elimination.graph.sizes[atom]) for atom in scope]
        return self.sums.shares[scope[0], : sizes[0]] if sizes else np.ones(())

    def _joint(self, scopes: Sequence[Scope]) -> dict[Scope, Array]:
        """Joint shares of the values of each scope; scopes that are better computed alone are left out."""
        each = anchored_scopes(self.elimination.leaves, self.elimination.graph.sizes, scopes)
        anchors = {part for own in each for part in self._by_component(own.anchors)}
        shares = {scope: self._own(scope) for scope in anchors if len(scope) < 2}
        shares |= self._in_core(sorted(scope for scope in anchors if len(scope) > 1))
        return {
            scope: own.shares(self._independent(own.anchors, shares))
            for scope, own in zip(scopes, each, strict=True)
            if all(part in shares for part in self._by_component(own.anchors))
        }

    def _by_component(self, scope: Scope) -> list[Scope]:
        """The atoms of a scope that some component of the network has, for each component."""
        labels = self.elimination.core.labels
        parts: dict[int, list[int]] = defaultdict(list)
        for atom in scope:
            parts[int(labels[atom])].append(atom)
        return [tuple(part) for part in parts.values()]

    def _independent(self, scope: Scope, shares: dict[Scope, Array]) -> Array:
        """Joint shares of a scope: the product of those of its components, an axis for each atom."""
        terms: list[Array | list[int]] = []
        for part in self._by_component(scope):
            terms += [shares[part], [scope.index(atom) for atom in part]]
        return np.einsum(*terms, list(range(len(scope))))

    def _in_core(self, scopes: Sequence[Scope]) -> dict[Scope, Array]:
        """The same for scopes whose atoms are all in the core, in one component each."""
        if len(scopes) < 2:
            return {}
        elimination = self._with_tables(scopes)
        if elimination is None:
            half = len(scopes) // 2
            return self._in_core(scopes[:half]) | self._in_core(scopes[half:])
        _, shares = elimination.joint_shares(elimination.values)
        first = elimination.graph.factor_count - len(scopes)
        begins = elimination.table_places[first:]
        shapes = [elimination.graph.sizes[list(scope)] for scope in scopes]
        return {
            scope: shares[begin : begin + math.prod(shape)].reshape(shape)
            for scope, begin, shape in zip(scopes, begins.tolist(), shapes, strict=True)
        }

    def _with_tables(self, scopes: Sequence[Scope]) -> Elimination | None:
        """Elimination of the core's components of these atoms with a table of zeros over each scope; None if
        it costs more than one elimination for each scope."""
        core = self.elimination.core
        joint = Assembly(core.graph.sizes)
        joint.add_tables_of(
            core.graph._replace(unary=core.unary), np.arange(core.graph.axis_count), core.factors
        )
        for scope in scopes:
            shape = core.graph.sizes[list(scope)]
            joint.add_tables(Tables(np.array([scope]), np.zeros(1, np.int64), np.zeros((1, *shape))))
        whole = Core.whole(joint.build(), core.atom_count)
        try:
            elimination = planned_entirely(whole.around(np.concatenate(scopes)), self.budget)
            self.allowed(elimination)
        except OutOfTimeError:
            raise
        except BudgetError:
            return None
        apart = GRADIENT * len(scopes) * self.elimination.operations
        return elimination if elimination.operations <= max(FEW, apart) else None

    def _alone(self, lowered: _Lowered) -> float:
        """Probability of one formula, by computing the log-partition again."""
        if lowered.cases is None and lowered.table is not None:
            extra = self._factor_of(lowered.table)
        else:
            cases = self._negated(lowered.formula) if lowered.cases is None else lowered.cases
            made = ground_graph(cases, self.budget, by_formula=False, facts=False)
            extra = chained(made.graph, self.budget)
        if extra.constant == -math.inf:
            return 0.0
        self.budget.check()
        graph, atom_count, touched = _beside(self.elimination.core, extra)
        self.budget.check()
        elimination = planned(graph, atom_count, self.elimination.algebra, False, self.budget)
        self.allowed(elimination)
        with_formula = elimination.run().total
        return min(1.0, math.exp(with_formula - float(self.sums.component_totals[touched].sum())))


def _table_of_cases(negated: Ground, budget: Budget) -> TruthTable | None:
    """Truth table of a formula from the cases in which it is false; None if it has helpers or
    would be large."""
    cases = ground_cases(negated, budget)
    if len(cases.somes):
        return None
    false = [literals for columns in cases.rows for literals in budget.each(columns.literals())]
    scope = tuple(sorted({axis for literals in false for axis, _ in literals}))
    sizes = cases.sizes[list(scope)].tolist()
    if math.prod(sizes) > MOST_CASES:
        return None
    holds = np.ones(sizes, bool)
    for literals in map(together, false):
        if literals is not None:
            places = (literals.get(axis, range(size)) for axis, size in zip(scope, sizes, strict=True))
            holds[np.ix_(*places)] = False
    return TruthTable(scope, holds)


def _beside(core: Core, extra: FactorGraph) -> tuple[FactorGraph, int, np.ndarray]:
    """Graph of the components that an extra graph mentions with the extra factors added; its number of atoms;
    and the components' labels. Helpers of the extra graph come last."""
    graph, atoms = core.graph, core.atom_count
    named = np.union1d(extra.edge_axes, extra.weighted_axes)
    touched = np.unique(core.labels[named[named < atoms]])
    near = np.isin(core.labels, touched)
    axes = np.flatnonzero(near)
    numbers = np.where(near, np.cumsum(near) - 1, -1)
    joint = Assembly(np.append(graph.sizes[axes], extra.sizes[atoms:]))
    factors = np.flatnonzero(near[graph.edge_axes[graph.factor_edges[:-1]]])
    joint.add_tables_of(graph, numbers, factors)
    helpers = len(axes) + np.arange(extra.axis_count - atoms)
    joint.add_tables_of(extra, np.append(numbers[:atoms], helpers))
    return joint.build(), int((axes < atoms).sum()), touched
