"""Random worlds: what must hold of each, and the decision tasks as games and as environments."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.games.blocks import GROUND, Towers
from benchmarks.games.path import Walks
from benchmarks.games.schools import GAMES, environment_named
from benchmarks.worlds import family, graphs
from benchmarks.worlds.tasks import TASKS, task_named
from examples.sorting.run import Arrays
from herbrand.errors import HerbrandError


def test_families_make_sense() -> None:
    tree = family.grow(np.random.default_rng(0), worlds=30, people=25)
    known = family.relations(tree)
    father, mother, son, daughter = np.moveaxis(known, -1, 0)
    assert (father.sum(2) <= 1).all() and np.array_equal(father.sum(2), mother.sum(2))
    assert np.array_equal(np.maximum(father, mother).transpose(0, 2, 1), np.maximum(son, daughter))
    world, _, parent = np.nonzero(father)
    assert tree.man[world, parent].all()
    steps = np.maximum(father, mother)
    above = steps
    for _ in range(25):
        above = np.minimum(above @ steps + steps, 1)
    assert not np.diagonal(above, axis1=1, axis2=2).any(), "nobody is their own ancestor"


def test_labels_by_hand() -> None:
    """Anna and Bert have Carl and Dora; Carl and Eva have
    Fred: Dora's brother is Carl, Fred's uncle is nobody."""
    anna, bert, carl, dora, eva, fred, gus = range(7)
    father, mother = np.full((2, 1, 7), -1)
    for child, pair in {carl: (bert, anna), dora: (bert, anna), gus: (bert, anna), fred: (carl, eva)}.items():
        father[0, child], mother[0, child] = pair
    man = np.array([[person in (bert, carl, fred, gus) for person in range(7)]])
    known = family.relations(family.Families(father, mother, man))
    assert np.flatnonzero(family.has_father(known)[0]).tolist() == [carl, dora, fred, gus]
    assert np.flatnonzero(family.has_sister(known)[0]).tolist() == [carl, gus]
    assert np.argwhere(family.grandparents(known)[0]).tolist() == [[fred, anna], [fred, bert]]
    assert np.argwhere(family.uncle(known)[0]).tolist() == [[fred, gus]]


def test_connections_equal_shortest_paths() -> None:
    edges = graphs.nearest_neighbours(np.random.default_rng(0), 10, 12)
    assert np.array_equal(edges, edges.transpose(0, 2, 1)) and not np.diagonal(edges, axis1=1, axis2=2).any()
    lengths = graphs.shortest(edges, 4)
    assert np.array_equal(graphs.connected(edges, 4) > 0, (lengths <= 4) & (lengths > 0))


@pytest.mark.parametrize("name", TASKS)
def test_seeds_repeat_and_tiny_worlds_work(name: str) -> None:
    task = task_named(name)
    one, two = (task.draw(np.random.default_rng(5), 3, 6) for _ in range(2))
    assert torch.equal(one.target, two.target)
    assert task.draw(np.random.default_rng(0), 2, 1).target.shape[1:] == (1,) * task.target_arity
    assert task.draw_for_training(np.random.default_rng(0), 4, 3).worlds == 4


def test_rare_targets_are_met_in_training() -> None:
    task = task_named("maternal-great-uncle")
    sample = task.draw_for_training(np.random.default_rng(0), 16, 20)
    assert sample.worlds == 16 and sample.target.flatten(1).any(1).sum() >= 12


@pytest.mark.parametrize(
    "wrong",
    [lambda: task_named("has-mother"), lambda: task_named("uncle").draw(np.random.default_rng(0), 1, 0)],
)
def test_wrong_tasks_are_refused(wrong: object) -> None:
    with pytest.raises(HerbrandError):
        wrong()  # type: ignore[operator]


# Decision tasks


def test_an_array_is_sorted_by_swaps() -> None:
    arrays = Arrays(np.array([[2, 1, 0], [0, 1, 2]]))
    assert arrays.solved().tolist() == [False, True]
    assert arrays.moved(np.array([2, 0])).values.tolist() == [[0, 1, 2], [0, 1, 2]]


def test_nodes_are_linked_to_their_nearest() -> None:
    """The points are drawn first: every node is linked to its nearest so many, and to those that chose it."""
    edges = graphs.nearest_neighbours(np.random.default_rng(4), 20, 30)
    places = np.random.default_rng(4)
    places.integers(1, 10, size=(20, 30))
    points = places.random((20, 30, 2))
    counts = set()
    for world in range(20):
        chose = np.zeros((30, 30), bool)
        for node in range(30):
            away = ((points[world] - points[world, node]) ** 2).sum(-1)
            order = [other for other in np.argsort(away) if other != node]
            linked = [bool(edges[world, node, other]) for other in order]
            most = (*linked, False).index(False)
            counts.add(most)
            chose[node, order[:most]] = True
        assert np.array_equal(edges[world] > 0, chose | chose.T) and edges[world].any(1).all()
    assert min(counts) == 1 and max(counts) >= 9


@pytest.mark.parametrize("distance", [1, 2, 3])
def test_walks_are_as_far_as_asked(distance: int) -> None:
    walks = Walks.draw(np.random.default_rng(1), 10, 12, distance)
    lengths = graphs.shortest(walks.edges, 5)[np.arange(10), walks.here, walks.target]
    assert (lengths == distance).all() and np.array_equal(walks.limit(), lengths)


def test_a_walker_moves_along_edges_only() -> None:
    walks = Walks.draw(np.random.default_rng(1), 10, 8)
    for node in range(8):
        moved = walks.moved(np.full(10, node))
        linked = walks.edges[np.arange(10), walks.here, node] > 0
        assert np.array_equal(moved.here, np.where(linked, node, walks.here))


def heights(towers: Towers) -> list[list[tuple[int, int]]]:
    """Coordinates found by following what each object stands on."""
    found = []
    for under in towers.under:
        places = [(0, 0)] * len(under)
        for block in range(1, len(under)):
            column, base = 1, block
            while under[base] != GROUND:
                column, base = column + 1, under[base]
            places[block] = (base, column)
        found.append(places)
    return found


def test_blocks_keep_their_places_through_moves() -> None:
    rng = np.random.default_rng(3)
    towers = Towers.draw(rng, 20, 5)
    for _ in range(15):
        expected = heights(towers)
        assert [
            list(zip(x, y, strict=True)) for x, y in zip(towers.x.tolist(), towers.y.tolist(), strict=True)
        ] == expected
        legal = towers.legal().reshape(20, 6, 6)
        carried = [{int(u) for b, u in enumerate(under) if b} - {GROUND} for under in towers.under]
        for world in range(20):
            for block in range(6):
                for onto in range(6):
                    fine = (
                        block not in (GROUND, onto)
                        and block not in carried[world]
                        and onto not in carried[world]
                    )
                    assert legal[world, block, onto] == fine
        towers = towers.moved(rng.integers(36, size=20))
    assert (towers.take(np.array([0])).wanted >= 0).all()


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.filterwarnings("error")
def test_environments_pass_gymnasiums_own_checker(name: str) -> None:
    checker = pytest.importorskip("gymnasium.utils.env_checker")
    environment = environment_named(name, objects=4)
    checker.check_env(environment, skip_render_check=True)
    first, info = environment.reset(seed=7)
    again, _ = environment.reset(seed=7)
    assert all(np.array_equal(first[key], again[key]) for key in first)
    assert info["action_mask"].shape == (environment.action_space.n,)


@pytest.mark.parametrize(
    ("name", "ends"), [("sorting", "truncated"), ("path", "terminated"), ("blocks", "truncated")]
)
def test_running_out_of_moves(name: str, ends: str) -> None:
    pytest.importorskip("gymnasium")
    environment = environment_named(name, objects=4)
    for seed in range(9):
        _, info = environment.reset(seed=seed)
        if not info["solved"]:
            break
    unmoved = int(environment.games.here[0]) if name == "path" else 0
    for move in range(1, info["limit"] + 1):
        _, reward, terminated, truncated, _ = environment.step(unmoved)
        assert reward == -0.01
        assert (terminated, truncated) == (
            move == info["limit"] and ends == "terminated",
            move == info["limit"] and ends == "truncated",
        )


def test_options_and_wrong_calls_of_environments() -> None:
    pytest.importorskip("gymnasium")
    environment = environment_named("path", objects=12)
    assert environment.reset(seed=0, options={"distance": 3})[1]["limit"] == 3
    with pytest.raises(HerbrandError, match="no such options: weight"):
        environment.reset(options={"weight": 3})
    with pytest.raises(HerbrandError, match="there is no action 99"):
        environment.step(99)
    with pytest.raises(HerbrandError, match="did you mean 'sorting'"):
        environment_named("sortin", objects=3)
