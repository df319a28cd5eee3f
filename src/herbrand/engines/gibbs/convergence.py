"""Convergence measures of several chains: split R-hat, effective sample size, and standard error.

Chains are cut into batches; ``counts`` [chain, batch, value] is the number of draws of each batch in which an
atom had a value. Split R-hat compares the halves of all chains with each other: 1 if they agree, larger if
some have not reached the states of others. The effective sample size is the number of independent draws that
would have as small an error, estimated from the spread of the batches' means.

>>> rng = np.random.default_rng(0)
>>> counts = rng.binomial(50, 0.3, (4, 20, 1))
>>> found = convergence(counts, 50)
>>> bool(found.r_hat < 1.02), bool(2000 < found.effective_samples < 8000), bool(found.standard_error < 0.01)
(True, True, True)
>>> counts[0] = 50  # one chain stays elsewhere
>>> bool(convergence(counts, 50).r_hat > 1.2)
True
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from herbrand.factors.graph import Array


@dataclass(frozen=True)
class Convergence:
    """Worst measures over all values of all atoms."""

    r_hat: float
    effective_samples: float
    standard_error: float


def convergence(counts: Array, batch: int) -> Convergence:
    """Measures of chains cut into an even number of batches of ``batch`` draws each, or into a single one."""
    r_hat = split_r_hat(counts, batch)
    samples, error = effective_samples(counts, batch)
    return Convergence(
        float(r_hat.max(initial=1.0)),
        float(samples.min(initial=counts.shape[0] * counts.shape[1] * batch)),
        float(error.max(initial=0.0)),
    )


def split_r_hat(counts: Array, batch: int) -> Array:
    """Split R-hat of each value; infinite if halves of chains stand still at different values. A single batch
    is not split."""
    chains, batches, values = counts.shape
    length = max(1, batches // 2)
    parts = counts.reshape(chains * batches // length, length, values)
    draws = batch * length
    means = parts.sum(axis=1) / draws
    within = (means * (1 - means) * draws / max(1, draws - 1)).mean(axis=0)
    between = means.var(axis=0, ddof=1)
    # The estimate of Gelman and Rubin (1992): B / n is the variance of the parts' means.
    pooled = within * (draws - 1) / draws + between
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt(pooled / within)
    return np.where(pooled == 0, 1.0, np.where(within == 0, np.inf, ratio))


def effective_samples(counts: Array, batch: int) -> tuple[Array, Array]:
    """Number of independent draws that all chains are worth, and the standard error of the mean,
    for each value.

    At most the number of draws. A value that was always drawn, or never, is not certain: its error is that of
    one more draw with the other outcome.
    """
    chains, batches, values = counts.shape
    drawn = chains * batches * batch
    means = counts.reshape(chains * batches, values) / batch
    mean = means.mean(axis=0)
    variance = mean * (1 - mean)
    of_batches = means.var(axis=0, ddof=1) * batch
    with np.errstate(divide="ignore", invalid="ignore"):
        samples = np.where(of_batches > 0, drawn * variance / of_batches, drawn)
    samples = np.clip(samples, 1.0, drawn)
    unseen = 1 / (drawn + 1)
    return samples, np.sqrt(np.where(variance > 0, variance, unseen * (1 - unseen)) / samples)
