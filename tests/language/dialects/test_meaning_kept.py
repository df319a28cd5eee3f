"""What another format says weighs every world, and counts every proof, as what it was written from does."""

from __future__ import annotations

import itertools
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.language import syntax as s
from herbrand.language.check import check
from herbrand.language.dialects import read_theory_text, write, write_facts
from herbrand.language.parse import parse_theory
from herbrand.language.show import show_formula
from herbrand.language.theory import Theory
from herbrand.model import Model
from tests.laws import tries
from tests.oracles.choices import worlds_of
from tests.oracles.proofs import Proofs
from tests.oracles.worlds import Universe

PEOPLE = ("Anna", "bob")
DECLARED = """\
type person = {"Anna", "bob"}
predicate Smokes(person)
predicate Friends(person, person)
predicate alarm
predicate mood(person) in {"good", "bad", "none"}
"""
UNIVERSE = Universe(
    {"person": PEOPLE, "mood value": ("good", "bad", "none")},
    {
        "Smokes": (("person",), None),
        "Friends": (("person", "person"), None),
        "alarm": ((), None),
        "mood": (("person",), ("good", "bad", "none")),
    },
    known={("Friends", ("Anna", "Anna")): False, ("Friends", ("bob", "bob")): True},
)
STATEMENTS = [
    "1.5: Smokes(X) and Friends(X, y) => Smokes(y)",
    "-0.25: Smokes(x) or not alarm",
    "hard: Smokes(x) => alarm",
    "0.5: Smokes(x) <=> alarm",
    "0.5: (Smokes(x) => alarm) => Friends(x, y)",
    "0.5: Smokes(x) => (alarm => Friends(x, y))",
    "1: Smokes(x) xor alarm",
    "1: Smokes(x) xor alarm xor Friends(x, y)",
    "1: not (Smokes(x) and alarm) or Friends(y, x)",
    "2: exists y: Friends(x, y)",
    "2: exists x, y: Friends(x, y) and x != y",
    "-1: forall y: Friends(x, y) => Smokes(y)",
    "1: not (exists y: Friends(x, y) and Smokes(y)) => alarm",
    "1: alarm and (forall x: exists y: Friends(x, y))",
    "0.3: Smokes(x) or Smokes(y) where x != y",
    '0.3: Friends(x, y) where x != "bob", x = y'.replace(", x = y", " and x = y"),
    "0.7: Friends(x, y) and x = y",
    "0.7: not x = y or Friends(x, y)",
    '1.25: mood(x) = "good" => Smokes(x)',
    '1.25: mood(x) in {"good", "bad"} and alarm',
    '1.25: mood(x) in {"bad"} or alarm',
    '0.5: Smokes("bob") and not Smokes("Anna")',
    '0.5: exists x: mood(x) = "none"',
    "0.4: Smokes(v) and Smokes(Exist)",
]


def worlds() -> list[dict[object, object]]:
    """A spread of all worlds."""
    return [dict(world) for place, world in enumerate(UNIVERSE.worlds()) if place % 5 == 0]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_formula_weighs_the_same_after_alchemy(statement: str) -> None:
    theory = parse_theory(DECLARED + statement)
    back = read_theory_text(write(theory, check(theory), "mln"), "mln")
    assert not back.rules and not back.bounds
    for world in worlds():
        before, after = (UNIVERSE.log_weight(world, some.formulas) for some in (theory, back))
        assert after == pytest.approx(before)


def test_a_whole_theory_weighs_the_same_after_alchemy() -> None:
    theory = parse_theory("\n".join([DECLARED, *STATEMENTS]))
    text = write(theory, check(theory), "mln")
    again = read_theory_text(text, "mln")
    assert write(again, check(again), "mln") == text
    for world in worlds()[::3]:
        before, after = (UNIVERSE.log_weight(world, some.formulas) for some in (theory, again))
        assert after == pytest.approx(before)


@pytest.mark.parametrize(
    ("declaration", "allowed"),
    [
        ("Likes(person, thing!)", None),
        ("Likes(person!, thing)", lambda rows: all(sum(r[1] == t for r in rows) == 1 for t in ("t", "u"))),
        ("Likes(person!, thing!)", lambda rows: len(rows) == 1),
    ],
)
def test_marks_allow_the_worlds_that_a_walk_allows(declaration: str, allowed: object) -> None:
    """``!``: of the marked arguments exactly one choice holds for each choice of the others."""
    theory = read_theory_text(declaration, "mln")
    if allowed is None:
        (only,) = theory.predicates
        assert (only.types, only.values, theory.formulas) == (("person",), "thing", ())
        return
    universe = Universe({"person": ("a", "b"), "thing": ("t", "u")}, {"Likes": (("person", "thing"), None)})
    for world in universe.worlds():
        rows = [atom[1] for atom, value in world.items() if value]
        weight = universe.log_weight(world, theory.formulas)
        assert (weight == 0.0) == allowed(rows) and weight in (0.0, -math.inf)  # type: ignore[operator]


def test_stars_are_every_sign() -> None:
    """Of every world exactly one of the formulas' instances holds for each choice of constants."""
    theory = read_theory_text("*Smokes(x) ^ *Friends(x,y)", "mln")
    assert len(theory.formulas) == 4
    universe = Universe(
        {"person": PEOPLE}, {"Smokes": (("person",), None), "Friends": (("person", "person"), None)}
    )
    for world in itertools.islice(universe.worlds(), 0, None, 7):
        for x, y in itertools.product(PEOPLE, repeat=2):
            holding = [universe.holds(f.formula, world, {"x": x, "y": y}) for f in theory.formulas]
            assert holding.count(True) == 1


# Rules

CONSTANTS = ("a", "b")
FACTS = {
    "q": {("a", "a"): 2.0, ("a", "b"): 1.0},
    "r": {("a", "b"): 3.0, ("b", "a"): 1.0, ("b", "b"): 0.5},
    "u": {("a",): 1.0, ("b",): 4.0},
    "weighted": {("r1",): 0.25},
}


def counted(theory: Theory) -> dict[tuple[s.Value, ...], float]:
    places = {"weighted": [("r1",)]}
    return Proofs(theory.rules, FACTS, CONSTANTS, {}, places=places).answers("p", 3)


@pytest.mark.parametrize(
    ("clause", "meant"),
    [
        ("p(X,Y) :- q(X,_), r(_,Y).", "p(x, y) :- q(x, z), r(z, y)"),
        ("p(X,Y) :- q(X,Y), r(X,_).", "p(x, y) :- q(x, y), r(x, _)"),
        ("p(X,Y) :- q(X,Y), u(_).", "p(x, y) :- q(x, y), u(_)"),
        ("p(X,Y) :- q(X,Y), u(_), r(_,Y).", "p(x, y) :- q(x, y), u(z), r(z, y)"),
        ("p(X,Y) :- q(X,_), u(_), r(X,Y).", "p(x, y) :- q(x, z), u(z), r(x, y)"),
        ("p(X,Y) :- q(X,Y), r(_,_).", "p(x, y) :- q(x, y), r(_, _)"),
        ("p(X,_) :- q(X,_).", "p(x, y) :- q(x, y)"),
        ("p(X,Y) :- q(X,Y), assign(X,a).", 'p(x, y) :- q(x, y), x = "a"'),
        ("p(X,Y) :- q(X,_), assign(_,b), r(_,Y).", 'p(x, y) :- q(x, z), z = "b", r(z, y)'),
        ("p(X,Y) :- q(X,Y), assign(W,b).", "p(x, y) :- q(x, y)"),
        ("p(X,Y) :- q(X,Y) {r1}.", 'p(x, y) :- q(x, y), weighted("r1")'),
        ("p(X,Y) :- q(X,Y) {u(Z): r(Y,Z)}.", "p(x, y) :- q(x, y), r(y, z), u(z)"),
        ("p(X,b) :- q(X,_).", 'p(x, "b") :- q(x, _)'),
        ("p(X,Y) :- q(X,Y). p(X,Y) :- r(X,Y).", "p(x, y) :- q(x, y)\np(x, y) :- r(x, y)"),
    ],
)
def test_clauses_of_tensorlog_count_what_they_mean(clause: str, meant: str) -> None:
    """``_`` is one variable of its clause, unless it would close a cycle."""
    assert counted(read_theory_text(clause, "ppr")) == counted(parse_theory(meant)) != {}


terms = st.sampled_from(["x", "y", "z", "_", '"a"', '"b"'])
atoms = st.one_of(
    st.builds(lambda name, a, b: f"{name}({a}, {b})", st.sampled_from("qr"), terms, terms),
    st.builds(lambda a: f"u({a})", terms),
    st.just('weighted("r1")'),
)


@settings(max_examples=tries(30), deadline=None)
@given(st.lists(st.lists(atoms, min_size=1, max_size=2), min_size=1, max_size=3))
def test_rules_count_the_same_after_tensorlog(bodies: list[list[str]]) -> None:
    text = "\n".join(f"p(x, y) :- q(x, x1), r(y1, y), x = x1, y = y1, {', '.join(body)}" for body in bodies)
    text = text.replace("q(x, x1), r(y1, y), x = x1, y = y1, ", "q(x, _), r(_, y), ")
    theory = parse_theory(text)
    back = read_theory_text(write(theory, check(theory), "ppr"), "ppr")
    assert counted(back) == pytest.approx(counted(theory))


def test_facts_are_the_same_in_each_file_of_facts() -> None:
    text = 'q("a", "b")\nq("b c", "it\'s")\nu("1")\nu("x")\nalarm\nr("a", "0.5") @ 2\nr("b", "7")'
    theory = parse_theory(text)
    told = {(r.predicate, row, w) for r in theory.facts for row, w in rows_of(r)}
    back = read_theory_text(write_facts(theory, check(theory), "ppr"), "cfacts")
    assert {(r.predicate, row, w) for r in back.facts for row, w in rows_of(r)} == told
    plain = parse_theory('q("a", "b")\nq("b c", "say \\"no\\"")\nu("1")\nnot u("x")\nalarm')
    back = read_theory_text(write_facts(plain, check(plain), "mln"), "db")
    assert {(r.predicate, r.kind, row) for r in back.facts for row, _ in rows_of(r)} == {
        (r.predicate, r.kind, row) for r in plain.facts for row, _ in rows_of(r)
    }


def rows_of(rows: s.FactRows) -> list[tuple[tuple[s.Value, ...], float]]:
    found = list(zip(*rows.columns, strict=True)) if rows.columns else [()] * rows.row_count
    return list(zip(found, rows.numbers or [1.0] * len(found), strict=True))


# Choices

DOMAIN = """\
type t = {"a", "B c", "d"}
predicate e(t, t): observed
predicate c(t)
predicate d(t)
e("a", "a")
e("B c", "a")
"""
CHOICES = [
    "0.3 :: c(x)\nd(x) :- c(x)",
    "0.3 :: c(x) :- e(x, y)\nd(x) :- not c(x)",
    "0.2 :: c(x); 0.5 :: d(x)",
    '0.2 :: c(x)\n0.5 :: d(y) :- c(x), x != "a"\nnot c("d")',
    '0.2 :: c("a")\n0.5 :: d(y) :- not c(x), e(x, _)',
    "predicate t1(t)\n0.4 :: t1(x)\nc(x) :- t1(x)\n0.1 :: d(x) :- not t1(x), not e(x, x)",
    "0.3 :: c(_)\nd(_) :- c(Any), e(Any, _)",
    "0.3 :: c(ß)\nd(ª) :- c(ª), not c(ß), e(ß, ß)",
]


@pytest.mark.parametrize("statements", CHOICES)
@pytest.mark.parametrize("name", ["t", "e", "findall"])
def test_choices_are_as_likely_after_problog(statements: str, name: str) -> None:
    """Variables range over the types of the theory, which a file of ProbLog does not have, whatever their
    names."""
    theory = parse_theory(re.sub(r"\bt\b", name, DOMAIN + statements))
    back = read_theory_text(write(theory, check(theory), "pl"), "pl")
    asked = [s.Atom(each, (s.Constant(value),)) for each in "cd" for value in ("a", "B c", "d")]
    found = {row.text: row.probability for row in Model(back).infer(["c", "d"]).rows()}
    expected = worlds_of(theory).probabilities(asked)
    assert [found.get(show_formula(atom), 0.0) for atom in asked] == pytest.approx(expected, abs=1e-12)


def test_what_rules_alone_derive_keeps_its_facts_after_problog() -> None:
    """No choice is there to be conditioned: such a fact is one more, and was written as evidence."""
    theory = parse_theory(DOMAIN + 'd(x) :- c(x), not e("d", x)\nc(x) :- e(x, x)\nc("d")\nnot c("B c")')
    back = read_theory_text(write(theory, check(theory), "pl"), "pl")
    for each in (theory, back):
        holds = [row.text for row in Model(each).infer(["c", "d"]).rows() if row.probability]
        assert sorted(holds) == ['c("a")', 'c("d")', 'd("a")', 'd("d")']
