"""Rules over facts in a database beside all proofs by plain loops: every kind of recursion and of literal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import herbrand as hb
from tests.engines.proof.kinds_of_rules import KINDS, Case
from tests.engines.proof.test_against_proofs import told
from tests.engines.proof.test_kinds_of_rules import goals_of, plus, shown
from tests.oracles.proofs import goal_answers

FACTS: dict[str, list[tuple[Any, ...]]] = {
    "cites": [("p1", "p2"), ("p2", "p2"), ("p3", "p1"), ("p4", "p4"), ("p2", "p4")],
    "year": [("p1", 1990), ("p2", 2000.5), ("p3", 2010), ("p4", 2000.5)],
    "good": [("p1",), ("p4",)],
}
TEXT = """\
type paper = {"p1", "p2", "p3", "p4"}
predicate cites(paper, paper): observed
predicate year(paper, number): observed
predicate good(paper): observed
predicate area(paper) in {"ai", "db"}: observed
predicate found(paper, paper)
predicate near(paper)
predicate wet
area("p1") = "ai"
area("p2") = "db"
"""


@pytest.fixture
def folder(tmp_path: Any) -> Iterator[str]:
    yield f"duckdb:{tmp_path}/w.duckdb"


def stored(text: str, folder: str, facts: object = None) -> hb.Model:
    return hb.Model(hb.parse(text), facts, on=folder)


SOME = ("calls of three", "absent of a recursion")


@pytest.mark.parametrize("kind", [k if k in SOME else pytest.param(k, marks=pytest.mark.slow) for k in KINDS])
def test_every_kind_of_recursion(kind: str, tmp_path: Any) -> None:
    for shape in ("loops",) if kind in SOME else ("a ring", "everything", "nothing"):
        case = Case(kind, shape)
        model = hb.Model(case.theory, on=f"duckdb:{tmp_path}/{shape}.duckdb")
        goals = goals_of(case)[:5]
        texts = list(map(shown, goals))
        weights, best = case.answers(2), case.answers(1, best=True)
        for goal, answer in zip(goals, model.query(texts, depth=2), strict=True):
            assert told(answer) == pytest.approx(goal_answers(goal, weights, plus)), (shape, shown(goal))
        for goal, answer in zip(goals, model.query(texts, depth=1, algebra="max"), strict=True):
            assert told(answer) == pytest.approx(goal_answers(goal, best, max)), (shape, shown(goal))
        every = dict.fromkeys(case.truths["p"], 1.0)
        answers = model.query(texts[:2], depth="fixpoint", algebra="boolean")
        for goal, answer in zip(goals, answers, strict=False):
            assert told(answer) == goal_answers(goal, every, max) and answer.status.converged


BODIES = [
    "cites(x, y)",
    "cites(x, z), cites(z, y)",
    "cites(x, y), x != y",
    "cites(x, y), x = y",
    "cites(x, z), z = y, good(y)",
    'cites(x, y), y = "p2"',
    'cites(x, y), y != "p2"',
    'cites(x, "p2"), cites("p2", y)',
    "cites(x, y), not good(y)",
    "cites(x, y), not cites(y, x)",
    "cites(x, y), not cites(y, _)",
    "cites(x, y), not cites(_, _)",
    "good(x), good(y), not cites(x, y)",
    "year(x, a), year(y, b), a < b",
    "year(x, a), year(y, b), a <= b, a != b",
    "year(x, a), cites(x, y), a >= 2000.5",
    "year(x, a), cites(x, y), 1990 < a, a < 2005",
    "year(x, a), year(y, a), x != y",
    'area(x) = "ai", cites(x, y)',
    "area(x) = v, area(y) = v",
    'cites(x, y), area(y) in {"ai", "db"}',
    'cites(x, y), not area(y) = "db"',
    'cites(x, y), not area(y) in {"ai", "db"}',
    "cites(x, y), true",
    "cites(x, y), false",
    "cites(x, y), 2 < 1",
    "cites(x, y), good(z), cites(z, w)",
    "cites(x, y), wet",
    "cites(x, y), not wet",
    "cites(x, y), near(y)",
    "cites(x, y), not near(y)",
    "cites(x, _), cites(_, y)",
]


def test_every_kind_of_literal_and_weight(folder: str) -> None:
    """One predicate a body, all on one database, beside the engine in memory."""
    heads = "\n".join(f"predicate found{n}(paper, paper)" for n in range(len(BODIES)))
    rules = "\n".join(
        f"found{n}(x, y) :- {body}{' @ 0.5' if n % 3 == 0 else ' @ ?' if n % 3 == 1 else ''}"
        for n, body in enumerate(BODIES)
    )
    text = f"{TEXT}{heads}\nnear(x) :- cites(_, x), good(x) @ 2\n{rules}"
    on, off = stored(text, folder, FACTS), hb.Model(hb.parse(text), FACTS)
    goals = [f"found{n}(x, y)" for n in range(len(BODIES))]
    for body, mine, wanted in zip(BODIES, on.query(goals), off.query(goals), strict=True):
        assert told(mine) == pytest.approx(told(wanted)), body
        assert mine.variables == wanted.variables and not mine.truncated


GOALS = [
    'cites("p2", y)', "cites(x, x)", "cites(x, _)", 'cites("p1", "p2")', 'cites("p1", "p1")',
    'near(x) and cites(x, y) and not good(y)', "year(x, a) and a > 1999.5 and a != 2010", 'area(x) = v',
    'area(x) = "db"', "wet", "near(_)", 'cites(x, y) and x = y and y != "p4"', "year(x, 2000.5)",
    "cites(x, y) and cites(y, x) and x != y", 'near("p2")', 'cites(x, y) and 2 < 1',
]  # fmt: skip


def test_goals_of_every_form(folder: str) -> None:
    text = f"{TEXT}near(x) :- cites(y, x), good(y) @ 2\nwet :- near(x), good(x)"
    on, off = stored(text, folder, FACTS), hb.Model(hb.parse(text), FACTS)
    for goal, mine, wanted in zip(GOALS, on.query(GOALS), off.query(GOALS), strict=True):
        assert told(mine) == pytest.approx(told(wanted)), goal
        assert mine.variables == wanted.variables, goal
    for options in ({"top": 1}, {"normalize": "sum"}, {"normalize": "softmax", "top": 2}, {"depth": 0}):
        mine, wanted = (model.query("cites(x, y)", **options) for model in (on, off))
        assert mine.to_dict()["answers"] == wanted.to_dict()["answers"]


def test_soft_facts_weigh_their_probability(folder: str) -> None:
    text = (
        "predicate rain(day)\npredicate wet(day)\npredicate cold(day): observed\n"
        'rain("mon") ~ 0.25\nrain("tue")\nrain("wed") ~ 0.5\nrain("wed")\nnot rain("thu")\n'
        'cold("mon") @ 3\ncold("tue")\nwet(x) :- rain(x), cold(x)\nwet(x) :- rain(x) @ 2'
    )
    on, off = stored(text, folder), hb.Model(hb.parse(text))
    for algebra in ("count", "max", "boolean"):
        mine, wanted = (model.query("wet(x)", algebra=algebra) for model in (on, off))
        assert told(mine) == pytest.approx(told(wanted))
    assert told(on.query("wet(x)")) == pytest.approx({("tue",): 3.0, ("mon",): 1.25, ("wed",): 2.0})
    dry = "predicate dry(day)\ndry(x) :- cold(x), not rain(x)"
    assert told(stored(f"{text}\n{dry}", f"{folder}2").query("dry(x)")) == {}


def test_facts_of_what_rules_derive_too(folder: str) -> None:
    text = (
        'predicate e(n, n): observed\npredicate p(n, n)\np("a", "c") @ 5\ne("a", "b")\n'
        "p(x, y) :- e(x, y)\np(x, y) :- e(x, z), p(z, y)\n"
        'p("b", "a") @ 2'
    )
    on = stored(text, folder)
    assert told(on.query("p(x, y)")) == {("a", "c"): 5, ("a", "a"): 2, ("a", "b"): 1, ("b", "a"): 2}


PATHS = """\
predicate e(n, n): observed
predicate p(n, n)
p(x, y) :- e(x, y)
p(x, y) :- e(x, z), p(z, y) @ W
"""


def test_depths_rounds_and_what_they_leave_behind(folder: str) -> None:
    """A recursion is cut where the engine in memory cuts it, and no table of a round stays."""
    text = PATHS.replace("W", "0.5")
    edges = {"e": [(f"n{i}", f"n{i + 1}") for i in range(5)]}
    on, off = stored(text, folder, edges), hb.Model(hb.parse(text), edges)
    for depth in (0, 1, 3, 4, 9):
        mine, wanted = (model.query("p(x, y)", depth=depth) for model in (on, off))
        assert told(mine) == pytest.approx(told(wanted))
        assert mine.truncated == wanted.truncated == (depth < 4)
    whole = on.query('p("n0", y)', depth="fixpoint")
    assert whole["n5"] == 0.5**4 and whole.status.converged and not whole.truncated
    with duckdb.connect(folder.removeprefix("duckdb:")) as database:
        tables = [name for (name,) in database.sql("SELECT table_name FROM duckdb_tables()").fetchall()]
    assert tables and not [name for name in tables if name.startswith(("proofs_", "complete_"))]


def test_sums_that_end_and_sums_that_do_not(folder: str) -> None:
    text = (
        "predicate e(n, n): observed\npredicate p(n, n)\np(x, y) :- e(x, y)\np(x, y) :- e(x, z), p(z, y) @ W"
    )
    ring = {"e": [("a", "b"), ("b", "a")]}
    small = stored(text.replace("W", "0.5"), folder, ring).query('p("a", y)', depth="fixpoint")
    assert small.status.converged
    assert told(small) == pytest.approx({("b",): 1 / (1 - 0.25), ("a",): 0.5 / (1 - 0.25)}, rel=1e-9)
    best = stored(text.replace("W", "0.5"), folder, ring).query('p("a", y)', algebra="max", depth="fixpoint")
    assert told(best) == {("b",): 1.0, ("a",): 0.5}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("herbrand.engines.proof.fixpoint.MOST_ROUNDS", 20)
        large = stored(text.replace("W", "1"), folder, ring).query('p("a", y)', depth="fixpoint")
        links = {"e": [(f"n{i}", f"n{i + 1}") for i in range(40)], "begins": ["n0"]}
        chain = "predicate e(n, n): observed\npredicate begins(n): observed\npredicate s(n)\n"
        walked = stored(chain + "s(x) :- begins(x)\ns(y) :- s(x), e(x, y)", folder, links)
        for algebra in ("count", "max"):
            found = walked.query("s(x)", depth="fixpoint", algebra=algebra)
            assert found.status.converged and found.guarantee.value == "exact" and len(found) == 41
        gaining = stored(text.replace("W", "2"), folder, ring)
        grown = gaining.query('p("a", y)', algebra="max", depth="fixpoint")
        assert not grown.status.converged and "no best proof" in grown.status.advice
    assert not large.status.converged and "grows without end" in large.status.advice
    assert large.guarantee.value == "approximation"
