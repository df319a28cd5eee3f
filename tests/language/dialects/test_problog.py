"""ProbLog's programs: what is read, what is refused, and the numbers that they mean."""

from __future__ import annotations

import pytest

import herbrand as hb
from herbrand.errors import HerbrandError
from herbrand.language import syntax as s
from herbrand.language.check import check
from herbrand.language.dialects import read_theory_text, write
from herbrand.language.show import show
from tests.oracles.choices import worlds_of

READ = {
    "0.3::p(X); 0.2::q(X) <- b(X), \\+c. b(1). 0.1::c.": (
        "0.3 :: p(X); 0.2 :: q(X) :- b(X), not c\nb(1)\n0.1 :: c\n"
    ),
    "a :- b ; c, d. b. c. d.": "a :- b\na :- c, d\nb\nc\nd\n",
    "a :- \\+ (b, \\+c). b. c.": "a :- not `part 1`\nb\nc\n`part 1` :- b, not c\n",
    "p(X) :- b(X), \\+ X < 2. b(1).": "p(X) :- b(X), X >= 2\nb(1)\n",
    "a(X) :- b(X), X =< 2, X =\\= 3, X \\== 4, 1 < 2. b(1).": (
        "a(X) :- b(X), X <= 2, X != 3, X != 4, true\nb(1)\n"
    ),
    "1/4::a. 1.0e-1::b. t(_)::c; t(0.2)::d :- a.": "0.25 :: a\n0.1 :: b\n? :: c; ? :: d :- a\n",
    "P::a(X) :- b(X, P). b(1, 0.5).": "P :: a(X) :- b(X, `P`)\nb(1, 0.5)\n",
    "P::a :- P = 0.3.": "0.3 :: a\n",
    "b(1). evidence(b(1), false). evidence(\\+a). a :- fail.": (
        "b(1) :- true\na :- false\nnot b(1)\nnot a\n"
    ),
    "p(1). p(1, 2). p.": "p(1)\n`p/2`(1, 2)\n`p/0`\n",
    "'It''s'(\"x y\", 'B'). % a comment\n/* and\nanother */ q(a). q(2).": (
        '`It\'s`("x y", "B")\nq("a")\nq("2")\n'
    ),
    "p(X, _) :- a(X). a(1). q :- p(2, _).": (
        'p(X, _1) :- `constants of p:2`(_1), a(X)\na(1)\nq :- p(2, _)\n`constants of p:2`("_")\n'
    ),
}


@pytest.mark.parametrize("text", READ)
def test_a_program_is_read(text: str) -> None:
    shown = READ[text].replace("P :: a", "`P` :: a")
    theory = read_theory_text(text, "pl")
    assert show(theory) == shown
    assert hb.parse(shown) == theory


REFUSED = {
    "a :- b, !. b.": "the cut is not read",
    "a :- findall(X, b(X), L). b(1).": "findall/3 is a built-in predicate",
    "p(f(1)).": "a functor in an argument is not read: f",
    "p([1]).": "lists are not read",
    ":- use_module(library(lists)).": "the directive use_module/1 is not read",
    "a :- b": "expected a full stop",
    "0.3::a; b.": "every head of this clause needs a probability",
    "p(X) :- q(Y), X is Y + 1. q(1).": "arithmetic over variables is not read",
    "a(X) :- b(X). b(1). evidence(a(X)).": "evidence is a ground atom",
    "x::a.": "x is no probability",
    "a :- (b -> c ; d). b. c. d.": "if-then-else is not read",
    "1.3::a.": "1.3 is not a probability",
    "p(X) :- \\+r(X), s(X). r(1). s(1).": "X has no value yet",
    "a :- X == 1.": "X has no value yet",
    "0.6::a; 0.5::b.": "add up to 1.1",
    "a :- b.": "no clause defines b/0",
    "query(a).": "no clause defines a/0",
    "a; b.": "a clause has one head",
    "p(1). p(a). q(X) :- p(X), X > 0.": "compared as a number",
    "a :- 0.3::b. b.": "a probability stands before the head",
    "p :- s:q.": "modules are not read",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_outside_is_refused_by_name_and_line(text: str) -> None:
    with pytest.raises(HerbrandError) as error:
        read_theory_text("% first\n" + text, "pl", "t.pl")
    assert REFUSED[text] in str(error.value)
    assert str(error.value).startswith("t.pl:")


def test_all_mistakes_are_raised_together() -> None:
    with pytest.raises(HerbrandError) as error:
        read_theory_text("a :- b.\nc :- !.\np([]).\nd :- e.\n", "pl")
    assert len(error.value.mistakes) == 2  # what does not parse hides what is not defined
    assert {mistake.span.line for mistake in error.value.mistakes} == {2, 3}  # type: ignore[union-attr]


def test_a_directive_lets_undefined_predicates_fail() -> None:
    theory = read_theory_text(":- unknown(fail).\np :- \\+a(1).\nquery(a(1)). query(p).", "pl")
    assert worlds_of(theory).probabilities([query.formula for query in theory.queries]) == [0, 1]


SMOKERS = """
0.3::stress(X) :- person(X).
0.2::influences(X, Y) :- friend(Y, X).
smokes(X) :- stress(X).
smokes(X) :- friend(X, Y), influences(Y, X), smokes(Y).
0.4::asthma(X) :- smokes(X).
person(ann). person(bob).
friend(ann, bob). friend(bob, ann).
evidence(smokes(ann)). evidence(asthma(ann), false).
query(smokes(X)). query(\\+stress(bob)).
"""
PROGRAMS = [
    ("0.3::p(1). 0.2::p(2). 0.6::p(1). query(p(1)).", {"p(1)": 0.72}),
    ("0.5::a. 0.3::b. q :- a, b. p :- \\+q. query(p).", {"p": 0.85}),
    ("0.3::p(1); 0.4::p(2). none :- \\+p(1), \\+p(2). query(none).", {"none": 0.3}),
    (
        "0.3::e(X, Y) :- a(X, Z), b(Z, Y). a(1, 2). a(1, 3). b(2, 4). b(3, 4). query(e(1, 4)).",
        {"e(1,4)": 0.51},
    ),
    ("0.4::a(1). 0.3::b(2). p(X, Y) :- a(X). p(X, Y) :- b(Y). q :- p(_, _). query(q).", {"q": 0.58}),
    ("0.5::a :- b; c. 0.5::b. 0.5::c. query(a).", {"a": 0.375}),
    ("0.7::a. 0.2::b. e :- a, b. e :- \\+a, \\+b. evidence(e). query(a).", {"a": 0.14 / 0.38}),
    ("0.6::a(1). p(X, _) :- a(X). q :- p(1, _). query(q).", {"q": 0.6}),
    ("0.3::p. query(\\+p).", {"\\+p": 0.7}),
    ("0.5::c(1). 0.5::c(2). d(1). d(2). d(3). query(c(X)) :- d(X).", {"c(1)": 0.5, "c(2)": 0.5, "c(3)": 0.0}),
]


@pytest.mark.parametrize(("text", "expected"), PROGRAMS)
def test_the_sum_over_worlds_of_a_program(text: str, expected: dict[str, float]) -> None:
    theory = read_theory_text(text, "pl")
    check(theory)
    worlds = worlds_of(theory)
    found = {query.text: worlds.probability(query.formula) for query in theory.queries}
    assert found == pytest.approx(expected, abs=1e-12)


def test_evidence_conditions() -> None:
    theory = read_theory_text(SMOKERS, "pl")
    worlds = worlds_of(theory)
    smokes = s.Atom("smokes", (s.Constant("bob"),))
    # Ann smokes by stress (0.3), or Bob has stress and influences her (0.7 * 0.3 * 0.2); asthma is apart.
    ann = 0.3 + 0.7 * 0.3 * 0.2
    both = 0.3 * (0.3 + 0.7 * 0.2) + 0.7 * 0.3 * 0.2
    assert worlds.probability(smokes) == pytest.approx(both / ann, abs=1e-12)
    assert [query.text for query in theory.queries] == ["smokes(X)", '\\+stress("bob")']


def test_a_plain_infer_answers_the_queries_under_the_names_of_the_file() -> None:
    clauses = "b(1). b(2). p(X) :- b(X), X > 1. p(X, Y) :- b(X), b(Y), X \\= Y."
    text = f"{clauses} query(p(X)). query(p(1, X)). query(\\+p(1))."
    found = hb.Model(read_theory_text(text, "pl")).infer()
    assert {row.atom: row.probability for row in found.rows()} == {
        "p(1)": 0.0,
        "p(2)": 1.0,
        "p(1, 1)": 0.0,
        "p(1, 2)": 1.0,
        "\\+p(1)": 1.0,
    }


@pytest.mark.parametrize("text", [*READ, *(program for program, _ in PROGRAMS), SMOKERS])
def test_what_is_written_reads_back(text: str) -> None:
    theory = read_theory_text(text, "pl")
    written = write(theory, check(theory), "pl")
    again = read_theory_text(written, "pl")
    assert again == theory
    assert again.queries == theory.queries


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1.5: a", "no such statement"),
        ("a :- b @ 0.5\nb", "no such statement"),
        ("a ~ 0.5", "no such fact"),
        ('predicate c in {"r"}\n1.0 :: c = "r"', "no such statement"),
        ("0.3 :: a(x) :- b(x)", "'b' is open"),
        ("0.3 :: query", "a meaning of its own"),
        ("not b(1)", "lists what is true"),
    ],
)
def test_what_cannot_be_written_is_named(text: str, reason: str) -> None:
    theory = hb.parse(text)
    with pytest.raises(HerbrandError, match=reason):
        write(theory, check(theory), "pl")
