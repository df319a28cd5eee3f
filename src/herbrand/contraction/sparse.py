"""Run a plan on sparse operands, mixed with dense ones; differentiable with respect to their values.

Index work comes from :mod:`herbrand.contraction.joins` and is done once for each set of supports; a repeated
contraction touches values only. In algebras that ordinary numbers can carry, a step is a product of
compressed rows; in the others products are written out and added up by segments. Runs on the processor.

A result is sparse where the plan expects that to be much smaller, dense otherwise; a constant added to sparse
terms becomes their default.

>>> from herbrand.contraction.execute import contract
>>> from herbrand.contraction.expression import Contraction
>>> friends = Sparse.of([(0, 1), (1, 2)], [1.0, 0.5], (10**6, 10**6))
>>> chain = Contraction.parse("x y, y z -> x z", {axis: 10**6 for axis in "xyz"})
>>> result = contract(chain, [friends, friends])
>>> result.indices.tolist(), result.values.tolist()
([[0, 2]], [0.5])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from herbrand.budget import readable
from herbrand.contraction import joins
from herbrand.contraction.algebra import Algebra, algebra_named
from herbrand.contraction.dense import arranged, spread, zero_diagonal
from herbrand.contraction.expression import Axes, Pair
from herbrand.contraction.joins import Integers, Rows
from herbrand.contraction.planner import Plan
from herbrand.contraction.products import row_sums, triangle_at_mask
from herbrand.contraction.relation import Dense, Relation, Sparse, Support, has_background
from herbrand.contraction.steps import Route, Step
from herbrand.errors import BudgetError


def run_sparse(plan: Plan, relations: Sequence[Relation]) -> Relation:
    """Contraction of ``relations``, all of the plan's dtype, by a plan."""
    algebra = algebra_named(plan.algebra)
    results = [_Walk(plan, route, algebra, relations).result() for route in plan.routes]
    return results[0].relation() if len(results) == 1 else _added(results)


@dataclass(frozen=True)
class _Table:
    """Contents of a slot: axes in order, and values; a sparse one is zero where it lists none."""

    axes: Axes
    values: Relation

    @property
    def tensor(self) -> Tensor:
        """Entries: all of a dense table, the listed ones of a sparse table."""
        return self.values.tensor if isinstance(self.values, Dense) else self.values.values

    @property
    def support(self) -> Support:
        assert isinstance(self.values, Sparse)
        return self.values.support


@dataclass(frozen=True)
class _Result:
    """Result of a route, before it is expanded to output axes that no operand binds."""

    table: _Table
    route: Route
    algebra: Algebra

    @property
    def is_constant(self) -> bool:
        return isinstance(self.table.values, Dense) and not self.table.axes and not self.route.term.apart

    def relation(self) -> Relation:
        """Result over all output axes, sparse where possible."""
        output, apart = self.route.term.contraction.output, self.route.term.apart
        values = self.table.values
        if isinstance(values, Sparse):
            return _without_diagonals(values, output, apart)
        tensor = spread(values.tensor, self.route)
        for left, right in apart:
            tensor = zero_diagonal(tensor, output.index(left), output.index(right), self.algebra)
        return Dense(tensor)


class _Walk:
    """Run of one route through its steps."""

    def __init__(self, plan: Plan, route: Route, algebra: Algebra, relations: Sequence[Relation]) -> None:
        self.plan, self.route, self.algebra, self.relations = plan, route, algebra, relations
        self.contraction = route.term.contraction
        self.like = _listed(relations[0]) if relations else None

    def result(self) -> _Result:
        if 0 in self.contraction.sizes.values():
            nothing = self._constant(self.algebra.zero, self.contraction.shape(self.route.bound))
            return _Result(_Table(self.route.bound, nothing), self.route, self.algebra)
        slots = dict(enumerate(self._bound()))
        for number, step in enumerate(self.route.steps, len(slots)):
            tables = [slots.pop(slot) for slot in step.slots]
            slots[number] = _Table(step.output, _STEPS[step.kind](self, step, *tables))
        table = slots.popitem()[1] if slots else _Table((), self._constant(self.algebra.one))
        return _Result(self._in_output_order(self._scaled(table)), self.route, self.algebra)

    def _constant(self, value: float, shape: Sequence[int] = ()) -> Dense:
        return Dense(self.algebra.full((), value, self.like).expand(tuple(shape)))

    def _bound(self) -> Iterator[_Table]:
        """Yield each operand with repeated axes, zero diagonals and its background resolved;
        then the masks."""
        term, inputs = self.route.term, self.route.inputs
        for operand, axes in enumerate(self.contraction.operands):
            relation = self.relations[self.route.relations[operand]]
            dims = term.diagonals.get(operand, ())
            if isinstance(relation, Sparse) and (
                self.algebra.has_subtraction or not has_background(relation, self.algebra)
            ):
                bound: Relation = self._bound_sparse(relation, axes, inputs[operand], dims)
            else:
                tensor = relation.to_dense()
                for left, right in dims:
                    tensor = zero_diagonal(tensor, left, right, self.algebra)
                bound = Dense(arranged(tensor, axes, inputs[operand]))
            yield _Table(inputs[operand], bound)
        for pair, order in zip(term.unequal, inputs[len(self.contraction.operands) :], strict=True):
            ones = self.algebra.full(self.contraction.shape(pair), self.algebra.one, self.like)
            yield _Table(order, Dense(arranged(zero_diagonal(ones, 0, 1, self.algebra), pair, order)))

    def _bound_sparse(
        self, relation: Sparse, axes: Axes, order: Axes, hollow: Sequence[tuple[int, int]]
    ) -> Sparse:
        support, values = relation.support, relation.values
        if has_background(relation, self.algebra):
            values = values - relation.default
        for left, right in hollow:
            support, entries = support.once(
                ("hollow", left, right), lambda here=support, a=left, b=right: joins.off_diagonal(here, a, b)
            )
            values = values[_index(entries)]
        if axes != order:
            support, entries = support.once(
                ("taken", axes, order), lambda here=support: joins.taken(here, axes, order)
            )
            values = values if entries is None else values[_index(entries)]
        return Sparse(support, values, self.algebra.zero)

    def _scaled(self, table: _Table) -> _Table:
        """Multiply by the number of assignments to unbound axes and by the backgrounds
        that replace operands."""
        tensor = table.tensor
        if self.route.repeats != 1:
            tensor = self.algebra.repeat(tensor, self.route.repeats)
        for relation in (self.relations[place] for place in self.route.backgrounds):
            assert isinstance(relation, Sparse)
            background = torch.as_tensor(relation.default, dtype=tensor.dtype)
            tensor = self.algebra.times(tensor, background)
        if isinstance(table.values, Sparse):
            return _Table(table.axes, table.values.with_values(tensor))
        return _Table(table.axes, Dense(tensor))

    def _in_output_order(self, table: _Table) -> _Table:
        """Reorder axes as in the output; a sparse table stays sparse if it has all output axes
        wider than one."""
        output, sizes = self.contraction.output, self.contraction.sizes
        if isinstance(table.values, Dense):
            order = tuple(axis for axis in output if axis in table.axes)
            return _Table(order, Dense(arranged(table.tensor, table.axes, order)))
        if any(sizes[axis] > 1 for axis in output if axis not in table.axes):
            return self._in_output_order(_Table(table.axes, Dense(table.values.to_dense())))
        if table.axes == output:
            return table
        support, origin = table.support.once(
            ("reordered", table.axes, output), lambda: joins.reordered(table.support, table.axes, output)
        )
        return _Table(output, Sparse(support, table.tensor[_index(origin)], self.algebra.zero))

    def dense_step(self, step: Step, *tables: _Table) -> Relation:
        operands = [
            arranged(table.tensor, table.axes, order)
            for table, order in zip(tables, step.inputs, strict=True)
        ]
        return Dense(self.algebra.eliminate(operands, step.shapes, step.leading))

    def rows_step(self, step: Step, first: _Table, second: _Table | None = None) -> Relation:
        """Multiply each entry of a sparse table by the row of the second that it meets, if any,
        and sum rows."""
        kept = tuple(axis for axis in first.axes if axis in step.output)
        first, inner, factors = self._aligned(first, second)
        columns = step.output[len(kept) :]
        if len(kept) == len(first.axes):
            products = self.algebra.times(first.tensor.unsqueeze(1), factors[_index(inner)])
            return self._gathered(step, first.support, products, kept, columns)
        support, numbers, count = self._row_numbers(step, first, kept)
        if self.algebra.linear:
            key = ("rows", step, len(factors))
            rows = first.support.once(
                key, lambda: Rows.of(numbers, inner, (count, len(factors))), *_partners(second)
            )
            sums = self.algebra.through_numbers(
                lambda values, table: row_sums(rows, values, table), first.tensor, factors
            )
        else:
            products = self.algebra.times(first.tensor.unsqueeze(1), factors[_index(inner)])
            sums = self.algebra.segment_sum(products, _index(numbers), count)
        if support is not None:
            return self._gathered(step, support, sums, kept, columns)
        return Dense(sums.view(self.contraction.shape(step.output)))

    def join_step(self, step: Step, left: _Table, right: _Table) -> Relation:
        """Multiply two sparse tables, each with axes that the other lacks."""
        arguments = (left.support, left.axes, right.support, right.axes)
        width = 8 * len(step.output) + 2 * self.plan.itemsize + 16
        if self.algebra.linear:
            plan = left.support.once(
                ("product", step), lambda: joins.product(*arguments, step.output), right.support
            )
            sums = self.algebra.through_numbers(
                lambda one, other: triangle_at_mask(plan.triangle, one, other), left.tensor, right.tensor
            )
        else:
            self._check(joins.join_rows(*arguments) * width, step)
            plan = left.support.once(
                ("expansion", step), lambda: joins.expansion(*arguments, step.output), right.support
            )
            products = self.algebra.times(left.tensor[_index(plan.left)], right.tensor[_index(plan.right)])
            sums = self.algebra.segment_sum(products, _index(plan.places), len(plan.support))
        return self._gathered(step, plan.support, sums.unsqueeze(1), step.output, ())

    def masked_step(self, step: Step, left: _Table, right: _Table, mask: _Table) -> Relation:
        """Multiply two sparse tables, and a third, at the entries of the third."""
        triangle = left.support.once(
            ("masked", step),
            lambda: joins.masked_product(
                left.support, left.axes, right.support, right.axes, mask.support, mask.axes
            ),
            right.support,
            mask.support,
        )

        def kernel(one: Tensor, other: Tensor, third: Tensor) -> Tensor:
            return triangle_at_mask(triangle, one, other) * third

        sums = self.algebra.through_numbers(kernel, left.tensor, right.tensor, mask.tensor)
        return self._gathered(step, mask.support, sums.unsqueeze(1), step.output, ())

    def _aligned(self, first: _Table, second: _Table | None) -> tuple[_Table, Integers, Tensor]:
        """Entries of the first table, the row of the second that each meets, and these
        rows [rows, columns]."""
        support = first.support
        if second is None:
            return (
                first,
                np.zeros(len(support), np.int64),
                self.algebra.full((1, 1), self.algebra.one, self.like),
            )
        if isinstance(second.values, Sparse):
            pattern, entries, inner = support.once(
                ("found", first.axes, second.axes),
                lambda: _found(support, first.axes, second.support, second.axes),
                second.support,
            )
            if pattern is not None:
                first = _Table(first.axes, Sparse(pattern, first.tensor[_index(entries)], self.algebra.zero))
            return first, inner, second.tensor.unsqueeze(1)
        shared = tuple(axis for axis in first.axes if axis in second.axes)
        columns = tuple(axis for axis in second.axes if axis not in first.axes)
        inner = support.once(
            ("numbers", first.axes, shared), lambda: joins.row_numbers(support, first.axes, shared)
        )
        rows = math.prod(self.contraction.shape(shared))
        return first, inner, arranged(second.tensor, second.axes, shared + columns).reshape(rows, -1)

    def _row_numbers(self, step: Step, first: _Table, kept: Axes) -> tuple[Support | None, Integers, int]:
        """Row to which each entry is added, of a sparse result (its support comes first) or of a
        dense table (None)."""
        support, axes = first.support, first.axes
        if step.sparse:
            rows, places = support.once(
                ("occupied", axes, kept), lambda: joins.occupied_rows(support, axes, kept)
            )
            return rows, places, len(rows)
        numbers = support.once(("numbers", axes, kept), lambda: joins.row_numbers(support, axes, kept))
        return None, numbers, math.prod(self.contraction.shape(kept))

    def _gathered(self, step: Step, support: Support, values: Tensor, rows: Axes, columns: Axes) -> Relation:
        """Relation with ``values`` [n, columns] at the entries of ``support``, sparse or dense as planned."""
        widths = self.contraction.shape(columns)
        if step.sparse:
            if columns:
                support = support.once(("grid", widths), lambda: joins.grid(support, widths))
            return Sparse(support, values.reshape(-1), self.algebra.zero)
        heights = self.contraction.shape(rows)
        zeros = self.algebra.full((math.prod(heights), math.prod(widths)), self.algebra.zero, values)
        table = zeros.index_put((_index(support.keys),), values)
        return Dense(table.view(heights + widths))

    def _check(self, needed: float, step: Step) -> None:
        """Refuse a join above the budget by its true size, as estimates assume evenly spread entries."""
        if needed > self.plan.budget:
            raise BudgetError(
                f"the join {step} needs about {readable(needed)} and may use {readable(self.plan.budget)}",
                hint="allow more memory, or use an algebra with sums of numbers, which needs no such list",
            )


_STEPS: dict[str, Callable[..., Relation]] = {
    "dense": _Walk.dense_step,
    "rows": _Walk.rows_step,
    "join": _Walk.join_step,
    "masked": _Walk.masked_step,
}


def _added(results: Sequence[_Result]) -> Relation:
    """Signed sum of the routes' results: sparse if each is sparse or constant."""
    signs = [result.route.term.sign for result in results]
    constants = [result for result in results if result.is_constant]
    sparse = [result for result in results if isinstance(result.table.values, Sparse)]
    if not sparse or len(constants) + len(sparse) < len(results):
        return Dense(_signed_sum(signs, [result.relation().to_dense() for result in results]))
    relations = [one for one in map(_Result.relation, sparse) if isinstance(one, Sparse)]
    first = relations[0]
    support, places = first.support.once(
        ("union", len(relations)),
        lambda: joins.union([one.support for one in relations]),
        *(one.support for one in relations[1:]),
    )
    default = sum(
        (result.route.term.sign * result.table.tensor for result in constants), start=torch.zeros(())
    )
    values = default.to(first.values.dtype).expand(len(support))
    for result, relation, place in zip(sparse, relations, places, strict=True):
        values = values.index_add(0, _index(place), relation.values, alpha=result.route.term.sign)
    return Sparse(support, values, default if default.requires_grad else default.item())


def _signed_sum(signs: Sequence[int], tensors: Sequence[Tensor]) -> Tensor:
    total = signs[0] * tensors[0]
    for sign, tensor in zip(signs[1:], tensors[1:], strict=True):
        total = total + sign * tensor
    return total


def _found(
    support: Support, axes: Axes, other: Support, other_axes: Axes
) -> tuple[Support | None, Integers, Integers]:
    """Entries that agree with an entry of ``other`` (support None if all do), their numbers, and
    that entry's place."""
    places = joins.places_in(support, axes, other, other_axes)
    entries = np.flatnonzero(places >= 0)
    if len(entries) == len(support):
        return None, entries, places
    return joins.selected(support, entries), entries, places[entries]


def _without_diagonals(relation: Sparse, axes: Axes, pairs: Sequence[Pair]) -> Sparse:
    for left, right in pairs:
        here, one, other = relation.support, axes.index(left), axes.index(right)
        support, entries = here.once(
            ("hollow", one, other), lambda here=here, a=one, b=other: joins.off_diagonal(here, a, b)
        )
        relation = Sparse(support, relation.values[_index(entries)], relation.default)
    return relation


def _partners(table: _Table | None) -> tuple[Support, ...]:
    return (table.support,) if table is not None and isinstance(table.values, Sparse) else ()


def _listed(relation: Relation) -> Tensor:
    return relation.tensor if isinstance(relation, Dense) else relation.values


def _index(numbers: Integers) -> Tensor:
    return torch.from_numpy(numbers)
