"""Lifted regions against the ground region graph that they stand for, message by message."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, reject, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.marginals import Marginals
from herbrand.engines.engine import first_state
from herbrand.engines.fallback import HandOverError
from herbrand.engines.loop import Limits, run
from herbrand.engines.regions import graph as engine_graph
from herbrand.engines.regions.engine import Regions
from herbrand.engines.regions.graph import region_graph
from herbrand.engines.regions.messages import Propagation
from herbrand.engines.regions.parts import RegionPart
from herbrand.engines.regions.tables import summed
from herbrand.program.program import Program
from herbrand.program.question import Question
from tests.engines.regions.monadic import theories
from tests.laws import tries
from tests.oracles.belief import Graph, ground_graph
from tests.oracles.regions import Region, RegionGraph
from tests.oracles.worlds import Universe, exact_answers

generated = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=tries(6, 4),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
STRUCTURES = [
    pytest.param({"merge": False, "joint": False}, id="a formula a cluster, one element at a time"),
    pytest.param({"merge": False}, id="a formula a cluster, joint counts"),
    pytest.param({"cost": 27.0}, id="merged clusters"),
    pytest.param({"cost": 27.0, "joint": False}, id="merged clusters, one element at a time"),
]


def atoms_of(part: RegionPart, variable: int, graph: Graph) -> list[list[Any]]:
    """The latent ground atoms of each element that a variable counts."""
    model, counts = part.summation.model, part.propagation.counts
    element_groups = part.summation.element_groups.all
    pools = [element_groups[variable].pool] if counts.layout is None else counts.counted.axes[variable].pools
    found = []
    for pool in pools:
        family = model.families[model.pools[pool].family]
        constants = model.program.domain(family.type).values.to_pylist()
        for element in model.pools[pool].elements:
            atoms = [(own.predicate, (constants[element],)) for own in family.owns]
            found.append([atom for atom in atoms if atom in graph.sizes])
    return found if counts.elements[variable] > 1 else [[a for atoms in found for a in atoms]]


def written_out(part: RegionPart, region: engine_graph.Region, graph: Graph) -> list[Region]:
    """The ground regions that one stands for."""
    choices = [combinations(atoms_of(part, v, graph), number) for v, number in region.taken]
    return [frozenset(a for some in chosen for e in some for a in e) for chosen in product(*choices)]


def ground_regions(part: RegionPart, graph: Graph) -> RegionGraph:
    regions = [r for region in part.propagation.graph.regions for r in written_out(part, region, graph)]
    return RegionGraph(graph.sizes, graph.factors, [region for region in dict.fromkeys(regions) if region])


def chooses(part: RegionPart) -> bool:
    """Whether what several regions could have is given to one of them, any one."""
    counts, graph = part.propagation.counts, part.propagation.graph
    return any(
        len(owners) < sum(factor.fits(region) for region in graph.regions)
        for factor, (owners, _) in zip(counts.parts, graph.owners, strict=True)
    )


def part_of(program: Program, engine: Regions) -> RegionPart:
    (part,) = first_state(engine, program, Question()).parts
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
    state = first_state(engine, hb.Model(theory).program, Question())
    (part,), graph = state.parts, ground_graph(universe, theory.formulas)
    expected = ground_regions(part, graph)
    for _ in range(4):
        state = engine.step(state)
        expected.round(0.4)
        ((run,),) = state.runs
        for number, region in enumerate(part.propagation.graph.regions):
            belief = part.propagation.belief(number, run.messages)
            for ground in written_out(part, region, graph):
                for variable, atom in (
                    (v, a) for v in region.scope for atoms in atoms_of(part, v, graph) for a in atoms
                ):
                    if atom not in ground:
                        continue
                    theirs = np.exp(expected.marginal(expected.belief(ground), ground, [atom])[1,])
                    ours = of_one(part, variable, belief, region)
                    assert np.isnan(ours) or ours == pytest.approx(theirs, abs=1e-9)
        found = part.propagation.free_energy(run.messages)
        assert found == pytest.approx(expected.log_sums() + graph.constant, abs=1e-8)


@generated
@given(
    theories(clauses=True, facts=True, constants=3), st.sampled_from([4.0, 8.0, 12.0, 16.0]), st.booleans()
)
def test_regions_of_some_constants_are_all_ground_ones(
    model: tuple[str, Universe], cost: float, merge: bool
) -> None:
    """Whichever arguments are counted and whichever taken one at a time, and whatever regions share."""
    text, universe = model
    theory = hb.parse(text)
    engine = Regions(cost=cost, merge=merge, partial=True)
    try:
        state = first_state(engine, hb.Model(theory).program, Question())
    except HandOverError:
        reject()
    assume(state.parts[0].propagation.counts.layout is None)
    (part,), graph = state.parts, ground_graph(universe, theory.formulas)
    counts, made = part.propagation.counts, part.propagation.graph
    outer = [r for r in made.regions if not any(r.inside(other) for other in made.regions)]
    for deep in (True, False):
        propagation = Propagation(counts, region_graph(outer, made.elements, counts.parts, deep=deep))
        rung = replace(part, propagation=propagation)
        expected = ground_regions(rung, graph)
        if expected.chooses or not all(expected.owners):  # a tautology is no factor here
            continue
        messages = propagation.no_messages
        for _ in range(3):
            messages, _ = propagation.round(messages, 0.4)
            expected.round(0.4)
        for number, region in enumerate(propagation.graph.regions):
            belief = propagation.belief(number, messages)
            for ground in written_out(rung, region, graph):
                for variable, atom in (
                    (v, a) for v in region.scope for atoms in atoms_of(rung, v, graph) for a in atoms
                ):
                    if atom in ground:
                        theirs = np.exp(expected.marginal(expected.belief(ground), ground, [atom])[1,])
                        ours = of_one(rung, variable, belief, region)
                        assert np.isnan(ours) or ours == pytest.approx(theirs, abs=1e-9)
        energy = propagation.free_energy(messages)
        assert energy == pytest.approx(expected.log_sums() + graph.constant, abs=1e-8)


def of_one(part: RegionPart, variable: int, belief: np.ndarray, region: engine_graph.Region) -> float:
    """What a region believes of one atom of a variable."""
    counted = part.propagation.counts.variables[variable]
    pool = part.summation.element_groups.all[variable].pool
    if part.propagation.counts.layout is not None:
        pool = part.propagation.counts.counted.axes[variable].pools[0]
    cells = part.summation.tabulated.cells[pool]
    if cells.profiles == 1:
        return float("nan")  # no other variable bears on it: a table of one entry
    others = [place for place, other in enumerate(region.scope) if other != variable]
    taken = region.numbers[variable]
    shares = np.exp(summed(belief, others)) @ counted.counts(taken) / taken
    return float(shares[cells.profile[1]])


@pytest.mark.parametrize("structure", STRUCTURES)
@generated
@given(theories(facts=True))
def test_with_facts_it_comes_to_the_same_rest(structure: dict[str, Any], model: tuple[str, Universe]) -> None:
    text, universe = model
    theory = hb.parse(text)
    program = hb.Model(theory).program
    engine: Any = Regions(starts=1, tolerance=1e-12, **structure)
    part = part_of(program, engine)
    graph = ground_graph(universe, theory.formulas)
    expected = ground_regions(part, graph)
    # With facts, or in part, a formula may be about less than its cluster, and be in two.
    assume(not expected.chooses and not chooses(part))
    assume(expected.run(400, damping=0.5) < 1e-11)
    answer = run(engine, program, Question(), Limits(tolerance=1e-12, iterations=400))
    assume(answer.status.converged)
    assert_same(answer, expected, 1e-8)
    assert answer.log_partition == pytest.approx(expected.free_energy() + graph.constant, abs=1e-8)
    if part.propagation.graph.acyclic:
        log_z, _, _ = exact_answers(universe, theory.formulas)
        assert answer.guarantee.value == "exact"
        assert answer.log_partition == pytest.approx(log_z, abs=1e-8)
