"""Lifted regions against the ground region graph that they stand for, message by message."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

import herbrand as hb
from herbrand.answers.marginals import Marginals
from herbrand.engines.loop import Limits, run
from herbrand.engines.regions import graph as engine_graph
from herbrand.engines.regions.engine import Part, Regions
from herbrand.engines.regions.tables import summed
from herbrand.program.program import Program
from herbrand.program.question import Question
from tests.engines.regions.monadic import theories
from tests.oracles.belief import Graph, ground_graph
from tests.oracles.regions import Region, RegionGraph
from tests.oracles.worlds import Universe, exact_answers

generated = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
STRUCTURES = [
    pytest.param({"merge": False, "joint": False}, id="a formula a cluster, one element at a time"),
    pytest.param({"merge": False}, id="a formula a cluster, joint counts"),
    pytest.param({"cost": 27.0}, id="merged clusters"),
    pytest.param({"cost": 27.0, "joint": False}, id="merged clusters, one element at a time"),
]


def atoms_of(part: Part, variable: int, graph: Graph) -> list[Any]:
    """The latent ground atoms that a variable counts."""
    scene = part.summation.scene
    pools = part.propagation.counts.layout.axes[variable].pools
    names = {own.predicate for pool in pools for own in scene.families[scene.pools[pool].family].owns}
    return [atom for atom in graph.sizes if atom[0] in names]  # type: ignore[index]


def written_out(part: Part, region: engine_graph.Region, graph: Graph) -> list[Region]:
    """The ground regions that one stands for."""
    atoms = [atom for variable in region.scope for atom in atoms_of(part, variable, graph)]
    return [frozenset((atom,)) for atom in atoms] if region.single else [frozenset(atoms)]


def ground_regions(part: Part, graph: Graph) -> RegionGraph:
    regions = [r for region in part.propagation.graph.regions for r in written_out(part, region, graph)]
    return RegionGraph(graph.sizes, graph.factors, [region for region in dict.fromkeys(regions) if region])


def part_of(program: Program, engine: Regions) -> Part:
    (part,) = engine.start(program, Question()).parts
    return part


def assert_same(answer: Marginals, expected: RegionGraph, accuracy: float) -> None:
    marginals = expected.marginals()
    for row in answer.rows():
        assert row.predicate is not None
        ours, theirs = row.probability, marginals[row.predicate, row.arguments][1]
        assert ours == pytest.approx(theirs, abs=accuracy), row


@pytest.mark.parametrize("structure", STRUCTURES)
@generated
@given(theories(clauses=True))
def test_every_round_is_that_of_the_ground_region_graph(
    structure: dict[str, Any], model: tuple[str, Universe]
) -> None:
    text, universe = model
    theory = hb.parse(text)
    engine = Regions(schedule="parallel", damping=0.4, starts=1, **structure)
    state = engine.start(hb.Model(theory).program, Question())
    (part,), graph = state.parts, ground_graph(universe, theory.formulas)
    expected = ground_regions(part, graph)
    for _ in range(4):
        state = engine.step(state)
        expected.round(0.4)
        ((run,),) = state.runs
        for number, region in enumerate(part.propagation.graph.regions):
            belief = part.propagation.belief(number, run.messages)
            for ground in written_out(part, region, graph):
                for variable in region.scope:
                    atom = atoms_of(part, variable, graph)[0]
                    if atom not in ground:
                        continue
                    theirs = np.exp(expected.marginal(expected.belief(ground), ground, [atom])[1,])
                    ours = of_one(part, variable, belief, region)
                    assert np.isnan(ours) or ours == pytest.approx(theirs, abs=1e-9)
        found = part.propagation.free_energy(run.messages)
        assert found == pytest.approx(expected.free_energy() + graph.constant, abs=1e-8)


def of_one(part: Part, variable: int, belief: np.ndarray, region: engine_graph.Region) -> float:
    """What a region believes of one atom of a variable."""
    counted = part.propagation.counts.variables[variable]
    cells = part.summation.tabulated.cells[part.propagation.counts.layout.axes[variable].pools[0]]
    if cells.profiles == 1:
        return float("nan")  # no other variable bears on it: a table of one entry
    if not region.single:
        others = [place for place, other in enumerate(region.scope) if other != variable]
        belief = np.log(np.exp(summed(belief, others)) @ counted.counts / counted.elements)
    return float(np.exp(belief[cells.profile[1]]))


@pytest.mark.parametrize("structure", STRUCTURES)
@generated
@given(theories(facts=True))
def test_with_facts_it_comes_to_the_same_rest(structure: dict[str, Any], model: tuple[str, Universe]) -> None:
    text, universe = model
    theory = hb.parse(text)
    program = hb.Model(theory).program
    engine: Any = Regions(starts=1, tolerance=1e-12, **structure)
    part = part_of(program, engine)
    expected = ground_regions(part, ground_graph(universe, theory.formulas))
    assume(not expected.chooses)  # with facts a formula may be about less than its cluster, and be in two
    assume(expected.run(400, damping=0.5) < 1e-11)
    answer = run(engine, program, Question(), Limits(tolerance=1e-12, iterations=400))
    assume(answer.status.converged)
    assert_same(answer, expected, 1e-8)
    if part.propagation.graph.acyclic:
        log_z, _, _ = exact_answers(universe, theory.formulas)
        assert answer.guarantee.value == "exact"
        assert answer.log_partition == pytest.approx(log_z, abs=1e-8)
