"""Goals answered on DuckDB against the engine in memory, which its own tests hold against all proofs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.bindings import Bindings
from herbrand.errors import UnsupportedError
from herbrand.language.show import show_formula
from herbrand.relations.database import DuckDB
from tests.engines.proof.programs import Program, goals, programs
from tests.laws import law, tries

SOME = settings(
    max_examples=tries(10),
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def on_duckdb(theory: Any, goal: Any, facts: Any = None, **options: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return hb.Model(theory, facts, on=f"duckdb:{folder}/w.duckdb").query(goal, **options)


def agree(found: Bindings, expected: Bindings) -> None:
    assert found.variables == expected.variables
    rows = {tuple(row.bindings.values()): row.weight for row in found.rows()}
    wanted = {tuple(row.bindings.values()): row.weight for row in expected.rows()}
    assert rows == pytest.approx(wanted, rel=1e-9)


@st.composite
def questions(draw: st.DrawFn) -> tuple[Program, list[str], dict[str, Any]]:
    program = draw(programs())
    asked = [show_formula(draw(goals(program))) for _ in range(draw(st.integers(1, 2)))]
    algebra = draw(st.sampled_from(["count", "boolean", "max"]))
    depth = draw(st.sampled_from([0, 1, 3] if algebra != "boolean" else [0, 1, 3, "fixpoint", "fixpoint"]))
    return program, asked, {"algebra": algebra, "depth": depth}


@law(questions())
def check_random_question(question: tuple[Program, list[str], dict[str, Any]]) -> None:
    program, asked, options = question
    model = program.model()
    expected = model.query(asked, **options)
    for one, other in zip(on_duckdb(model.theory, asked, **options), expected, strict=True):
        agree(one, other)
        assert one.truncated or not other.truncated


def test_random_programs() -> None:
    check_random_question.holds(SOME, max_examples=6)


@pytest.mark.slow
def test_more_random_programs() -> None:
    check_random_question.holds(SOME, max_examples=300)


CLOSURE = (
    "path(x, y) :- edge(x, y)\npath(x, z) :- path(x, y), path(y, z)\nfar(x, y) :- path(x, y), not edge(x, y)"
)
EDGES = {"edge": [(place, place + 1) for place in range(20)] + [(20, 0)]}


def test_all_pairs_of_a_recursion() -> None:
    """Twice recursive, to the fixpoint: every pair of a ring, each new row joined once."""
    theory = hb.parse(CLOSURE)
    found = on_duckdb(theory, "path(x, y)", EDGES, algebra="boolean", depth="fixpoint")
    assert len(found) == 21 * 21
    assert found.status.converged and found.status.iterations < 8
    agree(
        on_duckdb(theory, "far(3, y)", EDGES, algebra="boolean", depth="fixpoint"),
        hb.Model(theory, EDGES).query("far(3, y)", algebra="boolean", depth="fixpoint"),
    )


def test_rounds_write_nothing_into_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each table in the file waits for the disk, which took most of the time of a long recursion."""
    made: list[tuple[str, bool]] = []
    make = DuckDB.make

    def watched(self: DuckDB, table: str, query: str, temporary: bool = False) -> None:
        made.append((table, temporary))
        make(self, table, query, temporary)

    monkeypatch.setattr(DuckDB, "make", watched)
    edges = {"edge": [(f"n{i}", f"n{i + 1}") for i in range(20)]}
    model = hb.Model(hb.parse(CLOSURE), edges, on=f"duckdb:{tmp_path / 'w.duckdb'}")
    assert len(model.query('path("n0", y)', depth="fixpoint", algebra="boolean")) == 20
    rounds = [temporary for table, temporary in made if table.startswith("proofs_")]
    assert len(rounds) > 10 and all(rounds)


def test_a_sum_without_end_says_so() -> None:
    theory = hb.parse("n(x) :- e(x, y), n(y) @ 2.0\nn(x) :- e(x, y)")
    found = on_duckdb(theory, "n(x)", {"e": [(1, 2), (2, 1)]}, depth=3)
    assert found.truncated
    agree(found, hb.Model(theory, {"e": [(1, 2), (2, 1)]}).query("n(x)", depth=3))


def test_batched_goals_and_the_heaviest() -> None:
    theory, facts = hb.parse("two(x, z) :- e(x, y), e(y, z)"), {"e": [(1, 2), (2, 1), (1, 3), (3, 1), (3, 2)]}
    goals = ["two(1, z)", "two(2, z)", "two(x, z)", "two(1, 1)"]
    expected = hb.Model(theory, facts).query(goals, top=2)
    for one, other in zip(on_duckdb(theory, goals, facts, top=2), expected, strict=True):
        agree(one, other)
        assert one.status.where.startswith("duckdb:")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"algebra": "independent"}, "does not run on a database"),
        ({"exact": True}, "the exact algebra does not run on a database\n  leave out --exact, or --on"),
        ({"bindings": {"x": [1]}}, "bindings are not served"),
    ],
)
def test_what_is_not_served_is_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        on_duckdb(hb.parse("p(x) :- e(x, y)"), "p(x)", {"e": [(1, 2)]}, **options)


OPINIONS = """
predicate e(t)
predicate c(t) in {"r", "g", "b"}
predicate p(t)
e("a") ~ 0.5
not e("a")
e("b") ~ 0.5
e("b") ~ 0
e("c") ~ 0.5
e("d") ~ 0.5
e("d")
c("f") = "r" ~ 0.4
c("g") = "r" ~ 0.3
c("g") = "g"
c("h") = "r" ~ 0.3
not c("h") = "r"
c("i") = "r" ~ 0.3
not c("i") = "g"
p(x) :- e(x)
p(x) :- c(x) = "r"
"""
"""Of ``e`` only c is doubtful and only d holds; of ``c`` only f and i may be red."""


@pytest.mark.parametrize("place", ["memory", "duckdb"])
def test_an_opinion_on_what_facts_settle_weighs_nothing(place: str) -> None:
    theory = hb.parse(OPINIONS)
    for algebra, doubted in (("count", 1.0), ("max", 1.0), ("boolean", 0.0)):
        expected = {"c": 0.5, "d": 1.0, "f": 0.4, "i": 0.3}
        expected = {name: chance if doubted else 1.0 for name, chance in expected.items()}
        found = (
            hb.Model(theory).query("p(x)", algebra=algebra)
            if place == "memory"
            else on_duckdb(theory, "p(x)", algebra=algebra)
        )
        assert {row.bindings["x"]: row.weight for row in found.rows()} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('e("a") @ -1.0\ne("b") @ 2.0\np(x) :- e(x)', "a fact of e weighs -1"),
        ('e("a")\np(x) :- e(x) @ -2.0', "this rule weighs -2"),
    ],
)
def test_the_heaviest_proof_takes_no_negative_weights(text: str, said: str) -> None:
    """-1 times -2 is no loss, so the heaviest parts would not make the heaviest whole."""
    for answers in (hb.Model(hb.parse(text)).query, lambda *a, **o: on_duckdb(hb.parse(text), *a, **o)):
        with pytest.raises(UnsupportedError, match=said):
            answers("p(x)", algebra="max")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("algebra", ["count", "max"])
def test_a_weight_beyond_floats_is_refused(algebra: str) -> None:
    theory = hb.parse('e("a") @ 1e300\ne("b") @ 1e300\np :- e(x), e(y)')
    in_memory = hb.Model(theory).query
    for answers in (in_memory, lambda *a, **o: on_duckdb(theory, *a, **o)):
        with pytest.raises(UnsupportedError, match="larger than any float") as refused:
            answers("p", algebra=algebra)
        integers_help = algebra == "count" and answers == in_memory
        assert ("--exact" in str(refused.value)) == integers_help


def test_facts_in_parquet(tmp_path: Path) -> None:
    rows = pa.table({"a": ["ann", "bob", "it's"], "b": ["bob", "it's", "ann"]})
    pyarrow.parquet.write_table(rows, tmp_path / "edge.parquet")
    model = hb.Model(hb.parse(CLOSURE), str(tmp_path / "edge.parquet"), on=f"duckdb:{tmp_path / 'w.duckdb'}")
    found = model.query('path("it\'s", y)', algebra="boolean", depth="fixpoint")
    assert sorted(row.bindings["y"] for row in found.rows()) == ["ann", "bob", "it's"]
