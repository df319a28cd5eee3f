"""Everything summed, or maximised, out of a ground network: planned first, then run.

Takes a :class:`Network` and an algebra, ``log`` or ``maximum``; gives an :class:`Elimination`, whose costs
can be looked at before :meth:`Elimination.run`. The gradient of the total with respect to each atom's own
log-weights is the share of each of its values: a marginal in the log algebra, one best value in the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from herbrand import arrays
from herbrand.arrays import Array
from herbrand.budget import UNLIMITED, Budget
from herbrand.contraction import Contraction, Dense, Plan, Statistics, plan, run
from herbrand.engines.components import Batch, batches, component_labels
from herbrand.engines.ground_network import Network, Scope, links
from herbrand.engines.leaves import Leaves, without_leaves
from herbrand.engines.width import least_width, least_width_of
from herbrand.errors import BudgetError, OutOfTimeError
from herbrand.memory import ANY_MACHINE
from herbrand.program.ground import Ground

TOO_WIDE = ANY_MACHINE.bit_length()
"""A table of so many axes has more entries than any machine has bytes."""
FEW_LINKS = 10_000
"""Tables of so few are made at once; :func:`planned` bounds the width by them."""


@dataclass(frozen=True, eq=False)
class Found:
    """``total`` is the log-partition, or the largest log-weight; ``shares`` [atom, value] its gradient.

    ``component_totals``: what each connected component adds to it.
    """

    total: float
    shares: np.ndarray
    component_totals: dict[int, float]


@dataclass(frozen=True, eq=False)
class Elimination:
    """A planned elimination; ``gradient``: shares are wanted; ``labels``: the component of each axis.

    ``leaves`` are summed out already; the batches hold all other tables, and their messages.
    """

    network: Network
    algebra: str
    gradient: bool
    labels: np.ndarray
    leaves: Leaves
    batches: tuple[Batch, ...]
    plans: tuple[Plan, ...]

    @property
    def operations(self) -> float:
        return sum((plan.operations for plan in self.plans), self.leaves.operations)

    @property
    def bytes(self) -> int:
        return max((plan.bytes for plan in self.plans), default=0)

    def run(self) -> Found:
        """The total over all components that have tables, and the shares of their atoms."""
        network = self.network
        sizes = network.sizes[: network.atom_count]
        shares = np.zeros((len(sizes), max(sizes, default=2)))
        totals: dict[int, float] = {}
        for batch, made in zip(self.batches, self.plans, strict=True):
            total = self._run_batch(batch, made, shares)
            totals |= dict(zip(self.labels[batch.axes[:, 0]].tolist(), total, strict=True))
        self.leaves.add_shares(shares)
        return Found(network.constant + sum(totals.values()), shares, totals)

    def with_isolated(self, found: Found) -> Found:
        """Atoms that no table speaks of take every value alike; their first, in the most probable world."""
        labels = self.labels[: self.network.atom_count]
        isolated = np.flatnonzero(~np.isin(labels, list(found.component_totals)))
        sizes = np.array(self.network.sizes[: self.network.atom_count], dtype=np.int64)[isolated]
        if self.algebra == "maximum":
            sizes = np.ones_like(sizes)
        alone = np.log(sizes)
        taken = np.arange(found.shares.shape[1]) < sizes[:, None]
        found.shares[isolated] = taken / taken.sum(axis=1, keepdims=True)
        totals = found.component_totals | dict(zip(labels[isolated].tolist(), alone.tolist(), strict=True))
        return Found(found.total + float(alone.sum()), found.shares, totals)

    def beliefs(self) -> dict[Scope, np.ndarray]:
        """The joint share of each table's entries: the gradient of the total with respect to them.

        Of tables in batches, as :meth:`entries` and :meth:`joint_shares` are: of an ``entire`` plan, all.
        """
        tables = [table.reshape(-1) for batch in self.batches for table in batch.tables]
        if not tables:
            return {}
        _, shares = self.joint_shares(np.concatenate(tables))
        return {scope: shares[own].reshape(shape) for scope, own, shape in self.entries()}

    def entries(self) -> Iterator[tuple[Scope, slice, tuple[int, ...]]]:
        """Where each table's entries are when those of all batches are laid out one after another."""
        begun = 0
        for batch in self.batches:
            for local, table in zip(batch.scopes, batch.tables, strict=True):
                size = math.prod(table.shape[1:])
                for axes in batch.axes[:, list(local)].tolist():
                    yield tuple(axes), slice(begun, begun + size), table.shape[1:]
                    begun += size

    def joint_shares(self, entries: np.ndarray) -> tuple[float, np.ndarray]:
        """The total of all components if tables had these ``entries``, and its gradient by them."""
        total, begun, found = 0.0, 0, [np.empty(0)]
        for batch, made in zip(self.batches, self.plans, strict=True):
            tables = []
            for table in batch.tables:
                tables.append(Array(entries[begun : begun + table.size].reshape(table.shape)).watch())
                begun += table.size
            sizes = [batch.sizes[i] for i in _atoms(self.network, batch)]
            weights = arrays.zeros((len(batch), sum(sizes))).split(sizes, dim=1)
            totals = run(made, list(map(Dense, [*weights, *tables]))).to_dense()
            shares = arrays.gradients(totals.sum(), tables)
            found += [np.asarray(share).reshape(-1) for share in shares]
            total += float(totals.sum())
        return total, np.concatenate(found)

    def _run_batch(self, batch: Batch, made: Plan, shares: np.ndarray) -> list[float]:
        """Each component's total; the shares of its atoms are written into ``shares``."""
        atoms = _atoms(self.network, batch)
        sizes = [batch.sizes[i] for i in atoms]
        weights = arrays.zeros((len(batch), sum(sizes)))
        if self.gradient:
            weights.watch()
        operands = [*weights.split(sizes, dim=1), *map(Array, batch.tables)]
        total = run(made, list(map(Dense, operands))).to_dense()
        if self.gradient and atoms:
            (share,) = arrays.gradients(total[total > -math.inf].sum(), [weights])
            assert share is not None
            rows = batch.axes[:, np.repeat(atoms, sizes)]
            shares[rows, np.concatenate([np.arange(size) for size in sizes])] = share
        return total.tolist()


def refuse_hopeless(ground: Ground, budget: Budget = UNLIMITED) -> None:
    """Raise ``BudgetError`` where no machine could eliminate this, before its tables are made one by one."""
    found = links(ground)
    if len(found) > FEW_LINKS and least_width_of(found, TOO_WIDE, budget) >= TOO_WIDE:
        raise _hopeless(ground.atoms.count)


def planned(
    network: Network,
    algebra: str,
    gradient: bool = True,
    budget: Budget = UNLIMITED,
    *,
    entire: bool = False,
) -> Elimination:
    """How the network would be eliminated; nothing but its leaves is summed yet, nor these where the plan is
    ``entire``, for the shares of every table's entries.

    Raises ``BudgetError`` where no machine could: shown by a quick bound, so that hopeless networks are not
    searched for good orders.
    """
    core, leaves = (network, Leaves()) if entire else without_leaves(network, algebra, budget)
    if least_width(core.tables, TOO_WIDE, budget) >= TOO_WIDE:
        raise _hopeless(network.atom_count)
    labels = component_labels(network)
    pieces = batches(core, labels)
    plans = tuple(_plan(core, piece, algebra, gradient, budget) for piece in pieces)
    return Elimination(network, algebra, gradient, labels, leaves, pieces, plans)


def _plan(network: Network, batch: Batch, algebra: str, gradient: bool, budget: Budget) -> Plan:
    """One contraction for all components of a batch: a unary operand for each atom, then the tables."""
    names = [f"a{i}" for i in range(len(batch.sizes))]
    unary = [("batch", names[i]) for i in _atoms(network, batch)]
    tables = [("batch", *(names[i] for i in scope)) for scope in batch.scopes]
    sizes = {"batch": len(batch), **dict(zip(names, batch.sizes, strict=True))}
    contraction = Contraction((*unary, *tables), ("batch",), sizes, algebra=algebra)
    known = [Statistics()] * len(contraction.operands)
    try:
        return plan(contraction, known, ANY_MACHINE, gradient, budget=budget)
    except OutOfTimeError:
        raise
    except BudgetError:
        raise _hopeless(network.atom_count) from None


def _hopeless(atoms: int) -> BudgetError:
    return BudgetError(
        "exact inference needs more memory than any machine has: the ground network of "
        f"{atoms:,} latent atoms is too densely linked"
    )


def _atoms(network: Network, batch: Batch) -> Sequence[int]:
    """The local axes that are atoms, not helpers; the same ones in every component of a batch."""
    return [i for i, axis in enumerate(batch.axes[0]) if axis < network.atom_count]
