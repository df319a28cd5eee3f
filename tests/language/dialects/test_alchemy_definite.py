"""LoMRF's ``Head :- Body`` is a weighted implication and completes its head, as a sum over worlds says."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from herbrand.errors import LanguageError
from herbrand.language.dialects import read_theory_text
from herbrand.language.syntax import Hard, Learned, Variable
from tests.language.dialects.test_alchemy_family import PEOPLE, World, assert_means, value

DECLARED = "person = {A, B}\nS(person)\nT(person)\nR(person, person)\n"
PREDICATES = {"S": (PEOPLE,), "T": (PEOPLE,), "R": (PEOPLE, PEOPLE)}


def _only_if(world: World, way: Callable[[str], bool]) -> float:
    """The completion of ``S``: each of its atoms holds only in one of the ways."""
    return 0.0 if all(way(x) for x in PEOPLE if world["S", x]) else -math.inf


def _some(holds: Callable[[str], bool]) -> bool:
    return any(holds(y) for y in PEOPLE)


SOFT = "1.2 S(x) :- T(x)"
CLAUSES: dict[str, Callable[[World], float]] = {
    SOFT: lambda w: 1.2 * sum(not w["T", x] or w["S", x] for x in PEOPLE) + _only_if(w, lambda x: w["T", x]),
    "S(x) :- T(x).": lambda w: 0.0 if all(w["S", x] == w["T", x] for x in PEOPLE) else -math.inf,
    "S(x) :- T(x).\n-0.6 S(y) :- R(y, y) ^ !T(y)": lambda w: (
        -0.6 * sum(not (w["R", y, y] and not w["T", y]) or w["S", y] for y in PEOPLE)
        + (0.0 if all(w["S", x] for x in PEOPLE if w["T", x]) else -math.inf)
        + _only_if(w, lambda x: w["T", x] or (w["R", x, x] and not w["T", x]))
    ),
    "0.9 S(x) :- R(x, z) ^ T(z)": lambda w: (
        0.9 * sum(not _some(lambda z, x=x: w["R", x, z] and w["T", z]) or w["S", x] for x in PEOPLE)
        + _only_if(w, lambda x: _some(lambda z: w["R", x, z] and w["T", z]))
    ),
    "0.9 S(x) :- R(x, z),\n !T(z)": lambda w: (
        0.9 * sum(not _some(lambda z, x=x: w["R", x, z] and not w["T", z]) or w["S", x] for x in PEOPLE)
        + _only_if(w, lambda x: _some(lambda z: w["R", x, z] and not w["T", z]))
    ),
    "0.9 S(A) :- T(x)": lambda w: (
        0.9 * (not _some(lambda x: w["T", x]) or w["S", "A"])
        + _only_if(w, lambda x: x == "A" and _some(lambda y: w["T", y]))
    ),
    "0.9 S(A) :- T(B)\n0.4 S(a1) :- R(a1, B)": lambda w: (
        0.9 * (not w["T", "B"] or w["S", "A"])
        + 0.4 * sum(not w["R", x, "B"] or w["S", x] for x in PEOPLE)
        + _only_if(w, lambda x: (x == "A" and w["T", "B"]) or w["R", x, "B"])
    ),
    "0.7 R(x, x) :- T(x)": lambda w: (
        0.7 * sum(not w["T", x] or w["R", x, x] for x in PEOPLE)
        + (0.0 if all(x == y and w["T", x] for x in PEOPLE for y in PEOPLE if w["R", x, y]) else -math.inf)
    ),
    "0.7 R(x, y) :- T(x) ^ x != y\n0.2 R(y, x) :- S(x)": lambda w: (
        0.7 * sum(not (w["T", x] and x != y) or w["R", x, y] for x in PEOPLE for y in PEOPLE)
        + 0.2 * sum(not w["S", x] or w["R", y, x] for x in PEOPLE for y in PEOPLE)
        + (
            0.0
            if all((w["T", x] and x != y) or w["S", y] for x in PEOPLE for y in PEOPLE if w["R", x, y])
            else -math.inf
        )
    ),
}


@pytest.mark.parametrize("clauses", CLAUSES)
def test_a_clause_is_an_implication_and_completes_its_head(clauses: str) -> None:
    weigh = CLAUSES[clauses]
    assert_means(f"{DECLARED}0.5 T(A)\n{clauses}", PREDICATES, lambda w: 0.5 * w["T", "A"] + weigh(w))


FUNCTIONS: dict[str, Callable[[World, dict[str, str]], float]] = {
    "1.1 S(M(x)) :- T(x)": lambda w, m: (
        1.1 * sum(not w["T", x] or w["S", m[x]] for x in PEOPLE)
        + _only_if(w, lambda y: _some(lambda x: m[x] == y and w["T", x]))
    ),
    "1.1 S(x) :- T(M(x))": lambda w, m: (
        1.1 * sum(not w["T", m[x]] or w["S", x] for x in PEOPLE) + _only_if(w, lambda x: w["T", m[x]])
    ),
    "S(x) :- T(M(y)) ^ !T(M(x)).": lambda w, m: (
        0.0
        if all(w["S", x] == (_some(lambda y: w["T", m[y]]) and not w["T", m[x]]) for x in PEOPLE)
        else -math.inf
    ),
}


@pytest.mark.parametrize("clause", FUNCTIONS)
def test_functions_in_heads_and_bodies_stand_for_their_values(clause: str) -> None:
    def weigh(world: World) -> float:
        mother = {x: value(world, "M", x) for x in PEOPLE}
        known = {x: v for x, v in mother.items() if v is not None}
        return FUNCTIONS[clause](world, known) if len(known) == len(PEOPLE) else -math.inf

    text = f"person = {{A, B}}\nS(person)\nT(person)\nperson M(person)\n{clause}"
    assert_means(text, {"S": (PEOPLE,), "T": (PEOPLE,), "M": (PEOPLE, PEOPLE)}, weigh)


def test_a_clause_without_a_weight_is_learned_and_its_completion_hard() -> None:
    clause, completed = read_theory_text(f"{DECLARED}S(x) :- R(+x, y)", "mln").formulas
    assert clause.weight == Learned((Variable("x"),))
    assert completed.weight == Hard()


WRONG = {
    "1 !P(x) :- Q(x)": "1:3: expected a predicate before ':-', found '!'",
    "1 P(x) v R(x) :- Q(x)": "1:8: expected ':-', found 'v'",
    "1 P(x) :- Q(x) v R(x)": "1:11: the body of ':-' is a conjunction of literals",
    "1 P(x) :- EXIST y R(x, y)": "1:11: the body of ':-' is a conjunction of literals",
    "P(a, b!)\n1 P(x, A) :- Q(x)": "2:3: the head of ':-' is one atom of a predicate that is not many-valued",
    "1 P|R(x) :- Q(x)": "1:3: the head of ':-' is one atom of a predicate that is not many-valued",
    "P(x) :- R(x, +y)": "1:14: '+' goes before a free variable",
    "1 P(x) :-": "1:10: expected a formula, found the end of the text",
    "1 P(x) :- Q(x).": "1:15: a formula with a full stop is hard and takes no weight",
    "1 P(x) :- Q(x)\n1 P(x, y) :- R(x, y)": "2:3: 'P' has 1 argument in the head of another clause",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_definite_clause_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(LanguageError) as refused:
        read_theory_text(text, "mln")
    assert WRONG[text] in str(refused.value)
