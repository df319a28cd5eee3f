"""What may be asked of bounds: texts and their groundings, and plain words for what cannot be asked."""

from __future__ import annotations

from typing import Any

import pytest

import herbrand as hb
from herbrand.budget import Budget
from herbrand.engines.credal.bounding import bound_settings, queried_predicates
from herbrand.engines.credal.lowering import Lowering
from herbrand.engines.credal.question import (
    BoundQuery,
    BoundQuestion,
    BoundSettings,
    cannot_be_given,
    read_bound_question,
)
from herbrand.engines.credal.shape import FALSE, TRUE, GroundFormula
from herbrand.errors import FactsError, HerbrandError, LanguageError, UnsupportedError

THEORY = """
type p = {"a", "b"}
predicate s(p)
predicate t(p)
predicate rain
predicate f(p, p): observed
predicate colour(p) in {"red", "blue"}: observed
f("a", "b")
colour("a") = "red"
colour("b") = "blue"
P(s(x) | t(x)) in [0.2, 0.4]
P(t(x)) >= 0.3
"""


def read(*texts: str) -> list[BoundQuery]:
    return list(read_bound_question(texts, Lowering.over(hb.Model(hb.parse(THEORY)).program)).queries)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rain", ["rain"]),
        ("P(rain)", ["rain"]),
        ("s", ['s("a")', 's("b")']),
        ("P(s)", ['s("a")', 's("b")']),
        ("s(x)", ['s("a")', 's("b")']),
        ('s("b")', ['s("b")']),
        ("P(s(x) | t(y))", [f's("{x}") | t("{y}")' for x in "ab" for y in "ab"]),
        ("P(s(x) | t(x))", ['s("a") | t("a")', 's("b") | t("b")']),
        ("P(s(x) | f(x, y))", ['s("a") | f("a", "b")']),
        ("P(s(x) and s(y) | f(x, y))", ['s("a") and s("b") | f("a", "b")']),
        ('P(s(x) | colour(x) = "red")', ['s("a") | colour("a") = "red"']),
        ('P(colour(x) = "red" and s(x))', [f'colour("{x}") = "red" and s("{x}")' for x in "ab"]),
        ("P(s(x) | x != y and t(y))", ['s("a") | "a" != "b" and t("b")', 's("b") | "b" != "a" and t("a")']),
        ("P(exists x: s(x))", ["exists x: s(x)"]),
        ("P(exists x: s(x) | t(y))", ['exists x: s(x) | t("a")', 'exists x: s(x) | t("b")']),
        ("P(not rain)", ["not rain"]),
        ("P(true)", ["true"]),
    ],
)
def test_a_text_stands_for_every_grounding(text: str, said: list[str]) -> None:
    assert [query.text for query in read(text)] == said


def test_what_observed_facts_settle_is_settled_in_the_query() -> None:
    sure, never, open_one = read('f("a", "b")', 'f("b", "a")', 'P(s("a") | f("a", "b"))')
    assert (sure.event.shape, never.event.shape) == (TRUE, FALSE)
    assert open_one.given is None and open_one.event.atoms == (0,)
    (both,) = read('P(s("a") and colour("a") = "blue")')
    assert both.event.shape == FALSE
    found = hb.Model(hb.parse(THEORY)).bound(['f("a", "b")', 'f("b", "a")', 'colour("a") = "red"'])
    assert found.lower.tolist() == found.upper.tolist() == [1.0, 0.0, 1.0]


def test_several_texts_are_one_question_in_their_order() -> None:
    assert [query.text for query in read("rain", "s", "rain")] == ["rain", 's("a")', 's("b")', "rain"]
    assert BoundQuestion().everything and read() == []
    assert not BoundQuestion((BoundQuery("rain", GroundFormula(0, (4,))),)).everything


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no query"),
        ("P(", "the query ends too early; expected a formula"),
        ("P()", "unexpected ')'; expected a formula"),
        ("P(s(x)", "the query ends too early; expected ')' or '|'"),
        ('P(s("a") | )', "unexpected ')'; expected a formula"),
        ('P(| s("a"))', "'|' means 'given' and stands once, inside P( | ); an alternative is written 'or'"),
        ('P(s("a") | rain | rain)', "'|' means 'given' and stands once, inside P( | )"),
        ("rian", "there is no predicate 'rian'\n  rian\n  ^^^^\n  did you mean 'rain'?"),
        ("s(x, y)", "s takes 1 argument, not 2"),
        ('P(rain("a"))', "rain takes no arguments, not 1"),
        ('s("z")', '"z" is not a p\n  s("z")\n    ^^^\n  expected "a" or "b"'),
        ("P(s(1))", '1 is not a p\n  P(s(1))\n      ^\n  expected "a" or "b"'),
        ('P(s(x) and x = "zz")', '"zz" is not a p'),
        ("P(s(x)) <= 0.5", "a query asks for the bounds: P( ) stands without them"),
        ("0.5: s(x)", "a query that stands by itself has no weight"),
        ("P(x = y)", "nothing says what x ranges over: it occurs in no atom"),
        ("P(s(x) = 1)", "s is true or false and has no other value"),
        ("P(P(rain))", "P( ) stands alone, with its bound behind it"),
        ("P(s('a'))", "constants stand in double quotes"),
        ("P(rain) and P(rain)", "unexpected 'and'; expected the end of the query"),
    ],
)
def test_what_cannot_be_asked_is_told_where_it_stands(text: str, told: str) -> None:
    with pytest.raises(LanguageError) as raised:
        hb.Model(hb.parse(THEORY)).bound(text)
    assert str(raised.value).startswith("<query>:1:") and told in str(raised.value)


@pytest.mark.parametrize("condition", ['f("b", "a")', 'colour("a") = "blue"', "f(x, x)"])
def test_a_condition_that_observed_facts_refute_is_no_question(condition: str) -> None:
    with pytest.raises(UnsupportedError, match="is false by the observed facts"):
        read(f'P(s("a") | {condition})')


def test_a_question_of_a_type_without_constants_is_refused_as_such() -> None:
    """It was refused as given what is false, where nothing was given."""
    with pytest.raises(UnsupportedError, match="'a\\(x\\)' has no instance"):
        hb.Model(hb.parse('P(a(x)) >= 0.7\nperson("u")')).bound("a(x)")


@pytest.mark.parametrize("condition", ["false", '"a" = "b"'])
def test_a_condition_that_is_false_in_itself_is_no_question_either(condition: str) -> None:
    with pytest.raises(UnsupportedError, match=r"is false$"):
        read(f'P(s("a") | {condition})')


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("P(a) in [0.5, 0.2]", "the lower bound 0.5 is above the upper bound 0.2"),
        (
            "P(a) >= 1.2",
            "1.2 is not a probability\n  P(a) >= 1.2\n          ^^^\n  expected a number from 0 to 1",
        ),
        ("P(a) <= -0.1", "-0.1 is not a probability"),
        ("P(a) in [0.1]", "an interval has two ends: [lower, upper]"),
        ("P(a) in (0.1, 0.3)", "an interval is written [lower, upper]"),
        ("P(a) in [0.1, 0.3", "this '[' is never closed"),
        ("P(a) in [0.1, 1e400]", "the number 1e400 is too large"),
        ("P(a) < 0.5", "a bound is written with <=, >=, = or 'in [lower, upper]'"),
        ("P(a) ~ 0.5", "a bound is written with <=, >=, = or 'in [lower, upper]'"),
        ("P(a) <= 50%", "write 0.7 for 70 %"),
        ("P(a | b | c) <= 1", "'|' means 'given' and stands once, inside P( | )"),
        ("P(a b) <= 0.5", "two formulas need a connective between them"),
        ("P(a) <= 0.5 independet", "did you mean 'independent'?"),
        ("P(x = y) <= 0.5", "nothing says what x ranges over: it occurs in no atom"),
        (
            "P(a) >= 0.2 and P(b) >= 0.1",
            "unexpected 'and'; expected 'independent' or the end of the statement",
        ),
        ("p(a) <= 0.5", "a probability bound is written P(...) = 0.5"),
        ("0.2 <= P(a) <= 0.3", "P( ) stands alone, with its bound behind it"),
    ],
)
def test_what_is_no_bound_is_told_where_it_stands(statement: str, told: str) -> None:
    with pytest.raises(LanguageError) as raised:
        hb.Model(hb.parse(f"P(z) <= 0.5\n{statement}"))
    assert str(raised.value).startswith("<text>:2:") and told in str(raised.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"tolerance": -1}, "--tolerance is a number from 0 up to, not including, 1, not -1"),
        ({"tolerance": "x"}, "--tolerance is a number from 0 up to, not including, 1, not 'x'"),
        ({"iterations": 0}, "--iterations is a whole number from 1 on, not 0"),
        ({"iterations": 1.5}, "--iterations is a whole number from 1 on, not 1.5"),
        ({"memory": "lots"}, "'lots' is not an amount of memory\n  such as 500MB, 4GB or 50%"),
        ({"time_limit": "1"}, "--time-limit is a number from 0 on, not '1'"),
        ({"seed": "a"}, "--seed is a whole number from 0 on, not 'a'"),
        ({"engine": "bp"}, "there is no engine 'bp' for bound\n  engines: auto, exact, ariel"),
        ({"independence": True}, "there is no independence 'True'\n  one of markov, none"),
        ({"given": 5}, "expected a text, or a list of texts, not 5"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], told: str) -> None:
    with pytest.raises(HerbrandError) as raised:
        hb.Model(hb.parse(THEORY)).bound("rain", **options)
    assert str(raised.value) == told


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("s(x)", "a fact holds constants only, and x is a variable"),
        ("rian", "did you mean 'rain'?"),
        ("P(rain)", "P( ) is a query of bound"),
        ('s("a") and rain', "this is a formula, not a fact"),
        ("rain or rain", "evidence is a fact, such as smokes"),
    ],
)
def test_evidence_that_is_no_fact(given: str, told: str) -> None:
    with pytest.raises(LanguageError) as raised:
        hb.Model(hb.parse(THEORY)).bound("rain", given=given)
    assert str(raised.value).startswith("<given>:1:") and told in str(raised.value)


def test_evidence_that_contradicts_itself() -> None:
    with pytest.raises(FactsError, match="rain is false, but <given>:1:1 says that it is true"):
        hb.Model(hb.parse(THEORY)).bound("rain", given=["rain", "not rain"])


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_certain_answers(engine: str) -> None:
    """Whatever is given, it holds; what contradicts it does not."""
    model = hb.Model(hb.parse(THEORY))
    for query, value in (
        ("P(rain | rain)", 1.0),
        ("P(rain | not rain)", 0.0),
        ("P(rain and not rain | rain)", 0.0),
        ("P(rain or not rain | rain)", 1.0),
        ("P(true | rain)", 1.0),
        ('P(s("a") | s("a") and t("b"))', 1.0),
        ('P(s("a") or t("b") | t("b"))', 1.0),
    ):
        (row,) = model.bound(query, engine=engine).rows()
        assert (row.lower, row.upper) == pytest.approx((value, value), abs=1e-6), query


def test_the_predicates_that_queries_ask_for_outright() -> None:
    """They are open unless declared, so that facts of theirs are evidence."""
    signature = hb.Model(hb.parse(THEORY)).program.signature
    asked = queried_predicates(
        ["s", "P(rain)", "P(t(x) | f(x, y))", "P(s(x) or rain)", "P(not t(x))"], signature
    )
    assert asked == {"s", "rain", "t"}
    free = hb.Model(hb.parse('P(s(x)) in [0.2, 0.5]\ns("a")\nP(s("b")) >= 0.3'))
    found = free.bound("s", engine="exact")
    assert [(row.query, row.lower, row.upper) for row in found.rows()] == [
        ('s("a")', pytest.approx(1.0), pytest.approx(1.0)),
        ('s("b")', pytest.approx(0.3), pytest.approx(0.5)),
    ]


def test_settings_are_those_named_and_defaults_for_the_rest() -> None:
    assert bound_settings({}) == BoundSettings()
    found = bound_settings({"memory": "2MB", "time_limit": 3, "seed": 7, "tolerance": None, "mode": "paper"})
    assert found == BoundSettings(budget=Budget(2 << 20, 3), seed=7, mode="paper")
    with pytest.raises(UnsupportedError) as raised:
        bound_settings({"seconds": 3})
    assert str(raised.value).startswith("bound has no option 'seconds'")


def test_the_error_for_what_cannot_be_given_names_it() -> None:
    sprinkled = GroundFormula(0, (0,))
    for text, given, facts, what in (
        ('s("a")', None, True, "the facts"),
        ('s("a") | rain', sprinkled, False, "what is given"),
        ('s("a") | rain', sprinkled, True, "what is given and the facts"),
    ):
        told = str(cannot_be_given(BoundQuery(text, sprinkled, given), facts))
        assert told.splitlines() == [
            f"the upper probability of {what} in P({text}) is 0, so it cannot be given",
            "  look at it as a query of its own",
        ]


def test_a_bound_that_facts_refute_says_how_facts_become_evidence() -> None:
    """A predicate with facts that nobody declared has a closed world: a bound on it says nothing new."""
    with pytest.raises(HerbrandError) as raised:
        hb.Model(hb.parse("wet\nP(wet) in [0.1, 0.2]\nP(cold | wet) <= 0.4")).bound("cold")
    assert "the observed facts determine the formula of this bound, and contradict it" in str(raised.value)
    assert "what is to be open is declared without 'observed'; its facts are evidence then" in str(
        raised.value
    )
    open_one = hb.Model(
        hb.parse("predicate wet\npredicate cold\nwet\nP(wet) in [0.1, 0.2]\nP(cold | wet) <= 0.4")
    )
    assert open_one.bound("cold", engine="exact").upper[0] == pytest.approx(0.4)


STEPS = """
type n = 1..4
predicate s(n)
P(s(1)) in [0.2, 0.4]
P(s(x + 1) | s(x) and x != 4) in [0.5, 0.6]
P(s(x + 1) | not s(x) and x != 4) in [0.1, 0.3]
"""


@pytest.mark.parametrize("engine", ["exact", "ariel"])
@pytest.mark.parametrize("independence", ["markov", "none"])
@pytest.mark.parametrize(
    ("asked", "plain"),
    [
        ("P(s(1 + 1))", ["s(2)"]),
        ("s(min(3, 2 * 2))", ["s(3)"]),
        ("P(s(x + 1) | s(x))", ["s(2) | s(1)", "s(3) | s(2)", "s(4) | s(3)", "false | s(4)"]),
        ("P(s(4) | s(x) and x + 1 = 4)", ["s(4) | s(3)"]),
        ("P(s(x) or s(x + 2) | s(4 - x) and x < 3)", ["s(1) or s(3) | s(3)", "s(2) or s(4) | s(2)"]),
        ("P(s(3 + 5))", ["false"]),
    ],
)
def test_queries_may_compute_values_as_statements_do(
    asked: str, plain: list[str], independence: Any, engine: str
) -> None:
    """What is computed is asked of the same atoms as by name; an atom of no value of its type is false."""
    model = hb.Model(hb.parse(STEPS))
    found = model.bound(asked, engine=engine, independence=independence).rows()
    by_name = model.bound(plain, engine=engine, independence=independence).rows()
    assert [(row.lower, row.upper) for row in found] == [
        pytest.approx((row.lower, row.upper), abs=1e-6) for row in by_name
    ]


def test_explanations_of_bounds_compute_values_too() -> None:
    model = hb.Model(hb.parse(STEPS))
    computed, plain = (model.explain(text, engine="exact") for text in ("P(s(1 + 1))", "P(s(2))"))
    assert computed.lower.reasons == plain.lower.reasons
    assert computed.upper.value == pytest.approx(plain.upper.value)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("P(count(x: s(x)) >= 2)", "cannot count what is uncertain"),
        ("P(t(1 + 1))", "'t' is not declared"),
        ("P(s(x / 0))", "x has no value here"),
    ],
)
def test_what_queries_cannot_compute_is_refused(asked: str, why: str) -> None:
    with pytest.raises(HerbrandError, match=why):
        hb.Model(hb.parse(STEPS)).bound(asked)


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_an_observed_condition_at_the_last_value_says_how_to_leave_it_out(engine: str) -> None:
    text = "type n = 1..4\npredicate s(n): observed\npredicate t(n)\ns(2)\ns(4)\n"
    text += "P(t(x + 1) | s(x){apart}) >= 0.5"
    with pytest.raises(HerbrandError, match=r"leave it out by a condition, P\(... \| ... and x != 4\)"):
        hb.Model(hb.parse(text.format(apart=""))).bound(engine=engine)
    (row,) = hb.Model(hb.parse(text.format(apart=" and x != 4"))).bound("t(3)", engine=engine).rows()
    assert (row.lower, row.upper) == pytest.approx((0.5, 1.0))
