"""Learn rule weights through mean-field layers: targets are hidden, predicted jointly, compared with labels.

Where pseudo-likelihood predicts each atom from the *true* values of its neighbours, this predicts all of them
from the evidence alone, with the same layers that inference uses, and through latent predicates. The
objective is the sum over labelled atoms of log Q(label) after the layers, less a penalty; with one layer it
is a logistic regression, with more, or with latent predicates, it is not concave and may have local maxima.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call

from herbrand.errors import ContradictionError
from herbrand.language.theory import Theory
from herbrand.learning.climbing import Slope, climb
from herbrand.learning.contradiction import UNLISTED
from herbrand.learning.example import Aim, Example, World, examples_of
from herbrand.learning.learned import Learning
from herbrand.learning.objective import Method, penalty_of, report
from herbrand.learning.parameters import Parameters, weight_constants
from herbrand.learning.settings import LearningSettings
from herbrand.nn.logic_layer import LogicLayer

LAYERS, DAMPING = 5, 0.5
NUDGE = 0.01
"""Standard deviation of initial weights if predicates are latent: at 0 no gradient passes through these."""
METHOD = Method("layers", "log-likelihood", 200, 1e-6, errors=-1, effects=200)


@dataclass(frozen=True, eq=False)
class _Labelled:
    """Labelled atoms of one target: their places in its table of logits, and their values."""

    name: str
    places: Tensor
    values: Tensor

    def log_likelihood(self, logits: Tensor, valued: bool) -> Tensor:
        """Sum of the labels' log-probabilities."""
        if valued:
            logs = torch.log_softmax(logits.reshape(-1, logits.shape[-1]), dim=1)
            return logs[self.places, self.values].sum()
        signs = 2.0 * self.values - 1.0
        return torch.nn.functional.logsigmoid(signs * logits.reshape(-1)[self.places]).sum()


@dataclass(frozen=True, eq=False)
class Unrolled:
    """Layers for one world, and the indices of each of its weights among the parameters."""

    world: Example
    layer: LogicLayer
    places: dict[int, Tensor]
    labels: tuple[_Labelled, ...]

    @classmethod
    def of(cls, world: Example, parameters: Parameters, layers: int, memory: int | None) -> Unrolled:
        damping = DAMPING if layers > 1 else 0.0
        layer = LogicLayer(world.program, iterations=layers, damping=damping, memory=memory).double()
        places = {}
        for number, weight in enumerate(world.program.weights):
            if weight.learned:
                sizes = [len(world.program.domain(name)) for name in weight.by]
                rows = np.arange(math.prod(sizes))
                columns = [
                    parameters.column(number, c) for c in weight_constants(number, rows, world.program)
                ]
                places[number] = torch.tensor(columns, dtype=torch.int64).reshape(sizes)
        return cls(world, layer, places, _labelled(world, layer))

    def log_odds(self, weights: Tensor) -> dict[str, Tensor]:
        """Logits of all open atoms after the layers."""
        tables = {f"layer.weights.{number}": weights[places] for number, places in self.places.items()}
        return functional_call(_LogOdds(self.layer), tables, ())

    def log_likelihood(self, weights: Tensor) -> Tensor:
        """Sum of the labels' log-probabilities at these weights."""
        odds = self.log_odds(weights)
        parts = [
            labelled.log_likelihood(odds[labelled.name], self.world.hidden.is_valued(labelled.name))
            for labelled in self.labels
        ]
        return torch.stack(parts).sum()


class _LogOdds(torch.nn.Module):
    """A layer whose result is log-odds."""

    def __init__(self, layer: LogicLayer) -> None:
        super().__init__()
        self.layer = layer

    def forward(self) -> dict[str, Tensor]:
        return self.layer.log_odds()


def _labelled(world: Example, layer: LogicLayer) -> tuple[_Labelled, ...]:
    """The labelled atoms; of atoms that hard statements tie, only the leader.

    Raise ContradictionError if labels violate a hard statement.
    """
    codes = {name: world.labelled_codes(name) for name in world.targets}
    labels = {name: (own, world.labels(name, own)) for name, own in codes.items()}
    for tie in layer.problem.unknowns.ties:
        if tie.predicate not in labels:
            continue
        own, values = labels[tie.predicate]
        _, here, there = np.intersect1d(own, tie.tied.numpy(), assume_unique=True, return_indices=True)
        labels[tie.predicate] = np.delete(own, here), np.delete(values, here)
        leading = tie.leading.numpy()[there], values[here] ^ tie.opposite.numpy()[there]
        led = labels.get(tie.leader, (np.empty(0, np.int64), np.empty(0, np.int64)))
        labels[tie.leader] = np.concatenate([led[0], leading[0]]), np.concatenate([led[1], leading[1]])
    possible = layer.problem.unknowns.possible()
    return tuple(_distinct(world, possible[name], name, *label) for name, label in labels.items())


def _distinct(
    world: Example, possible: Tensor, name: str, codes: np.ndarray, values: np.ndarray
) -> _Labelled:
    """Merge labels of the same atom; raise ContradictionError for labels that differ, or are not
    ``possible`` by hard statements."""
    pairs = np.unique(np.stack([codes, values], axis=1), axis=0)
    codes, values = pairs[:, 0], pairs[:, 1]
    again = np.flatnonzero(codes[1:] == codes[:-1])
    excluded = np.flatnonzero(~possible.numpy()[codes, values])
    wrong = np.concatenate([again, excluded])
    if len(wrong):
        literal = world.evidence.literal_text(name, codes[wrong])
        raise ContradictionError(
            f"the facts contradict the hard statements, as they state {literal}",
            hint=UNLISTED,
        )
    return _Labelled(name, torch.from_numpy(codes), torch.from_numpy(values))


@dataclass(frozen=True, eq=False)
class LayersObjective:
    """Log-likelihood of the labels of all worlds under the layers, as a function of the weights."""

    parameters: Parameters
    worlds: tuple[Unrolled, ...]

    @property
    def atom_count(self) -> int:
        return sum(len(labelled.values) for one in self.worlds for labelled in one.labels)

    def value(self, weights: np.ndarray) -> float:
        with torch.no_grad():
            return float(sum(one.log_likelihood(torch.from_numpy(weights)) for one in self.worlds))

    def value_and_gradient(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        point = torch.from_numpy(weights).requires_grad_()
        value = 0.0
        for one in self.worlds:  # sequentially, so that only one world is unrolled in memory at a time
            likelihood = one.log_likelihood(point)
            if likelihood.requires_grad:  # else no label depends on a weight
                likelihood.backward()
            value += float(likelihood.detach())
        return value, np.zeros(len(weights)) if point.grad is None else point.grad.numpy()

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        return np.ones(len(weights))

    def hessian(self, weights: np.ndarray) -> np.ndarray:
        raise NotImplementedError("no second derivatives are taken through layers")


def learn(theory: Theory, worlds: Sequence[World], aim: Aim, settings: LearningSettings) -> Learning:
    """The theory with the weights that maximise the log-likelihood of the labels under the layers."""
    began = time.perf_counter()
    parameters = Parameters()
    examples = examples_of(theory, worlds, aim, settings.budget)
    layers = settings.layers or LAYERS
    unrolled = tuple(Unrolled.of(one, parameters, layers, settings.budget.memory) for one in examples)
    objective, size = LayersObjective(parameters, unrolled), len(parameters)
    start = np.random.default_rng(settings.seed).normal(0, NUDGE, size) if aim.latent else np.zeros(size)
    penalty, method = penalty_of(settings), replace(METHOD, more={"layers": layers})
    slope = Slope(objective.value_and_gradient, objective.curvature)
    top = climb(slope, size, penalty, method.patience(settings), start)
    return report(theory, objective, top, penalty, method, began)
