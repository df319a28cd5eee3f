"""Policies that learn to play: what a game is worth, what a lesson does, and a school that can be left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from benchmarks.games.path import Walks
from benchmarks.games.schools import GAMES, load_policy, policy_for, save_policy, school_of
from examples.sorting.run import Arrays
from herbrand.errors import HerbrandError
from herbrand.tasks.curriculum import Curriculum, Schooling
from herbrand.tasks.games import distinct
from herbrand.tasks.policies import chosen
from herbrand.tasks.reinforce import Positions, Reinforce, advantages, loss_of, once_each
from herbrand.tasks.rollouts import Episodes, play
from herbrand.tensor_files import save_tensors


def weights(schooling: Schooling) -> torch.Tensor:
    return torch.cat([w.detach().flatten() for w in schooling.policy.parameters()])


@given(st.integers(0, 12), st.booleans(), st.sampled_from([0.5, 0.99, 1.0]))
@settings(phases=[Phase.reuse, Phase.generate], deadline=None)
def test_a_game_is_worth_its_discounted_rewards(moves: int, solved: bool, discount: float) -> None:
    """Every move costs a hundredth, one that solves is worth one; the rewards are added up one by one."""
    solved = solved and moves > 0
    rewards = [-0.01] * moves
    if solved:
        rewards[-1] = 1.0
    worth = sum(discount**step * reward for step, reward in enumerate(rewards))
    episodes = Episodes(np.array([solved, False]), np.array([moves, 3]))
    assert episodes.returns(discount)[0] == pytest.approx(worth, abs=1e-12)


def test_moves_are_counted_to_the_end() -> None:
    arrays = Arrays(np.array([[1, 0, 2], [2, 1, 0]]))
    episodes = play(lambda games: torch.eye(9)[1:2].repeat(games.worlds, 1), arrays, keep_steps=True)
    assert episodes.solved.tolist() == [True, False] and episodes.moves.tolist() == [1, 6]
    assert [len(step.rows) for step in episodes.steps] == [2, 1, 1, 1, 1, 1]


def test_what_leads_in_a_circle_is_not_done_twice() -> None:
    """The best swap, of the last two, undoes itself; then the second best, of the first two, sorts."""
    scores = torch.zeros(1, 9)
    scores[0, 5], scores[0, 1] = 2.0, 1.0
    arrays = Arrays(np.array([[1, 0, 2], [0, 2, 1]]))
    endless = play(lambda games: scores.repeat(games.worlds, 1), arrays)
    ending = play(lambda games: scores.repeat(games.worlds, 1), arrays, repeat=False)
    assert endless.solved.tolist() == [False, True] and endless.moves.tolist() == [6, 1]
    assert ending.solved.tolist() == [True, True] and ending.moves.tolist() == [3, 1]
    assert ending.came_back is not None and ending.came_back.tolist() == [True, False]


@pytest.mark.parametrize("name", GAMES)
def test_solved_games_are_played_alike_where_moves_are_not_repeated(name: str) -> None:
    games = GAMES[name].draw(np.random.default_rng(0), 60, 3)
    policy = policy_for(name, seed=2)
    plainly, otherwise = play(policy, games), play(policy, games, repeat=False)
    assert otherwise.came_back is not None and plainly.solved.any()
    assert (plainly.solved == (otherwise.solved & ~otherwise.came_back)).all()
    assert (plainly.moves == otherwise.moves)[plainly.solved].all()


def test_a_game_that_always_ends_alike_teaches_nothing() -> None:
    found = advantages(np.array([1.0, 1.0, 1.0, -0.2, 0.8, 0.0]), rollouts=3)
    assert found[:3].tolist() == [0, 0, 0]
    assert np.argmax(found) == 4 and found.sum() == pytest.approx(0, abs=1e-9)


def test_the_first_of_equals_is_chosen() -> None:
    scores = torch.tensor([[0.0, 2.0, 2.0 + 1e-5, 1.0], [-torch.inf, -3.0, -4.0, -3.0]])
    assert chosen(scores, None).tolist() == [1, 1]
    drawn = [chosen(scores[1:], np.random.default_rng(seed))[0] for seed in range(50)]
    assert set(drawn) == {1, 2, 3}


@pytest.mark.parametrize("objective", ["log", "probability"])
def test_the_policys_loss_by_hand(objective: str) -> None:
    scores = torch.tensor([[-torch.inf, 0.3, 1.0, -torch.inf]])
    positions = Positions(
        Arrays(np.array([[1, 0]])), np.array([0, 0]), np.array([1, 2]), np.array([0.5, -0.2])
    )
    plan = Reinforce(objective=objective)  # type: ignore[arg-type]
    found = loss_of(lambda games: scores, positions, plan, entropy=0.1)  # type: ignore[arg-type]
    p = torch.softmax(torch.tensor([0.3, 1.0]), 0)
    gain = p.log() if objective == "log" else p
    disorder = -(p * p.log()).sum()
    expected = -(gain[0] * 0.5 + gain[1] * -0.2) - 0.1 * 2 * disorder
    assert float(found) == pytest.approx(float(expected), abs=1e-6)


def test_a_school_that_graduates_sorts_what_it_never_saw() -> None:
    """Arrays of three to five elements are enough to sort fifteen in hardly more swaps than needed."""
    schooling = school_of("sorting", Curriculum(3, 5, ((12, 10),), epochs=40, exam_games=60), seed=1)
    *_, last = schooling.run()
    assert last.graduated
    arrays = Arrays.draw(np.random.default_rng(9), 50, 15)
    found = play(schooling.policy, arrays)
    assert found.success == 1.0
    assert found.moves.mean() <= 1.2 * least_swaps(arrays.values)


def least_swaps(values: np.ndarray) -> float:
    """The mean over arrays of elements less cycles."""
    counts = []
    for row in values:
        seen: set[int] = set()
        cycles = 0
        for start in range(len(row)):
            cycles += start not in seen
            while start not in seen:
                seen.add(start)
                start = int(row[start])
        counts.append(len(row) - cycles)
    return float(np.mean(counts))


@pytest.mark.parametrize("name", GAMES)
def test_a_school_repeats_and_goes_on_where_it_was_left(name: str, tmp_path: Path) -> None:
    plan = Curriculum(2, 2, epochs=3, lessons=1, games=2, exam_games=3, settle=0.5, patience=2)
    whole, left, resumed = (school_of(name, plan, seed=2) for _ in range(3))
    told = [(epoch.size, epoch.success, epoch.episodes) for epoch in whole.run()]
    running = left.run()
    assert next(running).episodes == told[0][2]
    left.save(tmp_path / "school")
    resumed.resume(tmp_path / "school")
    assert [(epoch.size, epoch.success, epoch.episodes) for epoch in resumed.run()] == told[1:]
    assert torch.equal(weights(whole), weights(resumed))


def test_only_the_same_school_is_resumed(tmp_path: Path) -> None:
    path = tmp_path / "school"
    school_of("sorting", Curriculum(2, 2), seed=1).save(path)
    with pytest.raises(HerbrandError, match="saved with another seed: 1"):
        school_of("sorting", Curriculum(2, 2), seed=2).resume(path)
    with pytest.raises(HerbrandError, match="saved with another curriculum"):
        school_of("sorting", Curriculum(2, 3), seed=1).resume(path)


def test_the_last_lesson_settles(tmp_path: Path) -> None:
    """Rate and entropy fall from lesson to lesson, then where patience ends, and are taken up again."""
    plan = Curriculum(
        2, 3, ((3, 0),), epochs=4, lessons=1, games=1, exam_games=1, rate_decay=0.5, settle=0.1,
        patience=2, method=Reinforce(rate=8.0, entropy=6.0),
    )  # fmt: skip
    schooling = school_of("path", plan)
    schooling._exam = lambda: (schooling._state.size == 2, 1.0, 0.0)  # type: ignore[method-assign]
    told = [(schooling._adam.rate, schooling._state.entropy) for _ in schooling.run()]
    assert np.allclose(told, [(4 * f, 6 * 0.85 * f) for f in (1, 1, 0.1, 0.1)])
    schooling.save(tmp_path / "school")
    again = school_of("path", plan)
    again.resume(tmp_path / "school")
    assert again._adam.rate == told[-1][0] and again._state == schooling._state


def test_time_is_kept() -> None:
    plan = Curriculum(4, 4, lessons=10**6, games=1, exam_games=1)
    (last,) = school_of("sorting", plan).run(seconds=0.2)
    assert not last.graduated and 0 < last.episodes < 10**5


@pytest.mark.parametrize("name", GAMES)
def test_policies_are_kept(name: str, tmp_path: Path) -> None:
    games = GAMES[name].draw(np.random.default_rng(0), 2, 4)
    policy = policy_for(name, seed=3)
    save_policy(tmp_path / "policy", policy, {"task": name, "seed": 3})
    again, about = load_policy(tmp_path / "policy")
    assert about["seed"] == 3 and torch.equal(policy(games), again(games))
    save_tensors(tmp_path / "other", {}, {"task": "uncle"})
    with pytest.raises(HerbrandError, match="holds no policy"):
        load_policy(tmp_path / "other")


def test_policies_never_choose_to_stay() -> None:
    games = Arrays.draw(np.random.default_rng(0), 3, 4)
    scores = policy_for("sorting")(games)
    assert torch.isinf(scores.view(3, 4, 4).diagonal(dim1=1, dim2=2)).all()


def test_a_lesson_is_learned_in_parts_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What bounds the memory changes nothing but the order of sums."""
    learned = []
    for chunk in (1 << 17, 40):
        monkeypatch.setattr("herbrand.tasks.reinforce.CHUNK", chunk)
        policy, rng = policy_for("sorting", seed=1), np.random.default_rng(4)
        step = torch.optim.SGD(policy.parameters(), lr=1.0)
        step.forget = step.zero_grad  # as Adam's method is called; one step of Adam is not linear
        learner = torch.nn.ModuleDict({"policy": policy})
        Reinforce().lesson(learner, step, Arrays.draw(rng, 3, 4), rng, entropy=0.01)
        learned.append(torch.cat([w.detach().flatten() for w in policy.parameters()]))
    assert torch.allclose(learned[0], learned[1], atol=1e-6)
    assert not torch.allclose(
        learned[0], torch.cat([w.detach().flatten() for w in policy_for("sorting", seed=1).parameters()])
    )


@pytest.mark.parametrize("name", GAMES)
def test_equal_games_are_asked_of_once(name: str) -> None:
    games = GAMES[name].draw(np.random.default_rng(0), 3, 4)
    again = games.take(np.array([2, 0, 2, 1, 0]))
    firsts, which = distinct(again)
    assert firsts.tolist() == [0, 1, 3] and which.tolist() == [0, 1, 0, 2, 1]
    asked = []

    def policy(games: Any) -> torch.Tensor:
        asked.append(games.worlds)
        return policy_for(name, seed=1)(games)

    found = once_each(policy, again)  # type: ignore[arg-type]
    assert asked == [3] and torch.allclose(found, policy_for(name, seed=1)(again), atol=1e-5)


def test_the_loss_of_equal_games_is_that_of_each_apart() -> None:
    policy = policy_for("path", seed=2)
    walks = Walks.draw(np.random.default_rng(0), 2, 5)
    of, actions, better = np.array([0, 1, 0, 0]), np.array([1, 2, 1, 4]), np.array([1.0, -0.5, 0.2, 0.3])
    apart = Positions(walks.take(of), np.arange(4), actions, better)
    for plan in (Reinforce(), Reinforce(objective="probability")):
        told = [loss_of(policy, p, plan, 0.1) for p in (Positions(walks, of, actions, better), apart)]
        assert torch.allclose(told[0], told[1], rtol=1e-5)


def test_failures_that_are_solved_by_now_leave_their_pool() -> None:
    schooling = school_of("path", Curriculum(3, 6, exam_games=1, retake=True), seed=0)
    schooling.policy.load_state_dict(
        {k: torch.zeros_like(v) for k, v in schooling.policy.state_dict().items()}
    )
    walks = Walks.draw(np.random.default_rng(0), 40, 3)
    solved = play(schooling.policy, walks).solved
    assert 0 < solved.sum() < 40
    schooling._keep(walks, False)
    schooling._retake(3)
    pools = schooling._pools
    assert (pools[3, True].worlds, pools[3, False].worlds) == (solved.sum(), 40 - solved.sum())
    assert not play(schooling.policy, pools[3, False]).solved.any()
    schooling._retake(3)
    assert pools[3, False].worlds == 40 - solved.sum()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Curriculum(5, 3), "lessons from 5 to 3 objects"),
        (lambda: Curriculum(0, 3), "lessons from 0 to 3 objects"),
        (lambda: Curriculum("2", 3), "first is a whole number from 0 on, not '2'"),
        (lambda: Curriculum(2, 3, games=4.5), "games is a whole number"),
        (lambda: Curriculum(2, 3, final=(8, 50)), "each of final is a tuple of 2 values, not 8"),
        (lambda: Curriculum(2, 3, final=((8, -1),)), "a whole number from 0 on, not -1"),
        (lambda: Curriculum(2, 3, solved_share=2), "solved_share is a number from 0 to 1, not 2"),
        (lambda: Curriculum(2, 3, retake="no"), "retake is True or False"),
        (lambda: Curriculum(2, 3, method="reinforce"), "a curriculum's method is no str"),
        (lambda: Reinforce(objective="logs"), "there is no objective 'logs'"),
        (lambda: Reinforce(rate=float("nan")), "rate is a number from 0 on"),
        (lambda: Curriculum(2, 3, games=0), "without lessons, games, rollouts"),
        (lambda: Curriculum(2, 3, patience=0), "rollouts or patience"),
        (lambda: school_of("sortin", Curriculum(2, 3)), "did you mean 'sorting'"),
    ],
)
def test_wrong_schools_are_refused(wrong: Callable[[], object], message: str) -> None:
    with pytest.raises(HerbrandError, match=message):
        wrong()
