"""Every answer of random programs against the oracle that tries every assignment, on every road to it."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from herbrand.language import syntax as s
from herbrand.language.show import show_formula
from herbrand.language.syntax import Value
from tests.engines.proof.programs import DERIVED, EXAMPLES, NAMES, PLACES, Program, goals, names_of, programs
from tests.engines.proof.roads import roads, taken
from tests.oracles.proofs import Proofs, Weights, goal_answers

quick = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def told(answer: object) -> Weights:
    rows: dict[tuple[Value, ...], float] = {}
    for row in answer.rows():  # type: ignore[attr-defined]
        rows[tuple(row.bindings.values())] = row.weight
    return rows


def answered(program: Program, goal: s.Formula, road: Mapping[str, object], **options: object) -> Weights:
    with taken(road):
        return told(program.model().query(show_formula(goal), **options))


def plus(left: float, right: float) -> float:
    return left + right


@quick
@given(st.data(), programs(), st.integers(0, 4), roads)
def test_weighted_counts(
    data: st.DataObject, program: Program, depth: int, road: Mapping[str, object]
) -> None:
    proofs = program.proofs()
    for _ in range(3):
        goal = data.draw(goals(program))
        expected = goal_answers(goal, proofs.answers(goal.predicate, depth + 1), plus)
        assert answered(program, goal, road, depth=depth) == pytest.approx(expected, rel=1e-9)


@quick
@given(st.data(), programs(), st.integers(0, 4), roads)
def test_best_proofs(data: st.DataObject, program: Program, depth: int, road: Mapping[str, object]) -> None:
    proofs = program.proofs(add=max)
    goal = data.draw(goals(program))
    expected = goal_answers(goal, proofs.answers(goal.predicate, depth + 1), max)
    found = answered(program, goal, road, depth=depth, algebra="max")
    assert found == pytest.approx(expected, rel=1e-9)


@quick
@given(st.data(), programs(), st.integers(0, 4), roads)
def test_truth_within_a_depth(
    data: st.DataObject, program: Program, depth: int, road: Mapping[str, object]
) -> None:
    goal = data.draw(goals(program))
    weights = program.proofs().answers(goal.predicate, depth + 1)
    expected = goal_answers(goal, dict.fromkeys(weights, 1.0), max)
    assert answered(program, goal, road, depth=depth, algebra="boolean") == expected


@quick
@given(st.data(), programs(weights=(1.0, 2.0, 3.0)), st.integers(0, 6), roads)
def test_exact_integers(
    data: st.DataObject, program: Program, depth: int, road: Mapping[str, object]
) -> None:
    goal = data.draw(goals(program))
    expected = goal_answers(goal, program.proofs().answers(goal.predicate, depth + 1), plus)
    answer = answered(program, goal, road, depth=depth, exact=True)
    assert all(isinstance(weight, int) for weight in answer.values())
    assert answer == pytest.approx(expected, rel=1e-9)


@quick
@given(st.data(), programs(weights=(0.25, 0.5, 1.0), negation=False), st.integers(0, 3), roads)
def test_independent_chances_are_chances_of_what_is_provable(
    data: st.DataObject, program: Program, depth: int, road: Mapping[str, object]
) -> None:
    """How large they are depends on what is added up first, which is why they are an approximation."""
    goal = data.draw(goals(program))
    answer = answered(program, goal, road, depth=depth, algebra="independent")
    truths = answered(program, goal, road, depth=depth, algebra="boolean")
    assert answer.keys() == truths.keys()
    assert all(0 < chance <= 1 + 1e-12 for chance in answer.values())


@quick
@given(st.data(), programs(), roads)
def test_boolean_fixpoint_is_the_least_model(
    data: st.DataObject, program: Program, road: Mapping[str, object]
) -> None:
    truths = program.truths()
    goal = data.draw(goals(program))
    every = goal_answers(goal, dict.fromkeys(truths[goal.predicate], 1.0), max)
    with taken(road):
        answer = program.model().query(show_formula(goal), algebra="boolean", depth="fixpoint")
    assert told(answer) == every
    assert answer.status.converged


@quick
@given(st.data(), programs(weights=(0.25, 0.5, 1.0)), roads)
def test_max_fixpoint_is_the_best_proof_of_any_depth(
    data: st.DataObject, program: Program, road: Mapping[str, object]
) -> None:
    """A best proof repeats no atom on any of its branches, so it is no deeper than there are atoms."""
    goal = data.draw(goals(program))
    deepest = sum(math.prod(map(len, PLACES[name])) for name in DERIVED)
    expected = goal_answers(goal, program.proofs(add=max).answers(goal.predicate, deepest), max)
    with taken(road):
        answer = program.model().query(show_formula(goal), algebra="max", depth="fixpoint")
    assert answer.status.converged
    assert told(answer) == pytest.approx(expected, rel=1e-9)


@quick
@given(st.data(), programs(weights=(0.01, 0.02)), roads)
def test_real_fixpoint_is_the_sum_over_all_proofs(
    data: st.DataObject, program: Program, road: Mapping[str, object]
) -> None:
    """With small weights on everything stated and every rule unweighted, deep proofs add nothing."""
    goal = data.draw(goals(program))
    expected = goal_answers(goal, program.proofs().answers(goal.predicate, 60), plus)
    with taken(road):
        answer = program.model().query(show_formula(goal), depth="fixpoint")
    if answer.status.converged:
        assert told(answer) == pytest.approx(expected, rel=1e-6, abs=1e-12)


@quick
@given(st.data(), programs(), st.integers(0, 3), roads)
def test_a_batch_answers_as_its_goals_do(
    data: st.DataObject, program: Program, depth: int, road: Mapping[str, object]
) -> None:
    texts = [show_formula(data.draw(goals(program))) for _ in range(4)]
    model = program.model()
    with taken(road):
        together = model.query(texts, depth=depth)
    for text, answer in zip(texts, together, strict=True):
        assert told(answer) == pytest.approx(told(model.query(text, depth=depth)), rel=1e-9)


@quick
@given(st.data(), programs(), st.integers(0, 3), roads)
def test_atoms_and_tests_are_asked_as_a_rule_with_them_is(
    data: st.DataObject, program: Program, depth: int, road: Mapping[str, object]
) -> None:
    """A goal of several literals: the body of one of the program's rules."""
    rule = data.draw(st.sampled_from(program.rules))
    lookups = [part for part in rule.body if isinstance(part, s.Atom)]
    parts = [
        part
        for part in rule.body
        if not isinstance(part, s.Comparison) or names_of(part) <= set().union(*map(names_of, lookups))
    ]
    positive = [part for part in parts if isinstance(part, s.Atom | s.Comparison)]
    names = list(dict.fromkeys(name for part in positive for name in _in_order(part)))
    head = s.Atom("goal", tuple(map(s.Variable, names)))
    asked = [*program.rules, s.Rule(head, tuple(parts))]  # type: ignore[arg-type]
    kinds = [kind for name in names for kind, some in NAMES.items() if name in some]
    proofs = program.proofs()
    wider = Proofs(
        asked, proofs.facts, proofs.constants, proofs.truths,
        places={**PLACES, "goal": [PLACES["e" if kind == "n" else "f"][1] for kind in kinds]},
    )  # fmt: skip
    expected = goal_answers(head, wider.answers("goal", depth + 2), plus)
    goal = s.And(tuple(parts)) if len(parts) > 1 else parts[0]
    assert answered(program, goal, road, depth=depth) == pytest.approx(expected, rel=1e-9)


def _in_order(part: s.Atom | s.Comparison) -> list[str]:
    given = part.arguments if isinstance(part, s.Atom) else (part.left, part.right)
    return [term.name for term in given if isinstance(term, s.Variable) and not term.anonymous]
