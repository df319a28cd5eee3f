"""Every example runs, and shows in its README what it truly prints."""

from __future__ import annotations

import re
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from herbrand import tasks
from tests.conftest import ROOT

EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/README.md"))
TRAINED = [folder for folder in EXAMPLES if "def main(seeds" in (folder / "run.py").read_text()]
"""Examples that train with and without logic, over several seeds."""
SHORTENED = {"grid_world", "routing"}
"""They train for long: only `make check-all` runs them as they are; shorter trainings follow below."""
STEPS = 20
OUTPUT = re.compile(r"<!-- output -->\n```\n(.*?)```", re.DOTALL)


def test_every_folder_has_a_readme_and_a_script() -> None:
    folders = sorted(
        path for path in (ROOT / "examples").iterdir() if path.is_dir() and path.name[0] not in "._"
    )
    assert [f.name for f in folders if f.name != "learning"] == [f.name for f in EXAMPLES]
    assert all((folder / "run.py").exists() for folder in EXAMPLES)


def whole() -> list[object]:
    """Examples that run to their end."""
    return [
        pytest.param(folder, id=folder.name, marks=[pytest.mark.slow] * (folder.name in SHORTENED))
        for folder in EXAMPLES
        if folder not in TRAINED
    ]


@pytest.mark.parametrize("folder", whole())
def test_runs_and_prints_what_the_readme_shows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(folder / "run.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed
    shown = OUTPUT.search((folder / "README.md").read_text())
    if shown is not None:
        assert printed.rstrip() == shown[1].rstrip()
    else:
        assert len(printed.splitlines()) >= 2


@pytest.mark.parametrize("folder", TRAINED, ids=lambda folder: folder.name)
def test_logic_helps_and_the_curves_are_drawn(folder: Path, tmp_path: Path) -> None:
    """A short version, of one seed; each fits on a page."""
    assert len((folder / "run.py").read_text().splitlines()) < 80
    main = runpy.run_path(str(folder / "run.py"), run_name="example")["main"]
    found = main(seeds=1, steps=STEPS, picture=str(tmp_path / "curve.svg"))
    (alone,), (helped,) = found.values()
    assert 0 <= alone < helped <= 1
    assert (tmp_path / "curve.svg").read_text().count("<polyline") == 2


def names(example: str) -> dict[str, Any]:
    """What the script of an example defines, without its run."""
    return runpy.run_path(str(ROOT / "examples" / example / "run.py"), run_name="example")


def towards_target(board: Any) -> torch.Tensor:
    """Scores of moves: the cells beside the robot that lie nearer to the target."""
    (row, column), (own_row, own_column), (goal_row, goal_column) = (
        np.divmod(cells, board.size)
        for cells in (np.arange(board.objects), board.robot[:, None], board.target[:, None])
    )
    beside = abs(row - own_row) + abs(column - own_column) == 1
    left = abs(row - goal_row) + abs(column - goal_column)
    return torch.from_numpy(np.where(beside, -left, -100.0)).float()


def test_a_robot_crosses_the_board_by_a_shortest_way() -> None:
    """One that goes straight crosses every board within the moves allowed, one that does not move none; a
    short training is examined, and plays."""
    example = names("grid_world")
    boards = example["Board"].draw(np.random.default_rng(1), worlds=50, size=5)
    assert tasks.play(towards_target, boards).solved.all()
    assert not tasks.play(
        lambda board: torch.nn.functional.one_hot(torch.from_numpy(board.robot), board.objects), boards
    ).solved.any()
    lessons = replace(example["LESSONS"], last=2, epochs=1, games=4, exam_games=10, final=((3, 5),))
    learned = tasks.train(example["Board"], lessons, seed=0)
    assert learned.play(boards).solved.shape == (50,)


def test_the_next_hop_is_on_a_shortest_way() -> None:
    """Beside loops over the links of each network; a short training is examined."""
    example = names("routing")
    drawn = example["networks"](np.random.default_rng(2), 20, 9)
    for link, gateway, next_hop in zip(
        *(drawn[name] for name in ("link", "gateway", "next_hop")), strict=True
    ):
        (goal,) = np.flatnonzero(gateway)
        near = [bool(link[x, goal]) for x in range(9)]
        for x, y in np.ndindex(9, 9):
            second = x != goal and not near[x] and near[y]
            assert next_hop[x, y] == (link[x, y] and (y == goal or second))
    plan = tasks.Plan(examples=96, batch=8, exam_every=32, exam_worlds=(4, 2))
    learned = tasks.train(example["ROUTING"], plan, seed=0)
    assert learned.examine(worlds=2, size=10).tuples == 2 * 10 * 10
