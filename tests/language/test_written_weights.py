"""Learned numbers written into a theory: what it says is what the numbers mean."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.language import syntax as s
from herbrand.language.written_weights import weight_statements, with_weights
from tests.laws import tries
from tests.learning.worlds_to_learn_from import Lesson, all_keys, lessons
from tests.oracles.pseudo_likelihood import weight_of_worlds

numbers = st.sampled_from([0.0, 0.5, -1.25, 2.0])


@given(lessons(hard=True), st.data())
@settings(
    max_examples=tries(25),
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_worlds_weigh_what_the_numbers_say(lesson: Lesson, data: st.DataObject) -> None:
    weights = {key: data.draw(numbers) for key in all_keys(lesson.universe, lesson.theory)}
    written = with_weights(lesson.theory, weights)
    assert not any(isinstance(f.weight, s.Learned) for f in written.formulas)
    expected = weight_of_worlds(lesson.universe, lesson.theory.formulas, weights)(lesson.world)
    assert lesson.universe.log_weight(lesson.world, written.formulas) == pytest.approx(expected)
    assert hb.parse(hb.show(written)) == written


def written(text: str, weights: dict) -> list[str]:
    return hb.show(with_weights(hb.parse(text), weights)).splitlines()


def test_a_weight_by_constants_is_a_statement_for_each() -> None:
    found = written(
        "[w] ?[x, y]: f(x, y) => g(y) where x != y",
        {(0, ("a", "b")): 1.0, (0, ("a", "a")): 2.0, (0, ("b", "a")): 0.0},
    )
    assert found == [r'["w \"a\", \"b\""] 1.0: f("a", "b") => g("b")']


def test_conditions_on_other_variables_stay() -> None:
    (found,) = written("?[x]: f(x, y) where x != y", {(0, ("a",)): 1.0})
    assert found == '1.0: f("a", y) where "a" != y'


def test_statements_that_have_numbers_are_left_as_they_are() -> None:
    text = "hard: p(x) => q(x)\n1.5: p(x)\n?: q(x)\nr(x) :- p(x)\np(1)"
    theory = hb.parse(text)
    assert [f.weight for f in weight_statements(theory)] == [1.5, s.Learned(())]
    found = with_weights(theory, {(1, ()): -0.5})
    assert [f.weight for f in found.formulas] == [s.Hard(), 1.5, -0.5]
    assert found.rules == theory.rules and found.facts == theory.facts


def test_numbers_that_are_not_given_are_nothing() -> None:
    assert written("?: p(x)\n?[x]: q(x)", {}) == ["0.0: p(x)"]
