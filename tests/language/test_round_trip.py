"""Printing and reading are inverse, and one meaning has one text."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings

from herbrand.language.names import number_from, shown_constant
from herbrand.language.parse import parse_formula, parse_literal, parse_probability, parse_theory
from herbrand.language.show import show_formula, show_probability
from herbrand.language.syntax import (
    And,
    Atom,
    Constant,
    FactRows,
    Or,
    Truth,
    ValueIs,
    WeightedFormula,
)
from herbrand.language.theory import Theory, show
from tests.language.theories import constants, formulas, theories
from tests.laws import tries


@settings(max_examples=tries(400), deadline=None)
@given(theories)
def test_a_printed_theory_reads_back(theory: Theory) -> None:
    text = show(theory)
    read = parse_theory(text)
    assert read == theory
    assert hash(read) == hash(theory)
    assert show(read) == text
    assert str(read) == text.removesuffix("\n")


@settings(max_examples=tries(200), deadline=None)
@given(formulas)
def test_a_printed_formula_reads_back(formula) -> None:
    assert parse_formula(show_formula(formula)) == formula
    assert parse_probability(show_probability(formula, formula)) == (formula, formula)
    assert parse_probability(f"P({show_probability(formula)})") == (formula, None)


@settings(max_examples=tries(200), deadline=None)
@given(constants)
@example(Constant(float(2**63)))
@example(Constant(-float(2**63)))
@example(Constant(-0.0))
def test_a_constant_is_written_in_one_way(constant: Constant) -> None:
    text = shown_constant(constant.value)
    if isinstance(constant.value, str):
        assert parse_literal(f"p({text})").row(0) == (constant.value,)
    else:
        assert number_from(text) == constant.value
        assert shown_constant(number_from(text)) == text


def test_equal_numbers_are_one_constant_and_text_is_another() -> None:
    assert parse_theory("p(1)") == parse_theory("p(1.0)") == parse_theory("p(10e-1)")
    assert (
        show(parse_theory("p(1.0)\np(2.50)\np(1e20)\np(-0.0)\np(007)"))
        == "p(1)\np(2.5)\np(1e+20)\np(0)\np(7)\n"
    )
    assert parse_theory("p(1)") != parse_theory('p("1")')


def test_facts_that_no_other_statement_parts_are_gathered_by_predicate() -> None:
    mixed = "p(1)\nq(1)\np(2)\n1.0: r\np(3)\n"
    assert show(parse_theory(mixed)) == "p(1)\np(2)\nq(1)\n1.0: r\np(3)\n"
    cut = Theory(tuple(FactRows("p", ((value,),), 1) for value in (1, 2, 3)))
    assert cut == parse_theory("p(1)\np(2)\np(3)")
    assert hash(cut) == hash(parse_theory("p(1)\np(2)\np(3)"))


@pytest.mark.parametrize("fact", ['not `min`(7, "a") = 2', '`max`(7) = "a" ~ 0.3', '[x] `abs`("a") != "b"'])
def test_a_value_of_what_is_called_as_a_function_of_numbers(fact: str) -> None:
    assert parse_theory(show(parse_theory(fact))) == parse_theory(fact)


@pytest.mark.parametrize(
    ("fact", "plain"), [('m != "a"', 'not m = "a"'), ('area(1) != "a"', 'not area(1) = "a"')]
)
def test_a_value_that_an_atom_does_not_have_is_a_false_fact(fact: str, plain: str) -> None:
    assert parse_theory(fact) == parse_theory(plain)
    assert parse_literal(fact) == parse_literal(plain)


def test_every_row_knows_its_place() -> None:
    theory = parse_theory("p(1)\n  q(1) # note\n\np(2)\n[third] p(3)")
    lines = {
        (rows.predicate, *rows.row(index)): rows.row_span(index).line
        for rows in theory.facts
        for index in range(rows.row_count)
    }
    assert lines == {("p", 1): 1, ("q", 1): 2, ("p", 2): 4, ("p", 3): 5}


def test_a_many_valued_name_is_an_atom_wherever_it_is_declared() -> None:
    season = Atom("season")
    use = '1.0: season = "winter" => not season != x'
    known = parse_theory('predicate season in {"winter"}\n' + use).formulas[0].formula
    assert known.premise == ValueIs(season, Constant("winter"))
    assert (parse_theory(use) + parse_theory('predicate season in {"winter"}')).formulas[0].formula == known
    assert parse_formula('season = "winter"', valued=["season"]) == known.premise


def test_connectives_built_with_fewer_than_two_operands_are_shown_as_what_they_mean() -> None:
    assert show_formula(And(())) == "true"
    assert show_formula(Or((And((Atom("a"),)), Truth(False)))) == "a or false"
    assert show_formula(Or(())) == "false"


def test_fact_rows_check_themselves() -> None:
    with pytest.raises(AssertionError):
        FactRows("p", (("a", "b"),), 1)
    with pytest.raises(AssertionError):
        FactRows("p", (("a",),), 1, "soft")


def test_spans_do_not_take_part_in_equality() -> None:
    assert parse_theory("1: p(x)\n") == parse_theory("\n\n  1.0:   p( x )  # so\n")
    assert parse_theory("1: p(x)").formulas[0].formula.span.text == "p(x)"
    assert (
        parse_theory("0: a\n\n1: q and p( x , y )").formulas[1].formula.operands[1].span.text == "p( x , y )"
    )
    assert isinstance(parse_theory("1: a").statements[0], WeightedFormula)


@pytest.mark.parametrize(
    "text",
    [
        "later(x, d + 7) :- due(x, d)",
        "a(x, y * 2) :- b(x + 1, y), c(y * 2) @ 0.5",
        "a(x) :- not b(x + 1), c(x), x < 3",
        '0.2 :: c(x + 1) = "r"; p :: d((x - 1) * 2) :- e(x, p)',
        "a(x) :- b(x, count(y: c(y, x)))",
        "a(z) :- b(x), z = x + 1",
        "a(`x + 1`) :- `x + 1` = x + 1, b(x)",
        "a(`x + 1`) :- b(x), `x + 1` = x + 1, `x + 1` > 3",
        "a(`x - 1`, `x + 1`) :- b(x), `x + 1` = x + 1, `x - 1` = x - 1",
    ],
)
def test_computed_arguments_of_rules_are_shown_where_they_were_written(text: str) -> None:
    """They are equations behind the body by then, and stay these where they would read back otherwise."""
    assert show(parse_theory(text)) == f"{text}\n"


def test_computed_arguments_of_random_rules_read_back() -> None:
    chance = random.Random(1)

    def value(depth: int) -> str:
        if depth == 2 or chance.random() < 0.5:
            return chance.choice(["x", "y", "`x + 1`", "2"])
        return f"({value(depth + 1)} {chance.choice('+-*')} {value(depth + 1)})"

    def atom() -> str:
        return f"{chance.choice('abc')}({value(0)}, {value(1)})"

    for _ in range(tries(300)):
        body = ", ".join(chance.choice(["", "", "not "]) + atom() for _ in range(chance.randint(1, 3)))
        rule = f"{atom()} :- {body}, {value(0)} = {value(0)}"
        theory = parse_theory(rule if chance.random() < 0.5 else f"0.3 :: {rule}")
        assert parse_theory(show(theory)) == theory, rule
