"""Goals as a user asks them: bindings, lists of goals, shares, and what is said where they make no sense."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import herbrand as hb
from herbrand.engines.proof.horn_program import Index, IndexedFacts
from herbrand.errors import HerbrandError
from herbrand.facts.facts import FactTable
from tests.engines.proof.test_against_proofs import told

PATHS = "predicate e(n, n): observed\npredicate p(n, n)\np(x, y) :- e(x, y)\np(x, y) :- e(x, z), p(z, y)\n"
CHAIN = f'{PATHS}e("a", "b")\ne("b", "c")'
NUMBERS = (
    "type n = number\npredicate e(n, n): observed\npredicate p(n, n)\np(x, y) :- e(x, y)\ne(1, 2)\ne(1, 2.5)"
)


@pytest.mark.parametrize("rule", ["q(x, z) :- e(x, y), e(z, y)", "q(x, z) :- e(x, z), not p(z, x)"])
def test_facts_go_with_their_model(rule: str) -> None:
    """Large tables and their indexes must not wait in cycles for a collection of garbage."""
    asked(CHAIN, "p(x, y)")  # what is kept for good is made
    gc.disable()
    try:
        before = _alive()
        asked(f"{CHAIN}\npredicate q(n, n)\n{rule}", "q(x, z)")
        assert _alive() == before
    finally:
        gc.enable()


def _alive() -> int:
    return sum(type(one) in (FactTable, IndexedFacts, Index) for one in gc.get_objects())


def asked(text: str, goal: Any, **options: Any) -> Any:
    return hb.Model(hb.parse(text)).query(goal, **options)


@pytest.mark.parametrize(
    ("bindings", "rows"),
    [
        (None, [("a", "b"), ("a", "c"), ("b", "c")]),
        ({}, [("a", "b"), ("a", "c"), ("b", "c")]),
        ({"x": []}, []),
        ({"x": ["b"]}, [("b", "c")]),
        ({"x": ("c", "b", "b")}, [("b", "c"), ("b", "c")]),
        ({"y": ["c"]}, [("a", "c"), ("b", "c")]),
        ({"x": ["a", "b"], "y": ["c", "b"]}, [("a", "c")]),
        ({"y": ["c"], "x": ["a"]}, [("a", "c")]),
        ({"x": np.array(["a", "c"])}, [("a", "b"), ("a", "c")]),
        ({"x": iter(["b"])}, [("b", "c")]),
    ],
)
def test_constants_for_some_variables(bindings: dict[str, Any] | None, rows: list[tuple[str, str]]) -> None:
    answer = asked(CHAIN, "p(x, y)", bindings=bindings)
    assert [tuple(row.bindings.values()) for row in answer.rows()] == rows
    assert answer.variables == ("x", "y")


def test_numbers_for_some_variables() -> None:
    for values in ([2.5], (2.5, 2.0), np.array([2.5]), [np.float64(2.5)]):
        answer = asked(NUMBERS, "p(x, y)", bindings={"y": values})
        assert told(answer)[1, 2.5] == 1 and len(answer) == len(values)


@pytest.mark.parametrize(
    ("bindings", "message"),
    [
        ({"x": ["a"], "y": ["b", "c"]}, "the columns of the bindings differ in length"),
        ({"x": "ab"}, "the bindings of x are a list of texts or numbers, and not 'ab'"),
        ({"x": 3}, "the bindings of x are a list of texts or numbers, and not 3"),
        ({"x": ["a", None]}, r"the bindings of x are a list of texts or numbers, and not \['a', None\]"),
        ({"x": [1]}, "1 is no constant of type n"),
        ({"x": ["a", "aa"]}, '"aa" is no constant of type n\n  did you mean'),
        ({"w": ["a"]}, "the query has no variable 'w'"),
        ([("x", "a")], 'bindings are a list of constants for each variable: {"x": '),
    ],
)
def test_bindings_that_make_no_sense(bindings: Any, message: str) -> None:
    with pytest.raises(HerbrandError, match=message):
        asked(CHAIN, "p(x, y)", bindings=bindings)


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        (None, "a goal is text, or a list of texts, and not None"),
        (3, "a goal is text, or a list of texts, and not 3"),
        ({}, "a goal is text, or a list of texts, and not {}"),
        ({"p(x, y)": 1}, "a goal is text, or a list of texts, and not {'p"),
        (["p(x, y)", None], r"a goal is text, or a list of texts, and not \['p\(x, y\)', None\]"),
        ("", "no formula"),
        ("p(x", "<query>:1:"),
        ("p(x, y), e(x, y)", "unexpected ','"),
        ("exists y: p(x, y)", "a query is an atom, or atoms, negated atoms and comparisons joined by 'and'"),
        ("not not p(x, y)", "a query is an atom, or atoms"),
        ("p(x, y) and (e(x, y) or e(y, x))", "a query is an atom, or atoms"),
    ],
)
def test_goals_that_make_no_sense(goal: Any, message: str) -> None:
    with pytest.raises(HerbrandError, match=message):
        asked(CHAIN, goal)


@pytest.mark.parametrize("goal", [None, 3, {}, ["b", 3]])
def test_goals_under_choices_that_make_no_sense(goal: Any) -> None:
    with pytest.raises(HerbrandError, match="a goal is text, or a list of texts"):
        hb.Model(hb.parse("0.3 :: a\nb :- a")).query(goal)


def test_lists_of_goals() -> None:
    assert asked(CHAIN, []) == ()
    goals = [
        'p("a", y)',
        "p(x, y)",
        'p("a", y)',
        'p("b", z)',
        "e(_, _)",
        'p("a", "c") and e("a", "b")',
        "true",
    ]
    model = hb.Model(hb.parse(CHAIN))
    for given_as in (goals, tuple(goals), iter(goals)):
        answers = model.query(given_as)  # type: ignore[arg-type]
        assert list(map(told, answers)) == [told(model.query(goal)) for goal in goals]
    assert answers[3].variables == ("z",) and answers[0].variables == ("y",)
    with pytest.raises(HerbrandError, match="bindings go with one goal, not with a list of goals"):
        model.query(goals, bindings={"x": ["a"]})


@pytest.mark.parametrize(
    ("weights", "how", "expected"),
    [
        ((1, 3), "sum", (0.75, 0.25)),
        ((1e308, 1e308), "sum", (0.5, 0.5)),
        ((1e308, 1e-308), "sum", (1.0, 0.0)),
        ((1e-308, 3e-308), "sum", (0.75, 0.25)),
        ((-1, 3), "sum", (1.5, -0.5)),
        ((800, 1), "softmax", (1.0, 0.0)),
        ((1, 1), "softmax", (0.5, 0.5)),
        ((-800, -800), "softmax", (0.0, 0.0)),
    ],
)
def test_shares_of_weights_of_any_size(
    weights: tuple[float, float], how: str, expected: tuple[float, float]
) -> None:
    text = f'{PATHS}e("a", "b") @ {weights[0]!r}\ne("a", "c") @ {weights[1]!r}'
    answer = asked(text, 'p("a", y)', normalize=how)
    assert [row.weight for row in answer.rows()] == pytest.approx(list(expected), abs=1e-4)
    assert answer.weight + (answer.null or 0) == pytest.approx(1.0)


def test_weights_that_cancel_cannot_be_shared_out() -> None:
    text = f'{PATHS}e("a", "b") @ -1\ne("a", "c") @ 1'
    with pytest.raises(
        HerbrandError, match="the weights add up to 0, so they cannot be divided by their sum"
    ):
        asked(text, 'p("a", y)', normalize="sum")
    assert len(asked(PATHS, "p(x, y)", normalize="sum")) == 0


@pytest.mark.parametrize("depth", [10**7, 10**12])
def test_no_depth_is_too_large_for_what_ends(depth: int) -> None:
    text = CHAIN + "\npredicate q(n, n)\nq(x, y) :- e(x, y)\nq(x, y) :- q(x, z), q(z, y)"
    answers = asked(text, ["p(x, y)", "e(x, y)"], depth=depth)
    assert [len(answer) for answer in answers] == [3, 2] and not any(one.truncated for one in answers)


@pytest.mark.parametrize(
    ("text", "goal", "rows"),
    [
        (PATHS, "p(x, y)", {}),
        ('p(x, x, y) :- e(x, y)\ne("a", "b")', "p(x, y, z)", {("a", "a", "b"): 1}),
        ('p(x, x, y) :- e(x, y)\ne("a", "b")', 'p("a", "b", z)', {}),
        ('p(x, x, y) :- e(x, y)\ne("a", "b")', "p(x, x, x)", {}),
        ('p("a") :- true', "p(x)", {("a",): 1}),
        ('p("a") :- true @ 0.5\np("a") :- true @ 0.25', "p(x)", {("a",): 0.75}),
        ('p(x) :- e(x), not f(x)\ne("a")\nf("b")', "p(x)", {("a",): 1}),
        ("p(x) :- e(x)\ne(1)\ne(2.0)\ne(3.5)", "p(2)", {(): 1}),
        ('predicate e(n)\npredicate p(n)\np(x) :- e(x)\nnot e("a")\ne("b")', "p(x)", {("b",): 1}),
        ("p :- e(x)\ne(1)\ne(2)", "p", {(): 2}),
        ("p :- q\nq :- p", "p", {}),
        ("p :- not q\nq :- r\nr :- e(x)", "p", {(): 1}),
    ],
)
def test_small_theories(text: str, goal: str, rows: dict[tuple[object, ...], float]) -> None:
    assert told(asked(text, goal)) == rows
