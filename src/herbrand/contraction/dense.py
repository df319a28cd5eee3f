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

import torch
from torch import Tensor

from herbrand.contraction.algebra import Algebra, algebra_named
from herbrand.contraction.expression import Axes, Pair
from herbrand.contraction.planner import Plan
from herbrand.contraction.relation import Relation
from herbrand.contraction.steps import Route, Step


def run_dense(plan: Plan, relations: Sequence[Relation]) -> Tensor:
    """The contraction of ``relations``, shaped as its output; axes that no operand binds are expanded."""
    algebra = algebra_named(plan.algebra)
    tensors = [relation.to_dense() for relation in relations]
    total = _run_route(plan.routes[0], algebra, tensors)
    if len(plan.routes) == 1:
        return total
    total = plan.routes[0].term.sign * total
    for route in plan.routes[1:]:
        total = total + route.term.sign * _run_route(route, algebra, tensors)
    return total


def _run_route(route: Route, algebra: Algebra, tensors: Sequence[Tensor]) -> Tensor:
    contraction = route.term.contraction
    like = tensors[0] if tensors else None
    if 0 in contraction.sizes.values():
        return algebra.full(contraction.shape(contraction.output), algebra.zero, like)
    slots = dict(enumerate(_bound(route, algebra, tensors)))
    start = len(slots)
    for wave in route.waves:
        steps = [route.steps[number] for number in wave]
        operands = [[slots.pop(slot) for slot in step.slots] for step in steps]
        results = _run_alike(algebra, steps[0], operands)
        slots.update(zip((start + number for number in wave), results, strict=True))
    result = slots.popitem()[1] if slots else algebra.full((), algebra.one, like)
    if route.repeats != 1:
        result = algebra.repeat(result, route.repeats)
    return _with_zeros(spread(result, route), contraction.output, route.term.apart, algebra)


def _run_alike(algebra: Algebra, step: Step, operands: Sequence[Sequence[Tensor]]) -> Sequence[Tensor]:
    """Steps of the same shapes, as one along a last dimension: a call costs more than a small table."""
    if len(operands) == 1:
        return [algebra.eliminate(operands[0], step.shapes, step.leading)]
    together = [
        torch.stack([operand.view(shape) for operand in place], dim=-1)
        for place, shape in zip(zip(*operands, strict=True), step.shapes, strict=True)
    ]
    shapes = [tuple(operand.shape) for operand in together]
    return algebra.eliminate(together, shapes, step.leading).unbind(-1)


def _bound(route: Route, algebra: Algebra, tensors: Sequence[Tensor]) -> Iterator[Tensor]:
    """Every operand with its diagonals taken and its axes in the order of the route; then the masks."""
    contraction = route.term.contraction
    hollow: dict[int, list[tuple[int, int]]] = {}
    for operand, left, right in route.term.hollow:
        hollow.setdefault(operand, []).append((left, right))
    for operand, (axes, tensor) in enumerate(zip(contraction.operands, tensors, strict=True)):
        for left, right in hollow.get(operand, ()):
            tensor = zero_diagonal(tensor, left, right, algebra)
        yield arranged(tensor, axes, route.inputs[operand])
    like = tensors[0] if tensors else None
    for pair, order in zip(route.term.unequal, route.inputs[len(tensors) :], strict=True):
        ones = algebra.full(contraction.shape(pair), algebra.one, like)
        yield arranged(zero_diagonal(ones, 0, 1, algebra), pair, order)


def arranged(tensor: Tensor, axes: Axes, order: Axes) -> Tensor:
    """Dimensions as in ``order``: repeated axes by their diagonal, axes of size one left out."""
    if axes == order:
        return tensor
    left = list(axes)
    while len(set(left)) < len(left):
        repeated = next(axis for axis in left if left.count(axis) > 1)
        first = left.index(repeated)
        second = left.index(repeated, first + 1)
        tensor = tensor.diagonal(dim1=first, dim2=second)
        left = [axis for place, axis in enumerate(left) if place not in (first, second)] + [repeated]
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
    diagonal = torch.eye(size, dtype=torch.bool, device=tensor.device).view(shape)
    return tensor.masked_fill(diagonal, algebra.zero)
