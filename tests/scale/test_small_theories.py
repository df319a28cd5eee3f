"""Theories at the edge on a database as in memory: no arguments, no facts, nothing that is not settled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import herbrand as hb
from herbrand.budget import UNLIMITED
from herbrand.errors import HerbrandError
from herbrand.relations.database import DuckDB
from herbrand.scale.bounds import parts, solving
from herbrand.scale.bounds.sentences import Sentences, StoredLowering
from tests.scale.test_bounds import FRIENDS, PEOPLE, Here


def models(tmp_path: Path, text: str, facts: Any = None) -> tuple[hb.Model, hb.Model]:
    theory = hb.parse(text)
    return hb.Model(theory, facts), hb.Model(theory, facts, on=f"duckdb:{tmp_path / 'w.duckdb'}")


WEIGHTS = [
    "predicate rain\npredicate wet\n1.0: rain => wet\n0.5: wet\nrain ~ 0.3",
    'predicate m in {"a", "b", "c"}\npredicate wet\n1.0: m = "a" => wet\nnot m = "b"',
    'predicate m in {"a", "b", "c"}\n0.7: m in {"a", "b"}\nm = "c" ~ 0.2',
    'predicate one in {"only"}\npredicate wet\n0.7: one = "only" and wet',
    "predicate rain\npredicate p(t)\ntype t = 1..2\n0.4: rain => p(x)\nrain",
    "predicate p(t)\ntype t = 1..1\n0.3: p(x) and p(y)",
    "predicate f(t, t)\ntype t = 1..2\n0.5: f(x, y) => f(y, x)\n0.2: f(1, y)\nnot f(2, 2)",
    "predicate p(t)\ntype t = {0.5, -1.25, 3}\n0.3: p(x)\np(-1.25)",
    "2.0: true\npredicate rain\n1.0: rain",
    'predicate `odd name`(`a type`)\ntype `a type` = {"it\'s", "\\""}\n0.5: `odd name`(x)',
]
HARD = "predicate rain\npredicate p(t)\ntype t = 1..2\nhard: rain => p(x)\nnot p(1)\n0.5: p(x)"


@pytest.mark.parametrize(
    ("engine", "text"), [("bp", HARD), *((e, text) for e in ("mean-field", "bp") for text in WEIGHTS)]
)
def test_marginals(tmp_path: Path, text: str, engine: str) -> None:
    here, there = (
        model.infer(engine=engine, schedule="parallel", tolerance=1e-10, iterations=300)
        for model in models(tmp_path, text)
    )
    expected = {row.text: row.probability for row in here.rows()}
    assert {row.text: row.probability for row in there.rows()} == pytest.approx(expected, abs=1e-7)
    assert there.log_partition == pytest.approx(here.log_partition, abs=1e-7)
    assert there.guarantee is here.guarantee


BOUNDS = [
    "P(a) in [0.2, 0.4]\nP(b | a) in [0.5, 0.6]",
    "predicate p(t)\nP(p(x)) >= 0.3",
    "predicate p(t)\ntype t = 1..3",
    "P(true) = 1.0",
    "predicate p(t)\ntype t = 1..3\nP(p(1)) >= 0.3\nP(p(1) and p(2)) <= 0.1",
    "predicate e(t): observed\npredicate p(t)\nP(p(x) | e(x)) <= 0.2\ne(1)\ntype t = 1..2",
]


@pytest.mark.parametrize("text", BOUNDS)
@pytest.mark.parametrize("independence", ["markov", "none"])
def test_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, independence: str) -> None:
    monkeypatch.setattr(solving, "Workers", Here)
    here, there = (model.bound(engine="ariel", independence=independence) for model in models(tmp_path, text))
    assert list(there.queries) == list(here.queries)
    assert there.lower == pytest.approx(here.lower, abs=1e-6)
    assert there.upper == pytest.approx(here.upper, abs=1e-6)


RULES = [
    ("wet :- rain, not dry\nrain\npredicate dry: observed\npredicate rain\npredicate wet", "wet"),
    ("q(x) :- p(x)\npredicate p(t)\npredicate q(t)", "q(x)"),
    ("q(x) :- p(x), x > 1\np(1)\np(2)\np(3)", "q(x)"),
    ("q(x, x) :- p(x)\np(1)\np(2)", "q(1, y)"),
    ("q(x) :- p(x) @ 0.5\nq(x) :- r(x) @ 2.0\np(1) @ 3.0\nr(1)\nr(2)", "q(x)"),
]


@pytest.mark.parametrize(("text", "goal"), RULES)
def test_goals(tmp_path: Path, text: str, goal: str) -> None:
    here, there = (model.query(goal) for model in models(tmp_path, text))
    assert there.variables == here.variables
    expected = {tuple(row.bindings.items()): row.weight for row in here.rows()}
    assert {tuple(row.bindings.items()): row.weight for row in there.rows()} == pytest.approx(expected)


@pytest.mark.parametrize(
    "text",
    [
        "predicate rain\npredicate wet\n?: rain => wet\nrain\nwet",
        'predicate m in {"a", "b"}\npredicate wet\n?: m = "a" => wet\nm = "b"\nwet',
        "predicate p(t)\ntype t = 1..1\n?: p(x)",
    ],
)
def test_weights(tmp_path: Path, text: str) -> None:
    here, there = (model.learn("pseudo-likelihood", l2=0.3) for model in models(tmp_path, text))
    assert [w.weight for w in there.weights] == pytest.approx([w.weight for w in here.weights], abs=1e-7)
    assert there.metrics == pytest.approx(here.metrics)


@pytest.mark.parametrize("text", ["hard: false", "predicate p\nhard: p\nnot p", "P(false) = 1.0"])
def test_what_holds_in_no_world(tmp_path: Path, text: str) -> None:
    """In the same kind of words, by whatever asks."""
    ask = "bound" if text.startswith("P") else "infer"
    kinds = []
    for model in models(tmp_path, text):
        with pytest.raises(HerbrandError) as caught:
            getattr(model, ask)()
        kinds.append(type(caught.value))
    assert kinds[0] is kinds[1]


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_every_sentence_of_several_atoms_is_in_one_part(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Sentences over the same atoms lie together; parts are about as large as they should be."""
    monkeypatch.setattr(parts, "SENTENCES_A_PART", size)
    monkeypatch.setattr(parts, "PARTS_A_SHELF", 2)
    with DuckDB() as database:
        evidence = hb.Model(hb.parse(PEOPLE), FRIENDS, on="duckdb:unused").stored.evidence_of(database)
        sentences = Sentences(database, StoredLowering.of(evidence, UNLIMITED), markov=False)
        sentences.write(lambda what, share: None)
        kept: list[tuple[Any, ...]] = []
        drop = DuckDB.drop

        def look(self: DuckDB, table: str) -> None:
            if table == "sorted":
                kept.extend(self.rows("SELECT part, atoms, number FROM sorted"))
            drop(self, table)

        monkeypatch.setattr(DuckDB, "drop", look)
        shelves = parts.shelved(sentences, 10**9, lambda what, share: None)
        every = sentences.all_of("stated", "atoms, arity, number")
        said = database.rows(f"SELECT atoms, number FROM ({every}) s WHERE arity > 1")
        assert sorted((number, atoms) for _, atoms, number in kept) == sorted((n, a) for a, n in said)
        part_of: dict[tuple[int, ...], set[int]] = {}
        for part, atoms, _ in kept:
            part_of.setdefault(tuple(atoms), set()).add(part)
        assert all(len(found) == 1 for found in part_of.values())
        assert {part for part, _, _ in kept} == set(range(shelves.parts))
        assert shelves.count == -(-shelves.parts // 2)
        assert (shelves.parts == 1) == (size >= len(said))


UNLISTED: list[tuple[str, list[str]]] = [
    ("", ["CREATE TABLE smokes (a VARCHAR, probability DOUBLE)"]),
    ("", ["CREATE TABLE smokes (a VARCHAR, probability DOUBLE)", "INSERT INTO smokes VALUES ('bob', 1.0)"]),
    ("", ["CREATE TABLE smokes (a VARCHAR)"]),
    ('smokes("bob") ~ 0.7\n', []),
]


@pytest.mark.parametrize(("more", "tables"), UNLISTED)
@pytest.mark.parametrize("query", [(), "smokes"])
def test_evidence_closes_no_predicate_that_has_no_facts(
    tmp_path: Path, more: str, tables: list[str], query: str
) -> None:
    theory = hb.parse(f"0.7: smokes(x) => cancer(x)\n{more}")
    world = tmp_path / "world.duckdb"
    with duckdb.connect(world) as connection:
        for statement in ["CREATE TABLE cancer AS SELECT 'anna' AS a", *tables]:
            connection.execute(statement)
    here, there = hb.Model(theory, str(world)), hb.Model(theory, on=f"duckdb:{world}")
    for given in ('not smokes("carl")', 'smokes("dora")'):
        expected = here.infer(query, given=given, engine="bp", schedule="parallel")
        found = there.infer(query, given=given, engine="bp", schedule="parallel")
        assert [row.text for row in found.rows()] == [row.text for row in expected.rows()] != []
        assert found.log_partition == pytest.approx(expected.log_partition)
