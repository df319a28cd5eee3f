"""Log-probabilities of known values against their alternatives: the concave objective of pseudo-likelihood.

Takes, for each labelled atom, how every statement's count of true groundings would change with another value;
returns the sum of log P(value | everything else), its gradient and its second derivatives. Atoms with equal
changes are stored once, with their number: most atoms of a closed world are alike.

>>> from scipy.sparse import csr_array
>>> alike = Conditionals.of(csr_array([[1.0], [1.0], [-1.0]]), np.zeros((3, 1)))
>>> alike.counts.tolist(), round(alike.value(np.array([0.5])), 4)
([2.0, 1.0], -2.4222)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

Numbers = np.ndarray


@dataclass(frozen=True, eq=False)
class Conditionals:
    """Log-probabilities of atoms' known values. ``differences`` [atom · alternatives, parameter]: what an
    alternative adds to each count.

    ``offsets`` [atom, alternatives]: what it adds to the log-weight besides (-inf if it is impossible);
    ``counts`` [atom]: number of equal atoms.
    """

    differences: Any
    offsets: Numbers
    counts: Numbers

    @classmethod
    def of(cls, differences: Any, offsets: Numbers) -> Conditionals:
        """``differences`` [atom, alternatives · parameters], with equal atoms not merged yet."""
        alternatives = offsets.shape[1]
        _, first, counts = np.unique(
            _fingerprints(differences, offsets), axis=0, return_index=True, return_counts=True
        )
        order = np.argsort(first)
        first, counts = first[order], counts[order].astype(np.float64)
        kept: Any = csr_array(differences[first])
        width = kept.shape[1] // alternatives
        return cls(kept.reshape(len(first) * alternatives, width).tocsr(), offsets[first], counts)

    @classmethod
    def joined(cls, parts: Sequence[Conditionals]) -> Conditionals:
        """Concatenate parts whose atoms have the same number of alternatives."""
        return cls(
            vstack([part.differences for part in parts], format="csr"),
            np.concatenate([part.offsets for part in parts]),
            np.concatenate([part.counts for part in parts]),
        )

    @property
    def atom_count(self) -> float:
        return float(self.counts.sum())

    def _alternatives(self, weights: Numbers) -> tuple[Numbers, Numbers]:
        """Log-probability of each known value, and the probability of each alternative."""
        scores = (self.differences @ weights).reshape(self.offsets.shape) + self.offsets
        # The known value has score 0: it takes part in the shift of log-sum-exp and in the total.
        largest = np.maximum(scores.max(axis=1, initial=0.0), 0.0)
        shares = np.exp(scores - largest[:, None])
        total = shares.sum(axis=1) + np.exp(-largest)
        return -largest - np.log(total), shares / total[:, None]

    def value(self, weights: Numbers) -> float:
        """Sum of the known values' log-probabilities."""
        return float(self.counts @ self._alternatives(weights)[0])

    def value_and_gradient(self, weights: Numbers) -> tuple[float, Numbers]:
        logs, shares = self._alternatives(weights)
        gradient = -(self.differences.T @ (shares * self.counts[:, None]).reshape(-1))
        return float(self.counts @ logs), gradient

    def curvature(self, weights: Numbers) -> Numbers:
        """Upper bound of the curvature in each weight."""
        _, shares = self._alternatives(weights)
        return self.differences.power(2).T @ (shares * self.counts[:, None]).reshape(-1)

    def hessian(self, weights: Numbers) -> Numbers:
        """Second derivatives [parameter, parameter]; negative semidefinite."""
        _, shares = self._alternatives(weights)
        weighted = self.differences * (shares * self.counts[:, None]).reshape(-1, 1)
        spread = (self.differences.T @ weighted).toarray()
        means = _summed_by_atom(self.differences * shares.reshape(-1, 1), self.offsets.shape)
        return (means.T @ (means * self.counts[:, None])).toarray() - spread

    def bearing(self) -> tuple[Numbers, Numbers]:
        """Masks of the parameters on which some alternative depends, and of those on which a possible one
        does."""
        entries = self.differences.tocoo()
        parameters, changes = entries.coords[1], entries.data != 0
        possible = self.offsets.reshape(-1)[entries.coords[0]] > -np.inf
        bears, bears_possibly = np.zeros((2, self.differences.shape[1]), dtype=bool)
        bears[parameters[changes]] = True
        bears_possibly[parameters[changes & possible]] = True
        return bears, bears_possibly


def _summed_by_atom(rows: Any, shape: tuple[int, int]) -> Any:
    """Sums of rows over the alternatives of each atom."""
    atoms, alternatives = shape
    size = atoms * alternatives
    grouping = csr_array(
        (np.ones(size), np.arange(size), np.arange(0, size + 1, alternatives)), shape=(atoms, size)
    )
    return csr_array(grouping @ rows)


def _fingerprints(differences: Any, offsets: Numbers) -> Numbers:
    """Two 64-bit hashes for each row: equal rows have equal ones, different rows with probability 2^-128."""
    rows: Any = csr_array(differences)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    rng = np.random.default_rng(0)
    width = rows.shape[1]
    prints = []
    for _ in range(2):
        salts = rng.integers(0, 2**64, width + offsets.shape[1], dtype=np.uint64)
        sums = np.zeros(len(rows.data) + 1, dtype=np.uint64)
        # Unsigned sums wrap around: the difference of two running sums is exact, however long they get.
        np.cumsum(_mixed(rows.data, salts[rows.indices]), out=sums[1:])
        # Adding 0.0 turns -0.0 into 0.0: they are equal, but their bits differ.
        beside = _mixed(offsets + 0.0, salts[width:]).sum(axis=1, dtype=np.uint64)
        prints.append(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]] + beside)
    return np.stack(prints, axis=1)


def _mixed(numbers: Numbers, salts: Numbers) -> Numbers:
    """Mix the bits of each number and its salt (the finalizer of SplitMix64)."""
    bits = np.ascontiguousarray(numbers, dtype=np.float64).view(np.uint64) + salts
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
