"""A program as a counting problem: one summation for each choice of values of the switches.

Switches are propositions in formulas about linked pairs. Most programs have none, and need one summation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from herbrand import arrays
from herbrand.arrays import Array
from herbrand.budget import UNLIMITED, Budget
from herbrand.contraction.algebra import algebra_named
from herbrand.engines.lifted.atom_probabilities import AtomProbabilities
from herbrand.engines.lifted.costs import Cost, clamps, cost_of
from herbrand.engines.lifted.exchangeable_model import exchangeable_model_of
from herbrand.engines.lifted.families import families_of
from herbrand.engines.lifted.summation import Summation
from herbrand.engines.lifted.tabulated import numbers_of, tabulated
from herbrand.engines.lifted.terms import NotLiftableError, Terms
from herbrand.engines.lifted.unmentioned_atoms import is_unmentioned, unmentioned_shares, unmentioned_total
from herbrand.engines.lifted.world import AlikeWorld
from herbrand.program.evidence import Evidence
from herbrand.program.lower import in_cells
from herbrand.program.program import Program, Template
from herbrand.program.question import Question

MOST_BRANCHES = 256


@dataclass(frozen=True, eq=False)
class Problem:
    """A counting problem. ``summations``: one for each choice of switches; ``elsewhere``: log-weight of the
    atoms that no statement mentions."""

    evidence: Evidence
    summations: tuple[Summation, ...]
    numbers: Array
    elsewhere: Array
    most: bool

    def cost(self, question: Question, budget: Budget = UNLIMITED) -> Cost:
        """Cost of all summations that answer the question, and of their gradients."""
        signature = self.evidence.program.signature
        queried = set(signature.predicates) if question.everything else {p.predicate for p in question.atoms}
        costs = [
            cost_of(s, budget).times(1 + (0 if self.most else clamps(s, queried))) for s in self.summations
        ]
        return Cost(sum(c.operations for c in costs), max(c.bytes for c in costs))

    @cached_property
    def total(self) -> float:
        """The log-partition, or the largest log-weight; minus infinity where no world is possible."""
        with arrays.unrecorded():
            return float(self._total())

    def slopes(self) -> np.ndarray:
        """Derivative of the total by each weight, and last by the factor of soft evidence."""
        (slopes,) = arrays.gradients(self._total(), [self.numbers])
        return np.zeros(len(self.numbers)) if slopes is None else slopes

    def _total(self) -> Array:
        totals = arrays.stack([s.total() for s in self.summations])
        return (totals.max() if self.most else arrays.logsumexp(totals, 0)) + self.elsewhere


@dataclass(frozen=True, eq=False)
class Solution:
    """A solved problem. ``weighted``: for each choice of switches, its share of the total and its
    probabilities."""

    problem: Problem
    total: float
    weighted: tuple[tuple[float, AtomProbabilities | AlikeWorld], ...]

    def of(self, predicate: str, codes: np.ndarray) -> np.ndarray:
        """Probability of each value of these latent atoms [atom, value]."""
        if is_unmentioned(predicate, self.problem.evidence.program):
            return unmentioned_shares(predicate, self.problem.evidence, codes, self.problem.most)
        return np.clip(sum(share * shares.of(predicate, codes) for share, shares in self.weighted), 0.0, 1.0)


def posed(program: Program, most: bool = False, budget: Budget = UNLIMITED) -> Problem:
    """The problem of a program. Networks' tables that are too wide are refused before their cells become
    templates. Raises :class:`~herbrand.engines.lifted.terms.NotLiftableError`."""
    if program.tables:
        families_of(Terms((), ()), program)
        program = in_cells(program)
    return problem_of(program, Evidence(program), (), most, budget=budget)


def problem_of(
    program: Program,
    evidence: Evidence,
    extra: Sequence[Template] = (),
    most: bool = False,
    scale: float = 1.0,
    by_class: bool = False,
    budget: Budget = UNLIMITED,
) -> Problem:
    """The problem of a program with ``extra`` templates, all weights times ``scale``; ``most``: for its
    likeliest world; ``by_class``: elements with different evidence are in different pools.

    Raises :class:`~herbrand.engines.lifted.terms.NotLiftableError`.
    """
    model = exchangeable_model_of(program, (*program.templates, *extra), evidence, by_class, budget)
    algebra = algebra_named("maximum" if most else "log")
    numbers = numbers_of(program, scale).watch()
    values = [range(program.value_count(name)) for name in model.switches]
    if math.prod(map(len, values)) > MOST_BRANCHES:
        raise NotLiftableError(f"pairs depend on {len(values)} propositions, whose values would all be tried")
    summations = tuple(
        Summation(tabulated(model, dict(zip(model.switches, choice, strict=True)), numbers, algebra, budget))
        for choice in product(*values)
    )
    elsewhere = [
        unmentioned_total(name, evidence, numbers[-1], most)
        for name in program.signature.predicates
        if is_unmentioned(name, program)
    ]
    total = arrays.stack([arrays.zeros(()), *elsewhere]).sum()
    return Problem(evidence, summations, numbers, total, most)


def unweighted(problem: Problem) -> Problem:
    """The hard statements and the evidence alone, for one world that satisfies them.

    Every weight and all soft evidence are multiplied by 0, and the maximum counts no ways, so that every term
    is 0 or minus infinity: there is no rounding and no underflow, and a total of minus infinity proves that
    there is no world.
    """
    return problem_of(problem.evidence.program, problem.evidence, most=True, scale=0.0)


def solved(problem: Problem, budget: Budget = UNLIMITED) -> Solution:
    """The total and all probabilities, read within a budget; without probabilities where the total is minus
    infinity."""
    possible = [summation for summation in problem.summations if not summation.impossible]
    summed = [(summation, summation.sums()) for summation in possible]
    totals = np.array([float(sums.total) for _, sums in summed])
    best = totals.max(initial=-np.inf)
    if best == -np.inf:
        return Solution(problem, -math.inf, ())
    if problem.most:
        summation, sums = summed[int(totals.argmax())]
        return Solution(
            problem, float(best + problem.elsewhere.detach()), ((1.0, AlikeWorld(summation, sums)),)
        )
    shares = np.exp(totals - best)
    total = float(best + np.log(shares.sum()) + problem.elsewhere.detach())
    weighted = tuple(
        (float(share), AtomProbabilities(summation, sums, budget))
        for share, (summation, sums) in zip(shares / shares.sum(), summed, strict=True)
        if share > 0
    )
    return Solution(problem, total, weighted)
