"""A constant that no table and no declaration has is told alike by everything that takes constants."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import herbrand as hb
from herbrand.errors import HerbrandError, LanguageError
from herbrand.facts.domain import MOST_COMPARED, Domain, absence, indices_in

PEOPLE = Domain.of("person", ["anna", "bob"])
FACTS = {"parent": [("anna", "bob"), ("bob", "anna")]}


def formula() -> hb.Model:
    return hb.Model(hb.parse("predicate parent(person, person): observed\npredicate smokes(person)\n"), FACTS)


def rule() -> hb.Model:
    return hb.Model(hb.parse("child(x, y) :- parent(y, x)"), FACTS)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: formula().infer(query='smokes("ana")'),
        lambda: formula().infer(query='smokes("bob") and not smokes("ana")'),
        lambda: formula().explain('smokes("ana")'),
        lambda: rule().query('child("ana", y)'),
        lambda: rule().query("child(x, y)", bindings={"x": ["bob", "ana"]}),
        lambda: hb.nn.QueryLayer(rule(), "child(x, y)")(["bob", "ana"]),
    ],
    ids=["atom", "formula", "explain", "goal", "bindings", "layer"],
)
def test_whoever_is_asked(ask: Callable[[], object]) -> None:
    with pytest.raises(HerbrandError) as caught:
        ask()
    told = str(caught.value)
    assert '"ana" is no constant of type ' in told
    assert told.endswith("did you mean 'anna'?")


def test_the_first_of_several_is_told() -> None:
    with pytest.raises(LanguageError, match=r'^"zoe" is no constant of type person$'):
        indices_in(PEOPLE, ["anna", "zoe", "ana"])


def test_a_number_among_texts_is_none() -> None:
    with pytest.raises(LanguageError, match=r"^7 is no constant of type person$"):
        indices_in(PEOPLE, ["anna", 7])


def test_nothing_is_asked() -> None:
    assert indices_in(PEOPLE, []).tolist() == []


def test_a_type_without_constants_says_so() -> None:
    assert str(absence("anna", Domain.of("person", []))).endswith("type person has no constants at all")


def test_among_very_many_the_nearest_is_not_looked_for() -> None:
    many = Domain.of("person", [f"p{number:07}" for number in range(MOST_COMPARED + 1)])
    assert absence("p000000", many).hint == ""
    assert absence("ann", PEOPLE).hint == "did you mean 'anna'?"
