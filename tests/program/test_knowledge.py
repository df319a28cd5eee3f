"""A theory and its facts, as each call needs them."""

from __future__ import annotations

import pytest

import herbrand as hb
from herbrand.errors import HerbrandError, UnsupportedError
from herbrand.language.parse import parse_theory
from herbrand.program.knowledge import Knowledge

MIXED = """
type person = {"anna", "bob", "carl"}
predicate friends(person, person): observed
predicate smokes(person)
predicate near(person, person)
1.5: smokes(x) and friends(x, y) => smokes(y)
P(smokes("anna")) in [0.1, 0.3]
near(x, y) :- friends(x, y)
near(x, y) :- friends(x, z), near(z, y)
"""
FRIENDS = {"friends": [("anna", "bob"), ("bob", "carl")]}


def knowledge(**options: object) -> Knowledge:
    return Knowledge(parse_theory(MIXED), FRIENDS, **options)  # type: ignore[arg-type]


def world(known: Knowledge, predicate: str, **asked: object) -> str:
    return known.program(**asked).facts.tables[predicate].world  # type: ignore[arg-type]


def test_rules_derive_what_follows_unless_they_are_ignored_or_left_out() -> None:
    known = knowledge()
    assert len(known.program().facts.tables["near"].true) == 3
    assert not len(known.program(derived=False).facts.tables["near"].true)
    assert not len(known.facts()[1].tables["near"].true), "facts are told before rules derive more"
    ignoring = knowledge(ignored="rules")
    assert not len(ignoring.rules) and not len(ignoring.program().facts.tables["near"].true)


def test_a_program_is_lowered_once_for_what_is_given() -> None:
    known = knowledge()
    assert known.program() is known.program()
    helped = known.program(['smokes("bob")'])
    assert helped is known.program(['smokes("bob")']) and helped is not known.program()
    assert len(helped.facts.tables["smokes"].true) == 1
    assert not len(known.program().facts.tables["smokes"].true), (
        "what was given in one call is gone in the next"
    )


def test_sources_are_read_when_they_are_needed() -> None:
    known = Knowledge(parse_theory(MIXED), {"friends": [("anna",)]})
    with pytest.raises(HerbrandError, match="friends"):
        known.program()


def test_given_facts_join_the_vocabulary_of_one_call() -> None:
    known = Knowledge(parse_theory("1.0: p(x) and q(x)"), {"q": [("a",)]})
    signature, facts = known.facts(['r("b")'])
    assert "r" in signature.predicates and "r" not in known.signature.predicates
    assert len(facts.tables["r"].true) == 1


def test_what_is_given_closes_no_world() -> None:
    undeclared = Knowledge(parse_theory("1.0: p(x) => q(x)"), {"q": [("a",), ("b",)]})
    assert world(undeclared, "p") == "open"
    assert world(undeclared, "p", given=['p("a")']) == "open", "the others are still asked for"
    assert world(undeclared, "q", given=['q("a")']) == "closed", "a table of facts did close it"


def test_what_is_given_leaves_queried_predicates_open() -> None:
    """Also those with facts and an opinion, for which it was an error beside new constants."""
    model = hb.Model(hb.parse('not smokes("anna")\nsmokes("bob") ~ 0.8\n0.3: cancer(x) => smokes(x)'))
    for given in ('cancer("zed")', 'smokes("zed")', 'cancer("bob")'):
        assert 0 < model.infer("smokes", given=given)['smokes("bob")'] < 1


def test_open_facts_leave_every_atom_that_no_table_lists_unknown() -> None:
    known = knowledge()
    signature, facts = known.open_facts()
    assert {facts.tables[name].world for name in facts.tables} == {"open"}
    assert set(signature.predicates) == {"friends", "smokes", "near"}
    assert world(known, "friends") == "closed"


@pytest.mark.parametrize(
    ("ignored", "states"),
    [
        ((), {"weights", "bounds", "rules"}),
        ("bounds", {"weights", "rules"}),
        (("weights", "rules"), {"bounds"}),
        (("weights", "bounds", "rules"), set()),
    ],
)
def test_it_states_what_is_not_ignored(ignored: object, states: set[str]) -> None:
    known = knowledge(ignored=ignored)
    assert {kind for kind in ("weights", "bounds", "rules") if known.states(kind)} == states
    assert known.states("weights", "bounds") == bool(states & {"weights", "bounds"})
    assert knowledge().theory == known.theory, "the theory itself stays whole"


def test_every_kind_that_a_command_cannot_use_is_told_at_once() -> None:
    with pytest.raises(UnsupportedError) as told:
        knowledge().refuse_unusable("score", "rules")
    text = str(told.value)
    assert "score cannot use this statement: 1.5: smokes(x) and friends(x, y) => smokes(y)" in text
    assert 'score cannot use this statement: P(smokes("anna")) in [0.1, 0.3]' in text
    assert "--ignore weights" in text and "--ignore bounds" in text
    knowledge(ignored=("weights", "bounds")).refuse_unusable("score", "rules")
    knowledge().refuse_unusable("any", "weights", "bounds", "rules")


def test_one_statement_stands_for_the_others_of_its_kind() -> None:
    many = Knowledge(parse_theory("\n".join(f"P(a{i}) in [0.1, 0.2]" for i in range(5))))
    with pytest.raises(UnsupportedError, match=r"\(and 4 more of its kind\)"):
        many.refuse_unusable("infer", "weights")


def test_an_unknown_kind_is_no_kind() -> None:
    with pytest.raises(UnsupportedError, match="cannot ignore 'facts'") as told:
        knowledge(ignored=("weights", "facts"))
    assert "one of weights, bounds, rules" in str(told.value)
