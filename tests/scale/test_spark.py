"""Two executors of Spark against this process: equal answers, also where an executor is killed on the way."""

from __future__ import annotations

import json
import os
import random
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

import herbrand as hb
from herbrand.contraction import Contraction, Sparse, contract
from herbrand.relations.stored import Scratch
from herbrand.scale import mean_field
from herbrand.scale.belief.engine import StoredBeliefPropagation
from herbrand.scale.bounds import parts, solving
from herbrand.scale.place import opened, place_of
from tests.contraction.in_relations import contract_in
from tests.scale.test_bounds import Here

pytestmark = pytest.mark.slow

THEORY = """
predicate friends(person, person): observed
predicate smokes(person)
predicate area(person) in {"ai", "db", "theory"}
0.4: smokes(x) and friends(x, y) => smokes(y)
0.7: area(x) = "ai" and friends(x, y) => area(y) in {"ai", "theory"}
-0.5: smokes(x) and area(x) = "db"
smokes("p1")
smokes("p2") ~ 0.7
"""


def links(count: int) -> list[tuple[str, str]]:
    chosen = random.Random(1)
    names = [f"p{number}" for number in range(count // 5)]
    return sorted({(chosen.choice(names), chosen.choice(names)) for _ in range(count)})


def agree(found: Any, expected: Any) -> None:
    rows = {row.text: row.probability for row in found.rows()}
    assert rows == pytest.approx({row.text: row.probability for row in expected.rows()}, abs=1e-9)
    assert found.log_partition == pytest.approx(expected.log_partition, rel=1e-12)


def test_algebras(spark: str) -> None:
    entries = [(0, 1), (1, 2), (2, 2), (3, 0)]
    with opened(place_of(spark)) as database:
        for algebra, values, background in (
            ("real", [1.0, 0.5, -2.0, 3.0], 0.25),
            ("log", [1.0, 0.5, -2.0, 3.0], 0.25),
            ("max_product", [1.0, 0.5, 2.0, 3.0], 0.25),
            ("boolean", [True, True, False, True], False),
            ("counting", [1, 2, -3, 4], 2),
        ):
            asked = Contraction.parse(
                "x y, y z -> x z", dict.fromkeys("xyz", 4), distinct=[("x", "z")], algebra=algebra
            )
            one = Sparse.of(entries, torch.tensor(values, dtype=_dtype(algebra)), (4, 4), background, algebra)
            found = contract_in(database, asked, [one, one]).to_dense()
            torch.testing.assert_close(found, contract(asked, [one, one]).to_dense(), rtol=1e-9, atol=1e-9)


def _dtype(algebra: str) -> torch.dtype:
    return {"boolean": torch.bool, "counting": torch.int64}.get(algebra, torch.float64)


@dataclass
class Killing:
    """Kills one of the two executors, once, before a function is called for the ``number``-th time."""

    patch: pytest.MonkeyPatch
    killed: int | None = None
    calls: int = 0

    def before(self, owner: Any, name: str, number: int = 1) -> None:
        function = getattr(owner, name)

        def called(*arguments: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls == number:
                self.killed = _executors()[0]
                os.kill(self.killed, signal.SIGKILL)
            return function(*arguments, **named)

        self.patch.setattr(owner, name, called)

    def has_happened(self, calls_after: int = 0) -> bool:
        """Whether the executor is gone, and so many more calls were made without it."""
        return self.killed is not None and self.killed not in _executors() and self.calls > calls_after


@pytest.fixture
def killing(monkeypatch: pytest.MonkeyPatch) -> Killing:
    return Killing(monkeypatch)


def test_mean_field_with_an_executor_killed_on_the_way(spark: str, killing: Killing) -> None:
    facts = {"friends": links(2_000)}
    killing.before(mean_field, "moved")
    expected = hb.Model(hb.parse(THEORY), facts).infer(engine="mean-field", iterations=2)
    agree(hb.Model(hb.parse(THEORY), facts, on=spark).infer(iterations=1), _after(facts, 1))
    assert killing.has_happened()
    agree(hb.Model(hb.parse(THEORY), facts, on=spark).infer(iterations=2, resume=True), expected)


def _after(facts: Any, iterations: int) -> Any:
    return hb.Model(hb.parse(THEORY), facts).infer(engine="mean-field", iterations=iterations)


RING = """
predicate friends(person, person): observed
predicate smokes(person)
0.4: friends(x, y) => (smokes(x) <=> smokes(y))
0.5: smokes(x)
"""
UNEQUAL = """
predicate friends(person, person): observed
predicate smokes(person)
0.4: smokes(x) and friends(x, y) => smokes(y)
smokes("p2") ~ 0.7
"""


RING_OF_TEN = [(f"p{number}", f"p{(number + 1) % 10}") for number in range(10)]
SIX_LINKS = [("p0", "p1"), ("p1", "p2"), ("p2", "p0"), ("p0", "p3"), ("p3", "p3"), ("p2", "p1")]


@pytest.mark.parametrize(
    ("text", "friends", "lifted"),
    [(RING, RING_OF_TEN, True), (UNEQUAL, SIX_LINKS, False)],
    ids=["between classes", "between atoms"],
)
def test_belief_propagation_to_rest_with_an_executor_killed_on_the_way(
    text: str, friends: list[tuple[str, str]], lifted: bool, spark: str, killing: Killing
) -> None:
    """The rounds are those of memory; one executor is killed before the third of them."""
    killing.before(StoredBeliefPropagation, "step", 3)
    theory, facts = hb.parse(text), {"friends": friends}
    found = hb.Model(theory, facts, on=spark).infer(engine="bp")
    assert killing.has_happened(calls_after=5)
    assert _runs_between_classes(spark) is lifted
    expected = hb.Model(theory, facts).infer(engine="bp")
    agree(found, expected)
    assert found.status.converged and found.status.iterations == expected.status.iterations
    assert found.status.trace == pytest.approx(expected.status.trace, rel=1e-6, abs=1e-9)


def _runs_between_classes(spark: str) -> bool:
    """As the run's own note says."""
    note = Path(spark.partition("/")[2]) / "run.note"
    return json.loads(note.read_text())["lifted"]


PATHS = "path(x, y) :- friends(x, y)\npath(x, z) :- friends(x, y), path(y, z) @ 0.5"


@pytest.mark.parametrize(
    ("goals", "options"),
    [
        ('path("p1", y)', {"depth": 2}),
        (['path("p1", y)', 'path(x, "p2")', "path(x, x)", "path(x, y)"], {"depth": 2}),
        ("path(x, y)", {"depth": "fixpoint", "algebra": "boolean"}),
        ("path(x, y)", {"depth": "fixpoint", "algebra": "max"}),
    ],
    ids=["one", "batched and all pairs", "recursive", "recursive, the best proof"],
)
def test_queries_with_an_executor_killed_on_the_way(
    goals: str | list[str], options: dict[str, Any], spark: str, killing: Killing
) -> None:
    """One executor is killed before the second round of joins."""
    theory, facts = hb.parse(PATHS), {"friends": links(60)}
    killing.before(Scratch, "make", 3)
    found = hb.Model(theory, facts, on=spark).query(goals, **options)
    assert killing.has_happened()
    expected = hb.Model(theory, facts).query(goals, **options)
    if isinstance(goals, str):
        found, expected = (found,), (expected,)
    for one, other in zip(found, expected, strict=True):
        assert weights_of(one) == pytest.approx(weights_of(other))
        assert one.truncated is other.truncated
        assert len(one)


COMPUTED = """
predicate n(int): observed
predicate third(int, int)
predicate part(int, number)
predicate total(int)
third(x, y) :- n(x), y = x // 3
part(x, y) :- n(x), x != 0, y = 7 / x
total(s) :- s = sum(y, x: third(x, y))
"""


def test_computed_rules(spark: str) -> None:
    """Spark computes expressions of rows that a condition leaves out, and divides by 0 there."""
    facts = {"n": [-7, 7, 0, 2, -2]}
    goals = ["third(x, y)", "part(x, y)", "total(s)"]
    found = hb.Model(hb.parse(COMPUTED), facts, on=spark).query(goals)
    expected = hb.Model(hb.parse(COMPUTED), facts).query(goals)
    assert [*map(weights_of, found)] == [*map(weights_of, expected)]
    assert weights_of(found[1]).keys() == {(-7, -1), (-2, -3.5), (2, 3.5), (7, 1)}


def weights_of(answers: Any) -> dict[tuple[Any, ...], float]:
    return {tuple(row.bindings.values()): row.weight for row in answers.rows()}


SMOKERS = """
predicate friends(person, person): observed
predicate smokes(person)
"""
BOUNDS = f"""{SMOKERS}
P(smokes(y) | smokes(x) and friends(x, y)) in [0.4, 0.7]
P(smokes(x)) in [0.1, 0.6]
P(smokes("p1")) >= 0.5
"""
WEIGHTS = f"""{SMOKERS}
?: smokes(x) and friends(x, y) => smokes(y)
?: smokes(x)
"""


def test_ariel_with_an_executor_killed_on_the_way(
    spark: str, killing: Killing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts are solved by the executors, one of which is killed before the second shelf of them."""
    facts = {"friends": [(one, other) for one, other in links(150) if one != other]}
    killing.before(solving.SparkSolver, "store_solved", 2)
    monkeypatch.setattr(parts, "SENTENCES_A_PART", 40)
    monkeypatch.setattr(parts, "PARTS_A_SHELF", 2)
    options: dict[str, Any] = {"iterations": 2, "independence": "none"}
    found = hb.Model(hb.parse(BOUNDS), facts, on=spark).bound(**options)
    assert killing.has_happened() and "Spark" in found.status.where
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solving, "Workers", Here)
        on_duckdb = hb.Model(hb.parse(BOUNDS), facts, on=f"duckdb:{spark.partition('/')[2]}.duckdb")
        expected = on_duckdb.bound(**options)
    assert found.status.iterations == expected.status.iterations
    assert found.lower == pytest.approx(expected.lower, abs=1e-9)
    assert found.upper == pytest.approx(expected.upper, abs=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_learning(spark: str, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes fetched, and sums taken there."""
    monkeypatch.setattr("herbrand.scale.learning.pseudo_likelihood.SHARE_FETCHED", share)
    facts = {"friends": links(400), "smokes": [f"p{n}" for n in range(0, 80, 3)]}
    options: dict[str, Any] = {"l2": 0.5, "iterations": 1} if not share else {"l2": 0.5}
    expected = hb.Model(hb.parse(WEIGHTS), facts).learn(**options)
    found = hb.Model(hb.parse(WEIGHTS), facts, on=spark).learn(**options)
    assert [w.weight for w in found.weights] == pytest.approx([w.weight for w in expected.weights], abs=1e-7)
    assert found.metrics == pytest.approx(expected.metrics)


def _executors() -> list[int]:
    """The executors that this process has started, by way of Spark's driver."""
    parents, found = {}, []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                status, command = (folder / "stat").read_text(), (folder / "cmdline").read_bytes()
            except OSError:
                continue
            parents[int(folder.name)] = int(status.rpartition(")")[2].split()[1])
            if b"CoarseGrainedExecutorBackend" in command:
                found.append(int(folder.name))

    def is_ours(process: int) -> bool:
        while process > 1:
            process = parents.get(process, 0)
            if process == os.getpid():
                return True
        return False

    return sorted(filter(is_ours, found))
