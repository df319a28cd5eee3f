"""Games played to their end and learned from, move by move beside plain loops."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.games.schools import GAMES, games_named, load_policy, policy_for
from herbrand.errors import HerbrandError
from herbrand.tasks.policies import TIE, chosen
from herbrand.tasks.reinforce import (
    Positions,
    advantages,
    disorder,
    invalidity,
)
from herbrand.tasks.rollouts import play
from herbrand.tensor_files import save_tensors
from tests.laws import tries

scores = st.lists(st.floats(-5, 5), min_size=2, max_size=5)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@settings(max_examples=tries(30))
@given(scores)
def test_the_first_of_the_best_is_taken(row: list[float]) -> None:
    best = max(row)
    expected = next(place for place, score in enumerate(row) if score >= best - TIE)
    assert chosen(torch.tensor([row], dtype=torch.float64), None).tolist() == [expected]


def test_actions_are_drawn_by_their_probabilities() -> None:
    row = torch.tensor([0.0, 1.0, -math.inf, 2.0], dtype=torch.float64)
    drawn = chosen(row.expand(20_000, 4), rng())
    shares = np.bincount(drawn, minlength=4) / len(drawn)
    np.testing.assert_allclose(shares, torch.softmax(row, 0), atol=4 * 0.5 / math.sqrt(len(drawn)))
    assert shares[2] == 0


@pytest.mark.parametrize("name", GAMES)
def test_games_are_played_as_if_alone(name: str) -> None:
    """A batch ends with every game where that game ends by itself."""
    kind, policy = games_named(name), policy_for(name, seed=3)
    games = kind.draw(rng(1), 6, 4)
    together = play(policy, games, keep_steps=True)
    for number in range(6):
        current, moves = games.take(np.array([number])), 0
        limit = int(current.limit()[0])
        while not current.solved()[0] and moves < limit:
            with torch.no_grad():
                action = chosen(policy(current), None)
            current, moves = current.moved(action), moves + 1
        assert bool(together.solved[number]) == bool(current.solved()[0]), number
        assert together.moves[number] == moves
    assert sum(len(step.rows) for step in together.steps) == together.moves.sum()


def test_steps_are_kept_only_where_they_are_asked_for() -> None:
    games = games_named("sorting").draw(rng(), 3, 4)
    assert play(policy_for("sorting"), games).steps == ()


@settings(max_examples=tries(20))
@given(st.lists(st.integers(-200, 200).map(lambda part: part / 100), min_size=6, max_size=6))
def test_what_is_better_than_usual_is_so_within_a_game(returns: list[float]) -> None:
    found = advantages(np.array(returns), rollouts=3).reshape(2, 3)
    np.testing.assert_allclose(found.sum(1), 0, atol=1e-9)
    for row, own in zip(np.array(returns).reshape(2, 3), found, strict=True):
        assert (np.sign(np.round(row - row.mean(), 9)) == np.sign(np.round(own, 9))).all()


@settings(max_examples=tries(20))
@given(scores)
def test_disorder_is_the_entropy(row: list[float]) -> None:
    shares = torch.softmax(torch.tensor(row, dtype=torch.float64), 0).tolist()
    expected = -sum(p * math.log(p) for p in shares)
    logs = torch.log_softmax(torch.tensor([[*row, -math.inf]], dtype=torch.float64), 1)
    assert disorder(logs).tolist() == pytest.approx([expected])


def test_chunks_hold_every_position_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("herbrand.tasks.reinforce.CHUNK", 40)
    games = games_named("sorting").draw(rng(), 7, 4)
    of, actions = np.array([6, 0, 3, 3, 5, 0]), np.arange(6)
    chunks = list(Positions(games, of, actions, np.arange(6.0)).chunks())
    assert len(chunks) == 4 and sum(chunk.games.worlds for chunk in chunks) == 7
    policy, seen = policy_for("sorting"), {}
    for chunk in chunks:
        for at, action in zip(chunk.of, chunk.actions, strict=True):
            seen[int(action)] = policy(chunk.games)[at]
    for action, game in enumerate(of):
        torch.testing.assert_close(seen[action], policy(games)[game])


def test_telling_what_moves_do_something() -> None:
    """Certain and right costs nothing, certain and wrong much; moves onto itself do not count."""
    games = games_named("blocks").draw(rng(), 2, 3)
    count = games.legal().shape[1]
    legal = torch.from_numpy(games.legal()).float()
    every = torch.zeros(2, count)
    assert float(invalidity(every, 40 * legal - 20, games)) == pytest.approx(0, abs=1e-6)
    assert float(invalidity(every, 20 - 40 * legal, games)) == pytest.approx(20, rel=1e-4)
    one = int(legal[0].argmax())
    itself = every.clone()
    itself[0, one] = -math.inf
    wrong = 40 * legal - 20
    wrong[0, one] = -20
    assert float(invalidity(itself, wrong, games)) == pytest.approx(0, abs=1e-6)


def test_other_files_are_no_policies(tmp_path: Path) -> None:
    save_tensors(tmp_path / "x.safetensors", {"a": torch.zeros(1)}, {"task": "chess"})
    with pytest.raises(HerbrandError, match="holds no policy"):
        load_policy(tmp_path / "x.safetensors")
