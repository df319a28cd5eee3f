"""Samples, machines and their files: what is joined, needed, drawn and kept, and what wrong ones are told."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks.games.schools import environment_named
from herbrand.errors import BudgetError, HerbrandError, UnsupportedError
from herbrand.induction import machine as machines
from herbrand.induction.checkpoint import (
    load_machine,
    save_machine,
)
from herbrand.induction.examination import Marks, examine, failed_worlds
from herbrand.induction.journal import refuse_another
from herbrand.induction.machine import LogicMachine, draw_weights
from herbrand.induction.target import Shape, TargetMachine
from herbrand.induction.task import Sample, Task, joined, range_of
from herbrand.tensor_files import save_tensors, under, within


def sample(worlds: int, objects: int = 3, start: int = 0, known: bool = False) -> Sample:
    """Worlds that can be told apart by a number in each cell."""
    numbers = torch.arange(start, start + worlds, dtype=torch.float32)
    cells = numbers.view(-1, 1, 1, 1).expand(worlds, objects, objects, 2).clone()
    told = torch.ones(worlds, objects, dtype=torch.bool) if known else None
    return Sample({2: cells}, numbers.view(-1, 1).expand(worlds, objects).clone(), told, told)


def numbers(found: Sample) -> list[int]:
    return [int(world) for world in found.target[:, 0]]


def rare_task(share: float) -> Task:
    """Each object is positive by itself with this chance."""

    def draw(rng: np.random.Generator, worlds: int, objects: int) -> Sample:
        target = torch.from_numpy((rng.random((worlds, objects)) < share).astype(np.float32))
        return Sample({1: torch.zeros(worlds, objects, 1)}, target)

    return Task("rare", "t", 1, {1: ("p",)}, draw, (4, 8), 8, 100, rare=True)


class TestSamples:
    @pytest.mark.parametrize("known", [False, True])
    def test_joined_samples_stand_one_after_the_other(self, known: bool) -> None:
        found = joined(
            [sample(2, known=known), sample(1, start=2, known=known), sample(3, start=3, known=known)]
        )
        assert numbers(found) == [0, 1, 2, 3, 4, 5] and found.worlds == 6
        assert found.predicates[2][:, 0, 0, 0].tolist() == [0, 1, 2, 3, 4, 5]
        for part in (found.present, found.known):
            assert (part is not None) == known and (part is None or part.shape == (6, 3))

    def test_worlds_are_taken_in_the_order_asked_for_and_as_often(self) -> None:
        found = sample(4, known=True).take([2, 0, 2])
        assert numbers(found) == [2, 0, 2] and found.present is not None and found.present.shape == (3, 3)
        assert numbers(sample(4).take(np.array([], np.int64))) == []
        assert numbers(sample(4).take(range_of(sample(4), 9))) == [0, 1, 2, 3]

    @pytest.mark.parametrize(("worlds", "objects"), [(0, 4), (4, 0), (-1, 4)])
    def test_no_worlds_or_objects_are_refused(self, worlds: int, objects: int) -> None:
        with pytest.raises(HerbrandError) as caught:
            rare_task(0.5).draw(np.random.default_rng(0), worlds, objects)
        assert str(caught.value) == f"{worlds} worlds of {objects} objects\n  at least one of each"

    @pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 1.0])
    def test_of_rare_targets_three_worlds_of_four_have_one_where_there_are_any(self, share: float) -> None:
        found = rare_task(share).draw_for_training(np.random.default_rng(1), 16, 4)
        positive = int(found.target.any(1).sum())
        assert found.worlds == 16
        assert positive == {0.0: 0, 1.0: 16}.get(share, 12)

    def test_inputs_count_predicates_by_arity_up_to_the_breadth(self) -> None:
        task = Task(
            "t",
            "t",
            1,
            {0: ("wet",), 2: ("edge", "near")},
            rare_task(1).draw_worlds,
            (2, 3),
            3,
            10,
            breadth=4,
        )
        assert task.inputs == (1, 0, 2, 0, 0)


class TestMachines:
    def test_only_arities_that_reach_the_target_are_made(self) -> None:
        needed = machines._needed
        assert needed(3, 2, None) == [{0, 1, 2}] * 3
        assert needed(1, 3, 1) == [{1}]
        assert needed(2, 3, 1) == [{0, 1, 2}, {1}]
        assert needed(4, 3, 0) == [{0, 1, 2, 3}, {0, 1, 2}, {0, 1}, {0}]
        assert needed(2, 3, 3) == [{2, 3}, {3}]

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            (
                lambda: LogicMachine((0, 1), depth=0, breadth=1),
                "a depth of 0\n  a machine has at least one layer",
            ),
            (lambda: LogicMachine((0, 1), depth=1, breadth=5), "a breadth of 5\n  from 0 to 4"),
            (lambda: LogicMachine((0, 1), depth=1, breadth=-1), "a breadth of -1\n  from 0 to 4"),
            (
                lambda: LogicMachine((0, 0, 1), depth=1, breadth=1),
                "predicates of arity 2 are wider than the machine's breadth, 1\n  choose breadth=2",
            ),
            (
                lambda: LogicMachine((0, 1), depth=1, breadth=1, target_arity=2),
                "a target of arity 2 is wider than the machine's breadth, 1\n  choose breadth=2",
            ),
            (lambda: LogicMachine((0, 1), depth=1, breadth=2, width=[8, 8]), "2 widths for 3 arities"),
        ],
    )
    def test_wrong_shapes_are_told(self, wrong: Callable[[], Any], said: str) -> None:
        with pytest.raises(UnsupportedError) as caught:
            wrong()
        assert str(caught.value) == said

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({}, "a world has no predicates\n  give at least one"),
            ({1: torch.zeros(1, 0, 1)}, "a world has no objects\n  leave empty worlds out"),
            ({1: torch.zeros(1, 3, 2)}, "the machine reads 1 predicates of arity 1, not 2"),
            ({2: torch.zeros(1, 3, 3, 1)}, "the machine reads 1 predicates of arity 1, not 0"),
            (
                {1: torch.zeros(1, 3, 1), 2: torch.zeros(1, 3, 2, 1)},
                "predicates of arity 2 have the shape (1, 3, 2, 1)\n"
                "  expected (1, 3, 3, 1): worlds, objects, predicates",
            ),
            (
                {1: torch.zeros(1, 3, 1), 2: torch.zeros(1, 3, 3, 1), 3: torch.zeros(1, 3, 3, 3, 1)},
                "predicates of arity 3 are wider than the machine's breadth, 2\n  make it with breadth=3",
            ),
        ],
    )
    def test_worlds_that_do_not_fit_are_told(self, given: dict[int, torch.Tensor], said: str) -> None:
        with pytest.raises(UnsupportedError) as caught:
            LogicMachine((0, 1, 1), depth=2, breadth=2)(given)
        assert str(caught.value) == said

    def test_memory_is_estimated_before_it_is_taken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made = LogicMachine((0, 0, 2), depth=3, breadth=3)
        sizes = [
            made.estimated_bytes(2, objects, gradient)
            for objects in (5, 10, 20)
            for gradient in (False, True)
        ]
        assert sizes == sorted(sizes) and sizes[0] > 0
        monkeypatch.setattr(machines, "allowed_bytes", lambda: sizes[-2] - 1)
        with pytest.raises(BudgetError) as caught, torch.no_grad():
            made({2: torch.zeros(2, 20, 20, 2)})
        assert str(caught.value).startswith("2 worlds of 20 objects need ")
        with torch.no_grad():
            made({2: torch.zeros(2, 10, 10, 2)})

    def test_fresh_weights_lie_within_the_spread_and_repeat(self) -> None:
        one, other = (
            nn.Sequential(nn.Linear(16, 4), nn.Sigmoid(), nn.Linear(4, 2, bias=False)) for _ in range(2)
        )
        for module, seed in ((one, 3), (other, 3)):
            draw_weights(module, seed, spread=2.0)
        for name, tensor in one.state_dict().items():
            assert torch.equal(tensor, other.state_dict()[name])
            bound = 2.0 / math.sqrt(16 if name.startswith("0") else 4)
            assert float(tensor.abs().max()) <= bound and float(tensor.abs().max()) > 0.3 * bound
        draw_weights(other, 4, spread=2.0)
        assert not torch.equal(one[0].weight, other[0].weight)


class TestExams:
    def test_marks_add_up(self) -> None:
        total = Marks(2, 10, 1, margin=-0.5) + Marks(3, 20, 0, margin=2.0)
        assert total == Marks(5, 30, 1, -0.5) and not total.perfect
        assert total.accuracy == pytest.approx(1 - 1 / 30)
        assert Marks(0, 0, 0).accuracy == 1.0 and Marks(0, 0, 0).perfect

    def test_every_world_is_examined_in_batches_or_until_the_first_error(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("herbrand.induction.examination.CELLS", 3 * 4**3)
        drawn: list[int] = []

        def wrong(asked: Sample) -> torch.Tensor:
            drawn.append(asked.worlds)
            return torch.full(asked.target.shape, -1.0)

        task, rng = rare_task(1.0), np.random.default_rng(0)
        found = examine(wrong, task, rng, 8, 4)
        assert drawn == [3, 3, 2] and (found.worlds, found.tuples, found.errors, found.margin) == (
            8,
            32,
            32,
            -1.0,
        )
        drawn.clear()
        assert examine(wrong, task, rng, 8, 4, stop_at_error=True).worlds == 3 and drawn == [3]

    def test_worlds_fail_by_what_is_known_of_them(self) -> None:
        told = sample(3, known=True)
        assert told.known is not None
        told.known[1] = False
        odds = torch.tensor([[2.0, -3.0, -3.0], [9.0, 9.0, 9.0], [3.0, 3.0, 3.0]])
        target = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
        right = Sample(told.predicates, target, told.present, told.known)
        assert failed_worlds(odds, right, 1.0).tolist() == []
        assert failed_worlds(odds, right, 2.0).tolist() == [0]
        assert failed_worlds(odds, right, 5.0).tolist() == [0, 2]


class TestFiles:
    def test_a_machine_is_itself_after_a_file(self, tmp_path: Path) -> None:
        made = TargetMachine((0, 0, 2), 1, depth=2, breadth=2, width=3, hidden=(4,), residual=False)
        save_machine(tmp_path / "m", made, {"seed": 7})
        again, about = load_machine(tmp_path / "m")
        assert again.shape == made.shape == Shape.from_dict(made.shape.to_dict()) and about["seed"] == 7
        world = {2: torch.rand(1, 4, 4, 2)}
        assert torch.equal(again(world), made(world))

    def test_other_files_are_no_machines(self, tmp_path: Path) -> None:
        save_tensors(tmp_path / "m", {"a": torch.zeros(1)}, {"task": "x"})
        with pytest.raises(HerbrandError, match=r"'.*m' holds no machine"):
            load_machine(tmp_path / "m")

    def test_another_run_is_told_by_what_differs(self) -> None:
        refuse_another("f", {"seed": 1, "task": "a", "more": 2}, {"seed": 1, "task": "a"})
        with pytest.raises(HerbrandError) as caught:
            refuse_another("f", {"seed": 1, "task": "a"}, {"seed": 1, "task": "b"})
        assert (
            str(caught.value)
            == "'f' was saved with another task: a\n  this run has b; to begin anew, delete the file"
        )
        with pytest.raises(HerbrandError, match="another seed: None"):
            refuse_another("f", {}, {"seed": 1})

    def test_tensors_by_the_name_before_theirs(self) -> None:
        one, other, third = (torch.tensor(float(n)) for n in range(3))
        told = {"machine.a": one, "machine.b.c": other, "machines.a": third}
        assert within("machine", told) == {"a": one, "b.c": other} and within("x", told) == {}
        assert under("machine", within("machine", told)) == {"machine.a": one, "machine.b.c": other}


class TestEnvironments:
    def test_wrong_ones_are_told(self) -> None:
        pytest.importorskip("gymnasium")
        with pytest.raises(UnsupportedError) as caught:
            environment_named("path", objects=1)
        assert str(caught.value) == "1 objects are too few for path\n  at least 2"
        environment = environment_named("sorting", objects=3, render_mode="ansi")
        with pytest.raises(UnsupportedError, match=r"reset\(\) comes before the first step\(\)"):
            environment.step(0)
        environment.reset(seed=1)
        assert environment.render() == repr(environment.games)
        assert environment_named("sorting", objects=3).render() is None
        for action in (-1, 99, "left", None, 1.5):
            with pytest.raises(UnsupportedError, match=f"there is no action {action}"):
                environment.step(action)
        for action in (0, np.int64(1), np.array(2)):
            environment.step(action)
