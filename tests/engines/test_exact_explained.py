"""Explanations of exact log-odds, against the integral over all worlds."""

from __future__ import annotations

import math
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.language.names import shown_constant
from herbrand.language.show import show_atom
from herbrand.language.syntax import Theory
from tests.laws import tries
from tests.oracles.attribution import SOFT, attributions
from tests.oracles.worlds import Universe, exact_answers
from tests.program_generators import models


@settings(
    phases=[Phase.reuse, Phase.generate],
    max_examples=tries(20),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(models(hard=True), st.data())
def test_contributions_are_those_of_the_worlds(model: tuple[Theory, Universe], data: st.DataObject) -> None:
    theory, universe = model
    if exact_answers(universe, theory.formulas)[0] == -math.inf:
        return
    predicate, arguments = data.draw(st.sampled_from(universe.atoms()))
    values = universe.predicates[predicate][1]
    value = True if values is None else data.draw(st.sampled_from(values))
    text = show_atom(predicate, arguments)
    why = hb.Model(theory).explain(
        text if values is None else f"{text} = {shown_constant(value)}", engine="exact"
    )
    base, log_odds, expected = attributions(universe, theory.formulas, (predicate, arguments), value)
    assert why.value == pytest.approx(log_odds, abs=1e-7)
    if not math.isfinite(log_odds):
        assert all(reason.contribution == log_odds for reason in why.reasons)
        return
    assert why.base == pytest.approx(base, abs=1e-7)
    found: dict[str, float] = defaultdict(float)
    for reason in why.reasons:
        found[SOFT if reason.statement.startswith(SOFT) else reason.statement] += reason.contribution
    for statement, share in expected.items():
        assert found[statement] == pytest.approx(share, abs=1e-6), statement
    assert why.base + sum(found.values()) + why.remainder == pytest.approx(why.value, abs=1e-9)


def test_a_fact_is_explained_as_one() -> None:
    model = hb.Model(hb.parse("0.5: p(x) => q(x)"), {"p": [("a",), ("b",)]})
    why = model.explain('p("a")')
    assert why.value == math.inf
    assert [reason.statement for reason in why.reasons] == ["it is listed among the facts"]


def test_what_forces_an_atom_is_named_and_nothing_else() -> None:
    model = hb.Model(hb.parse('hard: p(x) => q(x)\nhard: q(x) => r(x)\nhard: s(x) => r(x)\np("a")'))
    why = model.explain('r("a")', engine="exact")
    assert why.value == math.inf
    assert {reason.statement for reason in why.reasons} == {"hard: p(x) => q(x)", "hard: q(x) => r(x)"}


@pytest.mark.parametrize("asked", ["p(x)", "p", 'p("a") and p("b")'])
def test_only_one_ground_atom_can_be_explained(asked: str) -> None:
    model = hb.Model(hb.parse("0.5: p(x)"), {"p": [("a",), ("b",)]}, open="p")
    with pytest.raises(hb.HerbrandError, match="an explanation is of one ground atom"):
        model.explain(asked)


def test_a_many_valued_atom_needs_its_value() -> None:
    model = hb.Model(hb.parse('type t = {"c"}\npredicate area(t) in {"a", "b"}\n1: area(x) = "a"'))
    with pytest.raises(hb.HerbrandError, match="name the value to explain"):
        model.explain('area("c")')
    assert model.explain('area("c") = "a"').value == pytest.approx(1.0)
