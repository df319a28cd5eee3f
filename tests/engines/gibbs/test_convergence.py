"""What chains tell of their error beside the textbook's formulas, draw by draw."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.engines.gibbs.convergence import convergence, effective_samples, split_r_hat
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(60))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def draws(rng: np.random.Generator, chains: int, batches: int, batch: int) -> np.ndarray:
    """Zeros and ones, some chains leaning."""
    lean = rng.uniform(0.05, 0.95, chains) if rng.random() < 0.5 else np.full(chains, rng.uniform(0.05, 0.95))
    return (rng.random((chains, batches, batch)) < lean[:, None, None]).astype(int)


@quick
@given(seeds, st.integers(2, 4), st.integers(1, 4), st.integers(2, 30))
def test_r_hat_is_that_of_halves_of_chains(
    rng: np.random.Generator, chains: int, halves: int, batch: int
) -> None:
    """Gelman and Rubin's: within, the mean variance of a half; between, the variance of their means."""
    batches = 2 * halves
    drawn = draws(rng, chains, batches, batch)
    parts = drawn.reshape(2 * chains, halves * batch)
    length = parts.shape[1]
    within = parts.var(axis=1, ddof=1).mean()
    between = parts.mean(axis=1).var(ddof=1)
    pooled = (length - 1) / length * within + between
    found = float(split_r_hat(drawn.sum(axis=2)[..., None], batch)[0])
    if within == 0:
        assert found == (1.0 if between == 0 else math.inf)
    else:
        assert found == pytest.approx(math.sqrt(pooled / within))


@quick
@given(seeds, st.integers(1, 4), st.integers(2, 6), st.integers(2, 30))
def test_the_error_is_that_of_means_of_batches(
    rng: np.random.Generator, chains: int, batches: int, batch: int
) -> None:
    """Unless fewer than one draw or more than all are told: then it is that of as many draws."""
    drawn = draws(rng, chains, batches, batch)
    counts = drawn.sum(axis=2)[..., None]
    samples, error = effective_samples(counts, batch)
    means = drawn.mean(axis=2).reshape(-1)
    count = drawn.size
    mean = means.mean() if 0 < drawn.sum() < count else 1 / (count + 1)  # as if one more had been another
    of_means = means.std(ddof=1) / math.sqrt(len(means))
    independent = math.sqrt(mean * (1 - mean) / count)
    assert 1 <= samples[0] <= count
    assert error[0] == pytest.approx(max(of_means, independent)) or samples[0] == 1


@quick
@given(seeds, st.integers(1, 3))
def test_the_worst_value_of_all_is_told(rng: np.random.Generator, values: int) -> None:
    counts = np.stack([draws(rng, 3, 4, 10).sum(axis=2) for _ in range(values)], axis=2)
    told = convergence(counts, 10)
    alone = [convergence(counts[..., [value]], 10) for value in range(values)]
    assert told.r_hat == pytest.approx(max(1.0, *(one.r_hat for one in alone)))
    assert told.effective_samples == pytest.approx(min(one.effective_samples for one in alone))
    assert told.standard_error == pytest.approx(max(one.standard_error for one in alone))


def test_nothing_drawn_about_is_known() -> None:
    told = convergence(np.zeros((4, 10, 0), np.int64), 50)
    assert (told.r_hat, told.effective_samples, told.standard_error) == (1.0, 2000.0, 0.0)
