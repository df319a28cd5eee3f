"""Random worlds and their labels against plain loops; environments against slow games."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from benchmarks.games.blocks import Towers, compared
from benchmarks.games.path import Walks
from benchmarks.games.schools import environment_named
from benchmarks.worlds import family, graphs
from benchmarks.worlds.tasks import TASKS, task_named
from examples.sorting.run import Arrays
from tests.laws import tries
from tests.oracles.induction_worlds import Blocks, distances, family_answers

PHASES = [Phase.reuse, Phase.generate]
seeds = st.integers(0, 10**6)


def cells(table: np.ndarray) -> set[tuple[int, ...]]:
    return {tuple(map(int, row)) for row in np.argwhere(table)}


@settings(max_examples=tries(25), deadline=None, phases=PHASES)
@given(seeds, st.integers(1, 24))
def test_family_labels(seed: int, people: int) -> None:
    tree = family.grow(np.random.default_rng(seed), 2, people)
    known = family.relations(tree)
    for world in range(2):
        expected = family_answers(
            tree.father[world].tolist(), tree.mother[world].tolist(), tree.man[world].tolist()
        )
        for name, answer in expected.items():
            label: Callable[[np.ndarray], np.ndarray] = getattr(family, name)
            assert cells(label(known)[world]) == answer, name


@settings(max_examples=tries(15), deadline=None, phases=PHASES)
@given(seeds)
def test_families_marry_outside(seed: int) -> None:
    """Nobody has a child with a sibling, a cousin, an uncle or an aunt, counted through fathers."""
    tree = family.grow(np.random.default_rng(seed), 3, 30)
    for father, mother in zip(tree.father.tolist(), tree.mother.tolist(), strict=True):
        for child in range(30):
            his, hers = father[child], mother[child]
            if his >= 0 and father[his] >= 0 and father[hers] >= 0:
                assert father[his] != father[hers]
                assert his != father[hers] and hers != mother[his]


@settings(max_examples=tries(25), deadline=None, phases=PHASES)
@given(seeds, st.integers(1, 14), st.sampled_from([graphs.erdos_renyi, graphs.nearest_neighbours]))
def test_graph_labels(seed: int, nodes: int, make: graphs.Edges) -> None:
    edges = make(np.random.default_rng(seed), 2, nodes)
    for world in range(2):
        linked = {(x, y) for x, y in cells(edges[world])}
        away = [distances(linked, nodes, start) for start in range(nodes)]
        assert all((y, x) in linked and x != y for x, y in linked)
        for steps in (1, 4, 6):
            expected = {
                (x, y) for x in range(nodes) for y in range(nodes) if x != y and (away[x][y] or 99) <= steps
            }
            assert cells(graphs.connected(edges, steps)[world]) == expected
        for degree in (1, 2):
            expected_nodes = {(x,) for x in range(nodes) if sum(a == x for a, _ in linked) == degree}
            assert cells(graphs.degree_is(edges, degree)[world]) == expected_nodes
        lengths = graphs.shortest(edges, 3)[world]
        for x in range(nodes):
            far = [4 if d is None or d > 3 else d for d in away[x]]
            assert lengths[x].tolist() == far


@settings(max_examples=tries(20), deadline=None, phases=PHASES)
@given(seeds, st.integers(1, 12))
def test_coloured_neighbours(seed: int, nodes: int) -> None:
    sample = graphs.coloured_sample(np.random.default_rng(seed), 2, nodes)
    colours, edges = sample.predicates[1].numpy(), sample.predicates[2].numpy()[..., 0]
    assert (colours.sum(-1) == 1).all()
    for world in range(2):
        red = {x for (x,) in cells(colours[world, :, 0])}
        assert cells(sample.target[world].numpy()) == {(x,) for x, y in cells(edges[world]) if y in red}


@pytest.mark.parametrize("name", TASKS)
def test_worlds_differ_and_have_both_answers(name: str) -> None:
    """Targets that are always or never true teach nothing, and neither does one world over and over."""
    task = task_named(name)
    sample = task.draw_for_training(np.random.default_rng(3), 32, task.sizes[0])
    assert 0 < sample.target.mean() < 1
    told = {tuple(map(tuple, cells(w.numpy()))) for w in sample.predicates[2]}
    assert len({frozenset(t) for t in told}) > 20
    assert set(sample.target.unique().tolist()) == {0.0, 1.0}
    assert all(set(t.unique().tolist()) <= {0.0, 1.0} for t in sample.predicates.values())


# Games


@settings(max_examples=tries(25), deadline=None, phases=PHASES)
@given(seeds, st.integers(1, 5))
def test_towers_move_as_lists_of_blocks(seed: int, blocks: int) -> None:
    rng = np.random.default_rng(seed)
    towers = Towers.draw(rng, 1, blocks)
    slow, wanted = Blocks(towers.under[0].tolist()), Blocks(towers.wanted[0].tolist())
    count = blocks + 1
    for _ in range(8):
        assert slow.under() == towers.under[0].tolist()
        assert slow.places() == list(zip(towers.x[0].tolist(), towers.y[0].tolist(), strict=True))
        legal = towers.legal()[0].reshape(count, count)
        assert all(legal[b, o] == (b > 0 and slow.may(b, o)) for b in range(count) for o in range(count))
        assert bool(towers.solved()[0]) == (sorted(slow.towers) == sorted(wanted.towers))
        action = int(rng.integers(count**2))
        slow.move(*divmod(action, count))
        towers = towers.moved(np.array([action]))


@settings(max_examples=tries(15), deadline=None, phases=PHASES)
@given(seeds, st.integers(1, 4))
def test_what_is_seen_of_towers(seed: int, blocks: int) -> None:
    """Comparisons of world, number, x and y between all objects of both worlds."""
    towers = Towers.draw(np.random.default_rng(seed), 1, blocks)
    seen = []
    for world, under in enumerate((towers.under[0], towers.wanted[0])):
        places = Blocks(under.tolist()).places()
        seen += [(world, number, *place) for number, place in enumerate(places)]
    table = towers.predicates()[2][0]
    for i, left in enumerate(seen):
        for j, right in enumerate(seen):
            expected = [f(a, b) for a, b in zip(left, right, strict=True) for f in (int.__lt__, int.__eq__)]
            assert table[i, j].tolist() == [float(e) for e in expected]
    pairs, count = towers.pairs()[0], blocks + 1
    assert torch.equal(pairs[..., :8], table[:count, :count])
    assert torch.equal(pairs[..., 8:], table[count:, count:])
    assert compared(towers.properties()).shape == (1, 2 * count, 2 * count, 8)


@settings(max_examples=tries(10), deadline=None, phases=PHASES)
@given(seeds, st.integers(2, 10))
def test_a_walk_along_shortest_paths_arrives_and_any_other_does_not(seed: int, nodes: int) -> None:
    rng = np.random.default_rng(seed)
    walks = Walks.draw(rng, 3, nodes)
    for game in range(3):
        linked = {(x, y) for x, y in cells(walks.edges[game])}
        target = int(walks.target[game])
        away = distances(linked, nodes, target)
        here = walks.take(np.array([game]))
        assert away[int(here.here[0])] == int(here.limit()[0]) >= 1
        strayed = False
        for _ in range(int(here.limit()[0])):
            action = int(rng.integers(nodes))
            before = away[int(here.here[0])] or 0
            here = here.moved(np.array([action]))
            strayed |= away[int(here.here[0])] != before - 1
        assert bool(here.solved()[0]) == (not strayed)


@settings(max_examples=tries(10), deadline=None, phases=PHASES)
@given(seeds, st.integers(1, 6))
def test_arrays_are_seen_by_comparisons(seed: int, slots: int) -> None:
    arrays = Arrays.draw(np.random.default_rng(seed), 2, slots)
    table = arrays.predicates()[2]
    for world, values in enumerate(arrays.values.tolist()):
        assert sorted(values) == list(range(slots))
        assert bool(arrays.solved()[world]) == (values == sorted(values))
        for i in range(slots):
            for j in range(slots):
                assert table[world, i, j].tolist() == [float(i < j), float(values[i] < values[j])]


@pytest.mark.parametrize("name", ["sorting", "path", "blocks"])
def test_environments_follow_the_games(name: str) -> None:
    """An episode through the environment shows what the game shows, move by move, to the end."""
    pytest.importorskip("gymnasium")
    environment = environment_named(name, objects=4)
    rng = np.random.default_rng(0)
    for seed in range(6):
        observation, info = environment.reset(seed=seed)
        game = environment.games
        for move in range(1, 1 + int(game.limit()[0])):
            for arity, tensor in game.predicates().items():
                key = ("nullary", "unary", "binary", "ternary")[arity]
                assert np.array_equal(observation[key], tensor[0].numpy())
            assert np.array_equal(info["action_mask"], game.legal()[0])
            action = int(rng.integers(game.actions))
            game = game.moved(np.array([action]))
            observation, reward, terminated, truncated, info = environment.step(action)
            solved = bool(game.solved()[0])
            assert reward == (1.0 if solved else -0.01) and info["solved"] == solved
            assert (terminated or truncated) == (solved or move == int(game.limit()[0]))
            if terminated or truncated:
                break
