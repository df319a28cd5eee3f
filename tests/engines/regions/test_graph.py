"""Region graphs as such: what is shared, who tells whom, and how often each region counts."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from herbrand.engines.regions.graph import Region, RegionGraph, region_graph, whole
from tests.laws import tries
from tests.oracles.regions import intersections

ONE_EACH = [1] * 7
THREE_EACH = [3] * 7
CHAIN = [whole(scope, ONE_EACH) for scope in [(0, 1, 2), (1, 2, 3), (2, 3, 4), (2, 5)]]


def shown(graph: RegionGraph) -> list[str]:
    """The variables of each region."""
    return [" ".join(map(str, region.scope)) for region in graph.regions]


def test_a_chain_of_cliques_has_three_levels() -> None:
    graph = region_graph(CHAIN, ONE_EACH, CHAIN)
    counting = dict(zip(shown(graph), graph.counting, strict=True))
    assert counting == {"0 1 2": 1, "1 2 3": 1, "2 3 4": 1, "2 5": 1, "1 2": -1, "2 3": -1, "2": -1}
    assert graph.acyclic


def test_a_message_takes_every_edge_into_a_descendant_from_outside() -> None:
    graph = region_graph(CHAIN, ONE_EACH, CHAIN)
    names = shown(graph)
    edges = [(names[parent], names[child]) for parent, child in graph.edges]
    entering = {edges[edge] for edge, times in graph.entering[names.index("1 2 3")] if times == 1}
    assert entering == {("0 1 2", "1 2"), ("2 3 4", "2 3"), ("2 5", "2")}
    assert ("1 2 3", "2") not in edges  # another region is between


def test_variables_told_of_one_by_one_are_shared_by_nothing_else() -> None:
    clusters = [whole(scope, THREE_EACH) for scope in [(0, 1, 2), (1, 2, 3)]]
    factors = [*clusters, whole((1, 2), THREE_EACH), whole((2,), THREE_EACH)]
    graph = region_graph(clusters, THREE_EACH, factors, singles=[1, 3])
    assert list(map(str, graph.regions[2:])) == ["{3 of 2}", "{1 of 1}"]
    assert graph.counting == (1, 1, -1, -1)
    # A factor over 1 and 2 counts in one cluster only.
    assert graph.owners == (((0,), 1.0), ((1,), 1.0), ((0,), 1.0), ((0, 1, 2), 1.0))
    assert not graph.acyclic


def test_a_star_of_single_elements_is_a_tree() -> None:
    """Each element of 0 with all of 1: copies that share all of 1, and no cycle."""
    elements = [4, 5, 2]
    star = Region(((0, 1), (1, 5)))
    graph = region_graph([star, whole((1, 2), elements)], elements, [star])
    assert [(str(region), graph.counting[i], graph.copies(i)) for i, region in enumerate(graph.regions)] == [
        ("{5 of 1, 2 of 2}", 1, 1),
        ("{1 of 0, 5 of 1}", 1, 4),
        ("{5 of 1}", -4, 1),
    ]
    assert graph.acyclic
    both = Region(((0, 1), (1, 1)))
    assert not region_graph([both], elements, [both]).acyclic


def test_two_of_three_elements_share_one_and_two_of_two_are_all() -> None:
    pair = Region(((0, 2),))
    graph = region_graph([pair], [3], [pair, Region(((0, 1),))])
    assert list(map(str, graph.regions)) == ["{2 of 0}", "{1 of 0}"]
    assert graph.counting == (1, -1)
    assert graph.owners == (((0,), 1.0), ((0, 1), 1.0))
    assert list(map(str, region_graph([pair], [2], []).regions)) == ["{2 of 0}"]


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
    clusters = [whole(scope, THREE_EACH) for scope in scopes]
    assert region_graph(clusters, THREE_EACH, clusters).acyclic == acyclic


kinds = st.dictionaries(st.integers(0, 2), st.integers(1, 3), min_size=1)


@settings(phases=[Phase.reuse, Phase.generate], max_examples=tries(60), deadline=None)
@given(
    st.lists(kinds, min_size=1, max_size=4),
    st.lists(st.integers(1, 3), min_size=3, max_size=3),
    st.sets(st.integers(0, 2)),
    st.booleans(),
)
def test_everything_is_counted_once(
    drawn: list[dict[int, int]], elements: list[int], singles: set[int], deep: bool
) -> None:
    """Counting numbers and copies are those of the ground regions, written out."""
    clusters = [Region(tuple(sorted((v, min(n, elements[v])) for v, n in kind.items()))) for kind in drawn]
    graph = region_graph(clusters, elements, clusters, singles, deep)
    ground = [(number, g) for number, r in enumerate(graph.regions) for g in written_out(r, elements)]
    assert len({g for _, g in ground}) == len(ground)
    assert [sum(i == number for i, _ in ground) for number in range(len(graph.regions))] == [
        graph.copies(number) for number in range(len(graph.regions))
    ]
    for _, small in ground:
        assert sum(graph.counting[number] for number, large in ground if small <= large) == 1
    for element in {element for _, g in ground for element in g}:
        assert sum(graph.counting[number] for number, g in ground if element in g) == 1
    for factor, (owners, share) in zip(clusters, graph.owners, strict=True):
        named = written_out(factor, elements)[0]
        times = [graph.counting[i] for i, g in ground if i in owners and named <= g]
        assert share * sum(times) == pytest.approx(1)
    if deep and not singles:
        outer = [g for cluster in clusters for g in written_out(cluster, elements)]
        largest = [g for g in set(outer) if not any(g < other for other in outer)]
        assert {g for _, g in ground} == set(intersections(largest))


@settings(phases=[Phase.reuse, Phase.generate], max_examples=tries(60), deadline=None)
@given(st.lists(kinds, min_size=1, max_size=3), st.lists(st.integers(1, 3), min_size=3, max_size=3))
def test_edges_and_exponents_are_those_of_the_ground(
    drawn: list[dict[int, int]], elements: list[int]
) -> None:
    clusters = [Region(tuple(sorted((v, min(n, elements[v])) for v, n in kind.items()))) for kind in drawn]
    graph = region_graph(clusters, elements, clusters)
    ground = [(number, g) for number, r in enumerate(graph.regions) for g in written_out(r, elements)]
    everything = [g for _, g in ground]
    edges = {
        (i, j, large, small)
        for i, large in ground
        for j, small in ground
        if small < large and not any(small < between < large for between in everything)
    }
    assert {(i, j) for i, j, _, _ in edges} == set(graph.edges)
    for number, region in enumerate(graph.regions):
        within = written_out(region, elements)[0]
        expected: dict[tuple[int, frozenset[object]], int] = {}
        for i, j, large, small in edges:
            if small <= within and not large <= within:
                edge = graph.edges.index((i, j))
                expected[edge, small] = expected.get((edge, small), 0) + 1
        told = dict(graph.entering[number])
        assert {edge for edge, _ in expected} == set(told)
        assert all(times == told[edge] for (edge, _), times in expected.items())
    if graph.acyclic:
        outer = [set(g) for g in everything if not any(g < other for other in everything)]
        assert is_acyclic(outer)


def written_out(region: Region, elements: list[int]) -> list[frozenset[object]]:
    """The ground regions of a kind, as sets of elements."""
    parts = [
        [{(v, i) for i in chosen} for chosen in itertools.combinations(range(elements[v]), number)]
        for v, number in region.taken
    ]
    return [frozenset().union(*choice) for choice in itertools.product(*parts)]


def is_acyclic(edges: list[set[object]]) -> bool:
    """Graham's reduction, one step at a time."""
    while len(edges) > 1:
        for edge in edges:
            lonely = {e for e in edge if sum(e in other for other in edges) == 1}
            if lonely:
                edge -= lonely
                break
        else:
            inside = [e for i, e in enumerate(edges) if any(e <= o for j, o in enumerate(edges) if i != j)]
            if not inside:
                return False
            edges.remove(inside[0])
    return True


def test_smaller_parts_are_inside() -> None:
    assert Region(((1, 1),)).inside(Region(((1, 3),)))
    assert not Region(((1, 3),)).inside(Region(((1, 1),)))
    assert not Region(((1, 3),)).inside(Region(((1, 3),)))
    assert not Region(((1, 1), (2, 1))).inside(Region(((1, 3),)))
