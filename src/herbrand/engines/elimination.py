"""Variable elimination on a factor graph: planned first, then run.

Takes a :class:`FactorGraph` and an algebra, ``log`` or ``maximum``; gives an :class:`Elimination`, whose
costs are known before :meth:`Elimination.run`. The gradient of the total with respect to each atom's
own log-weights is the share of each of its values: a marginal in the log algebra, one best value in the
other.

Leaves, atoms that share a table with one other atom only, are summed out before anything is planned. A tree
has nothing else, and most large graphs have a rim of trees. Each leaf sends one message to its neighbour,
which may then be a leaf itself; all messages of a round are one operation on arrays. The remaining core is
planned and eliminated, with the messages added to the weights of its atoms. On the way back each leaf's
marginal is its neighbour's times the conditional probabilities of its values given the neighbour's.

>>> from herbrand.factors.graph import Assembly, Tables
>>> graph = Assembly([2, 2, 2])
>>> tables = np.log([[[3.0, 1], [1, 3]], [[2.0, 1], [1, 2]]])
>>> graph.add_tables(Tables(np.array([[0, 1], [1, 2]]), np.arange(2), tables))
>>> core, leaves = without_leaves(Core.whole(graph.build(), 3), "log")
>>> np.flatnonzero(core.present), np.exp(core.unary).round(6)[2:4]
(array([1]), array([12., 12.]))
>>> shares = np.array([[0.0, 0.0], [0.5, 0.5], [0.0, 0.0]])
>>> leaves.add_shares(shares)
>>> shares.round(6).tolist()
[[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]

A quick lower bound on the width of any elimination refuses hopeless networks at once. The treewidth of a
graph is at least that of any of its minors, and at least its smallest degree: the vertex that is summed out
first has that many neighbours. So a vertex of smallest degree is merged into a neighbour, repeatedly, and the
largest of these smallest degrees is the bound. A large graph is first made small by merging half of its
vertices at once; if a subgraph links each of its vertices with many others, that degree alone is the bound.

>>> least_width(np.array([[0, 1], [1, 2], [2, 3]])), least_width(np.array([[0, 1], [1, 2], [2, 0]]))
(1, 2)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress

import numpy as np

from herbrand import arrays, contraction
from herbrand.budget import ANY_MACHINE, UNLIMITED, Budget
from herbrand.engines.components import Batch, Core, LocalScope, batches, chained
from herbrand.errors import BudgetError, OutOfTimeError
from herbrand.factors.graph import Array, FactorGraph, table_factors

BYTES_AN_ENTRY = 24
MOST_OF_THE_MEMORY = 0.25


@dataclass(frozen=True, eq=False)
class Messages:
    """Messages from atoms of one size to neighbours of one size. ``chances`` [atom, its value, the
    neighbour's value]: conditional probability of the atom's value; in the algebra ``maximum`` 1 for its best
    value, else 0."""

    atoms: Array
    neighbours: Array
    chances: Array


@dataclass(frozen=True, eq=False)
class Leaves:
    """Messages of the leaves, in the order in which they are sent."""

    sent: tuple[Messages, ...] = ()

    @property
    def operations(self) -> float:
        return float(sum(messages.chances.size for messages in self.sent))

    def add_shares(self, shares: Array) -> None:
        """Fill in the shares of the atoms that were summed out, from those of the core."""
        for messages in reversed(self.sent):
            size, around = messages.chances.shape[1:]
            beside = shares[messages.neighbours, :around]
            shares[messages.atoms, :size] = (messages.chances @ beside[:, :, None])[:, :, 0]


def without_leaves(core: Core, algebra: str, budget: Budget = UNLIMITED) -> tuple[Core, Leaves]:
    """Sum leaves out (in the algebra ``log``) or maximise over them; return the remaining core
    and the messages.

    Helpers, and atoms in tables with helpers or with three or more axes, stay. All atoms do if the messages
    of the tables between two atoms would need too much memory.
    """
    graph, count = core.graph, core.atom_count
    fixed, pairs = np.arange(graph.axis_count) >= count, []
    for alike in table_factors(graph, core.factors):
        if alike.scopes.shape[1] == 2:
            with_helper = alike.scopes.max(axis=1) >= count
            fixed[alike.scopes[with_helper]] = True
            pairs.append(alike.only(np.flatnonzero(~with_helper)))
        else:
            fixed[alike.scopes] = True
    entries = sum(len(alike.factors) * math.prod(alike.sizes) for alike in pairs)
    if not entries or entries * BYTES_AN_ENTRY > budget.bytes * MOST_OF_THE_MEMORY:
        return core, Leaves()
    factors, ends = (
        np.concatenate([getattr(alike, name) for alike in pairs]) for name in ("factors", "scopes")
    )
    unary, present, sent = core.unary.copy(), core.present.copy(), []
    gone = [np.empty(0, np.int64)]
    for atoms, neighbours, links in _rounds(ends, fixed):
        budget.check()
        present[atoms] = False
        gone.append(factors[links])
        for own in _by_sizes(graph.sizes[atoms], graph.sizes[neighbours]):
            tables = _tables(graph, factors[links[own]], atoms[own], neighbours[own])
            sent.append(_send(graph, unary, atoms[own], neighbours[own], tables, algebra))
    left = np.setdiff1d(core.factors, np.concatenate(gone), assume_unique=True)
    return replace(core, factors=left, unary=unary, present=present), Leaves(tuple(sent))


def _rounds(ends: Array, fixed: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Yield rounds of atoms with one link left, their neighbours, and the links. Of two atoms that are linked
    only with each other, the second goes."""
    degree = np.bincount(ends.ravel(), minlength=len(fixed))
    last = np.zeros(len(fixed), dtype=np.int64)  # XOR of an atom's links: with one left, it is that link
    for side in ends.T:
        np.bitwise_xor.at(last, side, np.arange(len(ends)))
    ready = np.flatnonzero((degree == 1) & ~fixed)
    while len(ready):
        links = last[ready]
        others = ends[links].sum(axis=1) - ready
        goes = (degree[others] > 1) | fixed[others] | (others < ready)
        ready, others, links = ready[goes], others[goes], links[goes]
        yield ready, others, links
        degree[ready] = 0
        np.subtract.at(degree, others, 1)
        np.bitwise_xor.at(last, others, links)
        ready = np.unique(others)
        ready = ready[(degree[ready] == 1) & ~fixed[ready]]


def _by_sizes(sizes: Array, others: Array) -> Iterator[Array]:
    """Yield the places of pairs whose tables have one shape."""
    shapes = sizes * (others.max() + 1) + others
    for shape in np.unique(shapes):
        yield np.flatnonzero(shapes == shape)


def _tables(graph: FactorGraph, factors: Array, atoms: Array, neighbours: Array) -> Array:
    """Tables [atom, its value, the neighbour's value]."""
    mine, around = int(graph.sizes[atoms[0]]), int(graph.sizes[neighbours[0]])
    is_first = graph.edge_axes[graph.factor_edges[factors]] == atoms
    steps = np.where(is_first, around, 1), np.where(is_first, 1, mine)  # strides of the values of each
    own, other = (step[:, None] * np.arange(n) for step, n in zip(steps, (mine, around), strict=True))
    places = graph.table_starts[factors][:, None, None] + own[:, :, None] + other[:, None, :]
    return graph.tables[places]


def _send(
    graph: FactorGraph, unary: Array, atoms: Array, neighbours: Array, tables: Array, algebra: str
) -> Messages:
    """Add the message of each atom to its neighbour's weights."""
    size, around = tables.shape[1:]
    joint = unary[graph.starts[atoms][:, None] + np.arange(size)][:, :, None] + tables
    if algebra == "log":
        sums, chances = normalised(joint, axis=1)
    else:
        sums = joint.max(axis=1)
        chances = (np.arange(size)[None, :, None] == joint.argmax(axis=1)[:, None, :]).astype(float)
    np.add.at(unary, graph.starts[neighbours][:, None] + np.arange(around), sums)
    return Messages(atoms, neighbours, chances)


def normalised(log_weights: Array, axis: int = 0) -> tuple[Array, Array]:
    """Log-sums over an axis of values, and the chances of the values, which add up to 1 where any is
    possible."""
    most = log_weights.max(axis=axis, keepdims=True)
    chances = np.exp(log_weights - np.where(most == -math.inf, 0.0, most))
    sums = chances.sum(axis=axis, keepdims=True)
    with np.errstate(divide="ignore"):
        totals = most + np.log(sums)
    chances /= np.where(sums > 0, sums, 1.0)
    return totals.squeeze(axis), chances


MANY = 10_000
"""Number of links above which the bound by single mergers would take seconds."""
ENOUGH_A_VERTEX = 4
"""Links for each vertex up to which a graph is sampled: more only make a hopeless network more so."""
MOST_PEELED = 1_000_000
"""Number of links, sampled if there are more, that are searched for a part in which all
have many neighbours."""
PEELINGS = 50
SEED = 0


def least_width(links: np.ndarray, enough: float = math.inf, budget: Budget = UNLIMITED) -> int:
    """Lower bound on the width of any elimination order: some table has more axes than this. ``links``: pairs
    of axes that share a table, or some of them, [pair, 2].

    The search ends once the bound reaches ``enough``.
    """
    if len(links) > MANY:
        if math.isfinite(enough) and _has_core(links, int(enough), budget):
            return int(enough)
        links = _coarse(links)
    return _by_mergers(links, enough, budget)


def _has_core(links: np.ndarray, degree: int, budget: Budget) -> bool:
    """Whether the graph has a subgraph in which each vertex has at least ``degree`` neighbours.

    Vertices of lower degree are removed repeatedly. If that takes more than PEELINGS rounds, as in graphs
    with a long thin rim, the answer is no.
    """
    count = int(links.max(initial=-1)) + 1
    if len(links) > MOST_PEELED:
        links = links[:: len(links) // MOST_PEELED + 1]
    one, other = links.min(axis=1, initial=count), links.max(axis=1, initial=0)
    keys = np.unique((one * count + other)[one != other])
    links = np.stack(np.divmod(keys, max(count, 1)), axis=1)
    for _ in range(PEELINGS):
        budget.check()
        enough = np.bincount(links.ravel(), minlength=count) >= degree
        kept = enough[links].all(axis=1)
        if kept.all():
            return len(links) > 0
        links = links[kept]
    return False


def _coarse(links: np.ndarray) -> np.ndarray:
    """A minor with few links, by merging vertices of a random half into neighbours in the other half."""
    random = np.random.default_rng(SEED)
    links = np.unique(links, return_inverse=True)[1].reshape(links.shape)
    count = int(links.max(initial=-1)) + 1
    if len(links) > ENOUGH_A_VERTEX * count:
        links = random.choice(links, ENOUGH_A_VERTEX * count, replace=False, shuffle=False)
    while len(links) > MANY:
        joining = random.random(count) < 0.5
        both = np.concatenate([links, links[:, ::-1]])
        both = both[joining[both[:, 0]] & ~joining[both[:, 1]]]
        merged = np.arange(count)
        merged[both[:, 0]] = both[:, 1]
        left = merged == np.arange(count)
        count, number = int(left.sum()), np.cumsum(left) - 1
        one, other = number[merged[links]].T
        keys = np.unique(np.minimum(one, other) * count + np.maximum(one, other))
        links = np.stack(np.divmod(keys, count), axis=1)
        links = links[links[:, 0] != links[:, 1]]
    return links


def _by_mergers(links: np.ndarray, enough: float, budget: Budget) -> int:
    neighbours: dict[int, set[int]] = defaultdict(set)
    for one, other in links.tolist():
        neighbours[one].add(other)
        neighbours[other].add(one)
    by_degree: dict[int, set[int]] = defaultdict(set)
    for axis, others in neighbours.items():
        others.discard(axis)
        by_degree[len(others)].add(axis)
    width, smallest = 0, 0
    while neighbours and width < enough:
        budget.check()
        while not by_degree[smallest]:
            smallest += 1
        width = max(width, smallest)
        axis = by_degree[smallest].pop()
        around = neighbours.pop(axis)
        for other in around:
            by_degree[len(neighbours[other])].discard(other)
            neighbours[other].discard(axis)
        _merge(around, neighbours)
        for other in around:
            by_degree[len(neighbours[other])].add(other)
        smallest = max(0, smallest - 1)
    return width


def _merge(around: set[int], neighbours: dict[int, set[int]]) -> None:
    """Merge a removed vertex into its neighbour of least degree: its other neighbours become that one's."""
    if len(around) < 2:
        return
    into = min(around, key=lambda other: len(neighbours[other]))
    neighbours[into] |= around
    neighbours[into].discard(into)
    for other in around:
        if other != into:
            neighbours[other].add(into)


FEW_WORLDS = 1 << 10
"""Number of worlds up to which enumeration is faster than making a plan."""
TOO_WIDE = ANY_MACHINE.bit_length()
"""Number of axes for which a table has more entries than any machine has bytes."""


@dataclass(frozen=True, eq=False)
class Eliminated:
    """Result of an elimination: ``total`` is the log-partition, or the largest log-weight; ``shares`` [atom,
    value] its gradient.

    ``component_totals`` [label]: contribution of each component to it.
    """

    total: float
    shares: Array
    component_totals: Array


@dataclass(frozen=True, eq=False)
class Elimination:
    """A planned elimination; ``gradient``: whether shares are computed.

    ``leaves`` are already summed out of the ``core``; the batches hold all its tables, and axes ``alone`` are
    in none. A batch without a plan has few worlds, which are enumerated. ``copies``: number of rows of all
    weights and tables for which joint shares are computed together.
    """

    core: Core
    algebra: str
    gradient: bool
    leaves: Leaves
    alone: Array
    batches: tuple[Batch, ...]
    plans: tuple[contraction.Plan | None, ...]
    copies: int = 1

    @property
    def graph(self) -> FactorGraph:
        return self.core.graph

    @property
    def operations(self) -> float:
        pairs = zip(self.batches, self.plans, strict=True)
        return sum(
            (batch.operations if plan is None else plan.operations for batch, plan in pairs),
            self.leaves.operations,
        )

    @property
    def steps(self) -> int:
        """Number of contraction steps in all plans."""
        return sum(plan.step_count for plan in self.plans if plan is not None)

    @property
    def bytes(self) -> int:
        return max((0 if plan is None else plan.bytes for plan in self.plans), default=0)

    def run(self) -> Eliminated:
        """Compute the total over all components, and the shares of their atoms."""
        core, graph = self.core, self.graph
        shares, totals = np.zeros(len(graph.unary)), np.zeros(int(core.labels.max(initial=-1)) + 1)
        for batch, plan in zip(self.batches, self.plans, strict=True):
            places = batch.weights_in(graph)
            total, gradients = self._summed(batch, plan, core.unary[places], batch.tables)
            totals[core.labels[batch.axes[:, 0]]] = total
            for gradient in gradients:
                shares[places] = gradient
        totals[core.labels[self.alone]] = self._sum_alone(core.unary, shares)
        by_atom = graph.by_axis(shares)[: core.atom_count]
        self.leaves.add_shares(by_atom)
        return Eliminated(graph.constant + float(totals.sum()), by_atom, totals)

    # Joint shares, of a plan that has all tables

    @cached_property
    def values(self) -> Array:
        """Own weights of all axes, then the entries of all tables, batch by batch."""
        tables = [table.reshape(-1) for batch in self.batches for table in batch.tables]
        return np.concatenate([self.core.unary, *tables])

    @cached_property
    def table_places(self) -> Array:
        """Place of each factor's first entry among the values."""
        places, begun = np.empty(self.graph.factor_count, np.int64), len(self.core.unary)
        for batch in self.batches:
            for place, table in enumerate(batch.tables):
                size = table[0].size
                places[batch.factors[:, place]] = begun + size * np.arange(len(batch))
                begun += table.size
        return places

    def joint_shares(self, values: Array) -> tuple[float, Array]:
        """Total of all components at these ``values``, and its gradient by them: the share of the worlds that
        have each value of an axis, or entry of a table.

        The graph's constant is left out: it may be so large that differences of totals would be lost.
        """
        (total,), (shares,) = self.joint_shares_of(values[None])
        return float(total), shares

    def joint_shares_of(self, values: Array) -> tuple[Array, Array]:
        """The same for each row of values; there are ``copies`` of them."""
        begun, totals, shares = len(self.core.unary), np.zeros(len(values)), np.zeros(values.shape)
        for batch, plan in zip(self.batches, self.plans, strict=True):
            own: list[slice | Array] = [batch.weights_in(self.graph)]
            for table in batch.tables:
                own.append(slice(begun, begun + table.size))
                begun += table.size
            shapes = [own[0].shape, *(table.shape for table in batch.tables)]  # type: ignore[union-attr]
            weights, *tables = [
                values[:, places].reshape(-1, *shape[1:]) for places, shape in zip(own, shapes, strict=True)
            ]
            parts, gradients = self._summed(batch, plan, weights, tables, of_tables=True)
            totals += parts.reshape(len(values), -1).sum(axis=1)
            for places, gradient in zip(own, gradients, strict=True):
                shares[:, places] = gradient.reshape(shares[:, places].shape)
        alone = [self._sum_alone(*row).sum() for row in zip(values, shares, strict=True)]
        return totals + alone, shares

    def _summed(
        self,
        batch: Batch,
        plan: contraction.Plan | None,
        weights: Array,
        tables: Sequence[Array],
        of_tables: bool = False,
    ) -> tuple[Array, list[Array]]:
        """Total of each component, and the gradients by weights, if ``gradient``, and by
        tables, if ``of_tables``."""
        ends = np.cumsum([batch.sizes[axis] for axis in batch.weighted])
        unary = np.split(weights, ends[:-1], axis=1) if len(ends) else []
        parts, scopes = [*unary, *tables], [*((axis,) for axis in batch.weighted), *batch.scopes]
        needs_gradient = [*([self.gradient] * len(unary)), *([of_tables] * len(tables))]
        if plan is None:
            totals, slopes = self._over_worlds(batch, parts, scopes, needs_gradient)
        else:
            totals, slopes = _run(plan, parts, needs_gradient)
        if self.gradient:
            own = slopes[: len(unary)]
            slopes[: len(unary)] = [np.concatenate([np.zeros((len(weights), 0)), *own], axis=1)]
        return totals, slopes

    def _over_worlds(
        self,
        batch: Batch,
        parts: Sequence[Array],
        scopes: Sequence[LocalScope],
        needs_gradient: Sequence[bool],
    ) -> tuple[Array, list[Array]]:
        """The same by enumeration: an axis of worlds replaces those of atoms."""
        shape = (len(parts[0]), *batch.sizes)
        joint = np.zeros(shape)
        for part, scope in zip(parts, scopes, strict=True):
            joint += spread(part, scope, batch.sizes)
        totals, shares = self._alike(joint.reshape(len(joint), -1).T)
        shares = shares.T.reshape(shape)
        return totals, [_sum_but(shares, scope) for scope in compress(scopes, needs_gradient)]

    def _sum_alone(self, unary: Array, shares: Array) -> Array:
        """Totals of axes that no table contains; fills in the shares of their values."""
        sizes, totals = self.graph.sizes[self.alone], np.full(len(self.alone), -math.inf)
        for size in (np.flatnonzero(np.bincount(sizes)[1:]) + 1).tolist():
            alike = sizes == size
            places = self.graph.starts[self.alone[alike]] + np.arange(size)[:, None]
            totals[alike], shares[places] = self._alike(unary[places])
        return totals

    def _alike(self, own: Array) -> tuple[Array, Array]:
        """Total of each column of weights of one axis, and the shares of its values."""
        if self.algebra == "maximum":
            return own.max(axis=0), (np.arange(len(own))[:, None] == own.argmax(axis=0)).astype(float)
        return normalised(own)


def _run(
    plan: contraction.Plan, parts: Sequence[Array], needs_gradient: Sequence[bool]
) -> tuple[Array, list[Array]]:
    """Total of each component, and the gradients by the parts that are ``needs_gradient``."""
    operands = list(map(arrays.Array, parts))
    watched = [operand.watch() for operand in compress(operands, needs_gradient)]
    total = contraction.run(plan, list(map(contraction.Dense, operands))).to_dense()
    gradients = arrays.gradients(total[total > -math.inf].sum(), watched) if watched else []
    return total.data, [
        np.zeros(one.shape) if gradient is None else gradient
        for one, gradient in zip(watched, gradients, strict=True)
    ]


def spread(table: Array, scope: LocalScope, sizes: Sequence[int]) -> Array:
    """A table [component, value of each axis of its scope] with an axis of size 1 for each missing one."""
    order = sorted(range(len(scope)), key=scope.__getitem__)
    shape = [size if axis in scope else 1 for axis, size in enumerate(sizes)]
    return table.transpose(0, *(1 + place for place in order)).reshape(-1, *shape)


def _sum_but(shares: Array, scope: LocalScope) -> Array:
    """Sum out all axes but those of a scope, in its order."""
    others = tuple(1 + axis for axis in range(shares.ndim - 1) if axis not in scope)
    rising = sorted(scope)
    return shares.sum(axis=others).transpose(0, *(1 + rising.index(axis) for axis in scope))


def planned(
    graph: FactorGraph, atom_count: int, algebra: str, gradient: bool = True, budget: Budget = UNLIMITED
) -> Elimination:
    """Plan the elimination of a graph whose first axes are the atoms; only its leaves are summed out already.

    Raises ``BudgetError`` if no machine could run it: a quick bound shows this, so that hopeless graphs are
    not searched for good orders.
    """
    whole = Core.whole(chained(graph, budget), atom_count)
    if not graph.factor_count:  # nothing links any atoms
        return Elimination(whole, algebra, gradient, Leaves(), whole.alone(), (), ())
    core, leaves = whole, Leaves()
    if not _are_few(graph.sizes.tolist()):
        core, leaves = without_leaves(whole, algebra, budget)
    return _planned(core, leaves, algebra, gradient, budget)


def planned_entirely(core: Core, budget: Budget = UNLIMITED, copies: int = 1) -> Elimination:
    """Plan an elimination of a core without leaves in the log algebra, for the shares of all tables' entries
    and all axes' values."""
    return _planned(replace(core, weighted=core.present), Leaves(), "log", True, budget, copies)


def _planned(
    core: Core, leaves: Leaves, algebra: str, gradient: bool, budget: Budget, copies: int = 1
) -> Elimination:
    if core.graph.axis_count > TOO_WIDE and least_width(core.links(), TOO_WIDE, budget) >= TOO_WIDE:
        raise _hopeless(core.atom_count)
    pieces = batches(core)
    plans = tuple(_plan(piece, algebra, gradient, budget, core.atom_count, copies) for piece in pieces)
    return Elimination(core, algebra, gradient, leaves, core.alone(), pieces, plans, copies)


def _are_few(sizes: Sequence[int], components: int = 1) -> bool:
    """Whether components with axes of these sizes have so few worlds that they are enumerated."""
    return len(sizes) < FEW_WORLDS.bit_length() and components * math.prod(sizes) <= FEW_WORLDS


def _plan(
    batch: Batch, algebra: str, gradient: bool, budget: Budget, atom_count: int, copies: int
) -> contraction.Plan | None:
    """Plan of one contraction for all components of a batch: the weights of axes, then the tables."""
    if _are_few(batch.sizes, len(batch)):
        return None
    names = [f"a{i}" for i in range(len(batch.sizes))]
    unary = [("batch", names[i]) for i in batch.weighted]
    tables = [("batch", *(names[i] for i in scope)) for scope in batch.scopes]
    sizes = {"batch": copies * len(batch), **dict(zip(names, batch.sizes, strict=True))}
    asked = contraction.Contraction((*unary, *tables), ("batch",), sizes, algebra=algebra)
    known = [contraction.Statistics()] * len(asked.operands)
    try:
        return contraction.plan(asked, known, ANY_MACHINE, gradient, budget=budget)
    except OutOfTimeError:
        raise
    except BudgetError:
        raise _hopeless(atom_count) from None


def _hopeless(atoms: int) -> BudgetError:
    return BudgetError(
        "exact inference needs more memory than any machine has: the ground network of "
        f"{atoms:,} latent atoms is too densely linked"
    )
