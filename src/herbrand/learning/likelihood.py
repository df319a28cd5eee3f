"""Learn rule weights by likelihood: all labels predicted jointly, from the evidence alone.

The objective is log P(labels | evidence): the log-partition of the worlds with the labels less that of all
worlds. Its gradient is the expected count of each statement given the labels, less that without. What is
hidden is summed out, so the objective has a single maximum only if nothing is hidden; otherwise the best of
several starts is taken. Soft evidence on a label (``~``) weighs a world by its probability.

>>> import herbrand as hb
>>> predicates = 'predicate smokes(person): observed\\npredicate cancer(person)'
>>> theory = hb.parse(predicates + '\\n?: smokes(x) => cancer(x)')
>>> facts = {"smokes": ["anna", "bob", "carl"], "cancer": ["anna", "bob"]}
>>> round(hb.Model(theory, facts).learn("likelihood", l2=0).weights[0].weight, 4)  # two of three: log 2
0.6931
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from herbrand.answers.guarantee import Guarantee
from herbrand.budget import Budget
from herbrand.engines.choice import AFFORDABLE
from herbrand.engines.exact import operations_in
from herbrand.errors import BudgetError, OutOfTimeError, UnsupportedError
from herbrand.language.theory import Theory
from herbrand.language.written_weights import relearned
from herbrand.learning import contrastive_divergence
from herbrand.learning.both_sides import BothSides, both_sides, label_scale
from herbrand.learning.climbing import Penalty, Top, climb
from herbrand.learning.example import Aim, Example, World, examples_of
from herbrand.learning.expected_counts import Side, side_of
from herbrand.learning.learned import Learning
from herbrand.learning.objective import Method, penalty_of, report, slope_of
from herbrand.learning.parameters import Key, Parameters
from herbrand.learning.settings import LearningSettings

METHOD = Method("likelihood", "log-likelihood", 1000, 1e-12, errors=200, effects=200)
STARTS = 16
"""Starting points if something is hidden: the objective has several maxima then, of which the best is
taken."""
STEP = 1e-4
"""Second derivatives are central differences of gradients with this step: their error is about its square."""
LOOKS = 100.0
"""Number of gradients that a time limit should allow for; bounds the cost of one."""


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The objective over all worlds. ``opinions``: constant that makes soft evidence count by its
    probabilities."""

    parameters: Parameters
    sides: BothSides[Side]
    opinions: float

    @property
    def atom_count(self) -> int:
        return self.sides.atom_count

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of values and gradients."""
        exact = all(side.guarantee is Guarantee.EXACT for side in (*self.sides.free, *self.sides.given))
        return Guarantee.EXACT if exact else Guarantee.APPROXIMATION

    @property
    def engines(self) -> str:
        return ", ".join(dict.fromkeys(side.engine for side in (*self.sides.free, *self.sides.given)))

    def value(self, weights: np.ndarray) -> float:
        return self.value_and_gradient(weights)[0]

    def value_and_gradient(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self.opinions, np.zeros(len(weights))
        for sign, sides in ((1, self.sides.given), (-1, self.sides.free)):
            for side, times in sides.items():
                counts = side.at(weights)
                value += sign * times * counts.log_partition
                gradient += sign * times * counts.expected
        return value, gradient

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """Variances of each weight's groundings, added up as if these were independent."""
        curvature = np.zeros(len(weights))
        for side, times in self.sides.free.items():
            spread = side.at(weights).spread
            if spread is None:
                return np.maximum(-np.diag(self.hessian(weights)), 0.0)
            curvature += times * spread
        return curvature

    def hessian(self, weights: np.ndarray) -> np.ndarray:
        rows = np.empty((len(weights),) * 2)
        for column in range(len(weights)):
            nudge = np.zeros(len(weights))
            nudge[column] = STEP
            above, below = (self.value_and_gradient(weights + s * nudge)[1] for s in (1, -1))
            rows[column] = (above - below) / (2 * STEP)
        return (rows + rows.T) / 2


def likelihood(
    theory: Theory, examples: Sequence[Example], budget: Budget, most_operations: float = AFFORDABLE
) -> Likelihood:
    """The objective of these worlds; raise an error if counting is too expensive or the labels cannot
    hold."""
    parameters = Parameters.of(examples[0].program)
    sides = both_sides(theory, examples, lambda p: side_of(p, parameters, budget, most_operations))
    return Likelihood(parameters, sides, sum(map(_opinions, examples)))


def _opinions(one: Example) -> float:
    """Log of the factor that corrects the weights of worlds that disagree with soft evidence."""
    return -sum(label_scale(one.evidence, name) for name in one.targets)


def learn(theory: Theory, worlds: Sequence[World], aim: Aim, settings: LearningSettings) -> Learning:
    """The theory with the weights that maximise the likelihood; by contrastive divergence, with a reason, if
    exact counts are too expensive."""
    try:
        return exactly(theory, worlds, aim, settings)
    except OutOfTimeError:
        raise
    except BudgetError as error:
        refused = error
    try:
        _refuse_unsampled(settings)
        learned = contrastive_divergence.learn(theory, worlds, aim, settings)
    except (BudgetError, UnsupportedError) as error:
        raise BudgetError(dict.fromkeys((*refused.mistakes, *error.mistakes))) from None
    return replace(learned, reason=refused.mistakes[0].message)


def _refuse_unsampled(settings: LearningSettings) -> None:
    """Raise UnsupportedError for settings that need the value of the likelihood."""
    if settings.starts is not None:
        raise UnsupportedError(
            "with sampled worlds the ends of several starts cannot be compared", hint="leave --starts out"
        )
    if settings.held_out is not None:
        raise UnsupportedError(
            "sampled worlds do not give the probability of the labels of held-out worlds",
            hint="leave --held-out out, and compare what infer says of them: herbrand score",
        )


def exactly(
    theory: Theory,
    worlds: Sequence[World],
    aim: Aim,
    settings: LearningSettings,
    most_operations: float = AFFORDABLE,
) -> Learning:
    """Learn with exact counts; raise BudgetError if one gradient takes more than ``most_operations``."""
    began = time.perf_counter()
    theory, starts = relearned(theory) if settings.relearn else (theory, {})
    examples = examples_of(theory, worlds, aim, settings.budget, opinions=True)
    most = operations_in(settings.budget, LOOKS * most_operations) / LOOKS
    objective = likelihood(theory, examples, settings.budget, most)
    penalty = penalty_of(settings)
    top = _highest(objective, objective.parameters.row(starts), penalty, settings)
    learned = dict(zip(objective.parameters.keys, top.weights.tolist(), strict=True))
    more = _held_out(theory, aim, settings, learned, most) if settings.held_out is not None else {}
    learning = report(theory, objective, top, penalty, replace(METHOD, more=more), began)
    return replace(learning, engine=objective.engines, guarantee=objective.guarantee)


def _held_out(
    theory: Theory, aim: Aim, settings: LearningSettings, weights: Mapping[Key, float], most: float
) -> dict[str, float]:
    """Log-likelihood of the labels of held-out worlds; weights that learning did not see are 0."""
    examples = examples_of(theory, aim.held_out, aim, settings.budget, opinions=True)
    there = likelihood(theory, examples, settings.budget, most)
    value = there.value(there.parameters.row(weights))
    return {"held_out_log_likelihood": value, "held_out_atoms": there.atom_count}


def _highest(objective: Likelihood, first: np.ndarray, penalty: Penalty, settings: LearningSettings) -> Top:
    """The highest of the maxima reached from several starts; those after the first are random."""
    dice, size = np.random.default_rng(settings.seed), len(first)
    count = settings.starts or (STARTS if objective.sides.hidden else 1)
    if objective.sides.hidden and not first.any():
        first = dice.normal(0, 0.1, size)  # at 0 hidden atoms are often symmetric, and stay so
    points = [first, *(first + dice.normal(0, 1, (count - 1, size)))]
    patience, slope = METHOD.patience(settings), slope_of(objective, newton=False)
    best, height = None, -math.inf
    for point in points:
        if best is not None and settings.budget.ended:
            break
        top = climb(slope, size, penalty, patience, point)
        reached = top.value - penalty.of(top.weights)
        if best is None or reached > height:
            best, height = top, reached
    assert best is not None
    return best
