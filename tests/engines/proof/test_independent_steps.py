"""Probabilities by steps of independent events, against the walk through all worlds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.proof.goals import read_goal
from herbrand.engines.proof.probability import PossibleWorlds
from herbrand.engines.proof.query import Proof
from herbrand.facts.load import fact_sources, load_facts
from herbrand.language import syntax as s
from herbrand.language.check import check
from herbrand.language.parse import parse_theory
from herbrand.language.show import show_formula
from herbrand.language.theory import Theory
from tests.laws import tries
from tests.oracles.possible_worlds import Worlds

NUMBERS = (1, 2)
RANGES = dict.fromkeys("xyz", NUMBERS)
UNCERTAIN, CERTAIN = {"a": 1, "b": 2, "c": 2, "e": 0}, {"near": 2, "odd": 1}
DERIVED = {"p": 1, "q": 2, "r": 0}
ARITY = UNCERTAIN | CERTAIN | DERIVED
MOST_WORLDS = 2**9
Facts = dict[tuple[str, tuple[int, ...]], float]
Program = tuple[list[s.Rule], Facts, s.Rule]
"""Rules, facts with their probabilities, and a goal as a rule."""

variables = st.sampled_from("xyz").map(s.Variable)
terms = st.one_of(variables, variables, variables, st.sampled_from(NUMBERS).map(s.Constant))


def atoms(*names: str) -> st.SearchStrategy[s.Atom]:
    return st.sampled_from(names).flatmap(
        lambda name: st.tuples(*[terms] * ARITY[name]).map(lambda row: s.Atom(name, row))
    )


def names_of(*parts: s.Formula) -> list[str]:
    found = (term for part in parts for leaf in s.walk(part) for term in s.leaf_terms(leaf))
    return list(dict.fromkeys(term.name for term in found if isinstance(term, s.Variable)))


@st.composite
def bodies(draw: st.DrawFn, *names: str) -> tuple[s.Formula, ...]:
    """Atoms of different predicates mostly, so that they are often independent."""
    held = draw(st.lists(atoms(*names), min_size=1, max_size=3, unique_by=lambda atom: atom.predicate))
    body: list[s.Formula] = list(held)
    known = names_of(*held)
    if known and draw(st.integers(0, 3)) == 0:
        left, right = (s.Variable(draw(st.sampled_from(known))) for _ in range(2))
        body.append(s.Comparison(draw(st.sampled_from(["!=", "<"])), left, right))
    if known and draw(st.integers(0, 4)) == 0:
        body.append(s.Not(s.Atom("odd", (s.Variable(draw(st.sampled_from(known))),))))
    return tuple(body)


@st.composite
def rules(draw: st.DrawFn, head: str, *names: str) -> s.Rule:
    body = draw(bodies(*names))
    known = [s.Variable(name) for name in names_of(*body)]
    term = st.sampled_from([*known, s.Constant(1)]) if known else st.just(s.Constant(1))
    row = tuple(draw(term) for _ in range(ARITY[head]))
    return s.Rule(s.Atom(head, row), body, draw(st.sampled_from([None, None, None, 0.5])))  # type: ignore[arg-type]


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Rules in two layers, facts with their probabilities, and a goal as a rule for its variables."""
    lower = draw(
        st.lists(st.sampled_from("pqr").flatmap(lambda h: rules(h, *UNCERTAIN, *CERTAIN)), max_size=2)
    )
    made = sorted({rule.head.predicate for rule in lower})
    upper = [draw(rules("r", *UNCERTAIN, *CERTAIN, *made))] if "r" not in made else []
    facts: Facts = {}
    for name, arity in (UNCERTAIN | CERTAIN).items():
        every = list(itertools.product(NUMBERS, repeat=arity))
        for row in draw(st.lists(st.sampled_from(every), max_size=3, unique=True)):
            facts[name, row] = 1.0 if name in CERTAIN else draw(st.sampled_from([0.5, 0.25, 0.8, 1.0]))
    goal = draw(bodies(*UNCERTAIN, *CERTAIN, *{rule.head.predicate for rule in (*lower, *upper)}))
    goal = tuple(part for part in goal if isinstance(part, s.Atom))
    head = s.Atom("goal", tuple(map(s.Variable, names_of(*goal))))
    return [*lower, *upper], facts, s.Rule(head, goal)


def count_worlds(rules: list[s.Rule], facts: Facts) -> int:
    count = 2 ** sum(p < 1 for p in facts.values())
    for rule in rules:
        if rule.weight is not None:
            bound = (part for part in (rule.head, *rule.body) if not isinstance(part, s.Not))
            count *= 2 ** (len(NUMBERS) ** len(names_of(*bound)))
    return count


@settings(deadline=None, max_examples=tries(600, 50))
@given(programs())
def test_as_the_walk_through_all_worlds(
    program: Program,
) -> None:
    rules, facts, goal = program
    if count_worlds(rules, facts) > MOST_WORLDS:
        return
    model, asked = hb.Model(theory_of(rules, facts)), " and ".join(map(show_formula, goal.body))
    choices = [[(p, atom), (1 - p, None)] for atom, p in facts.items()]
    lower = [rule for rule in rules if rule.head.predicate != "r"]
    upper = [rule for rule in rules if rule.head.predicate == "r"]
    _, (expected,) = Worlds([lower, upper], choices, RANGES).conditional([goal], [])
    found = model.query(asked, algebra="probability")
    told = {tuple(row.bindings.values()): row.weight for row in found.rows()}
    assert found.guarantee == "exact"
    assert told.keys() == {row for row, p in expected.items() if p}
    assert all(math.isclose(told[row], expected[row], rel_tol=1e-9) for row in told)


def theory_of(rules: list[s.Rule], facts: Facts) -> Theory:
    n = s.TypeDeclaration("n", tuple(map(s.Constant, NUMBERS)))
    declared = [n, *(s.PredicateDeclaration(name, ("n",) * arity) for name, arity in ARITY.items())]
    return Theory((*declared, *map(fact, facts, facts.values()), *rules))


def fact(atom: tuple[str, tuple[int, ...]], weight: float) -> s.FactRows:
    return s.FactRows(atom[0], tuple((value,) for value in atom[1]), 1, "weighted", (weight,))


INDEPENDENT = {
    "a fact": ("p(x) :- a(x)", "p(x)"),
    "a variable of two": ("r :- a(x), b(x, y)", "r"),
    "two under one": ("r :- a(x), b(x, y), c(x, z)", "r"),
    "what heads have is fixed": ("q(x, z) :- b(x, y), c(y, z), a(y)", "q(x, z)"),
    "a constant asked for": ("q(x, z) :- b(x, y), c(z, y)", "q(1, 2)"),
    "rules of different facts": ("p(x) :- a(x)\np(x) :- b(x, y)", "p(x)"),
    "what rules derive, below": ("p(x) :- b(x, y)\nr :- p(x), a(x)", "r"),
    "links that are certain": ("r :- near(x, y), a(y)", "r"),
    "a rule with a weight": ("p(x) :- a(x), b(x, y) @ 0.5", "p(x)"),
    "a test": ("r :- b(x, y), x != y, a(x)", "r"),
}
DEPENDENT = {
    "the hard one": ("r :- a(x), b(x, y), p(y)\np(x) :- c(x, x)", "r"),
    "a predicate twice": ("r :- a(x), b(x, y), a(y)", "r"),
    "facts shared by two rules": ("p(x) :- a(x)\np(x) :- b(x, y), a(y)", "p(x)"),
    "what all answers rest on, met again": ("q(x, y) :- a(x), b(y, y)\nr :- q(x, y), near(x, y)", "r"),
    "recursion": ("q(x, y) :- b(x, y)\nq(x, y) :- b(x, z), q(z, y)", "q(x, y)"),
    "uncertain absence": ("r :- a(x), not e", "r"),
    "many values": ('r :- hue(x) = "red", a(x)', "r"),
}
FACTS = {
    "a": [(1, 0.5), (2, 0.25)],
    "b": [(1, 1, 0.5), (1, 2, 0.8), (2, 2, 0.5)],
    "c": [(1, 1, 0.5), (2, 1, 0.8), (2, 2, 0.25)],
}


@pytest.mark.parametrize("which", INDEPENDENT)
def test_independent_events_are_added_up(which: str) -> None:
    assert in_steps(*INDEPENDENT[which])


@pytest.mark.parametrize("which", DEPENDENT)
def test_other_events_are_not(which: str) -> None:
    assert not in_steps(*DEPENDENT[which])


@pytest.mark.parametrize("which", ["a fact", "a rule with a weight"])
def test_one_row_of_bindings_is_a_constant_of_the_goal(which: str) -> None:
    """One row goes by steps, several go by the circuit."""
    rules, goal = INDEPENDENT[which]
    model = hb.Model(hb.parse(with_facts(rules)))
    several = model.query(goal, algebra="probability", bindings={"x": [1, 2]})
    for value in NUMBERS:
        one = model.query(goal, algebra="probability", bindings={"x": [value]})
        assert [(row.bindings["x"], row.weight) for row in one.rows()] == [
            (value, pytest.approx(several[value]))
        ]


def in_steps(rules: str, goal: str) -> bool:
    theory = parse_theory(with_facts(rules))
    program = Proof.of(theory.rules, *load_facts(theory.facts, check(theory), fact_sources({}))).program
    asked = read_goal(goal, program)
    return PossibleWorlds(program).in_steps(asked.shape.clause, [asked.inputs], None) is not None


def with_facts(rules: str) -> str:
    """A theory of these rules over few facts with probabilities."""
    words = [
        f"predicate {name}({', '.join(['n'] * n)})" if n else f"predicate {name}" for name, n in ARITY.items()
    ]
    words += [
        'predicate hue(n) in {"red", "green"}',
        'hue(1) = "red" ~ 0.5',
        "e @ 0.5",
        "near(1, 2)",
        "near(2, 1)",
    ]
    return "\n".join(["type n = {1, 2}", *words, *weighted_facts(), rules])


def weighted_facts() -> list[str]:
    rows = [(name, *row) for name, own in FACTS.items() for row in own]
    return [f"{name}({', '.join(map(str, row))}) @ {p}" for name, *row, p in rows]


def test_many_facts_need_no_circuit() -> None:
    """Half a million ground proofs would be refused."""
    count = 100_000
    few, many = np.arange(count), np.arange(5 * count)
    facts = {
        "a": pa.table({"x": few, "weight": np.full(count, 0.001)}),
        "b": pa.table({"x": many % count, "y": many, "weight": np.full(5 * count, 0.5)}),
    }
    model = hb.Model(hb.parse("r :- a(x), b(x, y)"), facts)
    expected = 1 - (1 - 0.001 * (1 - 0.5**5)) ** count
    assert model.query("r", algebra="probability")[()] == pytest.approx(expected, abs=1e-12)
