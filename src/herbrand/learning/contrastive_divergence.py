"""Learn rule weights by likelihood with counts from sampled worlds, if exact counts are too expensive.

The gradient of the likelihood is the expected count of each statement given the labels, less that without.
Both are averages over a few worlds, sampled by chains that continue from step to step (persistent contrastive
divergence: Younes 1989, Tieleman 2008). Steps are Newton's, with the covariance of the counts, no longer than
the chains can follow. They get shorter each time the slope changes direction, which it does once it is mostly
noise (Kesten 1958); the weights are the mean of the second half of the steps (Polyak and Juditsky 1992).
Nothing here is exact, and the value of the likelihood is not computed.

>>> import herbrand as hb
>>> predicates = 'predicate smokes(person): observed\\npredicate cancer(person)'
>>> theory = hb.parse(predicates + '\\n?: smokes(x) => cancer(x)')
>>> facts = {"smokes": ["anna", "bob", "carl"], "cancer": ["anna", "bob"]}
>>> found = hb.Model(theory, facts).learn("contrastive-divergence", l2=0)
>>> abs(found.weights[0].weight - 0.6931) < 0.1, found.guarantee.value  # two of three: log 2
(True, 'approximation')
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linprog

from herbrand.answers.guarantee import Guarantee, Status, out_of_iterations, out_of_time
from herbrand.language.theory import Theory
from herbrand.language.written_weights import relearned, with_weights
from herbrand.learning.both_sides import BothSides, both_sides
from herbrand.learning.climbing import ENDLESS, Penalty
from herbrand.learning.example import Aim, Example, World, examples_of
from herbrand.learning.learned import Learning, learned_weights
from herbrand.learning.objective import penalty_of
from herbrand.learning.parameters import Parameters
from herbrand.learning.sampled_counts import SampledSide
from herbrand.learning.settings import LearningSettings, Progress
from herbrand.program.program import Program

METHOD = "contrastive-divergence"
STEPS = 2000
TOLERANCE = 1e-3
"""Gain in log-likelihood, for each weight, below which learning stops."""
CHAINS = 4
SWEEPS, FIRST_SWEEPS, LAST_SWEEPS = 5, 50, 250
"""Sweeps of each chain in a step, before the first one, and after the last to test whether a maximum
exists."""
MOST_FULL = 500
"""Most weights for which steps use the whole covariance of counts, and not only its diagonal."""
RIDGE = 0.05
"""Share of each count's variance that is added to it: few worlds leave some directions without variance."""
MEMORY = 0.05
"""Weight of the newest worlds in the running covariance."""
FOLLOWED = 0.02
"""Largest squared length of a step for each atom, in units of the standard deviation of worlds'
log-weights."""
EASE = 25.0
"""Number of turns after which settled steps become shorter; their length falls with this power of it."""
POWER = 0.6
LEAST_SETTLED, LOOKED_AT = 100, 20
"""Settled steps before convergence is first tested, and between two tests."""
MOST_R_HAT = 1.1
ROUNDING = 1e-9
"""Counts with a smaller difference are equal."""
ROWS_A_WEIGHT = 10
"""Least number of worlds for each weight: fewer may lie on one side of a hyperplane by chance (Cover 1965:
twice as many as weights do half the time)."""


def learn(theory: Theory, worlds: Sequence[World], aim: Aim, settings: LearningSettings) -> Learning:
    """The theory with weights that approximately maximise the likelihood of the labels.

    Raise an error if worlds cannot be sampled.
    """
    began = time.perf_counter()
    theory, starts = relearned(theory) if settings.relearn else (theory, {})
    examples = examples_of(theory, worlds, aim, settings.budget, opinions=True)
    sampled = Sampled.of(theory, examples, settings)
    keys, penalty = sampled.parameters.keys, penalty_of(settings)
    first = sampled.parameters.row(starts)
    if sampled.sides.hidden and not first.any():
        # At 0 the values of a hidden atom are symmetric, and no step would ever break the symmetry.
        first = np.random.default_rng(settings.seed).normal(0, 0.1, len(keys))
    trail = Trail(sampled, penalty, first)
    status = _followed(trail, settings)
    if status.converged and not (penalty.l2 or penalty.l1) and trail.is_endless:
        status = Status(False, status.iterations, advice=ENDLESS)
    weights = trail.weights.tolist()
    return Learning(
        METHOD,
        with_weights(theory, dict(zip(keys, weights, strict=True))),
        Status(status.converged, status.iterations, time.perf_counter() - began, status.advice),
        learned_weights(theory, keys, weights, None, None),
        {
            "still_to_gain": trail.still_to_gain,
            "r_hat": trail.r_hat,
            "sampled_worlds": trail.sampled_worlds,
            "atoms": sampled.sides.atom_count,
            "weights": len(keys),
        },
        engine="gibbs",
        guarantee=Guarantee.APPROXIMATION,
    )


def _followed(trail: Trail, settings: LearningSettings) -> Status:
    """Take steps until the estimated gain is below the tolerance."""
    most, tolerance = settings.iterations or STEPS, settings.tolerance or TOLERANCE
    advice = ""
    if not len(trail.point):
        return Status(True, 0)
    while trail.steps < most:
        trail.step()
        if trail.is_to_be_looked_at:
            if settings.watch is not None:
                settings.watch(Progress(trail.steps, most, "log-likelihood to gain", trail.still_to_gain))
            if trail.still_to_gain <= tolerance * len(trail.weights) and trail.r_hat <= MOST_R_HAT:
                break
        if settings.budget.ended:
            advice = out_of_time(settings.budget.elapsed)
            break
    else:
        advice = out_of_iterations(trail.steps)
        if trail.r_hat > MOST_R_HAT:
            advice = f"the chains disagree (R-hat {trail.r_hat:.2f}); {advice}"
    return Status(not advice, trail.steps, advice=advice)


@dataclass(frozen=True, eq=False)
class Look:
    """Counts of sampled worlds. ``expected`` [weight]: true groundings given the labels less those without;
    ``spread``: covariance [weight, weight] or variances [weight] of the counts without the labels;
    ``by_chain`` [chain, sweep, weight]: these counts, added up over the worlds that are learned from."""

    expected: np.ndarray
    spread: np.ndarray
    by_chain: np.ndarray

    @property
    def worlds(self) -> np.ndarray:
        """Counts of each sampled world: [world, weight]."""
        return np.concatenate(self.by_chain)


@dataclass(frozen=True, eq=False)
class Sampled:
    """Sampled worlds with and without the labels."""

    parameters: Parameters
    sides: BothSides[SampledSide]

    @classmethod
    def of(cls, theory: Theory, examples: Sequence[Example], settings: LearningSettings) -> Sampled:
        """Begin the chains; raise an error if worlds cannot be sampled."""
        parameters = Parameters.of(examples[0].program)
        numbers = iter(range(2 * len(examples)))

        def prepare(program: Program) -> SampledSide:
            seed = [settings.seed, next(numbers)]
            return SampledSide(program, parameters, CHAINS, settings.budget, seed)

        return cls(parameters, both_sides(theory, examples, prepare))

    def look(self, weights: np.ndarray, sweeps: int) -> Look:
        """Sample worlds at these weights."""
        size = len(weights)
        together = size <= MOST_FULL
        expected, by_chain = np.zeros(size), np.zeros((CHAINS, sweeps, size))
        spread = np.zeros((size, size) if together else size)
        for side, times in self.sides.given.items():
            expected += times * side.drawn(weights, sweeps).mean(axis=(0, 1))
        for side, times in self.sides.free.items():
            counts = side.drawn(weights, sweeps)
            mean = counts.mean(axis=(0, 1))
            apart = (counts - mean).reshape(CHAINS * sweeps, size)
            expected -= times * mean
            spread += times / len(apart) * (apart.T @ apart if together else (apart**2).sum(axis=0))
            by_chain += times * counts
        return Look(expected, spread, by_chain)


@dataclass(eq=False)
class Trail:
    """The path of the weights. ``settled``: the steps since the last time that two in a row were as long as
    the chains can follow."""

    sampled: Sampled
    penalty: Penalty
    point: np.ndarray
    steps: int = 0
    settled: list[SettledStep] = field(default_factory=list)

    def __post_init__(self) -> None:
        look = self.sampled.look(self.point, FIRST_SWEEPS)
        self._spread, self._first_worlds = look.spread, look.worlds
        self._steepest: np.ndarray | None = None
        self._turns, self._is_far = 0, False
        self.sampled_worlds = CHAINS * FIRST_SWEEPS
        self._longest = 1 + math.sqrt(FOLLOWED * self.sampled.sides.atom_count)

    def step(self) -> None:
        """Sample worlds and take a step."""
        look = self.sampled.look(self.point, SWEEPS)
        self.steps += 1
        self.sampled_worlds += CHAINS * SWEEPS
        self._spread = (1 - MEMORY) * self._spread + MEMORY * look.spread
        self._steepest = self._most_curved() if self.penalty.l1 else None
        slope = look.expected - self.penalty.l2 * self.point
        way = self._way(slope)
        length = self._length(self._drawn_in(self.point + way) - self.point)
        far, was_far = length > self._longest, self._is_far
        self._is_far = far
        if far and was_far:  # not near the maximum yet; a single long step is noise
            self.settled.clear()
            self._turns = 0
        self._turns += bool(self.settled) and float(way @ self.settled[-1].slope) < 0
        means, variances = look.by_chain.mean(axis=1), look.by_chain.var(axis=1)
        self.settled.append(SettledStep(self.point, slope, means, variances))
        share = (1 + self._turns / EASE) ** -POWER * (self._longest / length if far else 1.0)
        self.point = self._drawn_in(self.point + share * way, share)

    @property
    def is_to_be_looked_at(self) -> bool:
        count = len(self.settled)
        return count >= LEAST_SETTLED and count % LOOKED_AT == 0

    @property
    def weights(self) -> np.ndarray:
        """Mean of the second half of the settled steps; 0 for a weight that l1 holds there in most of
        them."""
        kept = self._kept
        if not kept:
            return self.point
        points = np.stack([one.point for one in kept])
        return np.where((points == 0).mean(axis=0) > 0.5, 0.0, points.mean(axis=0))

    @property
    def still_to_gain(self) -> float:
        """Estimated gain of the penalised log-likelihood, from the mean slope and the curvature; includes
        noise."""
        if not self._kept:
            return math.inf if len(self.point) else 0.0
        weights = self.weights
        slope = np.mean([one.slope for one in self._kept], axis=0)
        corner = np.sign(weights) * self.penalty.l1
        at_zero = np.sign(slope) * np.minimum(np.abs(slope), self.penalty.l1)
        slope = slope - np.where(weights == 0, at_zero, corner)
        return 0.5 * float(slope @ self._solved(slope))

    @property
    def r_hat(self) -> float:
        """R-hat: how far the chains' mean counts differ, over the same steps; 1 if they agree."""
        if not self._kept:
            return math.inf if len(self.point) else 1.0
        means = np.stack([one.means for one in self._kept])
        within = np.mean([one.variances for one in self._kept], axis=(0, 1)) + means.var(axis=0).mean(axis=0)
        between = means.mean(axis=0).var(axis=0, ddof=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(between > 0, between / within, 0.0)
        return float(np.sqrt(1 + ratio.max(initial=0.0)))

    @property
    def is_endless(self) -> bool:
        """Whether along some direction of the weights no sampled world, of the first ones or of more sampled
        now, has a larger count than the labels: then there is no maximum (Barndorff-Nielsen 1978)."""
        look = self.sampled.look(self.weights, LAST_SWEEPS)
        given = look.expected + look.worlds.mean(axis=0)
        return _rises(given - np.concatenate([self._first_worlds, look.worlds]))

    @property
    def _kept(self) -> Sequence[SettledStep]:
        return self.settled[len(self.settled) // 2 :]

    def _way(self, slope: np.ndarray) -> np.ndarray:
        """The step along the slope: to the maximum, or, if l1 moves weights to 0 one by one, a shorter one
        that correlated counts cannot make too long (the largest eigenvalue of their correlations bounds
        it)."""
        return self._solved(slope) if self._steepest is None else slope / self._steepest

    def _most_curved(self) -> np.ndarray:
        """Upper bound of the curvature in each weight, whichever others move with it."""
        own = self._own
        if self._spread.ndim == 1:
            return own
        return np.linalg.eigvalsh(self._curvature / np.sqrt(np.outer(own, own)))[-1] * own

    def _solved(self, slope: np.ndarray) -> np.ndarray:
        """Newton's step: to the maximum if the slope were exact, nothing hidden, and the curvature constant;
        only weights with a slope move."""
        if self._spread.ndim == 1:
            return slope / self._own
        step, moving = np.zeros(len(slope)), np.flatnonzero(slope)
        step[moving] = np.linalg.solve(self._curvature[np.ix_(moving, moving)], slope[moving])
        return step

    @property
    def _own(self) -> np.ndarray:
        """Curvature in each weight alone."""
        own = (np.diag(self._spread) if self._spread.ndim == 2 else self._spread) + self.penalty.l2
        return (1 + RIDGE) * np.where(own > 0, own, 1.0)

    @property
    def _curvature(self) -> np.ndarray:
        curvature = self._spread.copy()
        np.fill_diagonal(curvature, self._own)
        return curvature

    def _length(self, step: np.ndarray) -> float:
        """Length of a step in standard deviations of the log-weight of worlds."""
        squared = float(step @ (self._spread @ step if self._spread.ndim == 2 else self._spread * step))
        return math.sqrt(max(squared, 0.0))  # rounding may make it negative

    def _drawn_in(self, point: np.ndarray, share: float = 1.0) -> np.ndarray:
        """Shrink weights towards 0 by the l1 penalty (soft thresholding)."""
        if self._steepest is None:
            return point
        less = share * (self.penalty.l1 / self._steepest)
        return np.sign(point) * np.maximum(np.abs(point) - less, 0.0)


def _rises(apart: np.ndarray) -> bool:
    """Whether along some direction no row [row, weight] falls and one rises; only along single weights if
    there are too few rows for others."""
    apart = np.where(np.abs(apart) < ROUNDING, 0.0, apart)
    if len(apart) < ROWS_A_WEIGHT * apart.shape[1]:
        one_sided = (apart >= 0).all(axis=0) | (apart <= 0).all(axis=0)
        return bool((one_sided & (apart != 0).any(axis=0)).any())
    if not apart.any():
        return False
    rows = np.unique(apart, axis=0)
    solution = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1, 1))
    return solution.status == 0 and -solution.fun > ROUNDING


@dataclass(frozen=True, eq=False)
class SettledStep:
    """A step: the weights before it, the slope there, and ``means`` and ``variances`` [chain, weight] of the
    counts over its sweeps."""

    point: np.ndarray
    slope: np.ndarray
    means: np.ndarray
    variances: np.ndarray
