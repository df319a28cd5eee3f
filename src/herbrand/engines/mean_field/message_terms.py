"""Steps that compute the derivatives of one product of marginals by each of its factors.

A tree of pairs gives the product's value from its operands; the same tree walked from its root gives the
derivatives, which share what they have in common (reverse differentiation, done once and on names). Known
operands are multiplied beforehand, those of weights once per call.

Two ways: over whole tables, where known relations are matrices (or shifts, if their entries are on few
diagonals), or over the rows of the known relations' join, where readings are gathered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from herbrand.contraction import Contraction, Relation, Sparse, contract
from herbrand.contraction.expression import Sizes
from herbrand.contraction.order import contraction_order
from herbrand.engines.mean_field.pair_product import (
    ADDED,
    BATCH,
    GATHERED,
    Arranged,
    Axes,
    PairProduct,
    Shift,
)
from herbrand.errors import BudgetError

ROW = "row"
MOST_DIAGONALS = 8
MOST_ROWS = 1 << 22
KNOWN, OF_WEIGHTS, OF_MARGINALS = range(3)
"""When a register can be computed: at once, in each call, or at each update."""


@dataclass(frozen=True)
class Step:
    """One step: ``operation`` takes tensors; ``inputs`` and ``output`` are numbers of registers."""

    operation: Callable[..., Tensor]
    inputs: tuple[int, ...]
    output: int


@dataclass(frozen=True)
class Complement:
    """1 - q."""

    def __call__(self, table: Tensor) -> Tensor:
        return 1.0 - table


@dataclass(frozen=True)
class Gathered:
    """Gather rows of a table: dimensions ``first`` to ``last`` become one, read at an index or from ``start``
    on."""

    order: tuple[int, ...] | None
    first: int
    last: int
    start: int | None
    length: int

    def __call__(self, table: Tensor, index: Tensor) -> Tensor:
        if self.order is not None:
            table = table.permute(self.order)
        if self.last > self.first:
            table = table.flatten(self.first, self.last)
        if self.start is not None:
            return table.narrow(self.first, self.start, self.length)
        return table.index_select(self.first, index)

    def back(
        self, total: Tensor | None, rows: Tensor, index: Tensor, shape: Sequence[int], sign: float
    ) -> Tensor:
        """Scatter the rows back: a table of this shape, or ``total``, plus the rows where they were read."""
        order = self.order or tuple(range(len(shape)))
        moved = [shape[place] for place in order]
        count = math.prod(moved[self.first : self.last + 1])
        flat = [*moved[: self.first], count, *moved[self.last + 1 :]]
        full_shape = (*flat[: self.first], self.length, *flat[self.first + 1 :])
        rows = rows if rows.shape == full_shape else rows.expand(full_shape)
        if self.start is not None:
            around = (self.start, count - self.start - self.length)
            spread = torch.nn.functional.pad(rows, (0, 0) * (rows.dim() - self.first - 1) + around)
        elif total is not None and self.order is None and total.shape == tuple(shape):
            return total.reshape(flat).index_add(self.first, index, rows, alpha=sign).view(shape)
        else:
            spread = rows.new_zeros(flat).index_add(self.first, index, rows)
        spread = spread if len(flat) == len(moved) else spread.reshape(moved)
        spread = spread if self.order is None else spread.permute(*map(order.index, range(len(order))))
        if total is None:
            return spread if sign == 1 else spread * sign
        return torch.add(total, spread, alpha=sign)


@dataclass(frozen=True)
class Target:
    """A leaf, complemented where ``sign`` is -1, and how its rows were gathered: a step and its index."""

    leaf: int
    sign: int
    gathered: Gathered | None = None
    index: int = -1


@dataclass(frozen=True)
class Operand:
    """A factor: a register with its ``axes``; ``level``: when it can be computed; ``diagonals``: of a known
    matrix, if it is to be a shift.

    ``target``: where its derivative goes, if it is read from a leaf.
    """

    axes: Axes
    register: int
    level: int
    diagonals: Diagonals | None = None
    target: Target | None = None


@dataclass(frozen=True, eq=False)
class Diagonals:
    """A square matrix by diagonals: ``offsets`` are column minus row, ``rows`` the entries of each diagonal
    by row."""

    offsets: tuple[int, ...]
    size: int
    rows: tuple[np.ndarray, ...]

    @staticmethod
    def of(relation: Relation) -> Diagonals | None:
        """The diagonals of a relation; ``None`` where there are many, or none."""
        if not isinstance(relation, Sparse) or isinstance(relation.default, Tensor) or relation.default:
            return None
        indices, shape = relation.support.indices, relation.support.shape
        if len(shape) != 2 or shape[0] != shape[1] or not len(indices):
            return None
        offsets, which = np.unique(indices[:, 1] - indices[:, 0], return_inverse=True)
        if len(offsets) > MOST_DIAGONALS or len(offsets) * 2 > shape[0]:
            return None
        rows = []
        for number in range(len(offsets)):
            mask = np.zeros(shape[0])
            chosen = which.reshape(-1) == number
            mask[indices[chosen, 0]] = relation.values.numpy()[chosen]
            rows.append(mask)
        return Diagonals(tuple(offsets.tolist()), shape[0], tuple(rows))


@dataclass(frozen=True)
class Derivative:
    """A product's message to a leaf: a register over some ``axes`` of the reading."""

    operand: Operand
    axes: Axes
    register: int


@dataclass
class Registers:
    """Numbers of all intermediate results, each computed once; known ones are computed when needed."""

    steps: list[Step] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    made: dict[object, int] = field(default_factory=dict)
    cost: float = 0.0
    largest: float = 0.0
    _known: dict[int, Callable[[], Tensor]] = field(default_factory=dict)
    _values: dict[int, Tensor] = field(default_factory=dict)

    def new(self, level: int) -> int:
        self.levels.append(level)
        return len(self.levels) - 1

    def known(self, key: object, make: Callable[[], Tensor]) -> int:
        if key not in self.made:
            self.made[key] = self.new(KNOWN)
            self._known[self.made[key]] = make
        return self.made[key]

    def value(self, register: int) -> Tensor:
        """The value of a known register."""
        if register not in self._values:
            self._values[register] = self._known[register]()
        return self._values[register]

    def step(
        self, operation: Callable[..., Tensor], *inputs: int, cost: float = 0.0, entries: float = 0.0
    ) -> int:
        """The register of a step's result; ``entries``: its size for one example."""
        key = (operation, inputs)
        if key in self.made:
            return self.made[key]
        level = max(self.levels[one] for one in inputs)
        self.largest = max(self.largest, entries)
        if level == KNOWN:
            return self.known(key, lambda: operation(*map(self.value, inputs)).contiguous())
        self.made[key] = self.new(level)
        self.steps.append(Step(operation, inputs, self.made[key]))
        if level == OF_MARGINALS:
            self.cost += cost
        return self.made[key]


class Tree:
    """The steps of one product of operands."""

    def __init__(self, registers: Registers, operands: Sequence[Operand], sizes: Mapping[str, int]) -> None:
        self.registers, self.operands = registers, operands
        self.sizes = {**sizes, BATCH: 1}

    def derivatives(self) -> Iterator[Derivative]:
        """The derivative by each operand that has a target."""
        joins = contraction_order([x.axes for x in self.operands], (BATCH,), self.sizes)
        joins = tuple(replace(one, axes=tuple(one.axes)) for one in joins)
        slots = list(self.operands)
        reached = [operand.target is not None for operand in self.operands]
        for join in joins:
            slots.append(self._product([slots[slot] for slot in join.slots], join.axes))
            reached.append(any(reached[slot] for slot in join.slots))
        derived: dict[int, Operand | None] = {len(slots) - 1: None}
        for number in range(len(slots) - 1, -1, -1):
            if number not in derived or not reached[number]:
                continue
            if number < len(self.operands):
                yield self._derivative(self.operands[number], derived[number])
                continue
            join = joins[number - len(self.operands)]
            for slot in join.slots:
                if reached[slot]:
                    others = [slots[other] for other in join.slots if other != slot]
                    around = derived[number]
                    parts = others if around is None else [around, *others]
                    derived[slot] = self._parts(parts, slots[slot])

    def _parts(self, parts: Sequence[Operand], to: Operand) -> Operand | None:
        """The product of the parts over the axes of ``to``; ``None``, for 1, without parts."""
        if not parts:
            return None
        axes = tuple(a for a in to.axes if any(a in part.axes for part in parts))
        return self._product(parts, axes)

    def _derivative(self, operand: Operand, derived: Operand | None) -> Derivative:
        if derived is None:
            return Derivative(operand, (), self.registers.known("one", lambda: torch.ones(())))
        return Derivative(operand, derived.axes, derived.register)

    def _product(self, parts: Sequence[Operand], axes: Axes) -> Operand:
        """Multiply the parts pair by pair, known ones first, and sum over all axes but these."""
        parts = sorted(parts, key=lambda part: part.level)
        result = parts[0]
        for number, part in enumerate(parts[1:], start=2):
            later = {axis for other in parts[number:] for axis in other.axes}
            kept = [a for a in dict.fromkeys((*axes, *result.axes, *part.axes)) if a in later or a in axes]
            present = tuple(a for a in kept if a in result.axes or a in part.axes)
            result = self._pair(result, part, present)
        present = tuple(a for a in axes if a in result.axes)
        if set(present) != set(result.axes) or result.diagonals is not None:
            result = self._arranged(result, present)
        return result

    def _arranged(self, operand: Operand, axes: Axes) -> Operand:
        step = Arranged.of(operand.axes, [(axis,) for axis in axes], self.sizes)
        cost = ADDED * self._entries(operand.axes)
        register = self.registers.step(step, operand.register, cost=cost, entries=self._entries(axes))
        return Operand(axes, register, operand.level)

    def _pair(self, left: Operand, right: Operand, axes: Axes) -> Operand:
        shifted = self._shifted(left, right, axes) or self._shifted(right, left, axes)
        if shifted is not None:
            return shifted
        if (BATCH in left.axes) != (BATCH in right.axes):
            # A known matrix from the right: examples stay first, and nothing is transposed.
            left, right = (left, right) if BATCH in left.axes else (right, left)
            shared = [a for a in left.axes if a in axes and a in right.axes]
            lone = [a for a in (*left.axes, *right.axes) if a in axes and a not in shared]
            lead = () if shared else (BATCH,)
            axes = (*shared, *lead, *(a for a in lone if a not in lead))
        step = PairProduct.of(left.axes, right.axes, axes, self.sizes)
        if step.order is not None:
            turned = PairProduct.of(right.axes, left.axes, axes, self.sizes)
            if turned.order is None:
                step, left, right = turned, right, left
        register = self.registers.step(
            step, left.register, right.register, cost=step.cost, entries=self._entries(axes)
        )
        return Operand(axes, register, max(left.level, right.level))

    def _shifted(self, known: Operand, other: Operand, axes: Axes) -> Operand | None:
        """The product with a known matrix, as a shift that replaces an axis; ``None`` where it is not of this
        kind."""
        if known.diagonals is None or len(set(known.axes) & set(other.axes)) != 1:
            return None
        (there,) = set(known.axes) & set(other.axes)
        (here,) = set(known.axes) - {there}
        if there in axes or here not in axes or other.level == KNOWN:
            return None
        renamed_axes = tuple(here if axis == there else axis for axis in other.axes)
        table, forward = known.diagonals, known.axes == (there, here)
        offsets = table.offsets if forward else tuple(-offset for offset in table.offsets)
        masks = table.rows
        if forward:  # masks lie over rows, and results over columns
            masks = [_moved(rows, offset) for rows, offset in zip(masks, offsets, strict=True)]
        size = table.size
        reach = [_reach(size, offset) for offset in offsets]
        masked = tuple(not np.array_equal(mask, inside) for mask, inside in zip(masks, reach, strict=True))
        inputs = [
            self.registers.known(("mask", known.register, forward, number), partial(torch.from_numpy, mask))
            for number, (mask, used) in enumerate(zip(masks, masked, strict=True))
            if used
        ]
        step = Shift(other.axes.index(there), size, offsets, masked)
        cost = ADDED * self._entries(renamed_axes) * (1 + len(offsets))
        register = self.registers.step(
            step, other.register, *inputs, cost=cost, entries=self._entries(renamed_axes)
        )
        shifted = Operand(renamed_axes, register, other.level)
        return (
            shifted
            if set(renamed_axes) == set(axes)
            else self._arranged(shifted, tuple(a for a in axes if a in renamed_axes))
        )

    def _entries(self, axes: Axes) -> int:
        return math.prod(self.sizes[axis] for axis in axes)


def _moved(rows: np.ndarray, offset: int) -> np.ndarray:
    """Move entries by an offset; those moved beyond the end are lost, and 0 takes empty places."""
    moved = np.zeros_like(rows)
    if offset >= 0:
        moved[offset:] = rows[: len(rows) - offset]
    else:
        moved[:offset] = rows[-offset:]
    return moved


def _reach(size: int, offset: int) -> np.ndarray:
    """1 where an entry moved by an offset arrives, else 0."""
    return _moved(np.ones(size), offset)


def listed(relation: Relation) -> bool:
    """Whether a known relation lists its nonzero entries."""
    return isinstance(relation, Sparse) and not isinstance(relation.default, Tensor) and not relation.default


def joined(
    relations: Sequence[tuple[Relation, Axes]], sizes: Mapping[str, int], memory: int
) -> tuple[Axes, np.ndarray] | None:
    """The join of the relations that list their nonzero entries: its axes and rows; ``None`` if there are no
    such relations, or too many rows."""
    chosen = [(relation, axes) for relation, axes in relations if listed(relation) and axes]
    if not chosen:
        return None
    axes = tuple(dict.fromkeys(axis for _, own in chosen for axis in own))
    inside = Sizes({axis: sizes[axis] for axis in axes})
    contraction = Contraction(tuple(own for _, own in chosen), axes, inside)
    try:
        contracted = contract(contraction, [relation for relation, _ in chosen], memory)
    except BudgetError:
        return None
    rows = (
        contracted.indices
        if isinstance(contracted, Sparse)
        else np.argwhere(contracted.to_dense().numpy() != 0)
    )
    return (axes, rows) if len(rows) <= MOST_ROWS else None


def gathering(
    axes: Axes, covered: Axes, rows: np.ndarray, sizes: Mapping[str, int]
) -> tuple[Gathered, Axes, np.ndarray, float]:
    """Plan reading a table at rows over the ``covered`` axes: the step, the new axes, the index, and the
    cost."""
    own = [axis for axis in axes if axis in covered]
    first = next(place for place, axis in enumerate(axes) if axis in own)
    others = [axis for axis in axes if axis not in own]
    order = [*others[:first], *own, *others[first:]]
    places = tuple(axes.index(axis) for axis in order)
    shape = tuple(sizes[axis] for axis in own)
    columns = [rows[:, covered.index(axis)] for axis in own]
    index = np.ravel_multi_index(columns, shape) if len(rows) else np.empty(0, np.int64)
    start = int(index[0]) if len(index) and (np.diff(index) == 1).all() else None
    moved = None if places == tuple(range(len(axes))) else places
    step = Gathered(moved, first, first + len(own) - 1, start, len(index))
    arrangement = (*others[:first], ROW, *others[first:])
    entries = len(rows) * math.prod(sizes.get(axis, 1) for axis in others)
    return step, arrangement, index.astype(np.int64), (ADDED if start is not None else GATHERED) * entries
