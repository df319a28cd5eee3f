"""Components and reachability agree with plain loops, whatever the graph is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from herbrand.graphs import (
    Classes,
    _components_by_rounds,
    component_of,
    linked,
    reached,
    strong_component_of,
    strong_components,
)

Link = tuple[int, int]


def by_union(count: int, links: list[Link]) -> list[int]:
    root = list(range(count))

    def find(vertex: int) -> int:
        while root[vertex] != vertex:
            vertex = root[vertex]
        return vertex

    for left, right in links:
        root[find(left)] = find(right)
    numbers: dict[int, int] = {}
    return [numbers.setdefault(find(vertex), len(numbers)) for vertex in range(count)]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[Link]]:
    count = draw(st.integers(0, 30))
    vertices = st.integers(0, max(count - 1, 0))
    return count, draw(st.lists(st.tuples(vertices, vertices), max_size=40 if count else 0))


@given(graphs())
def test_any_graph(graph: tuple[int, list[Link]]) -> None:
    count, links = graph
    for found in (component_of, _components_by_rounds):
        assert found(count, np.array(links, np.int64).reshape(-1, 2)).tolist() == by_union(count, links)


@pytest.mark.parametrize("count", [2, 1000, 100_000])
@pytest.mark.parametrize("shuffled", [False, True])
def test_a_long_path_is_one(count: int, shuffled: bool) -> None:
    order = np.random.default_rng(0).permutation(count) if shuffled else np.arange(count)
    links = np.stack([order[:-1], order[1:]], axis=1)
    assert not component_of(count, links).any()
    broken = component_of(count, np.delete(links, count // 2 - 1, axis=0))
    assert sorted(np.bincount(broken)) == [count // 2, count - count // 2]


@given(graphs())
def test_classes_are_components(graph: tuple[int, list[Link]]) -> None:
    count, links = graph
    classes = Classes[int]()
    for left, right in links:
        classes.join(left, right)
        assert classes.leader(left) == classes.leader(right)
    numbers: dict[int, int] = {}
    leaders = [numbers.setdefault(classes.leader(vertex), len(numbers)) for vertex in range(count)]
    assert leaders == by_union(count, links)


def test_the_second_leads() -> None:
    classes = Classes[str]()
    classes.join("x", "y")
    classes.join("x", "constant")
    assert [classes.leader(key) for key in ("x", "y", "constant", "z")] == ["constant"] * 3 + ["z"]


@given(st.lists(st.lists(st.integers(0, 8), max_size=3), max_size=10))
def test_items_that_share_keys(items: list[list[int]]) -> None:
    """Each item once, in order; a link within a group, none between two."""
    groups = linked(list(enumerate(items)), lambda item: item[1])
    pairs = [(i, j) for i, one in enumerate(items) for j, other in enumerate(items) if set(one) & set(other)]
    numbers = by_union(len(items), pairs)
    expected = [[place for place, own in enumerate(numbers) if own == n] for n in range(len(set(numbers)))]
    assert [[place for place, _ in group] for group in groups] == expected


@given(graphs())
def test_what_is_reached(graph: tuple[int, list[Link]]) -> None:
    count, links = graph
    starts = list(range(min(2, count)))
    found = reached(starts, lambda vertex: [right for left, right in links if left == vertex])
    every = set(starts)
    for _ in range(count):
        every |= {right for left, right in links if left in every}
    assert len(found) == len(set(found)) and set(found) == every


@given(st.integers(1, 8), st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_strong_components_are_the_vertices_that_reach_each_other(
    count: int, drawn: list[tuple[int, int]]
) -> None:
    links = [(one % count, other % count) for one, other in drawn]
    following = {vertex: [end for start, end in links if start == vertex] for vertex in range(count)}
    reach = {vertex: set(reached([vertex], following.__getitem__)) for vertex in following}
    expected = {frozenset(end for end in reach[v] if v in reach[end]) for v in following}
    listed = list(strong_components(following))
    assert {frozenset(one) for one in listed} == expected and sum(map(len, listed)) == count
    done: set[int] = set()
    for one in listed:  # each after all that it reaches
        done.update(one)
        assert all(reach[vertex] <= done for vertex in one)
    labels = strong_component_of(count, np.array(links, np.int64).reshape(-1, 2))
    assert {frozenset(np.flatnonzero(labels == label).tolist()) for label in labels} == expected
