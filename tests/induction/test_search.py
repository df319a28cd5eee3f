"""Rules that are planted in random worlds are found, and carry over to worlds never seen."""

from __future__ import annotations

import time

import numpy as np
import pytest

from herbrand.induction.database import Database, World
from herbrand.induction.evaluation import Clause, clause_of, evaluated
from herbrand.induction.examples import Examples
from herbrand.induction.extraction import mistakes
from herbrand.induction.search import Found, Limits, search
from herbrand.language.parse import parse_theory

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


def found_in(text: str, database: Database, limits: Limits | None = None) -> Found:
    clauses = planted(text)
    arity = len(next(clause for clause in clauses if clause.head == "t").variables)
    return search(Examples.of("t", truth(clauses, database), arity, database), database, limits)


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_is_found_and_carries_over(name: str) -> None:
    text = PLANTED[name]
    sizes = (80, 4) if text.startswith("t :-") else (16, 8)
    found = found_in(text, Database.of(worlds(1, *sizes)), Limits(beam=20, sample=150))
    assert (found.missed, found.wrong) == (0, 0)
    fresh = Database.of(worlds(2, sizes[0] // 2, sizes[1] + 1))
    assert mistakes(found.clauses, fresh, "t", truth(planted(text), fresh)) == 0


def test_of_too_few_clauses_what_is_missed_is_told() -> None:
    database = Database.of(worlds(1, 6, 6))
    text = PLANTED["two ways"]
    found = found_in(text, database, Limits(clauses=1, beam=10, sample=100))
    right = truth(planted(text), database)
    assert len(found.clauses) == 1 and found.missed > 0
    assert mistakes(found.clauses, database, "t", right) == found.missed + found.wrong


def test_without_exceptions_nothing_is_invented() -> None:
    database = Database.of(worlds(1, 12, 7))
    found = found_in(PLANTED["an exception of two"], database, Limits(exceptions=0, beam=10, sample=100))
    assert {clause.head for clause in found.clauses} <= {"t"}
    assert not any(literal.negated for clause in found.clauses for literal in clause.body)


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
    found = search(examples, database, Limits(beam=10, sample=60), ["old", "edge"])
    assert {x.predicate for clause in found.clauses for x in clause.body if x.predicate in ARITIES} <= {
        "old",
        "edge",
    }


def test_a_clause_says_no_more_than_it_needs() -> None:
    """Literals and inequalities that change nothing are dropped."""
    found = found_in(PLANTED["a step"], Database.of(worlds(1, 12, 7)), Limits(beam=20, sample=150))
    (clause,) = found.clauses
    assert sorted(literal.predicate for literal in clause.body) == ["edge", "red"] and clause.apart == ()


def test_no_positive_needs_no_clause() -> None:
    database = Database.of(worlds(1, 2, 4))
    found = search(Examples.of("t", np.empty((0, 1), np.int64), 1, database), database)
    assert (found.clauses, found.missed, found.wrong) == ((), 0, 0)
