"""Run a plan on dense tensors: a plain walk over its steps, in any algebra, differentiable, on any device.

>>> import torch
>>> from herbrand.contraction.expression import Contraction
>>> from herbrand.contraction.planner import plan
>>> from herbrand.contraction.relation import Dense
>>> square = Contraction.parse("a b, b a ->", {"a": 2, "b": 2})
>>> run_dense(plan(square), [Dense(torch.eye(2)), Dense(torch.ones(2, 2))])
tensor(2.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from herbrand.arrays import Tensor, library
from herbrand.contraction.algebra import Algebra, algebra_named
from herbrand.contraction.expression import Axes, Pair, repeated_axes
from herbrand.contraction.planner import Plan
from herbrand.contraction.relation import Relation
from herbrand.contraction.steps import Route, Together

ROWS = ""
"""Last dimension of a table of many rows; no axis has this name."""


def run_dense(plan: Plan, relations: Sequence[Relation], like: Tensor | None = None) -> Tensor:
    """Contraction of ``relations``, shaped as its output; axes that no operand binds are expanded.

    ``like``: an operand of the result's library and dtype, for contractions without relations.
    """
    algebra = algebra_named(plan.algebra)
    tensors = [relation.to_dense() for relation in relations]
    like = tensors[0] if tensors else like
    total = _run_route(plan.routes[0], algebra, tensors, like)
    if len(plan.routes) == 1:
        return total
    total = plan.routes[0].term.sign * total
    for route in plan.routes[1:]:
        total = total + route.term.sign * _run_route(route, algebra, tensors, like)
    return total


def _run_route(route: Route, algebra: Algebra, tensors: Sequence[Tensor], like: Tensor | None) -> Tensor:
    contraction = route.term.contraction
    if 0 in contraction.sizes.values():
        return algebra.full(contraction.shape(contraction.output), algebra.zero, like)
    runs = dict(enumerate(_input_runs(route, algebra, tensors)))
    count = len(runs)
    stacking = route.stacking
    for wave, takes, results in zip(route.waves, stacking.takes, stacking.results, strict=True):
        step = route.steps[wave[0]]
        operands = [
            _put_together([runs.pop(run) for run in taken.runs], shape, taken.order)
            for taken, shape in zip(takes, step.shapes, strict=True)
        ]
        shapes = [(*shape, len(wave)) for shape in step.shapes] if len(wave) > 1 else step.shapes
        cut = _cut(algebra.eliminate(operands, shapes, step.leading), results)
        runs.update(enumerate(cut, start=count))
        count += len(cut)
    result = runs.popitem()[1] if runs else algebra.full((), algebra.one, like)
    if route.repeats != 1:
        result = algebra.repeat(result, route.repeats)
    return _with_zeros(spread(result, route), contraction.output, route.term.apart, algebra)


def _input_runs(route: Route, algebra: Algebra, tensors: Sequence[Tensor]) -> Iterator[Tensor]:
    """Yield the inputs of steps; those that share a tensor are stacked along a last dimension and
    cut into runs."""
    for together in route.stacking.inputs:
        first = together.slots[0]
        if len(together.slots) == 1:
            yield _bound(route, algebra, tensors, first)
        else:
            table = library(*tensors).stack([tensors[slot] for slot in together.slots], dim=-1)
            axes = route.term.contraction.operands[first]
            yield from _cut(arranged(table, (*axes, ROWS), (*route.inputs[first], ROWS)), together)


def _put_together(runs: Sequence[Tensor], shape: Sequence[int], order: Sequence[int]) -> Tensor:
    """Concatenate runs along the last dimension, and permute them by ``order`` unless it is empty."""
    if len(runs) > 1:
        return _ordered(library(*runs).cat([run.view(*shape, -1) for run in runs], dim=-1), order)
    return _ordered(runs[0], order)


def _cut(table: Tensor, together: Together) -> Sequence[Tensor]:
    """Cut a table's last dimension into runs."""
    if len(together.slots) == 1:
        return [table]
    return _ordered(table, together.order).split(together.lengths, dim=-1)


def _ordered(table: Tensor, order: Sequence[int]) -> Tensor:
    return table.index_select(-1, library(table).tensor(order, device=table.device)) if order else table


def _bound(route: Route, algebra: Algebra, tensors: Sequence[Tensor], slot: int) -> Tensor:
    """Operand with its diagonals zeroed and its axes in the order of the route; slots after the
    operands are masks."""
    term = route.term
    if slot < len(tensors):
        axes, tensor = term.contraction.operands[slot], tensors[slot]
        pairs = term.diagonals.get(slot, ())
    else:
        axes = term.unequal[slot - len(tensors)]
        tensor = algebra.full(term.contraction.shape(axes), algebra.one, tensors[0] if tensors else None)
        pairs = [(0, 1)]
    for left, right in pairs:
        tensor = zero_diagonal(tensor, left, right, algebra)
    return arranged(tensor, axes, route.inputs[slot])


def arranged(tensor: Tensor, axes: Axes, order: Axes) -> Tensor:
    """Tensor with dimensions as in ``order``: diagonals of repeated axes taken, axes of size one dropped."""
    if axes == order:
        return tensor
    pairs, left = repeated_axes(axes)
    for first, second in pairs:
        tensor = tensor.diagonal(dim1=first, dim2=second)
    ones = [axis for axis in left if axis not in order]
    places = [left.index(axis) for axis in (*ones, *order)]
    tensor = tensor if places == sorted(places) else tensor.permute(places)
    return tensor.view(tensor.shape[len(ones) :]) if ones else tensor


def spread(result: Tensor, route: Route) -> Tensor:
    contraction = route.term.contraction
    shape = contraction.shape(contraction.output)
    if tuple(result.shape) == shape:
        return result
    bound = frozenset(route.bound)
    aligned = [size if axis in bound else 1 for axis, size in zip(contraction.output, shape, strict=True)]
    return result.view(aligned).expand(shape)


def _with_zeros(tensor: Tensor, axes: Axes, pairs: Iterable[Pair], algebra: Algebra) -> Tensor:
    for left, right in pairs:
        tensor = zero_diagonal(tensor, axes.index(left), axes.index(right), algebra)
    return tensor


def zero_diagonal(tensor: Tensor, left: int, right: int, algebra: Algebra) -> Tensor:
    size = tensor.shape[left]
    shape = [size if dim in (left, right) else 1 for dim in range(tensor.dim())]
    used = library(tensor)
    diagonal = used.eye(size, dtype=used.bool, device=tensor.device).view(shape)
    return tensor.masked_fill(diagonal, algebra.zero)
