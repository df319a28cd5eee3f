"""Plan a contraction: its steps, their cost, and whether they fit in memory.

Takes a :class:`Contraction` and :class:`Statistics` of its operands; returns a :class:`Plan`:
deterministic steps made of names and integers, no arrays, so it can be cached, printed, and rendered for
other machines. A plan above the memory budget is refused here, before anything is allocated.

>>> print(plan(Contraction.parse("h k, k j, j i -> i", {"h": 100, "k": 100, "j": 100, "i": 100})))
contraction  h k, k j, j i -> i  (real, float64)
executor     dense
operations   5.0e+04
memory       1.6 kB
step  kind    contracts                                                operations      bytes
   1  dense   h k -> k                                                    1.0e+04      800 B
   2  dense   k, k j -> j                                                 2.0e+04      800 B
   3  dense   j, j i -> i                                                 2.0e+04      800 B
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from herbrand.budget import UNLIMITED, Budget, allowed_bytes, readable
from herbrand.contraction.algebra import Algebra, algebra_named
from herbrand.contraction.dense_plan import dense_route
from herbrand.contraction.expression import Contraction, expand
from herbrand.contraction.sparse_plan import backgrounds_apart, sparse_route
from herbrand.contraction.steps import Route, Statistics, Step, entries
from herbrand.errors import BudgetError
from herbrand.visible import shortened

MOST_STEPS_SHOWN = 12
SHOWN_WIDTH = 56
PLANS_KEPT = 256

# Measured on two cores of a 2020s server; only their ratios matter.
SECONDS_A_DENSE_STEP, SECONDS_A_SPARSE_STEP = 2e-5, 1e-4
SECONDS_A_FLOP, SECONDS_A_SUM = 2e-11, 2e-9
SECONDS_A_ROW, SECONDS_A_JOINED_ROW = 5e-9, 1e-7
SECONDS_A_BYTE = 1e-10


@dataclass(frozen=True)
class Plan:
    """Costed, deterministic way to compute a contraction; ``print`` shows it.

    Its routes are run one after another and added up, each times its sign. ``algebra``: the one in which they
    are computed.
    """

    contraction: Contraction
    executor: str
    algebra: str
    routes: tuple[Route, ...]
    dtype: str
    itemsize: int
    budget: int
    gradient: bool
    spread: int
    """Bytes of sparse operands that are converted to dense tables."""

    @cached_property
    def operations(self) -> float:
        """Estimated number of multiplications and additions; for sparse steps, of evenly spread entries."""
        return sum(step.operations for step in self._steps())

    @property
    def step_count(self) -> int:
        return sum(len(route.steps) for route in self.routes)

    @cached_property
    def bytes(self) -> int:
        """Peak memory beside the operands, including the results kept for a backward pass."""
        peak = max((route.peak for route in self.routes), default=0)
        kept = sum(step.bytes for step in self._steps()) if self.gradient else 0
        return peak + kept + self._copied + self._combined + self.spread

    @property
    def _copied(self) -> int:
        """Bytes of operands that are copied to set their diagonals to zero, and of masks."""
        sizes = self.contraction.sizes
        copies = {(one, left, right) for route in self.routes for one, left, right in route.term.hollow}
        masks = {pair for route in self.routes for pair in route.term.unequal}
        tables = [self.contraction.operands[one] for one, _, _ in copies] if self.executor == "dense" else []
        return sum(entries(axes, sizes) for axes in (*tables, *masks)) * self.itemsize

    @property
    def _combined(self) -> int:
        """Bytes for adding up the routes, each expanded to the whole output."""
        kept_sparse = all(route.kind != "dense" for route in self.routes)
        apart = any(route.term.apart for route in self.routes)
        if (len(self.routes) == 1 and not apart) or kept_sparse:
            return 0
        return 2 * entries(self.contraction.output, self.contraction.sizes) * self.itemsize

    @cached_property
    def seconds(self) -> float:
        """Rough estimate of the time, good enough for choosing between executors."""
        linear = algebra_named(self.algebra).linear
        return sum(_seconds(step, linear) for step in self._steps()) + self.spread * SECONDS_A_BYTE

    @cached_property
    def largest(self) -> Step | None:
        """Step with the largest result and workspace."""
        return max(self._steps(), key=lambda step: step.bytes + step.workspace, default=None)

    def __str__(self) -> str:
        contraction = self.contraction
        lines = [
            f"contraction  {_summary(contraction)}  ({contraction.algebra}, {self.dtype})",
            f"executor     {self.executor}",
            f"operations   {self.operations:.1e}",
            f"memory       {readable(self.bytes)}",
            f"step  kind    {'contracts':{SHOWN_WIDTH}} operations      bytes",
        ]
        return "\n".join([*lines, *self._step_lines()])

    def _step_lines(self) -> Iterator[str]:
        for number, route in enumerate(self.routes, 1):
            if len(self.routes) > 1:
                yield f"term {number}: {route.term.sign:+d} × {_summary(route.term.contraction)}"
            for index, step in enumerate(route.steps[:MOST_STEPS_SHOWN], 1):
                text = shortened(str(step), SHOWN_WIDTH)
                size = readable(step.bytes)
                yield f"{index:4d}  {step.kind:6}  {text:{SHOWN_WIDTH}} {step.operations:10.1e} {size:>10}"
            if len(route.steps) > MOST_STEPS_SHOWN:
                yield f" ...  and {len(route.steps) - MOST_STEPS_SHOWN} more steps"

    def _steps(self) -> Iterator[Step]:
        for route in self.routes:
            yield from route.steps


def _seconds(step: Step, linear: bool) -> float:
    if step.kind == "dense":
        return SECONDS_A_DENSE_STEP + step.operations * (SECONDS_A_FLOP if linear else SECONDS_A_SUM)
    return SECONDS_A_SPARSE_STEP + step.operations * (SECONDS_A_ROW if linear else SECONDS_A_JOINED_ROW)


def plan(
    contraction: Contraction,
    operands: Sequence[Statistics] | None = None,
    memory: int | None = None,
    gradient: bool = False,
    executor: str | None = None,
    budget: Budget = UNLIMITED,
) -> Plan:
    """Cheapest plan for ``contraction``; plans are cached.

    ``operands``: statistics of the relations (dense float64 if None). ``memory``: budget in bytes (default:
    70 % of the machine's). ``gradient``: whether results are kept for a backward pass. ``executor`` ("dense"
    or "sparse"): overrides the choice by estimated time. ``budget``: limits the time of the search for an
    order. Raises ``BudgetError`` if the plan needs more memory.
    """
    statistics = tuple(operands) if operands is not None else (Statistics(),) * len(contraction.operands)
    if len(statistics) != len(contraction.operands):
        raise ValueError(f"{len(contraction.operands)} operands, but statistics for {len(statistics)}")
    planned = _planned(contraction, statistics, allowed_bytes(memory), gradient, executor, budget)
    if planned.bytes > planned.budget:
        raise _refusal(planned)
    return planned


def forget() -> None:
    """Drop all cached plans."""
    _planned.cache_clear()


@lru_cache(maxsize=PLANS_KEPT)
def _planned(
    contraction: Contraction,
    known: tuple[Statistics, ...],
    allowed: int,
    gradient: bool,
    executor: str | None,
    budget: Budget,
) -> Plan:
    fitting = list(_EXECUTORS) if any(one.listed is not None for one in known) else ["dense"]
    names = fitting if executor is None else [executor]
    plans = [_EXECUTORS[name](contraction, known, allowed, gradient, budget) for name in names]
    return min(plans, key=lambda one: (one.bytes > allowed, one.seconds))


def _dense_plan(
    contraction: Contraction, known: tuple[Statistics, ...], allowed: int, gradient: bool, budget: Budget
) -> Plan:
    algebra = algebra_named(contraction.algebra)
    terms = expand(contraction, algebra.has_subtraction)
    itemsize = _itemsize(known, len(terms))
    routes = tuple(dense_route(term, algebra, itemsize, budget) for term in terms)
    spread = sum(
        entries(axes, contraction.sizes) * one.itemsize
        for axes, one in zip(contraction.operands, known, strict=True)
        if one.listed is not None
    )
    dtype = _dtype(algebra, itemsize)
    return Plan(contraction, "dense", algebra.name, routes, dtype, itemsize, allowed, gradient, spread)


def _sparse_plan(
    contraction: Contraction, known: tuple[Statistics, ...], allowed: int, gradient: bool, budget: Budget
) -> Plan:
    algebra = algebra_named(contraction.algebra)
    open_world = [operand for operand, one in enumerate(known) if one.background and one.listed is not None]
    if open_world and algebra.name == "boolean":
        algebra = algebra_named("counting")
    spread = 0
    if not algebra.has_subtraction:
        known = tuple(Statistics(itemsize=one.itemsize) if one.background else one for one in known)
        spread = sum(
            entries(contraction.operands[one], contraction.sizes) * known[one].itemsize for one in open_world
        )
        open_world = []
    terms = expand(contraction, algebra.has_subtraction, frozenset(open_world))
    starts = [start for term in terms for start in backgrounds_apart(term, known)]
    itemsize = _itemsize(known, len(starts))
    routes = tuple(
        sparse_route(start, [known[one] for one in start.relations], itemsize, algebra)
        for start in budget.each(starts, every=16)
    )
    dtype = _dtype(algebra, itemsize)
    return Plan(contraction, "sparse", algebra.name, routes, dtype, itemsize, allowed, gradient, spread)


_EXECUTORS = {"dense": _dense_plan, "sparse": _sparse_plan}


def _itemsize(known: Sequence[Statistics], terms: int) -> int:
    """Bytes of a number; 8 where terms are subtracted, as float32 would lose three digits to cancellation."""
    return 8 if terms > 1 else max((one.itemsize for one in known), default=8)


def _dtype(algebra: Algebra, itemsize: int) -> str:
    fitting = [dtype for dtype in algebra.dtypes if np.dtype(dtype).itemsize == itemsize]
    return (fitting or algebra.dtypes)[0]


def _refusal(refused: Plan) -> BudgetError:
    needed, largest = readable(refused.bytes), refused.largest
    purpose = " with gradients" if refused.gradient else ""
    detail = f"; its largest step is {shortened(str(largest), SHOWN_WIDTH)}" if largest is not None else ""
    return BudgetError(
        f"this contraction{purpose} needs about {needed} and may use {readable(refused.budget)}{detail}",
        hint="allow more memory, use float32, make the axes of that step smaller, or approximate",
    )


def _summary(contraction: Contraction) -> str:
    apart = "".join(f", {left} ≠ {right}" for left, right in sorted(contraction.distinct))
    if len(contraction.operands) > MOST_STEPS_SHOWN:
        text = f"{len(contraction.operands)} operands -> {' '.join(contraction.output)}"
    else:
        operands = ", ".join(" ".join(axes) or "·" for axes in contraction.operands)
        text = f"{operands} -> {' '.join(contraction.output)}"
    return f"{text.rstrip()}{apart}"
