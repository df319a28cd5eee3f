"""The quick bound on the width against the true width of small graphs, by trying every order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.engines import elimination
from herbrand.engines.elimination import least_width
from tests.laws import tries

scopes = st.lists(st.sets(st.integers(0, 5), min_size=1, max_size=3).map(sorted).map(tuple), max_size=6)


def links_of(tables: list[tuple[int, ...]]) -> np.ndarray:
    pairs = [pair for table in tables for pair in itertools.combinations(table, 2)]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def true_width(tables: list[tuple[int, ...]]) -> int:
    """The smallest largest neighbourhood, over all orders of summing out."""
    axes = sorted({axis for table in tables for axis in table})
    best = len(axes)
    for order in itertools.permutations(axes):
        links = {a: {b for t in tables if a in t for b in t} - {a} for a in axes}
        widest = 0
        for axis in order:
            around = links.pop(axis)
            widest = max(widest, len(around))
            for other in around:
                links[other] = (links[other] | around) - {axis, other}
        best = min(best, widest)
    return best


@settings(max_examples=tries(60), deadline=None)
@given(scopes)
def test_never_above_the_true_width(tables: list[tuple[int, ...]]) -> None:
    assert least_width(links_of(tables)) <= true_width(tables)


@settings(max_examples=tries(60), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=14), st.integers(1, 5))
def test_a_width_that_is_enough_is_one_of_all_orders(pairs: list[tuple[int, int]], enough: int) -> None:
    links = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination, "MANY", 0)  # as of a large graph
        found = least_width(links, enough)
    if found >= enough:
        assert true_width(pairs) >= enough


def test_a_part_whose_members_all_have_many_neighbours_is_seen_among_many_links() -> None:
    """A board of 40 x 40 fields, those of a row and of a column linked in pairs, with a long tail."""
    cells = np.arange(1600).reshape(40, 40)
    lines = [*cells, *cells.T]
    pairs = [pair for line in lines for pair in itertools.combinations(line.tolist(), 2)]
    tail = [(i, i + 1) for i in range(1599, 1630)]
    assert least_width(np.array(pairs + tail), 78) == 78


@pytest.mark.parametrize("links_a_vertex", [2, 12])
def test_large_random_graphs_are_told_as_hopeless_at_once(links_a_vertex: int) -> None:
    random = np.random.default_rng(7)
    pairs = random.integers(20_000, size=(links_a_vertex * 20_000, 2))
    assert least_width(pairs, enough=51) >= 51


def test_large_graphs_of_little_width_are_not() -> None:
    chain = [(i, i + 1, i + 2) for i in range(30_000)]
    assert 1 <= least_width(links_of(chain)) <= 2
    side = 150
    down = [(side * i + j, side * (i + 1) + j) for i in range(side - 1) for j in range(side)]
    across = [(side * i + j, side * i + j + 1) for i in range(side) for j in range(side - 1)]
    assert 2 <= least_width(np.array(down + across)) <= side


def test_a_clique_is_as_wide_as_it_is() -> None:
    pairs = list(itertools.combinations(range(8), 2))
    assert least_width(np.array(pairs)) == 7
