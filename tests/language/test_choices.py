"""Statements with ``::``: what they are made of, and who can use them."""

from __future__ import annotations

import pytest

import herbrand as hb
from herbrand.language.check import check
from herbrand.language.parse import parse_theory
from herbrand.language.syntax import Alternative, Atom, Choice, Constant, Learned, Not, ValueIs, Variable
from herbrand.language.theory import show

X, P = Variable("x"), Variable("p")

STATEMENTS = {
    "0.3 :: rain": Choice((Alternative(0.3, Atom("rain")),)),
    "0.4 :: heads(x); 0.5 :: tails(x) :- coin(x), not rain": Choice(
        (Alternative(0.4, Atom("heads", (X,))), Alternative(0.5, Atom("tails", (X,)))),
        (Atom("coin", (X,)), Not(Atom("rain"))),
    ),
    '0.2 :: colour(x) = "red"; 0.8 :: colour(x) = "blue" :- coin(x)': Choice(
        (
            Alternative(0.2, ValueIs(Atom("colour", (X,)), Constant("red"))),
            Alternative(0.8, ValueIs(Atom("colour", (X,)), Constant("blue"))),
        ),
        (Atom("coin", (X,)),),
    ),
    '1.0 :: weather = "sun"': Choice((Alternative(1.0, ValueIs(Atom("weather"), Constant("sun"))),)),
    "p :: heads(x) :- road(x, p)": Choice((Alternative(P, Atom("heads", (X,))),), (Atom("road", (X, P)),)),
    "? :: cough": Choice((Alternative(Learned(), Atom("cough")),)),
    "?[x] :: cough :- coin(x)": Choice((Alternative(Learned((X,)), Atom("cough")),), (Atom("coin", (X,)),)),
}


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_is_read_and_shown(text: str) -> None:
    theory = parse_theory(text)
    assert theory.statements == theory.choices == (STATEMENTS[text],)
    assert show(theory) == text + "\n"


def test_heads_are_derived_as_those_of_rules_are() -> None:
    theory = parse_theory("0.3 :: a; 0.2 :: b\nc :- a\n0.1 :: c")
    assert list(theory.derived) == ["a", "b", "c"]


def test_rounded_thirds_and_tenths_are_no_more_than_1() -> None:
    assert len(parse_theory("; ".join(f"0.1 :: a{i}" for i in range(10))).choices[0].alternatives) == 10
    with pytest.raises(hb.HerbrandError, match=r"add up to 1.00001"):
        Choice((Alternative(0.5, Atom("a")), Alternative(0.50001, Atom("b"))))
    with pytest.raises(hb.HerbrandError, match="is not a probability"):
        Alternative(1.5, Atom("a"))


@pytest.mark.parametrize(
    "text",
    [
        "0.3 :: a(x) :- b(y), x = y",
        "0.3 :: a(x) :- b(y), x = z, z = y",
        '0.3 :: a(x) :- x = "c"\na("d")',
        "0.3 :: a :- b(_), not c(y)",
        "p :: a :- b(p)\nb(0.5)",
    ],
)
def test_bound_variables_are_accepted(text: str) -> None:
    check(parse_theory(text))


CALLS = {
    "bound": lambda model: model.bound("P(rain)"),
    "learn": lambda model: model.learn(),
}


@pytest.mark.parametrize("command", CALLS)
def test_commands_that_cannot_use_choices_name_one(command: str) -> None:
    with pytest.raises(hb.HerbrandError, match=rf"{command} cannot use this statement: 0.3 :: rain"):
        CALLS[command](hb.Model(hb.parse("0.3 :: rain")))


def test_a_layer_refuses_choices() -> None:
    with pytest.raises(
        hb.HerbrandError, match=r"a logic layer cannot use this statement: 0.3 :: rain"
    ) as told:
        hb.nn.LogicLayer(hb.Model(hb.parse("0.3 :: rain\n1.5: rain")))
    assert told.value.mistakes[0].hint == "a query layer with algebra='probability' takes choices"


def test_choices_cannot_be_ignored() -> None:
    with pytest.raises(hb.HerbrandError, match="cannot ignore 'choices'"):
        hb.Model(hb.parse("0.3 :: rain"), ignore=["choices"])
