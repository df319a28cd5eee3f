"""Exact evaluation against trying every binding; the search; Horn rules as weights."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from benchmarks.rule_weights import compile_rules
from benchmarks.worlds.tasks import TASKS, task_named
from herbrand.errors import HerbrandError
from herbrand.induction.database import Database, World, worlds_of
from herbrand.induction.evaluation import evaluated
from herbrand.induction.examples import Examples
from herbrand.induction.extraction import mistakes, verify
from herbrand.induction.limits import Effort, Limits
from herbrand.induction.search import search
from herbrand.language.parse import parse_theory
from herbrand.language.syntax import Atom, Comparison, Not, Rule, Variable
from herbrand.language.theory import Theory, show
from tests.induction.rule_clauses import clause_of
from tests.laws import tries
from tests.oracles.logic_machine import conclusions

PHASES = [Phase.reuse, Phase.generate]
ARITIES = {"p": 1, "q": 2, "r": 2, "s": 3}
VARIABLES = tuple(map(Variable, "xyzu"))


@st.composite
def rule(
    draw: st.DrawFn, head: str, arity: int, known: dict[str, int], most: int = 4, apart: bool = False
) -> Rule:
    variables = VARIABLES[:most]
    heads = variables[:arity] if apart else tuple(draw(st.sampled_from(variables)) for _ in range(arity))

    def atom() -> Atom:
        name = draw(st.sampled_from(sorted(known)))
        if apart:
            return Atom(name, tuple(draw(st.permutations(variables))[: known[name]]))
        return Atom(name, tuple(draw(st.sampled_from(variables)) for _ in range(known[name])))

    positive = [atom() for _ in range(draw(st.integers(1, 3)))]
    bound = {term for a in positive for term in a.arguments}
    body: list[Any] = list(positive)
    if draw(st.booleans()):
        negated = atom()
        if not apart and draw(st.booleans()):
            free = draw(st.integers(0, len(negated.arguments) - 1))
            places = (Variable("_") if n == free else term for n, term in enumerate(negated.arguments))
            negated = Atom(negated.predicate, tuple(places))
        named = {term for term in negated.arguments if not term.anonymous}
        if apart or named <= bound | set(heads):
            body.append(Not(negated))
            bound |= named
    used = sorted({*bound, *heads}, key=lambda v: v.name)
    pairs = list(combinations(used, 2))
    body += [Comparison("!=", *pair) for pair in pairs if apart or draw(st.integers(0, 3)) == 0]
    return Rule(Atom(head, heads), tuple(body))


@st.composite
def worlds(draw: st.DrawFn, arities: dict[str, int], most: int = 4) -> list[World]:
    found = []
    for _ in range(draw(st.integers(1, 2))):
        objects = draw(st.integers(1, most))
        rng = np.random.default_rng(draw(st.integers(0, 999)))
        facts = {name: np.argwhere(rng.random((objects,) * arity) < 0.4) for name, arity in arities.items()}
        found.append(World(objects, facts))
    return found


def tuples(world: World) -> dict[str, set[tuple[int, ...]]]:
    return {name: {tuple(map(int, row)) for row in rows} for name, rows in world.facts.items()}


def of_world(database: Database, name: str, number: int, arity: int) -> set[tuple[int, ...]]:
    rows = database.tables[name]
    if arity == 0:
        return {()} if number in rows[:, 0] else set()
    start, end = database.starts[number : number + 2]
    return {tuple(map(int, row - start)) for row in rows if start <= row[0] < end}


@settings(max_examples=tries(80), deadline=None, phases=PHASES)
@given(st.data())
def test_evaluation_equals_trying_every_binding(data: st.DataObject) -> None:
    arity = data.draw(st.integers(0, 2))
    rules = [data.draw(rule("one", 1, ARITIES)), data.draw(rule("two", arity, {**ARITIES, "one": 1}))]
    made = data.draw(worlds(ARITIES))
    database = evaluated([clause_of(r) for r in rules], Database.of(made))
    for number, world in enumerate(made):
        expected = conclusions(rules, tuples(world), range(world.objects))
        for name, width in (("one", 1), ("two", arity)):
            assert of_world(database, name, number, width) == expected[name], show(Theory(tuple(rules)))


@settings(max_examples=tries(25), deadline=None, phases=PHASES)
@given(st.data())
def test_compiled_rules_conclude_what_they_derive(data: st.DataObject) -> None:
    known = {"p": 1, "q": 2, "r": 2}
    arity = data.draw(st.integers(0, 2))
    rules = [
        data.draw(rule("one", 1, known, 3, apart=True)),
        data.draw(rule("two", arity, {**known, "one": 1}, 3, apart=True)),
        data.draw(rule("two", arity, known, 3, apart=True)),
    ]
    compiled = compile_rules(Theory(tuple(rules)), known, "two")
    for world in data.draw(worlds(known)):
        tables = {r: torch.zeros(1, *[world.objects] * r, 3 - (r == 1) * 2 - (r == 2)) for r in (1, 2)}
        for name, (r, channel) in {"p": (1, 0), "q": (2, 0), "r": (2, 1)}.items():
            for row in tuples(world)[name]:
                tables[r][(0, *row, channel)] = 1.0
        truth = compiled(tables)[0] > 0.5
        expected = conclusions(rules, tuples(world), range(world.objects))["two"]
        assert {tuple(map(int, row)) for row in np.argwhere(truth.numpy())} == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t(x) :- q(x, y), t(y), x != y", "'t' is recursive"),
        ("t(x) :- q(x, y)", "lets two variables be one object"),
        ("t(x) :- u(x)", "'u' is neither derived nor among the inputs"),
        ('t(x) :- q(x, "a")', "names no constants"),
        ("t(x) :- p(x), not q(x, _)", "has '_' in a negated literal"),
        ("v(x) :- p(x)", "no rule derives 't'"),
    ],
)
def test_rules_that_do_not_fit_are_refused(text: str, message: str) -> None:
    with pytest.raises(HerbrandError, match=message):
        compile_rules(parse_theory(text), {"p": 1, "q": 2}, "t")


@pytest.mark.parametrize(
    "name",
    [
        *sorted(
            TASKS.keys()
            - {"4-connectivity", "6-connectivity", "maternal-great-uncle", "uncle", "2-out-degree"}
        ),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("4-connectivity", "2-out-degree")),
    ],
)
def test_the_search_finds_rules_that_carry_over(name: str) -> None:
    task = task_named(name)
    sample = task.draw_for_training(np.random.default_rng(0), 25, task.sizes[0])
    database = Database.of(worlds_of(task, sample))
    examples = Examples.of(task.target, database.tables[task.target], task.target_arity, database)
    effort = Effort(most=10_000 if name == "2-out-degree" else 3_000)
    found = search(examples, database.without(task.target), Limits(effort=effort))
    assert (found.missed, found.wrong) == (0, 0)
    assert verify(task, found.clauses, np.random.default_rng(1), 4, 2 * task.sizes[0]).perfect


def test_mistakes_are_counted_both_ways() -> None:
    database = Database.of([World(3, {"edge": [(0, 1), (1, 2)]})])
    clauses = [clause_of(r) for r in parse_theory("t(x) :- edge(x, y)").rules]
    assert mistakes(clauses, database, "t", np.array([[0], [2]])) == 2


def test_a_search_without_hope_finds_nothing() -> None:
    database = Database.of([World(3, {"edge": [(0, 1), (1, 2), (2, 0)]})])
    examples = Examples.of("t", np.array([[1]]), 1, database)
    found = search(examples, database)
    assert found.clauses == () and found.missed == 1


def test_every_variable_of_a_head_stands_in_an_atom() -> None:
    """With few examples ``mother(x, z), y != z`` would do, but says nothing of y."""
    mother, father = [(0, 1), (0, 2), (1, 3), (4, 5)], [(6, 1), (6, 2), (5, 3), (2, 7)]
    database = Database.of([World(8, {"mother": mother, "father": father})])
    rows = np.array([[0, 3], [6, 3], [0, 7], [6, 7], [4, 3], [1, 3]])
    limits = Limits(literals=4, effort=Effort(most=1_000))
    found = search(Examples("grandparent", rows, np.arange(6) < 5), database, limits)
    assert (found.missed, found.wrong) == (0, 0)
    for clause in found.clauses:
        assert set(clause.variables) <= {v for literal in clause.body for v in literal.variables}
