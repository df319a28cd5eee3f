"""Tables that stand together are cut and put together so that every step gets its own."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from herbrand.contraction import Contraction, Dense, plan, run, steps
from herbrand.contraction.planner import forget
from herbrand.contraction.steps import Stacking, Together, stacked
from tests.contraction.test_waves import route, tree

Step = tuple[int, ...]


@st.composite
def walks(draw: st.DrawFn) -> tuple[list[object], list[Step], list[Step]]:
    """Kinds of inputs, steps that use every slot once, and waves of steps that take as many factors."""
    kinds: list[object] = draw(st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=12))
    left, steps, depth_of = list(range(len(kinds))), list[Step](), dict.fromkeys(range(len(kinds)), 0)
    while len(left) > 1:
        count = draw(st.integers(1, min(3, len(left))))
        slots = tuple(left.pop(draw(st.integers(0, len(left) - 1))) for _ in range(count))
        if count == 1 and slots[0] >= len(kinds):
            left.extend(slots)
            continue
        depth_of[len(kinds) + len(steps)] = 1 + max(depth_of[slot] for slot in slots)
        left.append(len(kinds) + len(steps))
        steps.append(slots)
    alike: dict[tuple[int, int], list[int]] = {}
    for number, slots in enumerate(steps):
        alike.setdefault((depth_of[len(kinds) + number], len(slots)), []).append(number)
    return kinds, steps, [tuple(alike[key]) for key in sorted(alike)]


def walked(stacking: Stacking, waves: Sequence[Step], steps: Sequence[Step], start: int) -> list[object]:
    """Runs of slots' numbers in the place of tables; what is left of them at the end."""
    runs = [run for together in stacking.inputs for run in cut(list(together.slots), together)]
    for wave, takes, result in zip(waves, stacking.takes, stacking.results, strict=True):
        for factor, taken in enumerate(takes):
            rows = [slot for number in taken.runs for slot in runs[number]]
            for number in taken.runs:
                runs[number] = []  # each is used once
            rows = [rows[place] for place in taken.order] if taken.order else rows
            assert rows == [steps[number][factor] for number in wave]
        made = [start + number for number in wave]
        ordered = [made[place] for place in result.order] if result.order else made
        assert tuple(ordered) == result.slots
        runs.extend(cut(ordered, result))
    return [slot for run in runs for slot in run]


def cut(slots: list[int], together: Together) -> list[list[int]]:
    assert sum(together.lengths) == len(slots)
    ends = [sum(together.lengths[: number + 1]) for number in range(len(together.lengths))]
    return [slots[end - length : end] for end, length in zip(ends, together.lengths, strict=True)]


@given(walks())
def test_every_step_gets_its_own_slots(walk: tuple[list[object], list[Step], list[Step]]) -> None:
    kinds, steps, waves = walk
    left = walked(stacked(kinds, steps, waves), waves, steps, len(kinds))
    assert left == [len(kinds) + len(steps) - 1 if steps else 0]


@given(walks())
def test_only_inputs_of_one_kind_stand_together(walk: tuple[list[object], list[Step], list[Step]]) -> None:
    kinds, steps, waves = walk
    for together in stacked(kinds, steps, waves).inputs:
        assert len(together.slots) == 1 or len({kinds[slot] for slot in together.slots}) == 1
        assert len(together.slots) == 1 or kinds[together.slots[0]] is not None


def test_inputs_that_single_steps_take_stand_alone() -> None:
    chain = stacked(["a"] * 4, steps=[(0, 1), (4, 2), (5, 3)], waves=[(0,), (1,), (2,)])
    assert [together.slots for together in chain.inputs] == [(0,), (1,), (2,), (3,)]


def test_large_operands_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    monkeypatch.setattr(steps, "STACKED", 2)
    found = route(tree(60, "log")[0])
    sizes = found.term.contraction.sizes
    for together in found.stacking.inputs:
        entries = {steps.entries(found.inputs[slot], sizes) for slot in together.slots}
        assert len(together.slots) == 1 or entries == {2}
    forget()


def test_diagonals_and_axes_of_size_one_stand_together_where_they_are_alike() -> None:
    sizes = {"a": 2, "b": 2, "c": 2, "d": 2, "one": 1}
    asked = Contraction.parse("a a, b b, a one, one b, c d, d c, a c, b d ->", sizes, algebra="log")
    generator = torch.Generator().manual_seed(5)
    tables = [
        torch.rand(asked.shape(axes), generator=generator, dtype=torch.float64) for axes in asked.operands
    ]
    found = run(plan(asked), [Dense(table) for table in tables]).to_dense().exp()
    numbers = [table.exp() for table in tables]
    torch.testing.assert_close(found, torch.einsum("aa,bb,ao,ob,cd,dc,ac,bd->", *numbers))


def test_two_of_each_pattern_are_told_apart() -> None:
    """A table and its transpose have the same shape and must not be taken for each other."""
    sizes = dict.fromkeys("abcdef", 2)
    asked = Contraction.parse("a b, c b, c d, e d, e f, f a ->", sizes, algebra="real")
    tables = [torch.arange(4, dtype=torch.float64).reshape(2, 2) + turn for turn in range(6)]
    found = run(plan(asked), [Dense(table) for table in tables]).to_dense()
    torch.testing.assert_close(found, torch.einsum("ab,cb,cd,ed,ef,fa->", *tables))
