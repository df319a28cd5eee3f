"""Tasks of one's own by the public interface alone: trained, kept, taken up, played and read out as rules."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
import torch

import herbrand as hb
from herbrand import tasks
from herbrand.errors import HerbrandError, UnsupportedError
from herbrand.induction.training import Training
from herbrand.tasks import readout
from herbrand.tasks.policies import fresh_policy
from herbrand.tasks.readout import RulePolicy, policy_rules
from tests.tasks import games_to_learn
from tests.tasks.games_to_learn import Corridor, Graded, two_steps

LESSONS = tasks.Curriculum(2, 3, epochs=4, lessons=2, games=4, exam_games=20)
PLAN = tasks.Plan(examples=96, batch=8, exam_every=32, exam_worlds=(4, 2))
TASK = tasks.worlds_task(two_steps, target="two", sizes=(4, 6), depth=3, breadth=3)


def weights(learned: tasks.LearnedMachine | tasks.LearnedPolicy) -> torch.Tensor:
    network = learned.machine if isinstance(learned, tasks.LearnedMachine) else learned.policy
    return torch.cat([w.detach().flatten() for w in network.parameters()])


def trained(kind: str, **options: Any) -> tasks.LearnedMachine | tasks.LearnedPolicy:
    return tasks.train(Corridor, LESSONS, **options) if kind == "game" else tasks.train(TASK, PLAN, **options)


@cache
def kept(kind: str, seed: int) -> tuple[tasks.LearnedMachine | tasks.LearnedPolicy, list[object]]:
    """What this seed learns, with its reports; no test changes it."""
    reports: list[object] = []
    return trained(kind, seed=seed, watch=reports.append), reports


KINDS = pytest.mark.parametrize("kind", ["game", "worlds"])


@KINDS
def test_equal_seeds_give_equal_results(kind: str) -> None:
    (one, _), same, (other, _) = kept(kind, 1), trained(kind, seed=1), kept(kind, 3)
    assert torch.equal(weights(one), weights(same)) and not torch.equal(weights(one), weights(other))


@KINDS
def test_a_run_that_was_interrupted_goes_on_as_if_it_had_not_been(kind: str, tmp_path: Path) -> None:
    """Ctrl-C comes in the midst of a lesson: what the last exam saw is given back, and is in the file."""
    seen: list[object] = []

    def stops(report: object) -> None:
        seen.append(report)
        if len(seen) == 2:
            raise KeyboardInterrupt

    path = tmp_path / "run"
    whole, reports = kept(kind, 3)
    stopped = trained(kind, seed=3, resume=path, watch=stops)
    assert len(seen) == 2 and "goes on from its last exam" in stopped.advice and not stopped.graduated
    assert not torch.equal(weights(stopped), weights(whole))
    resumed = trained(kind, seed=3, resume=path, watch=(later := []).append)
    assert torch.equal(weights(resumed), weights(whole)) and len(reports) == 2 + len(later)
    again = trained(kind, seed=3, resume=path, watch=(none := []).append)
    assert torch.equal(weights(again), weights(whole)) and not none, "nothing is left to do"
    with pytest.raises(HerbrandError, match="saved with another seed: 3"):
        trained(kind, seed=4, resume=path)


def test_ctrl_c_within_a_lesson_takes_back_what_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[torch.Tensor] = []
    lesson, count = tasks.Reinforce.lesson, itertools.count()

    def pressed(self: tasks.Reinforce, learned: torch.nn.ModuleDict, *rest: Any) -> tasks.Episodes:
        found = lesson(self, learned, *rest)
        if next(count) == 4:
            raise KeyboardInterrupt
        return found

    def look(_: object) -> None:
        known.append(weights_of_school())

    schools: list[tasks.Schooling] = []
    begin = tasks.Schooling.__init__

    def noted(self: tasks.Schooling, *given: Any, **options: Any) -> None:
        begin(self, *given, **options)
        schools.append(self)

    def weights_of_school() -> torch.Tensor:
        return torch.cat([w.detach().flatten() for w in schools[0].policy.parameters()])

    monkeypatch.setattr(tasks.Reinforce, "lesson", pressed)
    monkeypatch.setattr(tasks.Schooling, "__init__", noted)
    learned = tasks.train(Corridor, LESSONS, seed=1, watch=look)
    assert len(known) == 2 and torch.equal(weights(learned), known[-1])


@KINDS
def test_time_ends_a_training_and_is_told(kind: str) -> None:
    learned = trained(kind, seconds=0.0)
    assert not learned.graduated and learned.advice == "stopped after 0 s; allow more by seconds"


@KINDS
def test_the_end_of_a_plan_is_told(kind: str) -> None:
    learned, _ = kept(kind, 1)
    assert "allow more by" in learned.advice and learned.advice.startswith(
        "stopped after 4 epochs" if kind == "game" else "stopped after 96 examples"
    )


def test_a_policy_is_kept(tmp_path: Path) -> None:
    learned, _ = kept("game", 1)
    assert isinstance(learned, tasks.LearnedPolicy)
    learned.save(tmp_path / "policy")
    again = tasks.LearnedPolicy.load(tmp_path / "policy", Corridor)
    games = Corridor.draw(np.random.default_rng(0), 9, 6)
    assert torch.equal(learned.policy(games), again.policy(games))
    assert (again.sizes, again.graduated) == ((2, 3), learned.graduated)
    assert (learned.play(games).moves == again.play(games).moves).all()
    with pytest.raises(UnsupportedError, match="holds a policy that observes"):
        tasks.LearnedPolicy.load(tmp_path / "policy", Graded)


@pytest.fixture(scope="module")
def learned() -> tasks.LearnedMachine:
    """A machine that graduates; no test changes it."""
    return tasks.train(TASK, tasks.Plan(exam_every=200, exam_worlds=(50, 10), rate=0.02), seed=0)


def renamed(rng: np.random.Generator, worlds: int, size: int) -> dict[str, np.ndarray]:
    found = two_steps(rng, worlds, size)
    return {"link": found["edge"], "two": found["two"]}


def test_a_machine_is_kept_and_concludes_from_facts(tmp_path: Path, learned: tasks.LearnedMachine) -> None:
    assert learned.graduated and learned.examine(20, 12).perfect
    learned.save(tmp_path / "two.hbm")
    again = tasks.LearnedMachine.load(tmp_path / "two.hbm", TASK)
    sample = TASK.draw(np.random.default_rng(0), 3, 7)
    assert torch.equal(learned.conclude(sample), again.conclude(sample))
    found = hb.conclude(tmp_path / "two.hbm", {"edge": [("a", "b"), ("b", "c"), ("c", "d")]})
    likely = {tuple(row.arguments) for row in found.rows() if row.probability > 0.5}
    assert likely == {("a", "c"), ("b", "d")}
    other = tasks.worlds_task(renamed, target="two", sizes=(4, 6))
    with pytest.raises(UnsupportedError, match="holds a machine for 'two' from other relations"):
        tasks.LearnedMachine.load(tmp_path / "two.hbm", other)


def test_a_machine_that_is_a_rule_is_read_out_as_that_rule(learned: tasks.LearnedMachine) -> None:
    found = learned.rules()
    assert found.text == "two(x, y) :- edge(z, y), edge(x, z), x != y\n"
    assert found.perfect and found.checked.worlds == 100 and found.agreement.perfect


def test_rules_that_miss_something_are_not_perfect(learned: tasks.LearnedMachine) -> None:
    """A machine that never concludes anything of object 0 is no rule that holds in all worlds."""
    known = learned.conclude

    def partly(sample: tasks.Sample) -> torch.Tensor:
        found = known(sample)
        found[:, ::2] = -9.0
        return found

    rng = np.random.default_rng(0)
    found = readout.machine_rules(TASK, partly, rng, 20, 20, readout.effort(500))
    assert not found.perfect and not found.agreement.perfect


class ByScores(torch.nn.Module):
    """A policy whose log-odds are told by hand."""

    def __init__(self, told: Callable[[dict[int, torch.Tensor]], torch.Tensor]) -> None:
        super().__init__()
        self.scores = told

    def forward(self, games: tasks.Games) -> torch.Tensor:
        return self.scores(games.predicates())


def right_ways(predicates: dict[int, torch.Tensor]) -> torch.Tensor:
    """Towards the way out: by what is observed, with loops."""
    found = torch.full(predicates[1].shape[:2], -4.0)
    for world in range(len(found)):
        here, out = (int(predicates[1][world, :, channel].argmax()) for channel in (0, 1))
        found[world, here + 1 if out > here else here - 1] = 0.5
    return found


@pytest.fixture(scope="module")
def read_out() -> tasks.PolicyRules:
    """Rules of the policy whose scores are told by hand."""
    rng, limits = np.random.default_rng(0), readout.effort(3_000)
    return policy_rules(Corridor, ByScores(right_ways), (6, 15), rng, 60, 40, limits, 0.5)  # type: ignore[arg-type]


def test_a_policy_that_is_a_rule_is_read_out_as_that_rule(read_out: tasks.PolicyRules) -> None:
    found = read_out
    assert sorted(found.text.splitlines()) == [
        "go(x) :- right(x, y), here(y), before(z, y), out(z)",
        "go(x) :- right(y, x), here(y), before(y, z), out(z)",
    ]
    assert found.agreement.perfect and found.perfect and len(found.played.solved) == 40


def test_rules_play_what_they_derive(read_out: tasks.PolicyRules) -> None:
    """Beside the scores told by hand, in every position of a corridor."""
    pairs = np.array([(here, out) for here in range(7) for out in range(7) if here != out])
    games = Corridor(pairs[:, 0], pairs[:, 1], np.full(len(pairs), 7))
    task = tasks.Task("go", "go", 1, Corridor.vocabulary, two_steps, (5, 5), 5, 1)  # type: ignore[arg-type]
    told = RulePolicy(task, read_out.clauses)(games)
    assert torch.equal(told == 0, right_ways(games.predicates()) > 0)


def test_what_no_rule_tells_is_refused() -> None:
    """Every action is as good as any other, and there is nothing that tells them apart."""
    rng = np.random.default_rng(0)

    def by_chance(predicates: dict[int, torch.Tensor]) -> torch.Tensor:
        return 9 * torch.from_numpy(rng.random(predicates[1].shape[:2])).float()

    try:
        found = policy_rules(Corridor, ByScores(by_chance), (6, 9), rng, 40, 20, readout.effort(200), 0.5)  # type: ignore[arg-type]
    except HerbrandError as refused:
        assert "no rule was found for 'go'" in str(refused)
    else:
        assert not found.perfect and not found.agreement.perfect


# Games


def test_objects_that_actions_name() -> None:
    pairs = games_to_learn.Pairs(np.zeros((3, 4), np.int64))
    assert pairs.actions == 16
    left, right = pairs.named(np.array([0, 7, 15]))
    assert left.tolist() == [0, 1, 3] and right.tolist() == [0, 3, 3]


def test_what_moves_earn_may_be_the_games_own() -> None:
    """Two steps to the way out and one back: each earns how much nearer it came, discounted step by step."""
    games = Graded(np.array([0, 3]), np.array([2, 0]), np.array([4, 4]))
    turns = iter([np.array([1, 2]), np.array([2, 3]), np.array([2])])

    def policy(current: Graded) -> torch.Tensor:
        goals = next(turns)[-current.worlds :]
        return torch.nn.functional.one_hot(torch.from_numpy(goals), 4).float()

    episodes = tasks.play(policy, games, keep_steps=True)
    assert [step.rewards.tolist() for step in episodes.steps] == [[1, 1], [1, -1], [1]]
    assert episodes.returns(0.5).tolist() == [1 + 0.5, 1 - 0.5 + 0.25]
    plain = tasks.play(right_way, Corridor(*(getattr(games, name) for name in ("here", "way_out", "rooms"))))
    assert plain.returns(1.0).tolist() == pytest.approx([1 - 0.01, 1 - 0.02])


def right_way(games: Corridor) -> torch.Tensor:
    return right_ways(games.predicates())


def test_a_game_of_ones_own_is_an_environment() -> None:
    pytest.importorskip("gymnasium")
    environment = tasks.environment(Graded, size=4)
    observation, info = environment.reset(seed=1)
    assert observation["unary"].shape == (4, 2) and info["action_mask"].tolist() == [1, 1, 1, 1]
    here, out = (int(observation["unary"][:, channel].argmax()) for channel in (0, 1))
    towards = here + 1 if out > here else here - 1
    _, reward, ended, cut, _ = environment.step(towards)
    assert reward == 1.0 and ended == (towards == out) and not cut


@dataclass(frozen=True, eq=False)
class Square(Corridor):
    """Relations over more objects than the size says."""

    def relations(self) -> dict[str, np.ndarray]:
        return {
            n: np.repeat(t, 2, 1) if t.ndim == 2 else np.tile(t, (1, 2, 2))
            for n, t in super().relations().items()
        }


@dataclass(frozen=True, eq=False)
class Nameless(Corridor):
    def relations(self) -> dict[str, np.ndarray]:
        return {name: table for name, table in super().relations().items() if name != "out"}


@dataclass(frozen=True, eq=False)
class Flat(Corridor):
    def relations(self) -> dict[str, np.ndarray]:
        found = super().relations()
        return {**found, "right": found["here"]}


@dataclass(frozen=True, eq=False)
class Alone(Corridor):
    @classmethod
    def draw(cls, rng: np.random.Generator, worlds: int, size: int) -> Self:
        return super().draw(rng, 1, size)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: tasks.train(Square, LESSONS), "Square has 2 objects, and its relations are about 4"),
        (lambda: tasks.train(Nameless, LESSONS), "the world has no table of 'out'"),
        (lambda: tasks.train(Flat, LESSONS), r"'right' is a table of the shape \(2, 2\), not of 2 arguments"),
        (lambda: tasks.train(Alone, LESSONS), "was asked for 2 games of size 2 and gave 1 of size 2"),
        (lambda: tasks.train(Corridor), "a game is learned by a Curriculum"),  # type: ignore[call-overload]
        (lambda: tasks.train(TASK, LESSONS), "a task of worlds is trained by a Plan"),  # type: ignore[call-overload]
        (lambda: tasks.worlds_task(two_steps, target="tow", sizes=(3, 4)), "did you mean 'two'"),
        (lambda: tasks.worlds_task(two_steps, target="two", sizes=(3,)), "two whole numbers from 1 on"),
        (lambda: tasks.worlds_task(two_steps, target="two", sizes=6), "two whole numbers from 1 on"),
        (lambda: tasks.worlds_task(lambda *_: None, target="two", sizes=(3, 4)), "not NoneType"),
        (lambda: tasks.train(tasks.Games, LESSONS), "Games does not define draw, moved, size"),
        (
            lambda: policy_rules(
                Solved, fresh_policy(Solved, 0, 1.0), (3, 4), np.random.default_rng(0), 5, 5,
                readout.effort(9), 0.5,
            ),
            "games of size 3 are solved before they begin",
        ),
    ],
)  # fmt: skip
def test_wrong_tasks_are_told(wrong: Callable[[], object], message: str) -> None:
    with pytest.raises(UnsupportedError if "solved" not in message else HerbrandError, match=message):
        wrong()


@dataclass(frozen=True, eq=False)
class Solved(Corridor):
    @classmethod
    def draw(cls, rng: np.random.Generator, worlds: int, size: int) -> Self:
        games = super().draw(rng, worlds, size)
        return replace(games, way_out=games.here)


def drawing(**tables: Callable[[int, int], Any]) -> Callable[[], object]:
    """A task whose worlds have these tables, each made of how many worlds and objects are asked for."""
    return lambda: tasks.worlds_task(
        lambda rng, worlds, size: {name: made(worlds, size) for name, made in tables.items()}, "t", (3, 4)
    )


def ones(worlds: int, size: int) -> np.ndarray:
    return np.ones((worlds, size))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: tasks.Plan(exam_worlds=(0, 0)), "each of exam_worlds is a whole number from 1 on, not 0"),
        (lambda: tasks.Plan(exam_worlds=(5, 0)), "each of exam_worlds is a whole number from 1 on, not 0"),
        (lambda: tasks.Plan(exam_worlds=5), "exam_worlds is a tuple of 2 values, not 5"),  # type: ignore
        (lambda: tasks.Plan(examples=-1), "examples is a whole number from 1 on, not -1"),
        (lambda: tasks.Plan(batch=0), "batch is a whole number from 1 on, not 0"),
        (lambda: tasks.Plan(rate=float("nan")), "rate is a number from 0 on, not nan"),
        (lambda: tasks.Plan(rate="fast"), "rate is a number from 0 on, not 'fast'"),  # type: ignore
        (lambda: tasks.Plan(hidden=(0,)), "each of hidden is a whole number from 1 on, not 0"),
        (lambda: tasks.worlds_task("two", "t", (3, 4)), "draw is a function, not 'two'"),  # type: ignore
        (lambda: tasks.worlds_task(two_steps, "two", (3, 4), depth=0), "depth is a whole number from 1 on"),
        (drawing(t=ones), "the worlds have no table but that of 't'"),
        (
            drawing(t=ones, a=lambda worlds, size: np.full((worlds, size), np.nan)),
            "'a' is a table of float64",
        ),
        (drawing(t=lambda worlds, size: np.full((worlds, size), "x"), a=ones), "'t' is a table of <U1"),
        (
            drawing(t=ones, a=lambda worlds, size: np.ones((worlds, size, size + 1))),
            "axes of different lengths",
        ),
        (drawing(t=ones, a=lambda worlds, size: np.ones((worlds, size + 1))), r"shapes \(1, 3\), \(1, 4\)"),
        (drawing(t=ones, a=lambda worlds, size: np.ones((2, size))), r"shapes \(1, 3\), \(2, 3\)"),
        (lambda: tasks.train(TASK, PLAN, seed=-1), "seed is a whole number from 0 on, not -1"),
        (lambda: tasks.train(TASK, PLAN, seconds=float("nan")), "seconds is a number from 0 on, not nan"),
        (lambda: tasks.train(TASK, PLAN, resume=3), "resume is a text, not 3"),  # type: ignore
        (lambda: tasks.train(TASK, PLAN, watch=3), "watch is a function, not 3"),  # type: ignore
        (lambda: tasks.train(TASK, 3), "is trained by a Plan"),  # type: ignore
    ],
)
def test_what_a_task_does_not_take_is_refused(wrong: Callable[[], object], message: str) -> None:
    """Whatever had been learned passed an exam of no world, and other values ended in errors of Python."""
    with pytest.raises(UnsupportedError, match=message):
        wrong()


@pytest.mark.parametrize(
    "given", [{"worlds": 0}, {"worlds": -1}, {"size": 0}, {"size": "large"}, {"seed": -1}]
)
def test_an_exam_has_worlds(given: dict[str, Any]) -> None:
    learned = tasks.LearnedMachine(TASK, Training(TASK, PLAN).machine)
    with pytest.raises(UnsupportedError, match="is a whole number from"):
        learned.examine(**{"worlds": 2, "size": 4, **given})
