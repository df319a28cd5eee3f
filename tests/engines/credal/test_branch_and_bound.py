"""Optima beside corners of boxes: linear programs, products by branch and bound, and searches that fail."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.engines.credal import proved_linear
from herbrand.engines.credal.branch_and_bound import End, InfeasibleError, optimum
from herbrand.engines.credal.polynomial import Assembly, PolynomialProgram, tightened
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(25))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def box_of(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.sort(rng.random((count, 2)).round(3), axis=1)


def least_and_most(program: PolynomialProgram, variables: np.ndarray, factors: np.ndarray) -> tuple[End, End]:
    low, high = (optimum(program, variables, factors, least=end, seconds=20) for end in (True, False))
    return low, high


@quick
@given(seeds, st.integers(1, 4))
def test_over_a_box_a_linear_function_is_extreme_at_corners(rng: np.random.Generator, count: int) -> None:
    box, made = box_of(rng, count), Assembly()
    variables = made.variables(count, box[:, 0], box[:, 1])
    asked = np.concatenate([variables, variables[:1]])  # one of them twice
    factors = rng.normal(size=count + 1)
    values = [
        sum(f * corner[v] for f, v in zip(factors, asked, strict=True)) for corner in itertools.product(*box)
    ]
    low, high = least_and_most(made.program(), asked, factors)
    assert (low.bound, high.bound) == pytest.approx((min(values), max(values)))
    assert max(low.gap, high.gap) <= 1e-12
    assert low.bound <= min(values) + 1e-15 and high.bound >= max(values) - 1e-15


@quick
@given(seeds, st.integers(1, 3), st.integers(1, 3))
def test_over_distributions_with_one_event_bounded(rng: np.random.Generator, told: int, others: int) -> None:
    """The share of the event at one of its ends, all on the cheapest case inside and out; by hand."""
    low, high = np.sort(rng.random(2))
    costs = rng.normal(size=told + others)
    made = Assembly()
    p = made.variables(told + others, 0.0, 1.0)
    made.row(p, np.ones(told + others), 1.0, 1.0)
    made.row(p[:told], np.ones(told), low, high)
    inside, outside = costs[:told], costs[told:]
    ends = [share * inside.min() + (1 - share) * outside.min() for share in (low, high)]
    tops = [share * inside.max() + (1 - share) * outside.max() for share in (low, high)]
    found = least_and_most(made.program(), p, costs)
    assert [end.bound for end in found] == pytest.approx([min(ends), max(tops)])


def test_rows_that_cannot_hold_together() -> None:
    made = Assembly()
    p = made.variables(2, 0.0, 1.0)
    made.row(p, np.ones(2), 0.3, 0.4)
    made.row(p, np.ones(2), 0.5, math.inf)
    for least in (True, False):
        with pytest.raises(InfeasibleError):
            optimum(made.program(), p, np.ones(2), least=least, seconds=9)


@pytest.mark.parametrize("least", [True, False])
def test_what_has_no_end_has_no_bound(least: bool) -> None:
    """As where a condition may be as rare as one likes: the interval stays open at that end."""
    made = Assembly()
    x = made.variables(1, -math.inf, math.inf)
    found = optimum(made.program(), x, np.ones(1), least=least, seconds=9)
    assert found.bound == (-math.inf if least else math.inf)
    assert (found.value, found.proved, found.gap) == (None, False, 1.0)


def product_of(box: np.ndarray) -> tuple[PolynomialProgram, np.ndarray]:
    """x and y in a box, and w = x y."""
    made = Assembly()
    xy = made.variables(2, box[:, 0], box[:, 1])
    w = made.variables(1, -math.inf, math.inf)
    made.products(w, xy[:1], xy[1:])
    return made.program(), np.concatenate([xy, w])


@settings(quick, max_examples=tries(10))
@given(seeds)
def test_a_bilinear_function_is_extreme_at_corners(rng: np.random.Generator) -> None:
    box, factors = box_of(rng, 2), rng.normal(size=3).round(3)
    program, variables = product_of(box)
    assert len(program.products)
    values = [factors @ (x, y, x * y) for x, y in itertools.product(*box)]
    found = least_and_most(program, variables, factors)
    assert [end.bound for end in found] == pytest.approx([min(values), max(values)], abs=1e-5)
    assert all(end.gap <= 1e-5 and end.more is None for end in found)


def test_products_that_cannot_be() -> None:
    made = Assembly()
    x = made.variables(3, 0.0, 0.5)
    made.products(x[2:], x[:1], x[1:2])
    made.row(x[2:], np.ones(1), 0.3, 1.0)
    with pytest.raises(InfeasibleError):
        optimum(made.program(), x, np.ones(3), least=True, seconds=9)


def test_the_gap_that_is_left_is_told_and_comes_to_nothing() -> None:
    """x y + u v where x + u and y + v are 1: a search of several nodes."""
    made = Assembly()
    x, y, u, v = (made.variables(1, 0.05, 0.95) for _ in range(4))
    w = made.variables(2, 0.0, 1.0)
    made.products(w[:1], x, y)
    made.products(w[1:], u, v)
    made.row(np.concatenate([x, u, y]), np.array([1.0, 1.0, 0.3]), 1.0, 1.1)
    made.row(np.concatenate([y, v, u]), np.array([1.0, 1.0, -0.2]), 0.9, 1.0)
    gaps: list[float] = []
    found = optimum(made.program(), w, np.ones(2), least=False, seconds=20, watch=gaps.append)
    assert found.gap <= 1e-6
    assert all(gap >= 0 for gap in gaps)
    grid = np.linspace(0.05, 0.95, 19)
    xs, ys, us, vs = np.meshgrid(grid, grid, grid, grid)
    first, second = xs + us + 0.3 * ys, ys + vs - 0.2 * us
    allowed = (first >= 1) & (first <= 1.1) & (second >= 0.9) & (second <= 1)
    assert found.bound >= (xs * ys + us * vs)[allowed].max() - 1e-9


@quick
@given(seeds, st.integers(1, 5), st.integers(0, 4))
def test_rows_are_gathered_as_they_are_said(rng: np.random.Generator, count: int, rows: int) -> None:
    """A variable that stands in a row repeatedly counts with the sum of its factors."""
    made = Assembly()
    made.variables(count, 0.0, 1.0)
    said = [
        (rng.integers(0, count, 6), rng.integers(-2, 3, 6).astype(float), *np.sort(rng.random(2)))
        for _ in range(rows)
    ]
    for one in said:
        made.row(*one)
    program = made.program()
    point = rng.random(count)
    expected = [sum(f * point[v] for v, f in zip(vs, fs, strict=True)) for vs, fs, _, _ in said]
    assert (program.rows @ point).tolist() == pytest.approx(expected)
    assert program.row_lower.tolist() == [low for _, _, low, _ in said]
    assert program.row_upper.tolist() == [high for _, _, _, high in said]
    assert not len(program.products) and program.size == count


def halving_chain(count: int) -> PolynomialProgram:
    """Variables, each at most half of the one before: a round of propagation reaches one more of them."""
    made = Assembly()
    p = made.variables(count, 0.0, 1.0)
    made.row(p[:1], np.ones(1), 0.0, 0.5)
    for before, after in itertools.pairwise(p):
        made.row(np.array([after, before]), np.array([1.0, -0.5]), -math.inf, 0.0)
    return made.program()


def test_rounds_of_propagation_end_with_the_time() -> None:
    """A round over large tables takes 60 ms, so that thirty of them took longer than short time limits."""
    whole, cut = tightened(halving_chain(8)), tightened(halving_chain(8), until=time.monotonic())
    assert whole is not None and cut is not None
    assert whole.upper[7] == pytest.approx(2.0**-8)
    assert cut.upper[0] == pytest.approx(0.5) and cut.upper[7] == pytest.approx(0.5)


def test_nothing_is_solved_once_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def solved(*_: object) -> None:
        raise AssertionError("the solver was called")

    monkeypatch.setattr(proved_linear, "_solved", solved)
    program = halving_chain(3)
    end = optimum(program, np.arange(3), np.ones(3), least=False, seconds=-1.0)
    assert end.bound >= 0.875 and end.value is None and not end.proved
