"""Bounds with variables, feature by feature of the language, beside a mass for every world.

Without independence both are linear programs: the exact engine gives the same intervals, messages none that
are narrower; with independence no interval is wider.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import herbrand as hb
from herbrand.errors import ContradictionError, UnsupportedError
from herbrand.language.parse import parse_probability
from tests.oracles.bounded_worlds import BoundedWorlds

PEOPLE = """
type p = {"a", "b", "c"}
predicate s(p)
predicate t(p)
predicate f(p, p): observed
f("a", "b")
f("b", "c")
f("c", "c")
"""
LINKS = """
type p = {"a", "b"}
predicate r(p, p)
predicate s(p)
"""
KINDS = """
type p = {"a", "b", "c"}
type k = {"u", "v"}
predicate kind(p) in {"u", "v"}: observed
predicate s(p)
predicate rain
kind("a") = "u"
kind("b") = "v"
kind("c") = "u"
"""

CASES = {
    "a rule for linked people": (
        PEOPLE + 'P(s(x) | s(y) and f(x, y)) in [0.6, 0.8]\nP(s("c")) <= 0.5',
        ['s("a")', 's("a") or s("b")', 's("a") | s("c")', 's("c") | not s("a")'],
    ),
    "the diagonal, where two atoms are one": (
        PEOPLE + "P(s(x) and s(y)) <= 0.4\nP(s(x) or not s(y)) >= 0.3",
        ['s("a")', 's("a") and s("b")', 's("a") xor s("b")'],
    ),
    "some person": (
        PEOPLE + "P(exists x: s(x)) <= 0.3\nP(exists x: s(x) and t(x)) >= 0.1",
        ['s("a")', "exists x: t(x)", "forall x: not s(x)", 't("b") | exists x: s(x)'],
    ),
    "every person": (
        PEOPLE + 'P(forall x: s(x) => t(x)) >= 0.9\nP(s("a")) >= 0.4',
        ['t("a")', 't("a") | s("a")', "exists x: s(x) and not t(x)"],
    ),
    "a quantifier beside a free variable": (
        PEOPLE + "P(s(x) | exists y: f(x, y) and t(y)) >= 0.7\nP(t(x)) in [0.4, 0.6]",
        ['s("a")', 's("a") | t("b")', 's("b") | t("c") and not s("a")'],
    ),
    "quantifiers within quantifiers": (
        LINKS + "P(forall x: exists y: r(x, y)) >= 0.8\nP(r(x, y)) <= 0.6",
        ['r("a", "b")', "exists y: forall x: r(x, y)", 'r("a", "a") | not r("a", "b")'],
    ),
    "a quantifier in what is given": (
        PEOPLE + "P(exists x: s(x) | exists x: t(x)) >= 0.6\nP(t(x)) >= 0.2",
        ["exists x: s(x)", 's("a") or s("b") or s("c")', 's("a") | t("a")'],
    ),
    "observed atoms in the event": (
        PEOPLE + "P(f(x, y) => s(y)) >= 0.7",
        ['s("a")', 's("b")', 's("c")'],
    ),
    "observed atoms that select in disjunctions": (
        PEOPLE + "P(s(x) | f(x, y) or t(y)) in [0.2, 0.3]\nP(t(x)) >= 0.5",
        ['s("a")', 's("b")', 's("c") | t("a")'],
    ),
    "what is not observed, given": (
        PEOPLE + "P(s(x) | not f(x, y) and s(y)) <= 0.2\nP(s(x)) <= 0.6",
        ['s("a") and s("b")', 's("a") | s("c")', 's("c") | s("a")'],
    ),
    "equality and inequality": (
        PEOPLE + "P(s(x) and s(y) | x != y) <= 0.1\nP(s(x)) in [0.3, 0.5]",
        ['s("a") and s("b")', 's("a") or s("b") or s("c")'],
    ),
    "equality in the event": (
        PEOPLE + "P(s(x) and (x = y or t(y))) <= 0.4",
        ['s("a")', 's("a") and t("b")', 't("c")'],
    ),
    "a constant among variables": (
        PEOPLE + 'P(s(x) | s("a")) >= 0.8\nP(s("a")) >= 0.5\nP(x = "a" or not s(x)) >= 0.1',
        ['s("b")', 's("b") and s("c")', 's("a") | s("b")'],
    ),
    "connectives": (
        PEOPLE + "P(s(x) <=> t(x)) >= 0.8\nP(s(x) xor s(y) xor t(x)) <= 0.6\nP(t(x) => s(y)) >= 0.5",
        ['s("a")', 't("a") and not s("b")', 's("a") xor t("b")', 's("b") | t("a") <=> s("a")'],
    ),
    "a flag changes no linear program": (
        PEOPLE + "P(s(x) or t(x) | f(x, y) and t(y)) <= 0.5 independent\nP(s(x)) >= 0.2",
        ['s("a")', 't("a") | s("b")'],
    ),
    "functional predicates": (
        KINDS
        + 'P(s(x) | kind(x) = "u") in [0.1, 0.2]\nP(s(x) | kind(x) in {"u", "v"}) <= 0.6\n'
        + "P(s(x) or rain) >= 0.3",
        ['s("a")', 's("b")', 's("c")', "rain", 'rain | s("a")'],
    ),
    "functional predicates in the event": (
        KINDS + 'P(kind(x) = "v" => s(x)) >= 0.7\nP(rain | s(x)) <= 0.5',
        ['s("a")', 's("b")', 'rain or s("b")', 'not s("b") | rain'],
    ),
    "facts of open predicates": (
        PEOPLE + 't("a")\nnot s("c")\nP(s(x) | t(x)) in [0.5, 0.7]\nP(t(x)) >= 0.2\nP(s(x)) >= 0.1',
        ['s("a")', 's("c")', 's("b")', 't("b") | s("a")', 's("a") | t("b")'],
    ),
    "the same said twice, and more": (
        PEOPLE + 'P(s(x)) <= 0.4\nP(s(y)) <= 0.4\nP(s("a")) <= 0.3\nf("a", "b")\nP(s(x)) <= 0.9',
        ['s("a")', 's("b")', 's("a") or s("b")'],
    ),
    "ends at 0 and 1": (
        PEOPLE + 'P(s(x) | t(x)) >= 1\nP(t("a")) <= 0\nP(t("b") or s("c")) >= 1',
        ['t("a")', 's("b")', 's("b") or s("c")', 't("b") | s("c")'],
    ),
    "points": (
        PEOPLE + "P(s(x)) = 0.25\nP(s(x) | t(x)) = 0.5",
        ['t("a")', 's("a") and s("b")', 's("a") | not t("a")'],
    ),
    "small and large numbers": (
        PEOPLE + "P(s(x)) <= 1e-3\nP(t(x)) >= 0.9999\nP(s(x) or t(y)) <= 1e0",
        ['s("a") or s("b")', 't("a") and t("b")', 's("a") | t("b")'],
    ),
    "one constant": (
        'type p = {"only"}\npredicate s(p)\npredicate r(p, p)\n'
        "P(s(x) and r(x, y)) in [0.2, 0.3]\nP(s(x) | r(y, x)) >= 0.5",
        [
            's("only")',
            'r("only", "only")',
            's("only") | r("only", "only")',
            "exists x: s(x)",
            "forall x: s(x)",
        ],
    ),
    "numbers as constants": (
        "type n = 1..3\npredicate s(n)\npredicate next(n, n): observed\nnext(1, 2)\nnext(2, 3)\n"
        "P(s(y) | s(x) and next(x, y)) >= 0.5\nP(s(1)) = 0.8",
        ["s(2)", "s(3)", "s(3) | s(1)", "s(1) and not s(3)"],
    ),
    "two types and no arguments": (
        'type p = {"a", "b"}\ntype w = {"u"}\npredicate likes(p, w)\npredicate alarm\n'
        "P(alarm | likes(x, y)) in [0.2, 0.4]\nP(exists y: likes(x, y)) >= 0.6",
        ["alarm", 'likes("a", "u") and alarm', 'likes("b", "u") | alarm'],
    ),
    "anonymous variables": (
        LINKS + "P(s(x) | r(x, _)) >= 0.9\nP(r(_, _)) in [0.3, 0.5]",
        ['s("a")', 'r("a", "b") and s("b")', 's("b") | r("b", "a") or r("b", "b")'],
    ),
}


def within(name: str) -> tuple[hb.Theory, BoundedWorlds, list[str]]:
    text, queries = CASES[name]
    apart = text.replace("r(x, _)", "r(x, u)").replace("r(_, _)", "r(v, w)")  # each a variable of its own
    return hb.parse(text), BoundedWorlds.of(hb.parse(apart)), queries


def some_of(first: int) -> list[Any]:
    """Every second case; the others take part in long runs."""
    return [
        name if place % 2 == first else pytest.param(name, marks=pytest.mark.slow)
        for place, name in enumerate(CASES)
    ]


@pytest.mark.parametrize("name", some_of(0))
def test_intervals_are_those_of_all_worlds(name: str) -> None:
    theory, worlds, queries = within(name)
    model = hb.Model(theory)
    for query in queries:
        event, given = parse_probability(query, valued=frozenset({"kind"}))
        truth = worlds.interval(event, given)
        ends = {}
        for engine, independence in (("exact", "none"), ("ariel", "none"), ("ariel", "markov")):
            try:
                (row,) = model.bound(f"P({query})", engine=engine, independence=independence).rows()
            except ContradictionError:
                ends[engine, independence] = None
                continue
            ends[engine, independence] = row.lower, row.upper
        exact, messages = ends["exact", "none"], ends["ariel", "none"]
        assert exact == (None if truth is None else pytest.approx(truth, abs=1e-6)), query
        if truth is not None:
            assert messages is not None
            assert messages[0] <= truth[0] + 1e-6 and truth[1] <= messages[1] + 1e-6, query
            markov = ends["ariel", "markov"]
            assert markov is None or (messages[0] - 1e-6 <= markov[0] and markov[1] <= messages[1] + 1e-6), (
                query
            )


@pytest.mark.parametrize("name", some_of(1))
def test_every_atom_is_that_of_all_worlds(name: str) -> None:
    """Nothing named: every open atom in its order, each as asked for by itself."""
    theory, worlds, _ = within(name)
    found = hb.Model(theory).bound(engine="exact", independence="none")
    closed = worlds.universe.closed
    assert len(found.queries) == sum(name not in closed for name, _ in worlds.universe.atoms())
    for row in list(found.rows())[:4]:
        event, _ = parse_probability(row.query)
        assert (row.lower, row.upper) == pytest.approx(worlds.interval(event), abs=1e-6)


PERMUTED = ["facts of open predicates", "functional predicates"]


@pytest.mark.parametrize("engine", ["exact", "ariel"])
@pytest.mark.parametrize("name", PERMUTED)
def test_the_order_of_statements_and_the_names_of_constants_are_no_matter(name: str, engine: str) -> None:
    pytest.importorskip("pyscipopt")
    text, queries = CASES[name]
    lines = text.strip().splitlines()
    expected = hb.Model(hb.parse(text)).bound([f"P({query})" for query in queries], engine=engine)
    rng = np.random.default_rng(len(text))
    renamed = {'"a"': '"z"', '"b"': '"an"', '"c"': '"m m"'}

    def other(said: str) -> str:
        for number, old in enumerate(renamed):
            said = said.replace(old, f"<{number}>")
        for number, new in enumerate(renamed.values()):
            said = said.replace(f"<{number}>", new)
        return said

    shuffled = [lines[i] for i in rng.permutation(len(lines))]
    for said, asked in ((shuffled, queries), ([*map(other, lines)], [*map(other, queries)])):
        found = hb.Model(hb.parse("\n".join(said))).bound([f"P({query})" for query in asked], engine=engine)
        np.testing.assert_allclose(found.lower, expected.lower, atol=2e-5)
        np.testing.assert_allclose(found.upper, expected.upper, atol=2e-5)


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_a_bound_with_variables_is_its_instances(engine: str) -> None:
    """Written out by hand, each constant in its place: the same network, so the same intervals."""
    declared = 'type p = {"a", "b", "c"}\npredicate s(p)\npredicate t(p)\n'
    short = "P(s(x) | t(x)) in [0.2, 0.4]\nP(t(x) or s(y)) <= 0.9\nP(t(x)) >= 0.3\n"
    long = "".join(f'P(s("{x}") | t("{x}")) in [0.2, 0.4]\nP(t("{x}")) >= 0.3\n' for x in "abc")
    long += "".join(f'P(t("{x}") or s("{y}")) <= 0.9\n' for x, y in itertools.product("abc", repeat=2))
    ends = []
    for text in (short, long):
        found = hb.Model(hb.parse(declared + text)).bound(engine=engine, independence="none")
        ends.append((found.queries, found.lower.round(7).tolist(), found.upper.round(7).tolist()))
    assert ends[0] == ends[1]


def test_a_quantifier_over_nothing() -> None:
    """Nobody is there: some person is false, every person is true, and nothing is said of any person."""
    declared = "type p\npredicate s(p)\npredicate rain\n"
    for text, ends in (
        ("P(rain or exists x: s(x)) <= 0.3", (0, 0.3)),
        ("P(rain and forall x: s(x)) >= 0.3", (0.3, 1)),
        ("P(s(x)) <= 0.1\nP(rain | s(x)) <= 0.2", (0, 1)),
        ("P(rain | forall x: s(x)) >= 0.4", (0.4, 1)),
        ("P(rain | exists x: s(x)) >= 0.4", (0, 1)),
    ):
        for engine in ("exact", "ariel"):
            found = hb.Model(hb.parse(declared + text)).bound("rain", engine=engine)
            assert (found.lower[0], found.upper[0]) == pytest.approx(ends, abs=1e-6), text


AGED = """
type p = {"u", "v"}
predicate a(p)
predicate old(p, num): observed
old("u", 3)
old("v", 7)
P(a("u")) in [0.1, 0.2]
P(a("v")) in [0.3, 0.4]
"""


@pytest.mark.parametrize("engine", ["exact", "ariel"])
@pytest.mark.parametrize("independence", ["markov", "none"])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("a(x) | old(x, n) and n > 5", [(0.3, 0.4)]),
        ("a(x) | old(x, n) and n <= 3", [(0.1, 0.2)]),
        ("a(x) | old(x, n) and not n < 5", [(0.3, 0.4)]),
        ("a(x) | exists n: old(x, n) and n >= 7", [(0.3, 0.4)]),
        ('a("u") and 3 > 5', [(0.0, 0.0)]),
        ('a("u") or 2 <= 2', [(1.0, 1.0)]),
        ('a("u") | "a" < "b"', [(0.1, 0.2)]),
        ("exists x, n: a(x) and old(x, n) and n < 7", [(0.1, 0.2)]),
    ],
)
def test_a_query_compares_numbers_and_texts_by_their_order(
    query: str, found: list[tuple[float, float]], independence: str, engine: str
) -> None:
    """An order of two constants was read as a difference: 3 > 5 was true."""
    rows = hb.Model(hb.parse(AGED)).bound(f"P({query})", engine=engine, independence=independence).rows()
    assert [(row.lower, row.upper) for row in rows] == [pytest.approx(ends, abs=1e-9) for ends in found]


def test_a_query_given_what_no_numbers_satisfy_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"what is given in .* is false"):
        hb.Model(hb.parse(AGED)).bound("P(a(x) | old(x, n) and n > 7)")
