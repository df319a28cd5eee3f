"""Estimate the cost of a summation from shapes, before anything is computed."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from herbrand.budget import ANY_MACHINE, UNLIMITED, Budget
from herbrand.engines.lifted.count_elimination import Structure
from herbrand.engines.lifted.element_groups import ElementGroup
from herbrand.engines.lifted.polynomials import PolynomialShape, shape_of_product
from herbrand.engines.lifted.summation import Summation
from herbrand.graphs import linked

BYTES_A_NUMBER = 8
KEPT = 3
"""Tables of the size of a result that a differentiated step keeps, roughly."""

PASSES = 30
"""Operations for each entry of a table of pairs in one pass over it."""

CALLS = 2e5
"""Operations that calling the steps of a product takes, however small they are, where a second has 1e8."""


@dataclass(frozen=True)
class Cost:
    operations: float = 0.0
    bytes: float = 0.0

    def times(self, count: int) -> Cost:
        """Cost of ``count`` runs one after another, which use the same memory."""
        return Cost(self.operations * count, self.bytes)

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.operations + other.operations, self.bytes + other.bytes)


ENDLESS = Cost(math.inf, math.inf)


def cost_of(summation: Summation, budget: Budget = UNLIMITED) -> Cost:
    """Operations and bytes of one summation with its gradient."""
    rows, total = axes_of(summation, budget)
    if total.bytes > ANY_MACHINE:
        return ENDLESS
    return total + _pair_tables(summation) + _contraction(summation, rows, budget)


def axes_of(summation: Summation, budget: Budget = UNLIMITED) -> tuple[dict[frozenset[int], float], Cost]:
    """For each axis, its pools and an upper bound of its number of count vectors; and the cost of making the
    axes."""
    cells = summation.tabulated.cells
    total, rows = Cost(), {}
    for number in summation.element_groups.whole_pools:
        element_group = summation.element_groups.all[number]
        rows[frozenset((element_group.pool,))] = splits(
            len(element_group), cells[element_group.pool].profiles
        )
    axes, more = _polynomials(summation, budget)
    for shape in axes:
        rows[frozenset(shape.counts)] = _rows(summation, shape)
    total += more + _tied(summation)
    for pools, count in rows.items():
        profiles = sum(cells[pool].profiles for pool in pools)
        each = 4 * profiles + profiles * (profiles + 1)
        total += Cost(count * each, count * each * BYTES_A_NUMBER)
    return rows, total


def _tied(summation: Summation) -> Cost:
    """Cost of the weights of elements for all states of the hubs that they are tied to, before these are
    added up by profile."""
    cells, hubs = summation.tabulated.cells, summation.element_groups.hubs
    total = Cost()
    for element_group in summation.element_groups.all:
        tied = {tie.hub for tie in element_group.ties}
        size = math.prod(
            (cells[hubs[hub].pool].states for hub in tied), start=cells[element_group.pool].states
        )
        if tied:
            total += Cost(size * len(element_group.ties), KEPT * size * BYTES_A_NUMBER)
    return total


def _pair_tables(summation: Summation) -> Cost:
    """Cost of the pair tables: each is passed over for each pattern of evidence, for its sums and for its
    shares."""
    tables, knowledge = summation.tabulated.tables, summation.model.knowledge
    entries = {link: table.potential.numel() for link, table in tables.items()}
    operations = sum(PASSES * count * len(knowledge[link[0]].patterns) for link, count in entries.items())
    return Cost(operations, KEPT * max(entries.values(), default=0) * BYTES_A_NUMBER)


def largest_table(
    summation: Summation, rows: Mapping[frozenset[int], float], most: float = math.inf
) -> float:
    """Entries of the largest table over counts that a single formula, or kind of pair, makes; where that is
    above ``most``, with one axis summed out if possible."""
    names, sizes = _named(rows)
    structure = _structure(summation, names, sizes)
    largest = max(sizes.values(), default=1.0)
    for scope in structure.linear:
        entries = structure.entries(scope)
        largest = max(largest, entries if entries <= most else min(entries, structure.narrow(scope)))
    return largest


def clamps(summation: Summation, predicates: Collection[str]) -> int:
    """Number of sums with an element clamped that reading the atoms of these predicates takes."""
    tabulated, element_groups = summation.tabulated, summation.element_groups
    several = {
        b.pool for number, b in enumerate(element_groups.all) if number not in element_groups.whole_pools
    }
    clamped = {
        link[1]
        for link in set(tabulated.tables) - tabulated.flat
        if several & set(link[1:])
        if any(name in predicates for name, _ in tabulated.model.groups[link[0]].atoms)
    }
    return sum(tabulated.cells[b.pool].profiles for b in element_groups.all if b.pool in clamped)


def _rows(summation: Summation, shape: PolynomialShape) -> float:
    """Upper bound of the number of possible count vectors."""
    bound = 1.0
    for pool in shape.counts:
        bound *= splits(len(summation.model.pools[pool]), summation.tabulated.cells[pool].profiles)
    return min(bound, shape.entries)


def splits(elements: int, profiles: int) -> float:
    """Number of count vectors of so many elements; infinity where a float cannot hold it."""
    others = max(1, profiles) - 1
    try:
        return float(math.comb(elements + others, others))
    except OverflowError:
        return math.inf


def _polynomials(summation: Summation, budget: Budget) -> tuple[list[PolynomialShape], Cost]:
    """The shapes that are left when all hubs are summed out and shapes that share pools are multiplied.

    The hub with the smallest product is next. A step changes the products of a few other hubs only, and only
    these are measured again, since networks have thousands of hubs.
    """
    hubs = summation.element_groups.hubs
    states = [summation.tabulated.cells[hub.pool].states for hub in hubs]
    waiting = {
        number: _shape(summation, number, element_group)
        for number, element_group in enumerate(summation.element_groups.all)
        if number not in summation.element_groups.whole_pools
    }
    holding = _holders(waiting, len(hubs))

    def size_at(hub: int) -> float:
        return shape_of_product([waiting[number] for number in sorted(holding[hub])]).size(states)

    sizes = [size_at(hub) for hub in range(len(hubs))]
    queue = [(size, hub) for hub, size in enumerate(sizes)]
    heapify(queue)
    total, fresh = Cost(), itertools.count(len(summation.element_groups.all))
    while queue:
        budget.check()
        size, hub = heappop(queue)
        if hub not in holding or size != sizes[hub]:  # summed out already, or measured again since
            continue
        if size * BYTES_A_NUMBER > ANY_MACHINE:
            return [], ENDLESS
        gone = sorted(holding.pop(hub))
        result, cost = _multiplied([waiting.pop(number) for number in gone], states)
        raised = tuple(length + 1 for length in result.counts[hubs[hub].pool])
        left = PolynomialShape(result.hubs - {hub}, result.counts | {hubs[hub].pool: raised})
        laid, number = left.size(states), next(fresh)
        waiting[number] = left
        total += cost + Cost(len(raised) * size + laid, KEPT * (laid + size) * BYTES_A_NUMBER)
        for other in left.hubs:
            holding[other].difference_update(gone)
            holding[other].add(number)
            sizes[other] = size_at(other)
            heappush(queue, (sizes[other], other))
    joined = [_multiplied(shapes, states) for shapes in linked(list(waiting.values()), lambda s: s.counts)]
    return [shape for shape, _ in joined], sum((cost for _, cost in joined), start=total)


def _holders(shapes: Mapping[int, PolynomialShape], hubs: int) -> dict[int, set[int]]:
    """For each hub, the numbers of the shapes that have it as an axis."""
    holders: dict[int, set[int]] = {hub: set() for hub in range(hubs)}
    for number, shape in shapes.items():
        for hub in shape.hubs:
            holders[hub].add(number)
    return holders


def _multiplied(shapes: list[PolynomialShape], states: Sequence[int]) -> tuple[PolynomialShape, Cost]:
    """Shape of a product, and the cost of multiplying from the smallest factor on."""
    shapes = sorted(shapes, key=lambda shape: shape.size(states))
    result, cost = shapes[0], Cost()
    for shape in shapes[1:]:
        walked = min(result.entries, shape.entries)
        result = shape_of_product([result, shape])
        size = result.size(states)
        cost += Cost(walked * size + CALLS, KEPT * size * BYTES_A_NUMBER)
    return result, cost


def _shape(summation: Summation, number: int, element_group: ElementGroup) -> PolynomialShape:
    cells = summation.tabulated.cells[element_group.pool]
    hubs = frozenset(tie.hub for tie in element_group.ties)
    if number < len(summation.element_groups.hubs):
        return PolynomialShape(hubs | {number}, {element_group.pool: (1,) * max(0, cells.profiles - 1)})
    weights = summation.tabulated.own_weights(element_group.pool, element_group.klass).detach().numpy()
    possible = {int(profile) for profile in cells.profile[(weights > -math.inf) & (cells.profile >= 0)]}
    return PolynomialShape(
        hubs,
        {
            element_group.pool: tuple(
                len(element_group) + 1 if k in possible else 1 for k in range(1, cells.profiles)
            )
        },
    )


def _named(rows: Mapping[frozenset[int], float]) -> tuple[dict[int, str], dict[str, float]]:
    """Name of the axis of each pool, and size of each axis."""
    names = {pool: f"c{i}" for i, pools in enumerate(rows) for pool in pools}
    return names, {f"c{i}": count for i, count in enumerate(rows.values())}


def _structure(summation: Summation, names: Mapping[int, str], sizes: Mapping[str, float]) -> Structure:
    """The tables over counts, and the axes along which they are linear."""
    model, shared = summation.model, Counter(names.values())
    tables: list[tuple[Collection[int], frozenset[str]]] = [
        (link[1:], frozenset()) for link in set(summation.tabulated.tables) - summation.tabulated.flat
    ]
    for term in model.terms.counts:
        if term.single is None:
            lines = frozenset(
                names[pool]
                for pool in model.linear_in(term)
                if shared[names[pool]] == 1 and summation.tabulated.cells[pool].profiles == 2
            )
            tables.append((model.pools_with(term), lines))
    scoped = ((tuple(sorted({names[pool] for pool in pools})), lines) for pools, lines in tables)
    return Structure.of(sizes, scoped)


def _contraction(summation: Summation, rows: Mapping[frozenset[int], float], budget: Budget) -> Cost:
    """Cost of contracting the tables over counts."""
    names, counts = _named(rows)
    cheapest = _structure(summation, names, counts).cheapest(summation.tabulated.algebra.name, budget)
    return Cost(cheapest.operations, cheapest.bytes)
