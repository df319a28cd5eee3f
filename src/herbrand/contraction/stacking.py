"""Which small tables stand together in one tensor, and which rows of it each wave of steps takes.

Thousands of small tables cost some calls each where every one is a tensor of its own: to be viewed, put
together and taken apart, and all of it once more for a gradient. Every slot is used once. So inputs of one
kind are put together once, as rows in the order of their use; the results of a wave are rows already; and a
wave takes runs of neighbouring rows.

>>> four = stacked(["leaf"] * 4, steps=[(0, 1), (2, 3), (4, 5)], waves=[(0, 1), (2,)])
>>> four.inputs
(Together(slots=(0, 2, 1, 3), lengths=(2, 2), order=()),)
>>> four.takes[0]
(Taken(runs=(0,), order=()), Taken(runs=(1,), order=()))
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

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
