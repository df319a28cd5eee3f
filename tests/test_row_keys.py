"""Rows as keys: the same order whether 64 bits number them or not, the same rows back."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.row_keys import (
    LARGEST_KEY,
    MANY,
    PARTED,
    STRIDE,
    Places,
    counted,
    each_in,
    first_missing,
    fit,
    key_columns,
    places_among,
    row_keys,
    stable_order,
    unique_rows,
    unique_sorted,
)
from tests.laws import tries

sizes_of = st.sampled_from(
    [(), (1,), (3,), (3, 2), (2**20,) * 3, (2**31,) * 2, (2**31 - 1,) * 3, (2**62, 3), (5, 0, 2), (256,) * 9]
)


@st.composite
def tables(draw, count=12):
    """Sizes of columns, and rows of the values at their edges."""
    sizes = draw(sizes_of)
    edges = [st.sampled_from([n for n in (0, 1, size // 2, size - 1) if n < size]) for size in sizes if size]
    rows = draw(st.lists(st.tuples(*edges), max_size=count)) if len(edges) == len(sizes) else []
    return sizes, rows


def as_columns(rows, sizes):
    return [np.array([row[place] for row in rows], np.int64) for place in range(len(sizes))]


@given(tables())
def test_keys_sort_as_rows_do_and_give_them_back(table):
    sizes, rows = table
    keys = row_keys(as_columns(rows, sizes), sizes, len(rows))
    assert len(keys) == len(rows)
    back = zip(*key_columns(np.unique(keys), sizes), strict=True) if sizes else [()] * len(np.unique(keys))
    assert [tuple(map(int, row)) for row in back] == sorted(set(rows))
    for one, its in zip(rows, keys, strict=True):
        for other, others in zip(rows, keys, strict=True):
            assert (one == other) == bool(its == others)


@given(st.sampled_from([(4,), (2, 3), (3, 1, 2), (2**31,) * 3]), st.sets(st.integers(0, 5), max_size=5))
def test_the_first_missing_key(sizes, listed):
    """Against the first number that is not listed, also where rows are too many to be numbered by 64 bits."""
    rows = [(*[0] * (len(sizes) - 1), n) for n in range(6)] if sizes[-1] > 6 else list(np.ndindex(*sizes))
    known = sorted(n for n in listed if n < len(rows) - 1)
    keys = row_keys(as_columns([rows[n] for n in known], sizes), sizes, len(known))
    found = key_columns(first_missing(keys, sizes), sizes)
    expected = next(row for n, row in enumerate(rows) if n not in known)
    assert [column.tolist() for column in found] == [[value] for value in expected]


@given(tables(), st.randoms(use_true_random=False))
def test_keys_made_apart_are_found_among_each_other(table, random):
    sizes, rows = table
    known = [row for row in rows if random.random() < 0.5]
    own = np.unique(row_keys(as_columns(known, sizes), sizes, len(known)))
    places = places_among(own, row_keys(as_columns(rows, sizes), sizes, len(rows)))
    order = sorted(set(known))
    assert places.tolist() == [order.index(row) if row in order else -1 for row in rows]


whole_numbers = st.one_of(
    st.integers(-3, 9), st.integers(-(2**63), 2**63 - 1), st.sampled_from([-(2**63), 2**63 - 1, 2**32])
)


@given(st.lists(whole_numbers), st.lists(whole_numbers))
def test_places_of_keys_in_any_order(known, wanted):
    places = Places(np.array(known, np.int64))
    firsts = [known[place] for place in places.like.tolist()]
    assert firsts == known
    assert len(set(places.like.tolist())) == len(set(known))
    found = places.of(np.array(known + wanted, np.int64)).tolist()
    assert found[: len(known)] == places.like.tolist()
    for key, place in zip(wanted, found[len(known) :], strict=True):
        assert place == -1 if key not in known else known[place] == key


@given(st.integers(0, 2**32), st.sampled_from([1, 3, 2**20 + 7, 2**40]))
def test_many_keys_are_found_as_few_are(seed, step):
    """Beyond the sizes at which keys are searched for one way or another."""
    draw = np.random.default_rng(seed)
    known = np.unique(draw.integers(-2 * MANY, 2 * MANY, 2 * MANY)) * step
    wanted = draw.integers(-3 * MANY, 3 * MANY, 2 * MANY) * step
    places = {int(key): place for place, key in enumerate(known)}
    assert places_among(known, wanted).tolist() == [places.get(int(key), -1) for key in wanted]


@given(st.integers(0, 2**32), st.sampled_from([1, 5, 2**16, 2**16 + 1, 2**33, 2**48, 2**60]))
def test_the_order_of_narrow_numbers(seed, size):
    """Columns of facts have 32 bits, in which a key and its place do not fit."""
    numbers = np.random.default_rng(seed).integers(0, min(size, 2**31 - 1), 200_000).astype(np.int32)
    assert (stable_order(numbers, size) == np.argsort(numbers, kind="stable")).all()


@given(
    st.integers(0, 2**32), st.sampled_from([1, 5, 2**16, 2**16 + 1, 2**18, 2**18 + 1, 2**33, 2**48, 2**60])
)
def test_stable_order(seed, size):
    numbers = np.random.default_rng(seed).integers(0, size, MANY + 3)
    numbers[1::3] = numbers[0]
    assert (stable_order(numbers, size) == np.argsort(numbers, kind="stable")).all()
    few = numbers[:20]
    assert (stable_order(few, size) == np.argsort(few, kind="stable")).all()


@given(
    st.integers(0, 2**32),
    st.sampled_from([1, 5, 2**20, 2**32, 2**32 + 1, 2**44, 2**60, LARGEST_KEY]),
    st.sampled_from(["random", "alike", "high", "nearly in order"]),
    st.sampled_from([MANY, PARTED + 3]),
)
@settings(deadline=None, max_examples=tries(40))
def test_many_keys_sorted_and_counted(seed, size, kind, count):
    """In parts or as a whole, or by merging runs: the order is right whatever was chosen."""
    draw = np.random.default_rng(seed)
    keys = draw.integers(0, size, count, dtype=np.int64)
    if kind == "high":
        keys = np.maximum(size - 1 - keys % 1000, 0)
    if kind == "alike":
        keys = np.where(draw.random(len(keys)) < 0.9, keys % 7, keys)
    if kind == "nearly in order":
        keys = np.sort(keys)
        keys[1:-1:STRIDE], keys[2::STRIDE] = keys[2::STRIDE], keys[1:-1:STRIDE].copy()
    expected, counts = np.unique(keys, return_counts=True)
    assert (unique_sorted(keys, [size]) == expected).all()
    for found, right in zip(counted(keys, [size]), (expected, counts), strict=True):
        assert (found == right).all()


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3)), max_size=9), st.integers(0, 3))
def test_each_place_of_ranges(ranges, most):
    starts = np.array([start for start, _ in ranges], np.int64)
    counts = np.array([min(count, most) for _, count in ranges], np.int64)
    numbers, places = each_in(starts, counts)
    expected = [(i, s + k) for i, (s, n) in enumerate(zip(starts, counts, strict=True)) for k in range(n)]
    assert list(zip(numbers, places, strict=True)) == expected


@given(tables())
def test_unique_rows(table):
    sizes, rows = table
    every = np.array(rows, np.int64).reshape(len(rows), len(sizes))
    unique, places = unique_rows(every, sizes)
    assert [tuple(row) for row in unique.tolist()] == sorted(set(rows))
    assert (unique[places] == every).all()


def test_at_the_limit():
    assert fit([]) and fit([0, 5]) and fit([2**62, 1]) and not fit([2**62, 2])
    sizes = [7, LARGEST_KEY // 7]
    assert fit(sizes)
    largest = row_keys([np.array([size - 1]) for size in sizes], sizes)
    assert largest.tolist() == [7 * (LARGEST_KEY // 7) - 1]
    assert row_keys([], [], 3).tolist() == [0, 0, 0]
