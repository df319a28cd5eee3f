"""Steps against the oracle's, the bound on log Z along them, and where runs end."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.guarantee import Status
from herbrand.budget import Budget
from herbrand.engines.engine import first_state
from herbrand.engines.loop import Limits, settle
from herbrand.engines.mean_field.colouring import AtomClass, colouring
from herbrand.engines.mean_field.engine import MeanField, MeanFieldState, bound
from herbrand.engines.mean_field.problem import Problem, prepared
from herbrand.engines.mean_field.run import MeanFieldRun, in_parallel, in_turn, started
from herbrand.errors import UnsupportedError
from herbrand.language.theory import Theory
from herbrand.program.question import Question
from tests.engines.mean_field.beliefs import beliefs, random_logits
from tests.engines.mean_field.theories import people, smokers, universe_of
from tests.laws import tries
from tests.oracles import mean_field as oracle
from tests.oracles.worlds import Universe
from tests.program_generators import models

few = settings(
    phases=[Phase.reuse, Phase.generate],
    max_examples=tries(10),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
MEMORY = Budget(2**30)


def random_run(problem: Problem, seed: int) -> MeanFieldRun:
    logits = random_logits(problem, seed)
    marginals = problem.unknowns.marginals(logits)
    return MeanFieldRun(logits, marginals, {name: table.clone() for name, table in marginals.items()}, 1.0)


@few
@given(models(), st.integers(0, 10**6))
def test_a_parallel_step_is_the_oracles(model: tuple[Theory, Universe], seed: int) -> None:
    theory, universe = model
    assume(oracle.world_count(universe) <= 300)
    problem, slow = prepared(hb.Model(theory).program), oracle.MeanField(universe, theory.formulas)
    run = random_run(problem, seed)
    expected = slow.updated(beliefs(problem, run.marginals, slow))
    after = beliefs(problem, in_parallel(problem, run, adaptive=False).marginals, slow)
    for atom, told in expected.items():
        assert after[atom] == pytest.approx(told, abs=1e-9)


def test_large_tables_are_written_over_and_small_ones_are_not() -> None:
    """Steps by the engine, which reuses memory, beside the same updates by plain products."""
    for count in (600, 20):
        problem = prepared(hb.Model(smokers(count, 1.5)).program)
        run = started(problem, 0.7, seed=1)
        before = {name: table.clone() for name, table in run.logits.items()}
        s_logits, f_logits = before["s"], before["f"]
        for _ in range(5):
            run = in_parallel(problem, run, adaptive=False)
            s, f = s_logits.sigmoid(), f_logits.sigmoid()
            away = f - f.diagonal().diag()
            towards = 1.5 * torch.outer(s, s - 1).fill_diagonal_(0.0)
            s_logits = torch.lerp(s_logits, 0.2 + 1.5 * (away.T @ s) - 1.5 * (away @ (1 - s)), 0.7)
            f_logits = torch.lerp(f_logits, towards, 0.7)
            assert torch.allclose(run.logits["s"], s_logits, atol=1e-9)
            assert torch.allclose(run.logits["f"], f_logits, atol=1e-9)
        assert [table.shape for table in run.spare] == ([f_logits.shape] if count == 600 else [])


@few
@given(models(), st.integers(0, 10**6))
def test_the_bound_never_falls_under_the_sequential_schedule(
    model: tuple[Theory, Universe], seed: int
) -> None:
    theory, universe = model
    assume(oracle.world_count(universe) <= 5000)
    problem = prepared(hb.Model(theory).program)
    run = random_run(problem, seed)
    for one in colouring(problem, MEMORY):
        after = in_turn(problem, run, [one])
        assert bound(problem, after) >= bound(problem, run) - 1e-9
        run = after


def test_moving_a_whole_predicate_at_once_can_break_the_bound() -> None:
    problem = prepared(hb.Model(smokers(4, 8.0)).program)
    falls = []
    for seed in range(8):
        run = random_run(problem, seed)
        after = in_turn(problem, run, [AtomClass("s", None)])
        falls.append(bound(problem, run) - bound(problem, after))
        coloured = run
        for one in colouring(problem, MEMORY):
            coloured, earlier = in_turn(problem, coloured, [one]), coloured
            assert bound(problem, coloured) >= bound(problem, earlier) - 1e-9
    assert max(falls) > 1


def test_classes_share_no_grounding() -> None:
    problem = prepared(hb.Model(smokers(5, 1.0)).program)
    sizes = {name: [] for name in ("s", "c", "f")}
    for one in colouring(problem, MEMORY):
        sizes[one.predicate].append(None if one.positions is None else len(one.positions))
    assert sizes == {"s": [1] * 5, "c": [None], "f": [None]}


@pytest.mark.parametrize("schedule", ["parallel", "sequential"])
@pytest.mark.parametrize("weight", [0.5, 1.5, 8.0, -3.0])
def test_recursive_rules_come_to_rest_at_a_fixed_point(weight: float, schedule: str) -> None:
    theory = smokers(2, weight)
    slow = oracle.MeanField(universe_of(theory), theory.formulas)
    state, status = settled(theory, MeanField(schedule=schedule))
    assert status.converged
    believed = beliefs(state.problem, state.best.marginals, slow)
    for atom, told in slow.updated(believed).items():
        assert believed[atom] == pytest.approx(told, abs=1e-5)
    assert bound(state.problem, state.best) <= slow.log_partition() + 1e-9


def settled(theory: Theory, engine: MeanField, limits: Limits | None = None) -> tuple[MeanFieldState, Status]:
    return settle(engine, partial(first_state, engine, hb.Model(theory).program, Question()), limits)


def test_undamped_updates_that_oscillate_are_told() -> None:
    theory = hb.parse(f"{people(30)}-3.0: s(x) and s(y) where x != y\n40: s(x)")
    _, status = settled(theory, MeanField(damping=0.0), Limits(iterations=50))
    assert not status.converged
    assert "--iterations" in status.advice
    _, damped = settled(theory, MeanField(), Limits(iterations=400))
    assert damped.converged


def test_several_starts_keep_the_highest_bound() -> None:
    theory = hb.parse(f"{people(4)}3.0: s(x) and s(y) where x != y\n-4.4: s(x)")
    one, _ = settled(theory, MeanField())
    several, _ = settled(theory, MeanField(starts=8, seed=3))
    again, _ = settled(theory, MeanField(starts=8, seed=3))
    assert bound(several.problem, several.best) >= bound(one.problem, one.best) - 1e-9
    assert bound(several.problem, several.best) == bound(again.problem, again.best)
    exact = hb.Model(theory).infer(engine="exact").log_partition
    assert exact is not None and bound(several.problem, several.best) <= exact


def test_the_first_start_is_the_soft_evidence() -> None:
    problem = prepared(hb.Model(hb.parse(people(2) + '0: s(x)\ns("p0") ~ 0.9')).program)
    run = started(problem, 1.0)
    assert run.marginals["s"].tolist() == pytest.approx([0.9, 0.5])


@pytest.mark.parametrize(
    ("settings_", "told"),
    [
        ({"schedule": "random"}, "no schedule 'random'"),
        ({"damping": 1.0}, "up to, not including, 1, not 1.0"),
        ({"damping": -0.5}, "up to, not including, 1, not -0.5"),
        ({"starts": 0}, "a whole number from 1 on, not 0"),
    ],
)
def test_wrong_settings(settings_: dict[str, object], told: str) -> None:
    with pytest.raises(UnsupportedError, match=told):
        hb.Model(hb.parse("1.0: p")).infer(engine="mean-field", **settings_)  # type: ignore[arg-type]


@few
@given(models())
def test_worlds_are_improved_to_a_local_best(model: tuple[Theory, Universe]) -> None:
    theory, universe = model
    assume(oracle.world_count(universe) <= 300)
    answer = hb.Model(theory).infer(engine="mean-field", map=True)
    slow = oracle.MeanField(universe, theory.formulas)
    world = {
        (r.predicate, r.arguments): (True if r.value is None else r.value, r.probability)
        for r in answer.rows()
    }
    chosen: dict[object, object] = {}
    for row in answer.rows():
        assert row.probability in (0.0, 1.0)
        atom = (row.predicate, row.arguments)
        if row.value is None:
            chosen[atom] = row.probability == 1
        elif row.probability == 1:
            chosen[atom] = row.value
    assert set(chosen) == set(world) == set(slow.atoms)
    weights = {tuple(w.items()): weight for w, weight in slow.worlds}
    own = weights[tuple((atom, chosen[atom]) for atom in slow.atoms)]
    assert answer.log_weight == pytest.approx(own, abs=1e-6)
    for atom, values in slow.atoms.items():
        for value in values:
            other = {**chosen, atom: value}
            assert weights[tuple((a, other[a]) for a in slow.atoms)] <= own + 1e-6
    assert own <= max(weights.values()) + 1e-9
    assert math.isfinite(own)
