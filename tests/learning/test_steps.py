"""The loop of trainings, and how worlds are given: limits, saving, going on, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from herbrand.budget import Budget
from herbrand.errors import FactsError, UnsupportedError
from herbrand.language.parse import parse_theory
from herbrand.learning.settings import LearningSettings, Progress, settings_from
from herbrand.learning.steps import SAVED_EVERY, EarlyStopping, Options, resume, run_steps
from herbrand.learning.worlds import separate_facts


@dataclass
class Halving:
    """Each step halves what is left."""

    steps: int = 0
    left: float = 1.0
    losses: list[float] = field(default_factory=list)
    stopping: EarlyStopping = field(default_factory=lambda: EarlyStopping(10**6))
    mark: str = "halving"
    options: Options = field(default_factory=dict)
    saved: list[int] = field(default_factory=list, compare=False)

    def step(self) -> float:
        loss, self.left, self.steps = self.left, self.left / 2, self.steps + 1
        return loss

    def kept(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        self.saved.append(self.steps)
        return {"left": torch.tensor(self.left, dtype=torch.float64)}, {}

    def restore(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        self.left = tensors["left"].item()


def test_as_many_steps_as_asked_for_and_each_is_told() -> None:
    told: list[Progress] = []
    state = Halving()
    status = run_steps(state, LearningSettings(iterations=3, watch=told.append), 1000)
    assert (status.converged, status.iterations, status.trace) == (True, 3, (1.0, 0.5, 0.25))
    assert [(now.step, now.steps, now.metric) for now in told] == [(n, 3, "loss") for n in (1, 2, 3)]
    assert run_steps(Halving(), LearningSettings(), 7).iterations == 7


def test_a_run_that_is_saved_and_gone_on_with_is_an_unbroken_one(tmp_path: Path) -> None:
    path, most = str(tmp_path / "state"), 2 * SAVED_EVERY + 5
    state = Halving()
    settings = LearningSettings(iterations=most, save=path)
    run_steps(state, settings, 1)
    assert state.saved == [SAVED_EVERY, 2 * SAVED_EVERY, most]
    run_steps(Halving(), LearningSettings(iterations=40, save=path), 1)
    broken = Halving()
    resume(broken, LearningSettings(resume=path))
    assert (broken.steps, broken.left, broken.stopping.best) == (40, 0.5**40, 0.5**39)
    run_steps(broken, LearningSettings(iterations=most), 1)
    assert replace(broken, losses=state.losses) == state and broken.losses == state.losses[40:]
    assert run_steps(state, settings, 1).iterations == state.steps, "nothing is left to do"


def test_what_was_saved_is_of_this_training(tmp_path: Path) -> None:
    path = str(tmp_path / "state")
    resume(Halving(), LearningSettings(resume=path, save=path))  # nothing is there yet
    run_steps(Halving(options={"seed": 1}), LearningSettings(iterations=1, save=path), 1)
    with pytest.raises(UnsupportedError, match="was trained on another theory or other facts"):
        resume(Halving(mark="other", options={"seed": 1}), LearningSettings(resume=path))
    with pytest.raises(UnsupportedError, match=r"was trained with another --seed\n.*and not without --seed"):
        resume(Halving(options={"seed": None}), LearningSettings(resume=path))


def test_a_time_limit_ends_it_after_the_step_that_is_under_way_and_keeps_the_state(tmp_path: Path) -> None:
    state = Halving()
    settings = LearningSettings(budget=Budget(seconds=0.0), save=str(tmp_path / "state"))
    status = run_steps(state, settings, 1000)
    assert (status.converged, status.iterations, state.saved) == (False, 1, [1])
    assert status.advice == "stopped after 0.0 s; allow more by --time-limit"


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"time_limit": float("inf")}, "--time-limit is a number from 0 on, not inf"),
        ({"l2": float("inf")}, "--l2 is a number from 0 on, not inf"),
        ({"l1": -1}, "--l1 is a number from 0 on, not -1"),
        ({"depth": -1}, "--depth is a whole number from 0 on, not -1"),
        ({"observed": 1.5}, "--observed is a number from 0 to 1, not 1.5"),
        ({"batch": 0}, "--batch is a whole number from 1 on, not 0"),
        ({"iteration": 5}, "learn has no option 'iteration'\n  did you mean 'iterations'?"),
    ],
)
def test_settings_that_make_no_sense(told: dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedError) as refused:
        settings_from(told)
    assert str(refused.value) == message


def test_worlds_are_the_folders_of_a_folder_in_order(tmp_path: Path) -> None:
    for name in ("b", "a", ".hidden", "_kept"):
        (tmp_path / name).mkdir()
    (tmp_path / "file.csv").write_text("x\n")
    assert separate_facts(tmp_path) == separate_facts(str(tmp_path)) == [tmp_path / "a", tmp_path / "b"]
    assert separate_facts(iter([1, 2])) == [1, 2]
    assert separate_facts(()) == []


def test_worlds_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FactsError, match=r"there is no folder '.*gone' of worlds"):
        separate_facts(tmp_path / "gone")
    with pytest.raises(FactsError) as empty:
        separate_facts(tmp_path)
    assert str(empty.value).endswith("holds no world\n  each world is a folder of its own, with its tables")
    for one in (7, {"smokes": ["anna"]}, parse_theory("wet")):
        with pytest.raises(FactsError, match="worlds are a folder, or a list of facts\n  put the facts"):
            separate_facts(one)
    with pytest.raises(FactsError, match="an empty name is no folder of worlds"):
        separate_facts("")
    with pytest.raises(FactsError, match=r"examples of '.*e.ev' teach probabilities .*, and this theory"):
        separate_facts(tmp_path / "e.ev")
