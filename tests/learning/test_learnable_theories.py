"""A few theories of ``benchmarks/likelihood.py``: tops as high as the loops', planted weights come back."""

from __future__ import annotations

import numpy as np
import pytest

import herbrand as hb
from benchmarks.learnable_theories import KINDS
from benchmarks.likelihood import BOXES, PAIRS, TOLERANCE, combination, log_likelihood, optimum, recovered
from tests.laws import long

TOPS = [(101, 0.1), (102, 0.1), (103, 0.1), (102, 0.0), (101, 0.0), (103, 0.0), (100, 0.1), (100, 0.0)]
"""Seeds of theories, of which every kind is in the first three, and penalties."""


@pytest.mark.parametrize("top", long(TOPS, 4), ids=str)
def test_tops_are_those_of_all_worlds(top: tuple[int, float]) -> None:
    seed, l2 = top
    found = optimum(seed, l2)
    assert found.kinds == combination(seed, KINDS)
    assert abs(found.short) <= TOLERANCE and found.off <= 1e-8


def test_planted_weights_come_back() -> None:
    """About 95 in 100 lie within two standard errors; all of a few within four."""
    apart = [one for seed in (0, 5, 6) for one in recovered(seed, ()) or ()]
    sure = [one for one in apart if one is not None]
    assert len(sure) >= 5 and max(sure) <= 4 and np.median(sure) <= 2


def test_one_pair_of_friends_by_both_methods() -> None:
    facts = {"friends": [("a", "b"), ("b", "a")]}
    expected = -3 * np.log(3) + np.log(4)  # one pair of three, and three people of themselves or not
    for method in ("likelihood", "pseudo-likelihood"):
        found = hb.Model(hb.parse(PAIRS), facts).learn(method, l2=0)
        assert found.weights[0].weight == pytest.approx(np.log(0.5) / 2, abs=1e-6)
        assert log_likelihood(found.theory, facts) == pytest.approx(expected - 3 * np.log(2), abs=1e-9)


def test_one_colour_a_box() -> None:
    """Pseudo-likelihood has nothing to change one by one, and says so."""
    facts = {"red": ["1", "2"], "blue": ["3"], "green": ["4"]}
    model, target = hb.Model(hb.parse(BOXES), facts), list(facts)
    found = model.learn("likelihood", target=target, l2=0)
    assert found.weights[0].weight == pytest.approx(np.log(2), abs=1e-6)
    with pytest.raises(hb.HerbrandError):
        model.learn("pseudo-likelihood", target=target, l2=0)
