"""Cases exclude each other and add up to the formula: against truth tables, quantifiers taken as leaves."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from herbrand.errors import UnsupportedError
from herbrand.language import syntax as s
from herbrand.language.parse import parse_formula
from herbrand.program import normal_form
from herbrand.program.normal_form import Case, cases, plain, shorter_cases, simplified
from tests.laws import tries

laws = settings(phases=[Phase.explicit, Phase.reuse, Phase.generate], max_examples=tries(80))
LEAVES = [
    *(s.Atom(name, (s.Variable("x"),)) for name in "pqr"),
    s.Atom("rain"),
    s.Comparison("=", s.Variable("x"), s.Variable("y")),
    s.Comparison("!=", s.Variable("y"), s.Variable("x")),
    s.Comparison("=", s.Variable("x"), s.Variable("x")),
    s.Comparison("!=", s.Constant(1), s.Constant("1")),
    s.Truth(True),
    s.Truth(False),
]
formulas = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        inner.map(s.Not),
        st.lists(inner, min_size=1, max_size=4).map(tuple).map(s.And),
        st.lists(inner, min_size=1, max_size=4).map(tuple).map(s.Or),
        st.lists(inner, min_size=1, max_size=4).map(tuple).map(s.Xor),
        st.builds(s.Implies, inner, inner),
        st.builds(s.Iff, inner, inner),
    ),
    max_leaves=10,
)
EQUAL = s.Comparison("=", s.Variable("x"), s.Variable("y"))
ASSIGNMENTS = [
    dict(zip("pqrnE", values, strict=True)) for values in itertools.product((False, True), repeat=5)
]


def truth(formula: s.Formula, world: dict[str, bool]) -> bool:
    match formula:
        case s.Truth(value=value):
            return value
        case s.Atom(predicate="rain"):
            return world["n"]
        case s.Atom(predicate=name):
            return world[name]
        case s.Comparison(operator=operator, left=left, right=right):
            same = left == right or ({left, right} == {s.Variable("x"), s.Variable("y")} and world["E"])
            return same == (operator == "=")
        case s.Not(operand=operand):
            return not truth(operand, world)
        case s.And(operands=operands):
            return all(truth(part, world) for part in operands)
        case s.Or(operands=operands):
            return any(truth(part, world) for part in operands)
        case s.Xor(operands=operands):
            return sum(truth(part, world) for part in operands) % 2 == 1
        case s.Implies(premise=a, conclusion=b):
            return truth(b, world) or not truth(a, world)
        case s.Iff(left=a, right=b):
            return truth(a, world) == truth(b, world)
    raise AssertionError(formula)


def holding(found: list[Case], world: dict[str, bool]) -> int:
    return sum(all(truth(leaf, world) == value for leaf, value in case) for case in found)


@laws
@given(formulas, st.booleans())
def test_exactly_one_case_holds_where_the_formula_does(formula: s.Formula, wanted: bool) -> None:
    found = cases(formula, wanted)
    for world in ASSIGNMENTS:
        assert holding(found, world) == (truth(formula, world) == wanted)


@laws
@given(formulas)
def test_the_shorter_of_both(formula: s.Formula) -> None:
    found, holds = shorter_cases(formula)
    true, false = cases(formula, True), cases(formula, False)
    assert found == (true if holds else false)
    assert len(found) <= max(1, min(len(true), len(false)))


@laws
@given(formulas)
def test_plain_and_simplified_say_the_same(formula: s.Formula) -> None:
    spelled = plain(formula)
    kinds = {type(part) for part in s.walk(spelled)}
    assert not kinds & {s.Implies, s.Iff, s.Forall}
    assert not [p for p in s.walk(spelled) if isinstance(p, s.Comparison) and p.operator != "="]
    short = simplified(spelled)
    for world in ASSIGNMENTS:
        assert truth(spelled, world) == truth(short, world) == truth(formula, world)
    assert simplified(short) == short
    assert short == s.Truth(short.value if isinstance(short, s.Truth) else True) or not any(
        isinstance(part, s.Truth) for part in s.walk(short)
    )


def shown(found: list[Case]) -> list[list[str]]:
    from herbrand.language.show import show_formula

    return [[("" if holds else "not ") + show_formula(leaf) for leaf, holds in case] for case in found]


TRUE_CASES = {
    "true": [[]],
    "false": [],
    "p or not p": [[]],
    "p xor p": [],
    "p and not p": [],
    "p": [["p"]],
    "not not p": [["p"]],
    "p or q": [["p"], ["not p", "q"]],
    "p => p": [[]],
    "(p and q) or (not p and q)": [["q"]],
    "exists x: r(x)": [["exists x: r(x)"]],
    "forall x: r(x)": [["not exists x: not r(x)"]],
    "exists x: p and r(x)": [["p", "exists x: r(x)"]],
    "exists x: p": [["p", "exists x: true"]],
    "not (exists x: false)": [[]],
    "exists x: r(x) and (exists y: s(y) and p)": [["p", "exists x: r(x) and (exists y: s(y))"]],
}


@pytest.mark.parametrize("text", TRUE_CASES)
def test_cases_of_small_formulas(text: str) -> None:
    assert shown(cases(parse_formula(text), True)) == TRUE_CASES[text]


def test_too_many_cases_are_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(normal_form, "MOST_CASES", 50)
    clauses = "(p or q or r) and (s or t or u) and (v or w or x) and (a or b or c)"
    with pytest.raises(UnsupportedError) as caught:
        cases(parse_formula(clauses), True)
    assert str(caught.value) == (
        f"<query>:1:2: the formula falls into more than 50 cases\n  {clauses}\n"
        f"   {'^' * (len(clauses) - 2)}\n"
        "  name its parts by predicates of their own, tied by 'hard: part(x) <=> ...'"
    )
    assert len(cases(parse_formula(clauses), False)) == 40
    assert len(cases(parse_formula(clauses[:49]), True)) == 27


@pytest.mark.parametrize(("connective", "wanted"), [(" or ", False), (" and ", True)])
def test_long_formulas(connective: str, wanted: bool) -> None:
    """A disjunction of thousands is false in one way, a conjunction true in one."""
    (case,) = cases(parse_formula(connective.join(f"p{i}" for i in range(2000))), wanted)
    assert len(case) == 2000 and {holds for _, holds in case} == {wanted}


@pytest.mark.parametrize(("word", "holds"), [("and", True), ("or", False)])
def test_a_row_longer_than_the_most_cases_is_one_case(word: str, holds: bool) -> None:
    formula = parse_formula(f" {word} ".join(f"a{number}" for number in range(normal_form.MOST_CASES + 5)))
    ((found,), side) = shorter_cases(formula)
    assert side == holds and len(found) == normal_form.MOST_CASES + 5
