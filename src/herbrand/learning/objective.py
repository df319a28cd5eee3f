"""What the methods that maximise an objective share: its interface, limits, penalty and report."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from herbrand.answers.guarantee import Status
from herbrand.language.theory import Theory
from herbrand.language.written_weights import with_weights
from herbrand.learning.climbing import Patience, Penalty, Slope, Top
from herbrand.learning.learned import Learning, learned_weights
from herbrand.learning.parameters import Parameters
from herbrand.learning.settings import LearningSettings, Progress

DEFAULT_L2 = 0.1
FLAT = 1e-9
"""Share of the largest curvature below which data and penalty do not determine a direction. Curvatures that
are differences of gradients have rounding errors of about 1e-12 times the counts."""


class Term(Protocol):
    """A function of the weights."""

    @property
    def atom_count(self) -> float:
        """Number of labelled atoms."""
        ...

    def value(self, weights: np.ndarray) -> float: ...

    def value_and_gradient(self, weights: np.ndarray) -> tuple[float, np.ndarray]: ...

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """Upper bound of the curvature in each weight, or an estimate."""
        ...

    def hessian(self, weights: np.ndarray) -> np.ndarray: ...


class Objective(Term, Protocol):
    """A function of the weights to be maximised, over one or several worlds."""

    @property
    def parameters(self) -> Parameters: ...


@dataclass(frozen=True)
class Method:
    """Defaults of a method. ``metric``: name of its objective; ``errors`` and ``effects``: most weights for
    which these are computed; ``steps`` and ``tolerance``: used unless the settings give others."""

    name: str
    metric: str
    steps: int
    tolerance: float
    errors: int
    effects: int
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Name of the metric in an answer."""
        return self.metric.replace(" ", "_").replace("-", "_")

    def patience(self, settings: LearningSettings) -> Patience:
        """Limits from the settings; ``settings.watch`` gets the highest value so far after each step, over
        all climbs."""
        most, height = settings.iterations or self.steps, -math.inf

        def watch(step: int, value: float) -> None:
            nonlocal height
            height = max(height, value)
            if settings.watch is not None:
                settings.watch(Progress(step, most, self.metric, height))

        return Patience(settings.tolerance or self.tolerance, most, settings.budget, watch)


def slope_of(objective: Objective, newton: bool) -> Slope:
    """The objective to be maximised; ``newton``: by its second derivatives."""
    return Slope(objective.value_and_gradient, objective.curvature, objective.hessian, newton)


def penalty_of(settings: LearningSettings) -> Penalty:
    """The penalty that the settings put on weights."""
    return Penalty(DEFAULT_L2 if settings.l2 is None else settings.l2, settings.l1)


def report(
    theory: Theory, objective: Objective, top: Top, penalty: Penalty, method: Method, began: float
) -> Learning:
    """The theory with the weights at the maximum, with their standard errors and effects."""
    keys, size = objective.parameters.keys, len(top.weights)
    weights = top.weights.tolist()
    errors = effects = None
    if size <= method.errors:
        errors = standard_errors(objective.hessian(top.weights), penalty)
    if size <= method.effects:
        best = objective.value(top.weights)
        effects = [
            best - objective.value(np.where(np.arange(size) == i, 0.0, top.weights)) for i in range(size)
        ]
    return Learning(
        method.name,
        with_weights(theory, dict(zip(keys, weights, strict=True))),
        Status(top.converged, top.iterations, time.perf_counter() - began, top.advice),
        learned_weights(theory, keys, weights, errors, effects),
        {
            method.key: top.value,
            f"{method.key}_at_zero": objective.value(np.zeros(size)),
            "atoms": objective.atom_count,
            "weights": size,
            **method.more,
        },
    )


def standard_errors(hessian: np.ndarray, penalty: Penalty) -> Sequence[float | None]:
    """Standard errors from the curvature at the maximum; ``None`` for a weight that neither data nor penalty
    determine, or if the function does not fall in both directions."""
    curvature = -hessian + penalty.l2 * np.eye(len(hessian))
    values, vectors = np.linalg.eigh(curvature)
    flat = values <= FLAT * max(1.0, float(values.max(initial=0.0)))
    variances = (vectors**2 / np.where(flat, np.inf, values)).sum(axis=1)
    # A weight with a component in a flat direction is no better determined than that direction.
    unknown = (vectors[:, flat] ** 2).sum(axis=1) > 1e-9
    return [None if u else float(np.sqrt(v)) for u, v in zip(unknown, variances, strict=True)]
