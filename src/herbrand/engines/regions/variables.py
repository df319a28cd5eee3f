"""Variables of regions: interchangeable elements, of which regions take all or some, and their counts.

A variable is a set of elements with the same evidence. The state of any number of them is a vector of counts,
one for each profile. A table about a few elements applies to more of them once for each choice of these; a
belief about many elements is one about a few of them drawn at random.

>>> coins = RegionVariable(3, np.zeros(2))
>>> coins.counts(2)
array([[0., 2.],
       [1., 1.],
       [2., 0.]])
>>> coins.choices(3, 2)[1]
array([1., 2., 0.])
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import comb

from herbrand.engines.lifted.polynomials import compositions, log_ways
from herbrand.engines.regions.tables import times


@dataclass(frozen=True, eq=False)
class RegionVariable:
    """``count`` interchangeable elements. ``weights`` [profile]: log-weights of one element, if elements are
    independent apart from factors. Otherwise regions take all or none of them: ``listed`` are all vectors of
    counts that they can have [row, profile], and the log of the number of weighted ways to have each."""

    count: int
    weights: np.ndarray | None
    listed: tuple[np.ndarray, np.ndarray] | None = None

    def __len__(self) -> int:
        return self.rows(self.elements)

    @property
    def elements(self) -> int:
        """Number of elements that regions can take: one if they are only taken together."""
        return 1 if self.weights is None else self.count

    @property
    def all_profiles(self) -> int:
        """Number of profiles that counts distinguish."""
        if self.weights is None:
            assert self.listed is not None
            return self.listed[0].shape[1]
        return len(self.weights)

    def rows(self, taken: int) -> int:
        """Number of vectors of counts that ``taken`` elements can have."""
        if self.weights is None:
            assert self.listed is not None
            return len(self.listed[1])
        return math.comb(taken + len(self.weights) - 1, taken)

    def counts(self, taken: int) -> np.ndarray:
        """All vectors of counts that ``taken`` elements can have [row, profile]."""
        if self.weights is None:
            assert self.listed is not None
            return self.listed[0]
        return compositions(taken, len(self.weights)).astype(float)

    def prior(self, taken: int) -> np.ndarray:
        """Log of the weighted number of ways for ``taken`` elements to have each vector of counts."""
        if self.weights is None:
            assert self.listed is not None
            return self.listed[1]
        ways = log_ways(taken, len(self.weights)).numpy()
        return ways + times(self.counts(taken), self.weights)

    @cached_property
    def all_counts(self) -> np.ndarray:
        return self.counts(self.elements)

    @cached_property
    def all_ways(self) -> np.ndarray:
        return self.prior(self.elements)

    def choices(self, many: int, few: int) -> np.ndarray:
        """Number of ways to choose a vector of counts of a few elements [column] from one of many [row]."""
        if (many, few) not in self._choices:
            table = np.ones((self.rows(many), self.rows(few)))
            here, inside = self.counts(many), self.counts(few)
            for profile in range(here.shape[1]):
                table *= comb(here[:, profile, None], inside[None, :, profile])
            self._choices[many, few] = table
        return self._choices[many, few]

    @cached_property
    def _choices(self) -> dict[tuple[int, int], np.ndarray]:
        return {}

    def chances(self, many: int, few: int) -> np.ndarray:
        """Log-probability that a few elements, drawn at random from many, have each vector of counts."""
        with np.errstate(divide="ignore"):
            return np.log(self.choices(many, few) / math.comb(many, few))

    def by_count(self, weights: np.ndarray) -> np.ndarray:
        """Weights of rows as an array over the count of the second of two profiles, from 0 on."""
        by_number = np.full(self.count + 1, -np.inf)
        by_number[self.all_counts[:, 1].astype(np.int64)] = weights
        return by_number
