"""Tables over counts beside every way to give each element a profile."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.arrays import Array, gradients
from herbrand.contraction.algebra import algebra_named
from herbrand.engines.lifted.polynomials import (
    Polynomial,
    PolynomialShape,
    compositions,
    cropped,
    log_ways,
    multiplied,
    of_equals,
    of_rows,
    summed_out,
    times_counts,
)
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(40))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
LOG, MOST = algebra_named("log"), algebra_named("maximum")
Counted = dict[tuple[int, ...], float]


def weights_of(rng: np.random.Generator, *shape: int, impossible: float = 0.2) -> Array:
    table = rng.normal(size=shape)
    table[rng.random(shape) < impossible] = -math.inf
    return Array(table)


def added(terms: Sequence[float], algebra: object) -> float:
    largest = max(terms, default=-math.inf)
    if largest == -math.inf or algebra is MOST:
        return largest
    return largest + math.log(sum(math.exp(term - largest) for term in terms))


def by_counts(elements: Sequence[Sequence[float]], algebra: object) -> Counted:
    """Log-weights of each element's profiles; the sum, or the best, for each number of elements a profile."""
    found: dict[tuple[int, ...], list[float]] = {}
    profiles = len(elements[0])
    for chosen in itertools.product(range(profiles), repeat=len(elements)):
        counts = tuple(chosen.count(profile) for profile in range(profiles))
        weight = sum(row[profile] for row, profile in zip(elements, chosen, strict=True))
        found.setdefault(counts, []).append(weight)
    return {counts: added(terms, algebra) for counts, terms in found.items()}


def assert_table(table: Array, expected: Counted) -> None:
    """A table over the counts of all profiles but the first; what is not in it is impossible."""
    for counts, weight in expected.items():
        inside = all(count < size for count, size in zip(counts[1:], table.shape, strict=True))
        found = float(table[counts[1:]]) if inside else -math.inf
        assert found == pytest.approx(weight, abs=1e-9)
    possible = {counts[1:] for counts, weight in expected.items() if weight > -math.inf}
    assert {tuple(place) for place in (table > -math.inf).nonzero().tolist()} == possible


@pytest.mark.parametrize(("total", "parts"), [(0, 1), (0, 3), (5, 1), (4, 2), (3, 4)])
def test_all_compositions_once(total: int, parts: int) -> None:
    rows = [tuple(row) for row in compositions(total, parts).tolist()]
    every = [row for row in itertools.product(range(total + 1), repeat=parts) if sum(row) == total]
    assert sorted(rows) == sorted(every) and len(set(rows)) == len(rows)
    ways = [
        math.factorial(total) // math.prod(map(math.factorial, row))
        for row in compositions(total, parts).tolist()
    ]
    assert log_ways(total, parts).exp().tolist() == pytest.approx(ways)
    with pytest.raises(ValueError, match="read-only"):
        compositions(total, parts)[0] = 7


@quick
@given(seeds, st.integers(0, 4), st.integers(1, 3), st.sampled_from([LOG, MOST]))
def test_alike_elements(rng: np.random.Generator, count: int, profiles: int, algebra: object) -> None:
    weights = weights_of(rng, profiles)
    nothing = {(0,) * profiles: 0.0}
    expected = by_counts([weights.tolist()] * count, algebra) if count else nothing
    rows = of_rows(weights, count, algebra)
    listed = {tuple(c): float(w) for c, w in zip(compositions(count, profiles).tolist(), rows, strict=True)}
    assert listed == pytest.approx(expected, abs=1e-9)
    if (weights > -math.inf).any():
        assert_table(of_equals(weights, count, algebra), expected)


def test_nothing_possible_is_a_table_of_nothing() -> None:
    table = of_equals(Array(np.full((2, 3), -math.inf)), 4, LOG)
    assert table.shape == (2, 1, 1) and (table == -math.inf).all()


@quick
@given(seeds, st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.sampled_from([LOG, MOST]))
def test_bunches_of_one_pool_put_together(
    rng: np.random.Generator, few: int, more: int, profiles: int, algebra: object
) -> None:
    """Elements with other weights: convolved, as if all had been enumerated."""
    one, other = weights_of(rng, profiles, impossible=0.1), weights_of(rng, profiles, impossible=0.1)
    pools, axes = (4,), (profiles - 1,)
    left = Polynomial((), pools, axes, of_equals(one, few, algebra))
    right = Polynomial((), pools, axes, of_equals(other, more, algebra))
    found = multiplied(left, right, algebra)
    assert (found.hubs, found.pools, found.axes) == ((), pools, axes)
    expected = by_counts([one.tolist()] * few + [other.tolist()] * more, algebra)
    assert_table(found.table, expected)


@quick
@given(seeds, st.integers(1, 3), st.integers(1, 3), st.sampled_from([LOG, MOST]))
def test_hubs_agree_and_other_pools_stay_apart(
    rng: np.random.Generator, few: int, more: int, algebra: object
) -> None:
    """Two bunches of different pools that share one of their hubs."""
    one, other = weights_of(rng, 2, 3, 2), weights_of(rng, 3, 2)
    left = Polynomial((0, 2), (0,), (1,), of_equals(one, few, algebra))
    right = Polynomial((2,), (1,), (1,), of_equals(other, more, algebra))
    found = multiplied(left, right, algebra)
    assert (found.hubs, found.pools, found.counts) == ((0, 2), (0, 1), tuple(found.table.shape[2:]))
    for state, shared in itertools.product(range(2), range(3)):
        a = by_counts([one[state, shared].tolist()] * few, algebra)
        b = by_counts([other[shared].tolist()] * more, algebra)
        for (first, x), (second, y) in itertools.product(a.items(), b.items()):
            inside = first[1] < found.counts[0] and second[1] < found.counts[1]
            value = float(found.table[state, shared, first[1], second[1]]) if inside else -math.inf
            assert value == pytest.approx(x + y, abs=1e-9)


@quick
@given(seeds, st.sampled_from([LOG, MOST]))
def test_slopes_of_what_is_put_together(rng: np.random.Generator, algebra: Any) -> None:
    """Beside the same sum written out entry by entry: each pair's share of the result that it is added to."""
    shapes = [(2, *rng.integers(1, 4, 2).tolist()), (1, *rng.integers(1, 4, 2).tolist())]
    left, right = (weights_of(rng, *shape).watch() for shape in shapes)
    found = multiplied(Polynomial((0,), (0,), (2,), left), Polynomial((0,), (0,), (2,), right), algebra).table
    slope = rng.normal(size=found.shape)
    pulled = gradients(
        (found.masked_fill(found.detach() == -math.inf, 0.0) * Array(slope)).sum(), [left, right]
    )
    expected = [np.zeros(left.shape), np.zeros(right.shape)]
    for hub, *counts in np.ndindex(*found.shape):
        total = found.data[(hub, *counts)]
        for one in np.ndindex(*left.shape[1:]):
            other = tuple(count - own for count, own in zip(counts, one, strict=True))
            if total == -math.inf or not all(0 <= o < s for o, s in zip(other, right.shape[1:], strict=True)):
                continue
            joint = left.data[(hub, *one)] + right.data[(0, *other)]
            share = math.exp(joint - total) if algebra is LOG else float(joint == total)
            expected[0][(hub, *one)] += share * slope[(hub, *counts)]
            expected[1][(0, *other)] += share * slope[(hub, *counts)]
    for one, other in zip(pulled, expected, strict=True):
        assert (np.zeros(other.shape) if one is None else one) == pytest.approx(other)


@quick
@given(seeds, st.integers(1, 3), st.sampled_from([LOG, MOST]), st.permutations([0, 1, 1]))
def test_a_hub_is_counted_in_the_profile_of_its_state(
    rng: np.random.Generator, count: int, algebra: object, profile_of: list[int]
) -> None:
    weights = weights_of(rng, 3, 2, impossible=0.1)
    table = of_equals(weights, count, algebra)
    found = summed_out(Polynomial((7,), (0,), (1,), table), 7, 0, profile_of, algebra)
    assert found.hubs == ()
    terms: dict[tuple[int, ...], list[float]] = {}
    for state, profile in enumerate(profile_of):
        for counts, weight in by_counts([weights[state].tolist()] * count, algebra).items():
            raised = (counts[0] + (profile == 0), counts[1] + (profile == 1))
            terms.setdefault(raised, []).append(weight)
    assert_table(found.table, {counts: added(its, algebra) for counts, its in terms.items()})


@quick
@given(seeds, st.sampled_from([LOG, MOST]), st.permutations([0, 1, 1, 2]))
def test_the_derivatives_of_a_hub_that_is_summed_out(
    rng: np.random.Generator, algebra: object, profile_of: list[int]
) -> None:
    table = weights_of(rng, 4, 2, 3).watch()
    found = summed_out(Polynomial((7,), (0,), (2,), table), 7, 0, profile_of, algebra).table
    slope = rng.normal(size=found.shape)
    finite = found.masked_fill(found.detach() == -math.inf, 0.0)
    (pulled,) = gradients((finite * Array(slope)).sum(), [table])
    expected = np.zeros(table.shape)
    for state, one, two in np.ndindex(*table.shape):
        weight = table.data[state, one, two]
        place = (one + (profile_of[state] == 1), two + (profile_of[state] == 2))
        if weight > -math.inf:
            total = found.data[place]
            share = math.exp(weight - total) if algebra is LOG else float(weight == total)
            expected[state, one, two] = share * slope[place]
    assert (np.zeros(table.shape) if pulled is None else pulled) == pytest.approx(expected)


def test_summing_a_hub_out_takes_about_the_room_of_its_table() -> None:
    """Not a table for each profile: one element in one of 18 profiles has two to the 17 counts."""
    profiles = 18
    table = Array(np.zeros((profiles, *[1] * (profiles - 1))))
    hub = Polynomial((7,), (0,), (profiles - 1,), table)
    tracemalloc.start()
    found = summed_out(hub, 7, 0, list(range(profiles)), LOG).table
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.data.nbytes == 8 * 2**17
    assert most < 3 * found.data.nbytes


@quick
@given(seeds)
def test_cropping_leaves_out_only_what_is_impossible(rng: np.random.Generator) -> None:
    table = weights_of(rng, 2, 4, 3, impossible=0.8)
    found = cropped(table, 1)
    padded = np.full(table.shape, -math.inf)
    padded[:, : found.shape[1], : found.shape[2]] = found.numpy()
    assert np.array_equal(padded, table.numpy())
    if (table > -math.inf).any():
        assert (found[:, -1, :] > -math.inf).any() and (found[:, :, -1] > -math.inf).any()
    else:
        assert found.shape == (2, 1, 1)


def test_a_count_of_none_of_what_is_impossible_is_possible() -> None:
    """0 times minus infinity is 0."""
    counts = Array(np.array([[2.0, 0.0], [1.0, 1.0]]))
    weights = Array(np.array([0.5, -math.inf]))
    assert times_counts(counts, weights).tolist() == [1.0, -math.inf]


def test_a_size_beyond_all_floats_is_endless_and_no_error() -> None:
    """Pools of elements with thousands of profiles are refused by their size."""
    assert PolynomialShape(frozenset(), {0: (2,) * 1600}).size([]) == math.inf
