"""Projects from raw tables to a decision: short, and what they decide follows from their tables."""

from __future__ import annotations

import csv
import itertools
import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.conftest import ROOT

MOST_LINES = 40
PROJECTS = [path.parent for path in sorted((ROOT / "examples").glob("*/tables.py"))]


def made(project: str, folder: Path) -> None:
    runpy.run_path(str(ROOT / "examples" / project / "run.py"))["main"](folder)


def rows_of(path: Path) -> list[tuple[str, ...]]:
    with path.open(newline="") as file:
        return [tuple(row) for row in csv.reader(file)]


@pytest.mark.parametrize("project", PROJECTS, ids=lambda folder: folder.name)
def test_a_project_is_short(project: Path) -> None:
    """Theories and script, without empty lines, comments and docstrings."""
    script = re.sub(r'^""".*?"""$', "", (project / "run.py").read_text(), flags=re.DOTALL | re.MULTILINE)
    texts = [script, *(path.read_text() for path in project.glob("*.hb"))]
    lines = [line for text in texts for line in text.splitlines() if line.strip()]
    assert len([line for line in lines if not line.lstrip().startswith("#")]) < MOST_LINES


def test_rings_are_found_where_they_were_hidden(tmp_path: Path) -> None:
    made("fraud_rings", tmp_path)
    found = pd.read_parquet(tmp_path / "found.parquet").set_index("argument_1")["probability"]
    hidden = {account for (account,) in rows_of(tmp_path / "rings.csv")}
    assert set(found[found > 0.5].index) == hidden and len(found) > len(hidden)


def test_a_schedule_keeps_its_constraints_and_is_worth_more_than_a_greedy_one(tmp_path: Path) -> None:
    made("schedule", tmp_path)
    plan = pd.read_parquet(tmp_path / "plan.parquet")
    rows = list(zip(plan["argument_1"], plan["argument_2"], plan["argument_3"].astype(int), strict=True))
    slot = {task: at for _, task, at in rows}
    assert len(slot) == len(rows) == len({(person, at) for person, _, at in rows})
    before = rows_of(tmp_path / "tables" / "before.csv")
    assert all(slot[first] < slot[second] for first, second in before if second in slot)

    skill = {(p, t): float(q) for p, t, q in rows_of(tmp_path / "tables" / "skill.csv")}
    presence = {(p, int(s)): float(r) for p, s, r in rows_of(tmp_path / "tables" / "presence.csv")}
    value = {t: float(v) for t, v in rows_of(tmp_path / "tables" / "value.csv")}
    worth = {(p, t, s): v * skill[p, t] * r for t, v in value.items() for (p, s), r in presence.items()}
    later = {second for _, second in before}
    greedy: dict[str, tuple[str, int]] = {}
    for person, task, at in sorted(worth, key=lambda key: -worth[key]):
        if task not in greedy | dict.fromkeys(later) and (person, at) not in greedy.values():
            greedy[task] = (person, at)
    assert sum(worth[row] for row in rows) > sum(worth[p, t, s] for t, (p, s) in greedy.items())


RANGES = {"pump": (0.02, 0.06), "valve": (0.005, 0.02), "sensor": (0.05, 0.1), "power": (0.001, 0.004)}


def test_blame_in_the_fault_tree_is_that_of_all_corners_and_decides_what_is_watched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every end of every component's interval, every world: the gates by hand."""
    made("fault_tree", tmp_path)
    kind = {row[0]: row[1] for row in rows_of(tmp_path / "tables" / "kind.csv")}
    cases = np.array(list(itertools.product([False, True], repeat=len(kind))))
    of = dict(zip(kind, cases.T, strict=True))
    pumps, sensors = of["pump1"] & of["pump2"], of["sensor1"] & of["sensor2"] & of["sensor3"]
    accident = (pumps | of["valve"] | of["power"]) & (sensors | of["power"])
    shares = []
    for corner in itertools.product(*(RANGES[name] for name in kind.values())):
        mass = np.where(cases, corner, 1 - np.array(corner)).prod(axis=1) * accident
        shares.append((mass @ cases) / mass.sum())
    least, most = np.min(shares, axis=0), np.max(shares, axis=0)
    blame = pd.read_parquet(tmp_path / "blame.parquet").set_index("argument_1")
    assert blame.loc[list(kind), "lower"].to_numpy() == pytest.approx(least, rel=2e-6)
    assert blame.loc[list(kind), "upper"].to_numpy() == pytest.approx(most, rel=2e-6)
    watched = set(re.findall(r"watch (\w+)", capsys.readouterr().out))
    assert watched == {name for name, upper in zip(kind, most, strict=True) if upper >= 0.1}


def filled_by_hand(answers: np.ndarray) -> np.ndarray:
    """The chance of yes for each blank of [person, question], by expectation maximisation of two habits."""
    known, yes = ~np.isnan(answers), np.nan_to_num(answers)
    share, says = 0.5, np.array([[0.7], [0.3]]) * np.ones(answers.shape[1])  # [habit, question]
    for _ in range(5000):
        each = np.where(known, np.where(yes, says[:, None], 1 - says[:, None]), 1).prod(axis=2)
        habits = each * [[share], [1 - share]]
        habits /= habits.sum(axis=0)
        share = habits[0].mean()
        says = (habits @ yes) / (habits @ known)
    return habits.T @ says


def test_blanks_of_the_survey_are_filled_by_the_habit_behind_the_answers(tmp_path: Path) -> None:
    """As by two habits by hand, and better than by each question alone."""
    made("survey", tmp_path)
    asked, whole = (
        pd.read_csv(tmp_path / "tables" / f"{name}.csv").set_index("person").astype(float)
        for name in ("survey", "whole")
    )
    found = pd.read_parquet(tmp_path / "filled.parquet").pivot(
        index="argument_1", columns="predicate", values="probability"
    )
    blank = asked.isna().to_numpy()
    filled = found.reindex(index=asked.index, columns=asked.columns).to_numpy()
    assert (~np.isnan(filled) == blank).all()
    by_hand = filled_by_hand(asked.to_numpy())
    assert np.abs(filled - by_hand)[blank].max() < 1e-3
    right = (filled > 0.5) == (whole.to_numpy() > 0.5)
    alone = (asked.mean().to_numpy() > 0.5) == (whole.to_numpy() > 0.5)
    assert right[blank].sum() > alone[blank].sum()


def fitted(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Weights of a logistic regression without penalty, by Newton's steps."""
    weights = np.zeros(features.shape[1])
    for _ in range(50):
        chances = 1 / (1 + np.exp(-features @ weights))
        curvature = (features.T * (chances * (1 - chances))) @ features
        weights += np.linalg.solve(curvature, features.T @ (labels - chances))
    return weights


def test_recommendations_are_the_likeliest_by_counts_of_reasons(tmp_path: Path) -> None:
    """Weights as by a regression on the reasons counted by hand; most of what is recommended is liked."""
    made("recommendations", tmp_path)
    names = ("wrote", "about", "admires", "follows", "friends")
    wrote, about, admires, follows, friends = (rows_of(tmp_path / "tables" / f"{n}.csv") for n in names)
    shown, hidden = (
        {(u, b): told == "true" for u, b, told in rows_of(tmp_path / "tables" / f"{name}.csv") if u != "u"}
        for name in ("likes", "hidden")
    )

    def reasons(user: str, book: str) -> list[int]:
        return [
            1,
            sum((user, author) in set(admires) for author, written in wrote if written == book),
            sum((user, theme) in set(follows) for of, theme in about if of == book),
            sum(shown.get((friend, book), False) for one, friend in friends if one == user),
        ]

    weights = fitted(np.array([reasons(*pair) for pair in shown]), np.array([*shown.values()]))
    chances = pd.read_parquet(tmp_path / "chances.parquet").set_index(["argument_1", "argument_2"])
    found = chances["probability"].to_dict()
    assert found.keys() == hidden.keys()
    by_hand = {pair: 1 / (1 + np.exp(-np.dot(reasons(*pair), weights))) for pair in hidden}
    assert found == pytest.approx(by_hand, abs=1e-4)

    best = pd.read_parquet(tmp_path / "best.parquet")
    recommended = list(zip(best["u"], best["b"], strict=True))
    most = {user: max(p for (u, _), p in found.items() if u == user) for user, _ in hidden}
    assert set(recommended) == {pair for pair, p in found.items() if p == most[pair[0]]}
    liked = np.mean([hidden[pair] for pair in recommended])
    assert liked > 2 * np.mean([*hidden.values()])
