"""Rows as keys: the same order, whether they fit into 63 bits or not."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from herbrand.facts.keys import RowKeys, unique_pairs, unique_sorted

sizes_of = st.sampled_from(
    [(), (1,), (3,), (3, 2), (2**20,) * 3, (2**31 - 1,) * 3, (5, 2**31 - 1, 2**31 - 1)]
)


@given(st.data())
def test_sorting_keys_sorts_rows(data):
    sizes = data.draw(sizes_of)
    edges = [st.sampled_from([0, 1, size // 2, size - 1]).filter(lambda i, s=size: i < s) for size in sizes]
    rows = data.draw(st.lists(st.tuples(*edges), max_size=12))
    columns = [np.array(column, np.int32) for column in zip(*rows, strict=True)]
    columns = columns or [np.empty(0, np.int32)] * len(sizes)
    keys = RowKeys.of(columns, sizes, len(rows))
    found = keys.rows(unique_sorted(keys.values))
    assert [tuple(row) for row in found.tolist()] == sorted(set(rows))
    assert found.shape == (len(set(rows)), len(sizes)) and found.dtype == np.int32
    assert [tuple(row) for row in keys.rows(keys.values).tolist()] == rows


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.5, 1.0, 2.0]))))
def test_pairs(pairs):
    keys = np.array([key for key, _ in pairs], np.int64)
    numbers = np.array([number for _, number in pairs])
    found = zip(*unique_pairs(keys, numbers), strict=True)
    assert [(int(key), float(number)) for key, number in found] == sorted(set(pairs))
