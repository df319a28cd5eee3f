"""The critic: what it learns from is checked by definition, episode by episode."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from benchmarks.games.blocks import Towers
from benchmarks.games.critic import ActorCritic, Critic, Forecasts, coached_lesson, judged, moves_of_blocks
from benchmarks.games.schools import policy_for, school_of
from benchmarks.games.tower_policy import TowerPolicy
from herbrand.adam import Adam
from herbrand.errors import HerbrandError
from herbrand.tasks.curriculum import Curriculum
from herbrand.tasks.reinforce import disorder, invalidity
from herbrand.tasks.rollouts import play
from tests.laws import tries

PHASES = [Phase.reuse, Phase.generate]


@settings(max_examples=tries(60), deadline=None, phases=PHASES)
@given(st.data())
def test_moves_are_judged_by_the_definition(data: st.DataObject) -> None:
    """The sum over later moves of how wrong each forecast was, discounted by ``discount * trace`` a move."""
    discount, trace = data.draw(st.sampled_from([0.9, 1.0])), data.draw(st.sampled_from([0.0, 0.7, 1.0]))
    games, limit = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    moves = np.array([data.draw(st.integers(1, limit)) for _ in range(games)])
    solved = np.array([m < limit or data.draw(st.booleans()) for m in moves])
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    forecast, beyond = 10 * rng.random((games, limit)), np.where(solved, 0.0, 10 * rng.random(games))
    rows = [np.flatnonzero(moves > step) for step in range(moves.max())]
    steps = [forecast[here, step] for step, here in enumerate(rows)]
    better, to_come = judged(rows, moves, solved, Forecasts(steps, beyond), discount, trace)
    for step, here in enumerate(rows):
        for place, game in enumerate(here):
            told = [*forecast[game, : moves[game]], beyond[game]]
            surprises = [1 + discount * told[k + 1] - told[k] for k in range(step, moves[game])]
            surprise = sum((discount * trace) ** k * s for k, s in enumerate(surprises))
            assert better[step][place] == pytest.approx(-surprise, abs=1e-9)
            assert to_come[step][place] == pytest.approx(told[step] + surprise, abs=1e-9)


def test_a_whole_episode_counts_its_moves() -> None:
    """With a trace of 1 what is learned is what happened, whatever had been forecast."""
    rows = [np.array([0, 1]), np.array([0, 1]), np.array([1])]
    forecasts = Forecasts([np.array([7.0, 0.0]), np.array([3.0, 9.0]), np.array([4.0])], np.array([0.0, 5.0]))
    _, to_come = judged(rows, np.array([2, 3]), np.array([True, False]), forecasts, 1.0, 1.0)
    assert [part.tolist() for part in to_come] == [[2.0, 8.0], [1.0, 7.0], [6.0]]


def tower_policy(seed: int = 0) -> TowerPolicy:
    policy = policy_for("blocks", seed)
    assert isinstance(policy, TowerPolicy)
    return policy


def test_forecasts_count() -> None:
    """Twice the same blocks would be forecast twice the moves: forecasts are sums over objects."""
    policy = tower_policy()
    critic = Critic(policy)
    about = policy.about(Towers.draw(np.random.default_rng(0), 3, 4)).detach()
    torch.testing.assert_close(critic(torch.cat([about, about], 1)), 2 * critic(about))
    assert (critic(about) > 0).all()


def test_a_lesson_learns_and_repeats() -> None:
    learned = []
    for _ in range(2):
        policy, rng = tower_policy(3), np.random.default_rng(1)
        torch.manual_seed(0)
        critic = Critic(policy)
        adam = Adam.of([*policy.parameters(), *critic.parameters()], 0.01)
        coached_lesson(policy, critic, adam, Towers.draw(rng, 8, 2), rng, ActorCritic(), 0.01)
        learned.append(torch.cat([w.detach().flatten() for w in policy.parameters()]))
    before = torch.cat([w.detach().flatten() for w in tower_policy(3).parameters()])
    assert torch.equal(learned[0], learned[1]) and not torch.allclose(learned[0], before)


def test_solved_games_teach_nothing() -> None:
    towers = Towers.draw(np.random.default_rng(0), 2, 3)
    done = Towers(
        towers.wanted, towers.wanted_x, towers.wanted_y, towers.wanted, towers.wanted_x, towers.wanted_y
    )
    policy = tower_policy()
    found = coached_lesson(
        policy, Critic(policy), Adam.of(policy.parameters(), 1.0), done,
        np.random.default_rng(0), ActorCritic(), 0.0,
    )  # fmt: skip
    assert found.solved.all() and not found.moves.any() and not found.steps


def test_a_school_with_a_critic_goes_on_where_it_was_left(tmp_path: Path) -> None:
    plan = Curriculum(2, 2, epochs=3, lessons=1, games=4, exam_games=3, method=ActorCritic(parts=2))
    whole, left, resumed = (school_of("blocks", plan, seed=2) for _ in range(3))
    told = [(epoch.success, epoch.sampled, epoch.episodes) for epoch in whole.run()]
    next(left.run())
    left.save(tmp_path / "school")
    resumed.resume(tmp_path / "school")
    assert [(epoch.success, epoch.sampled, epoch.episodes) for epoch in resumed.run()] == told[1:]
    left, right = (torch.cat([w.flatten() for w in s.policy.parameters()]) for s in (whole, resumed))
    assert torch.equal(left, right)
    other = Curriculum(2, 2, epochs=3, lessons=1, games=4, exam_games=3)
    with pytest.raises(HerbrandError, match="saved with another curriculum"):
        school_of("blocks", other, seed=2).resume(tmp_path / "school")


def test_disorder_and_validity_by_hand() -> None:
    scores = torch.tensor([[0.0, 0.0, -torch.inf], [0.0, -torch.inf, -torch.inf]])
    told = disorder(torch.log_softmax(scores, 1))
    torch.testing.assert_close(told, torch.tensor([np.log(2.0), 0.0], dtype=torch.float32))
    games = Towers.draw(np.random.default_rng(0), 1, 2)
    legal = torch.from_numpy(games.legal())
    apart = torch.where(torch.eye(3, dtype=torch.bool).view(1, 9), -torch.inf, 0.0)
    sure = torch.where(legal, 20.0, -20.0)
    assert float(invalidity(apart, sure, games)) < 1e-6 < 10 < float(invalidity(apart, -sure, games))


def test_moves_of_each_block_are_counted_from_every_step_on() -> None:
    towers = Towers.draw(np.random.default_rng(1), 6, 4)
    episodes = play(tower_policy(), towers, np.random.default_rng(2), keep_steps=True)
    told = moves_of_blocks(episodes)
    for number, step in enumerate(episodes.steps):
        for place, game in enumerate(step.rows):
            counts = [0] * 5
            for later in episodes.steps[number:]:
                for row, action in zip(later.rows, later.actions, strict=True):
                    counts[action // 5] += row == game
            assert told[number][place].tolist() == counts


def test_only_blocks_have_a_critic() -> None:
    with pytest.raises(HerbrandError, match="not of sorting"):
        school_of("sorting", Curriculum(2, 3, method=ActorCritic()))
    with pytest.raises(HerbrandError, match="without lessons, games, rollouts"):
        Curriculum(2, 3, method=ActorCritic(parts=0))


def test_moves_of_the_network_are_those_of_its_parts() -> None:
    """A policy asked in one go, and by what it says of each object, answers alike."""
    games, policy = Towers.draw(np.random.default_rng(2), 3, 4), tower_policy(1)
    scores, valid = policy.with_validity(games)
    torch.testing.assert_close(policy(games), scores)
    again, _ = policy.moves_and_validity(policy.about(games), games)
    torch.testing.assert_close(again, scores)
    assert scores.shape == valid.shape == (3, 25)
    assert torch.isinf(scores.view(3, 5, 5).diagonal(dim1=1, dim2=2)).all()
