"""Which counts are summed out first, beside loops over the tables; and the loops of cumulants one by one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.budget import UNLIMITED
from herbrand.engines.lifted import count_axes, count_elimination
from herbrand.engines.lifted import cumulant_kernels as kernels
from herbrand.engines.lifted.count_elimination import Structure
from herbrand.engines.lifted.cumulants import DEGREE, POINTS, SPAN, SPARE, TAIL, TURN, Cumulant, _hull
from herbrand.engines.lifted.polynomials import PolynomialShape
from herbrand.loops import compiled
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(40))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
NAMES = "abcd"


@st.composite
def structures(draw: st.DrawFn, large: bool = False) -> Structure:
    sizes = {name: float(draw(st.sampled_from([1, 70, 90] if large else [1, 2, 5]))) for name in NAMES}
    scopes = draw(st.lists(st.sets(st.sampled_from(NAMES), min_size=1, max_size=3), min_size=1, max_size=4))
    linear = {
        tuple(sorted(scope)): frozenset(draw(st.sets(st.sampled_from(sorted(scope))))) for scope in scopes
    }
    return Structure(sizes, linear)


@quick
@given(structures())
def test_neighbours_share_a_table(structure: Structure) -> None:
    for one in NAMES:
        expected = {
            other
            for other in NAMES
            if other != one and any({one, other} <= set(scope) for scope in structure.linear)
        }
        assert structure.neighbours(one) == tuple(sorted(expected))


@quick
@given(structures())
def test_lines_are_axes_that_every_table_inside_is_a_line_along(structure: Structure) -> None:
    for width in range(1, 4):
        for scope in itertools.combinations(NAMES, width):
            inside = [s for s in structure.linear if len(s) > 1 and set(s) <= set(scope)]
            expected = {
                name
                for name in scope
                if structure.sizes[name] > 1
                and all(name in structure.linear[other] for other in inside if name in other)
            }
            assert structure.lines(scope) == expected
            entries = math.prod(structure.sizes[name] for name in scope)
            assert structure.entries(scope) == entries
            lines = sorted(structure.sizes[name] for name in expected)
            assert structure.narrow(scope) == (entries / lines[-2] if len(lines) > 1 else math.inf)


@quick
@given(structures(large=True), st.sampled_from(["log", "maximum"]))
def test_what_is_summed_out_first_may_be(structure: Structure, algebra: str) -> None:
    """Each is a line of all its tables, no two share one, and the whole gets no dearer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(count_elimination, "WORTH_IT", 0.0)
        found = structure.cheapest(algebra)
    for axis in found.summed:
        assert structure.sizes[axis] > 64 and structure.neighbours(axis)
        assert all(axis in lines for s, lines in structure.linear.items() if axis in s and len(s) > 1)
    for one, other in itertools.combinations(found.summed, 2):
        assert not any({one, other} <= set(scope) for scope in structure.linear)
    assert found.operations <= structure._planned((), algebra, UNLIMITED).operations
    assert found.entries == sum(structure.entries(structure.neighbours(axis)) for axis in found.summed)


def test_few_operations_are_left_as_they_are() -> None:
    structure = Structure({"a": 70.0, "b": 70.0}, {("a", "b"): frozenset("ab")})
    assert structure.cheapest("log").summed == ()


def test_a_bent_table_is_not_summed_out() -> None:
    sizes = {"a": 1001.0, "b": 1001.0, "c": 1001.0}
    bent = Structure(sizes, {("a", "b", "c"): frozenset()}).cheapest("log")
    assert bent.summed == ()
    half = Structure(sizes, {("a", "b", "c"): frozenset("b")}).cheapest("log")
    assert half.summed == ("b",) and half.operations < bent.operations
    own = Structure(sizes, {("a", "b", "c"): frozenset("b"), ("b",): frozenset()}).cheapest("log")
    assert own.summed == ("b",), "a table over one axis alone is no hindrance"


def test_what_no_machine_holds_is_told_as_endless() -> None:
    sizes = dict.fromkeys(NAMES, 1e6)
    found = Structure(sizes, {tuple(NAMES): frozenset()}).cheapest("log")
    assert found.operations == math.inf and found.bytes == math.inf


# The loops of cumulants


def drawn(rng: np.random.Generator, count: int) -> np.ndarray:
    weights = rng.normal(0, rng.choice([0.5, 20.0]), count)
    weights[rng.random(count) < 0.2] = -math.inf
    weights[int(rng.integers(count))] = 0.0
    return weights


@quick
@given(seeds, st.integers(1, 20), st.floats(-5, 5))
def test_sums_over_a_window(rng: np.random.Generator, count: int, tilt: float) -> None:
    weights = drawn(rng, count)
    low = int(rng.integers(count))
    high = int(rng.integers(low, count))
    terms = [weights[k] + tilt * k for k in range(low, high + 1)]
    for run in (compiled(kernels.log_sum), kernels.log_sum):
        total, mean = run(weights, tilt, low, high)
        if max(terms) == -math.inf:
            assert (total, mean) == (-math.inf, 0.0)
            continue
        shares = [math.exp(term - max(terms)) for term in terms]
        assert total == pytest.approx(max(terms) + math.log(math.fsum(shares)))
        expected = math.fsum(k * s for k, s in zip(range(low, high + 1), shares, strict=True))
        assert mean == pytest.approx(expected / math.fsum(shares), abs=1e-9)


@quick
@given(seeds, st.integers(1, 30), st.floats(-5, 5), st.sampled_from([1e-14, 1e-3, 0.2]))
def test_at_most_a_tail_lies_outside_of_quantiles(
    rng: np.random.Generator, count: int, tilt: float, tail: float
) -> None:
    """And no narrower window has so little outside."""
    weights = drawn(rng, count)
    shares = np.exp(weights + tilt * np.arange(count) - (weights + tilt * np.arange(count)).max())
    shares /= shares.sum()
    for run in (compiled(kernels.quantiles), kernels.quantiles):
        first, last = run(weights, tilt, 0, tail)
        assert 0 <= first <= last < count
        assert shares[:first].sum() <= tail * (1 + 1e-9) + 1e-15
        assert shares[last + 1 :].sum() <= tail * (1 + 1e-9) + 1e-15
        assert shares[: first + 1].sum() > tail * (1 - 1e-9) - 1e-15
        assert shares[last:].sum() > tail * (1 - 1e-9) - 1e-15


@quick
@given(seeds, st.integers(2, 60), st.floats(-8, 8), st.sampled_from([0.1, 5.0, 40.0]))
def test_pieces_cover_all_tilts_and_keep_their_span(
    rng: np.random.Generator, count: int, least: float, spread: float
) -> None:
    """Half a piece's length times its window's width is at most the span; the window holds what matters."""
    weights = drawn(rng, count)
    for run in (compiled(kernels.pieces), kernels.pieces):
        edges, lows, highs = run(weights, least, least + spread, TAIL, SPAN)
        assert edges[0] == least and edges[-1] >= least + spread
        assert (np.diff(edges) > 0).all() and len(edges) == len(lows) + 1 == len(highs) + 1
        for p, (low, high) in enumerate(zip(lows, highs, strict=True)):
            half = (edges[p + 1] - edges[p]) / 2
            assert half * (high - low) <= SPAN * (1 + 1e-9) or half <= np.spacing(abs(edges[p]) + 1)
            for tilt in (edges[p], (edges[p] + edges[p + 1]) / 2, edges[p + 1]):
                logs = weights + tilt * np.arange(count)
                shares = np.exp(logs - logs.max())
                outside = shares[:low].sum() + shares[high + 1 :].sum()
                assert outside <= 2 * TAIL * shares.sum() * (1 + 1e-6) + 1e-300


def test_a_count_is_alone_until_others_matter() -> None:
    weights = np.array([0.0, -10.0, -40.0])
    for run in (compiled(kernels._alone_until), kernels._alone_until):
        until = run(weights, 0, 1e-6)
        least = math.log(1e-6 / 2)
        assert until == pytest.approx(min(least + 10.0, (least + 40.0) / 2))
        assert run(np.array([0.0]), 0, 1e-6) == math.inf
        assert run(np.array([0.0, -math.inf]), 0, 1e-6) == math.inf


def test_the_piece_of_a_tilt_whatever_the_guess() -> None:
    edges = np.array([-2.0, -0.5, 0.0, 0.25, 3.0])
    for run in (compiled(kernels._piece), kernels._piece):
        for tilt, guess in itertools.product(np.linspace(-2, 3, 41), range(4)):
            found = run(edges, tilt, guess)
            assert edges[found] <= tilt <= edges[found + 1]
        assert run(edges, 5.0, 0) == 3 and run(edges, -9.0, 3) == 0


def test_where_a_tilt_is_in_its_piece() -> None:
    edges = np.array([1.0, 3.0, np.nextafter(3.0, 4.0)])
    for run in (compiled(kernels._place), kernels._place):
        assert [run(edges, t, 0) for t in (1.0, 2.0, 2.5, 3.0)] == [-1.0, 0.0, 0.5, 1.0]
        assert run(edges, 7.0, 0) == 1.0 and run(edges, 0.0, 0) == -1.0
        assert -1.0 <= run(edges, 3.0, 1) <= 1.0
    for run in (compiled(kernels._anchor), kernels._anchor):
        assert run(np.array([1.0, 3.0]), 0) == 1.0
        assert run(np.array([-3.0, -1.0]), 0) == -1.0
        assert run(np.array([-3.0, 2.0]), 0) == 0.0


@quick
@given(seeds, st.floats(-1, 1))
def test_chebyshev_sums(rng: np.random.Generator, x: float) -> None:
    """And from values at the points back to coefficients."""
    coefficients = rng.normal(size=DEGREE + 1)
    for run in (compiled(kernels._clenshaw), kernels._clenshaw):
        for needed in (1, 2, 7, DEGREE + 1):
            expected = np.polynomial.chebyshev.chebval(x, coefficients[:needed])
            assert run(coefficients, needed, x) == pytest.approx(expected, abs=1e-10)
    values = np.polynomial.chebyshev.chebval(POINTS, coefficients)
    assert (TURN @ values).tolist() == pytest.approx(coefficients.tolist(), abs=1e-10)


@settings(quick, max_examples=4)
@given(seeds, st.integers(2, 24))
def test_fits_as_written_are_the_compiled_ones(rng: np.random.Generator, count: int) -> None:
    weights = drawn(rng, count)
    edges, lows, highs = kernels.pieces(weights, -1.0, 1.0, TAIL, SPAN)
    fits = [
        run(weights, edges, lows, highs, POINTS, TURN, SPARE)
        for run in (compiled(kernels.fitted), kernels.fitted)
    ]
    for one, other in zip(fits[0][:3], fits[1][:3], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    tilts = rng.uniform(-1, 1, 25)
    cumulant = Cumulant.fitted(weights, -1.0, 1.0)
    pieces = (cumulant.edges, cumulant.lows, cumulant.highs)
    written = kernels.evaluated(tilts, *pieces, cumulant.offsets, cumulant.values, cumulant.needed)
    assert written.tolist() == pytest.approx(cumulant.at(tilts).tolist(), abs=1e-13)
    slopes = kernels.sloped(tilts, *pieces, cumulant.slopes)
    assert slopes.tolist() == pytest.approx(cumulant.slope(tilts).tolist(), abs=1e-11)
    gains = rng.normal(size=25)
    back = kernels.pulled_back(tilts, gains, weights, *pieces, POINTS, TURN)
    assert back.tolist() == pytest.approx(cumulant.pulled_back(tilts, gains).tolist(), abs=1e-10)
    one_by_one, means = kernels.summed_one_by_one(tilts, weights)
    assert one_by_one.tolist() == pytest.approx(cumulant.at(tilts).tolist(), abs=1e-10)
    assert means.tolist() == pytest.approx(cumulant.slope(tilts).tolist(), abs=1e-7)
    again = kernels.pulled_back_one_by_one(tilts, gains, weights, one_by_one)
    assert again.tolist() == pytest.approx(back.tolist(), abs=1e-9)


@quick
@given(seeds, st.integers(1, 30))
def test_the_best_counts_by_tilt_are_the_corners_of_a_hull(rng: np.random.Generator, count: int) -> None:
    weights = drawn(rng, count)
    corners, turns = _hull(weights)
    assert (np.diff(corners) > 0).all() and (np.diff(turns) > 0).all() and len(turns) == len(corners) - 1
    for tilt in rng.uniform(-30, 30, 20):
        best = corners[np.searchsorted(turns, tilt)]
        expected = (weights + tilt * np.arange(count)).max()
        assert weights[best] + tilt * best == pytest.approx(expected, abs=1e-9)
    for tilt, (one, other) in zip(turns, itertools.pairwise(corners), strict=True):
        assert weights[one] + tilt * one == pytest.approx(weights[other] + tilt * other, abs=1e-9)


def test_a_table_is_measured_again_where_a_neighbour_went(monkeypatch: pytest.MonkeyPatch) -> None:
    """All were measured before each step: a chain of 2,000 facts took 42 s."""
    shape_of, measured = count_axes.shape_of_product, []

    def counted(shapes: Iterable[PolynomialShape]) -> PolynomialShape:
        measured.append(shapes := list(shapes))
        return shape_of(shapes)

    monkeypatch.setattr(count_axes, "shape_of_product", counted)
    facts = {"next": [(f"s{n}", f"s{n + 1}") for n in range(60)]}
    theory = hb.parse('0.7: next(x, y) and s(x) => s(y)\n2: s("s0")')
    answer = hb.Model(theory, facts).infer(engine="lifted")
    assert 0 < len(measured) < 4 * 60
    assert answer.log_partition == pytest.approx(hb.Model(theory, facts).infer(engine="exact").log_partition)
