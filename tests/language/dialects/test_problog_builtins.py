"""Built-in predicates that are read: equations of whole numbers, and tests of types."""

from __future__ import annotations

import pytest

import herbrand as hb
from herbrand.errors import LanguageError
from herbrand.language.dialects import read_theory_text
from tests.language.dialects.test_problog_calls import answers


def held(text: str) -> dict[str, float]:
    return {atom: p for atom, p in answers(text).items() if p}


@pytest.mark.parametrize(
    ("goal", "equation"),
    [
        ("n(X), succ(X, Y)", "n(X), Y is X + 1"),
        ("n(X), succ(Y, X)", "n(X), Y is X - 1"),
        ("n(X), n(Y), succ(X, Y)", "n(X), n(Y), Y =:= X + 1"),
        ("n(X), n(Y), \\+succ(X, Y)", "n(X), n(Y), Y =\\= X + 1"),
        ("n(Y), succ(X, Y), n(X)", "n(Y), n(X), Y =:= X + 1"),
        ("n(X), plus(X, 3, Y)", "n(X), Y is X + 3"),
        ("n(X), plus(3, Y, X)", "n(X), Y is X - 3"),
        ("n(X), plus(X, Y, 9)", "n(X), Y is 9 - X"),
        ("n(X), n(Y), plus(X, X, Y)", "n(X), n(Y), Y =:= X * 2"),
        ("n(Y), succ(3, 4), \\+plus(1, 2, 4)", "n(Y)"),
        ("n(Y), succ(3, 5)", "n(Y), fail"),
        ("n(X), Y is sign(X - 2)", "n(X), Y is (X - 2) // max(1, abs(X - 2))"),
    ],
)
def test_equations_of_whole_numbers(goal: str, equation: str) -> None:
    numbers = "0.5::n(1). 0.4::n(2). 0.3::n(3). 0.2::n(4). "
    found = held(f"{numbers} p(Y) :- {goal}. query(p(_)).")
    assert found == pytest.approx(held(f"{numbers} p(Y) :- {equation}. query(p(_))."))
    assert bool(found) == ("fail" not in equation)


@pytest.mark.parametrize("prev", ["succ(Y, X)", "plus(Y, 1, X)", "plus(1, Y, X)", "succ(Y, X), Y >= 0"])
@pytest.mark.parametrize(
    "asked",
    [
        "q(Y) :- n(X), prev(X, Y). query(q(_)).",
        "q(Y) :- n(X), prev(X, Z), prev(Z, Y). query(q(_)). r :- prev(4, 3). query(r).",
        "query(prev(4, _)). query(prev(2, 1)).",
        "query(q(X)) :- prev(X, 2). q(X) :- n(X).",
    ],
)
def test_an_equation_is_for_what_no_call_gives(prev: str, asked: str) -> None:
    """``Y`` alone is a value that the head makes, where every call brings ``X``."""
    expected = {
        "q(Y) :- n(X), prev(X, Y). query(q(_)).": {"q(2)": 0.5, "q(0)": 0.4},
        "query(prev(4, _)). query(prev(2, 1)).": {"prev(4, 3)": 1, "prev(2, 1)": 1},
        "query(q(X)) :- prev(X, 2). q(X) :- n(X).": {"q(3)": 0.5},
    }.get(asked, {"q(1)": 0.5, "q(-1)": 0.4, "r": 1})
    if "Z" in asked:
        prev = prev.removesuffix(", Y >= 0")
    assert held(f"0.5::n(3). 0.4::n(1). prev(X, Y) :- {prev}. {asked}") == pytest.approx(expected)


@pytest.mark.parametrize(
    "step", ["N > 0, succ(M, N), c(M, G)", "N > 0, plus(M, 1, N), c(M, G)", "N > 0, plus(N, -1, M), c(M, G)"]
)
def test_a_count_down_by_equations(step: str) -> None:
    text = f"c(0, 1). c(N, F) :- {step}, plus(G, G, F). 0.3::n(3). 0.5::n(5). p(F) :- n(N), c(N, F)."
    text += " query(p(_))."
    assert held(text) == pytest.approx({"p(8)": 0.3, "p(32)": 0.5})


VALUES = {1: 0.3, 2.5: 0.4, "a": 0.5, "b c": 0.6}
TYPES = {
    "number": (1, 2.5),
    "integer": (1,),
    "float": (2.5,),
    "atom": ("a", "b c"),
    "callable": ("a", "b c"),
    **dict.fromkeys(("atomic", "ground", "nonvar", "simple"), tuple(VALUES)),
    **dict.fromkeys(("var", "compound", "is_list"), ()),
}


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("sign", ["", "\\+"])
@pytest.mark.parametrize("kind", ["all", "numbers", "texts"])
def test_types_of_values(name: str, sign: str, kind: str) -> None:
    values = {v: p for v, p in VALUES.items() if kind == "all" or isinstance(v, str) == (kind == "texts")}
    facts = " ".join(f"{p}::v('{v}')." if isinstance(v, str) else f"{p}::v({v})." for v, p in values.items())
    wanted = {f"p({v})": p for v, p in values.items() if (v in TYPES[name]) != bool(sign)}
    found = held(f"{facts} p(X) :- v(X), {sign}{name}(X). query(p(_)).")
    assert found == pytest.approx(wanted)
    asked = held(f"{facts} query(v(X)) :- v(X), {sign}{name}(X). query(z). 0.1::z.")
    assert asked == pytest.approx({"z": 0.1, **{f"v({v[2:-1]})": p for v, p in wanted.items()}})


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("kind(X, free) :- var(X). kind(X, bound) :- nonvar(X). p(K) :- kind(_, K).", {"p(free)": 1}),
        (
            "kind(X, free) :- var(X). kind(X, bound) :- nonvar(X). p(K) :- n(X), kind(X, K).",
            {"p(bound)": 0.5},
        ),
        ("get(X) :- var(X), X = 7. get(X) :- nonvar(X), n(X). p(X) :- get(X).", {"p(7)": 1}),
        ("get(X) :- var(X), X = 7. get(X) :- \\+var(X), n(X). p(1) :- get(2).", {"p(1)": 0.5}),
        ("p(X) :- \\+number(X), n(X).", {"p(2)": 0.5}),
        ("p(Y) :- n(X), Y is X + 3, number(Y), \\+atom(Y).", {"p(5)": 0.5}),
        ("number(2). number(3). p(X) :- n(X), number(X).", {"p(2)": 0.5}),  # the file's own
    ],
)
def test_types_of_what_has_a_value_or_none(program: str, expected: dict[str, float]) -> None:
    """The numbers are those of ProbLog 2.3, but for the last one, which it refuses."""
    assert held(f"0.5::n(2). {program} query(p(_)).") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p(Y) :- n(X), Y is X / 2, integer(Y). n(4).", "integer/1 is read of constants alone"),
        ("p(X) :- n(X), float(X). n(4). n(2.0).", "float/1 is read of constants alone"),
        ("p(X) :- number(X), n(X). n(4).", "X has no value yet"),
    ],
)
def test_types_that_are_not_known_are_refused(text: str, said: str) -> None:
    with pytest.raises(LanguageError, match=said):
        read_theory_text(text, "pl")


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("p(X) :- v(X, age, A), A > 60.", {"p(bob)": 0.4}),
        ("p(A) :- v(_, K, A), K \\== city, A < 60.", {"p(34)": 0.3}),
        ("p(S) :- v(ann, age, A), v(bob, age, B), S is A + B, S > A.", {"p(95)": 0.12}),
        ("p(X) :- v(X, age, A), v(Y, age, B), A =< B, X \\== Y.", {"p(ann)": 0.12}),
        ("p(X) :- v(X, _, A), number(A), 0 is A mod 2.", {"p(ann)": 0.3}),
        ("W/100::p(X) :- v(X, age, W).", {"p(ann)": 0.3 * 0.34, "p(bob)": 0.4 * 0.61}),
        (
            "w(ann, chance, 0.5). w(bob, place, home). W::p(X) :- v(X, age, _), w(X, chance, W).",
            {"p(ann)": 0.15},
        ),
        ("p(X) :- v(X, age, A), \\+ A > 60.", {"p(ann)": 0.3}),
    ],
)
def test_numbers_beside_texts_are_computed_with(program: str, expected: dict[str, float]) -> None:
    """The numbers are those of ProbLog 2.3."""
    facts = "0.3::v(ann, age, 34). v(ann, city, paris). 0.4::v(bob, age, 61). v(bob, city, rome)."
    assert held(f"{facts} {program} query(p(_)).") == pytest.approx(expected)


def test_answers_list_no_predicate_that_was_made_for_a_test() -> None:
    program = "0.5::c. 0.3::v(a, 1). v(b, x). p(X) :- v(X, N), N > 0. q(X) :- v(_, X), c, atom(X)."
    model = hb.Model(read_theory_text(program, "pl"))
    assert {row.predicate for row in model.infer().rows()} == {"c", "v", "p", "q"}
    drawn = {
        atom.split("(")[0] for world in model.sample(20, seed=1).to_dict()["worlds"] for atom in world["true"]
    }
    assert drawn == {"c", "v", "p", "q"}
