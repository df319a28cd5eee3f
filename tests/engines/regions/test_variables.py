"""Counts of elements beside the elements themselves, one by one: ways, choices, and random draws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.engines.regions.tables import along, drawn, normalised, spread, summed, times
from herbrand.engines.regions.variables import RegionVariable
from tests.laws import tries
from tests.oracles.belief import log_sum

quick = settings(deadline=None, max_examples=tries(40))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def vector(profiles: tuple[int, ...], kinds: int) -> tuple[int, ...]:
    return tuple(profiles.count(kind) for kind in range(kinds))


@quick
@given(seeds, st.integers(1, 4), st.integers(1, 3), st.booleans())
def test_all_ways_to_have_counts(rng: np.random.Generator, taken: int, kinds: int, barred: bool) -> None:
    weights = rng.normal(size=kinds)
    if barred:
        weights[int(rng.integers(kinds))] = -math.inf
    variable = RegionVariable(5, weights)
    found = dict(zip(map(tuple, variable.counts(taken).tolist()), variable.prior(taken), strict=True))
    assert len(found) == variable.rows(taken)
    expected: dict[tuple[int, ...], list[float]] = {}
    for profiles in itertools.product(range(kinds), repeat=taken):
        expected.setdefault(vector(profiles, kinds), []).append(sum(weights[k] for k in profiles))
    assert found == pytest.approx({counts: log_sum(terms) for counts, terms in expected.items()}, abs=1e-9)


@quick
@given(st.integers(1, 5), st.integers(1, 3), st.data())
def test_choices_and_draws_of_a_few(many: int, kinds: int, data: st.DataObject) -> None:
    """Of elements with these counts, how many subsets have those; each subset is as likely to be drawn."""
    few = data.draw(st.integers(1, many))
    variable = RegionVariable(many, np.zeros(kinds))
    table, chances = variable.choices(many, few), variable.chances(many, few)
    columns = list(map(tuple, variable.counts(few).tolist()))
    for row, counts in enumerate(variable.counts(many).astype(int).tolist()):
        elements = [kind for kind, count in enumerate(counts) for _ in range(count)]
        told = [vector(subset, kinds) for subset in itertools.combinations(elements, few)]
        for column, inside in enumerate(columns):
            number = sum(one == inside for one in told)
            assert table[row, column] == number
            assert math.exp(chances[row, column]) == pytest.approx(number / math.comb(many, few))


def test_elements_that_go_together_are_one_of_whatever_they_can_be() -> None:
    listed = np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([0.5, -1.0])
    variable = RegionVariable(2, None, listed)
    assert (len(variable), variable.elements, variable.all_profiles) == (2, 1, 2)
    assert variable.all_counts.tolist() == listed[0].tolist()
    assert variable.by_count(np.array([0.1, 0.2])).tolist() == [0.1, 0.2, -math.inf]


@quick
@given(seeds, st.integers(1, 3))
def test_what_is_said_of_a_few_is_said_of_each_choice(rng: np.random.Generator, few: int) -> None:
    """A table over one variable's few elements and all of another's, summed over all subsets."""
    many, kinds = 4, 2
    variable = RegionVariable(many, np.zeros(kinds))
    table = rng.normal(size=(few + 1, 3))
    table[rng.random(table.shape) < 0.2] = -math.inf
    found = spread(table, [variable.choices(many, few), None])
    columns = list(map(tuple, variable.counts(few).astype(int).tolist()))
    for row, counts in enumerate(variable.counts(many).astype(int).tolist()):
        elements = [kind for kind, count in enumerate(counts) for _ in range(count)]
        for other in range(3):
            terms = [
                table[columns.index(vector(subset, kinds)), other]
                for subset in itertools.combinations(elements, few)
            ]
            total = -math.inf if -math.inf in terms else math.fsum(terms)
            assert found[row, other] == pytest.approx(total)


@quick
@given(seeds, st.integers(1, 4))
def test_what_is_believed_of_many_is_believed_of_a_few_drawn(rng: np.random.Generator, few: int) -> None:
    many, kinds = 4, 2
    variable = RegionVariable(many, np.zeros(kinds))
    believed = rng.dirichlet(np.ones(variable.rows(many) * 2)).reshape(-1, 2)
    found = np.exp(drawn(np.log(believed), [variable.chances(many, few), None]))
    expected = np.zeros((variable.rows(few), 2))
    columns = list(map(tuple, variable.counts(few).astype(int).tolist()))
    for row, counts in enumerate(variable.counts(many).astype(int).tolist()):
        elements = [kind for kind, count in enumerate(counts) for _ in range(count)]
        subsets = list(itertools.combinations(elements, few))
        for subset in subsets:
            expected[columns.index(vector(subset, kinds))] += believed[row] / len(subsets)
    assert found == pytest.approx(expected)


@quick
@given(seeds, st.sampled_from([(), (0,), (1,), (0, 2), (0, 1, 2)]))
def test_sums_in_logarithms(rng: np.random.Generator, axes: tuple[int, ...]) -> None:
    """Also of what is impossible, and of numbers whose exponentials no float holds."""
    table = rng.normal(size=(2, 3, 2)) * rng.choice([1.0, 500.0])
    table[rng.random(table.shape) < 0.4] = -math.inf
    found = summed(table, axes)
    kept = [axis for axis in range(3) if axis not in axes]
    for place in itertools.product(*(range(table.shape[axis]) for axis in kept)):
        at = dict(zip(kept, place, strict=True))
        entries = table[tuple(at.get(axis, slice(None)) for axis in range(3))]
        assert found[place] == pytest.approx(log_sum(np.ravel(entries).tolist()))
    shares = np.exp(normalised(table))
    if (table > -math.inf).any():
        assert shares.sum() == pytest.approx(1.0)
    else:
        assert np.isnan(shares).all()


def test_a_table_is_seen_over_more_variables() -> None:
    table = np.arange(6.0).reshape(2, 3)
    assert along(table, (1, 4), (0, 1, 3, 4)).shape == (1, 2, 1, 3)
    assert (along(table, (1, 4), (1, 4)) == table).all()


def test_a_message_counts_as_often_as_elements_have_the_profile() -> None:
    counts = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
    assert times(counts, np.array([0.5, -math.inf])).tolist() == [1.0, -math.inf, -math.inf]
    assert times(counts, np.array([0.5, -2.0])).tolist() == [1.0, -1.5, -4.0]
