"""The examples of ``docs/extending`` do what their pages say, and stay short."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.contraction import Dense, Sparse, contract
from herbrand.contraction.algebra import Algebra, algebra_named
from herbrand.contraction.algebra import register as register_algebra
from herbrand.contraction.expression import Contraction
from herbrand.engines.engine import Cost, Settings
from herbrand.engines.registry import engine_named, register
from herbrand.errors import ContradictionError, HerbrandError, LanguageError, UnsupportedError
from herbrand.facts.source import fact_sources
from herbrand.language.dialects import DIALECTS
from herbrand.language.dialects import register as register_dialect
from herbrand.language.show import show_formula
from herbrand.language.syntax import Atom, Formula
from herbrand.language.theory import Theory
from herbrand.serving.projects import kind_of
from tests.conftest import ROOT, Outcome
from tests.engines.estimates import told_by
from tests.engines.proof.programs import Program, goals, programs
from tests.engines.proof.roads import roads, taken
from tests.engines.proof.test_against_proofs import told
from tests.laws import tries
from tests.oracles.proofs import Weights, goal_answers
from tests.oracles.worlds import Universe
from tests.program_generators import models

LONGEST = 60


def example(page: str) -> tuple[str, dict[str, Any]]:
    """The text of a page's whole example, its first block, and the names it defines when run."""
    text = (ROOT / "docs" / "extending" / f"{page}.md").read_text(encoding="utf-8")
    block = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(compile(block, page, "exec"), names)
    return block, names


@pytest.mark.parametrize("page", ["engine", "algebra", "dialect"])
def test_an_example_is_short(page: str) -> None:
    assert len(example(page)[0].splitlines()) < LONGEST


# The engine


@pytest.fixture
def worlds() -> None:
    register("worlds", example("engine")[1]["Worlds"])


@settings(
    phases=[Phase.reuse, Phase.generate],
    max_examples=tries(30),
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
        HealthCheck.function_scoped_fixture,
    ],
)
@given(models())
@pytest.mark.usefixtures("worlds")
def test_the_engine_agrees_with_the_exact_one(drawn: tuple[Theory, Universe]) -> None:
    model = hb.Model(drawn[0])
    assume(isinstance(told_by(engine_named("infer", "worlds", Settings()), model.program), Cost))
    try:
        right = model.infer(engine="exact")
    except ContradictionError:
        with pytest.raises(ContradictionError):
            model.infer(engine="worlds")
        return
    found = model.infer(engine="worlds")
    assert found.log_partition == pytest.approx(right.log_partition, abs=1e-9)
    for row, other in zip(found.rows(), right.rows(), strict=True):
        assert (row.atom, row.value) == (other.atom, other.value)
        assert row.probability == pytest.approx(other.probability, abs=1e-9)


@pytest.mark.usefixtures("worlds")
def test_the_engine_is_known_everywhere(
    herbrand: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    smokers = ("examples/smokers/smokers.hb", "--facts", "examples/smokers/facts")
    assert "engine worlds" in herbrand("check", *smokers).out
    outcome = herbrand("infer", *smokers, "--engine", "worlds")
    assert outcome.status == 0 and "worlds marginals (exact)" in outcome.out
    refused = herbrand("infer", *smokers, "--engine", "worlds", "--map")
    assert refused.status == 1 and "up to 20 atoms" in refused.err


def test_an_engine_of_the_library_keeps_its_name() -> None:
    with pytest.raises(UnsupportedError, match="there is an engine 'exact' already"):
        register("exact", object)


# The algebra


def shortest() -> Algebra:
    example("algebra")
    return algebra_named("shortest")


def test_the_algebra_is_a_semiring() -> None:
    algebra = shortest()
    a, b, c = torch.randint(-9, 9, (3, 50), generator=torch.Generator().manual_seed(1)).double()
    a[:5] = algebra.zero
    for operation in (algebra.plus, algebra.times):
        assert torch.equal(operation(a, b), operation(b, a))
        assert torch.equal(operation(operation(a, b), c), operation(a, operation(b, c)))
    left = algebra.times(a, algebra.plus(b, c))
    assert torch.equal(left, algebra.plus(algebra.times(a, b), algebra.times(a, c)))
    assert torch.equal(algebra.plus(a, torch.full_like(a, algebra.zero)), a)
    assert torch.equal(algebra.times(a, torch.full_like(a, algebra.one)), a)
    assert torch.equal(algebra.plus(a, a), a)


@pytest.mark.parametrize("executor", ["dense", "sparse"])
def test_both_executors_find_shortest_ways(executor: str) -> None:
    algebra, towns = shortest(), 7
    chance = torch.Generator().manual_seed(2)
    roads = torch.randint(1, 20, (towns, towns), generator=chance).double()
    roads[torch.rand(towns, towns, generator=chance) < 0.6] = algebra.zero
    listed = (roads < algebra.zero).nonzero()
    relation = Sparse.of(listed, roads[listed[:, 0], listed[:, 1]], (towns, towns), algebra.zero, "shortest")
    three = Contraction.parse("a b, b c, c d -> a d", dict.fromkeys("abcd", towns), algebra="shortest")
    given = [relation] * 3 if executor == "sparse" else [Dense(roads)] * 3
    found = contract(three, given, executor=executor).to_dense()
    for start in range(towns):
        for end in range(towns):
            ways = [
                float(roads[start, b] + roads[b, c] + roads[c, end])
                for b in range(towns)
                for c in range(towns)
            ]
            assert float(found[start, end]) == min(ways)


COSTS = settings(
    phases=[Phase.reuse, Phase.generate],
    max_examples=tries(15),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
halves = programs(weights=(0.25, 0.5, 1.0))


def cost(weight: float) -> float:
    """Sums of costs are products of weights, and the least cost is the largest weight's."""
    return -math.log(weight)


def asked_by_costs(program: Program, goal: Formula, depth: int | str, on: str | None = None) -> Weights:
    example("algebra")
    answer = program.model(cost, on).query(show_formula(goal), algebra="shortest", depth=depth)
    weights = list(told(answer).values())
    assert weights == sorted(weights), "the cheapest answer comes first"
    return told(answer)


def least_costs(program: Program, goal: Atom, depth: int) -> object:
    best = goal_answers(goal, program.proofs(add=max).answers(goal.predicate, depth), max)
    return pytest.approx({row: cost(weight) for row, weight in best.items()}, abs=1e-9)


@COSTS
@given(st.data(), halves, st.integers(0, 4), roads)
def test_queries_find_cheapest_proofs(
    data: st.DataObject, program: Program, depth: int, road: Mapping[str, object]
) -> None:
    goal = data.draw(goals(program))
    with taken(road):
        assert asked_by_costs(program, goal, depth) == least_costs(program, goal, depth + 1)


@COSTS
@given(st.data(), halves, roads)
def test_queries_find_cheapest_proofs_of_any_depth(
    data: st.DataObject, program: Program, road: Mapping[str, object]
) -> None:
    goal = data.draw(goals(program))
    with taken(road):
        assert asked_by_costs(program, goal, "fixpoint") == least_costs(program, goal, 60)


@settings(COSTS, max_examples=tries(6))
@given(st.data(), halves, st.sampled_from([0, 1, 3]))
def test_a_database_finds_cheapest_proofs(data: st.DataObject, program: Program, depth: int) -> None:
    goal = data.draw(goals(program))
    with tempfile.TemporaryDirectory() as folder:
        found = asked_by_costs(program, goal, depth, f"duckdb:{folder}/w.duckdb")
    assert found == least_costs(program, goal, depth + 1)


def test_the_command_line_knows_the_algebra(tmp_path: Path, herbrand: Callable[..., Outcome]) -> None:
    theory = tmp_path / "ways.hb"
    theory.write_text('way(x, y) :- road(x, y)\nroad("a", "b") @ 3\nroad("a", "c") @ 2\n')
    refused = herbrand("query", theory, 'way("a", y)', "--algebra", "shortest")
    assert refused.status == 1 and "there is no algebra 'shortest'" in refused.err
    example("algebra")
    found = herbrand("query", theory, 'way("a", y)', "--algebra", "shortest")
    assert found.status == 0 and found.out.index('"c"') < found.out.index('"b"')


def test_an_algebra_of_the_library_keeps_its_name() -> None:
    member = shortest()
    for name in ("log", "count", "probability"):
        member.__class__.name = name
        with pytest.raises(ValueError, match=f"there is an algebra '{name}' already"):
            register_algebra(member)


# The dialect


def test_the_dialect_reads_its_files(tmp_path: Path, herbrand: Callable[..., Outcome]) -> None:
    example("dialect")
    (tmp_path / "family.triples").write_text("liam father bob\nbob brother max\n\nliam father bob\n")
    theory = hb.read(tmp_path / "family.triples")
    assert hb.show(theory) == 'father("liam", "bob")\nfather("liam", "bob")\nbrother("bob", "max")\n'
    assert herbrand("convert", tmp_path / "family.triples").out == hb.show(theory)


def test_files_of_the_dialect_are_known_wherever_files_are(
    tmp_path: Path, herbrand: Callable[..., Outcome]
) -> None:
    example("dialect")
    (tmp_path / "family.triples").write_text("liam father bob\n")
    (tmp_path / "old.csv").write_text("liam\n")
    (tmp_path / "t.hb").write_text("old(x) :- father(x, y)\n")
    assert [source.name for source in fact_sources(tmp_path)] == ["old.csv"], "a theory is no table"
    assert kind_of("family.triples") == "theory"
    refused = herbrand("check", tmp_path / "t.hb", "-o", tmp_path / "sizes.triples")
    assert refused.status == 1 and "results are not written as .triples" in refused.err
    own = DIALECTS["triples"]
    read = own.read
    assert read is not None
    register_dialect(replace(own, read_facts=lambda source, valued: read(source, None).facts))
    assert kind_of("family.triples") == "facts"
    answer = herbrand("query", tmp_path / "t.hb", "old(x)", "--facts", tmp_path / "family.triples")
    assert answer.status == 0 and '"liam"' in answer.out, answer.err


def test_the_dialect_tells_every_mistake_with_its_place(tmp_path: Path) -> None:
    example("dialect")
    path = tmp_path / "bad.triples"
    path.write_text("a b c\na b\n\nx y z w\n")
    with pytest.raises(LanguageError) as error:
        hb.read(path)
    assert [mistake.span and mistake.span.line for mistake in error.value.mistakes] == [2, 4]
    with pytest.raises(HerbrandError, match="there is no dialect 'triples' for this"):
        hb.written(hb.parse("a"), "triples")


def test_what_a_test_registers_is_forgotten() -> None:
    assert "triples" not in DIALECTS
    with pytest.raises(ValueError, match="there is no algebra 'shortest'"):
        Contraction.parse("a ->", {"a": 1}, algebra="shortest")
