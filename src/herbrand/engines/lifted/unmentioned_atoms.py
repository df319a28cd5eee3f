"""Latent atoms of more arguments than counting handles, in no statement: each is independent."""

from __future__ import annotations

import math

import numpy as np

from herbrand import arrays
from herbrand.arrays import Array
from herbrand.contraction.extreme import first_maximum
from herbrand.engines.lifted.families import affects_sum
from herbrand.program.evidence import LATENT, Evidence
from herbrand.program.program import Program

WIDEST = 2


def is_unmentioned(predicate: str, program: Program) -> bool:
    """Whether a predicate has more than two arguments, and its atoms bear on the sum."""
    return program.signature.predicates[predicate].arity > WIDEST and affects_sum(predicate, program)


def unmentioned_total(predicate: str, evidence: Evidence, trust: Array, most: bool) -> Array:
    """Log-partition of all atoms of the predicate; their largest log-weight for ``most``."""
    known, size = evidence.known(predicate), evidence.program.value_count(predicate)
    codes = np.unique(evidence.weights(predicate)[0])
    added = evidence.weight_rows(predicate, codes)
    impossible = arrays.from_numpy(np.isneginf(added))
    rows = (trust * arrays.from_numpy(np.where(np.isneginf(added), 0.0, added))).masked_fill(
        impossible, -math.inf
    )
    settled = known.lookup(codes)
    latent = rows[arrays.from_numpy(settled == LATENT)]
    total = rows[
        arrays.from_numpy(np.flatnonzero(settled != LATENT)), arrays.from_numpy(settled[settled != LATENT])
    ].sum()
    if most:
        return total + first_maximum(latent, (1,)).sum()
    return total + arrays.logsumexp(latent, 1).sum() + (known.latent_count() - len(latent)) * np.log(size)


def unmentioned_shares(predicate: str, evidence: Evidence, codes: np.ndarray, most: bool) -> np.ndarray:
    """Probabilities of the values of latent atoms [atom, value]."""
    rows = evidence.weight_rows(predicate, codes)
    if most:
        return np.eye(rows.shape[1])[rows.argmax(1)]
    weights = np.exp(rows - rows.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)
