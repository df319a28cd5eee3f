"""Plans of steps over dense tables.

The axes of every slot are in the order in which they are summed out, the output's last, so that a step always
sums leading axes and no table is ever transposed on the way.

>>> from herbrand.contraction.algebra import algebra_named
>>> from herbrand.contraction.expression import Contraction
>>> chain = Contraction.parse("a b, b c, c d -> a d", {"a": 5, "b": 5, "c": 5, "d": 5})
>>> for step in dense_route(Term(1, chain), algebra_named("real"), itemsize=8).steps:
...     print(step, step.shapes)
b a, b c -> c a ((5, 1, 5), (5, 5, 1))
c d, c a -> a d ((5, 1, 5), (5, 5, 1))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from herbrand.budget import UNLIMITED, Budget
from herbrand.contraction.algebra import Algebra
from herbrand.contraction.expression import Axes, Term
from herbrand.contraction.order import Join, contraction_order
from herbrand.contraction.steps import Route, Step, as_float, entries, proper_axes, unbound_repeats

LARGEST_TABLE = 2**62
"""Entries of a joint table above which a step is never run: it has no shapes, and exceeds every budget."""

Turn = Mapping[str, tuple[int, int]]


def dense_route(term: Term, algebra: Algebra, itemsize: int, budget: Budget = UNLIMITED) -> Route:
    """Steps for one term whose operands are all dense."""
    sizes = term.contraction.sizes
    operands = [proper_axes(axes, sizes) for axes in (*term.contraction.operands, *term.unequal)]
    relations, repeats = tuple(range(len(term.contraction.operands))), unbound_repeats(term, operands)
    if 0 in sizes.values() or not operands:
        return Route(term, relations, tuple(operands), (), repeats)
    joins = contraction_order(operands, term.contraction.output, sizes, budget)
    slots = [*operands, *(join.axes for join in joins)]
    turn = _turns(joins, slots, term.contraction.output)
    slots = [tuple(sorted(axes, key=turn.__getitem__)) for axes in slots]
    results = slots[len(operands) :]
    steps = [
        _step(join, slots, output, turn, sizes, algebra, itemsize)
        for join, output in zip(joins, results, strict=True)
    ]
    return Route(term, relations, tuple(slots[: len(operands)]), tuple(steps), repeats)


def dense_step(
    slots: tuple[int, ...],
    inputs: Sequence[Axes],
    union: Axes,
    output: Axes,
    sizes: Mapping[str, int],
    algebra: Algebra,
    itemsize: int,
) -> Step:
    """A step over broadcast tables; ``union`` is the order of the joint axes and ends in ``output``."""
    leading, joint, factors = len(union) - len(output), entries(union, sizes), len(inputs)
    result, possible = entries(output, sizes), joint <= LARGEST_TABLE
    workspace = algebra.workspace(joint, result, factors) if leading else 0
    members = [frozenset(axes) for axes in inputs] if possible else []
    return Step(
        kind="dense",
        slots=slots,
        inputs=tuple(inputs),
        output=output,
        operations=as_float(joint) * (factors if leading and factors > 1 else max(1, factors - 1)),
        bytes=result * itemsize,
        workspace=(workspace if possible else joint) * itemsize,
        shapes=tuple(tuple(sizes[axis] if axis in axes else 1 for axis in union) for axes in members),
        leading=leading,
    )


def _step(
    join: Join,
    axes_of: Sequence[Axes],
    output: Axes,
    turn: Turn,
    sizes: Mapping[str, int],
    algebra: Algebra,
    itemsize: int,
) -> Step:
    slots = sorted(join.slots, key=lambda slot: (entries(axes_of[slot], sizes), slot))
    inputs = [axes_of[slot] for slot in slots]
    union = tuple(sorted(frozenset().union(*inputs), key=turn.__getitem__))
    return dense_step(tuple(slots), inputs, union, output, sizes, algebra, itemsize)


def _turns(joins: Sequence[Join], axes_of: Sequence[Axes], output: Axes) -> Turn:
    """Sorting key of each axis: the join that sums it out; output axes come last, in their own order."""
    turn: dict[str, tuple[int, int]] = {}
    for number, join in enumerate(joins):
        kept = frozenset(join.axes)
        for slot in join.slots:
            for axis in axes_of[slot]:
                if axis not in kept:
                    turn.setdefault(axis, (number, len(turn)))
    return turn | {axis: (len(joins), place) for place, axis in enumerate(output)}
