"""The sampler's loops beside plain ones, compiled and as they are written."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import herbrand as hb
from herbrand.engines.engine import first_state
from herbrand.engines.gibbs import kernels
from herbrand.engines.gibbs.engine import Gibbs, GibbsState
from herbrand.engines.gibbs.kernels import Network, begin, sweeps, table_weight, weights_by_state
from herbrand.errors import HerbrandError
from herbrand.factors import pieces
from herbrand.factors.graph import SOME, FactorGraph
from herbrand.loops import compiled
from herbrand.program.question import Question
from tests.engines.belief.energies import edges_of, energy, with_helpers
from tests.engines.unseen import theory

SEEDS = range(300, 314)


def started(text: str, **options: int) -> GibbsState | None:
    try:
        return first_state(Gibbs(**options), hb.Model(hb.parse(text)).program, Question())
    except HerbrandError:
        return None


def networks(monkeypatch: pytest.MonkeyPatch) -> list[GibbsState]:
    """Of random theories, every other one with tables that never fit, so that there are many helpers."""
    found = []
    for seed in SEEDS:
        for name in ("MOST_ENTRIES", "LARGEST_TABLE"):
            monkeypatch.setattr(pieces, name, 3 if seed % 2 else 1024)
        state = started(theory(seed)[0])
        if state is not None and len(state.network.state_counts):
            found.append(state)
    assert len(found) > 6
    return found


def atoms_of(network: Network, block: int) -> list[int]:
    return network.block_atoms[network.block_starts[block] : network.block_starts[block + 1]].tolist()


def states_of(network: Network, block: int) -> np.ndarray:
    width, count = len(atoms_of(network, block)), int(network.state_counts[block])
    start = int(network.state_starts[block])
    return network.states[start : start + count * width].reshape(count, width)


def of_atoms(state: GibbsState, values: np.ndarray) -> dict[int, int]:
    return {axis: int(values[axis]) for axis in range(state.compiled.atom_count)}


def assert_helpers_follow(
    graph: FactorGraph, network: Network, atoms: dict[int, int], values: np.ndarray, holding: np.ndarray
) -> None:
    """Helpers have the values that atoms make; factors know how many of their members hold."""
    every = with_helpers(graph, atoms)
    assert values.tolist() == [every[axis] for axis in range(graph.axis_count)]
    for factor in range(graph.factor_count):
        if graph.table_starts[factor] == SOME:
            members = list(edges_of(graph, factor))[1:]
            expected = sum(
                int(graph.allowed[graph.message_starts[e] + every[int(graph.edge_axes[e])]]) for e in members
            )
            assert holding[factor] == expected


def test_chains_begin_in_possible_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    for state in networks(monkeypatch):
        graph = state.compiled.graph
        for values, holding in zip(state.values, state.holding, strict=True):
            atoms = of_atoms(state, values)
            assert_helpers_follow(graph, state.network, atoms, values, holding)
            assert energy(graph, atoms) > -math.inf


@pytest.mark.parametrize("uniform", [0.0, 0.5, 1.0 - 1e-16])
def test_the_first_state_is_one_of_those_that_are_open(uniform: float) -> None:
    """Whatever number is drawn, the largest below 1 too."""
    state = started('predicate c in {"x", "y", "z"}\npredicate p\nnot c = "y"\n0.5: c = "x" and p')
    assert state is not None
    values, holding = state.values[0].copy(), state.holding[0].copy()
    begin(state.network, values, holding, np.full(len(state.network.state_counts), uniform))
    axis = int(np.flatnonzero(state.compiled.graph.sizes == 3)[0])
    assert values[axis] == (0 if uniform < 0.5 else 2)
    again, other = state.values[1].copy(), state.holding[1].copy()
    begin(state.network, again, other, np.full(len(state.network.state_counts), uniform))
    assert (again == values).all() and (other == holding).all()


def test_sweeps_go_from_possible_worlds_to_possible_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for state in networks(monkeypatch):
        graph, blocks = state.compiled.graph, len(state.network.state_counts)
        values, holding = state.values[0].copy(), state.holding[0].copy()
        seen = np.zeros(len(graph.unary), np.int64)
        for _ in range(5):
            sweeps(state.network, values, holding, rng.random((1, blocks)), seen)
            atoms = of_atoms(state, values)
            assert_helpers_follow(graph, state.network, atoms, values, holding)
            assert energy(graph, atoms) > -math.inf


def test_every_sweep_is_seen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts are those of walking the sweeps one by one; helpers are not counted."""
    rng = np.random.default_rng(1)
    for state in networks(monkeypatch)[:8]:
        graph, blocks = state.compiled.graph, len(state.network.state_counts)
        uniforms = rng.random((7, blocks))
        one, other = state.values[0].copy(), state.values[0].copy()
        holding, also = state.holding[0].copy(), state.holding[0].copy()
        at_once, expected = np.zeros((2, len(graph.unary)), np.int64)
        sweeps(state.network, one, holding, uniforms, at_once)
        for row in uniforms:
            sweeps(state.network, other, also, row[None], np.zeros(len(graph.unary), np.int64))
            for axis in range(state.compiled.atom_count):
                expected[graph.starts[axis] + other[axis]] += 1
        assert (one == other).all() and (holding == also).all()
        assert at_once.tolist() == expected.tolist()


def test_as_written_the_loops_do_what_they_do_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    for state in networks(monkeypatch)[:6]:
        uniforms = rng.random((3, len(state.network.state_counts)))
        runs = []
        for run in (compiled(sweeps), sweeps):
            values, holding = state.values[0].copy(), state.holding[0].copy()
            seen = np.zeros(len(state.compiled.graph.unary), np.int64)
            run(state.network, values, holding, uniforms, seen)
            runs.append((values.tolist(), holding.tolist(), seen.tolist()))
        assert runs[0] == runs[1]


def test_what_is_near_a_block_is_what_changes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights of two of its states differ by as much as those of the whole worlds."""
    dice = random.Random(3)
    for state in networks(monkeypatch):
        network, graph = state.network, state.compiled.graph
        for block in range(len(network.state_counts)):
            values, holding = state.values[0].copy(), state.holding[0].copy()
            before = of_atoms(state, values)
            weights = weights_by_state(network, block, values, holding)
            found, expected = weights.sum(axis=1), []
            for row in states_of(network, block):
                world = before | dict(zip(atoms_of(network, block), row.tolist(), strict=True))
                expected.append(energy(graph, world))
            one, other = dice.randrange(len(found)), dice.randrange(len(found))
            if math.isfinite(expected[one]) and math.isfinite(expected[other]):
                difference = expected[one] - expected[other]
                assert found[one] - found[other] == pytest.approx(difference, abs=1e-9)
            assert [w == -math.inf for w in found] == [e == -math.inf for e in expected]


def test_weights_by_state_are_parts_of_a_blocks_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each table near it, then each axis; as written and compiled."""
    for state in networks(monkeypatch)[:8]:
        network, graph = state.network, state.compiled.graph
        for block in range(len(network.state_counts)):
            fast, written = (
                run(network, block, state.values[0].copy(), state.holding[0].copy())
                for run in (compiled(weights_by_state), weights_by_state)
            )
            assert fast.tolist() == written.tolist()
            tables = network.near_tables[network.table_starts[block] : network.table_starts[block + 1]]
            axes = network.near_axes[network.axis_starts[block] : network.axis_starts[block + 1]]
            assert axes[: len(atoms_of(network, block))].tolist() == atoms_of(network, block)
            for row, states in zip(fast, states_of(network, block), strict=True):
                world = of_atoms(state, state.values[0])
                world |= dict(zip(atoms_of(network, block), states.tolist(), strict=True))
                every = with_helpers(graph, world)
                values = np.array([every[axis] for axis in range(graph.axis_count)])
                of_tables = [table_weight(graph, int(table), values) for table in tables]
                of_axes = [float(graph.unary[graph.starts[axis] + values[axis]]) for axis in axes]
                assert row.tolist() == [*of_tables, *of_axes]


def test_strides_lead_to_the_next_value(monkeypatch: pytest.MonkeyPatch) -> None:
    for state in networks(monkeypatch):
        network, graph = state.network, state.compiled.graph
        for block in np.flatnonzero(network.alone).tolist():
            (atom,) = atoms_of(network, block)
            for place in range(int(network.table_starts[block]), int(network.table_starts[block + 1])):
                factor = int(network.near_tables[place])
                values = np.zeros(graph.axis_count, np.int64)
                first = table_weight(graph, factor, values)
                assert first == graph.tables[graph.table_starts[factor]]
                for value in range(int(graph.sizes[atom])):
                    values[atom] = value
                    entry = graph.table_starts[factor] + value * network.strides[place]
                    assert table_weight(graph, factor, values) == graph.tables[entry]


@pytest.mark.parametrize("draw", [compiled(kernels._drawn), kernels._drawn])
def test_a_state_is_drawn_as_often_as_it_weighs(draw: object) -> None:
    """The first one up to which the shares reach the number drawn; impossible ones never."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        count = int(rng.integers(1, 6))
        weights = rng.normal(0, 3, count)
        weights[rng.random(count) < 0.3] = -math.inf
        if not np.isfinite(weights).any():
            continue
        uniform = float(rng.choice([0.0, rng.random(), 1 - 1e-16]))
        shares = np.exp(weights - weights.max()) / np.exp(weights - weights.max()).sum()
        room = np.append(weights, [5.0, 5.0])
        chosen = draw(room, count, uniform)  # type: ignore[operator]
        assert 0 <= chosen < count and shares[chosen] > 0
        ends = np.cumsum(shares)
        assert ends[chosen] >= uniform - 1e-12
        assert chosen == 0 or ends[chosen - 1] <= uniform + 1e-12


def test_an_array_grows_where_it_is_too_short() -> None:
    for put in (compiled(kernels._put), kernels._put):
        array = np.array([4, 7], np.int64)
        assert put(array, 1, 9) is not None
        assert array.tolist() == [4, 9]
        longer = put(array, 2, 5)
        assert len(longer) == 4 and longer[:3].tolist() == [4, 9, 5]


def test_more_is_near_than_the_arrays_first_hold() -> None:
    """Two thousand atoms in a ring, each with two tables: everybody's neighbours are found."""
    count = 2000
    constants = ", ".join(f'"c{i:04}"' for i in range(count))
    links = "\n".join(f'next("c{i:04}", "c{(i + 1) % count:04}")' for i in range(count))
    declared = f"type t = {{{constants}}}\npredicate next(t, t): observed\npredicate p(t)\n"
    state = started(f"{declared}{links}\n0.5: p(x) and next(x, y) => p(y)", samples=20, chains=2)
    assert state is not None
    network, graph = state.network, state.compiled.graph
    for block in (0, 1, 777, count - 1):
        near = network.near_tables[network.table_starts[block] : network.table_starts[block + 1]]
        scopes = [set(graph.edge_axes[list(edges_of(graph, int(f)))].tolist()) for f in near]
        atom = atoms_of(network, block)[0]
        assert sorted(map(sorted, scopes)) == sorted(
            sorted({atom, other % count}) for other in (atom - 1, atom + 1)
        )
    assert network.table_starts[-1] == 2 * count


def test_a_long_run_has_the_frequencies_of_the_worlds() -> None:
    """One chain of many sweeps, a block of two, a helper and a many-valued atom among them."""
    text = (
        'type t = {"a", "b"}\npredicate p(t)\npredicate c in {"x", "y", "z"}\npredicate r\npredicate s\n'
        'hard: r <=> not s\n0.7: exists x: p(x) and r\n-0.5: c = "x" => p("a")\n0.4: c = "z" and s'
    )
    model = hb.Model(hb.parse(text))
    state = started(text, seed=5, chains=2)
    assert state is not None
    sweep_count, graph = 6_000, state.compiled.graph
    seen = np.zeros(len(graph.unary), np.int64)
    uniforms = np.random.default_rng(6).random((sweep_count, len(state.network.state_counts)))
    sweeps(state.network, state.values[0], state.holding[0], uniforms, seen)
    exact = model.infer(engine="exact")
    for row in exact.rows():
        name = str(row.predicate)
        value = 1 if row.value is None else ["x", "y", "z"].index(str(row.value))
        code = np.array([0 if not row.arguments else "ab".index(str(row.arguments[0]))])
        axis = int(state.compiled.axes_of(name, code)[0])
        share = seen[graph.starts[axis] + value] / sweep_count
        assert share == pytest.approx(row.probability, abs=0.02), row
