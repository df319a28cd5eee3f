"""Ground networks made by hand, eliminated, beside all assignments; and what they are taken apart into."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.engines.components import batches, component_labels
from herbrand.engines.damping import Patience
from herbrand.engines.elimination import planned
from herbrand.engines.ground_network import Network
from herbrand.errors import BudgetError
from tests.laws import tries
from tests.oracles.belief import log_sum

quick = settings(deadline=None, max_examples=tries(40))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def random_network(rng: np.random.Generator, atoms: int, tables: int, forbidding: float = 0.0) -> Network:
    """Tables over up to three axes, some of them helpers that are true or false."""
    network = Network(rng.integers(1, 4, atoms).tolist(), atoms, constant=float(rng.normal()))
    for _ in range(int(rng.integers(0, 2))):
        network.helper()
    for _ in range(tables):
        width = int(rng.integers(1, min(3, len(network.sizes)) + 1))
        scope = rng.permutation(len(network.sizes))[:width].tolist()
        table = rng.normal(size=[network.sizes[axis] for axis in scope])
        table[rng.random(table.shape) < forbidding] = -math.inf
        network.add(scope, table)
    return network


def assignments(network: Network, axes: list[int]) -> Iterator[dict[int, int]]:
    for values in itertools.product(*(range(network.sizes[axis]) for axis in axes)):
        yield dict(zip(axes, values, strict=True))


def log_weight(network: Network, values: dict[int, int]) -> float:
    return sum(
        (float(table[tuple(values[axis] for axis in scope)]) for scope, table in network.tables.items()), 0.0
    )


@quick
@given(seeds, st.integers(1, 5), st.integers(0, 6), st.sampled_from([0.0, 0.2]))
def test_sums_and_shares(rng: np.random.Generator, atoms: int, tables: int, forbidding: float) -> None:
    """Atoms that no table names count with all their values; helpers that none names are not there."""
    network = random_network(rng, atoms, tables, forbidding)
    used = {axis for scope in network.tables for axis in scope}
    axes = [axis for axis in range(len(network.sizes)) if axis < atoms or axis in used]
    elimination = planned(network, "log")
    found = elimination.run()
    weighted = [(values, log_weight(network, values)) for values in assignments(network, axes)]
    total = log_sum([weight for _, weight in weighted])
    if total == -math.inf:
        assert found.total == -math.inf
        return
    found = elimination.with_isolated(found)
    assert found.total == pytest.approx(network.constant + total)
    for atom in range(atoms):
        for value in range(network.sizes[atom]):
            share = sum(math.exp(w - total) for values, w in weighted if values[atom] == value)
            assert found.shares[atom, value] == pytest.approx(share, abs=1e-12)
        assert (found.shares[atom, network.sizes[atom] :] == 0).all()
    assert found.total == pytest.approx(network.constant + sum(found.component_totals.values()))


@quick
@given(seeds, st.integers(1, 5), st.integers(0, 6))
def test_the_best_assignment(rng: np.random.Generator, atoms: int, tables: int) -> None:
    network = random_network(rng, atoms, tables)
    used = {axis for scope in network.tables for axis in scope}
    axes = [axis for axis in range(len(network.sizes)) if axis < atoms or axis in used]
    elimination = planned(network, "maximum")
    found = elimination.with_isolated(elimination.run())
    best = max((log_weight(network, values), tuple(values.values())) for values in assignments(network, axes))
    assert found.total == pytest.approx(network.constant + best[0])
    chosen = dict(enumerate(best[1]))
    for atom in range(atoms):
        row = found.shares[atom]
        assert sorted(row[: network.sizes[atom]].tolist())[-1] == pytest.approx(1.0)
        if atom in used:
            assert int(row.argmax()) == chosen[axes.index(atom)], "weights differ, so there is one best"


@quick
@given(seeds, st.integers(1, 4), st.integers(1, 5))
def test_joint_shares_of_tables(rng: np.random.Generator, atoms: int, tables: int) -> None:
    network = random_network(rng, atoms, tables)
    axes = sorted({axis for scope in network.tables for axis in scope})
    found = planned(network, "log", entire=True).beliefs()
    assert found.keys() == network.tables.keys()
    weighted = [(values, log_weight(network, values)) for values in assignments(network, axes)]
    total = log_sum([weight for _, weight in weighted])
    for scope, belief in found.items():
        for entry in np.ndindex(*belief.shape):
            share = sum(
                math.exp(w - total)
                for values, w in weighted
                if tuple(values[axis] for axis in scope) == entry
            )
            assert belief[entry] == pytest.approx(share, abs=1e-12)


@quick
@given(seeds, st.integers(1, 6), st.integers(0, 5))
def test_components_are_stacked_with_their_own_tables(
    rng: np.random.Generator, atoms: int, tables: int
) -> None:
    """Every table stands in one batch, in the row of its component; linked axes are in one component."""
    network = random_network(rng, atoms, tables)
    labels = component_labels(network)
    for scope in network.tables:
        assert len({int(labels[axis]) for axis in scope}) == 1
    seen = []
    for batch in batches(network, labels):
        for component in range(len(batch)):
            axes = batch.axes[component].tolist()
            assert [network.sizes[axis] for axis in axes] == list(batch.sizes)
            for local, table in zip(batch.scopes, batch.tables, strict=True):
                scope = tuple(axes[place] for place in local)
                assert (table[component] == network.tables[scope]).all()
                seen.append(scope)
    assert sorted(seen) == sorted(network.tables)


def test_equal_components_are_one_batch() -> None:
    network = Network([2, 3] * 50, 100)
    for first in range(0, 100, 2):
        network.add([first + 1, first], np.arange(6.0).reshape(3, 2) + first)
    (batch,) = batches(network, component_labels(network))
    assert len(batch) == 50 and batch.tables[0].shape == (50, 2, 3)
    assert planned(network, "log").run().component_totals.keys() == set(range(50))


def test_tables_over_the_same_atoms_are_added_in_one_order() -> None:
    network = Network([2, 3, 2], 3)
    table = np.arange(12.0).reshape(2, 3, 2)
    network.add([0, 1, 2], table)
    network.add([2, 1, 0], table.transpose(2, 1, 0))
    ((scope, found),) = network.tables.items()
    assert scope == (0, 1, 2) and (found == 2 * table).all()


def test_nothing_to_sum() -> None:
    elimination = planned(Network([], 0, constant=0.75), "log")
    found = elimination.with_isolated(elimination.run())
    assert (found.total, found.component_totals, len(found.shares)) == (0.75, {}, 0)
    assert elimination.operations == 0 and elimination.bytes == 0


def test_a_forbidden_component_leaves_the_others_their_shares() -> None:
    """Their gradient must not be lost to a total of minus infinity."""
    network = Network([2, 2], 2)
    network.add([0], np.full(2, -math.inf))
    network.add([1], np.array([0.0, math.log(3.0)]))
    found = planned(network, "log").run()
    assert found.total == -math.inf
    assert found.shares[1].tolist() == pytest.approx([0.25, 0.75])


def test_an_atom_alone_and_a_helper_alone_are_no_equal_parts() -> None:
    """Found by random networks: a helper's share was looked for among those of atoms."""
    for helper_first in (False, True):
        network = Network([2], 1)
        helper = network.helper()
        for axis in (helper, 0) if helper_first else (0, helper):
            network.add([axis], np.array([0.0, math.log(3.0)]))
        found = planned(network, "log", entire=True).run()
        assert found.total == pytest.approx(math.log(16.0))
        assert found.shares[0].tolist() == pytest.approx([0.25, 0.75])


def test_a_network_that_no_machine_could_eliminate_is_refused() -> None:
    count = 120
    network = Network([2] * count, count)
    for pair in itertools.combinations(range(count), 2):
        network.add(pair, np.eye(2))
    with pytest.raises(BudgetError, match="the ground network of 120 latent atoms is too densely linked"):
        planned(network, "log")


@given(st.floats(0, 0.99), st.floats(0, 5), st.floats(0.01, 5), st.integers(1, 40))
def test_patience_raises_damping_only_where_nothing_is_gained(
    damping: float, moved: float, mark: float, rounds: int
) -> None:
    patience = Patience(rounds, least_step=0.05)
    raised = patience.raised(damping, moved, mark)
    if moved <= mark / 2:
        assert raised == damping
    else:
        assert raised == pytest.approx(min(0.95, (1 + damping) / 2)) and raised <= 0.95
    enough = math.ceil(rounds / (1 - damping))
    assert patience.is_over(enough + 1, damping) and not patience.is_over(rounds - 1, damping)
