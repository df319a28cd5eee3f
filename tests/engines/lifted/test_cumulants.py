"""Interpolated sums over a count against plain sums, and the bound that they keep."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand import arrays
from herbrand.arrays import Array
from herbrand.engines.lifted import count_elimination, cumulants
from herbrand.engines.lifted.cumulants import (
    Cumulant,
    differentiable_log_sums,
    error_bound,
    largest,
    log_sums,
)
from herbrand.errors import ContradictionError
from tests.engines.regions.monadic import theories
from tests.laws import tries
from tests.oracles.worlds import Universe

quick = settings(
    phases=[Phase.reuse, Phase.generate],
    deadline=None,
    max_examples=tries(15),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
PRECISION = np.finfo(float).eps


def plain(weights: np.ndarray, tilt: float) -> tuple[float, float]:
    """log Σ exp(weights[k] + tilt k) and the mean of k, term by term."""
    terms = [w + tilt * k for k, w in enumerate(weights)]
    largest = max(terms)
    shares = [math.exp(term - largest) for term in terms]
    total = math.fsum(shares)
    return largest + math.log(total), math.fsum(k * s for k, s in enumerate(shares)) / total


def rounding(weights: np.ndarray, tilt: float) -> float:
    """What float64 takes from a sum whose terms are this large."""
    finite = np.abs(weights[weights > -np.inf])
    return 16 * PRECISION * (1 + finite.max() + abs(tilt) * len(weights))


@st.composite
def weighted(draw: st.DrawFn) -> np.ndarray:
    """Binomial weights, bent, with two modes, with holes, or anything at all."""
    n = draw(st.integers(1, 300))
    k = np.arange(n + 1)
    binomial = np.array([math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in k])
    dice = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["binomial", "bent", "modes", "holes", "any", "ends"]))
    lean = draw(st.floats(-8, 8))
    if kind == "bent":
        return binomial + draw(st.floats(-0.1, 0.1)) * k * k + lean * k
    if kind == "modes":
        return np.logaddexp(binomial + lean * k, binomial - lean * k + draw(st.floats(-50, 50)))
    if kind == "holes":
        holes = dice.random(n + 1) < 0.7
        holes[int(dice.integers(n + 1))] = False
        return np.where(holes, -np.inf, binomial + lean * k)
    if kind == "any":
        return dice.normal(0, draw(st.sampled_from([0.1, 3.0, 200.0])), n + 1)
    if kind == "ends":
        return np.where((k == 0) | (k == n), lean, -np.inf)
    return binomial + lean * k


@quick
@given(weighted(), st.floats(-50, 50), st.sampled_from([0.01, 1.0, 30.0, 3000.0]), st.integers(0, 2**32))
def test_interpolation_keeps_its_bound(weights: np.ndarray, near: float, spread: float, seed: int) -> None:
    tilts = np.random.default_rng(seed).uniform(near - spread, near + spread, 100)
    cumulant = Cumulant.fitted(weights, tilts.min(), tilts.max())
    values, means = cumulant.at(tilts), cumulant.slope(tilts)
    assert len(cumulant.lows) <= 32 * len(weights) + 1
    for tilt, value, mean in zip(tilts, values, means, strict=True):
        expected, slope = plain(weights, tilt)
        assert abs(value - expected) <= error_bound() + rounding(weights, tilt)
        assert abs(mean - slope) <= len(weights) * (2e-12 + rounding(weights, tilt))


def test_tilts_by_thousands() -> None:
    """Only all or none can be; plain Python has no exponential of 3,000."""
    weights = np.full(100, -np.inf)
    weights[[0, -1]] = -1.2
    cumulant = Cumulant.fitted(weights, -3000.0, 3000.0)
    tilts = np.array([-2999.0, -0.5, 0.0, 0.5, 2999.0])
    expected = [plain(weights, tilt) for tilt in tilts]
    assert cumulant.at(tilts) == pytest.approx([value for value, _ in expected], rel=1e-13)
    assert cumulant.slope(tilts) == pytest.approx([slope for _, slope in expected], abs=1e-9)


@quick
@given(weighted(), st.sampled_from([0.1, 20.0]), st.integers(0, 2**32))
def test_gradients_are_those_of_the_sums(weights: np.ndarray, spread: float, seed: int) -> None:
    dice = np.random.default_rng(seed)
    tilts, gains = dice.uniform(-spread, spread, 60), dice.normal(size=60)
    cumulant = Cumulant.fitted(weights, tilts.min(), tilts.max())
    expected = np.zeros(len(weights))
    for tilt, gain in zip(tilts, gains, strict=True):
        total, _ = plain(weights, tilt)
        expected += [gain * math.exp(w + tilt * k - total) for k, w in enumerate(weights)]
    assert np.abs(cumulant.pulled_back(tilts, gains) - expected).max() < 1e-10


@pytest.mark.parametrize("count", [5, 500])
def test_one_by_one_and_in_pieces_are_the_same_function(count: int) -> None:
    dice = np.random.default_rng(0)
    weights, tilts = dice.normal(size=count), dice.normal(size=(20, 10))
    b, t = Array(weights).watch(), Array(tilts).watch()
    found = differentiable_log_sums(b, t)
    terms = weights + tilts[..., None] * np.arange(count)
    expected = np.logaddexp.reduce(terms, -1)
    assert np.allclose(found.numpy(), expected, rtol=1e-13, atol=1e-12)
    gains = dice.normal(size=(20, 10))
    by_weights, by_tilts = arrays.gradients((found * gains).sum(), [b, t])
    shares = np.exp(terms - expected[..., None])
    assert by_weights is not None and by_tilts is not None
    assert np.allclose(by_weights, (gains[..., None] * shares).sum((0, 1)), rtol=1e-10, atol=1e-9)
    assert np.allclose(by_tilts, gains * (shares @ np.arange(count)), rtol=1e-10, atol=1e-9)


def test_nothing_possible_stays_impossible() -> None:
    assert (log_sums(np.full(100, -np.inf), np.zeros(100)) == -np.inf).all()


@quick
@given(weighted(), st.integers(0, 2**32))
def test_the_largest_of_lines(weights: np.ndarray, seed: int) -> None:
    tilts = np.random.default_rng(seed).uniform(-20, 20, 50)
    b, t = (Array(array).watch() for array in (weights, tilts))
    found = largest(b, t)
    terms = weights + tilts[:, None] * np.arange(len(weights))
    np.testing.assert_allclose(found.detach().numpy(), terms.max(1), rtol=1e-13, atol=1e-10)
    by_weights, by_tilts = arrays.gradients(found.sum(), [b, t])
    assert by_weights is not None and by_tilts is not None
    assert by_weights.sum() == len(tilts)
    best = [terms[i, int(count)] for i, count in enumerate(by_tilts)]
    np.testing.assert_allclose(best, terms.max(1), rtol=1e-13, atol=1e-10)


@pytest.mark.parametrize("steps", [1, 2, 3, 10])
def test_tilts_that_differ_by_rounding_only(steps: int) -> None:
    """The middle of such a piece is one of its ends, and nothing may be extrapolated from there."""
    weights = np.array([-math.inf, -2.1, -5.6, -13.5])
    tilts = np.array([-0.4 - step * np.spacing(0.4) for step in range(steps, -1, -1)])
    cumulant = Cumulant.fitted(weights, tilts[0], tilts[-1])
    shares = np.exp(weights - 0.4 * np.arange(4))
    np.testing.assert_allclose(cumulant.at(tilts), math.log(shares.sum()), rtol=1e-14)
    np.testing.assert_allclose(cumulant.slope(tilts), shares @ np.arange(4) / shares.sum(), rtol=1e-13)


def test_the_bound_is_below_what_answers_promise() -> None:
    assert error_bound() < 1e-13


@settings(quick, max_examples=tries(12))
@given(theories(facts=True, predicates=3, constants=4, bent=True))
def test_summing_counts_out_first_changes_nothing(model: tuple[str, Universe]) -> None:
    """Every count that may be is summed out by its cumulant, in pieces, however small it is."""
    made = hb.Model(hb.parse(model[0]))
    try:
        expected = made.infer(engine="exact")
    except ContradictionError:
        with pytest.raises(ContradictionError):
            made.infer(engine="lifted")
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(count_elimination, "WORTH_IT", -1.0)
        patch.setattr(count_elimination, "FEW", 1)
        patch.setattr(count_elimination, "AN_ENTRY", 0.0)
        patch.setattr(cumulants, "FEW", 0)
        answer = made.infer(engine="lifted")
        likeliest = made.infer(engine="lifted", map=True)
    assert likeliest.log_weight == pytest.approx(made.infer(engine="exact", map=True).log_weight, abs=1e-9)
    assert answer.log_partition == pytest.approx(expected.log_partition, rel=1e-11, abs=1e-11)
    for ours, theirs in zip(answer.rows(), expected.rows(), strict=True):
        assert ours.probability == pytest.approx(theirs.probability, abs=1e-9), ours.atom


def test_three_clauses_over_large_types() -> None:
    """What is summed out first is the same as what the contraction makes of it."""
    constants = ", ".join(f'"{i}"' for i in range(90))
    text = "".join(f"type {t} = {{{constants}}}\n" for t in "abc")
    text += "predicate r(a)\npredicate s(b)\npredicate t(c)\n0.004: r(x) or s(y) or t(z)\n"
    text += '-0.01: r(x) or s(y)\n0.01: s(y) xor t(z)\n0.003: t(x) and t(y) where x != y\n0.4: s(x)\nr("3")\n'
    model = hb.Model(hb.parse(text + 't("5") ~ 0.8\nnot s("7")\n'))
    answer = model.infer(engine="lifted")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(count_elimination, "WORTH_IT", math.inf)
        expected = model.infer(engine="lifted")
    assert answer.log_partition == pytest.approx(expected.log_partition, rel=1e-13)
    for ours, theirs in zip(answer.rows(), expected.rows(), strict=True):
        assert ours.probability == pytest.approx(theirs.probability, abs=1e-11)
