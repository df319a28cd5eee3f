"""Atoms at the rim of a network, summed out before the rest, beside elimination of all of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.engines.components import Core
from herbrand.engines.elimination import planned, planned_entirely, without_leaves
from tests.engines.hand_made import HandMade, tables_in
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(60))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def sparse_network(rng: np.random.Generator, atoms: int, more: int, forbidding: float) -> HandMade:
    """A forest of links over atoms of up to four values, some more links, and a table with a helper."""
    sizes = rng.integers(1, 5, atoms).tolist()
    links = [(atom, int(rng.integers(0, atom))) for atom in range(1, atoms) if rng.random() < 0.9]
    links += [tuple(rng.permutation(atoms)[:2].tolist()) for _ in range(more)]
    links += [(atom,) for atom in range(atoms) if rng.random() < 0.3]
    if rng.random() < 0.5:
        sizes.append(2)
        links.append((atoms, int(rng.integers(0, atoms))))
    tables = []
    for scope in links:
        table = rng.normal(size=[sizes[axis] for axis in scope])
        table[rng.random(table.shape) < forbidding] = -math.inf
        tables.append((scope, table))
    return HandMade(sizes, atoms, tables)


@quick
@given(seeds, st.integers(2, 40), st.integers(0, 5), st.sampled_from([0.0, 0.05]))
def test_sums_and_shares_are_those_of_the_whole(
    rng: np.random.Generator, atoms: int, more: int, forbidding: float
) -> None:
    graph = sparse_network(rng, atoms, more, forbidding).graph
    found = planned(graph, atoms, "log").run()
    whole = planned_entirely(Core.whole(graph, atoms)).run()
    assert found.total == pytest.approx(whole.total, rel=1e-12, abs=1e-12)
    if whole.total > -math.inf:
        np.testing.assert_allclose(found.component_totals, whole.component_totals, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.shares, whole.shares, atol=1e-12)


@quick
@given(seeds, st.integers(2, 40), st.integers(0, 5))
def test_the_best_world_has_the_best_weight(rng: np.random.Generator, atoms: int, more: int) -> None:
    network = sparse_network(rng, atoms, more, 0.05)
    found = planned(network.graph, atoms, "maximum").run()
    if found.total == -math.inf or len(network.sizes) > atoms:
        return
    chosen = found.shares.argmax(axis=1)
    weight = network.log_weight(dict(enumerate(chosen.tolist())))
    assert weight == pytest.approx(found.total, rel=1e-12, abs=1e-12)


def test_of_a_tree_one_atom_is_left_and_of_a_ring_with_a_tail_the_ring() -> None:
    links = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (4, 6), (7, 8), (8, 9)]
    graph = HandMade([2] * 10, 10, [(link, np.zeros((2, 2))) for link in links]).graph
    core, leaves = without_leaves(Core.whole(graph, 10), "log")
    scopes = {number: scope for number, scope, _ in tables_in(graph)}
    assert [scopes[number] for number in core.factors.tolist()] == [(0, 1), (1, 2), (0, 2)]
    assert np.flatnonzero(core.present).tolist() == [0, 1, 2, 8]
    assert sorted(atom for messages in leaves.sent for atom in messages.atoms.tolist()) == [3, 4, 5, 6, 7, 9]


def test_a_long_chain_needs_no_deep_search() -> None:
    rng, count = np.random.default_rng(3), 2_000
    tables = [rng.normal(size=(2, 2)) for _ in range(count - 1)]
    network = HandMade([2] * count, count, [((i, i + 1), table) for i, table in enumerate(tables)])
    forward = np.zeros(2)
    for table in tables:
        forward = np.logaddexp.reduce(forward[:, None] + table, axis=0)
    found = planned(network.graph, count, "log").run()
    assert found.total == pytest.approx(np.logaddexp.reduce(forward), rel=1e-12)
