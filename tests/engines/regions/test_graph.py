"""Region graphs as such: what is shared, who tells whom, and how often each region counts."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from herbrand.engines.regions.graph import Region, region_graph

CHAIN = [(0, 1, 2), (1, 2, 3), (2, 3, 4), (2, 5)]


def test_a_chain_of_cliques_has_three_levels() -> None:
    graph = region_graph(CHAIN, [], CHAIN)
    counting = dict(zip(map(str, graph.regions), graph.counting, strict=True))
    assert counting == {
        "{0 1 2}": 1,
        "{1 2 3}": 1,
        "{2 3 4}": 1,
        "{2 5}": 1,
        "{1 2}": -1,
        "{2 3}": -1,
        "{2}": -1,
    }
    assert graph.acyclic


def test_a_message_takes_every_edge_into_a_descendant_from_outside() -> None:
    graph = region_graph(CHAIN, [], CHAIN)
    names = [str(region) for region in graph.regions]
    edges = [(names[parent], names[child]) for parent, child in graph.edges]
    entering = {edges[edge] for edge in graph.entering[names.index("{1 2 3}")]}
    assert entering == {("{0 1 2}", "{1 2}"), ("{2 3 4}", "{2 3}"), ("{2 5}", "{2}")}
    assert ("{1 2 3}", "{2}") not in edges  # another region is between


def test_variables_told_of_one_by_one_are_shared_by_nothing_else() -> None:
    graph = region_graph([(0, 1, 2), (1, 2, 3)], [1, 3], [(0, 1, 2), (1, 2, 3), (1, 2), (2,)])
    assert [str(region) for region in graph.regions] == ["{0 1 2}", "{1 2 3}", "{2}", "one of 1"]
    assert graph.counting == (1, 1, -1, -1)
    assert graph.owners == ((0,), (1,), (0,), (0, 1, 2))  # a factor over 1 and 2 counts in one cluster only
    assert not graph.acyclic


@pytest.mark.parametrize(
    ("scopes", "acyclic"),
    [
        ([(0, 1), (1, 2), (0, 2)], False),
        ([(0, 1), (1, 2), (0, 1, 2)], True),
        ([(0, 1), (1, 2), (2, 3), (0, 3)], False),
        ([(0,), (1,)], True),
        ([(0, 1, 2), (2, 3, 4), (0, 4, 5)], False),
    ],
)
def test_cycles(scopes: list[tuple[int, ...]], acyclic: bool) -> None:
    assert region_graph(scopes, [], scopes).acyclic == acyclic


scopes = st.lists(
    st.sets(st.integers(0, 6), min_size=1, max_size=4).map(lambda s: tuple(sorted(s))), min_size=1, max_size=7
)


@settings(phases=[Phase.reuse, Phase.generate], max_examples=100, deadline=None)
@given(scopes, st.sets(st.integers(0, 6)))
def test_everything_is_counted_once(clusters: list[tuple[int, ...]], singles: set[int]) -> None:
    graph = region_graph(clusters, singles, clusters)
    for variable in {v for cluster in clusters for v in cluster}:
        holding = [c for c, r in zip(graph.counting, graph.regions, strict=True) if variable in r.scope]
        assert sum(holding) == 1
    for owners in graph.owners:
        assert sum(graph.counting[owner] for owner in owners) == 1
    for parent, child in graph.edges:
        assert graph.regions[child].inside(graph.regions[parent])


def test_a_single_is_inside_every_region_of_its_variable() -> None:
    assert Region((1,), single=True).inside(Region((1,)))
    assert not Region((1,)).inside(Region((1,), single=True))
    assert not Region((1,)).inside(Region((1,)))
