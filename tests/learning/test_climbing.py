"""The optimiser on functions whose top is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from herbrand.budget import Budget
from herbrand.learning import climbing
from herbrand.learning.climbing import Patience, Penalty, Slope, climb
from herbrand.learning.conditionals import Conditionals


def logistic(seed: int, rows: int = 200, columns: int = 5) -> tuple[np.ndarray, np.ndarray, Slope]:
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 4, (rows, columns)) * 10.0 ** rng.integers(-1, 2, columns)
    labels = rng.random(rows) < 1 / (1 + np.exp(-(features @ rng.normal(0, 0.2, columns))))
    differences = csr_array(np.where(labels[:, None], -features, features))
    objective = Conditionals.of(differences, np.zeros((rows, 1)))
    return features, labels, Slope(objective.value_and_gradient, objective.curvature, objective.hessian)


@pytest.mark.parametrize("seed", range(3))
def test_newton_and_bfgs_find_the_top_of_a_library(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    features, labels, slope = logistic(seed)
    library = LogisticRegression(C=1 / 0.7, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(
        features, labels
    )
    newton = climb(slope, 5, Penalty(0.7))
    monkeypatch.setattr(climbing, "MOST_NEWTON", 0)
    bfgs = climb(slope, 5, Penalty(0.7), Patience(1e-12))
    assert newton.converged and bfgs.converged and newton.iterations < 20
    assert newton.weights == pytest.approx(library.coef_[0], abs=1e-4)
    assert bfgs.weights == pytest.approx(newton.weights, abs=1e-3)


def test_a_corner_makes_weights_exactly_zero() -> None:
    _, _, slope = logistic(4)
    loose, tight = (climb(slope, 5, Penalty(0.1, l1), Patience(1e-10)) for l1 in (0.01, 5000.0))
    assert loose.weights.all() and not tight.weights.any()
    middle = climb(slope, 5, Penalty(0.0, 20.0), Patience(1e-12))
    _, gradient = slope.value_and_gradient(middle.weights)
    settled = middle.weights != 0
    assert gradient[settled] == pytest.approx(20.0 * np.sign(middle.weights[settled]), abs=0.1)
    assert (np.abs(gradient[~settled]) <= 20.1).all()


def test_what_the_data_decide_for_certain_does_not_converge() -> None:
    objective = Conditionals.of(csr_array(np.full((3, 1), -1.0)), np.zeros((3, 1)))
    slope = Slope(objective.value_and_gradient, objective.curvature, objective.hessian)
    assert "grows without end" in climb(slope, 1, Penalty()).advice
    assert climb(slope, 1, Penalty(0.1)).converged


def test_limits_are_told() -> None:
    _, _, slope = logistic(1)
    seen: list[int] = []
    stopped = climb(slope, 5, Penalty(0.1), Patience(0.0, 2, watch=lambda step, value: seen.append(step)))
    assert (stopped.converged, stopped.iterations, seen) == (False, 2, [1, 2])
    assert "--iterations" in stopped.advice
    assert "--time-limit" in climb(slope, 5, Penalty(0.1), Patience(0.0, budget=Budget(seconds=0.0))).advice


def test_like_atoms_are_kept_once_and_others_apart() -> None:
    rows = np.array([[1.0, 0], [0, 1], [1, 0], [1, 1], [0, 0], [0, 0], [2, 0], [1, 0]])
    offsets = np.array([0, 0, 0, 0, 0, 0.5, 0, -math.inf])[:, None]
    merged = Conditionals.of(csr_array(rows), offsets)
    assert merged.counts.tolist() == [2, 1, 1, 1, 1, 1, 1]
    weights = np.array([0.3, -0.8])
    scores = rows @ weights + offsets[:, 0]
    assert merged.value(weights) == pytest.approx(-np.logaddexp(0, scores).sum())


@pytest.mark.parametrize("newton", [True, False])
def test_a_climb_that_goes_on_ends_at_the_same_top(newton: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Newton's method takes the very steps of an unbroken climb; the other one forgets what it has met."""
    monkeypatch.setattr(climbing, "MOST_NEWTON", 500 if newton else 0)
    _, _, slope = logistic(2)
    unbroken = climb(slope, 5, Penalty(0.1), Patience(1e-12))
    kept: list[tuple[int, float, np.ndarray]] = []
    climb(slope, 5, Penalty(0.1), Patience(1e-12, 2, keep=lambda *told: kept.append(told)))
    steps, value, weights = kept[-1]
    assert steps == 2 and value == pytest.approx(slope.value_and_gradient(weights)[0])
    spent = climb(slope, 5, Penalty(0.1), Patience(1e-12, 2, taken=2), weights)
    assert (spent.iterations, spent.converged) == (2, False) and "--iterations" in spent.advice
    went_on = climb(slope, 5, Penalty(0.1), Patience(1e-12, taken=2), weights)
    assert went_on.converged and went_on.iterations > 2
    if newton:
        assert went_on.iterations == unbroken.iterations
        assert went_on.weights == pytest.approx(unbroken.weights, abs=1e-12)
    assert went_on.weights == pytest.approx(unbroken.weights, abs=1e-3)
