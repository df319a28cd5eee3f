"""The quick bound on the width against the true width of small graphs, by trying every order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.engines.width import least_width

scopes = st.lists(st.sets(st.integers(0, 5), min_size=1, max_size=3).map(sorted).map(tuple), max_size=6)


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


@settings(max_examples=60, deadline=None)
@given(scopes)
def test_never_above_the_true_width(tables: list[tuple[int, ...]]) -> None:
    assert least_width(tables) <= true_width(tables)


@pytest.mark.parametrize("links_a_vertex", [2, 12])
def test_large_random_graphs_are_told_as_hopeless_at_once(links_a_vertex: int) -> None:
    random = np.random.default_rng(7)
    pairs = random.integers(20_000, size=(links_a_vertex * 20_000, 2))
    assert least_width(pairs.tolist(), enough=51) >= 51


def test_large_graphs_of_little_width_are_not() -> None:
    chain = [(i, i + 1, i + 2) for i in range(30_000)]
    assert 1 <= least_width(chain) <= 2
    side = 150
    down = [(side * i + j, side * (i + 1) + j) for i in range(side - 1) for j in range(side)]
    across = [(side * i + j, side * i + j + 1) for i in range(side) for j in range(side - 1)]
    assert 2 <= least_width(down + across) <= side


def test_a_clique_is_as_wide_as_it_is() -> None:
    pairs = list(itertools.combinations(range(8), 2))
    assert least_width(pairs) == 7
