"""Training that graduates, repeats, stops in time and goes on where it stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.worlds.tasks import task_named
from herbrand.errors import HerbrandError
from herbrand.induction.checkpoint import load_machine, save_machine
from herbrand.induction.examination import failed_worlds, marks
from herbrand.induction.extraction import extract, verify
from herbrand.induction.failures import Failures
from herbrand.induction.target import TargetMachine
from herbrand.induction.task import Sample
from herbrand.induction.training import Plan, Training, balanced_loss
from herbrand.tensor_files import save_tensors
from tests.laws import tries

SHORT = Plan(examples=64, batch=8, exam_every=32, exam_worlds=(2, 2), rebuild_widest=True)


def weights(training: Training) -> torch.Tensor:
    return torch.cat([w.detach().flatten() for w in training.machine.parameters()])


def test_graduates_and_tells_its_rule(tmp_path: Path) -> None:
    """From the first example to a rule that is right in larger worlds."""
    task = task_named("has-father")
    plan = Plan(exam_every=100, exam_worlds=(20, 5), rebuild_widest=True, batch=8, rate=0.02)
    training = Training(task, plan, seed=0)
    *_, last = training.run()
    assert last.graduated and all(m.perfect for m in last.marks)
    path = tmp_path / "machine.safetensors"
    save_machine(path, training.machine, {"seed": 0})
    machine, about = load_machine(path)
    assert about["seed"] == 0
    found = extract(task, lambda s: machine(s.predicates, s.present), np.random.default_rng(0), 10)
    assert max(found.relevance.values()) > 0
    assert verify(task, found.clauses, np.random.default_rng(1), 4, 40).perfect


def test_equal_seeds_give_equal_runs_and_a_saved_one_goes_on(tmp_path: Path) -> None:
    task, path = task_named("1-out-degree"), tmp_path / "run.safetensors"
    whole, again, stopped, resumed = (Training(task, SHORT, seed=3) for _ in range(4))
    list(whole.run())
    list(again.run())
    assert torch.equal(weights(whole), weights(again))
    next(stopped.run())
    stopped.save(path)
    resumed.resume(path)
    list(resumed.run())
    assert torch.equal(weights(whole), weights(resumed))
    assert not torch.equal(weights(whole), weights(Training(task, SHORT, seed=4)))


@pytest.fixture(scope="module")
def plain_weights() -> torch.Tensor:
    """What an ordinary run ends with."""
    training = Training(task_named("uncle"), SHORT, seed=3)
    list(training.run())
    return weights(training)


def test_gradients_that_an_interrupted_lesson_left_do_not_count() -> None:
    plain, interrupted = (Training(task_named("1-out-degree"), SHORT, seed=3) for _ in range(2))
    for parameter in interrupted.machine.parameters():
        parameter.grad = torch.ones_like(parameter)
    for training in (plain, interrupted):
        list(training.run())
    assert torch.equal(weights(plain), weights(interrupted))


@pytest.mark.parametrize(
    "changed",
    [
        {"again": 0.5},
        {"rate_decay": 0.5},
        {"patience": 0.25, "rate": 0.0},
        {"starts": 3, "start_examples": 16, "exam_every": 8},
    ],
)
def test_a_saved_run_keeps_failures_rate_restarts_and_starts(
    changed: dict[str, float], plain_weights: torch.Tensor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any exam counts as nearly right here, so that the rate falls; each change makes another run."""
    monkeypatch.setattr("herbrand.induction.training.NEARLY", 0.0)
    task, path, plan = task_named("uncle"), tmp_path / "run.safetensors", replace(SHORT, **changed)
    whole, stopped, resumed = (Training(task, plan, seed=3) for _ in range(3))
    list(whole.run())
    next(stopped.run())
    stopped.save(path)
    resumed.resume(path)
    list(resumed.run())
    assert torch.equal(weights(whole), weights(resumed))
    assert whole.progress().restarts == resumed.progress().restarts
    assert not torch.equal(weights(whole), plain_weights)


def test_only_the_same_run_is_resumed(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    Training(task_named("has-father"), SHORT, seed=1).save(path)
    with pytest.raises(HerbrandError, match="saved with another seed: 1"):
        Training(task_named("has-father"), SHORT, seed=2).resume(path)
    for name, value in (("sizes", (3, 4)), ("final_size", 7), ("rare", True)):
        with pytest.raises(HerbrandError, match=f"saved with another {name}"):
            Training(replace(task_named("has-father"), **{name: value}), SHORT, seed=1).resume(path)
    save_tensors(path, {}, {})
    with pytest.raises(HerbrandError, match="holds no machine"):
        load_machine(path)
    path.write_text("no tensors")
    with pytest.raises(HerbrandError, match="not a file of ours"):
        load_machine(path)


def test_time_is_kept() -> None:
    plan = Plan(examples=10**9, batch=4, exam_every=10**8, rebuild_widest=True)
    (last,) = Training(task_named("1-out-degree"), plan).run(seconds=0.2)
    assert 0 < last.examples < 10**6


def test_a_run_that_stands_still_begins_again() -> None:
    plan = Plan(
        examples=96, batch=8, exam_every=8, exam_worlds=(1, 1), patience=0.05, rate=0.0, rebuild_widest=True
    )
    training = Training(task_named("1-out-degree"), plan, seed=0)
    told = list(training.run())
    assert told[-1].restarts > 0 and told[-1].examples == 96


def test_worlds_are_met_again_until_they_are_right_by_their_own_margin(plain_weights: torch.Tensor) -> None:
    """Where any world is right enough, a run is as if none were met again; where none is, all are kept."""
    task = task_named("uncle")
    never, always = (
        Training(task, replace(SHORT, again=0.5, again_margin=margin), seed=3) for margin in (-1e9, 1e9)
    )
    for training in (never, always):
        list(training.run())
    assert torch.equal(plain_weights, weights(never))
    assert not torch.equal(plain_weights, weights(always))


def test_of_several_starts_the_one_with_the_least_loss_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is learned here; uncles are rare, so that of constant answers a "no" has the least loss."""
    biases = iter([3.0, -3.0, 0.0, 1.0, -1.0])

    def constant(machine: TargetMachine, seed: int, spread: float) -> None:
        for weight in machine.parameters():
            torch.nn.init.zeros_(weight)
        torch.nn.init.constant_(machine.conclusion.bias, next(biases))

    monkeypatch.setattr("herbrand.induction.training.draw_weights", constant)
    plan = replace(SHORT, rate=0.0, starts=3, start_examples=16, patience=0.2, examples=160)
    training, goes_on = Training(task_named("uncle"), plan, seed=3), []
    for progress in training.run():
        goes_on.append((progress.examples, training.machine.conclusion.bias.item(), progress.restarts))
        if progress.restarts:
            break
    race = [(16, -3.0, 0), (32, 0.0, 0), (48, -3.0, 0)]
    assert goes_on == [*race, (80, -3.0, 0), (112, -3.0, 0), (128, -1.0, 1)]


def test_worlds_fail_that_are_not_right_by_the_margin_everywhere() -> None:
    sample = Sample({}, torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]))
    log_odds = torch.tensor([[3.0, -3.0], [3.0, -1.5], [-3.0, -3.0]])
    assert failed_worlds(log_odds, sample, 2.0).tolist() == [1, 2]
    assert failed_worlds(log_odds, sample, 0.0).tolist() == [2]
    half_known = replace(sample, known=torch.tensor([[True, False]] * 3))
    assert failed_worlds(log_odds, half_known, 2.0).tolist() == [2]


@settings(max_examples=tries(50), deadline=None)
@given(st.lists(st.integers(0, 6), max_size=6), st.integers(1, 8), st.integers(0, 9), st.integers(0, 99))
def test_a_pool_of_failures_loses_none_but_the_oldest(
    kept: list[int], most: int, asked: int, seed: int
) -> None:
    """Worlds are told apart by their targets: 0, 1, 2 ... in the order in which they were kept."""
    pool, numbered = Failures(most), torch.arange(float(sum(kept)))
    for part in numbered.split(kept):
        pool.keep(Sample({}, part[:, None]))
    taken = [int(t) for part in pool.taken(np.random.default_rng(seed), asked) for t in part.target]
    left = [int(t) for t in Failures.of(pool.tensors()).tensors().get("target", torch.zeros(0))]
    latest = list(range(len(numbered)))[-most:]
    assert len(taken) == min(asked, len(latest)) and sorted(taken + left) == latest


def test_unknown_tuples_do_not_count() -> None:
    known = torch.tensor([[True, False]])
    sample = Sample({}, torch.tensor([[1.0, 0.0]]), None, known)
    right, wrong = torch.tensor([[3.0, 9.0]]), torch.tensor([[-3.0, 9.0]])
    assert marks(lambda _: right, sample).errors == 0
    assert marks(lambda _: wrong, sample).errors == 1
    assert balanced_loss(right, sample, 1.0) < 0.05 < balanced_loss(wrong, sample, 1.0)


def test_the_margin_is_the_smallest_on_the_right_side() -> None:
    sample = Sample({}, torch.tensor([[1.0, 0.0]]))
    assert marks(lambda _: torch.tensor([[3.0, -1.5]]), sample).margin == 1.5


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: TargetMachine((0, 0, 0, 1), 1, breadth=2), "wider than the machine's breadth, 2"),
        (lambda: TargetMachine((0, 0, 1), 3, breadth=2), "a target of arity 3"),
        (lambda: TargetMachine((0, 0, 1), 1, depth=0), "a depth of 0"),
        (lambda: TargetMachine((0, 0, 1), 1)({}), "has no predicates"),
        (lambda: TargetMachine((0, 0, 1), 1)({2: torch.zeros(1, 0, 0, 1)}), "no objects"),
        (lambda: TargetMachine((0, 0, 1), 1)({2: torch.zeros(1, 2, 2, 3)}), "1 predicates of arity 2, not 3"),
        (
            lambda: TargetMachine((0, 0, 1), 1)({2: torch.zeros(1, 10**5, 1, 1).expand(1, 10**5, 10**5, 1)}),
            "need",
        ),
    ],
)
def test_machines_refuse_what_does_not_fit(wrong: object, message: str) -> None:
    with pytest.raises(HerbrandError, match=message):
        wrong()  # type: ignore[operator]
