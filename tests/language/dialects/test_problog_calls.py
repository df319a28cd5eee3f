"""Goals that depend on which variables have values by then mean what they mean in Prolog, or are refused."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.errors import HerbrandError, LanguageError
from herbrand.language.dialects import read_theory_text
from tests.laws import tries
from tests.oracles.prolog import TESTS, Clause, Goal, chance, is_variable

FACTS: list[tuple[float, Goal]] = [
    (0.5, ("a",)),
    (0.3, ("b",)),
    (0.6, ("e", "x")),
    (0.4, ("e", "y")),
    (0.7, ("d", "x", "y")),
]


def text_of(goal: Goal) -> str:
    name, *terms = goal
    if name == "\\+":
        return f"\\+{text_of(tuple(terms))}"
    if name in TESTS:
        return f"{terms[0]} {name} {terms[1]}"
    return f"{name}({', '.join(terms)})" if terms else name


def program(clauses: Sequence[Clause], asked: Goal) -> str:
    lines = [f"{chance}::{text_of(fact)}." for chance, fact in FACTS]
    lines += [
        f"{text_of(head)} :- {', '.join(map(text_of, body))}." if body else f"{text_of(head)}."
        for head, body in clauses
    ]
    return "\n".join([*lines, f"query({text_of(asked)})."])


def answers(text: str) -> dict[str, float]:
    found = hb.Model(read_theory_text(text, "pl")).infer(engine="circuit")
    return {row["atom"].replace('"', ""): row["probability"] for row in found.to_dict()["marginals"]}


def check(clauses: Sequence[Clause], asked: Goal) -> None:
    wanted = {text_of(answer): p for answer, p in chance(FACTS, clauses, asked).items()}
    found = {atom: p for atom, p in answers(program(clauses, asked)).items() if p > 0}
    assert found == pytest.approx(wanted, abs=1e-12)


UNKNOWN: list[Clause] = [
    (("p", "A", "B"), [("a",), ("=", "A", "x")]),
    (("p", "A", "B"), [("b",), ("=", "B", "x")]),
    (("fill", "A", "B"), [("==", "A", "x"), ("==", "B", "x")]),
    (("fill", "A", "B"), [("p", "A", "B"), ("fill", "A", "B")]),
    (("r",), [("fill", "A", "B")]),
]
OPEN: list[Clause] = [
    (("s", "A"), [("a",)]),
    (("s", "A"), [("b",), ("=", "A", "x")]),
    (("q", "A"), [("s", "A")]),
    (("r",), [("q", "A"), ("==", "A", "x")]),
]
LINKED: list[Clause] = [
    (("s", "A", "B"), [("a",), ("=", "A", "B")]),
    (("q", "A"), [("s", "x", "A")]),
    (("r",), [("q", "A"), ("==", "A", "x")]),
]
PATHS: list[Clause] = [
    (("p", "A", "B"), [("d", "A", "B")]),
    (("p", "A", "B"), [("d", "A", "C"), ("\\==", "C", "B"), ("p", "C", "B")]),
    (("d", "y", "x"), [("a",)]),
    (("r",), [("p", "x", "B")]),
]


@pytest.mark.parametrize(
    ("clauses", "asked"),
    [
        (UNKNOWN, ("fill", "A", "B")),
        (UNKNOWN, ("fill", "x", "B")),
        (UNKNOWN, ("r",)),
        (PATHS, ("p", "x", "x")),
        (PATHS, ("p", "A", "B")),
        (PATHS, ("r",)),
        ([(("q", "A"), [("\\=", "A", "x"), ("e", "A")])], ("q", "A")),
        ([(("q", "A"), [("\\==", "A", "x"), ("e", "A")])], ("q", "A")),
        (OPEN, ("r",)),
        ([(("q", "A"), [("\\+", "d", "A", "B"), ("e", "A")])], ("q", "A")),
        ([(("q", "A"), [("\\+", "d", "A", "B"), ("e", "B"), ("e", "A")])], ("q", "x")),
        ([(("q", "A"), [("\\+", "d", "B", "A"), ("e", "A")]), (("r",), [("e", "A"), ("q", "A")])], ("r",)),
        (LINKED, ("r",)),
        ([(("q", "A"), [("==", "A", "x"), ("e", "A")]), (("q", "y"), [("b",)])], ("q", "A")),
        (
            [(("q", "A"), [("==", "A", "x")]), (("r",), [("q", "A")]), (("r",), [("e", "A"), ("q", "A")])],
            ("r",),
        ),
        ([(("q", "A"), [("==", "A", "x")]), (("r",), [("\\+", "q", "B")])], ("r",)),
        ([(("q", "A"), [("==", "A", "x")]), (("r",), [("e", "B"), ("\\+", "q", "B")])], ("r",)),
        ([*PATHS, (("q", "A"), [("e", "A"), ("\\+", "p", "A", "B")])], ("q", "A")),
        ([*UNKNOWN, (("q", "A"), [("e", "A"), ("\\+", "p", "A", "B")])], ("q", "A")),
        ([*UNKNOWN, (("q", "A"), [("e", "A"), ("\\+", "fill", "B", "A")])], ("q", "A")),
    ],
)
def test_each_call_has_the_answers_of_prolog(clauses: list[Clause], asked: Goal) -> None:
    check(clauses, asked)


GRAPH = """0.6::e(1,2). 0.1::e(1,3). 0.4::e(2,4). 0.3::e(3,4). 0.5::e(4,1).
path(X, Y) :- e(X, Y). path(X, Y) :- e(X, Z), Z \\== Y, path(Z, Y). far(X) :- X \\= 1, path(1, X).
"""


@pytest.mark.parametrize(
    ("asked", "evidence"),
    [
        ("query(path(X, Y)).", "path(1, 3)"),
        ("query(path(1, X)). query(path(2, 3)).", "path(4, 4)"),
        ("query(path(X, 4)). query(path(3, 1)).", "path(1, 4)"),
        ("query(far(X)).", "far(4)"),
        ("query(path(1, 4)).", "far(4)"),
        ("query(\\+path(1, 4)). query(path(2, Y)).", "path(3, 2)"),
    ],
)
@pytest.mark.parametrize("sign", ["", "\\+"])
def test_what_is_asked_in_several_ways(asked: str, evidence: str, sign: str) -> None:
    """A rule that calls what is observed brings the same values to it."""
    if (
        asked == "query(far(X))." and sign
    ):  # what ``far`` tells of anything fails, so its call with 4 is another one
        asked = "query(path(1, 4))."
    found = answers(f"{GRAPH} {asked} evidence({sign}{evidence}).")
    assert found == pytest.approx(answers(f"{GRAPH} {asked} r :- {evidence}. evidence({sign}r)."))
    assert found


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("f(X, Y) :- X \\== Y, e(X), e(Y). query(f(X, Y)). evidence(f(1, 1)).",
         {"f(1, 1)": 1, "f(1, 2)": 0.5, "f(2, 1)": 0.5, "f(2, 2)": 0.5}),
        ("f(X, Y) :- X \\== Y, e(X), e(Y). query(f(1, 1)). query(f(X, Y)).",
         {"f(1, 1)": 0.4, "f(1, 2)": 0.2, "f(2, 1)": 0.2, "f(2, 2)": 0.5}),
        ("f(X) :- ground(X), e(_). f(X) :- e(X). query(f(X)). evidence(f(1)).", {"f(1)": 1, "f(2)": 0.5}),
        ("f(X) :- X == 1. query(f(X)). query(f(1)). query(e(1)).", {"f(1)": 1, "e(1)": 0.4}),
        ("f(X) :- \\+e(X), d(X). d(3). d(4). query(f(3)). query(f(_)).", {"f(3)": 0.3, "f(4)": 0.3}),
        ("f(X) :- \\+e(X), d(X). d(3). d(4). query(f(_)). query(f(3)). evidence(f(3)).",
         {"f(3)": 1, "f(4)": 1}),
    ],
)  # fmt: skip
def test_an_atom_that_a_query_lists_is_what_is_observed(program: str, expected: dict[str, float]) -> None:
    """Called with its values it would be another one. The numbers are those of ProbLog 2.3."""
    found = answers(f"0.4::e(1). 0.5::e(2). {program}")
    assert {atom: p for atom, p in found.items() if p} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("query(f(2, X)). query(f(_, _)).", {"f(2, 1)": 0.6, "f(2, 2)": 0.6, "f(1, 1)": 0.6, "f(1, 2)": 0.6}),
        ("query(f(_, _)). query(f(2, X)).", {"f(1, 1)": 0.6, "f(1, 2)": 0.6, "f(2, 1)": 1, "f(2, 2)": 1}),
        ("query(f(X, 1)). query(f(2, X)). evidence(f(2, 2)).", {"f(1, 1)": 0.6, "f(2, 1)": 1, "f(2, 2)": 1}),
        (
            "query(f(2, X)). query(f(X, 1)). evidence(f(2, 2)).",
            {"f(1, 1)": 0.6, "f(2, 1)": 0.6, "f(2, 2)": 1},
        ),
        ("query(f(2, X)). query(f(X, 1)). evidence(f(2, 1)).", {"f(1, 1)": 1, "f(2, 1)": 1, "f(2, 2)": 1}),
        ("query(f(3, X)). query(f(X, 1)).", {"f(1, 1)": 0.6, "f(2, 1)": 0.6, "f(3,X)": 0}),
    ],
)
def test_an_atom_of_several_queries_is_what_the_last_one_lists(
    asked: str, expected: dict[str, float]
) -> None:
    """The numbers are those of ProbLog 2.3."""
    found = answers(f"f(X, Y) :- \\+p(X), r(X), r(Y). 0.4::p(1). r(1). r(2). {asked}")
    assert found == pytest.approx(expected)


def test_a_query_of_all_paths_beside_one_that_is_observed() -> None:
    """The numbers are those of ProbLog 2.3."""
    found = answers(f"{GRAPH} query(path(2, X)). query(path(1, 2)). evidence(path(1, 4)).")
    expected = {
        "path(2, 1)": 0.4657534246575342,
        "path(2, 2)": 0.45662100456620996,
        "path(2, 3)": 0.0547945205479452,
        "path(2, 4)": 0.9315068493150686,
        "path(1, 2)": 0.954337899543379,
    }
    assert {atom: p for atom, p in found.items() if p} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("0.5::w(X) :- \\+l(X), t(X). query(w(_)). query(w(1)).", {"w(1)": 0.32, "w(2)": 0.32}),
        ("0.5::w(X) :- \\+l(X), t(X). query(w(_)). evidence(l(1), false).", {"w(1)": 0.4, "w(2)": 0.4}),
        ("0.5::w(X) :- \\+l(X), t(X). query(w(1)). query(w(2)).", {"w(1)": 0.4, "w(2)": 0.4}),
        ("0.5::w :- \\+l(X), t(X). query(w).", {"w": 0.48}),
        ("0.5::w :- \\+l(X), t(X), t(_). query(w).", {"w": 0.6}),
        ("P*0.5::w(X) :- \\+l(X), u(X, P). r :- w(_). query(r).", {"r": 0.232}),
        ("0.5::w(X); 0.3::v(X) :- \\+l(X), t(X). r :- w(X), v(Y), X \\= Y. query(r).", {"r": 0.192}),
        ("0.5::w(X); 0.3::v(X) :- \\+l(X), t(X). query(w(_)). query(v(_)). evidence(\\+w(1)).",
         {"w(1)": 0, "w(2)": 4 / 17, "v(1)": 4.8 / 17, "v(2)": 2.4 / 17}),
        ("0.5::w(X) :- \\+l(X), t(X). w(X) :- t(X), X > 1. query(w(_)).", {"w(1)": 0.32, "w(2)": 1}),
        ("q(A) :- A == x. 0.5::r(A) :- q(A), t(A). query(r(_)).", {"r(_)": 0}),
        ("0.2::q(A); 0.5::a :- t(A). q(A) :- A \\= x, t(A). a :- q(A). query(a).", {"a": 0.91}),
    ],
)  # fmt: skip
def test_choices_whose_goals_wait_for_values(program: str, expected: dict[str, float]) -> None:
    """The numbers are those of ProbLog 2.3."""
    found = answers(f"0.2::l(X) :- t(X). t(1). t(2). u(1, 0.3). u(2, 0.5). {program}")
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("q(A) :- A == x. e(x).", "A has no value yet"),  # nobody asks
        ("q(A) :- A \\== x. query(q(A)). e(x).", "A has no value yet"),  # nor has the answer one
        ("q(A, B) :- A \\== B, e(A), e(B). r :- q(A, A). query(r). e(x).", "A has no value yet"),
        (
            "0.5::w(A) :- \\+l(A), e(A). 0.2::l(x). e(x). r :- w(x). query(w(_)). query(r).",
            "A has no value yet",
        ),
        ("0.3::w(A); 0.5::v(B) :- \\+l(A), e(B). 0.2::l(x). e(x). query(v(_)).", "A has no value yet"),
        ("q(A) :- \\+ A < 2. r :- q(_). query(r). e(1).", "A has no value yet"),  # an error in Prolog
    ],
)
def test_what_cannot_be_told_apart_is_refused(text: str, said: str) -> None:
    with pytest.raises(LanguageError, match=said):
        read_theory_text(text, "pl")


VARIABLES, TERMS = st.sampled_from("AB"), st.sampled_from(["A", "B", "C", "x", "y"])
GOALS = st.one_of(
    st.sampled_from([("a",), ("b",)]),
    st.tuples(st.sampled_from("eq"), TERMS),
    st.tuples(st.sampled_from("dp"), TERMS, TERMS),
    st.tuples(st.sampled_from(TESTS), VARIABLES, TERMS),
    st.tuples(st.just("\\+"), st.just("e"), TERMS),
    st.tuples(st.just("\\+"), st.just("d"), TERMS, TERMS),
)
HEADS = st.one_of(st.just(("r",)), st.tuples(st.just("q"), TERMS), st.tuples(st.just("p"), TERMS, TERMS))
BODIES = st.lists(GOALS, min_size=1, max_size=3)
ALWAYS: list[Clause] = [
    (("q", "x"), [("a",)]),
    (("p", "x", "y"), [("b",)]),
    (("r",), [("q", "A"), ("p", "A", "B")]),
]


NEGATED = st.one_of(
    st.tuples(st.just("\\+"), st.just("q"), TERMS), st.tuples(st.just("\\+"), st.just("p"), TERMS, TERMS)
)
ABSENT = st.lists(st.one_of(GOALS, NEGATED), min_size=1, max_size=3).map(lambda body: (("r",), body))
"""Clauses of what no other one calls."""


@settings(max_examples=tries(300, 40))
@given(
    st.lists(st.one_of(st.tuples(HEADS, BODIES), ABSENT), min_size=1, max_size=5), st.sampled_from(["r", "q"])
)
def test_random_programs_have_the_answers_of_prolog_or_are_refused(clauses: list[Clause], name: str) -> None:
    clauses = [*clauses, *ALWAYS]
    asked: Goal = ("r",) if name == "r" else ("q", "A")
    if any(is_variable(term) for answer in chance(FACTS, clauses, asked) for term in answer[1:]):
        return  # an answer without a value, where ProbLog ends with an error
    with contextlib.suppress(LanguageError):
        check(clauses, asked)


@pytest.mark.parametrize("free", ["0.9::t(_).", "0.9::t(N).", "0.9::t(N) :- N > 0.", "0.9::t(N); 0.1::u(N)."])
@pytest.mark.parametrize("end", ["c(0).", "c(N) :- N =< 0."])
def test_a_choice_of_anything_gives_no_values(free: str, end: str) -> None:
    """Each call of it is one more choice: four of them, where the text names but two numbers."""
    text = f"{end} c(N) :- N > 0, M is N - 1, t(N), c(M). {free} query(c(4))."
    assert answers(text) == pytest.approx({"c(4)": 0.9**4})


def test_what_fits_anything_with_itself_gives_values() -> None:
    text = "same(X, X). 0.5::a(1). 0.5::a(4). big(Y) :- a(X), same(X, Y), Y > 2. query(big(_))."
    assert {atom: p for atom, p in answers(text).items() if p} == {"big(4)": 0.5}


def test_a_sum_of_throws() -> None:
    """Recursion that counts down makes sums on the way, each in as many ways as a loop finds."""
    sides = "; ".join(f"1/6::throw(N, {value})" for value in range(1, 7))
    total = "total(0, 0). total(N, S) :- N > 0, M is N - 1, total(M, T), throw(N, V), S is T + V."
    sums = [sum(thrown) for thrown in product(range(1, 7), repeat=3)]
    expected = {f"total(3, {value})": sums.count(value) / 6**3 for value in set(sums)}
    found = {atom: p for atom, p in answers(f"{sides}. {total} query(total(3, _)).").items() if p}
    assert found == pytest.approx(expected, abs=1e-12)


def test_factorials_and_fibonacci_numbers() -> None:
    text = """
        f(0, 1). f(N, F) :- N > 0, M is N - 1, f(M, G), F is N * G.
        fib(0, 0). fib(1, 1).
        fib(N, F) :- N > 1, A is N - 1, B is N - 2, fib(A, X), fib(B, Y), F is X + Y.
        0.3::go. r(F) :- go, f(5, F). r(F) :- go, fib(9, F). query(r(_)).
    """
    assert {atom: p for atom, p in answers(text).items() if p} == pytest.approx({"r(120)": 0.3, "r(34)": 0.3})


def test_greatest_common_divisors() -> None:
    text = """
        gcd(X, 0, X) :- X > 0.
        gcd(X, Y, G) :- Y > 0, Z is X mod Y, gcd(Y, Z, G).
        0.3::n(12). 0.5::n(35). 0.4::n(27). shared(G) :- n(X), gcd(X, 21, G). query(shared(_)).
    """
    expected = {f"shared({math.gcd(35, 21)})": 0.5, f"shared({math.gcd(12, 21)})": 1 - 0.7 * 0.6}
    assert {atom: p for atom, p in answers(text).items() if p} == pytest.approx(expected)


def test_sums_of_digits_and_powers() -> None:
    text = """
        digits(0, 0). digits(N, S) :- N > 0, D is N mod 10, M is N // 10, digits(M, T), S is T + D.
        power(0, 1). power(N, P) :- N > 0, M is N // 2, power(M, Q), P is Q * Q * (1 + N mod 2 * 2).
        0.3::n(347). 0.5::n(26). s(S) :- n(X), digits(X, S). query(s(_)).
        p(P) :- n(26), power(5, P). query(p(_)).
    """
    found = {atom: p for atom, p in answers(text).items() if p}
    assert found == pytest.approx({"s(14)": 0.3, "s(8)": 0.5, f"p({3**5})": 0.5})


def test_a_walk_of_so_many_steps() -> None:
    """Time counts down, and the place goes up or down: one choice for each moment."""
    text = """
        0.4::down(_). ruin(0, _).
        ruin(N, T) :- N > 0, T > 0, S is T - 1, down(T), M is N - 1, ruin(M, S).
        ruin(N, T) :- N > 0, T > 0, S is T - 1, \\+down(T), M is N + 1, ruin(M, S).
        query(ruin(2, 5)).
    """
    lost = 0.0
    for steps in product((-1, 1), repeat=5):
        if any(2 + sum(steps[:count]) == 0 for count in range(6)):
            lost += 0.4 ** steps.count(-1) * 0.6 ** steps.count(1)
    assert answers(text) == pytest.approx({"ruin(2, 5)": lost}, abs=1e-12)


@pytest.mark.parametrize(
    ("called", "written"),
    [
        ("0.7::r(Y) :- r(X), X < 5, next(X, Y).", "0.7::r(Y) :- r(X), X < 5, Y is X + 1."),
        ("0.7::r(Y) :- r(X), small(X), next(X, Y).", "0.7::r(Y) :- r(X), X < 4, Y is X + 1."),
        ("w :- r(X), next(X, 1).", "w :- r(X), 1 is X + 1."),
        ("w :- next(0, 1), r(0). w :- next(0, 2).", "w :- r(0)."),
        ("w :- next(0, _), r(0).", "w :- r(0)."),
        ("w(X) :- r(X), \\+small(X). r(9).", "w(X) :- r(X), X >= 4. r(9)."),
        ("w(X) :- r(X), twice(X, Y), twice(Y, Z), Z < 9. r(1). r(3).", "w(X) :- r(X), X < 3. r(1). r(3)."),
        ("other(X, Y) :- X \\== Y. w :- s(X), s(Y), other(X, Y).", "w :- s(X), s(Y), X \\== Y."),
    ],
)
def test_what_only_computes_is_as_if_written_where_it_is_called(called: str, written: str) -> None:
    """The limit of a recursion stands with its caller, and what computes is called with constants, too."""
    facts = "0.5::r(0). 0.3::s(a). 0.4::s(b). "
    own = "next(X, Y) :- Y is X + 1. small(X) :- X < 4. twice(X, Z) :- Y is X * 2, Z is Y. "
    asked = " query(w)." if "w :-" in called else " query(w(_))." if "w(X)" in called else " query(r(_))."
    wanted = answers(facts + written + asked)
    assert answers(facts + own + called + asked) == pytest.approx(wanted, abs=1e-12)
    assert any(wanted.values())


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("0.3::a(1, 2). 0.4::a(2, 1). 0.5::a(2, 2).", {"a(2, 2)": 0.5}),
        ("0.3::a(x, 1). 0.4::a(y, y).", {"a(y, y)": 0.4}),
        ("0.3::a(x, 1). 0.4::a(y, 2).", {}),
    ],
)
def test_a_query_may_name_a_variable_twice(program: str, expected: dict[str, float]) -> None:
    assert {atom: p for atom, p in answers(f"{program} query(a(X, X)).").items() if p} == expected


def test_powers_and_division_rounded_down() -> None:
    text = (
        "0.3::f(-7). h(Y) :- f(X), Y is X div 4. k(Y) :- f(X), Y is X ^ 2 + X ** 1. query(h(_)). query(k(_))."
    )
    assert {atom: p for atom, p in answers(text).items() if p} == {"h(-2)": 0.3, "k(42)": 0.3}


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (  # each calls the other one before it asks for its own choice
            "ev(0). ev(N) :- N > 0, M is N-1, od(M), e(N). od(N) :- N > 0, M is N-1, ev(M), \\+e(N). "
            "0.4::e(N) :- between(0, 4, N). query(ev(4)). query(od(3)).",
            {"ev(4)": 0.4 * 0.6 * 0.4 * 0.6, "od(3)": 0.6 * 0.4 * 0.6},
        ),
        (
            "0.3::up(T). p(0, 0). p(T, P) :- T > 0, S is T-1, up(S), p(S, Q), P is Q+1. "
            "p(T, P) :- T > 0, S is T-1, \\+up(S), p(S, Q), P is 0. query(p(2, _)).",
            {"p(2, 0)": 0.7, "p(2, 1)": 0.7 * 0.3, "p(2, 2)": 0.3 * 0.3},
        ),
        ("0.3::b(1). 0.4::b(2). 0.2::c. 0.5::s(N) :- \\+b(N) ; c. query(s(1)). query(s(2)).",
         {"s(1)": 0.5 * (1 - 0.3 * 0.8), "s(2)": 0.5 * (1 - 0.4 * 0.8)}),
        ("s(0). 0.5::s(N) :- N > 0, M is N - 1, (s(M) ; b(M)). 0.3::b(1). query(s(2)).",
         {"s(2)": 0.5 * (1 - 0.5 * 0.7)}),
        ("0.2::c. 0.5::s(N) :- N < 2 ; c. query(s(1)). query(s(2)).", {"s(1)": 0.5, "s(2)": 0.1}),
        (  # the facts list N as well, and it is N that ends the sum
            "0.6::c(1, 2). 0.5::c(2, 3). s(0, A, A). "
            "s(N, A, R) :- N > 0, M is N-1, c(N, V), B is A+V, s(M, B, R). "
            "query(s(2, 0, _)). query(s(1, 1, _)).",
            {"s(2, 0, 5)": 0.3, "s(1, 1, 3)": 0.6},
        ),
    ],
)  # fmt: skip
def test_what_only_a_caller_gives(program: str, expected: dict[str, float]) -> None:
    assert {atom: p for atom, p in answers(program).items() if p} == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("s(0). s(N) :- N > 0, M is N-1, s(M), \\+b(N). p(X) :- b(X), \\+s(X). q(X) :- p(X), s(X). "
         "r :- q(_). query(r).", {"r": 0}),
        ("s(0). s(N) :- N > 0, M is N-1, s(M), \\+b(M). p(X) :- b(X), \\+s(X). q(X) :- p(X), Y is X-1, s(Y). "
         "query(q(2)). query(q(1)).", {"q(1)": 0, "q(2)": 0.4 * 0.5}),
        ("r(0, 0). r(N, S) :- N > 0, M is N-1, r(M, T), S is T+N. w(S) :- r(2, S), \\+ (r(S, T), b(T)). "
         "query(w(_)).", {"w(3)": 1}),
        ("r(0, 0). r(N, S) :- N > 0, M is N-1, r(M, T), S is T+N, \\+b(S). w(S) :- r(2, S), "
         "\\+ (r(1, K), b(K)). v(Y) :- w(X), r(X, Y). query(v(_)).", {"v(6)": 0.5}),
        ("t(0). t(N) :- N > 0, M is N-1, t(M), \\+ (K is M-1, t(K), b(K)). query(t(3)).", {"t(3)": 0.5}),
        ("0.3::p(0). p(N) :- N > 0, q(N). q(N) :- M is N-1, p(M). query(p(4)).", {"p(4)": 0.3}),
        ("p(0). p(N) :- N =\\= 0, M is N-1, q(M). 0.5::q(N) :- p(N). query(p(3)).", {"p(3)": 0.125}),
    ],
)  # fmt: skip
def test_calls_that_answers_make_and_calls_by_way_of_others(program: str, expected: dict[str, float]) -> None:
    """The numbers are those of ProbLog 2.3."""
    assert answers(f"0.5::b(1). 0.4::b(2). {program}") == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("s(0). s(N) :- N > 0, M is N-1, \\+s(M). query(s(3)). query(s(2)).", {"s(2)": 1, "s(3)": 0}),
        ("s(N) :- N > 0, M is N-1, r(M). r(N) :- \\+s(N). query(s(3)). query(s(2)).", {"s(2)": 0, "s(3)": 1}),
        ("e(1, 2). e(2, 3). l(X) :- n(X), \\+ (e(Y, X), l(Y)). n(1). n(2). n(3). query(q(_)). 0.3::c. "
         "q(X) :- l(X), c.", {"q(1)": 0.3, "q(3)": 0.3}),
        ("e(1, 2). e(2, 3). l(X) :- e(X, Y), \\+l(Y). 0.3::c. evidence(l(2)). query(l(_)). query(c).",
         {"l(2)": 1, "c": 0.3}),
    ],
)  # fmt: skip
def test_what_is_certain_may_be_negated_atom_by_atom(program: str, expected: dict[str, float]) -> None:
    """The numbers are those of ProbLog 2.3."""
    assert answers(program) == pytest.approx(expected, abs=1e-12)


def test_a_deep_chain_of_negated_calls() -> None:
    """Such calls are not listed one by one."""
    text = "0.9::c(_). s(0). s(N) :- N > 0, M is N-1, \\+ (s(M), c(M)). "
    assert answers(f"{text} query(s(5000)).")["s(5000)"] == pytest.approx(1 / 1.9)
    with pytest.raises(LanguageError, match="call each other too often"):
        read_theory_text(f"{text} d(1). query(d(X)) :- s(5000), d(X).", "pl")


DOWN = {
    "listed while reading": """0.5::s(0). 0.9::t(0). 0.1::u(1). v(1). v(2). v(3). v(4).
        s(N) :- N > 0, M is N - 1, t(M), v(N).
        t(N) :- N =\\= 0, M is N - 1, s(M), \\+ u(M).""",
    "derived by rules": """0.5::s(0). v(3). 0.1::off(2). 0.1::off(4). 0.1::off(7).
        s(N) :- N > 0, \\+ off(N), M is N - 1, s(M).""",
}


@pytest.mark.parametrize("text", DOWN.values(), ids=DOWN)
def test_only_what_the_file_calls_can_be_asked_for(text: str) -> None:
    whole = hb.Model(read_theory_text(f"{text} query(s(4)). query(s(2)). query(s(7)). v(7).", "pl")).infer()
    expected = {row.atom: row.probability for row in whole.rows()}
    model = hb.Model(read_theory_text(f"{text} query(s(4)). v(7).", "pl"))
    for atom in ("s(4)", "s(2)"):
        (row,) = model.infer(atom).rows()
        assert row.probability == pytest.approx(expected[atom], abs=1e-12)
    listed = {row.atom: row.probability for row in model.infer("s").rows()}
    assert listed["s(2)"] == pytest.approx(expected["s(2)"], abs=1e-12) and "s(7)" not in listed
    asked = [lambda: model.infer("s(7)"), lambda: model.infer("v(3) and not s(7)")]
    asked += [lambda: model.infer("s(4)", given="not s(7)"), lambda: model.query("s(7)")]
    asked += [lambda: model.explain("s(7)"), lambda: model.sample(given="not s(7)")]
    for ask in asked:
        with pytest.raises(LanguageError, match="its file derives s\\(7\\) only where a query calls it"):
            ask()
    with pytest.raises(LanguageError, match="only where a query calls it"):
        model.infer("not s(x)")
    for other, said in (("s(1, 2)", "argument"), ('s("a")', "number|constant"), ("s() and v(3)", "brackets")):
        with pytest.raises(LanguageError, match=said) as refused:
            model.infer(other)
        assert "calls" not in str(refused.value)


def test_certain_programs_answer_what_their_file_calls() -> None:
    text = "s(0). s(N) :- N > 0, \\+ off(N), M is N - 1, s(M). off(7). off(9). query(s(3))."
    model = hb.Model(read_theory_text(text, "pl"))
    assert model.query("s(2)").top(1).rows()
    with pytest.raises(LanguageError, match="only where a query calls it"):
        model.query("s(7)")


def test_a_file_that_only_observes_lists_what_it_calls() -> None:
    model = hb.Model(read_theory_text(f"{DOWN['listed while reading']} evidence(s(4)).", "pl"))
    for found in (model.infer(), model.infer(map=True)):
        assert {row.atom for row in found.rows() if row.predicate in "st"} == {
            *("s(0)", "s(2)", "t(0)", "t(1)", "t(3)")
        }


def test_evidence_of_worlds_is_of_what_is_called(tmp_path: Path) -> None:
    (tmp_path / "worlds.ev").write_text("evidence(s(3), false).\n---\nevidence(s(3), true).")
    text = """t(_)::c(1). t(_)::c(2). t(_)::c(3). s(0).
        s(N) :- N > 0, \\+ off(N), M is N - 1, s(M). off(N) :- c(N)."""
    model = hb.Model(read_theory_text(f"{text} query(s(2)).", "pl"))
    with pytest.raises(LanguageError, match="its file derives s\\(3\\) only where a query calls it"):
        model.learn(worlds=tmp_path / "worlds.ev")
    called = hb.Model(read_theory_text(f"{text} query(s(3)).", "pl"))
    assert called.learn(worlds=tmp_path / "worlds.ev").metrics["worlds"] == 2


def test_other_files_do_not_use_what_is_only_called(tmp_path: Path) -> None:
    (tmp_path / "count.pl").write_text(f"{DOWN['derived by rules']} query(s(4)).")
    for number, statement in enumerate(("w(x) :- s(x), v(x)", "not s(2)", "1.0: s(x) => v(x)")):
        (tmp_path / f"{number}.hb").write_text(statement)
        with pytest.raises(LanguageError, match="another file derives s only where its own queries call it"):
            hb.read([tmp_path / "count.pl", tmp_path / f"{number}.hb"])
    (tmp_path / "more.hb").write_text("w(x) :- v(x)")
    assert hb.read([tmp_path / "count.pl", tmp_path / "more.hb"]).calls


def test_a_clause_that_nobody_calls_is_left_out() -> None:
    counting = "s(0). s(T) :- T > 0, M is T - 1, s(M). 0.2::o(T) :- T > 0, s(T)."
    theory = read_theory_text(f"{counting} query(s(2)).", "pl")
    with pytest.raises(HerbrandError, match="no predicate 'o'"):
        hb.Model(theory).infer("o(1)")
    with pytest.raises(LanguageError, match="nothing calls it"):
        read_theory_text(counting, "pl")


def test_a_clause_that_nobody_calls_is_asked_with_all_its_arguments() -> None:
    program = "double(X, Y) :- Y is X * 2. b(1)."
    with pytest.raises(LanguageError) as error:
        read_theory_text(program, "pl")
    hint = error.value.mistakes[0].hint
    assert hint == "ask for it in the file: query(double(3, _))."
    asked = hint.removeprefix("ask for it in the file: ")
    assert answers(f"{program} {asked}") == {"double(3, 6)": 1.0}


def test_a_clause_that_calls_without_values_is_left_out_where_no_query_leads_to_it() -> None:
    walk = "0.4::up(_). at(0, 1). at(T, X) :- T > 0, S is T - 1, at(S, Y), up(S), X is Y + 1. "
    text = f"{walk} high :- at(T, 3), T > 1. proud :- \\+high, up(1). query(at(2, _)). "
    assert {atom: p for atom, p in answers(text).items() if p} == pytest.approx({"at(2, 3)": 0.16})
    for asked in ("query(proud).", "evidence(\\+proud)."):
        with pytest.raises(LanguageError, match="T has no value yet"):
            read_theory_text(text + asked, "pl")


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("0.2::u(_). q(Y) :- n(X), Y is X + 3, u(Y).", {"q(5)": 0.1}),
        ("0.2::u(_). q(Y) :- n(X), Y is X + 3, \\+u(Y).", {"q(5)": 0.4}),
        ("h(X) :- \\+c(X). q(Y) :- n(X), Y is X + 3, h(Y).", {"q(5)": 0.5}),
        ("h(X) :- \\+c(X). q(Y) :- n(X), Y is X + 2, h(Y).", {"q(4)": 0.35}),
        ("h(X, X) :- \\+c(X). q(Z) :- n(X), Y is X + 2, h(Y, Z).", {"q(4)": 0.35}),
        ("h(X, X). q(Z) :- n(X), Y is X + 2, h(Z, Y).", {"q(4)": 0.5}),
        ("0.2::u(_). h(X, X) :- u(X). q(Z) :- n(X), Y is X + 3, h(Y, Z).", {"q(5)": 0.1}),
        ("m(Y) :- n(X), Y is X + 2. h(X) :- \\+c(X). q(Y) :- m(Y), h(Y).", {"q(4)": 0.35}),
        ("m(Y) :- n(X), Y is X + 2. h(X, _) :- \\+c(X). q(Y) :- m(Y), h(Y, a).", {"q(4)": 0.35}),
    ],
)
def test_what_holds_of_anything_holds_of_computed_numbers(program: str, expected: dict[str, float]) -> None:
    """``5`` and ``4`` stand nowhere in these, or in ``c`` alone, which is not called with ``n``."""
    found = answers(f"0.5::n(2). 0.3::c(4). {program} query(q(_)).")
    assert {atom: p for atom, p in found.items() if p} == pytest.approx(expected, abs=1e-12)


def test_a_computed_number_that_an_equation_names_is_a_constant() -> None:
    """The call needs no number handed on, which it would have from what it gives itself."""
    text = "a(1,_). 0.4::a(2,_). p(X,Y) :- a(X,U), a(Y,V), U = V, U is X+Y, V = 3. query(p(X,Y))."
    assert {atom: p for atom, p in answers(text).items() if p} == pytest.approx(
        {"p(1, 2)": 0.4, "p(2, 1)": 0.4}
    )


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        ("d(X, Y) :- \\+ (X = 2, \\+c), b(X, Y).", {"a": 0.7}),
        ("d(X, Y) :- X \\= Y, b(X, Y). e :- d(X, Y), X < 2.", {"a": 0.7}),
    ],
)
def test_a_choice_stays_for_the_head_that_a_query_leads_to(late: str, expected: dict[str, float]) -> None:
    """It was left out with clauses of its other head, so that 0.4 was answered. The numbers are ProbLog's."""
    program = "0.1::b(2, 1). 0.8::c. 0.4::a. f(1). 0.2::d(X, X); 0.5::a :- f(X)."
    assert answers(f"{program} {late} query(a).") == pytest.approx(expected)


def test_clauses_that_wait_for_values_are_left_out_beside_choices_that_others_call() -> None:
    program = "0.2::u(_). n(1). p(X) :- n(X), u(X), X < 3. h(X, Y) :- X =\\= 1, u(X), Y is X + 1. "
    assert answers(program + "query(p(1)).") == {"p(1)": 0.2}
    with pytest.raises(LanguageError, match="X has no value yet"):
        answers(program + "query(p(1)). query(h(_, 3)).")
    assert answers("n(1). 0.3::p; 0.5::z :- n(X), X \\= Y, n(Y). query(p).") == {"p": 0}


@pytest.mark.parametrize(
    ("program", "cycle"),
    [
        ("c(0). c(N) :- M is N - 1, c(M). query(c(3)).", "without end: c -> c"),
        ("c. c(0). c(N) :- M is N - 1, c(M). query(c(3)).", "without end: c -> c"),
        ("a(N) :- M is N - 1, b(M). b(N) :- M is N - 1, a(M). query(a(3)).", "without end: (a -> b|b -> a)"),
        ("0.5::a(N); 0.4::b(N) :- M is N - 1, a(M). query(b(3)).", "without end: a -> a"),
    ],
)
def test_recursion_without_end_is_named_as_the_file_has_it(program: str, cycle: str) -> None:
    with pytest.raises(HerbrandError, match=cycle):
        answers(program)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("0.5::n(3). 0.4::n(2). p(X) :- n(M), between(1, M, X).", {"p(1)": 0.7, "p(2)": 0.7, "p(3)": 0.5}),
        ("0.5::n(3). 0.4::m(2). p(X) :- m(L), n(X), between(L, 5, X).", {"p(3)": 0.2}),
        ("n(3). 0.4::m(2). p(X) :- n(L), m(X), between(L, 5, X).", {}),
        ("0.5::m(1). 0.4::m(4). n(3). p(X) :- m(X), n(M), \\+between(1, M, X).", {"p(4)": 0.4}),
        ("0.6::h(_). n(2). n(3). p(N) :- n(N), forall(between(1, N, I), h(I)).",
         {"p(2)": 0.36, "p(3)": 0.216}),
        ("in(L,H,L) :- L =< H. in(L,H,X) :- L < H, M is L+1, in(M,H,X). 0.5::n(2). p(X) :- n(H), in(1,H,X).",
         {"p(1)": 0.5, "p(2)": 0.5}),
    ],
)  # fmt: skip
def test_ranges_whose_ends_goals_give(program: str, expected: dict[str, float]) -> None:
    found = answers(f"{program} query(p(_)).")
    assert {atom: p for atom, p in found.items() if p} == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("number", [7.5, -7.5, 7, -7, 0, -0.25, 2.5])
def test_numbers_are_rounded_and_divided_as_problog_does(number: float) -> None:
    """Its ``rem`` is its ``mod``: it computes by Python."""
    right = {
        "floor(X)": math.floor(number),
        "ceiling(X)": math.ceil(number),
        "truncate(X)": math.trunc(number),
        "integer(X)": int(number),
        "round(X)": round(number),
        "float(X)": number,
        "+X": number,
        "floor(X) rem 3": math.floor(number) % 3,
    }
    for value, expected in right.items():
        text = f"0.3::f({number}). h(Y) :- f(X), Y is {value}. query(h(_))."
        assert {atom: p for atom, p in answers(text).items() if p} == {f"h({expected})": 0.3}


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("0.5::p(1). 0.4::p(2). q :- p(1), p(2). evidence(p(X)).", {"p(1)": 1, "p(2)": 1, "q": 1}),
        (
            "0.5::p(1). 0.4::p(2). q :- p(1). evidence(p(_), false).",
            {"p(1)": 0, "p(2)": 0, "q": 0},
        ),
        (
            "0.5::p(1,1). 0.4::q. p(1,2) :- q. evidence(p(X,X)).",
            {"p(1, 1)": 1, "p(1, 2)": 0.4, "q": 0.4},
        ),
        ("0.5::e(1). 0.4::e(2). p(X) :- e(X). q :- e(1). evidence(\\+p(X)).", {"p(1)": 0, "p(2)": 0, "q": 0}),
        (
            "0.5::e(1,2). 0.4::q. p(2,3) :- q. p(X,Y) :- e(X,Y). p(X,Y) :- e(X,Z), p(Z,Y). evidence(p(1,_)).",
            {"p(1, 2)": 1, "p(1, 3)": 1, "p(2, 3)": 1, "q": 1},
        ),
        (
            "0.5::p(1). 0.4::p(2). q :- p(1). evidence(p(X)) :- p(X), X > 1.",
            {"p(1)": 0.5, "p(2)": 1, "q": 0.5},
        ),
        ("0.5::p(1). 0.4::p(2). 0.3::q. evidence(p(X)) :- q.", {"p(1)": 1, "p(2)": 1, "q": 0.3}),
        ("0.5::p(1). 0.4::p(2). 0.3::q. b(1). evidence(p(1)) :- b(2).", {"p(1)": 0.5, "p(2)": 0.4, "q": 0.3}),
        (
            "0.5::p(1). 0.4::p(2). 0.3::q. b(1). evidence(p(2)) :- \\+b(1).",
            {"p(1)": 0.5, "p(2)": 0.4, "q": 0.3},
        ),
        (
            "0.5::p(1). 0.4::p(2). 0.3::q. b(1). r(X) :- b(X). evidence(p(X)) :- r(X).",
            {"p(1)": 1, "p(2)": 0.4, "q": 0.3},
        ),
        (  # a body that calls an atom and its negation holds in no world
            "0.5::p(1). 0.4::p(2). 0.3::q. b(1). b(2). evidence(p(X)) :- b(X), q, \\+q.",
            {"p(1)": 0.5, "p(2)": 0.4, "q": 0.3},
        ),
        (
            "0.5::p(1). 0.4::p(2). 0.3::q. b(1). b(2). o(X) :- b(X), \\+q, q. o(2) :- q. evidence(o(X)).",
            {"p(1)": 0.5, "p(2)": 0.4, "q": 1},
        ),
    ],
)
def test_evidence_with_a_variable_is_of_every_instance(program: str, expected: dict[str, float]) -> None:
    """The numbers are those of ProbLog 2.3."""
    asked = "query(q). query(p(_, _))." if "p(1," in program else "query(q). query(p(_))."
    found = answers(f"{program} {asked}")
    assert {atom: p for atom, p in found.items() if p or expected.get(atom) == 0} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ("d(X), \\+s(X)", ["p(1)", "p(3)"]),
        ("d(X), (s(X) ; X > 2)", ["p(2)", "p(3)"]),
        ("c(X)", ["p(1)"]),
        ("ok(X)", ["p(2)", "p(3)"]),
        ("between(3, 4, X)", ["p(3)", "p(4)"]),
    ],
)
def test_a_query_with_a_body_is_of_what_can_hold(body: str, asked: list[str]) -> None:
    program = "0.3::p(X) :- d(X). d(1). d(2). d(3). s(2). 0.5::c(1). ok(X) :- d(X), X > 1."
    assert [*answers(f"{program} query(p(X)) :- {body}.")] == asked


@pytest.mark.parametrize("value", ["sin(X)", "X xor 1"])
def test_what_computes_no_number_here_is_refused_by_name(value: str) -> None:
    with pytest.raises(LanguageError, match=r"(sin/1|xor/2) computes no number here"):
        read_theory_text(f"f(7). h(Y) :- f(X), Y is {value}. query(h(_)).", "pl")


THROWN = {
    "named": "".join(f"0.4::d({n},1). 0.5::d({n},2). 0.6::u({n}). " for n in (1, 2, 3)),
    "anything": "0.4::d(_,1). 0.5::d(_,2). 0.6::u(_).",
    "above 0": "0.4::d(N,1) :- N > 0. 0.5::d(N,2) :- N > 0. 0.6::u(N) :- N > 0.",
    "of n": "n(1). n(2). n(3). 0.4::d(N,V) :- n(N), V is N // N. 0.5::d(N,2) :- n(N). 0.6::u(N) :- n(N).",
}
ROUNDS = {
    "d(N,V), S is T + V": lambda t, v, u: t + v,
    "d(N,V), u(N), S is T * 2 + V": lambda t, v, u: t * 2 + v if u else None,
    "d(N,V), \\+u(N), S is max(T, V)": lambda t, v, u: None if u else max(t, v),
    "d(N,V), T < 2, S is T - V": lambda t, v, u: t - v if t < 2 else None,
}


@pytest.mark.parametrize("thrown", THROWN)
@pytest.mark.parametrize("round_", ROUNDS)
@pytest.mark.parametrize("end", ["p(0,0).", "p(N,0) :- N =< 0."])
def test_rounds_of_choices_equal_the_sum_over_worlds(thrown: str, round_: str, end: str) -> None:
    step = ROUNDS[round_]
    expected = Counter[str]()
    for world in product((False, True), repeat=9):
        weight, held = 1.0, {0}
        for one, two, up in zip(world[:3], world[3:6], world[6:], strict=True):
            weight *= (0.4 if one else 0.6) * 0.5 * (0.6 if up else 0.4)
            made = (step(t, v, up) for t in held for v in ([1] * one + [2] * two))
            held = {value for value in made if value is not None}
        expected.update({f"p(3, {value})": weight for value in held})
    text = f"{THROWN[thrown]} {end} p(N,S) :- N > 0, M is N - 1, p(M,T), {round_}. query(p(3,_))."
    assert {atom: p for atom, p in answers(text).items() if p} == pytest.approx(dict(expected), abs=1e-12)
