"""Which parts of a graph messages cannot tell apart, beside colours that are whole descriptions."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.budget import UNLIMITED
from herbrand.engines.belief.messages import bethe, flood, log_beliefs, no_messages
from herbrand.errors import HerbrandError
from herbrand.factors import refinement
from herbrand.factors.graph import SOME, Assembly, FactorGraph, Somes, Tables
from herbrand.factors.ground_graph import ground_graph
from herbrand.factors.refinement import WIDEST_SYMMETRY, canonical_table, lifted
from herbrand.program.ground import ground
from tests.engines.belief.energies import edges_of
from tests.engines.belief.theories import SENTENCES, declarations
from tests.engines.unseen import theory
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(60))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def graph_of(text: str) -> FactorGraph | None:
    try:
        return ground_graph(ground(hb.Model(hb.parse(text)).program, UNLIMITED)).graph
    except HerbrandError:
        return None


def coarsest(graph: FactorGraph) -> list[int]:
    """The class of each axis: colours are numbers for what is seen, until no more are told apart.

    Of tables, what is seen is the smallest of all views of the table with its axes' colours in that order.
    """

    def numbered(seen: list[object]) -> list[int]:
        known = {mark: number for number, mark in enumerate(sorted(set(map(repr, seen))))}
        return [known[repr(mark)] for mark in seen]

    def unary(axis: int) -> tuple[float, ...]:
        start = int(graph.starts[axis])
        return tuple((graph.unary[start : start + int(graph.sizes[axis])] + 0.0).tolist())

    def view(factor: int, colours: list[int], mine: int) -> object:
        """Of a factor from one of its edges."""
        edges = list(edges_of(graph, factor))
        axes = [int(graph.edge_axes[edge]) for edge in edges]
        if graph.table_starts[factor] == SOME:
            rest = []
            for edge, axis in zip(edges[1:], axes[1:], strict=True):
                start = int(graph.message_starts[edge])
                held = tuple(graph.allowed[start : start + int(graph.sizes[axis])].tolist())
                rest.append((held, colours[axis], edge == edges[mine]))
            return ("some", colours[axes[0]], mine == 0, sorted(rest))
        sizes = [int(graph.sizes[axis]) for axis in axes]
        start = int(graph.table_starts[factor])
        table = graph.tables[start : start + math.prod(sizes)].reshape(sizes)
        orders = itertools.permutations(range(len(axes)))
        return min(
            (
                [sizes[i] for i in order],
                (np.transpose(table, order) + 0.0).reshape(-1).tolist(),
                [colours[axes[i]] for i in order],
                [i == mine for i in order],
            )
            for order in orders
        )

    colours = numbered([unary(axis) for axis in range(graph.axis_count)])
    while True:
        around: list[list[str]] = [[] for _ in colours]
        for factor in range(graph.factor_count):
            for place, edge in enumerate(edges_of(graph, factor)):
                around[int(graph.edge_axes[edge])].append(repr(view(factor, colours, place)))
        fresh = numbered([(colour, sorted(seen)) for colour, seen in zip(colours, around, strict=True)])
        if len(set(fresh)) == len(set(colours)):
            return colours
        colours = fresh


def partition(colours: list[int]) -> set[frozenset[int]]:
    classes: dict[int, set[int]] = {}
    for axis, colour in enumerate(colours):
        classes.setdefault(colour, set()).add(axis)
    return {frozenset(its) for its in classes.values()}


def assert_coarsest(graph: FactorGraph) -> int:
    """How many classes; the collapsed graph says of each class what the whole says of its parts."""
    found = lifted(graph, 1.0)
    assert found is not None
    expected = partition(coarsest(graph))
    assert partition(found.axis_class.tolist()) == expected
    assert found.graph.axis_count == len(expected)
    sizes = Counter(found.axis_class.tolist())
    assert found.graph.counts.tolist() == [float(sizes[number]) for number in range(len(sizes))]
    assert found.graph.factor_counts.sum() == graph.factor_count
    heard = np.bincount(graph.edge_axes, graph.exponents, graph.axis_count)
    again = np.bincount(found.graph.edge_axes, found.graph.exponents, found.graph.axis_count)
    assert again[found.axis_class].tolist() == heard.tolist()
    return len(expected)


def test_classes_are_the_coarsest_that_hold() -> None:
    """No more is told apart than must be, and no less; random theories and symmetric ones."""
    fewer = 0
    for seed in range(400, 410):
        graph = graph_of(theory(seed)[0])
        if graph is not None and graph.axis_count:
            fewer += assert_coarsest(graph) < graph.axis_count
    assert fewer > 1
    constants = ("c0", "c1", "c2")
    for sentence in SENTENCES[:-1]:
        graph = graph_of("\n".join([*declarations(constants), f"0.5: {sentence}", 'p("c0")']))
        assert graph is not None
        assert_coarsest(graph)


def test_messages_on_the_collapsed_graph_are_the_same() -> None:
    """Edge by edge, round after round."""
    compared = 0
    for seed in range(430, 444):
        graph = graph_of(theory(seed)[0])
        small = lifted(graph, 1.0) if graph is not None and graph.axis_count else None
        if graph is None or small is None:
            continue
        one, other = no_messages(graph), no_messages(small.graph)
        for _ in range(3):
            (one, moved), (other, also) = flood(graph, one, 0.2), flood(small.graph, other, 0.2)
            if math.isnan(moved) or math.isnan(also):
                assert math.isnan(moved) and math.isnan(also)
                break
            for edge in range(graph.edge_count):
                size, start = int(graph.edge_sizes[edge]), int(graph.message_starts[edge])
                there = int(small.graph.message_starts[small.edge_class[edge]])
                assert one[start : start + size].tolist() == pytest.approx(
                    other[there : there + size].tolist(), abs=1e-9
                )
        else:
            compared += 1
            beliefs = log_beliefs(graph, one).probabilities(graph)
            again = log_beliefs(small.graph, other).probabilities(small.graph)
            assert beliefs.shape[1] >= again.shape[1]
            assert beliefs[:, : again.shape[1]] == pytest.approx(
                again[small.axis_class], abs=1e-9, nan_ok=True
            )
            assert bethe(graph, one) == pytest.approx(bethe(small.graph, other), abs=1e-8)
    assert compared > 4


def test_what_is_collapsed_is_not_collapsed_again() -> None:
    for seed in range(430, 440):
        graph = graph_of(theory(seed)[0])
        small = lifted(graph, 1.0) if graph is not None and graph.axis_count else None
        if small is not None:
            again = lifted(small.graph, 1.0)
            assert again is not None and again.graph.axis_count == small.graph.axis_count
            assert again.graph.factor_count == small.graph.factor_count


def chain(length: int, weights: list[float]) -> FactorGraph:
    """Axes in a row, the first ones with weights of their own."""
    assembly = Assembly([2] * length)
    for axis, weight in enumerate(weights):
        assembly.add_unary(np.array([axis]), np.array([0.0, weight]))
    scopes = np.array([[i, i + 1] for i in range(length - 1)])
    table = np.array([[[0.5, 0.0], [0.0, 0.5]]])
    assembly.add_tables(Tables(scopes, np.zeros(len(scopes), np.int64), table))
    return assembly.build()


@pytest.mark.parametrize(
    ("weights", "classes"),
    [([], 5), ([1.0], 9), ([1.0] * 9, 5), ([0.0, -0.0], 5), ([1e-14], 9), ([1.0 + 1e-15, *[1.0] * 8], 5)],
)
def test_a_chain_is_folded_in_the_middle(weights: list[float], classes: int) -> None:
    """Unless its ends differ by more than the last of their digits."""
    found = lifted(chain(9, weights), 1.0)
    assert found is not None and found.graph.axis_count == classes


def test_not_worth_it_and_not_settled_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = chain(40, [])
    assert lifted(graph, 0.4) is None, "half of the axes are classes"
    assert lifted(graph, 0.5) is not None
    monkeypatch.setattr(refinement, "MOST_ROUNDS", 5)
    assert lifted(graph, 0.5) is None, "twenty rounds are needed to see the ends from the middle"


@quick
@given(seeds, st.integers(1, WIDEST_SYMMETRY + 1))
def test_a_tables_key_forgets_the_order_of_its_axes(rng: np.random.Generator, width: int) -> None:
    sizes = rng.integers(1, 3, width) + 1
    table = rng.integers(0, 2, sizes).astype(float)
    key, order, symmetries = canonical_table(table)
    turned = rng.permutation(width)
    other, _, others = canonical_table(np.ascontiguousarray(np.transpose(table, turned)))
    if width <= WIDEST_SYMMETRY:
        assert key == other and len(symmetries) == len(others)
    else:
        assert symmetries == (tuple(range(width)),), "not looked for"
    canonical = np.transpose(table, order)
    assert tuple(range(width)) in symmetries
    for symmetry in symmetries:
        assert (np.transpose(canonical, symmetry) == canonical).all()
    if width <= WIDEST_SYMMETRY:
        every = [
            o
            for o in itertools.permutations(range(width))
            if canonical.shape == np.transpose(canonical, o).shape
        ]
        same = [o for o in every if (np.transpose(canonical, o) == canonical).all()]
        assert sorted(symmetries) == sorted(same)


def test_tables_that_differ_have_other_keys() -> None:
    tables = [
        np.array(cells, float).reshape(2, 2) for cells in itertools.product([0, 1, -math.inf], repeat=4)
    ]
    keys = {}
    for table in tables:
        alike = min(tuple(view.reshape(-1).tolist()) for view in (table, table.T))
        keys.setdefault(canonical_table(table)[0], set()).add(alike)
    assert all(len(alike) == 1 for alike in keys.values())
    assert len(keys) == 54  # 81 tables, 27 of them symmetric


def test_members_of_a_quantifier_that_are_alike_become_one() -> None:
    """Three of one kind and one of another, in two factors that are alike."""
    assembly = Assembly([2] * 10)
    members = np.array([2, 3, 4, 5, 6, 7, 8, 9])
    assembly.add_unary(np.array([5, 9]), np.array([0.0, 1.0]))
    assembly.add_somes(Somes(np.array([0, 1]), np.array([0, 4, 8]), members, np.zeros(8, np.int64), [(1,)]))
    found = lifted(assembly.build(), 1.0)
    assert found is not None
    small = found.graph
    assert (small.axis_count, small.factor_count) == (3, 1)
    assert small.factor_counts.tolist() == [2.0]
    by_count = dict(zip(small.counts[small.edge_axes].tolist(), small.multiplicities.tolist(), strict=False))
    assert by_count[6.0] == 3.0 and small.exponents.tolist() == [1.0] * 3


def test_targets_and_members_are_told_apart() -> None:
    """Two helpers in a ring, one resting on the other's falsehood: nothing says which is which."""
    assembly = Assembly([2, 2, 2])
    assembly.add_somes(
        Somes(np.array([0]), np.array([0, 2]), np.array([1, 2]), np.array([0, 1]), [(0,), (1,)])
    )
    found = lifted(assembly.build(), 1.0)
    assert found is not None and found.graph.axis_count == 3
