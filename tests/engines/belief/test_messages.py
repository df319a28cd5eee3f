"""Messages of the kernels against plain loops, on random graphs with impossible entries."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from herbrand.engines.belief.forest import forest_order
from herbrand.engines.belief.messages import bethe, flood, log_beliefs, no_messages, sweep
from herbrand.factors.graph import Assembly, FactorGraph, Somes, Tables
from tests.laws import tries
from tests.oracles.belief import Factor, Graph

quick = settings(phases=[Phase.reuse, Phase.generate], deadline=None, max_examples=tries(60))
numbers = st.one_of(st.floats(-3, 3), st.floats(-3, 3), st.floats(-300, 300), st.just(-math.inf))


@st.composite
def graphs(draw: st.DrawFn, tree: bool = False) -> Graph:
    sizes = draw(st.lists(st.sampled_from([2, 2, 2, 3]), min_size=1, max_size=5))
    scopes = draw(
        st.lists(
            st.lists(st.sampled_from(range(len(sizes))), min_size=1, max_size=3, unique=True).map(tuple),
            min_size=1,
            max_size=5,
        )
    )
    if tree:
        scopes = [tuple({draw(st.integers(0, i)), i + 1}) for i in range(len(sizes) - 1)] + [(0,)]
    factors = []
    for scope in scopes:
        cells = itertools.product(*(range(sizes[v]) for v in scope))
        factors.append(Factor(scope, {cell: draw(numbers) for cell in cells}))
    return Graph(dict(enumerate(sizes)), factors)


def arrays(graph: Graph) -> FactorGraph:
    """The same graph for the kernels."""
    assembly = Assembly(list(graph.sizes.values()))
    for factor in graph.factors:
        shape = [graph.sizes[v] for v in factor.scope]
        table = np.array([factor.table[c] for c in itertools.product(*map(range, shape))])
        if len(shape) == 1:
            assembly.add_unary(np.array(factor.scope), table)
            continue
        assembly.add_tables(Tables(np.array([factor.scope]), np.zeros(1, np.int64), table.reshape(1, *shape)))
    return assembly.build()


@quick
@given(graphs(), st.sampled_from([0.0, 0.0, 0.5]), st.integers(1, 4))
def test_rounds_are_those_of_plain_loops(graph: Graph, damping: float, rounds: int) -> None:
    ours, messages = arrays(graph), no_messages(arrays(graph))
    for _ in range(rounds):
        messages, moved = flood(ours, messages, damping)
        if math.isnan(moved):
            return
        graph.round(damping)
        assert list(messages) == pytest.approx(
            [v for (f, _), m in graph.messages.items() if len(graph.factors[f].scope) > 1 for v in m],
            abs=1e-8,
        )
    beliefs = log_beliefs(ours, messages).probabilities(ours)
    assume(not np.isnan(beliefs).any())
    for variable, expected in graph.marginals().items():
        assert beliefs[variable, : len(expected)] == pytest.approx(expected, abs=1e-9)


def worlds(graph: Graph) -> tuple[float, dict[int, list[float]]]:
    """Log-partition and marginals by all assignments."""
    weights = {
        values: math.fsum(f.table[tuple(values[v] for v in f.scope)] for f in graph.factors)
        for values in itertools.product(*(range(size) for size in graph.sizes.values()))
    }
    largest = max(weights.values())
    if largest == -math.inf:
        return largest, {}
    total = sum(math.exp(w - largest) for w in weights.values())
    marginals = {
        variable: [
            sum(math.exp(w - largest) for values, w in weights.items() if values[variable] == value) / total
            for value in range(size)
        ]
        for variable, size in graph.sizes.items()
    }
    return largest + math.log(total), marginals


@quick
@given(graphs(tree=True))
def test_a_sweep_there_and_back_is_exact_on_a_tree(graph: Graph) -> None:
    log_z, marginals = worlds(graph)
    ours = arrays(graph)
    order = forest_order(ours)
    assert order is not None
    messages, moved = sweep(ours, no_messages(ours), order, 0.0)
    if not math.isnan(moved):
        messages, moved = sweep(ours, messages, order[::-1].copy(), 0.0)
    if log_z == -math.inf:
        assert math.isnan(moved) or bethe(ours, messages) == -math.inf
        return
    assert bethe(ours, messages) == pytest.approx(log_z, abs=1e-9, rel=1e-12)
    beliefs = log_beliefs(ours, messages).probabilities(ours)
    for variable, expected in marginals.items():
        assert beliefs[variable, : len(expected)] == pytest.approx(expected, abs=1e-9)


def test_bethe_is_that_of_beliefs_at_a_fixed_point() -> None:
    ring = [
        Factor((i, (i + 1) % 4), {(a, b): 0.3 * i * a + 0.7 * (a == b) for a in (0, 1) for b in (0, 1)})
        for i in range(4)
    ]
    graph = Graph(dict.fromkeys(range(4), 2), ring)
    ours = arrays(graph)
    messages = no_messages(ours)
    for _ in range(200):
        messages, _ = flood(ours, messages, 0.0)
        graph.round()
    assert forest_order(ours) is None
    assert bethe(ours, messages) == pytest.approx(graph.bethe(), abs=1e-9)


@quick
@given(st.data())
def test_a_some_factor_is_its_table(data: st.DataObject) -> None:
    """Messages that cost the width, and those of the table that costs two to its power."""
    sizes = data.draw(st.lists(st.sampled_from([2, 3]), min_size=1, max_size=4))
    allowed = [
        tuple(sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=size))))
        for size in sizes
    ]
    log_weights = [[data.draw(numbers) for _ in range(size)] for size in (2, *sizes)]
    assume(all(max(row) > -math.inf for row in log_weights))
    cells = list(itertools.product(range(2), *map(range, sizes)))
    table = np.array(
        [
            0.0 if bool(z) == any(v in a for v, a in zip(rest, allowed, strict=True)) else -math.inf
            for z, *rest in cells
        ]
    ).reshape(2, *sizes)
    axes = np.arange(len(sizes) + 1)
    one, other = Assembly([2, *sizes]), Assembly([2, *sizes])
    for assembly in (one, other):
        for axis, row in enumerate(log_weights):
            assembly.add_unary(np.array([axis]), np.array(row))
    one.add_tables(Tables(axes[None], np.zeros(1, np.int64), table[None]))
    patterns = list(dict.fromkeys(allowed))
    other.add_somes(
        Somes(
            np.array([0]),
            np.array([0, len(sizes)]),
            axes[1:],
            np.array([patterns.index(a) for a in allowed]),
            patterns,
        )
    )
    expected, failed = flood(one.build(), no_messages(one.build()), 0.0)
    found, also_failed = flood(other.build(), no_messages(other.build()), 0.0)
    assert math.isnan(failed) == math.isnan(also_failed)
    if not math.isnan(failed):
        assert list(found) == pytest.approx(list(expected), abs=1e-8)
        assert bethe(other.build(), found) == pytest.approx(bethe(one.build(), expected), abs=1e-8)
