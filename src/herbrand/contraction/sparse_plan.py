"""Plans of steps over sparse and dense operands: which two meet next, and whether the result is sparse.

Sizes are estimated as if entries were spread evenly. Up to ten operands the cheapest tree of pairs is found
by dynamic programming over subsets; above, pairs are taken greedily. A pair of sparse operands that a third
one closes into a cycle can be multiplied at the third one's entries only, which never builds their join.

>>> from herbrand.contraction.algebra import algebra_named
>>> from herbrand.contraction.expression import Contraction
>>> cycle = Contraction.parse("a b, b c, a c ->", {"a": 10**5, "b": 10**5, "c": 10**5})
>>> known = [Statistics(listed=10**6)] * 3
>>> for start in backgrounds_apart(Term(1, cycle), known):
...     for step in sparse_route(start, known, 8, algebra_named("real")).steps:
...         print(step.kind, step)
masked a b, b c, a c -> a c
rows a c ->
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

from herbrand.contraction.algebra import Algebra
from herbrand.contraction.dense_plan import dense_step
from herbrand.contraction.expression import Axes, Hollow, Term
from herbrand.contraction.steps import (
    Route,
    Statistics,
    Step,
    as_float,
    entries,
    proper_axes,
    unbound_repeats,
)

MOST_SUBSETS = 10
"""Number of operands up to which all trees of pairs are compared."""

DENSE_RESULT = 4
"""Largest ratio of table entries to expected entries at which a result is kept dense."""
SMALL_TABLE = 4096

ROW_COST, JOIN_COST, WEDGE_COST, DENSE_COST = 1.0, 4.0, 0.5, 0.05
"""Measured costs, relative to an entry of a sparse matrix times a vector."""


def backgrounds_apart(term: Term, known: Sequence[Statistics]) -> Iterator[Route]:
    """Multiply out ∏ (background + corrections): yield a route without steps for every choice of factors."""
    open_world = [operand for operand, one in enumerate(known) if one.background]
    for count in range(len(open_world) + 1):
        for constant in combinations(open_world, count):
            yield _without(term, constant)


def sparse_route(start: Route, known: Sequence[Statistics], itemsize: int, algebra: Algebra) -> Route:
    """Add steps to ``start``; ``known`` describes its operands, whose background is taken as zero."""
    term, sizes = start.term, start.term.contraction.sizes
    inputs = tuple(proper_axes(axes, sizes) for axes in (*term.contraction.operands, *term.unequal))
    start = replace(
        start,
        inputs=inputs,
        repeats=unbound_repeats(term, inputs),
        sparse_inputs=tuple(one.listed is not None for one in known),
    )
    if 0 in sizes.values() or not inputs:
        return start
    listed = [*(one.listed for one in known), *(None for _ in term.unequal)]
    search = _Search(inputs, listed, term.contraction.output, sizes, itemsize, algebra)
    return replace(start, steps=tuple(search.steps()))


@dataclass(frozen=True)
class _Table:
    """Expected table of a slot: its axes in order, number of listed entries, and whether it is sparse."""

    slot: int
    axes: Axes
    listed: float
    sparse: bool


class _Search:
    """Search for the steps of one term."""

    def __init__(
        self,
        inputs: Sequence[Axes],
        listed: Sequence[int | None],
        output: Axes,
        sizes: Mapping[str, int],
        itemsize: int,
        algebra: Algebra,
    ) -> None:
        self.inputs, self.listed, self.output, self.sizes = inputs, listed, output, sizes
        self.itemsize, self.algebra, self.linear = itemsize, algebra, algebra.linear
        self.made: list[Step] = []

    def steps(self) -> list[Step]:
        tables = [
            _Table(
                slot, axes, as_float(entries(axes, self.sizes)) if count is None else count, count is not None
            )
            for slot, (axes, count) in enumerate(zip(self.inputs, self.listed, strict=True))
        ]
        tables = self._without_lone_axes(tables)
        if len(tables) <= MOST_SUBSETS:
            self._follow(self._cheapest_tree(tables), tables)
        else:
            self._greedily(tables)
        return self.made

    def _without_lone_axes(self, tables: Sequence[_Table]) -> list[_Table]:
        counts = Counter(chain(self.output, *self.inputs))
        reduced = []
        for table in tables:
            kept = tuple(axis for axis in table.axes if counts[axis] > 1)
            reduced.append(table if kept == table.axes else self._make("rows", (table,), kept))
        return reduced

    def _cheapest_tree(self, tables: Sequence[_Table]) -> dict[int, tuple[int, ...]]:
        """Best split of each subset of tables (as bits): two subsets to multiply, or two and a mask."""
        expected = {1 << place: table for place, table in enumerate(tables)}
        cost = dict.fromkeys(expected, 0.0)
        choice: dict[int, tuple[int, ...]] = {}
        for subset in sorted(range(1, 1 << len(tables)), key=int.bit_count):
            if subset in expected:
                continue
            inside = [table for place, table in enumerate(tables) if subset >> place & 1]
            outside = [table for place, table in enumerate(tables) if not subset >> place & 1]
            kept = self._kept(inside, outside)
            candidates: list[tuple[float, tuple[int, ...]]] = [
                (self._pair_cost(expected[left], expected[right]), (left, right))
                for left, right in _halves(subset)
            ]
            for parts in self._masked_splits(subset, tables):
                left, right, mask = (expected[part] for part in parts)
                if self._may_mask(left, right, mask, kept):
                    candidates.append((self._masked_cost(left, right, mask), parts))
            totals = [(own + sum(cost[part] for part in parts), parts) for own, parts in candidates]
            cost[subset], choice[subset] = min(totals)
            expected[subset] = self._expected(inside, kept)
        return choice

    def _masked_splits(self, subset: int, tables: Sequence[_Table]) -> Iterator[tuple[int, int, int]]:
        for place, table in enumerate(tables):
            if self.linear and table.sparse and subset >> place & 1:
                for left, right in _halves(subset ^ 1 << place):
                    yield (left, right, 1 << place)

    def _follow(self, choice: Mapping[int, tuple[int, ...]], tables: Sequence[_Table]) -> _Table:
        def build(subset: int) -> _Table:
            if subset not in choice:
                return tables[subset.bit_length() - 1]
            parts = [build(part) for part in choice[subset]]
            outside = [table for place, table in enumerate(tables) if not subset >> place & 1]
            return self._multiply(parts, self._kept(parts, outside))

        return build((1 << len(tables)) - 1)

    def _greedily(self, tables: Sequence[_Table]) -> None:
        """Multiply the cheapest pair first; each pair's cost is computed once."""
        live = {table.slot: table for table in tables}
        pairs = [
            (self._pair_cost(live[one], live[other]), one, other) for one, other in combinations(live, 2)
        ]
        heapq.heapify(pairs)
        while pairs:
            _, *slots = heapq.heappop(pairs)
            if not live.keys() >= set(slots):
                continue
            parts = [live.pop(slot) for slot in slots]
            product = self._multiply(parts, self._kept(parts, live.values()))
            for slot, table in live.items():
                heapq.heappush(pairs, (self._pair_cost(table, product), slot, product.slot))
            live[product.slot] = product

    def _multiply(self, parts: Sequence[_Table], kept: frozenset[str]) -> _Table:
        if len(parts) == 3:
            product = self._make("masked", parts, parts[2].axes)
            return (
                product
                if kept == set(product.axes)
                else self._make("rows", (product,), _only(product.axes, kept))
            )
        first, second = sorted(parts, key=lambda table: (not table.sparse, -len(table.axes), table.slot))
        kind = "join" if first.sparse and second.sparse and _overlap(first, second) else "rows"
        rest = tuple(axis for axis in second.axes if axis not in first.axes)
        return self._make(kind, (first, second), _only(first.axes + rest, kept))

    def _make(self, kind: str, parts: Sequence[_Table], axes: Axes) -> _Table:
        """Append a step and return the table that it makes."""
        slot = len(self.inputs) + len(self.made)
        expected = replace(self._expected(parts, frozenset(axes)), slot=slot, axes=axes)
        if kind == "masked":
            expected = replace(expected, listed=parts[2].listed, sparse=True)
        slots, inputs = tuple(part.slot for part in parts), tuple(part.axes for part in parts)
        if not parts[0].sparse:
            union = _only(dict.fromkeys(chain(*inputs)), frozenset(chain(*inputs)) - frozenset(axes)) + axes
            arranged = [_only(union, frozenset(own)) for own in inputs]
            step = dense_step(slots, arranged, union, axes, self.sizes, self.algebra, self.itemsize)
        else:
            step = self._sparse_step(kind, slots, inputs, parts, expected)
        self.made.append(step)
        return expected

    def _sparse_step(
        self,
        kind: str,
        slots: tuple[int, ...],
        inputs: tuple[Axes, ...],
        parts: Sequence[_Table],
        output: _Table,
    ) -> Step:
        rows = self._rows(parts[:2])
        width = self.itemsize + (8 * len(output.axes) if output.sparse else 0)
        added_up_at_once = 20 * output.listed
        written_down_first = (16 + 2 * self.itemsize) * rows
        return Step(
            kind=kind,
            slots=slots,
            inputs=inputs,
            output=output.axes,
            operations=rows,
            bytes=int(output.listed * width),
            workspace=int(added_up_at_once if self.algebra.linear else written_down_first),
            sparse=output.sparse,
        )

    def _rows(self, parts: Iterable[_Table]) -> float:
        """Expected number of products of entries before any are added up."""
        union = frozenset().union(*(part.axes for part in parts))
        return math.prod(map(self._density, parts)) * as_float(entries(union, self.sizes))

    def _density(self, table: _Table) -> float:
        return table.listed / max(1.0, as_float(entries(table.axes, self.sizes)))

    def _expected(self, parts: Sequence[_Table], kept: frozenset[str]) -> _Table:
        size, rows = entries(kept, self.sizes), self._rows(parts)
        sparse = any(part.sparse for part in parts)
        sparse = sparse and bool(kept) and size > max(SMALL_TABLE, DENSE_RESULT * rows)
        union = dict.fromkeys(chain.from_iterable(part.axes for part in parts))
        return _Table(-1, _only(union, kept), min(as_float(size), rows) if sparse else as_float(size), sparse)

    def _pair_cost(self, left: _Table, right: _Table) -> float:
        rows = self._rows((left, right))
        if not (left.sparse or right.sparse):
            return rows * (DENSE_COST if self.linear else ROW_COST)
        return rows * (JOIN_COST if left.sparse and right.sparse and _overlap(left, right) else ROW_COST)

    def _masked_cost(self, left: _Table, right: _Table, mask: _Table) -> float:
        return self._rows((left, right)) * WEDGE_COST + mask.listed

    def _may_mask(self, left: _Table, right: _Table, mask: _Table, kept: frozenset[str]) -> bool:
        """Whether the product of two sparse tables is needed at the entries of a third only."""
        axes = frozenset(mask.axes)
        return (
            left.sparse
            and right.sparse
            and _overlap(left, right)
            and kept <= axes
            and frozenset(left.axes) ^ frozenset(right.axes) <= axes <= {*left.axes, *right.axes}
        )

    def _kept(self, inside: Iterable[_Table], outside: Iterable[_Table]) -> frozenset[str]:
        needed = set(self.output).union(*(table.axes for table in outside))
        return frozenset().union(*(table.axes for table in inside)) & needed


def _without(term: Term, constant: Sequence[int]) -> Route:
    """The term with the operands of ``constant`` replaced by their backgrounds."""
    kept = [operand for operand in range(len(term.contraction.operands)) if operand not in constant]
    place = {operand: index for index, operand in enumerate(kept)}
    hollow: tuple[Hollow, ...] = tuple((place[one], left, right) for one, left, right in term.hollow)
    operands = tuple(term.contraction.operands[operand] for operand in kept)
    smaller = replace(term, contraction=replace(term.contraction, operands=operands), hollow=hollow)
    return Route(smaller, tuple(kept), (), (), 1, tuple(constant))


def _halves(subset: int) -> Iterator[tuple[int, int]]:
    """All splits of a set of bits in two, each once."""
    part = (subset - 1) & subset
    while part:
        rest = subset ^ part
        if part < rest:
            yield part, rest
        part = (part - 1) & subset


def _overlap(left: _Table, right: _Table) -> bool:
    """Whether each has an axis that the other lacks."""
    return not (set(left.axes) <= set(right.axes) or set(right.axes) <= set(left.axes))


def _only(axes: Iterable[str], kept: Iterable[str]) -> Axes:
    return tuple(axis for axis in axes if axis in kept)
