"""Everything summed, or maximised, out of a factor graph: planned first, then run.

Takes a :class:`FactorGraph` and an algebra, ``log`` or ``maximum``; gives an :class:`Elimination`, whose
costs can be looked at before :meth:`Elimination.run`. The gradient of the total with respect to each atom's
own log-weights is the share of each of its values: a marginal in the log algebra, one best value in the
other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from herbrand import arrays
from herbrand.budget import UNLIMITED, Budget
from herbrand.contraction import Contraction, Dense, Plan, Statistics, plan, run
from herbrand.engines.chains import chained
from herbrand.engines.components import Batch, Core, batches
from herbrand.engines.leaves import Leaves, without_leaves
from herbrand.engines.width import least_width
from herbrand.errors import BudgetError, OutOfTimeError
from herbrand.factors.graph import Array, FactorGraph
from herbrand.memory import ANY_MACHINE

TOO_WIDE = ANY_MACHINE.bit_length()
"""A table of so many axes has more entries than any machine has bytes."""


@dataclass(frozen=True, eq=False)
class Eliminated:
    """``total`` is the log-partition, or the largest log-weight; ``shares`` [atom, value] its gradient.

    ``component_totals`` [label]: what each connected component adds to it.
    """

    total: float
    shares: Array
    component_totals: Array


@dataclass(frozen=True, eq=False)
class Elimination:
    """A planned elimination; ``gradient``: shares are wanted.

    ``leaves`` are summed out of the ``core`` already; the batches hold all its tables, and axes ``alone`` are
    in none.
    """

    core: Core
    algebra: str
    gradient: bool
    leaves: Leaves
    alone: Array
    batches: tuple[Batch, ...]
    plans: tuple[Plan, ...]

    @property
    def graph(self) -> FactorGraph:
        return self.core.graph

    @property
    def operations(self) -> float:
        return sum((plan.operations for plan in self.plans), self.leaves.operations)

    @property
    def bytes(self) -> int:
        return max((plan.bytes for plan in self.plans), default=0)

    def run(self) -> Eliminated:
        """The total over all components, and the shares of their atoms."""
        core, graph = self.core, self.graph
        shares, totals = np.zeros(len(graph.unary)), np.zeros(int(core.labels.max(initial=-1)) + 1)
        for batch, made in zip(self.batches, self.plans, strict=True):
            places = batch.weights_in(graph)
            weights = arrays.Array(core.unary[places])
            if self.gradient:
                weights.watch()
            total, gradients = _run(batch, made, [weights, *map(arrays.Array, batch.tables)])
            totals[core.labels[batch.axes[:, 0]]] = total
            for gradient in gradients:
                shares[places] = 0.0 if gradient is None else gradient
        totals[core.labels[self.alone]] = self._sum_alone(core.unary, shares)
        by_atom = graph.by_axis(shares)[: core.atom_count]
        self.leaves.add_shares(by_atom)
        return Eliminated(graph.constant + float(totals.sum()), by_atom, totals)

    # Joint shares, of a plan that has all tables

    @cached_property
    def values(self) -> Array:
        """The own weights of all axes, then the entries of all tables, batch by batch."""
        tables = [table.reshape(-1) for batch in self.batches for table in batch.tables]
        return np.concatenate([self.core.unary, *tables])

    @cached_property
    def table_places(self) -> Array:
        """Where the entries of each factor begin among the values."""
        found, begun = np.empty(self.graph.factor_count, np.int64), len(self.core.unary)
        for batch in self.batches:
            for place, table in enumerate(batch.tables):
                size = table[0].size
                found[batch.factors[:, place]] = begun + size * np.arange(len(batch))
                begun += table.size
        return found

    def joint_shares(self, values: Array) -> tuple[float, Array]:
        """The total of all components at these ``values``, and its gradient by them: the share of the worlds
        that each value of an axis, and each entry of a table, has.

        The graph's constant is left out: it may be so large that differences of totals would be lost.
        """
        total, begun, found = 0.0, len(self.core.unary), np.zeros(len(values))
        for batch, made in zip(self.batches, self.plans, strict=True):
            own: list[slice | Array] = [batch.weights_in(self.graph)]
            for table in batch.tables:
                own.append(slice(begun, begun + table.size))
                begun += table.size
            shapes = [own[0].shape, *(table.shape for table in batch.tables)]  # type: ignore[union-attr]
            operands = [
                arrays.Array(values[places].reshape(shape)).watch()
                for places, shape in zip(own, shapes, strict=True)
            ]
            totals, gradients = _run(batch, made, operands)
            total += float(totals.sum())
            for places, gradient in zip(own, gradients, strict=True):
                found[places] = 0.0 if gradient is None else gradient.reshape(found[places].shape)
        return total + float(self._sum_alone(values, found).sum()), found

    def _sum_alone(self, unary: Array, shares: Array) -> Array:
        """What axes that no table names add to the total; the shares of their values are filled in."""
        sizes, totals = self.graph.sizes[self.alone], np.full(len(self.alone), -math.inf)
        for size in (np.flatnonzero(np.bincount(sizes)[1:]) + 1).tolist():
            alike = sizes == size
            places = self.graph.starts[self.alone[alike]][:, None] + np.arange(size)
            totals[alike], shares[places] = self._alike(unary[places])
        return totals

    def _alike(self, own: Array) -> tuple[Array, Array]:
        """The total of each row of weights of one axis, and the shares of its values."""
        most = own.max(axis=1)
        if self.algebra == "maximum":
            return most, (np.arange(own.shape[1]) == own.argmax(axis=1)[:, None]).astype(float)
        chances = np.exp(own - np.where(most == -math.inf, 0.0, most)[:, None])
        sums = chances.sum(axis=1)
        with np.errstate(divide="ignore"):
            return most + np.log(sums), chances / np.where(sums > 0, sums, 1.0)[:, None]


def _run(batch: Batch, made: Plan, operands: Sequence[arrays.Array]) -> tuple[Array, list[Array | None]]:
    """Each component's total, given its weights and tables; and the gradients by those that are watched."""
    weights, *tables = operands
    sizes = [batch.sizes[axis] for axis in batch.weighted]
    unary = weights.split(sizes, dim=1) if sizes else []
    total = run(made, list(map(Dense, [*unary, *tables]))).to_dense()
    wanted = [operand for operand in operands if operand.watched]
    gradients = arrays.gradients(total[total > -math.inf].sum(), wanted) if wanted else []
    return total.data, gradients


def planned(
    graph: FactorGraph, atom_count: int, algebra: str, gradient: bool = True, budget: Budget = UNLIMITED
) -> Elimination:
    """How a graph, whose first axes are so many atoms, would be eliminated; only its leaves are summed yet.

    Raises ``BudgetError`` where no machine could: shown by a quick bound, so that hopeless graphs are not
    searched for good orders.
    """
    core, leaves = without_leaves(Core.whole(chained(graph), atom_count), algebra, budget)
    return _planned(core, leaves, algebra, gradient, budget)


def planned_entirely(core: Core, budget: Budget = UNLIMITED) -> Elimination:
    """The same of all of a core in the log algebra: for the shares of every table's entries and of all axes'
    values."""
    return _planned(replace(core, weighted=core.present), Leaves(), "log", True, budget)


def _planned(core: Core, leaves: Leaves, algebra: str, gradient: bool, budget: Budget) -> Elimination:
    if least_width(core.links(), TOO_WIDE, budget) >= TOO_WIDE:
        raise _hopeless(core.atom_count)
    pieces = batches(core)
    plans = tuple(_plan(piece, algebra, gradient, budget, core.atom_count) for piece in pieces)
    return Elimination(core, algebra, gradient, leaves, core.alone(), pieces, plans)


def _plan(batch: Batch, algebra: str, gradient: bool, budget: Budget, atom_count: int) -> Plan:
    """One contraction for all components of a batch: the weights of axes, then the tables."""
    names = [f"a{i}" for i in range(len(batch.sizes))]
    unary = [("batch", names[i]) for i in batch.weighted]
    tables = [("batch", *(names[i] for i in scope)) for scope in batch.scopes]
    sizes = {"batch": len(batch), **dict(zip(names, batch.sizes, strict=True))}
    contraction = Contraction((*unary, *tables), ("batch",), sizes, algebra=algebra)
    known = [Statistics()] * len(contraction.operands)
    try:
        return plan(contraction, known, ANY_MACHINE, gradient, budget=budget)
    except OutOfTimeError:
        raise
    except BudgetError:
        raise _hopeless(atom_count) from None


def _hopeless(atoms: int) -> BudgetError:
    return BudgetError(
        "exact inference needs more memory than any machine has: the ground network of "
        f"{atoms:,} latent atoms is too densely linked"
    )
