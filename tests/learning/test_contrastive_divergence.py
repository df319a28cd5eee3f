"""Weights by sampled worlds beside the likelihood of plain loops; graphs that are linear in the weights."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

import herbrand as hb
from benchmarks.learnable_theories import KINDS, Task, drawn_task
from herbrand.answers.guarantee import Guarantee
from herbrand.budget import Budget
from herbrand.engines.gibbs.kernels import met_entries
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.factors.ground_graph import ground_graph
from herbrand.language.written_weights import with_weights
from herbrand.learning.contrastive_divergence import CHAINS
from herbrand.learning.parameters import Parameters
from herbrand.learning.sampled_counts import SampledSide, WeightedGraph
from herbrand.program.ground import ground
from herbrand.program.program import Program
from tests.laws import long
from tests.oracles.likelihood import highest

EVERY = [kinds for size in range(3) for kinds in itertools.combinations(KINDS, size)]


def free_program(task: Task, world: int = 0) -> Program:
    """All that is known of a world beside its labels."""
    labels = task.worlds[world]
    known = {a: v for a, v in labels.known.items() if a[0] not in task.targets}
    model = hb.Model(task.theory, type(labels)(known).facts, open=[*task.targets, *task.latent])
    return model.program


@pytest.mark.parametrize("seed", range(20))
def test_a_graph_at_weights_is_the_graph_of_the_theory_with_these_weights(seed: int) -> None:
    task = drawn_task(random.Random(seed), EVERY[seed % len(EVERY)])
    program = free_program(task)
    parameters = Parameters.of(program)
    found = WeightedGraph.of(program, parameters, Budget())
    weights = np.random.default_rng(seed).normal(size=len(parameters))
    theory = with_weights(task.theory, dict(zip(parameters.keys, weights.tolist(), strict=True)))
    expected = WeightedGraph.of(free_program(replace(task, theory=theory)), Parameters(), Budget()).compiled
    graph, constant = found.at(weights), float(found.groundings.certain @ weights)
    for values in states(graph.sizes, expected.atom_count, seed):
        ours, theirs = (weight_of(one, values) for one in (graph, expected.graph))
        assert ours + graph.constant + constant == pytest.approx(theirs + expected.graph.constant)


def states(sizes: np.ndarray, atoms: int, seed: int) -> list[np.ndarray]:
    """Some values of the atoms, all of them where these are few."""
    dice = np.random.default_rng(seed)
    return [np.array([dice.integers(size) for size in sizes[:atoms]], np.int64) for _ in range(30)]


def weight_of(graph, atoms: np.ndarray) -> float:
    """What a graph says of values of its atoms, helpers after what they rest on; plain loops."""
    values = dict(enumerate(atoms.tolist()))
    makers = {
        int(graph.edge_axes[graph.factor_edges[f]]): f
        for f in range(graph.factor_count)
        if graph.table_starts[f] < 0
    }

    def value(axis: int) -> int:
        if axis not in values:
            factor = makers[axis]
            edges = range(graph.factor_edges[factor] + 1, graph.factor_edges[factor + 1])
            values[axis] = int(
                any(graph.allowed[graph.message_starts[e] + value(int(graph.edge_axes[e]))] for e in edges)
            )
        return values[axis]

    whole = np.array([value(axis) for axis in range(graph.axis_count)], np.int64)
    met = np.zeros(len(graph.tables) + len(graph.unary))
    met_entries(graph, whole, met)
    entries = np.concatenate([graph.tables, graph.unary])
    return float(sum(times * entry for times, entry in zip(met, entries, strict=True) if times))


@pytest.mark.parametrize("seed", range(12))
def test_counts_of_drawn_worlds_are_those_of_all_worlds(seed: int) -> None:
    """On the average, at weights that the loops weigh all worlds by."""
    task = drawn_task(random.Random(seed), EVERY[seed % len(EVERY)])
    weights = np.random.default_rng(seed).normal(size=len(task.keys)) / 2
    loops = task.by_loops()[0]
    scores = loops.counts @ weights + loops.logs
    chances = np.exp(scores - scores.max())
    chances /= chances.sum()
    means = chances @ loops.counts
    spread = np.sqrt(chances @ (loops.counts - means) ** 2)
    program = free_program(task)
    parameters = Parameters.of(program)
    side = SampledSide(program, parameters, 8, Budget(), [seed])
    own = [task.keys.index(key) for key in parameters.keys]
    side.drawn(weights[own], 50)
    found = side.drawn(weights[own], 400)
    assert np.abs(found.mean(axis=(0, 1)) - means[own]) == pytest.approx(0, abs=0.15 * spread.max() + 1e-9)


@pytest.mark.parametrize("seed", long(range(16), len(EVERY)))
def test_weights_are_about_as_likely_as_the_best(seed: int) -> None:
    """The penalised log-likelihood is within a twentieth of the highest of many climbs. Where something is
    hidden there are several tops, one of which is reached."""
    task = drawn_task(random.Random(seed), EVERY[seed % len(EVERY)])
    found = hb.Model(task.theory).learn(
        "contrastive-divergence",
        worlds=[one.facts for one in task.worlds],
        target=task.targets,
        latent=task.latent,
        l2=0.1,
    )
    assert found.method == "contrastive-divergence"
    assert (found.engine, found.guarantee) == ("gibbs", Guarantee.APPROXIMATION)
    assert found.status.converged and all(weight.standard_error is None for weight in found.weights)
    weights, loops = task.in_order(found), task.by_loops()
    reached = sum(one.value(weights) for one in loops) - 0.05 * float(weights @ weights)
    if not task.latent:
        assert reached >= highest(loops, len(weights), 0.1, starts=8) - 0.05
    slope = sum(one.gradient(weights) for one in loops) - 0.1 * weights
    assert np.abs(slope) == pytest.approx(0, abs=0.25)


CROWD = """\
predicate smokes(person)
predicate friends(person, person): observed
?: smokes(x)
?: smokes(x) and friends(x, y) => smokes(y)
"""


def crowd(people: int) -> dict[str, list]:
    """Friends all over, so that no order of elimination is short and no two people are alike."""
    dice = random.Random(3)
    names = [f"p{i:03}" for i in range(people)]
    friends = sorted({(dice.choice(names), dice.choice(names)) for _ in range(4 * people)})
    smokers = [name for name in names if dice.random() < 0.4]
    return {"friends": [(x, y) for x, y in friends if x != y], "smokes": smokers}


def test_likelihood_samples_where_exact_counts_are_out_of_reach() -> None:
    """And says so. Nothing is tied or hidden, so that pseudo-likelihood is consistent too."""
    model = hb.Model(hb.parse(CROWD), crowd(300))
    found, other = model.learn("likelihood"), model.learn("pseudo-likelihood")
    assert found.method == "contrastive-divergence" and found.status.converged
    assert found.reason is not None and "exact counts" in found.reason
    for sampled, conditional in zip(found.weights, other.weights, strict=True):
        assert conditional.standard_error is not None
        assert abs(sampled.weight - conditional.weight) < 3 * conditional.standard_error
    assert found.curve[-1].metric == "log-likelihood to gain"
    again = model.learn("likelihood")
    assert [w.weight for w in again.weights] == [w.weight for w in found.weights]
    assert [w.weight for w in model.learn("likelihood", seed=1).weights] != [w.weight for w in found.weights]


def test_l1_keeps_weights_at_zero() -> None:
    theory = hb.parse(CROWD + "?: smokes(x) and smokes(y) and friends(x, y) and friends(y, x)\n")
    model = hb.Model(theory, crowd(60))
    sampled = model.learn("contrastive-divergence", l1=3.0, l2=0.0)
    exact = model.learn("pseudo-likelihood", l1=1000.0)
    assert all(weight.weight == 0 for weight in exact.weights)
    assert any(weight.weight == 0 for weight in sampled.weights)


@pytest.mark.parametrize(("copies", "l1"), [(1, 5.0), (1, 40.0), (4, 0.1), (8, 2.0)])
def test_l1_leads_where_it_does_with_exact_counts(copies: int, l1: float) -> None:
    """However much of the slope it takes off, and however much counts vary together."""
    text = "type p = 1..30\npredicate s(p)\npredicate c(p)\n" + "?: s(x)\n" * copies + "?: s(x) and c(x)\n"
    model = hb.Model(hb.parse(text), {"s": [(i,) for i in range(1, 23)], "c": [(i,) for i in range(1, 11)]})
    exact, sampled = (model.learn(method, l1=l1) for method in ("likelihood", "contrastive-divergence"))
    assert sampled.status.converged
    for own in (slice(copies), slice(copies, None)):
        found, expected = (sum(one.weight for one in way.weights[own]) for way in (sampled, exact))
        assert found == pytest.approx(expected, abs=0.05)


def test_what_samples_cannot_tell_is_refused() -> None:
    model = hb.Model(hb.parse(CROWD), crowd(300))
    with pytest.raises(BudgetError, match="the ends of several starts cannot be compared"):
        model.learn("likelihood", starts=3)
    with pytest.raises(UnsupportedError, match="does not use --held-out"):
        model.learn("contrastive-divergence", held_out=".")
    tied = CROWD + "hard: smokes(x) or smokes(y) where x != y\n"
    with pytest.raises(UnsupportedError, match="cannot mix over this hard statement"):
        everybody = {**crowd(40), "smokes": [f"p{i:03}" for i in range(40)]}
        hb.Model(hb.parse(tied), everybody).learn("contrastive-divergence")


def test_time_ends_a_climb_with_what_it_has() -> None:
    model = hb.Model(hb.parse(CROWD), crowd(300))
    found = model.learn("contrastive-divergence", iterations=5)
    assert not found.status.converged and found.status.iterations == 5
    assert "--iterations" in found.status.advice and CHAINS == 4


def test_a_graph_without_anything_learned_has_no_slopes() -> None:
    program = hb.Model(hb.parse('type t = {"a"}\npredicate s(t)\n1: s(x)')).program
    found = WeightedGraph.of(program, Parameters(), Budget())
    assert isinstance(found.slopes, csr_array) and found.slopes.shape == (2, 0)
    assert ground_graph(ground(program)).graph.unary.tolist() == [-1.0, 0.0]
