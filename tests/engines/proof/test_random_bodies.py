"""Rules whose tests and ``not`` tie parts of a body together, in any order, asked in every mode.

A literal may stand before what binds its variables, and a variable may hang on the rest of the body by a test
alone. Every answer is held against plain loops, in memory and on a database.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.language import syntax as s
from herbrand.language.show import show_formula
from tests.engines.proof import programs as parts
from tests.engines.proof.programs import COLUMNS, NAMES, PLACES, TYPES, Program
from tests.engines.proof.test_against_proofs import plus, told
from tests.laws import tries
from tests.oracles.proofs import goal_answers

QUICK = settings(
    max_examples=tries(25),
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
ON_DUCKDB = settings(QUICK, max_examples=3)
LONG = settings(QUICK, max_examples=tries(1500))
LONG_ON_DUCKDB = settings(QUICK, max_examples=tries(150))

unequal = st.builds(
    s.Comparison, st.sampled_from(["!=", "!=", "<", ">="]), *[st.sampled_from("xyzw").map(s.Variable)] * 2
)


@st.composite
def tied_rules(draw: st.DrawFn, head: str, positive: tuple[str, ...], negative: tuple[str, ...]) -> s.Rule:
    """Two to four atoms, and up to three tests and negated atoms over what the atoms bind."""
    lookups = draw(st.lists(parts.atoms(*positive), min_size=2, max_size=4))
    known = set().union(*map(parts.names_of, lookups))
    tests = [test for test in draw(st.lists(unequal, max_size=2)) if parts.names_of(test) <= known]
    negated = [s.Not(atom) for atom in draw(st.lists(parts.atoms(*negative), max_size=2))]
    body = draw(st.permutations([*lookups, *tests, *negated]))
    arguments = []
    for kind in COLUMNS[head]:
        bound = sorted(known & set(NAMES[kind]))
        of_head = [st.sampled_from(bound).map(s.Variable)] if bound else []
        arguments.append(draw(st.one_of(*of_head * 5, parts.constants[kind])))
    return s.Rule(s.Atom(head, tuple(arguments)), tuple(body))


@st.composite
def tied_programs(draw: st.DrawFn) -> Program:
    """``a`` and ``p`` over the facts, ``k`` and ``q`` over these, with ``not`` before either."""
    stated = ("e", "f", "u", "v", "t")
    lower = [draw(tied_rules(name, stated, stated)) for name in draw(st.sampled_from(["a", "p", "ap"]))]
    derived = tuple(rule.head.predicate for rule in lower)
    upper = [
        draw(tied_rules(draw(st.sampled_from("kq")), (*stated, *derived), (*stated, *derived)))
        for _ in range(draw(st.integers(1, 2)))
    ]
    facts: dict[str, dict[tuple[s.Value, ...], float]] = {}
    for name in stated:
        rows = st.tuples(*(st.sampled_from(TYPES[kind]) for kind in COLUMNS[name]))
        facts[name] = dict.fromkeys(sorted(draw(st.sets(rows, min_size=1, max_size=5))), 1.0)  # type: ignore[type-var]
    return Program(lower, upper, facts)


def every_mode(name: str, row: tuple[s.Value, ...]) -> Iterator[s.Atom]:
    """The goal with every choice of its arguments known."""
    variables = [s.Variable(f"g{place}") for place in range(len(row))]
    for known in itertools.product((False, True), repeat=len(row)):
        terms = (s.Constant(value) if k else v for k, v, value in zip(known, variables, row, strict=True))
        yield s.Atom(name, tuple(terms))


@st.composite
def questions(draw: st.DrawFn) -> tuple[Program, list[s.Atom]]:
    program = draw(tied_programs())
    goals: list[s.Atom] = []
    for name in {rule.head.predicate: None for rule in program.rules}:
        goals += every_mode(name, tuple(draw(st.sampled_from(values)) for values in PLACES[name]))
    return program, goals


def check_all_modes(question: tuple[Program, list[s.Atom]]) -> None:
    """Counts to a depth and to the fixpoint, and the least model."""
    program, goals = question
    oracle, model = program.proofs(), program.model()
    truths = program.truths()
    for goal in goals:
        counts = goal_answers(goal, oracle.answers(goal.predicate, 3), plus)
        holds = goal_answers(goal, dict.fromkeys(truths[goal.predicate], 1.0), max)
        text = show_formula(goal)
        assert told(model.query(text)) == counts
        assert told(model.query(text, depth="fixpoint")) == counts
        assert told(model.query(text, algebra="boolean")) == holds
        assert told(model.query(text, algebra="probability")) == holds
        assert told(model.query(text, algebra="max", depth="fixpoint")) == holds


def check_on_duckdb(question: tuple[Program, list[s.Atom]]) -> None:
    program, goals = question
    oracle, truths = program.proofs(), program.truths()
    with tempfile.TemporaryDirectory() as folder:
        model = hb.Model(program.model().theory, on=f"duckdb:{folder}/w.duckdb")
        counted = model.query([show_formula(goal) for goal in goals])
        proved = model.query([show_formula(goal) for goal in goals], algebra="boolean", depth="fixpoint")
    for goal, counts, holds in zip(goals, counted, proved, strict=True):
        assert told(counts) == goal_answers(goal, oracle.answers(goal.predicate, 3), plus)
        assert told(holds) == goal_answers(goal, dict.fromkeys(truths[goal.predicate], 1.0), max)


@QUICK
@given(questions())
def test_all_modes(question: tuple[Program, list[s.Atom]]) -> None:
    check_all_modes(question)


@ON_DUCKDB
@given(questions())
def test_all_modes_on_duckdb(question: tuple[Program, list[s.Atom]]) -> None:
    check_on_duckdb(question)


@pytest.mark.slow
@LONG
@given(questions())
def test_more_of_all_modes(question: tuple[Program, list[s.Atom]]) -> None:
    check_all_modes(question)


@pytest.mark.slow
@LONG_ON_DUCKDB
@given(questions())
def test_more_of_all_modes_on_duckdb(question: tuple[Program, list[s.Atom]]) -> None:
    check_on_duckdb(question)


FACTS = """
user("u1")
user("u2")
likes("u1", "a")
likes("u2", "b")
stock("a")
stock("b")
e("a", "b")
item(i) :- stock(i)
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (["user(u)", "likes(u, v)", "item(z)", "v != z"], {"a": 1, "b": 1}),
        (["user(u)", "likes(u, v)", "stock(z)", "v != z"], {"a": 1, "b": 1}),
        (["user(u)", "likes(u, v)", "item(z)", "not e(v, z)"], {"a": 2, "b": 1}),
        (["user(u)", "likes(u, v)", "item(z)", "not e(v, z)", "v != z"], {"a": 1}),
    ],
)
def test_a_test_binds_nothing(body: list[str], expected: dict[str, float]) -> None:
    """The variable of the head is bound by one atom, and tied to the others by a test alone."""
    orders = list(itertools.permutations(body))
    for order in orders[:: len(orders) // tries(len(orders), 24)]:
        model = hb.Model(hb.parse(f"{FACTS}cross(z) :- {', '.join(order)}"))
        for depth in (10, "fixpoint"):
            assert told(model.query("cross(z)", depth=depth)) == {(z,): n for z, n in expected.items()}
        for constant in "ab":
            found = told(model.query(f'cross("{constant}")'))
            assert found == ({(): expected[constant]} if constant in expected else {})
