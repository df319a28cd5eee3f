"""Which graphs are forests, beside a walk that looks for a cycle; and the order of leaves."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.budget import UNLIMITED
from herbrand.engines.belief.forest import _peeled, forest_order
from herbrand.engines.belief.messages import bethe, log_beliefs, no_messages, sweep
from herbrand.factors.class_graph import class_graph
from herbrand.factors.graph import Assembly, FactorGraph, Somes, Tables
from herbrand.factors.ground_graph import ground_graph
from herbrand.factors.interchangeable import interchangeable
from herbrand.factors.refinement import lifted
from herbrand.loops import compiled
from herbrand.program.evidence import Evidence
from herbrand.program.ground import ground
from tests.engines.belief.energies import edges_of, energy
from tests.engines.belief.theories import SENTENCES, declarations
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(40))


@st.composite
def graphs(draw: st.DrawFn) -> FactorGraph:
    """Tables of two or three axes and quantifiers over helpers, some of them trees and some not."""
    atoms = draw(st.integers(2, 6))
    helpers = draw(st.integers(0, 2))
    assembly = Assembly([2] * (atoms + helpers))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    assembly.unary[:] = rng.normal(size=len(assembly.unary))
    reach = range(atoms + helpers)
    for width in draw(st.lists(st.sampled_from([2, 2, 3]), max_size=4)):
        if width <= len(reach):
            scope = np.array([sorted(rng.choice(len(reach), width, replace=False))])
            assembly.add_tables(Tables(scope, np.zeros(1, np.int64), rng.normal(size=(1, *[2] * width))))
    for helper in range(helpers):
        members = rng.choice(atoms + helper, int(rng.integers(1, 3)), replace=False)
        pointers, patterns = np.array([0, len(members)]), rng.integers(0, 2, len(members))
        assembly.add_somes(Somes(np.array([atoms + helper]), pointers, members, patterns, [(0,), (1,)]))
    return assembly.build()


def is_forest(graph: FactorGraph) -> bool:
    """No edge joins what is already joined."""
    above = list(range(graph.axis_count + graph.factor_count))

    def root(part: int) -> int:
        while above[part] != part:
            part = above[part]
        return part

    for factor in range(graph.factor_count):
        for edge in edges_of(graph, factor):
            one, other = root(graph.axis_count + factor), root(int(graph.edge_axes[edge]))
            if one == other:
                return False
            above[one] = other
    return True


@quick
@given(graphs())
def test_a_forest_is_a_graph_without_cycles(graph: FactorGraph) -> None:
    order = forest_order(graph)
    assert (order is not None) == is_forest(graph)
    if order is None:
        return
    assert sorted(order.tolist()) == list(range(graph.factor_count))
    # When a factor's turn comes, at most one of its axes has factors left besides it.
    left = {int(f) for f in order}
    for factor in order.tolist():
        left.discard(factor)
        others = {int(graph.edge_axes[e]) for f in left for e in edges_of(graph, f)}
        assert sum(int(graph.edge_axes[e]) in others for e in edges_of(graph, factor)) <= 1


@quick
@given(graphs())
def test_one_sweep_there_and_back_is_exact_on_forests_with_quantifiers(graph: FactorGraph) -> None:
    """By all worlds: the helpers of each are what its atoms make them."""
    order = forest_order(graph)
    if order is None:
        return
    makers = {int(graph.edge_axes[graph.factor_edges[f]]) for f in np.flatnonzero(graph.table_starts < 0)}
    atoms = [axis for axis in range(graph.axis_count) if axis not in makers]
    weights = {}
    for values in itertools.product((0, 1), repeat=len(atoms)):
        weights[values] = energy(graph, dict(zip(atoms, values, strict=True)))
    largest = max(weights.values())
    total = sum(math.exp(w - largest) for w in weights.values())
    messages, _ = sweep(graph, no_messages(graph), order, 0.0)
    messages, moved = sweep(graph, messages, order[::-1].copy(), 0.0)
    assert not math.isnan(moved)
    assert bethe(graph, messages) == pytest.approx(largest + math.log(total), abs=1e-9)
    beliefs = log_beliefs(graph, messages).probabilities(graph)
    for place, axis in enumerate(atoms):
        share = sum(math.exp(w - largest) for values, w in weights.items() if values[place]) / total
        assert beliefs[axis, 1] == pytest.approx(share, abs=1e-9)


@pytest.mark.parametrize("facts", ["", 'f("c0", "c1")\nnot p("c2")', 'q("c0") ~ 0.9'])
def test_classes_tell_of_a_forest_what_the_ground_does(facts: str) -> None:
    """Of every sentence, and of every two of them; collapsed graphs as well."""
    constants = ("c0", "c1", "c2", "c3")
    stated = [(one,) for one in SENTENCES] + [(SENTENCES[i], SENTENCES[-1 - i]) for i in range(8)]
    found = set()
    for sentences in stated:
        lines = [*declarations(constants), facts, *(f"0.5: {sentence}" for sentence in sentences)]
        program = hb.Model(hb.parse("\n".join(lines))).program
        whole = ground_graph(ground(program, UNLIMITED)).graph
        classes = class_graph(program, Evidence(program), interchangeable(program)).graph
        expected = forest_order(whole) is not None
        assert (forest_order(classes) is not None) == expected, sentences
        collapsed = lifted(whole, 1.0)
        if collapsed is not None:
            assert (forest_order(collapsed.graph) is not None) == expected, sentences
        found.add(expected)
    assert found == {True, False}


def test_no_factors_are_a_forest() -> None:
    order = forest_order(Assembly([2, 2]).build())
    assert order is not None and len(order) == 0


def test_two_factors_over_the_same_two_axes_are_a_cycle() -> None:
    assembly = Assembly([2, 2])
    assembly.add_tables(Tables(np.array([[0, 1], [0, 1]]), np.array([0, 0]), np.ones((1, 2, 2))))
    assert forest_order(assembly.build()) is None


def test_a_class_that_hears_one_factor_twice_is_a_cycle() -> None:
    """An atom with two links of one kind, each with two such atoms: rings, of whatever length."""
    assembly = Assembly([2], [4.0])
    assembly.add_tables(
        Tables(np.array([[0, 0]]), np.array([0]), np.eye(2)[None], np.array([4.0]), np.array([[2.0, 0.0]]))
    )
    assert forest_order(assembly.build()) is None
    assembly = Assembly([2], [4.0])
    assembly.add_tables(
        Tables(np.array([[0, 0]]), np.array([0]), np.eye(2)[None], np.array([2.0]), np.array([[1.0, 0.0]]))
    )
    assert forest_order(assembly.build()) is not None, "pairs that are linked once"


@settings(quick, max_examples=tries(25))
@given(graphs())
def test_the_loop_as_written_finds_the_same_order(graph: FactorGraph) -> None:
    by_axis = np.argsort(graph.edge_axes, kind="stable")
    pointers = np.searchsorted(graph.edge_axes[by_axis], np.arange(graph.axis_count + 1))
    owners = np.repeat(np.arange(graph.factor_count), np.diff(graph.factor_edges))
    written, by_numba = (run(graph, by_axis, pointers, owners) for run in (_peeled, compiled(_peeled)))
    assert written[0].tolist() == by_numba[0].tolist() and written[1] == by_numba[1]
