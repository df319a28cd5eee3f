"""ProbLog's programs: what is read, what is refused, and the numbers that they mean."""

from __future__ import annotations

import math

import pytest

import herbrand as hb
from herbrand.errors import HerbrandError
from herbrand.language import syntax as s
from herbrand.language.check import check
from herbrand.language.dialects import read_theory_text, write
from herbrand.language.parse import parse_formula, parse_theory
from herbrand.language.theory import show
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
    "p(X, Y) :- b(X), b(Y), X @< Y, a @=< X, \\+ X @>= z, 1 @< a. b(c). b('B').": (
        'p(X, Y) :- b(X), b(Y), X < Y, "a" <= X, X < "z", true\nb("c")\nb("B")\n'
    ),
    "1/4::a. 1.0e-1::b. t(_)::c; t(0.2)::d :- a.": "0.25 :: a\n0.1 :: b\n? :: c; ? :: d :- a\n",
    "P::a(X) :- b(X, P). b(1, 0.5).": "P :: a(X) :- b(X, `P`)\nb(1, 0.5)\n",
    "b(1). t(_, X)::c(X); t(_)::d(X) :- b(X).": "b(1)\n?[X] :: c(X); ?[X] :: d(X) :- b(X)\n",
    "P::a :- P = 0.3.": "0.3 :: a\n",
    "p('a\\rb\\tc').": 'p("a\\rb\\tc")\n',
    "p(.5). p(X) :- X is .25e1 + 1.": "p(0.5) :- true\np(X) :- X = 3.5\n",
    "p(0x1F). p(0o17). p(0b101). p(0'a). p(0'''). p(0'\\n).": "p(31)\np(15)\np(5)\np(97)\np(39)\np(10)\n",
    "a(X) :- X is floor(7.5) + ceiling(-7.5) - truncate(-7.5) + sqrt(16) + (-7) rem 3.": "a(X) :- X = 13\n",
    "a(X) :- b(X), X =:= max(2, 3) * min(4, 5) - abs(-2) + 7 // 2 + sign(-3) + round(2.5). b(1).": (
        "a(X) :- b(X), X = 14\nb(1)\n"
    ),
    "a(X, Y) :- X is 2^3^2, Y is -(2)**2.": "a(X, Y) :- X = 512, Y = 4\n",
    ":- use_module(library(lists)). a(+). a(*).": 'a("+")\na("*")\n',
    "a(X) :- X is 2^3*2, X > (2^3)*2.": "a(X) :- X = 64, X > 16\n",
    "b(1). evidence(b(1), false). evidence(\\+a). a :- fail.": (
        "b(1) :- true\na :- false\nnot b(1)\nnot a\n"
    ),
    "p(1). p(1, 2). p.": "p(1)\n`p/2`(1, 2)\n`p/0`\n",
    "'It''s'(\"x y\", 'B'). % a comment\n/* and\nanother */ q(a). q(2).": (
        '`It\'s`("x y", "B")\nq("a")\nq("2")\n'
    ),
    "p(X, _) :- a(X). a(1). q :- p(2, _).": (
        'p(X, _5_) :- `constants of p:2`(_5_), a(X)\na(1)\nq :- p(2, _)\n`constants of p:2`("_")\n'
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
    ":- use_module('other.pl').": "the directive use_module/1 is not read",
    ":- use_module(library(lists)). :- unknown(fail). a :- sum(1).": "no clause defines sum/1",
    "a :- b": "expected a full stop",
    "0.3::a; b.": "every head of this clause needs a probability",
    "p(X) :- q(Y), X is sin(Y). q(1).": "sin/1 computes no number",
    "p(X) :- Y is X - 1, q(Y). q(1). query(p(_)).": "_ has no value yet",
    "0.5::p(X) :- between(1, N, X), n(N). n(2).": "N has no value yet",
    "p(X) :- between(1, 2.5, X).": "has no numbers as its range",
    "a :- X is 2 * 2^3, X > 1.": "expected a full stop or an operator, found '^'",
    "a(X) :- member(X, Y), b(Y). b(1).": "member/2 is a built-in predicate",
    "a(X, Y) :- b(X). b(1). evidence(a(X, Y)).": "evidence is a ground atom",
    "a(X) :- b(X), fail. b(1). evidence(a(_)).": "no clause can make this evidence true",
    "0.1::Rain. query(Rain).": "a capital begins a variable; names begin small",
    "p(X) :- X is sqrt(-1).": "sqrt(-1) has no value",
    "p(99999999999999999999999).": "this number is too large",
    "p(0xfffffffffffffffffff).": "this number is too large",
    "p :- b(X), X @< Y, c(Y). b(a). c(a).": "Y has no value yet",
    "x::a.": "x is no probability",
    "a :- (b -> c ; d). b. c. d.": "if-then-else is not read",
    "0.5::a. query((a, a)).": "query is of one atom, and ,/2 makes none",
    "0.5::a. evidence(\\+ (a ; a)).": "evidence is of one atom, and ;/2 makes none",
    "0.5::a(1). evidence(a(X), Y) :- a(X).": "Y is neither true nor false",
    "0.5::a(1). evidence(a(1), X).": "X is neither true nor false",
    "?::a. 0.5::b :- a.": "decisions and utilities are not read",
    "x ~ normal(0, 1).": "distributions are not read",
    "0.5::a. /* query(a).": "found a quote or a comment without its end",
    "0.5::'a. query(a).": "found a quote or a comment without its end",
    "1.3::a.": "1.3 is not a probability",
    "p(X) :- \\+r(X), s(X). r(1). s(1).": "X has no value yet",
    "a :- X == 1.": "X has no value yet",
    "0.6::a; 0.5::b.": "add up to 1.1",
    "a :- b.": "no clause defines b/0",
    "0.5::a(1). n(1). query(a(X)) :- n(X), \\+b(X).": "no clause defines b/1",
    "query(a).": "no clause defines a/0",
    "0.3::a. b :- zz. c :- b. query(a). query(c).": "no clause defines zz/0",
    "0.3::a. b :- zz. query(a) :- b.": "no clause defines zz/0",
    "a; b.": "a clause has one head",
    "\\+a. 0.3::a.": "no clause can define \\+/1",
    "0.3::a. 0.3::(a, b).": "no clause can define ,/2",
    "0.3::a, 0.4::b.": "\n  write a clause for each head",
    "true :- a. a.": "no clause can define true/0",
    "X is 2. a.": "no clause can define is/2",
    "between(1, 2, 3). call(a). a.": "no clause can define call/1",
    "0.2::p(1). 0.3::p('1'). query(p(_)).": "1 is a number here, and '1' in its place a text",
    "p(1). q(a). r(X) :- p(X), q(X), X \\= '1'.": "1 is a number here",
    "p(1). p(a). p(Y) :- p(X), Y is X + 1, Y < 4.": "Y has to be a number here",
    "p(1). p(a). p(X) :- q(Y), X is Y + 3. q(1).": "X has to be a number here",
    "a :- 0.3::b. b.": "a probability stands before the head",
    "a :- call.": "call/0",
    "p :- s:q.": "modules are not read",
    "a :- X is 2**3**2, X > 1.": "expected a full stop or an operator, found '**'",
    "a :- b(X), X = 1 = 2. b(1).": "expected a full stop or an operator, found '='",
    "(-8)**0.5::a.": "has no value",
    "a :- X is 2**9999999999, X > 1.": "has no value",
    "a(99999999999999999999).": "too large",
    f"a({'9' * 5000}).": "too large",
    "a(1e400).": "too large",
    "a(X) :- X is 9999999999 * 9999999999.": "too large",
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


@pytest.mark.parametrize(
    "clause", ["b :- zz.", "b(X) :- zz(X), write(X).", "0.5::d; 0.5::e :- \\+zz. b :- d."]
)
def test_clauses_that_rest_on_what_is_undefined_are_left_out_where_no_query_leads(clause: str) -> None:
    """As in ProbLog, which tries them only when they are called."""
    theory = read_theory_text(f"0.3::a. {clause} query(a).", "pl")
    assert theory == read_theory_text("0.3::a. query(a).", "pl")


def test_a_rule_over_a_type_without_constants_reads_back() -> None:
    """Its constants are a predicate that no clause defines: what fails leaves no argument to a caller."""
    theory = parse_theory("far(x) :- far(y), y <= x\n")
    back = read_theory_text(write(theory, check(theory), "pl"), "pl")
    assert "far(" in show(back) and len(hb.Model(back).query("far(x)")) == 0


CALLED = "0.5::e(1, 2). 0.5::e(2, 3). 0.25::e(2, 1). p(X, Y) :- e(X, Y). "


@pytest.mark.parametrize(
    ("text", "chances"),
    [
        ("p(X, Y) :- e(X, Z), Z \\== Y, p(Z, Y). query(p(1, 3)). query(p(1, 1)).", [0.25, 0.125]),
        ("two(X, Y) :- e(X, _), Y \\== X, e(_, Y). ask :- two(1, 3). query(ask).", [0.25]),
        ("none(X) :- \\+e(X, 2), e(_, X). query(none(3)). query(none(1)).", [0.5, 0.125]),
        ("any :- call(e, 1, Y), call(e(Y), 3). query(any).", [0.25]),
    ],
)
def test_a_test_has_the_values_that_every_call_brings(text: str, chances: list[float]) -> None:
    theory = read_theory_text(CALLED + text, "pl")
    assert worlds_of(theory).probabilities([query.formula for query in theory.queries]) == chances


def test_clauses_of_a_test_that_no_query_leads_to_are_left_out() -> None:
    uncalled = "p(X, Y) :- e(X, Z), Z \\== Y, p(Z, Y). r :- e(X, _), p(X, Y). "
    read = read_theory_text(CALLED + uncalled + "query(e(1, 2)).", "pl")
    assert show(read) == "0.5 :: e(1, 2)\n0.5 :: e(2, 3)\n0.25 :: e(2, 1)\n"
    choice = "0.3::t(X) :- \\+e(X, 2), e(_, X). "
    assert read_theory_text(CALLED + uncalled + choice + "query(e(1, 2)).", "pl") == read
    with pytest.raises(HerbrandError, match="Y has no value yet"):
        read_theory_text(CALLED + uncalled, "pl")
    with pytest.raises(HerbrandError, match="X has no value yet"):
        read_theory_text(CALLED + choice + "query(t(_)). r :- t(3). query(r).", "pl")


def test_ways_of_calling_that_derive_nothing_are_left_out() -> None:
    """``fill`` calls itself with the values that it was called with, and is then its own condition."""
    text = """0.25::p1. 0.5::p2.
    p(A, B) :- p1, A = u.
    p(A, B) :- p2, B = u.
    fill(A, B) :- A == u, B == u.
    fill(A, B) :- p(A, B), fill(A, B).
    query(fill(A, B))."""
    theory = read_theory_text(text, "pl")
    assert not [rule for rule in theory.rules if rule.head in rule.body]
    asked, needed = ["fill"], set[str]()
    while asked:
        name = asked.pop()
        needed.add(name)
        bodies = [rule.body for rule in theory.rules if rule.head.predicate == name]
        asked += {x.predicate for body in bodies for x in body if isinstance(x, s.Atom)} - needed
    assert {rule.head.predicate for rule in theory.rules} <= needed
    expected = worlds_of(theory).probabilities([parse_formula('fill("u", "u")')])
    assert hb.Model(theory).infer()['fill("u", "u")'] == pytest.approx(expected[0]) == 0.125


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

# Numbers by hand or by listing the worlds: programs of the kinds that ProbLog's tutorial and tests have.
DICE = "; ".join(f"1/6::die(X, {n})" for n in range(1, 7)) + " :- d(X). d(a). d(b)."
BALLS = "0.4::c(X, red); 0.6::c(X, blue) :- ball(X). ball(1). ball(2). ball(3)."
GRAPH = "0.8::edge(1, 2). 0.7::edge(2, 3). 0.6::edge(3, 1). 0.5::edge(1, 3)."
PATHS = "path(X, Y) :- edge(X, Y). path(X, Y) :- edge(X, Z), path(Z, Y)."
ALARM = """0.1::b. 0.2::e. 0.9::alarm :- b, e. 0.8::alarm :- b, \\+e. 0.1::alarm :- \\+b, e.
person(john). person(mary). 0.7::calls(X) :- alarm, person(X)."""
RINGS = 0.1 * 0.2 * 0.9 + 0.1 * 0.8 * 0.8 + 0.9 * 0.2 * 0.1
BURGLED = 0.1 * 0.2 * 0.9 + 0.1 * 0.8 * 0.8
TUTORIAL = [
    ("0.3::a. 0.4::b. c :- a, \\+b. c :- b, \\+a. query(c).", {"c": 0.3 * 0.6 + 0.7 * 0.4}),
    (
        "0.5::h1. 0.6::h2. both :- h1, h2. evidence(\\+both). query(h1). query(both).",
        {"h1": 0.5 * 0.4 / 0.7, "both": 0.0},
    ),
    (f"{BALLS} same :- c(1, C), c(2, C), c(3, C). query(same).", {"same": 0.4**3 + 0.6**3}),
    (
        f"{BALLS} same :- c(1, C), c(2, C), c(3, C). evidence(same). query(c(1, red)).",
        {"c(1,red)": 0.4**3 / (0.4**3 + 0.6**3)},
    ),
    (f"{BALLS} q :- forall(c(X, C), C = red). query(q).", {"q": 0.4**3}),
    # Along the edge, by 2, and none of either; 2 reaches 1 by 3 alone.
    (f"{GRAPH} {PATHS} query(path(1, 3)).", {"path(1,3)": 1 - 0.5 * (1 - 0.8 * 0.7)}),
    (
        f"{GRAPH} {PATHS} evidence(path(2, 1)). query(edge(2, 3)). query(path(1, 1)).",
        {"edge(2,3)": 1.0, "path(1,1)": 1 - 0.5 * 0.2},
    ),
    (
        f"{GRAPH} {PATHS} node(1). node(2). node(3). cut(X) :- node(X), \\+path(X, 1). query(cut(2)).",
        {"cut(2)": 1 - 0.7 * 0.6},
    ),
    (f"{ALARM} query(alarm).", {"alarm": RINGS}),
    (f"{ALARM} evidence(calls(john)). evidence(calls(mary)). query(b).", {"b": BURGLED / RINGS}),
    (
        "P::likes(X, Y) :- w(X, Y, P). w(a, b, 0.3). w(a, c, 0.2). q(X) :- likes(X, _). query(q(a)).",
        {"q(a)": 0.44},
    ),
    ("0.3::p(1). 0.4::p(2). 0.5::p(3). top(X) :- p(X), \\+ (p(Y), Y > X). query(top(2)).", {"top(2)": 0.2}),
    ("0.5::f(a). 0.4::f(b). g :- f(X), f(Y), X \\= Y. query(g).", {"g": 0.2}),
    ("c :- \\+(\\+b). 0.3::b. query(c).", {"c": 0.3}),
    ("0.2::p(X). query(p(1)). query(p(2)).", {"p(1)": 0.2, "p(2)": 0.2}),
    ("0.2::p(X). q :- p(1), p(2). q :- p(3). query(q).", {"q": 1 - 0.96 * 0.8}),
    ("0.4::h(1). 0.4::h(2). any :- h(1); h(2). one :- any, \\+ (h(1), h(2)). query(one).", {"one": 0.48}),
    # ProbLog's once is its call.
    ("0.5::a(1). 0.5::a(2). 0.3::q :- once(a(_)). query(q).", {"q": 1 - 0.85**2}),
    ("0.5::a(1). 0.5::a(2). q(X) :- once(a(X)). query(q(1)).", {"q(1)": 0.5}),
    ("0.5::a. 0.3::q :- once(a). query(q).", {"q": 0.15}),
    ("0.3::e(1, 2). 0.3::e(2, 1). r(X, X) :- n(X). r(X, Y) :- r(X, Z), e(Z, Y). n(1). n(2). query(r(1, 1)).",
     {"r(1,1)": 1.0}),
    ("0.1::a(1). 0.9::a(1). query(a(1)).", {"a(1)": 0.91}),
    # A choice for each value of all variables of the clause, alternatives that bind the same ones together.
    ("n(1). n(2). 0.5::a :- (n(X) ; n(X)), n(_). query(a).", {"a": 1 - 0.5**4}),
    ("n(1). n(2). m(3). 0.5::a :- n(X) ; m(Y) ; m(Y), n(X). query(a).", {"a": 1 - 0.5 ** (2 + 1 + 2)}),
    ("n(1). n(2). 0.3::a; 0.2::b :- (n(_) ; n(_)). query(a). query(b).", {"a": 1 - 0.7**4, "b": 1 - 0.8**4}),
    ("n(1, 0.5). n(2, 0.2). P::a(X) :- n(X, P) ; n(_, P), n(X, 0.5). query(a(1)).",
     {"a(1)": 1 - 0.5 * 0.5 * 0.8}),
    ("n(3). n(1). 0.5::p(_, _1) :- n(_1). query(p(1, 3)). query(p(3, 1)).", {"p(1,3)": 0.5, "p(3,1)": 0.5}),
    ("0.9::f(1). 0.4::f(2). d(2) :- f(1). d(3) :- \\+f(2). query(d(2)). query(d(3)).",
     {"d(2)": 0.9, "d(3)": 0.6}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TUTORIAL)
def test_programs_of_the_tutorials(text: str, expected: dict[str, float]) -> None:
    theory = read_theory_text(text, "pl")
    worlds = worlds_of(theory)
    listed = {_plain(query.text): worlds.probability(query.formula) for query in theory.queries}
    assert listed == pytest.approx(expected, abs=1e-12)
    found = {_plain(row.atom): row.probability for row in hb.Model(theory).infer().rows()}
    assert found == pytest.approx(expected, abs=1e-12)


def _plain(atom: str) -> str:
    return atom.replace('"', "").replace(" ", "")


@pytest.mark.parametrize(("text", "expected"), PROGRAMS)
def test_the_sum_over_worlds_of_a_program(text: str, expected: dict[str, float]) -> None:
    theory = read_theory_text(text, "pl")
    check(theory)
    worlds = worlds_of(theory)
    found = {query.text: worlds.probability(query.formula) for query in theory.queries}
    assert found == pytest.approx(expected, abs=1e-12)


ORDERED = "b(ann). b(bob). b('Zoe'). n(2). n(10). 0.3::c(X, Y) :- b(X), b(Y), X @< Y. "
COUNTDOWN = "0.3::p(1). 0.2::p(2). 0.5::p(X) :- X > 0, Y is X - 1, p(Y)."
COMPUTED = [
    # p(2) holds by itself, or by its clause and p(1); p(3) and p(4) by their clauses alone.
    (f"{COUNTDOWN} query(p(X)) :- between(2, 4, X).", {"p(2)": 0.32, "p(3)": 0.16, "p(4)": 0.08}),
    ("w(a, 2). w(b, 4). P::k(X) :- w(X, W), P is 1 / W. query(k(_)).", {"k(a)": 0.5, "k(b)": 0.25}),
    ("w(a, 2). w(b, 4). 1 / W::k(X) :- w(X, W). query(k(_)).", {"k(a)": 0.5, "k(b)": 0.25}),
    (
        "w(a, 0). w(b, 2). 1 / (1 + exp(-W))::k(X) :- w(X, W). query(k(_)).",
        {"k(a)": 0.5, "k(b)": 1 / (1 + math.exp(-2))},
    ),
    ("t(3). t(-1). 0.5::k(Y) :- t(T), Y is 2 ^ T. query(k(Y)).", {"k(8)": 0.5, "k(0.5)": 0.5}),
    ("t(0). t(3). 0.9 ** T::k(T) :- t(T). query(k(_)).", {"k(0)": 1.0, "k(3)": 0.9**3}),
    (
        "at(a, 0, 0). at(b, 3, 4). "
        "near(X, Y, D) :- at(X, A, B), at(Y, C, E), D is sqrt((A-C)**2 + (B-E)**2). "
        "P::k(X, Y) :- near(X, Y, D), D > 0, P is log(D) / D. query(k(a, _)).",
        {"k(a,b)": math.log(5) / 5},
    ),
    (
        "n(X, Y) :- Y is X + 1, Y =< 5. m(Y) :- d(X), n(X, Y), o(Y). d(1). d(5). 0.4::o(2). query(m(2)).",
        {"m(2)": 0.4},
    ),
    ("n(X, Y) :- Y is X + 1. query(n(1, Y)).", {"n(1,2)": 1.0}),
    (
        "r(L, H, L) :- L =< H. r(L, H, X) :- L < H, M is L + 1, r(M, H, X). "
        "0.5::on(X) :- r(1, 3, X). query(on(2)). query(on(4)).",
        {"on(2)": 0.5, "on(4)": 0.0},
    ),
    ("0.5::r(X) :- between(1, 3, X). q :- r(X), r(Y), X + Y =:= 5. query(q).", {"q": 0.25}),
    ("0.4::a(X) :- b(X), \\+ X mod 2 =:= 1. b(1). b(2). query(a(_)).", {"a(2)": 0.4}),
    # Three clauses in a row, and each of the values that they are called with is new.
    (
        "0.5::h(T) :- T >= 0. f(T) :- T > 2. f(T) :- T =< 2, h(T), U is T + 1, f(U). query(f(0)).",
        {"f(0)": 0.125},
    ),
    (
        "0.4::x(T); 0.3::y(T) :- T < 2. 0.2::y(T) :- T > 0, U is T - 1, x(U). query(y(2)). query(x(1)).",
        {"y(2)": 0.08, "x(1)": 0.4},
    ),
    # A probability that is equated with a number, and what else its variable says.
    ("s(0.25). s(0.5). P::d :- s(P), P = 0.25. query(d).", {"d": 0.25}),
    ("s(0.25). s(0.5). P::d :- P = 0.3, s(P). query(d).", {"d": 0.0}),
    ("P::d(P) :- P is 0.25. query(d(_)).", {"d(0.25)": 0.25}),
    ("P::d :- P = 0.25, P = 0.5. query(d).", {"d": 0.0}),
    ("P::d; Q::e :- P = 0.5, P > 0.6, Q is 1 - P. query(d). query(e).", {"d": 0.0, "e": 0.0}),
    ("P::d; Q::e :- P = 0.25, Q is P * 2. query(d). query(e).", {"d": 0.25, "e": 0.5}),
    ("P::d; Q::e :- P = 0.25, Q = P. query(d). query(e).", {"d": 0.25, "e": 0.25}),
    ("s(1). P::d(X, a); Q::d(X, b) :- s(X), P is 0.3, Q is 1 - P. query(d(1, b)).", {"d(1,b)": 0.7}),
    ("0.5::a. P::d :- 0.25 = P, a. query(d).", {"d": 0.125}),
    ("n(1). n(2). P::d(X) :- n(X), P = Q, Q is X / 4. query(d(_)).", {"d(1)": 0.25, "d(2)": 0.5}),
    # ann hears of it one day after bob, who hears of it on day 1.
    (
        "k(bob, 1). 0.5::k(X, D) :- D > 1, m(X, Y), E is D - 1, k(Y, E). m(ann, bob). query(k(ann, 2)).",
        {"k(ann,2)": 0.5},
    ),
    (
        f"{ORDERED} query(c(X, bob)). query(c(_, ann)).",
        {"c(ann,bob)": 0.3, "c(Zoe,bob)": 0.3, "c(Zoe,ann)": 0.3},
    ),
    (f"{ORDERED} 0.2::d(X) :- n(X), X @>= 10. query(d(_)).", {"d(10)": 0.2}),
    ("0.5::x. y(Z) :- x, Z = f. 0.3::p(X) :- X = a. query(y(_)). query(p(a)).", {"y(f)": 0.5, "p(a)": 0.3}),
    (
        "0.3::a(1). 0.4::a(2). n(1). n(2). evidence(a(X), false) :- n(X), X > 1. query(a(X)).",
        {"a(1)": 0.3, "a(2)": 0.0},
    ),
    ("0.3::a(1). evidence(a(X)) :- X = 1. q :- call(a(1)). query(q).", {"q": 1.0}),
    (
        "0.3::a(1). 0.3::a(2). 0.3::a(3). seen(1, true). seen(2, false). seen(3, unknown). "
        "evidence(\\+a(X), V) :- seen(X, V). query(a(_)).",
        {"a(1)": 0.0, "a(2)": 1.0, "a(3)": 0.3},
    ),
    (
        f"{DICE} sum(S) :- die(a, X), die(b, Y), S is X + Y. evidence(die(a, 3)). "
        "query(sum(S)) :- between(8, 9, S).",
        {"sum(8)": 1 / 6, "sum(9)": 1 / 6},
    ),
    ("0.5::x(N) :- between(1, 4, N). even(N) :- x(N), 0 is N mod 2. q :- even(_). query(q).", {"q": 0.75}),
    (
        "cost(a, 3). cost(b, 5). 0.5::t(X) :- cost(X, C), C >= 4. 0.1::t(X) :- cost(X, C), C < 4. "
        "query(t(X)).",
        {"t(a)": 0.1, "t(b)": 0.5},
    ),
    # What makes the next value is a rule of several clauses, one of them with the values in its head.
    (
        "0.4::up(_). step(T, X, Y) :- up(T), Y is X + 1. step(T, X, Y) :- \\+up(T), Y is X - 1. at(0, 0). "
        "at(T, X) :- T > 0, S is T - 1, at(S, Y), step(T, Y, X). "
        "query(at(2, X)) :- even(X). even(-2). even(0). even(2).",
        {"at(2,2)": 0.16, "at(2,0)": 0.48, "at(2,-2)": 0.36},
    ),
    (
        "nx(5, 5). nx(X, Y) :- X < 5, add(X, 1, Y). add(X, X, Y) :- Y is X * 2. "
        "add(X, Z, Y) :- X \\= Z, Y is X + Z. 0.5::n(4). 0.4::n(5). 0.3::n(1). "
        "q(Z) :- n(X), nx(X, Y), nx(Y, Z). query(q(5)). query(q(3)).",
        {"q(5)": 0.7, "q(3)": 0.3},
    ),
    # A choice has no variables but its own, and what is negated is asked as it stands.
    (
        "n(3). n(4). e(1). e(2). nx(X, Y) :- e(W), W > 0, Y is X + 1. nx(X, 9) :- X > 3. "
        "0.5::a(X) :- n(X), nx(X, Y). b(X) :- n(X), \\+nx(X, 9). query(a(X)). query(b(X)).",
        {"a(3)": 0.5, "a(4)": 0.75, "b(3)": 1.0},
    ),
    (
        "h(X, X) :- X > 0. g(X, Y) :- X < 5, h(X, Z), Y is Z + 2. 0.5::n(1). q(W) :- n(X), g(X, Y), g(Y, W). "
        "query(q(5)).",
        {"q(5)": 0.5},
    ),
    (
        "h(X, X, Y) :- X > 0, Y < 3. 0.5::n(1). 0.4::n(2). 0.3::n(3). "
        "q(Z) :- n(Z), n(W), h(1, Z, W). p(Z) :- n(Z), h(3, Z, 2). query(q(_)). query(p(_)).",
        {"q(1)": 0.5, "p(3)": 0.3},
    ),
    ("0.5::g. d(1). q :- d(Y), var(Y), \\+ (g, abs(Y) =\\= Y). q :- g, d(_). query(q).", {"q": 0.5}),
    ("0.5::a. q :- X = Y, a, Z = Y. query(q).", {"q": 0.5}),
    ("0.5::n(4). q :- X = 1, Y = c, X < 2, Y \\== d, n(_). query(q).", {"q": 0.5}),
    ("0.5::n(4). q :- X = 1, X =:= Y, Y = 3, n(_). p :- \\+q. query(p).", {"p": 1.0}),
    (
        "0.5::most(2). 0.4::most(3). n(0). n(Y) :- n(X), most(M), X < M, Y is X + 1. query(n(N)).",
        {"n(0)": 1.0, "n(1)": 0.7, "n(2)": 0.7, "n(3)": 0.4},
    ),
    # Rain follows rain by 0.8, sun by 0.3.
    (
        "0.6::w(0, s); 0.4::w(0, r). 0.7::w(T, s); 0.3::w(T, r) :- T > 0, S is T - 1, w(S, s). "
        "0.2::w(T, s); 0.8::w(T, r) :- T > 0, S is T - 1, w(S, r). query(w(2, r)).",
        {"w(2,r)": (0.6 * 0.3 + 0.4 * 0.8) * 0.8 + (0.6 * 0.7 + 0.4 * 0.2) * 0.3},
    ),
    # In Prolog's order of terms numbers come first, by value, and then texts.
    (
        "v(10). 0.5::v(9). 0.3::v(-2). 0.4::v(b). v('B'). next(X, Y) :- v(X), v(Y), X @< Y, "
        "\\+ between(X, Y). between(X, Y) :- v(X), v(Y), v(Z), X @< Z, \\+ Z @>= Y. "
        "last(X) :- v(X), X @>= 9, X @< 'C'. query(next(X, b)). query(next(X, 10)). query(last(X)).",
        {
            "next(B,b)": 0.4, "next(9,b)": 0, "next(-2,b)": 0,
            "next(9,10)": 0.5, "next(-2,10)": 0.3 * 0.5, "last(9)": 0.5, "last(10)": 1, "last(B)": 1,
        },
    ),
    ("0.3::w(2). w(3). q(X) :- w(X), X @< b, X > 2. query(q(X)).", {"q(3)": 1.0}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), COMPUTED)
def test_numbers_that_goals_compute(text: str, expected: dict[str, float]) -> None:
    theory = read_theory_text(text, "pl")
    found = {row.atom: row.probability for row in hb.Model(theory).infer().rows()}
    assert {_plain(atom): probability for atom, probability in found.items()} == pytest.approx(
        expected, abs=1e-12
    )
    again = read_theory_text(write(theory, check(theory), "pl"), "pl")
    written = {row.atom: row.probability for row in hb.Model(again).infer().rows()}
    assert written == pytest.approx(found, abs=1e-12)


def test_evidence_conditions() -> None:
    theory = read_theory_text(SMOKERS, "pl")
    worlds = worlds_of(theory)
    smokes = s.Atom("smokes", (s.Constant("bob"),))
    # Ann smokes by stress (0.3), or Bob has stress and influences her (0.7 * 0.3 * 0.2); asthma is apart.
    ann = 0.3 + 0.7 * 0.3 * 0.2
    both = 0.3 * (0.3 + 0.7 * 0.2) + 0.7 * 0.3 * 0.2
    assert worlds.probability(smokes) == pytest.approx(both / ann, abs=1e-12)
    assert [query.text for query in theory.queries] == ["smokes(X)", '\\+stress("bob")']


@pytest.mark.parametrize("text", ["evidence(d).", "evidence(\\+d).", "evidence(b(c))."])
def test_evidence_beside_no_choice_has_to_follow(text: str) -> None:
    """It held by itself: 1 was answered for what cannot be true."""
    certain = "b(a). e(b). d :- b(X), \\+e(X)." if "+" in text else "b(a). e(b). d :- b(X), e(X)."
    with pytest.raises(HerbrandError, match=r"evidence has probability 0|stated to be false"):
        hb.Model(read_theory_text(f"{certain} query(d). {text}", "pl")).infer()
    agreeing = read_theory_text("b(a). d :- b(X). query(d). evidence(d).", "pl")
    assert hb.Model(agreeing).infer()["d"] == 1


def test_a_probability_that_is_computed_is_named_as_it_is_written() -> None:
    theory = read_theory_text("w(a, 0.75, 2.5). P * Q::h(X) :- w(X, P, Q). query(h(a)).", "pl")
    with pytest.raises(HerbrandError, match=r"P \* Q is 1\.875"):
        hb.Model(theory).infer()


def test_a_query_may_name_a_constant_that_others_are_compared_with() -> None:
    theory = read_theory_text("0.3::n(1). p(X) :- n(X), X < 3. query(p(3)). query(p(1)).", "pl")
    assert [row.probability for row in hb.Model(theory).infer().rows()] == [0, 0.3]


def test_a_plain_infer_answers_the_queries_under_the_names_of_the_file() -> None:
    clauses = "b(1). b(2). p(X) :- b(X), X > 1. p(X, Y) :- b(X), b(Y), X \\= Y."
    text = f"{clauses} query(p(X)). query(p(1, X)). query(\\+p(1))."
    found = hb.Model(read_theory_text(text, "pl")).infer()
    assert {row.atom: row.probability for row in found.rows()} == {
        "p(2)": 1.0,
        "p(1, 2)": 1.0,
        "\\+p(1)": 1.0,
    }


def test_a_query_may_name_a_constant_of_clauses_that_are_left_out_alone() -> None:
    theory = read_theory_text("g(3). 0.5::p(2). r(X) :- Y is X * 1, g(X), p(Y). query(p(3)).", "pl")
    assert hb.Model(theory).infer()["p(3)"] == 0.0


def test_a_query_may_name_a_constant_that_nothing_else_names() -> None:
    theory = read_theory_text("0.5::p(1, 2). query(p(7, X)). query(p(1, X)).", "pl")
    found = {_plain(row.atom): row.probability for row in hb.Model(theory).infer().rows()}
    assert found == {"p(7,X)": 0.0, "p(1,2)": 0.5}


@pytest.mark.parametrize("text", [*READ, *(program for program, _ in PROGRAMS), SMOKERS])
def test_what_is_written_reads_back(text: str) -> None:
    theory = read_theory_text(text, "pl")
    written = write(theory, check(theory), "pl")
    again = read_theory_text(written, "pl")
    assert again == theory
    assert again.queries == theory.queries


def test_the_largest_of_several_is_written_two_by_two() -> None:
    theory = hb.parse("s(1)\ns(5)\nr(x) :- s(y), x = max(y, 2, 3)")
    written = write(theory, check(theory), "pl")
    assert "max(Y, max(2, 3))" in written
    found = hb.Model(read_theory_text(written + "query(r(_)).", "pl")).infer()
    assert [row.atom for row in found.rows() if row.probability] == ["r(3)", "r(5)"]


def test_variables_of_several_absences_are_written_apart() -> None:
    """Each absence is of some value of its own, and one name in two of them could not be read again."""
    declared = "predicate o(t, t): observed\npredicate d(t)\npredicate e\n"
    theory = hb.parse(
        f'{declared}o("a", "b")\no("b", "a")\n0.5 :: d(x) :- not o(x, x), not o(j, j), not o(j, "c")\n'
        "0.25 :: e :- not o(k, k), not o(_, _)\n0.75 :: e :- not o(j1, j), not d(j)\n"
    )
    back = read_theory_text(hb.written(theory, "pl"), "pl")
    asked = ['d("a")', 'd("b")', "e"]
    found, again = hb.Model(theory).infer(asked), hb.Model(back).infer(asked)
    assert [again[atom] for atom in asked] == [found[atom] for atom in asked] == [0.5, 0.5, 0.0]


def test_what_is_computed_stays_in_its_range_where_it_is_written() -> None:
    """Without a goal of the range ``q(4)`` and ``r(-1)`` held of what was written."""
    text = """type n = 0..3
predicate s(n): observed
predicate q(n)
predicate r(n)
s(0)
s(3)
0.5 :: q(x + 1) :- s(x)
r(y) :- s(x), y = x - 1, not q(x + 1)
"""
    theory = hb.parse(text)
    stated = hb.Model(theory).infer(["q", "r"])
    written = write(theory, check(theory), "pl") + "query(q(_)). query(r(_))."
    found = hb.Model(read_theory_text(written, "pl")).infer()
    shown = {_plain(row.atom): row.probability for row in found.rows() if row.probability}
    assert shown == {_plain(row.atom): row.probability for row in stated.rows() if row.probability}
    assert shown == {"q(1)": 0.5, "r(2)": 1.0}


def test_a_choice_of_numbers_that_rules_make_is_written_as_one_of_anything() -> None:
    """The equations stand where ProbLog can compute them."""
    text = (
        "0.3::stop(_). run(1). run(N) :- N > 1, M is N-1, run(M), \\+stop(M). end(N) :- run(N), stop(N). "
        "query(end(5))."
    )
    theory = hb.parse(
        "0.3 :: stop(n)\nrun(1) :- true\nrun(n) :- run(m), m < 9, n = m + 1, not stop(m)\n"
        "end(n) :- run(n), stop(n)"
    )
    written = write(theory, check(theory), "pl")
    assert "0.3::stop(N)." in written
    assert "run(N) :- run(M), M < 9, N is (M + 1), \\+stop(M)." in written
    for each in (text, f"{written}query(end(5))."):
        found = hb.Model(read_theory_text(each, "pl")).infer()
        assert found["end(5)"] == pytest.approx(0.3 * 0.7**4, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1.5: a", "weighted formulas"),
        ("P(a) = 0.3", "probability bounds"),
        ("predicate p(t): learned", "predicates with learned tuples"),
        ("a :- b @ 0.5\nb", "weights behind rules"),
        ('p("a") @ 2', "weighted facts"),
        ("a ~ 0.5", "soft facts"),
        ('predicate c in {"r"}\n1.0 :: c = "r"', "many-valued predicates"),
        ("0.3 :: a(x) :- b(x)", "'b' is open"),
        (
            'predicate a(t)\npredicate b(t)\nb("u")\n0.3 :: a(x) :- b(x)',
            r"(?s)'b' is open.*declare it: predicate b\(t\): observed",
        ),
        ("0.3 :: query", "a meaning of its own"),
        ("n(1)\nn(x) :- n(y), x = levenshtein(y, y)", "a .pl file has no levenshtein"),
        ("not b(1)", "lists what is true"),
        (
            "type n = 0..3\npredicate b(n): observed\npredicate a(n)\n0.4 :: a(x + 1); 0.6 :: a(x) :- b(x)",
            "may leave its type",
        ),
        (
            "r(1) :- true\nr(y) :- r(x), x < 3, y = x + 1\ns(x) :- r(x)\nall(x) :- not s(x)",
            "x ranges over numbers that rules make",
        ),
    ],
)
def test_what_cannot_be_written_is_named(text: str, reason: str) -> None:
    theory = hb.parse(text)
    with pytest.raises(HerbrandError, match=reason):
        write(theory, check(theory), "pl")


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ("e(X, Y), e(Y, Z)", ["b", "c", "d", "a"]),
        ("e(X, Y), Y \\== c, X \\= d", ["c", "a"]),
        ("n(X, Z), e(Z, X)", ["b", "c"]),
        ("n(X, 1)", ["c"]),
        ("e(X, X)", []),
        ("X = b", ["b"]),
    ],
)
def test_a_query_with_a_body_asks_where_facts_join(body: str, asked: list[str]) -> None:
    """In the order of the facts; one with a variable holds of every constant."""
    facts = "e(b, c). e(c, d). e(d, a). e(a, b). n(b, a). n(c, _). "
    theory = read_theory_text(f"{facts} 0.3::p(X) :- e(X, _). query(p(X)) :- {body}.", "pl")
    assert [query.formula.arguments[0].value for query in theory.queries] == asked


def test_a_clause_of_hundreds_of_goals_or_heads_is_not_nested() -> None:
    """Each joins what stands behind it, 400 levels deep as Prolog has it."""
    names = [f"a{i}" for i in range(400)]
    goals = ", ".join(names)
    chances = " ".join(f"0.999::{name}." for name in names)
    program = f"{chances} all :- {goals}. query(all)."
    (row,) = hb.Model(read_theory_text(program, "pl")).infer().rows()
    assert row.probability == pytest.approx(0.999**400)
    heads = "; ".join(f"0.002::{name}" for name in names)
    program = f"{heads}. some :- {'; '.join(names[100:])}. query(some)."
    (row,) = hb.Model(read_theory_text(program, "pl")).infer().rows()
    assert row.probability == pytest.approx(0.6)


def test_a_value_nested_too_deep_is_refused_with_its_line() -> None:
    program = f"q(1).\np(Y) :- q(X), Y is {'+'.join(['X'] * 5000)}."
    with pytest.raises(HerbrandError, match="2:20: the formula is nested more than 200 levels deep"):
        read_theory_text(program, "pl")


def test_a_goal_behind_one_that_always_fails_is_not_early() -> None:
    """``score(X, N)`` has no answer, so ``N \\= 2`` is never tried."""
    program = "n(a). 0.3::c(a). m(X) :- n(X), score(X, N), N \\= 2. l(X) :- c(X). query(l(a))."
    (row,) = hb.Model(read_theory_text(f":- unknown(fail). {program}", "pl")).infer().rows()
    assert row.probability == pytest.approx(0.3)
    (row,) = hb.Model(read_theory_text(f"score(X, N) :- fail. {program}", "pl")).infer().rows()
    assert row.probability == pytest.approx(0.3)


def test_names_that_the_language_cannot_hold_get_others() -> None:
    text = (
        "0.3::'a`b'. 0.4::'x\\ny'. 0.2::'`xy`'. 0.6::''. 0.5::a_b. query('a`b'). query('x\\ny'). query('')."
    )
    theory = read_theory_text(text, "pl")
    assert parse_theory(show(theory)).statements == theory.statements
    found = {row.atom: row.probability for row in hb.Model(theory).infer().rows()}
    assert found == pytest.approx({"a_b": 0.3, "x_y": 0.4, "`''`": 0.6})
