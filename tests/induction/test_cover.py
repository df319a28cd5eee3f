"""The theory that is chosen from a pool, beside all choices of its clauses."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from herbrand.induction.cover import (
    Candidate,
    Errors,
    best_theory,
    description,
    exact_cover,
    shortest_cover,
    union,
)
from herbrand.induction.evaluation import Clause


def candidate(name: str, bits: float, covers: np.ndarray) -> Candidate:
    return Candidate(Clause(name, (0,), ()), bits, covers)


def test_clauses_that_pay_only_together_are_chosen() -> None:
    positive = np.arange(100) < 80
    halves = [np.arange(100) < 40, (np.arange(100) >= 40) & positive]
    pool = [candidate(f"c{number}", 16.0, covers) for number, covers in enumerate(halves)]
    alone = [description([one], positive) for one in pool]
    assert min(alone) > description([], positive) > description(pool, positive)
    assert set(map(id, shortest_cover(pool, positive))) == set(map(id, pool))


@pytest.mark.parametrize("seed", range(6))
def test_no_pair_describes_more_briefly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    positive = rng.random(60) < 0.7
    covers = [(rng.random(60) < rng.random()) & (positive | (rng.random(60) < 0.1)) for _ in range(7)]
    pool = [candidate(f"c{n}", float(rng.uniform(5, 15)), one) for n, one in enumerate(covers)]
    found = description(shortest_cover(pool, positive), positive)
    few = [[], *([one] for one in pool), *map(list, combinations(pool, 2))]
    assert found <= min(description(theory, positive) for theory in few) + 1e-9


@pytest.mark.parametrize("noise", [0.1, 0.3])
@pytest.mark.parametrize("seed", range(20))
def test_no_other_theory_has_both_fewer_errors_and_fewer_bits(seed: int, noise: float) -> None:
    """With more errors than the noise allows, too: a rule with exceptions stands beside clauses without,
    which cover next to nothing."""
    rng = np.random.default_rng(seed)
    positive = rng.random(120) < 0.4
    planted = positive != (rng.random(120) < 0.25)
    covers = [planted, *(positive & (rng.random(120) < 0.05) for _ in range(3))]
    pool = [candidate(f"c{n}", 14.0, one) for n, one in enumerate(covers)]
    found = best_theory(pool, positive, noise)
    for other in (shortest_cover(pool, positive), exact_cover(pool, positive)):
        fewer = Errors.of(union(other, 120), positive).total < Errors.of(union(found, 120), positive).total
        assert not (fewer and description(other, positive) < description(found, positive))
