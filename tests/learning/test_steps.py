"""The loop of trainings, and how worlds are given: limits, saving, going on, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from herbrand.budget import Budget
from herbrand.errors import FactsError, UnsupportedError
from herbrand.language.parse import parse_theory
from herbrand.learning.settings import LearningSettings, Progress, settings_from
from herbrand.learning.steps import SAVED_EVERY, EarlyStopping, run_steps
from herbrand.learning.worlds import separate_facts


@dataclass
class Halving:
    """Each step halves what is left."""

    steps: int = 0
    left: float = 1.0
    losses: list[float] = field(default_factory=list)
    stopping: EarlyStopping = field(default_factory=lambda: EarlyStopping(10**6))

    def step(self) -> float:
        loss, self.left, self.steps = self.left, self.left / 2, self.steps + 1
        return loss


def test_as_many_steps_as_asked_for_and_each_is_told() -> None:
    told: list[Progress] = []
    state = Halving()
    status = run_steps(state, LearningSettings(iterations=3, watch=told.append), 1000, pytest.fail)
    assert (status.converged, status.iterations, status.trace) == (True, 3, (1.0, 0.5, 0.25))
    assert [(now.step, now.steps, now.metric) for now in told] == [(n, 3, "loss") for n in (1, 2, 3)]
    assert run_steps(Halving(), LearningSettings(), 7, pytest.fail).iterations == 7


def test_a_run_that_is_saved_and_gone_on_with_is_an_unbroken_one() -> None:
    kept: list[tuple[str, int]] = []
    state = Halving()
    settings = LearningSettings(iterations=2 * SAVED_EVERY + 5, save="here")
    run_steps(state, settings, 1, lambda path: kept.append((path, state.steps)))
    assert kept == [("here", SAVED_EVERY), ("here", 2 * SAVED_EVERY), ("here", 2 * SAVED_EVERY + 5)]
    broken = Halving()
    run_steps(broken, LearningSettings(iterations=40), 1, pytest.fail)
    run_steps(broken, LearningSettings(iterations=2 * SAVED_EVERY + 5), 1, pytest.fail)
    assert broken == state
    assert run_steps(state, settings, 1, lambda path: None).iterations == state.steps, "nothing is left to do"


def test_a_time_limit_ends_it_after_the_step_that_is_under_way_and_keeps_the_state() -> None:
    kept: list[str] = []
    status = run_steps(
        Halving(), LearningSettings(budget=Budget(seconds=0.0), save="here"), 1000, kept.append
    )
    assert (status.converged, status.iterations, kept) == (False, 1, ["here"])
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
