"""Row keys, each once, alone or with a number."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from herbrand.row_keys import counted, key_columns, row_keys, unique_pairs, unique_sorted

WIDE = [2**31] * 3


@given(st.lists(st.integers(0, 3)), st.sampled_from([4, 2**32, 2**40]))
def test_each_once(keys, size):
    column = np.array(keys, np.int64) * (size // 4)
    expected = sorted(set(column.tolist()))
    assert unique_sorted(column, [size]).tolist() == expected
    found, counts = counted(column, [size])
    assert found.tolist() == expected
    assert counts.tolist() == [column.tolist().count(key) for key in expected]
    assert found.dtype == counts.dtype == np.int64


@given(st.lists(st.integers(0, 3)))
def test_each_once_of_bytes(keys):
    column = np.array(keys, np.int64)
    wide = row_keys([column, column, column], WIDE)
    assert key_columns(unique_sorted(wide, WIDE), WIDE)[2].tolist() == sorted(set(keys))
    found, counts = counted(wide, WIDE)
    assert key_columns(found, WIDE)[0].tolist() == sorted(set(keys))
    assert counts.tolist() == [keys.count(key) for key in sorted(set(keys))]


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
