"""The quick bound on the width against the true width of small graphs, by trying every order."""

from __future__ import annotations

import itertools

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


def test_a_clique_is_as_wide_as_it_is() -> None:
    pairs = list(itertools.combinations(range(8), 2))
    assert least_width(pairs) == 7
