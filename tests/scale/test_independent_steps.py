"""Probabilities of independent events on a database, as in memory."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import herbrand as hb
from herbrand.errors import UnsupportedError
from herbrand.language.show import show_formula
from tests.engines.proof.test_independent_steps import (
    DEPENDENT,
    INDEPENDENT,
    Program,
    programs,
    theory_of,
    with_facts,
)
from tests.laws import tries
from tests.scale.test_proofs import agree, on_duckdb


@pytest.mark.parametrize("which", INDEPENDENT)
def test_as_in_memory(which: str) -> None:
    rules, goal = INDEPENDENT[which]
    theory = hb.parse(with_facts(rules))
    found = on_duckdb(theory, goal, algebra="probability")
    agree(found, hb.Model(theory).query(goal, algebra="probability"))
    assert found.guarantee == "exact"


@pytest.mark.parametrize("which", DEPENDENT)
def test_what_needs_a_circuit_is_refused(which: str) -> None:
    rules, goal = DEPENDENT[which]
    with pytest.raises(UnsupportedError, match="on a database the probability algebra"):
        on_duckdb(hb.parse(with_facts(rules)), goal, algebra="probability")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("a(1) @ 1.5", "a fact of a weighs 1.5"),
        ("p(1)", "no evidence"),
        ("not a(1)\na(1) ~ 0.5", "a"),
    ],
)
def test_what_is_no_independent_event_is_refused(more: str, said: str) -> None:
    theory = hb.parse(f"predicate a(n)\npredicate p(n)\na(2) @ 0.5\n{more}\np(x) :- a(x)")
    with pytest.raises(hb.HerbrandError, match=said):
        on_duckdb(theory, "p(x)", algebra="probability")


UNCERTAIN_TERMS = [
    ("k(1, 2) @ 0.5", "h(x) :- o(x), count(i: k(x, i)) >= 1"),
    ("k(1, 2) ~ 0.5", "h(x) :- o(x), i = sum(j: k(x, j)), i > 0"),
    ("k(1, 2)", "l(x) :- o(x) @ 0.5\nh(x) :- o(x), max(y: l(y)) > 0"),
    ("k(1, 2) @ 0.5", "0.5 :: c(x) :- o(x)\nh(x) :- c(x), max(i: k(x, i)) > 0"),
]


@pytest.mark.parametrize(("fact", "rules"), UNCERTAIN_TERMS)
def test_aggregates_take_no_uncertain_fact_for_certain(fact: str, rules: str) -> None:
    theory = hb.parse(f"o(1)\n{fact}\n{rules}")
    with pytest.raises(hb.HerbrandError, match=r"is over ., which is uncertain"):
        on_duckdb(theory, "h(x)", algebra="probability")


def test_small_probabilities_keep_their_digits() -> None:
    theory = hb.parse("a(1) @ 1e-17\na(2) @ 3e-17\nsome :- a(x)")
    assert on_duckdb(theory, "some", algebra="probability")[()] == pytest.approx(4e-17, rel=1e-12)


@settings(deadline=None, max_examples=tries(60))
@given(programs())
def test_random_programs(
    program: Program,
) -> None:
    rules, facts, goal = program
    theory, asked = theory_of(rules, facts), " and ".join(map(show_formula, goal.body))
    try:
        found = on_duckdb(theory, asked, algebra="probability")
    except UnsupportedError as error:
        assert "on a database the probability algebra" in str(error)
    else:
        agree(found, hb.Model(theory).query(asked, algebra="probability"))
