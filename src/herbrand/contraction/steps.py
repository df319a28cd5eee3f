"""Steps and routes of a plan: names and integers that say which operands meet, in which shape, at what cost.

Owns the values that planners write and executors walk over. Nothing here holds an array, so a plan can be
cached, printed, or rendered for another machine.

>>> print(Step("dense", (0, 1), (("a", "b"), ("b",)), ("a",), operations=20.0, bytes=40, workspace=0))
a b, b -> a

Small tables stand together in one tensor, and each wave of steps takes rows of it. Thousands of small tables
cost some calls each where every one is a tensor of its own: to be viewed, put together and taken apart, and
all of it once more for a gradient. Every slot is used once. So inputs of one kind are put together once, as
rows in the order of their use; the results of a wave are rows already; and a wave takes runs of neighbouring
rows.

>>> four = stacked(["leaf"] * 4, steps=[(0, 1), (2, 3), (4, 5)], waves=[(0, 1), (2,)])
>>> four.inputs
(Together(slots=(0, 2, 1, 3), lengths=(2, 2), order=()),)
>>> four.takes[0]
(Taken(runs=(0,), order=()), Taken(runs=(1,), order=()))
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from herbrand.contraction.expression import Axes, Term

Use = tuple[int, int, int]
"""Wave that takes a slot, the factor that it is there, and the step within the wave."""


@dataclass(frozen=True)
class Together:
    """Slots stacked in one tensor, and the lengths of the runs that it is cut into, each for one use.

    ``order``: permutation of the rows before the cut; empty if they are in order.
    """

    slots: tuple[int, ...]
    lengths: tuple[int, ...]
    order: tuple[int, ...] = ()


@dataclass(frozen=True)
class Taken:
    """Rows of a factor: numbers of the runs to concatenate, then permuted by ``order`` unless it is empty."""

    runs: tuple[int, ...]
    order: tuple[int, ...]


@dataclass(frozen=True)
class Stacking:
    """Slots that are stacked: inputs, then the results of each wave. Runs are numbered through all of them.

    ``takes`` [wave]: the rows of each factor.
    """

    inputs: tuple[Together, ...]
    results: tuple[Together, ...]
    takes: tuple[tuple[Taken, ...], ...]


def stacked(
    kinds: Sequence[object], steps: Sequence[tuple[int, ...]], waves: Sequence[tuple[int, ...]]
) -> Stacking:
    """Choose which slots are stacked. ``kinds`` [input]: inputs of one kind may be stacked, those of kind
    None not.

    ``steps``: slots that each step takes; its result is the next free slot.
    """
    uses = _uses(len(kinds), steps, waves)
    inputs = tuple(_by_use(sorted(slots, key=uses.__getitem__), uses) for slots in _alike(kinds, uses, waves))
    results = tuple(_by_use([len(kinds) + number for number in wave], uses) for wave in waves)
    factors = [len(steps[wave[0]]) for wave in waves]
    return Stacking(inputs, results, _takes(factors, (*inputs, *results), uses))


def _uses(start: int, steps: Sequence[tuple[int, ...]], waves: Sequence[tuple[int, ...]]) -> list[Use]:
    """Use of each slot; the final result's is after all waves."""
    uses = [(len(waves), 0, 0)] * (start + len(steps))
    for turn, wave in enumerate(waves):
        for row, number in enumerate(wave):
            for factor, slot in enumerate(steps[number]):
                uses[slot] = turn, factor, row
    return uses


def _alike(
    kinds: Sequence[object], uses: Sequence[Use], waves: Sequence[tuple[int, ...]]
) -> Iterable[list[int]]:
    """Inputs that are stacked: those of one kind that are used in waves of several steps."""
    several = [len(wave) > 1 for wave in waves] + [False]
    alike: dict[object, list[int]] = {}
    for slot, kind in enumerate(kinds):
        together = kind is not None and several[uses[slot][0]]
        alike.setdefault(("kind", kind) if together else ("slot", slot), []).append(slot)
    return alike.values()


def _by_use(slots: Sequence[int], uses: Sequence[Use]) -> Together:
    order = sorted(range(len(slots)), key=lambda row: uses[slots[row]])
    ordered = tuple(slots[row] for row in order)
    runs = groupby(ordered, key=lambda slot: uses[slot][:2])
    return Together(ordered, tuple(len(list(run)) for _, run in runs), _unless_in_turn(order))


def _takes(
    factors: Sequence[int], together: Iterable[Together], uses: Sequence[Use]
) -> tuple[tuple[Taken, ...], ...]:
    runs_of, rows_of = (defaultdict[tuple[int, int], list[int]](list) for _ in range(2))
    for number, run in enumerate(run for one in together for run in _runs(one)):
        use = uses[run[0]][:2]
        runs_of[use].append(number)
        rows_of[use].extend(uses[slot][2] for slot in run)
    return tuple(
        tuple(Taken(tuple(runs_of[turn, one]), _inverse(rows_of[turn, one])) for one in range(count))
        for turn, count in enumerate(factors)
    )


def _runs(together: Together) -> Iterator[tuple[int, ...]]:
    start = 0
    for length in together.lengths:
        yield together.slots[start : start + length]
        start += length


def _inverse(rows: Sequence[int]) -> tuple[int, ...]:
    """Permutation that sorts the rows; empty if they are in order."""
    return _unless_in_turn(sorted(range(len(rows)), key=rows.__getitem__))


def _unless_in_turn(order: Sequence[int]) -> tuple[int, ...]:
    return () if all(place == turn for turn, place in enumerate(order)) else tuple(order)


AT_ONCE = 1 << 17
"""Entries of the joint tables of steps that are run as one: they stay in a core's cache."""

KEPT_AT_ONCE = 1 << 24
"""Bytes of all results up to which steps may be reordered, which keeps more of them alive at a time."""

STACKED = 1 << 10
"""Entries of an operand up to which it is copied into a stack with others of its shape."""

Wave = tuple[int, ...]


@dataclass(frozen=True)
class Statistics:
    """Properties of an operand that planning uses."""

    listed: int | None = None
    """Number of entries that a sparse operand lists; None for a dense one."""
    background: bool = False
    """Whether unlisted entries differ from the algebra's zero."""
    itemsize: int = 8


@dataclass(frozen=True, slots=True)
class Step:
    """Multiply some slots and sum out the axes that ``output`` does not name, into the next slot.

    ``kind`` is the arithmetic: ``dense`` for broadcast tables; ``rows`` for a sparse operand whose rows meet
    another's entries one by one; ``join`` for two sparse operands; ``masked`` for two sparse operands
    multiplied at the entries of a third only.
    """

    kind: str
    slots: tuple[int, ...]
    inputs: tuple[Axes, ...]
    output: Axes
    operations: float
    bytes: int
    """Bytes of the result."""
    workspace: int
    """Bytes that the step needs beside its result."""
    shapes: tuple[tuple[int, ...], ...] = ()
    """Dense steps: the shape in which each input is viewed, so that they broadcast against each other."""
    leading: int = 0
    """Dense steps: the number of leading axes of the joint table that are summed out."""
    sparse: bool = False
    """Whether the result is sparse."""

    @property
    def joint(self) -> int:
        """Dense steps: number of entries of the joint table."""
        return math.prod(max(sizes) for sizes in zip(*self.shapes, strict=True))

    def __str__(self) -> str:
        return (
            f"{', '.join(' '.join(axes) or '·' for axes in self.inputs)} -> {' '.join(self.output)}".rstrip()
        )


@dataclass(frozen=True)
class Route:
    """Steps of one unconstrained term.

    ``relations``: number of the relation of each operand of the term; relations in ``backgrounds`` take part
    only as a factor, by their background. ``inputs``: axes of the slots that steps start from: the operands,
    without repeats and axes of size one, then one for each pair of ``term.unequal``.
    """

    term: Term
    relations: tuple[int, ...]
    inputs: tuple[Axes, ...]
    steps: tuple[Step, ...]
    repeats: int
    """Number of assignments to summed axes that no operand has: the result is multiplied by it."""
    backgrounds: tuple[int, ...] = ()
    sparse_inputs: tuple[bool, ...] = ()
    """Whether each operand is sparse; if empty, all are dense."""

    @property
    def kind(self) -> str:
        """Kind of the result: ``constant``, or a ``sparse`` or ``dense`` table."""
        if not self.bound and not self.term.apart:
            return "constant"
        sparse = self.steps[-1].sparse if self.steps else any(self.sparse_inputs)
        wide = [axis for axis in self.term.contraction.output if self.term.contraction.sizes[axis] > 1]
        return "sparse" if sparse and set(wide) <= set(self.bound) else "dense"

    @property
    def bound(self) -> Axes:
        """Output axes that the last slot has, in the output's order."""
        axes = frozenset(self.steps[-1].output if self.steps else frozenset().union(*self.inputs))
        return tuple(axis for axis in self.term.contraction.output if axis in axes)

    @property
    def peak(self) -> int:
        """Peak bytes of results alive when the steps are run in order."""
        start = len(self.inputs)
        alive = peak = 0
        for step in self.steps:
            peak = max(peak, alive + step.bytes + step.workspace)
            alive += step.bytes - sum(self.steps[slot - start].bytes for slot in step.slots if slot >= start)
        return peak

    @cached_property
    def waves(self) -> tuple[Wave, ...]:
        """Numbers of dense steps in a valid order, grouped in waves. The steps of a wave may be run as one:
        none needs another's result, their shapes are equal, and they are small."""
        if sum(step.bytes for step in self.steps) > KEPT_AT_ONCE:
            return tuple((number,) for number in range(len(self.steps)))
        depths = self._depths()
        alike: dict[tuple[object, ...], list[int]] = {}
        for number, (step, depth) in enumerate(zip(self.steps, depths, strict=True)):
            alike.setdefault((depth, step.shapes, step.leading), []).append(number)
        in_turn = sorted(alike.values(), key=lambda numbers: depths[numbers[0]])
        return tuple(wave for numbers in in_turn for wave in self._small(numbers))

    @cached_property
    def stacking(self) -> Stacking:
        """Stacking of small tables for steps that are run in waves."""
        return stacked(list(self._kinds()), [step.slots for step in self.steps], self.waves)

    def _kinds(self) -> Iterator[tuple[object, ...] | None]:
        """Yield a key for each input, equal for small operands of the same shape and arrangement; None
        for other inputs."""
        contraction, hollow = self.term.contraction, {operand for operand, *_ in self.term.hollow}
        for slot, order in enumerate(self.inputs):
            plain = slot < len(contraction.operands) and slot not in hollow
            if plain and entries(order, contraction.sizes) <= STACKED:
                axes = contraction.operands[slot]
                number = {axis: number for number, axis in enumerate(axes)}
                arrangement = [number[axis] for axis in (*axes, *order)]
                yield contraction.shape(axes), *arrangement
            else:
                yield None

    def _depths(self) -> list[int]:
        """Length of the longest chain of steps up to and including each step."""
        start, depths = len(self.inputs), list[int]()
        for step in self.steps:
            depths.append(1 + max((depths[slot - start] for slot in step.slots if slot >= start), default=0))
        return depths

    def _small(self, alike: list[int]) -> Iterator[Wave]:
        """Cut steps of equal shapes into waves whose joint tables stay small."""
        count = max(1, AT_ONCE // max(1, self.steps[alike[0]].joint))
        return (tuple(alike[first : first + count]) for first in range(0, len(alike), count))


def proper_axes(axes: Axes, sizes: Mapping[str, int]) -> Axes:
    """Axes without repeats and without those of size one."""
    return tuple(axis for axis in dict.fromkeys(axes) if sizes[axis] != 1)


def entries(axes: Iterable[str], sizes: Mapping[str, int]) -> int:
    """Number of entries of a table over ``axes``."""
    return math.prod(map(sizes.__getitem__, axes))


def as_float(count: int) -> float:
    """A count as a float, at most 1e300."""
    return float(min(count, 10**300))


def unbound_repeats(term: Term, operands: Iterable[Axes]) -> int:
    """Number of assignments to the summed axes that no operand has."""
    bound = frozenset().union(*operands)
    return entries((axis for axis in term.contraction.summed if axis not in bound), term.contraction.sizes)
