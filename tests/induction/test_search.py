"""Rules that are planted in random worlds are found, and carry over to worlds never seen."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest

from herbrand.induction.database import Database, World
from herbrand.induction.evaluation import Clause, evaluated
from herbrand.induction.examples import Examples
from herbrand.induction.extraction import mistakes
from herbrand.induction.limits import Effort, Limits
from herbrand.induction.search import SearchResult, search
from herbrand.language.parse import parse_theory
from tests.induction.rule_clauses import clause_of
from tests.laws import long

ARITIES = {"wet": 0, "red": 1, "old": 1, "edge": 2, "near": 2, "between": 3}
PLANTED = {
    "one literal": "t(x) :- red(x)",
    "turned": "t(x, y) :- edge(y, x)",
    "a loop": "t(x) :- edge(x, x)",
    "two literals": "t(x) :- red(x), old(x)",
    "a step": "t(x) :- edge(x, y), red(y)",
    "two steps": "t(x, y) :- edge(x, z), near(z, y)",
    "a triangle": "t(x) :- edge(x, y), edge(y, z), edge(z, x)",
    "two ways": "t(x, y) :- edge(x, y)\nt(x, y) :- near(y, x)",
    "three arguments": "t(x, y) :- between(x, z, y)",
    "apart": "t(x) :- edge(x, y), edge(x, z), y != z",
    "not": "t(x) :- red(x), not old(x)",
    "an exception of two": "t(x) :- red(x), not loose(x)\nloose(x) :- edge(x, y), old(y)",
    "the weather": "t(x) :- red(x), wet",
    "a world": "t :- red(x), edge(x, x)",
    "the weather of a world": "t :- wet, edge(x, y), old(x)",
    "not a world": "t :- wet, not looped\nlooped :- edge(x, x)",
}


def worlds(seed: int, count: int, objects: int) -> list[World]:
    rng = np.random.default_rng(seed)
    dense = {0: 0.5, 1: 0.5, 2: 0.15, 3: 0.03}
    return [
        World(objects, {n: np.argwhere(rng.random((objects,) * a) < dense[a]) for n, a in ARITIES.items()})
        for _ in range(count)
    ]


def planted(text: str) -> list[Clause]:
    clauses = [clause_of(rule) for rule in parse_theory(text).rules]
    return sorted(clauses, key=lambda clause: clause.head == "t")


def truth(clauses: list[Clause], database: Database) -> np.ndarray:
    return evaluated(clauses, database).tables["t"]


def found_in(text: str, database: Database, limits: Limits | None = None) -> SearchResult:
    clauses = planted(text)
    arity = len(next(clause for clause in clauses if clause.head == "t").variables)
    return search(Examples.of("t", truth(clauses, database), arity, database), database, limits)


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_is_found_and_carries_over(name: str) -> None:
    text = PLANTED[name]
    sizes = (80, 4) if text.startswith("t :-") else (16, 8)
    limits = Limits(beam=20, sample=150, effort=Effort(most=1_500))
    found = found_in(text, Database.of(worlds(1, *sizes)), limits)
    assert (found.missed, found.wrong) == (0, 0)
    fresh = Database.of(worlds(2, sizes[0] // 2, sizes[1] + 1))
    assert mistakes(found.clauses, fresh, "t", truth(planted(text), fresh)) == 0


def test_of_too_few_clauses_what_is_missed_is_told() -> None:
    database = Database.of(worlds(1, 6, 6))
    text = PLANTED["two ways"]
    limits = Limits(clauses=1, beam=10, sample=100, effort=Effort(most=500))
    found = found_in(text, database, limits)
    right = truth(planted(text), database)
    assert len(found.clauses) == 1 and found.missed > 0
    assert mistakes(found.clauses, database, "t", right) == found.missed + found.wrong


def test_without_exceptions_nothing_is_invented() -> None:
    database = Database.of(worlds(1, 12, 7))
    limits = Limits(exceptions=0, beam=10, sample=100, effort=Effort(most=500))
    found = found_in(PLANTED["an exception of two"], database, limits)
    assert {clause.head for clause in found.clauses} <= {"t"}
    assert not any(x.predicate not in ARITIES for clause in found.clauses for x in clause.body)


def test_equal_searches_are_equal() -> None:
    database = Database.of(worlds(3, 8, 6))
    one, other = (found_in(PLANTED["two steps"], database, Limits(beam=10, sample=60)) for _ in range(2))
    assert one == other


def test_no_time_left_is_no_clause() -> None:
    database = Database.of(worlds(1, 6, 6))
    limits = Limits(until=time.monotonic() - 1)
    found = found_in(PLANTED["two steps"], database, limits)
    assert found.clauses == () and found.missed == len(truth(planted(PLANTED["two steps"]), database))


def test_only_predicates_that_are_named_are_looked_at() -> None:
    database = Database.of(worlds(1, 8, 6))
    clauses = planted(PLANTED["one literal"])
    examples = Examples.of("t", truth(clauses, database), 1, database)
    limits = Limits(beam=10, sample=60, effort=Effort(most=300))
    found = search(examples, database, limits, ["old", "edge"])
    assert {x.predicate for clause in found.clauses for x in clause.body if x.predicate in ARITIES} <= {
        "old",
        "edge",
    }


def test_a_clause_says_no_more_than_it_needs() -> None:
    """Literals and inequalities that change nothing are dropped."""
    found = found_in(PLANTED["a step"], Database.of(worlds(1, 12, 7)), Limits(beam=20, sample=150))
    (clause,) = found.clauses
    assert sorted(literal.predicate for literal in clause.body) == ["edge", "red"] and clause.apart == ()


NODES = [World(20, {"node": np.arange(20)[:, None], "wet": np.empty((1, 0), np.int64)}) for _ in range(3)]


def test_what_holds_of_all_needs_one_clause() -> None:
    """No test tells the examples apart, so no clause was tried: there was no rule, or one for each name."""
    database = Database.of(NODES)
    objects = np.arange(len(database.world_of))[:, None]
    found = search(Examples.of("t", objects, 1, database), database, Limits(effort=Effort(most=200)))
    assert found.clauses == (clause_of(parse_theory("t(x) :- node(x)").rules[0]),)
    assert not found.errors


def test_what_holds_in_all_worlds_needs_no_body() -> None:
    database = Database.of(NODES)
    examples = Examples.of("t", np.arange(3)[:, None], 0, database)
    found = search(examples, database, Limits(effort=Effort(most=200)))
    assert [clause.body for clause in found.clauses] == [()] and not found.errors


def test_no_positive_needs_no_clause() -> None:
    database = Database.of(worlds(1, 2, 4))
    found = search(Examples.of("t", np.empty((0, 1), np.int64), 1, database), database)
    assert (found.clauses, found.missed, found.wrong) == ((), 0, 0)


RECURSIVE = {
    "even": "t(x) :- zero(x)\nt(x) :- t(y), next(y, z), next(z, x)",
    "reachable": "t(x, y) :- edge(x, y)\nt(x, y) :- edge(x, z), t(z, y)",
}


FROM_FEW = {
    "by open nodes": "t(x) :- zero(x)\nt(x) :- edge(x, y), t(y), red(x)",
    "both ways": "t(x, y) :- edge(x, y)\nt(x, y) :- edge(y, x)\nt(x, y) :- t(x, z), t(z, y), x != y",
    "two bases": "t(x, y) :- edge(x, y)\nt(x, y) :- near(x, y)\nt(x, y) :- t(x, z), t(z, y)",
}
"""Recursion where the target also follows from itself in circles: ``t(x, y) :- t(y, x)`` is true of most."""


def chains(seed: int, count: int, objects: int) -> list[World]:
    """Sparse graphs in which ways are long, and as many numbers in a row."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        order = rng.permutation(objects)
        edges = [(a, b) for a, b in pairwise(order) if rng.random() < 0.8]
        facts = {
            "edge": edges + [tuple(rng.choice(objects, 2, replace=False)) for _ in range(objects // 6)],
            "red": [(o,) for o in range(objects) if rng.random() < 0.8],
            "zero": [(0,)],
            "next": [(o, o + 1) for o in range(objects - 1)],
        }
        found.append(World(objects, facts))
    return found


def forests(seed: int, count: int, objects: int) -> list[World]:
    """Trees whose edges lead downwards, and some edges of another kind from older to younger nodes."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        edges = [(int(rng.integers(max(0, o // 2 - 1), o)), o) for o in range(1, objects)]
        others = [(int(rng.integers(o)), o) for o in range(2, objects, 4)]
        red = [(o,) for o in range(objects) if rng.random() < 0.8]
        facts = {"edge": edges, "near": others, "red": red, "zero": [(objects - 1,), (objects - 2,)]}
        found.append(World(objects, facts))
    return found


@pytest.mark.parametrize("name", long(FROM_FEW, 1))
def test_recursion_is_found_where_circles_mislead(name: str) -> None:
    clauses = [clause_of(rule) for rule in parse_theory(FROM_FEW[name]).rules]
    arity = len(clauses[0].variables)
    worlds = chains if name == "both ways" else forests
    database = Database.of(worlds(1, 6, 10))
    examples = Examples.of("t", truth(clauses, database), arity, database)
    found = search(examples, database, Limits(effort=Effort(most=6_000)))
    assert (found.missed, found.wrong) == (0, 0)
    fresh = Database.of(worlds(2, 4, 24))
    assert mistakes(found.clauses, fresh, "t", truth(clauses, fresh)) == 0


@pytest.mark.parametrize("name", long(RECURSIVE, 1))
def test_recursion_carries_over_to_longer_ways(name: str) -> None:
    """From a few worlds of ten objects to worlds of thirty, where every chain of joins is too short."""
    clauses = [clause_of(rule) for rule in parse_theory(RECURSIVE[name]).rules]
    database = Database.of(chains(1, 5, 10))
    arity = len(clauses[0].variables)
    examples = Examples.of("t", truth(clauses, database), arity, database)
    found = search(examples, database, Limits(beam=16, sample=400, effort=Effort(most=6_000)))
    assert (found.missed, found.wrong) == (0, 0)
    fresh = Database.of(chains(2, 3, 30))
    assert mistakes(found.clauses, fresh, "t", truth(clauses, fresh)) == 0


@pytest.mark.parametrize("seed", long(range(2), 1))
def test_a_few_false_labels_buy_no_literals(seed: int) -> None:
    """One label in twenty is turned; the planted rule comes out as it is."""
    database = Database.of(worlds(seed, 16, 8))
    clauses = planted("t(x) :- red(x), edge(x, y), old(y)")
    examples = Examples.of("t", truth(clauses, database), 1, database)
    rng = np.random.default_rng(seed)
    turned = rng.random(len(examples.rows)) < 0.05
    noisy = Examples("t", examples.rows, examples.positive ^ turned)
    found = search(noisy, database, Limits(beam=12, effort=Effort(most=600)))
    assert found.missed + found.wrong == turned.sum()
    fresh = Database.of(worlds(seed + 100, 8, 9))
    assert mistakes(found.clauses, fresh, "t", truth(clauses, fresh)) == 0
    assert sum(clause.literals for clause in found.clauses) == 3


def things_with_parts(seed: int, things: int) -> World:
    """Each of a few things has two to four parts, which have properties and touch each other."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(2, 5, things)
    whole = np.repeat(np.arange(things), counts)
    objects = things + len(whole)
    part = [(int(one), things + place) for place, one in enumerate(whole)]
    touch = [(y, z) for x, y in part for u, z in part if x == u and y < z and rng.random() < 0.4]
    tables = {name: [(y,) for _, y in part if rng.random() < 0.4] for name in "abcdefgh"}
    return World(objects, {"part": part, "touch": touch, **tables})


@pytest.mark.parametrize("seed", range(3))
def test_six_examples_are_soon_done_with(seed: int) -> None:
    """Labels of so few bits cannot tell long clauses apart; the short one that was planted is found."""
    database = Database.of([things_with_parts(seed, 6)])
    clauses = planted("t(x) :- part(x, y), a(y), b(y)")
    positive = np.isin(np.arange(6), truth(clauses, database))
    examples = Examples("t", np.arange(6)[:, None], positive)
    limits = Limits(effort=Effort(most=10_000))
    found = search(examples, database, limits)
    assert (found.missed, found.wrong) == (0, 0)
    assert found.literals <= 4
    assert limits.effort.done < 1_000


def test_six_labels_that_nothing_explains_are_soon_left() -> None:
    database = Database.of([things_with_parts(0, 6)])
    examples = Examples("t", np.arange(6)[:, None], np.arange(6) % 2 == 0)
    limits = Limits(effort=Effort(most=50_000))
    search(examples, database, limits)
    assert limits.effort.done < 4_000


def test_without_noise_there_are_no_errors_if_rules_can_do_without() -> None:
    database = Database.of(worlds(1, 6, 6))
    clauses = planted(PLANTED["two literals"])
    examples = Examples.of("t", truth(clauses, database), 1, database)
    examples.positive[np.flatnonzero(~examples.positive)[0]] = True
    found = search(examples, database, Limits(noise=0.0, beam=10, effort=Effort(most=2_000)))
    assert found.wrong == 0


def test_a_clock_cuts_what_was_done_and_changes_nothing_else() -> None:
    """With the work counted, a later end of the clock gives the same rules."""
    database = Database.of(worlds(3, 8, 6))
    found = [
        found_in(
            PLANTED["two ways"], database, Limits(effort=Effort(most=400), until=time.monotonic() + seconds)
        )
        for seconds in (300, 3_000)
    ]
    assert found[0] == found[1]


def test_what_a_sample_lets_pass_joins_it() -> None:
    database = Database.of(worlds(1, 16, 8))
    limits = Limits(beam=10, sample=5, effort=Effort(most=3_000))
    found = found_in(PLANTED["turned"], database, limits)
    assert (found.missed, found.wrong) == (0, 0)


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("sign", [">=", "<="])
def test_thresholds_and_constants(sign: str, typed: bool) -> None:
    """A number that is high or low enough, and a name; where nothing is ``typed`` numbers and colours are
    negative examples too, and constants were not tried, as if they were names of examples."""
    rng = np.random.default_rng(0)
    items = []
    for _ in range(6):
        size = rng.integers(0, 12, 10)
        facts = {
            "size": [(o, 10 + int(size[o])) for o in range(10)],
            "colour": [(o, 22 + int(rng.integers(3))) for o in range(10)],
        }
        items.append(World(25, facts, (*(f"o{n}" for n in range(10)), *range(12), "red", "green", "blue")))
    database = Database.of(items)
    clauses = [clause_of(r) for r in parse_theory(f't(x) :- size(x, y), y {sign} 6, colour(x, "red")').rules]
    named = np.concatenate([start + np.arange(10) for start in database.starts[:-1]])[:, None]
    rows = named if typed else database.every_tuple(1)
    positive = np.isin(rows[:, 0], truth(clauses, database)[:, 0])
    found = search(Examples("t", rows, positive), database, Limits(beam=10, effort=Effort(most=1_500)))
    assert (found.missed, found.wrong) == (0, 0)
    (rule,) = found.clauses
    assert rule.literals == 3 and any(one.binds for one in rule.conditions)


def test_names_of_single_objects_are_no_constants() -> None:
    """Each car stands in several tables, but in one row of each."""
    trains, cars = range(40), range(40, 120)
    tables = {"has": [(c % 40, c) for c in cars], "long": [(c,) for c in cars if c % 3]}
    constants = tuple(f"n{number}" for number in range(120))
    database = Database.of([World(120, tables, constants)])
    rng = np.random.default_rng(2)
    labels = np.array([[train] for train in trains])
    examples = Examples("t", labels, rng.random(40) < 0.5)
    found = search(examples, database, Limits(effort=Effort(most=300)))
    assert not [one for clause in found.clauses for one in clause.conditions if isinstance(one.value, str)]
