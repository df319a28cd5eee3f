"""Learn rule weights by pseudo-likelihood: each known atom predicted from all others.

The objective is the sum, over all labelled atoms of the targets, of log P(its value | all other atoms), less
a penalty on the weights. Atoms that hard statements tie change together, as one atom. It is concave, and
value and gradient are exact: both are computed from the flips of every template
(:mod:`herbrand.learning.flips`), which are counted once.

>>> import herbrand as hb
>>> predicates = 'predicate smokes(person): observed\\npredicate cancer(person)'
>>> theory = hb.parse(predicates + '\\n?: smokes(x) => cancer(x)')
>>> facts = {"smokes": ["anna", "bob", "carl"], "cancer": ["anna", "bob"]}
>>> round(hb.Model(theory, facts).learn(l2=0).weights[0].weight, 4)  # two of three: log 2
0.6931
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.sparse import coo_array, csr_array

from herbrand.budget import Budget
from herbrand.errors import UnsupportedError
from herbrand.language.show import statement_text
from herbrand.language.syntax import predicates_of
from herbrand.language.theory import Theory
from herbrand.language.written_weights import weight_statements
from herbrand.learning.climbing import climb
from herbrand.learning.conditionals import Conditionals
from herbrand.learning.contradiction import refuse_contradiction
from herbrand.learning.example import Aim, Example, World, examples_of, refuse_latent
from herbrand.learning.flips import Flips, flips
from herbrand.learning.kept_weights import KeptWeights, Owners, kept_weights
from herbrand.learning.learned import Learning
from herbrand.learning.objective import Method, Term, penalty_of, report, slope_of
from herbrand.learning.parameters import Parameters
from herbrand.learning.settings import LearningSettings, kept_before
from herbrand.learning.ties import Ties, ties
from herbrand.program.evidence import LATENT

_Counted = tuple[Flips, np.ndarray | None]
METHOD = Method("pseudo-likelihood", "log pseudo-likelihood", 1000, 1e-9, errors=2000, effects=2000)


class LikelihoodTerm(Term, Protocol):
    """A sum of log-probabilities of known values, in memory or in a database: see :class:`Conditionals`."""

    def bearing(self) -> tuple[np.ndarray, np.ndarray]:
        """Masks of the weights on which some alternative depends, and of those on which a possible one
        does."""
        ...


@dataclass(frozen=True, eq=False)
class PseudoLikelihood:
    """The objective over one or several worlds: a sum of conditionals, with the key of each weight's
    column."""

    parameters: Parameters
    parts: tuple[LikelihoodTerm, ...]

    @property
    def atom_count(self) -> int:
        return int(sum(part.atom_count for part in self.parts))

    def value(self, weights: np.ndarray) -> float:
        return sum(part.value(weights) for part in self.parts)

    def value_and_gradient(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        parts = [part.value_and_gradient(weights) for part in self.parts]
        return sum(value for value, _ in parts), sum((g for _, g in parts), np.zeros(len(weights)))

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """Upper bound of the curvature in each weight."""
        return sum((part.curvature(weights) for part in self.parts), np.zeros(len(weights)))

    def hessian(self, weights: np.ndarray) -> np.ndarray:
        return sum((part.hessian(weights) for part in self.parts), np.zeros((len(weights),) * 2))

    def bearing(self) -> tuple[np.ndarray, np.ndarray]:
        """Masks of the weights on which some alternative depends, and of those on which a possible one
        does."""
        bears, possible = np.zeros((2, len(self.parameters)), dtype=bool)
        for part in self.parts:
            some, some_possible = part.bearing()
            bears |= some
            possible |= some_possible
        return bears, possible


def pseudo_likelihood(examples: Sequence[Example], budget: Budget) -> PseudoLikelihood:
    """The objective of these worlds; raise ContradictionError if their facts violate a hard statement."""
    parameters = Parameters.of(examples[0].program)
    counted = [_counted(one, budget, parameters) for one in examples]
    parts: dict[int, list[Conditionals]] = defaultdict(list)
    for one, (tied, by_predicate) in zip(examples, counted, strict=True):
        for target in one.targets:
            alternatives = one.program.value_count(target) - 1
            own = by_predicate.get(target, [])
            parts[alternatives] += _conditionals(one, target, tied.followers(target), own, len(parameters))
    return PseudoLikelihood(parameters, tuple(Conditionals.joined(own) for own in parts.values() if own))


def _counted(one: Example, budget: Budget, parameters: Parameters) -> tuple[Ties, dict[str, list[_Counted]]]:
    """Flips of one world by predicate, each with the columns of its entries."""
    tied, by_predicate = ties(one, budget), dict[str, list[_Counted]]()
    for flip in flips(one, budget, tied):
        by_predicate.setdefault(flip.predicate, []).append((flip, _columns(one, flip, parameters)))
    return tied, by_predicate


def learn(theory: Theory, worlds: Sequence[World], aim: Aim, settings: LearningSettings) -> Learning:
    """The theory with the weights that maximise the pseudo-likelihood of the worlds."""
    began = time.perf_counter()
    examples = examples_of(theory, worlds, aim, settings.budget)
    for one in examples:
        refuse_latent(one)
    return at_the_top(theory, pseudo_likelihood(examples, settings.budget), settings, began)


def at_the_top(
    theory: Theory, objective: PseudoLikelihood, settings: LearningSettings, began: float
) -> Learning:
    """The theory with the weights that maximise the objective less the penalty."""
    _refuse_fixed(theory, objective)
    penalty, keys = penalty_of(settings), objective.parameters.keys
    owners = Owners(tuple(map(statement_text, weight_statements(theory))), tuple(keys))
    path, start, taken = kept_before(settings), None, 0
    if path is not None:
        begun = kept_weights(path, owners, objective.value)
        start, taken = begun.weights, begun.steps

    def keep(step: int, value: float, weights: np.ndarray) -> None:
        if settings.save is not None:
            KeptWeights(step, weights, value).save(settings.save, owners)

    patience = replace(METHOD.patience(settings), taken=taken, keep=keep)
    top = climb(slope_of(objective, newton=True), len(keys), penalty, patience, start)
    return report(theory, objective, top, penalty, METHOD, began)


def _refuse_fixed(theory: Theory, objective: PseudoLikelihood) -> None:
    """Raise UnsupportedError if every change of an atom that a statement depends on would violate a hard
    statement."""
    bears, possible = objective.bearing()
    numbers = np.array([number for number, _ in objective.parameters.keys], dtype=np.int64)
    fixed = np.setdiff1d(numbers[bears], numbers[possible])
    if len(fixed):
        statement = weight_statements(theory)[int(fixed[0])]
        names = ", ".join(dict.fromkeys(predicates_of(statement)))
        raise UnsupportedError(
            "each change of a single atom in this statement would break a hard statement, so "
            f"pseudo-likelihood learns nothing about its weight: {statement_text(statement)}",
            span=statement.span,
            hint="--method likelihood or layers, or give it a number; where one of several atoms of "
            f"{names} has to hold, a many-valued predicate says so without a hard statement",
        )


def _columns(world: Example, flip: Flips, parameters: Parameters) -> np.ndarray | None:
    """Column of each entry; ``None`` if the weight is not learned."""
    number = flip.template.weight
    if number is None or not world.program.weights[number].learned:
        return None
    return parameters.columns(number, flip.weight_rows, world.program)


def _conditionals(
    world: Example, target: str, followers: int, flips: list[_Counted], width: int
) -> list[Conditionals]:
    """The labelled atoms of one target against their alternatives; ``followers`` of them change with another
    atom."""
    own = [_Difference.of(world, flip, columns) for flip, columns in flips]
    touched = np.unique(np.concatenate([np.empty(0, np.int64), *(difference.codes for difference in own)]))
    alternatives = world.program.value_count(target) - 1
    parts = []
    if not alternatives:
        return parts
    if len(touched):
        differences, offsets = _stacked(own, touched, alternatives, width)
        parts.append(Conditionals.of(differences, offsets))
    untouched = world.label_count(target) - followers - len(touched)
    if untouched:
        parts.append(indifferent(untouched, alternatives, width))
    return parts


def indifferent(atoms: int, alternatives: int, width: int) -> Conditionals:
    """Atoms that no weight affects."""
    alike = csr_array((alternatives, width))
    return Conditionals(alike, np.zeros((1, alternatives)), np.array([float(atoms)]))


@dataclass(frozen=True, eq=False)
class _Difference:
    """Changes of one template's count by each alternative value of some atoms."""

    codes: np.ndarray
    by: np.ndarray  # [atom, alternative]
    columns: np.ndarray | None
    log_weight: float

    @classmethod
    def of(cls, world: Example, flip: Flips, columns: np.ndarray | None) -> _Difference:
        labels = world.labels(flip.predicate, flip.codes)
        labelled = labels != LATENT
        codes, labels, counts = flip.codes[labelled], labels[labelled], flip.counts[labelled]
        alternatives = np.arange(world.program.value_count(flip.predicate) - 1)
        values = alternatives[None, :] + (alternatives[None, :] >= labels[:, None])
        now, then = np.isin(labels, flip.allowed), np.isin(values, flip.allowed)
        by = (then.astype(np.float64) - now[:, None]) * counts[:, None] * flip.template.sign
        number = flip.template.weight
        if number is None:
            refuse_contradiction(world, flip.template, flip.predicate, codes[now])
            return cls(codes, np.where(then, -np.inf, 0.0), None, 1.0)
        kept = None if columns is None else columns[labelled]
        return cls(codes, by, kept, world.program.weights[number].value)


def _stacked(
    differences: list[_Difference], touched: np.ndarray, alternatives: int, width: int
) -> tuple[Any, np.ndarray]:
    """Sum the templates' differences: those of learned weights [atom, alternative · width], and the
    others."""
    offsets = np.zeros((len(touched), alternatives))
    rows, places, values = [], [], []
    for difference in differences:
        atoms = np.searchsorted(touched, difference.codes)
        if difference.columns is None:
            np.add.at(offsets, atoms, difference.by * difference.log_weight)
            continue
        for alternative in range(alternatives):
            rows.append(atoms)
            places.append(difference.columns + alternative * width)
            values.append(difference.by[:, alternative])
    shape = (len(touched), alternatives * width)
    if not rows:
        return csr_array(shape), offsets
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(places))
    summed = coo_array(entries, shape=shape).tocsr()
    summed.eliminate_zeros()
    return summed, offsets
