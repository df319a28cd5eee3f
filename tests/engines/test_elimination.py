"""Ground networks made by hand, eliminated, beside all assignments; and what they are taken apart into."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.budget import Budget
from herbrand.engines import elimination
from herbrand.engines.components import Core, batches, chained, table_factors
from herbrand.engines.elimination import planned, planned_entirely
from herbrand.engines.loop import Patience
from herbrand.errors import BudgetError
from herbrand.factors.ground_graph import ground_graph
from herbrand.program.ground import ground
from tests.engines.hand_made import HandMade, tables_in
from tests.laws import tries
from tests.oracles.belief import log_sum


@pytest.fixture(autouse=True, scope="module", params=["one by one", "planned"])
def worlds(request: pytest.FixtureRequest) -> Iterator[None]:
    """Networks as small as these are gone through world by world, unless that is put out of reach."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "planned":
            patch.setattr(elimination, "FEW_WORLDS", 0)
        yield


quick = settings(deadline=None, max_examples=tries(40))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def random_network(rng: np.random.Generator, atoms: int, tables: int, forbidding: float = 0.0) -> HandMade:
    """Tables over up to three axes, some of them helpers that are true or false."""
    sizes = [*rng.integers(1, 4, atoms).tolist(), *[2] * int(rng.integers(0, 2))]
    made = []
    for _ in range(tables):
        width = int(rng.integers(1, min(3, len(sizes)) + 1))
        scope = rng.permutation(len(sizes))[:width].tolist()
        table = rng.normal(size=[sizes[axis] for axis in scope])
        table[rng.random(table.shape) < forbidding] = -math.inf
        made.append((tuple(scope), table))
    return HandMade(sizes, atoms, made, float(rng.normal()))


@quick
@given(seeds, st.integers(1, 5), st.integers(0, 6), st.sampled_from([0.0, 0.2]))
def test_sums_and_shares(rng: np.random.Generator, atoms: int, tables: int, forbidding: float) -> None:
    """Atoms that no table names count with all their values; helpers that none names are not there."""
    network = random_network(rng, atoms, tables, forbidding)
    found = planned(network.graph, atoms, "log").run()
    weighted = [(values, network.log_weight(values)) for values in network.assignments()]
    total = log_sum([weight for _, weight in weighted])
    if total == -math.inf:
        assert found.total == -math.inf
        return
    assert found.total == pytest.approx(total)
    for atom in range(atoms):
        for value in range(network.sizes[atom]):
            share = sum(math.exp(w - total) for values, w in weighted if values[atom] == value)
            assert found.shares[atom, value] == pytest.approx(share, abs=1e-12)
        assert (found.shares[atom, network.sizes[atom] :] == 0).all()
    assert found.total == pytest.approx(network.constant + found.component_totals.sum())


def test_axes_of_one_value_are_no_more_worlds() -> None:
    """Many of them beside a few others: more axes than an array may have."""
    sizes = [1] * 80 + [2, 3]
    tables = [((atom, 80), np.full((1, 2), 0.1)) for atom in range(80)]
    network = HandMade(sizes, 82, [*tables, ((80, 81), np.arange(6.0).reshape(2, 3))])
    found = planned(network.graph, 82, "log").run()
    assert found.total == pytest.approx(8 + log_sum([float(i) for i in range(6)]))
    assert found.shares[81, :3] == pytest.approx(np.exp([0, 1, 2]) / np.exp([0, 1, 2]).sum())


def test_a_helper_that_only_its_own_weights_name_counts() -> None:
    network = HandMade([1, 2], 1, [((1,), np.array([0.5, -1.0]))], 0.25)
    assert planned(network.graph, 1, "log").run().total == pytest.approx(0.25 + np.logaddexp(0.5, -1.0))


@quick
@given(seeds, st.integers(1, 5), st.integers(0, 6))
def test_the_best_assignment(rng: np.random.Generator, atoms: int, tables: int) -> None:
    network = random_network(rng, atoms, tables)
    found = planned(network.graph, atoms, "maximum").run()
    best = max((network.log_weight(values), tuple(values.values())) for values in network.assignments())
    assert found.total == pytest.approx(best[0])
    named = {axis for scope, _ in network.tables for axis in scope}
    for atom in range(atoms):
        row = found.shares[atom]
        assert sorted(row[: network.sizes[atom]].tolist())[-1] == pytest.approx(1.0)
        if atom in named:
            assert int(row.argmax()) == best[1][atom], "weights differ, so there is one best"


def test_of_atoms_that_nothing_is_said_of_the_first_values_are_best() -> None:
    found = planned(HandMade([2, 3], 2, []).graph, 2, "maximum").run()
    assert found.total == 0 and found.shares.tolist() == [[1, 0, 0], [1, 0, 0]]


@quick
@given(seeds, st.integers(2, 12), st.integers(1, 14))
def test_joint_shares_of_several_rows_are_those_of_each(
    rng: np.random.Generator, atoms: int, tables: int
) -> None:
    core = Core.whole(random_network(rng, atoms, tables).graph, atoms)
    alone, together = planned_entirely(core), planned_entirely(core, copies=3)
    rows = np.array([0.0, 0.7, -1.3])[:, None] * np.where(np.isfinite(alone.values), alone.values, 0.0)
    rows[1, 0] = -np.inf
    totals, shares = together.joint_shares_of(rows)
    for row, total, own in zip(rows, totals, shares, strict=True):
        expected = alone.joint_shares(row)
        assert total == pytest.approx(expected[0]) and own == pytest.approx(expected[1], abs=1e-12)


@quick
@given(seeds, st.integers(1, 4), st.integers(1, 5), st.floats(-1, 1))
def test_joint_shares_of_tables(rng: np.random.Generator, atoms: int, tables: int, shift: float) -> None:
    """Of the tables' entries and of all axes' own weights, at other values than the graph's."""
    network = random_network(rng, atoms, tables)
    graph = network.graph
    elimination = planned_entirely(Core.whole(graph, atoms))
    values = elimination.values * (1 + shift)
    total, shares = elimination.joint_shares(values)
    moved = HandMade(network.sizes, atoms, [(scope, t * (1 + shift)) for scope, t in network.tables])
    weighted = [(chosen, moved.log_weight(chosen)) for chosen in network.assignments()]
    whole = log_sum([weight for _, weight in weighted])
    assert total == pytest.approx(whole), "the constant is left out"

    def share(scope: tuple[int, ...], entry: tuple[int, ...]) -> float:
        return sum(
            math.exp(w - whole) for chosen, w in weighted if tuple(chosen[axis] for axis in scope) == entry
        )

    for number, scope, table in tables_in(graph):
        begins = elimination.table_places[number]
        for place, entry in enumerate(np.ndindex(*table.shape)):
            assert shares[begins + place] == pytest.approx(share(scope, entry), abs=1e-12)
    for axis in range(atoms):
        for value in range(network.sizes[axis]):
            own = shares[graph.starts[axis] + value]
            assert own == pytest.approx(share((axis,), (value,)), abs=1e-12)


@quick
@given(seeds, st.integers(1, 6), st.integers(0, 5))
def test_components_are_stacked_with_their_own_tables(
    rng: np.random.Generator, atoms: int, tables: int
) -> None:
    """Every table stands in one batch, in the row of its component; linked axes are in one component."""
    network = random_network(rng, atoms, tables)
    graph = network.graph
    core = Core.whole(graph, atoms)
    expected = {number: (scope, table) for number, scope, table in tables_in(graph)}
    for scope, _ in expected.values():
        assert len({int(core.labels[axis]) for axis in scope}) == 1
    seen, axes_seen = [], []
    for batch in batches(core):
        for component in range(len(batch)):
            axes = batch.axes[component].tolist()
            axes_seen += axes
            assert [network.sizes[axis] for axis in axes] == list(batch.sizes)
            for place, local in enumerate(batch.scopes):
                scope, table = expected[int(batch.factors[component, place])]
                assert tuple(axes[i] for i in local) == scope
                assert (batch.tables[place][component] == table).all()
                seen.append(int(batch.factors[component, place]))
    assert sorted(seen) == sorted(expected)
    linked = {axis for scope, _ in expected.values() for axis in scope}
    assert sorted(axes_seen) == sorted(linked)
    assert core.alone().tolist() == [axis for axis in network.axes if axis not in linked]


def test_equal_components_are_one_batch() -> None:
    table = np.arange(6.0).reshape(3, 2)
    network = HandMade([2, 3] * 50, 100, [((i + 1, i), table + i) for i in range(0, 100, 2)])
    (batch,) = batches(Core.whole(network.graph, 100))
    assert len(batch) == 50 and batch.tables[0].shape == (50, 3, 2)
    assert len(planned(network.graph, 100, "log").run().component_totals) == 50


def test_nothing_to_sum() -> None:
    elimination = planned(HandMade([], 0, [], constant=0.75).graph, 0, "log")
    found = elimination.run()
    assert (found.total, len(found.component_totals), len(found.shares)) == (0.75, 0, 0)
    assert elimination.operations == 0 and elimination.bytes == 0


def test_a_forbidden_component_leaves_the_others_their_shares() -> None:
    """Their gradient must not be lost to a total of minus infinity."""
    network = HandMade([2, 2], 2, [((0,), np.full(2, -math.inf)), ((1,), np.array([0.0, math.log(3.0)]))])
    found = planned(network.graph, 2, "log").run()
    assert found.total == -math.inf
    assert found.shares[1].tolist() == pytest.approx([0.25, 0.75])


def test_an_atom_alone_and_a_helper_alone_are_no_equal_parts() -> None:
    """Found by random networks: a helper's share was looked for among those of atoms."""
    own = np.array([0.0, math.log(3.0)])
    link = np.where(np.eye(2) > 0, 0.0, -math.inf)
    network = HandMade([2, 2, 2], 1, [((0,), own), ((1,), own), ((1, 2), link)])
    found = planned_entirely(Core.whole(network.graph, 1)).run()
    assert found.total == pytest.approx(math.log(16.0))
    assert found.shares[0].tolist() == pytest.approx([0.25, 0.75])


def test_a_network_that_no_machine_could_eliminate_is_refused() -> None:
    count = 120
    pairs = list(itertools.combinations(range(count), 2))
    network = HandMade([2] * count, count, [(pair, np.eye(2)) for pair in pairs])
    with pytest.raises(BudgetError, match="the ground network of 120 latent atoms is too densely linked"):
        planned(network.graph, count, "log")


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


def test_all_that_is_said_of_two_atoms_of_many_values_is_one_table() -> None:
    """No helper for each value, whose table would be as large."""
    size, weight = 60, 0.7
    theory = hb.parse(f"predicate a in v\npredicate b in v\ntype v = 1..{size}\n{weight}: a = y => b = y")
    program = hb.Model(theory).program
    graph = ground_graph(ground(program), by_formula=False).graph
    assert graph.axis_count == 2 and [len(t.scopes) for t in table_factors(graph)] == [1]
    found = hb.Model(theory).infer(["a = 3 and b = 3", "b"], engine="exact")
    *alone, both = (row.probability for row in found.rows())
    assert both == pytest.approx(math.exp(weight) / (math.exp(weight) + size - 1) / size, abs=1e-12)
    assert alone == pytest.approx([1 / size] * size, abs=1e-12)


def test_links_of_helpers_are_within_memory() -> None:
    declared = "type v = 1..60\npredicate a in v\npredicate b in v\npredicate c in v\n"
    theory = hb.parse(f"{declared}1: a = y => b = y or c = y")
    graph = ground_graph(ground(hb.Model(theory).program), by_formula=False).graph
    assert chained(graph).axis_count > graph.axis_count
    with pytest.raises(BudgetError, match=r"tables of .* entries need"):
        chained(graph, Budget(memory=10_000))
