"""Row keys, each once, alone or with a number."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from herbrand.row_keys import row_keys, unique_pairs, unique_sorted

WIDE = [2**31] * 3


@given(st.lists(st.integers(0, 3)))
def test_each_once(keys):
    assert unique_sorted(np.array(keys, np.int64)).tolist() == sorted(set(keys))
    column = np.array(keys, np.int64)
    wide = row_keys([column, column, column], WIDE)
    assert len(unique_sorted(wide)) == len(set(keys))


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.5, 1.0, 2.0]))), st.booleans())
def test_pairs(pairs, wide):
    keys = np.array([key for key, _ in pairs], np.int64)
    numbers = np.array([number for _, number in pairs])
    made = row_keys([keys, keys, keys], WIDE) if wide else keys
    found, theirs = unique_pairs(made, numbers)
    assert theirs.tolist() == [number for _, number in sorted(set(pairs))]
    order = np.unique(keys)
    places = np.searchsorted(np.unique(made), found)
    assert order[places].tolist() == [key for key, _ in sorted(set(pairs))]
