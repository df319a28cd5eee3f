"""The likelihood of labels by plain loops over all worlds, and its top by an optimiser of SciPy.

How probable the labels are: the weight of all worlds in which they hold, divided by that of all worlds that
what is known beside them allows. An opinion p on a label counts a world by p where its atom has the value,
and by 1 - p (for one of k values by (1 - p) / (k - 1)) where it has not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from herbrand.language import syntax as s
from tests.oracles.worlds import Universe, World

Key = tuple[int, tuple[s.Value, ...]]


@dataclass
class Likelihood:
    """``counts`` [world, weight] and ``logs`` [world] of what ``evidence`` allows; ``labels`` [world]: the
    logarithm by which the labels count each of these."""

    counts: Any
    logs: Any
    labels: Any

    def value(self, weights: np.ndarray) -> float:
        scores = self.counts @ weights + self.logs
        return float(_log_sum(scores + self.labels) - _log_sum(scores))

    def gradient(self, weights: np.ndarray) -> np.ndarray:
        scores = self.counts @ weights + self.logs
        labelled = scores + self.labels
        given, free = (np.exp(x - _log_sum(x)) for x in (labelled, scores))
        return self.counts.T @ (given - free)


def _log_sum(logs: Any) -> float:
    largest = float(logs.max())
    return largest + float(np.log(np.exp(logs - largest).sum())) if largest > -np.inf else -np.inf


def likelihood(
    evidence: Universe, labels: Universe, statements: Sequence[s.WeightedFormula], keys: Sequence[Key]
) -> Likelihood:
    """``labels``: the same universe with what is known of the labels, opinions among its ``soft``."""
    columns, counts, logs, told = {key: i for i, key in enumerate(keys)}, [], [], []
    instances = _instances(evidence, statements, columns)
    for world in evidence.worlds():
        count, log = _counted(instances, len(columns), world)
        if log > -np.inf:
            counts.append(count)
            logs.append(log + _opinions(evidence, world))
            told.append(_labelled(evidence, labels, world))
    return Likelihood(np.array(counts).reshape(len(logs), len(keys)), np.array(logs), np.array(told))


def _instances(
    universe: Universe, statements: Sequence[s.WeightedFormula], columns: Mapping[Key, int]
) -> list[tuple[Callable[[World], bool], s.Weight, int | None]]:
    """Each statement for each choice of constants: when it holds, its weight, and its column if learned."""
    found, number = [], -1
    for statement in statements:
        weight = statement.weight
        number += not isinstance(weight, s.Hard)
        for binding in universe.bindings(statement):
            column = None
            if isinstance(weight, s.Learned):
                column = columns[number, tuple(binding[v.name] for v in weight.by)]
            found.append((universe.meaning(statement.formula, binding), weight, column))
    return found


def _counted(
    instances: Sequence[tuple[Callable[[World], bool], s.Weight, int | None]], size: int, world: World
) -> tuple[np.ndarray, float]:
    """How often each learned statement holds, and the log-weight of all others."""
    counts, log = np.zeros(size), 0.0
    for meaning, weight, column in instances:
        holds = meaning(world)
        if isinstance(weight, s.Hard):
            if not holds:
                return counts, -np.inf
        elif column is not None:
            counts[column] += holds
        else:
            log += weight * holds
    return counts, log


def _opinions(universe: Universe, world: World) -> float:
    return sum(log for atom, value, log in universe.soft if world[atom] == value)


def _labelled(evidence: Universe, labels: Universe, world: World) -> float:
    """The logarithm of how probable the labels are in a world; ``soft`` of labels holds (atom, value, p)."""
    for atom, had in world.items():
        if had not in labels.choices(atom):
            return -np.inf
    total = 0.0
    for atom, value, chance in labels.soft:
        values = labels.predicates[atom[0]][1]
        others = 1 if values is None else len(values) - 1
        total += np.log(chance if world[atom] == value else (1 - chance) / others)
    return total


def highest(parts: Sequence[Likelihood], size: int, l2: float, starts: int = 1, seed: int = 0) -> float:
    """The largest sum of log-likelihoods less l2 / 2 times the sum of squares, from several starts."""
    dice, best = np.random.default_rng(seed), -np.inf
    for start in range(starts):
        first = dice.normal(0, 1, size) if start else np.full(size, 0.01) * np.arange(1, size + 1)
        found = minimize(
            lambda w: -sum(part.value(w) for part in parts) + l2 / 2 * w @ w,
            first,
            jac=lambda w: -sum(part.gradient(w) for part in parts) + l2 * w,
            method="BFGS",
            options={"gtol": 1e-9, "maxiter": 2000},
        )
        best = max(best, -float(found.fun))
    return best
