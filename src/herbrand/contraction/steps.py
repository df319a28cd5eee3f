"""What a plan is made of: names and integers that say which operands meet, in which shape, at what cost.

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
"""Which wave takes a slot, as which of its factors, in which of its steps."""


@dataclass(frozen=True)
class Together:
    """Slots that stand in one tensor, and the lengths of the runs that it is cut into, each for one use.

    ``order``: which row is to come where before it is cut; empty if they are in turn.
    """

    slots: tuple[int, ...]
    lengths: tuple[int, ...]
    order: tuple[int, ...] = ()


@dataclass(frozen=True)
class Taken:
    """The rows of a factor: runs by their numbers, put one after another and then into ``order``, if any."""

    runs: tuple[int, ...]
    order: tuple[int, ...]


@dataclass(frozen=True)
class Stacking:
    """What stands together: inputs, then the results of each wave. Runs are numbered through all of them.

    ``takes`` [wave]: of each factor which runs it has.
    """

    inputs: tuple[Together, ...]
    results: tuple[Together, ...]
    takes: tuple[tuple[Taken, ...], ...]


def stacked(
    kinds: Sequence[object], steps: Sequence[tuple[int, ...]], waves: Sequence[tuple[int, ...]]
) -> Stacking:
    """``kinds`` [input]: those of one kind may stand together, one of kind None stands alone.

    ``steps`` are the slots that each step takes; its result is the next slot after all before it.
    """
    uses = _uses(len(kinds), steps, waves)
    inputs = tuple(_by_use(sorted(slots, key=uses.__getitem__), uses) for slots in _alike(kinds, uses, waves))
    results = tuple(_by_use([len(kinds) + number for number in wave], uses) for wave in waves)
    factors = [len(steps[wave[0]]) for wave in waves]
    return Stacking(inputs, results, _takes(factors, (*inputs, *results), uses))


def _uses(start: int, steps: Sequence[tuple[int, ...]], waves: Sequence[tuple[int, ...]]) -> list[Use]:
    """When each slot is used; the result of all comes last."""
    uses = [(len(waves), 0, 0)] * (start + len(steps))
    for turn, wave in enumerate(waves):
        for row, number in enumerate(wave):
            for factor, slot in enumerate(steps[number]):
                uses[slot] = turn, factor, row
    return uses


def _alike(
    kinds: Sequence[object], uses: Sequence[Use], waves: Sequence[tuple[int, ...]]
) -> Iterable[list[int]]:
    """Inputs that stand together: those of one kind that waves of several steps take."""
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
    """Where each row stands; nothing if they are in turn."""
    return _unless_in_turn(sorted(range(len(rows)), key=rows.__getitem__))


def _unless_in_turn(order: Sequence[int]) -> tuple[int, ...]:
    return () if all(place == turn for turn, place in enumerate(order)) else tuple(order)


AT_ONCE = 1 << 17
"""Entries of the joint tables of steps that are run as one: they stay in a core's cache."""

KEPT_AT_ONCE = 1 << 24
"""Bytes of all results up to which steps may be run out of turn, so that more of them are alive at a time."""

STACKED = 1 << 10
"""Entries of an operand up to which it may be copied to stand together with others of its shape."""

Wave = tuple[int, ...]


@dataclass(frozen=True)
class Statistics:
    """What planning may know of an operand."""

    listed: int | None = None
    """How many entries a sparse operand lists; nothing for a dense one."""
    background: bool = False
    """Whether the entries that are not listed differ from the algebra's zero."""
    itemsize: int = 8


@dataclass(frozen=True, slots=True)
class Step:
    """Multiply some slots and sum away what ``output`` does not name; the rest goes into the next slot.

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
    """The size of the result."""
    workspace: int
    """What the step needs beside its result."""
    shapes: tuple[tuple[int, ...], ...] = ()
    """Dense steps: the shape each input is viewed in, so that they broadcast against each other."""
    leading: int = 0
    """Dense steps: how many leading axes of the joint table are summed away."""
    sparse: bool = False
    """Whether the result is sparse."""

    @property
    def joint(self) -> int:
        """Dense steps: the entries of the joint table."""
        return math.prod(max(sizes) for sizes in zip(*self.shapes, strict=True))

    def __str__(self) -> str:
        return (
            f"{', '.join(' '.join(axes) or '·' for axes in self.inputs)} -> {' '.join(self.output)}".rstrip()
        )


@dataclass(frozen=True)
class Route:
    """The steps of one unconstrained term.

    ``relations``: which relation each operand of the term is; a relation in ``backgrounds`` takes part
    by its background alone, as a factor. ``inputs`` are the axes of the slots that steps start from: the
    operands, without repeats and axes of size one, then one for each pair of ``term.unequal``.
    """

    term: Term
    relations: tuple[int, ...]
    inputs: tuple[Axes, ...]
    steps: tuple[Step, ...]
    repeats: int
    """Assignments to the summed axes that no operand has: the result is that many equal parts."""
    backgrounds: tuple[int, ...] = ()
    sparse_inputs: tuple[bool, ...] = ()
    """Which operands are sparse; without any, all are dense."""

    @property
    def kind(self) -> str:
        """What the route comes to: a ``constant``, or a ``sparse`` or ``dense`` table."""
        if not self.bound and not self.term.apart:
            return "constant"
        sparse = self.steps[-1].sparse if self.steps else any(self.sparse_inputs)
        wide = [axis for axis in self.term.contraction.output if self.term.contraction.sizes[axis] > 1]
        return "sparse" if sparse and set(wide) <= set(self.bound) else "dense"

    @property
    def bound(self) -> Axes:
        """The output axes that the last slot has, in its order."""
        axes = frozenset(self.steps[-1].output if self.steps else frozenset().union(*self.inputs))
        return tuple(axis for axis in self.term.contraction.output if axis in axes)

    @property
    def peak(self) -> int:
        """The most bytes of results alive at a time when the steps are run in turn."""
        start = len(self.inputs)
        alive = peak = 0
        for step in self.steps:
            peak = max(peak, alive + step.bytes + step.workspace)
            alive += step.bytes - sum(self.steps[slot - start].bytes for slot in step.slots if slot >= start)
        return peak

    @cached_property
    def waves(self) -> tuple[Wave, ...]:
        """The numbers of dense steps in an order in which they can be run. Those of a wave may be run as one:
        none needs another's result, their shapes are the same, and they are small."""
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
        """Which small tables stand together in one tensor when the steps are run in waves."""
        return stacked(list(self._kinds()), [step.slots for step in self.steps], self.waves)

    def _kinds(self) -> Iterator[tuple[object, ...] | None]:
        """What small operands of the same shape and arrangement have in common; nothing for other inputs."""
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
        """How many steps in a row each one waits for."""
        start, depths = len(self.inputs), list[int]()
        for step in self.steps:
            depths.append(1 + max((depths[slot - start] for slot in step.slots if slot >= start), default=0))
        return depths

    def _small(self, alike: list[int]) -> Iterator[Wave]:
        """Steps of the same shapes, as many together as stay small."""
        count = max(1, AT_ONCE // max(1, self.steps[alike[0]].joint))
        return (tuple(alike[first : first + count]) for first in range(0, len(alike), count))


def proper_axes(axes: Axes, sizes: Mapping[str, int]) -> Axes:
    """Each axis once, and none of size one."""
    return tuple(axis for axis in dict.fromkeys(axes) if sizes[axis] != 1)


def entries(axes: Iterable[str], sizes: Mapping[str, int]) -> int:
    """How many entries a table over ``axes`` has."""
    return math.prod(sizes[axis] for axis in axes)


def as_float(count: int) -> float:
    """A count as a float; counts beyond floats are all alike."""
    return float(min(count, 10**300))


def unbound_repeats(term: Term, operands: Iterable[Axes]) -> int:
    """How many assignments the summed axes have that no operand names."""
    bound = frozenset().union(*operands)
    return entries((axis for axis in term.contraction.summed if axis not in bound), term.contraction.sizes)
