"""Every answer of random programs against the oracle that tries every assignment."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from herbrand.language.show import show_formula
from herbrand.language.syntax import Value
from tests.engines.proof.programs import CONSTANTS, Program, goals, programs
from tests.oracles.proofs import Weights, goal_answers

quick = settings(
    max_examples=20,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def told(answer: object) -> Weights:
    rows: dict[tuple[Value, ...], float] = {}
    for row in answer.rows():  # type: ignore[attr-defined]
        rows[tuple(row.bindings.values())] = row.weight
    return rows


def plus(left: float, right: float) -> float:
    return left + right


@quick
@given(st.data(), programs(), st.integers(0, 4))
def test_weighted_counts(data: st.DataObject, program: Program, depth: int) -> None:
    model, proofs = program.model(), program.proofs()
    for _ in range(3):
        goal = data.draw(goals(program))
        expected = goal_answers(goal, proofs.answers(goal.predicate, depth + 1), plus)
        answer = model.query(show_formula(goal), depth=depth)
        assert told(answer) == pytest.approx(expected, rel=1e-9)


@quick
@given(st.data(), programs(), st.integers(0, 4))
def test_best_proofs(data: st.DataObject, program: Program, depth: int) -> None:
    proofs = program.proofs(add=max)
    goal = data.draw(goals(program))
    expected = goal_answers(goal, proofs.answers(goal.predicate, depth + 1), max)
    assert told(program.model().query(show_formula(goal), depth=depth, algebra="max")) == pytest.approx(
        expected, rel=1e-9
    )


@quick
@given(st.data(), programs(weights=(1.0, 2.0, 3.0)), st.integers(0, 6))
def test_exact_integers(data: st.DataObject, program: Program, depth: int) -> None:
    goal = data.draw(goals(program))
    expected = goal_answers(goal, program.proofs().answers(goal.predicate, depth + 1), plus)
    answer = told(program.model().query(show_formula(goal), depth=depth, exact=True))
    assert all(isinstance(weight, int) for weight in answer.values())
    assert answer == pytest.approx(expected, rel=1e-9)


@quick
@given(st.data(), programs())
def test_boolean_fixpoint_is_the_least_model(data: st.DataObject, program: Program) -> None:
    truths = program.truths()
    goal = data.draw(goals(program))
    every = goal_answers(goal, dict.fromkeys(truths[goal.predicate], 1.0), max)
    answer = program.model().query(show_formula(goal), algebra="boolean", depth="fixpoint")
    assert told(answer) == every
    assert answer.status.converged


@quick
@given(st.data(), programs(weights=(0.25, 0.5, 1.0)))
def test_max_fixpoint_is_the_best_proof_of_any_depth(data: st.DataObject, program: Program) -> None:
    """A best proof repeats no atom on any of its branches, so it is no deeper than there are atoms."""
    goal = data.draw(goals(program))
    deepest = sum(len(CONSTANTS) ** arity for arity in (2, 2, 1, 3))
    expected = goal_answers(goal, program.proofs(add=max).answers(goal.predicate, deepest), max)
    answer = program.model().query(show_formula(goal), algebra="max", depth="fixpoint")
    assert answer.status.converged
    assert told(answer) == pytest.approx(expected, rel=1e-9)


@quick
@given(st.data(), programs(weights=(0.01, 0.02)))
def test_real_fixpoint_is_the_sum_over_all_proofs(data: st.DataObject, program: Program) -> None:
    """With small weights on everything stated and every rule unweighted, deep proofs add nothing."""
    goal = data.draw(goals(program))
    expected = goal_answers(goal, program.proofs().answers(goal.predicate, 60), plus)
    answer = program.model().query(show_formula(goal), depth="fixpoint")
    if answer.status.converged:
        assert told(answer) == pytest.approx(expected, rel=1e-6, abs=1e-12)


@quick
@given(st.data(), programs(), st.integers(0, 3))
def test_a_batch_answers_as_its_goals_do(data: st.DataObject, program: Program, depth: int) -> None:
    texts = [show_formula(data.draw(goals(program))) for _ in range(4)]
    model = program.model()
    for text, answer in zip(texts, model.query(texts, depth=depth), strict=True):
        assert told(answer) == pytest.approx(told(model.query(text, depth=depth)), rel=1e-9)
