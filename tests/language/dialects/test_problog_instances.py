"""What bodies of queries and evidence, and variables of evidence, stand for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.errors import LanguageError
from herbrand.language.dialects import read_theory_text
from herbrand.language.dialects.problog import instances
from herbrand.language.dialects.problog.goals import value_of
from herbrand.language.syntax import Atom, Constant
from herbrand.language.theory import Theory
from tests.language.dialects.test_problog_calls import (
    ALWAYS,
    BODIES,
    FACTS,
    HEADS,
    answers,
    is_variable,
    program,
)
from tests.laws import tries
from tests.oracles.prolog import Clause, chance

NUMBERS = """0.5::s(N) :- n(N). n(1). n(2). n(3). n(4). odd(1). odd(3). 0.3::c(1). sure(2).
even(N) :- n(N), \\+odd(N). double(M) :- n(N), M is 2*N. maybe(N) :- n(N), \\+c(N).
none(N) :- n(N), \\+sure(N).
down(0). down(N) :- N > 0, M is N - 1, down(M)."""


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ("n(N), X is N + 1, X =< 3", [2, 3]),
        ("n(N), n(M), N + M =:= 3, X is N", [1, 2]),
        ("n(X), X mod 2 =:= 0", [2, 4]),
        ("double(X), X < 5", [2, 4]),
        ("even(X)", [2, 4]),
        ("n(X), \\+even(X)", [1, 3]),
        ("n(X), \\+c(X)", [1, 2, 3, 4]),  # it holds where the choice of c(1) is not made
        ("maybe(X)", [1, 2, 3, 4]),
        ("n(X), \\+maybe(X)", [1]),
        ("none(X)", [1, 3, 4]),
        ("n(X), \\+none(X)", [2]),
        ("n(X), (X = 1 ; X > 3)", [1, 4]),
        ("X \\== 2, n(X)", [1, 2, 3, 4]),
        ("n(X), X \\== 2, \\+ X \\= 3", [3]),
        ("between(2, 3, X), down(X)", [2, 3]),
        ("X = N, n(N), N == X, N > 3", [4]),
        ("n(X), max(X, 2) - abs(-X) >= 1", [1]),
    ],
)
def test_the_body_of_a_query_is_tried_as_in_prolog(body: str, asked: list[int]) -> None:
    """The instances are those of ProbLog 2.3."""
    found = answers(f"{NUMBERS} query(s(X)) :- {body}.")
    assert [*found] == [f"s({number})" for number in asked]
    assert set(found.values()) == {0.5}


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("evidence(a(Y)) :- n(X), Y is X+1, Y < 3.", {"a(1)": 0.5, "a(2)": 1.0, "a(3)": 0.4, "c": 0.7}),
        ("evidence(a(X), V) :- n(X), (X < 2, V = true ; X > 2, V = false).",
         {"a(1)": 1.0, "a(2)": 0.5, "a(3)": 0.0, "c": 1.0}),
        ("w(X) :- a(X), X + 1 > 3. evidence(w(X)).", {"a(1)": 0.5, "a(2)": 0.5, "a(3)": 1.0, "c": 1.0}),
        ("w(X) :- n(X), Y is X - 1, a(Y). evidence(w(X)) :- c.",
         {"a(1)": 1.0, "a(2)": 1.0, "a(3)": 0.4, "c": 1.0}),
        ("d(X) :- a(X), \\+e. evidence(d(X), false).",
         {"a(1)": 0.15 / 0.405, "a(2)": 0.15 / 0.405, "a(3)": 0.12 / 0.405, "c": 0.21 / 0.405}),
        ("d(X) :- n(X), \\+a(X). evidence(d(_)).", {"a(1)": 0.0, "a(2)": 0.0, "a(3)": 0.0, "c": 0.0}),
        ("d(Y) :- a(X), Y is X - 1. evidence(\\+d(_)).", {"a(1)": 0.0, "a(2)": 0.0, "a(3)": 0.0, "c": 0.0}),
        ("d(X) :- a(X), X > 1. evidence(d(X)).", {"a(1)": 0.5, "a(2)": 1.0, "a(3)": 1.0, "c": 1.0}),
    ],
)  # fmt: skip
def test_evidence_of_what_clauses_negate_or_compute(program: str, expected: dict[str, float]) -> None:
    """The numbers are those of ProbLog 2.3."""
    text = f"0.5::a(1). 0.5::a(2). 0.4::a(3). n(1). n(2). n(3). 0.3::e. c :- a(1) ; a(3). {program} "
    assert answers(text + "query(a(_)). query(c).") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.5::b(1). n(0). query(b(Y)) :- n(X), Y is 1/X.", "1 / X has no value"),
        ("0.5::b(1). n(a). query(b(Y)) :- n(X), Y is X + 1.", "computes with a text"),
        ("0.5::b(1). n(1). query(b(Y)) :- Y is X + 1, n(X).", "X has no value yet"),
        ("0.5::b(1). n(1). query(b(X)) :- X =\\= 2, n(X).", "X has no value yet"),
        ("0.5::b(1). m(X) :- Y is X + 1, m(Y). query(b(1)) :- m(1).", "the recursion has no end"),
        ("0.5::b(1). m :- \\+k. k :- \\+m. query(b(1)) :- m.", "depends on its own negation"),
        ("0.5::a(X, Y) :- b(X). b(1). evidence(a(X, Y)).", "evidence is a ground atom"),
        ("0.5::a(1, 2). b(1). b(3). evidence(a(X, Y)) :- b(X).", "no clause can make this evidence true"),
        ("0.5::b(1). n(1). k(X) :- X @< 2, n(X). query(b(Y)) :- k(Y).", "X has no value yet"),
    ],
)
def test_bodies_that_have_no_meaning_are_refused(text: str, said: str) -> None:
    with pytest.raises(LanguageError, match=said):
        read_theory_text(text, "pl")


def asked_constants(theory: Theory) -> list[Constant]:
    atoms = [query.formula for query in theory.queries if isinstance(query.formula, Atom)]
    return [term for atom in atoms for term in atom.arguments if isinstance(term, Constant)]


ENDLESS = [
    "n(0). n(Y) :- n(X), Y is X + 1. query(b(X)) :- n(X).",
    "n(0). n(Y) :- e, n(X), Y is X - 2. 0.3::e. query(b(X)) :- n(X), X > -3.",
    "n(0, a). n(0, b). n(Y, Z) :- n(X, Z), d(Z), Y is 1 + X. d(b). query(b(X)) :- n(X, _).",
    "m(X) :- Y is X + 1, m(Y). query(b(1)) :- m(1).",
    "m(9). m(X) :- e, Y is X - 1, m(Y). 0.3::e. query(b(1)) :- m(1).",
]


@pytest.mark.parametrize("text", ENDLESS)
def test_counting_without_end_is_seen_at_its_first_round(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many numbers may be computed: each round makes the next."""
    computed = []

    def counted(*given: Any) -> Any:
        computed.append(given)
        return value_of(*given)

    monkeypatch.setattr(instances, "value_of", counted)
    with pytest.raises(LanguageError, match="more than 100,000 numbers are computed here: the recursion has"):
        read_theory_text(f"0.5::b(1). {text}", "pl")
    assert len(computed) < 10


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("n(0). n(Y) :- n(X), X < 3, Y is X + 1.", {0, 1, 2, 3}),
        ("n(0). n(Y) :- n(X), Y is X + 1, Y < 3.", {0, 1, 2}),
        ("n(0). n(Y) :- n(X), Y is X + 1, d(Y). d(1). d(2). d(5).", {0, 1, 2}),
        ("n(0). n(Y) :- n(X), d(X, Z), Y is X + 1. d(0, a). d(1, b).", {0, 1, 2}),
        ("n(0). n(Y) :- k(X), Y is X + 1. k(0). k(4).", {0, 1, 5}),
        ("n(1). n(Y) :- n(X), Y is X * 1.", {1}),
        ("n(1). n(2). n(Y) :- n(X), Y is X + 0.", {1, 2}),
        ("n(X) :- m(0, X). m(3, 3). m(X, Z) :- X < 3, Y is X + 1, m(Y, Z).", {3}),
        ("n(X) :- m(2, X). m(0, 7). m(X, Z) :- d(X), Y is X - 1, m(Y, Z). d(1). d(2).", {7}),
    ],
)
def test_counting_that_ends_is_not_called_endless(rules: str, expected: set[int]) -> None:
    choices = " ".join(f"0.5::b({number})." for number in range(10))
    theory = read_theory_text(f"{rules} {choices} query(b(X)) :- n(X).", "pl")
    assert {term.value for term in asked_constants(theory)} == expected


@settings(max_examples=tries(200))
@given(st.lists(st.tuples(HEADS, BODIES), min_size=1, max_size=5))
def test_instances_are_what_has_a_chance(clauses: list[Clause]) -> None:
    """What is negated may hold of worlds that do not go together, so that instances are more."""
    clauses = [*clauses, *ALWAYS]
    wanted = chance(FACTS, clauses, ("q", "A"))
    if any(is_variable(term) for answer in wanted for term in answer[1:]):
        return
    text = program(clauses, ("r",)).replace("query(r).", "0.5::z(x). z(y). query(z(A)) :- q(A).")
    try:
        theory = read_theory_text(text, "pl")
    except LanguageError:
        return
    found = {term.value for term in asked_constants(theory)}
    possible = {answer[1] for answer, p in wanted.items() if p > 0}
    assert possible <= found
    if not any(goal[0] == "\\+" for _, body in clauses for goal in body):
        assert found == possible


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("0.5::e(1, 2). e(2, 3). p(X, Y) :- e(X, Y). p(X, Y) :- e(X, Z), p(Z, Y). query(p(X, Y)).",
         {"p(1, 2)": 0.5, "p(1, 3)": 0.5, "p(2, 3)": 1}),
        ("e(1, 2). e(2, 3). p(X, Y) :- e(X, Y). p(X, Y) :- e(X, Z), p(Z, Y). query(p(X, Y)). query(p(3, 3)).",
         {"p(1, 2)": 1, "p(1, 3)": 1, "p(2, 3)": 1, "p(3, 3)": 0}),
        ("0.3::t(3). 0.4::t(4). a(X) :- t(X). n(5). evidence(\\+t(3)). query(a(X)).",
         {"a(3)": 0, "a(4)": 0.4}),
        ("0.3::t(-5). 0.4::t(3). c(X) :- t(X), X < 0. query(c(X)).", {"c(-5)": 0.3}),
        ("0.4::t(3). c(X) :- t(X), X < 0. query(c(X)). query(c(4)). query(t(X)).",
         {"t(3)": 0.4, "c(4)": 0}),
        ("0.4::t(3). c(X) :- t(X), X < 0. query(c(X)).", {"c(X)": 0}),
        ("0.3::b(1, 2). 0.4::b(1, 3). query(b(1, X)). query(b(5, X)). query(b(X, X)).",
         {"b(1, 2)": 0.3, "b(1, 3)": 0.4, "b(5,X)": 0, "b(X,X)": 0}),
        ("0.3::a(1); 0.2::a(2). both(X, Y) :- a(X), a(Y). query(both(X, Y)).",
         {"both(1, 1)": 0.3, "both(1, 2)": 0, "both(2, 1)": 0, "both(2, 2)": 0.2}),
    ],
)  # fmt: skip
def test_a_query_with_variables_lists_what_may_hold(program: str, expected: dict[str, float]) -> None:
    """As ProbLog lists it: what evidence excludes stays, and a query without any answer is its own."""
    assert answers(program) == pytest.approx(expected)
