"""Connected components are those of a union-find, numbered by their first vertices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from herbrand.engines.connected import component_of

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
    found = component_of(count, np.array(links, np.int64).reshape(-1, 2))
    assert found.tolist() == by_union(count, links)


@pytest.mark.parametrize("count", [2, 1000, 100_000])
@pytest.mark.parametrize("shuffled", [False, True])
def test_a_long_path_is_one(count: int, shuffled: bool) -> None:
    order = np.random.default_rng(0).permutation(count) if shuffled else np.arange(count)
    links = np.stack([order[:-1], order[1:]], axis=1)
    assert not component_of(count, links).any()
    broken = component_of(count, np.delete(links, count // 2 - 1, axis=0))
    assert sorted(np.bincount(broken)) == [count // 2, count - count // 2]
