"""Factor graphs as flat arrays: what was put in is found at the place where messages look for it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.factors.graph import (
    OPERATIONS_A_VALUE,
    SOME,
    Assembly,
    FactorGraph,
    Somes,
    Tables,
)
from tests.engines.belief.energies import edges_of
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(50))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def drawn_tables(rng: np.random.Generator, sizes: np.ndarray, width: int) -> Tables:
    """Some factors over axes of two values, a few tables shared among them."""
    twos = np.flatnonzero(sizes == 2)
    count, kinds = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    scopes = np.array([rng.choice(twos, width, replace=False) for _ in range(count)])
    counts, exponents = rng.integers(1, 5, count), rng.integers(0, 4, (count, width))
    tables = rng.normal(size=(kinds, *[2] * width))
    return Tables(
        scopes, rng.integers(0, kinds, count), tables, counts.astype(float), exponents.astype(float)
    )


def drawn_somes(rng: np.random.Generator, sizes: np.ndarray) -> Somes:
    twos = np.flatnonzero(sizes == 2)
    count = int(rng.integers(1, 4))
    widths = rng.integers(1, 4, count)
    pointers = np.concatenate([[0], np.cumsum(widths)])
    total = int(pointers[-1])
    members = rng.integers(0, len(sizes), total)
    patterns = rng.integers(0, 3, total)
    allowed = [(0,), (1,), (0, 1)]
    return Somes(
        rng.choice(twos, count),
        pointers,
        members,
        patterns,
        allowed,
        rng.integers(1, 5, count).astype(float),
        rng.integers(1, 5, total).astype(float),
        rng.integers(0, 5, total).astype(float),
    )


def assert_starts(graph: FactorGraph) -> None:
    """Values of axes, and of messages, lie one after another."""
    assert graph.starts.tolist() == [int(graph.sizes[:i].sum()) for i in range(graph.axis_count)]
    assert graph.edge_sizes.tolist() == graph.sizes[graph.edge_axes].tolist()
    assert graph.edge_starts.tolist() == graph.starts[graph.edge_axes].tolist()
    lengths = graph.edge_sizes
    assert graph.message_starts.tolist() == [int(lengths[:i].sum()) for i in range(graph.edge_count)]
    assert graph.message_count == lengths.sum() == len(graph.allowed)
    assert graph.factor_edges[0] == 0 and graph.factor_edges[-1] == graph.edge_count
    assert len(graph.factor_edges) == graph.factor_count + 1 == len(graph.table_starts) + 1


@quick
@given(seeds)
def test_parts_are_found_where_they_were_put(rng: np.random.Generator) -> None:
    """Tables first, in the order in which they were added, then quantifiers."""
    sizes = np.concatenate([[2, 2, 2, 2], rng.integers(2, 4, 3)])
    tables = [drawn_tables(rng, sizes, width) for width in rng.integers(2, 4, int(rng.integers(0, 3)))]
    somes = [drawn_somes(rng, sizes) for _ in range(int(rng.integers(0, 3)))]
    assembly = Assembly(sizes)
    for part in tables:
        assembly.add_tables(part)
    for part in somes:
        assembly.add_somes(part)
    graph = assembly.build()
    assert_starts(graph)
    factor = 0
    for part in tables:
        assert part.counts is not None and part.exponents is not None
        for row in range(len(part)):
            edges = edges_of(graph, factor)
            assert graph.edge_axes[edges].tolist() == part.scopes[row].tolist()
            assert graph.exponents[edges].tolist() == part.exponents[row].tolist()
            assert graph.multiplicities[edges].tolist() == [1.0] * len(edges)
            assert graph.factor_counts[factor] == part.counts[row]
            table = part.tables[part.which[row]]
            start = int(graph.table_starts[factor])
            assert graph.tables[start : start + table.size].tolist() == table.reshape(-1).tolist()
            factor += 1
    for part in somes:
        assert part.counts is not None and part.exponents is not None and part.multiplicities is not None
        for row in range(len(part)):
            target, *edges = edges_of(graph, factor)
            members = slice(int(part.pointers[row]), int(part.pointers[row + 1]))
            assert graph.table_starts[factor] == SOME
            assert graph.factor_counts[factor] == part.counts[row]
            assert graph.edge_axes[target] == part.targets[row]
            assert (graph.exponents[target], graph.multiplicities[target]) == (1.0, 1.0)
            assert graph.edge_axes[edges].tolist() == part.members[members].tolist()
            assert graph.exponents[edges].tolist() == part.exponents[members].tolist()
            assert graph.multiplicities[edges].tolist() == part.multiplicities[members].tolist()
            assert not graph.allowed[graph.message_starts[target] :][:2].any()
            for edge, pattern in zip(edges, part.patterns[members].tolist(), strict=True):
                start, size = int(graph.message_starts[edge]), int(graph.edge_sizes[edge])
                held = np.flatnonzero(graph.allowed[start : start + size]).tolist()
                assert held == list(part.allowed[pattern])
            factor += 1
    assert factor == graph.factor_count


def test_what_is_not_given_is_one() -> None:
    assembly = Assembly([2, 2, 3])
    assembly.add_tables(Tables(np.array([[0, 1]]), np.array([0]), np.zeros((1, 2, 2))))
    assembly.add_somes(
        Somes(np.array([1]), np.array([0, 2]), np.array([0, 2]), np.array([0, 1]), [(1,), (0, 2)])
    )
    graph = assembly.build()
    for part in (graph.counts, graph.factor_counts, graph.exponents, graph.multiplicities):
        assert (part == 1.0).all()
    assert graph.allowed.tolist() == [0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1]


@quick
@given(seeds)
def test_weights_of_axes_add_up(rng: np.random.Generator) -> None:
    """One table for several axes, or one each; the same axis again, in one call too."""
    sizes = rng.integers(2, 4, 5)
    assembly = Assembly(sizes)
    expected = [np.zeros(size) for size in sizes]
    for _ in range(6):
        size = int(rng.integers(2, 4))
        fitting = np.flatnonzero(sizes == size)
        if not len(fitting):
            continue
        axes = rng.choice(fitting, int(rng.integers(1, 4)))
        table = rng.normal(size=size if rng.random() < 0.5 else (len(axes), size))
        assembly.add_unary(axes, table)
        for row, axis in enumerate(axes.tolist()):
            expected[axis] += table if table.ndim == 1 else table[row]
    assert assembly.build().unary.tolist() == pytest.approx(np.concatenate(expected).tolist())


def test_a_graph_of_nothing() -> None:
    graph = Assembly([]).build()
    assert (graph.axis_count, graph.factor_count, graph.edge_count, graph.message_count) == (0, 0, 0, 0)
    assert graph.operations == 0.0 and graph.table_entries == 0.0
    assert graph.factor_edges.tolist() == [0]


@quick
@given(seeds)
def test_a_round_costs_its_tables_and_messages(rng: np.random.Generator) -> None:
    """Factors that share a table are counted apart; quantifiers cost no table."""
    sizes = np.array([2, 2, 2, 3])
    assembly = Assembly(sizes)
    parts = [drawn_tables(rng, sizes, width) for width in (2, 3)]
    some = drawn_somes(rng, sizes)
    for part in parts:
        assembly.add_tables(part)
    assembly.add_somes(some)
    graph = assembly.build()
    entries = sum(len(part) * 2 ** part.scopes.shape[1] for part in parts)
    assert graph.table_entries == pytest.approx(entries)
    assert graph.operations == pytest.approx(entries + OPERATIONS_A_VALUE * graph.message_count)
    arrays = [part for part in graph if isinstance(part, np.ndarray)]
    assert graph.bytes == sum(len(array) * array.itemsize for array in arrays) > 0


def test_quantifiers_may_be_all_there_is() -> None:
    assembly = Assembly([2, 2])
    assembly.add_somes(Somes(np.array([0]), np.array([0, 1]), np.array([1]), np.array([0]), [(1,)]))
    graph = assembly.build()
    assert graph.table_entries == 0.0 and graph.operations == OPERATIONS_A_VALUE * 4
    assert len(graph.tables) == 0 and graph.table_starts.tolist() == [SOME]
