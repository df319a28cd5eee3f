"""Expected counts of learned statements' true groundings in a program's worlds, at any weights.

The log-partition of a program is a function of the learned weights; its gradient is the expected number of
true groundings of each. A :class:`Side` is prepared once for a program and then evaluated at many weights: by
elimination of the ground network, whose tables are linear in the weights, or by lifted counting, whichever is
cheaper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array, csr_array

from herbrand.answers.guarantee import Guarantee
from herbrand.budget import Budget
from herbrand.engines.components import Core, chained
from herbrand.engines.contradiction import contradiction, no_weight
from herbrand.engines.elimination import Elimination, planned_entirely
from herbrand.engines.exact import Exact
from herbrand.engines.lifted.engine import TOTAL_ONLY
from herbrand.engines.lifted.problem import Problem, problem_of
from herbrand.engines.lifted.terms import NotLiftableError
from herbrand.errors import BudgetError, OutOfTimeError, UnsupportedError
from herbrand.factors.ground_graph import ground_graph
from herbrand.learning.both_sides import refuse_cancellation
from herbrand.learning.groundings import Groundings
from herbrand.learning.parameters import Parameters
from herbrand.program.evidence import Evidence
from herbrand.program.ground import MOST_GROUNDINGS, ground
from herbrand.program.program import Program

AT_ONCE = 1e6
"""Operations for one gradient up to which grounding is used without comparing costs."""
MOST_COUNTED = 1e9
"""Most groundings of one statement: differences of such counts keep seven decimals."""
A_GROUNDING = 100.0
"""Estimated operations to ground one statement for one assignment of constants."""


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts in a program's worlds. ``expected`` [weight]: true groundings; ``spread`` [weight]: sum of the
    variances of single groundings, ``None`` if these are not computed one by one."""

    log_partition: float
    expected: np.ndarray
    spread: np.ndarray | None


def side_of(program: Program, parameters: Parameters, budget: Budget, most_operations: float) -> Side:
    """The cheapest exact way to count; raise BudgetError with the reason against each way if there is
    none."""
    refuse_cancellation(program, MOST_COUNTED)
    try:
        grounded: GroundSide | BudgetError = GroundSide.of(program, parameters, budget, most_operations)
    except OutOfTimeError:
        raise
    except BudgetError as error:
        grounded = error
    if isinstance(grounded, GroundSide) and grounded.operations <= AT_ONCE:
        return grounded
    try:
        counting = LiftedSide.of(program, parameters, budget, most_operations)
    except (NotLiftableError, UnsupportedError) as error:
        if isinstance(grounded, GroundSide):
            return grounded
        raise BudgetError(
            f"the likelihood needs exact counts: {grounded.mistakes[0].message}; without grounding: {error}",
            hint="--method pseudo-likelihood needs none where every atom is known, and layers is approximate",
        ) from None
    if isinstance(grounded, GroundSide) and grounded.operations <= counting.operations:
        return grounded
    return counting


# Ground


@dataclass(frozen=True, eq=False)
class GroundSide:
    """Elimination of a factor graph whose weights and tables are ``base + entries @ columns @ weights``.

    ``entries`` [entry, grounding] is 1 where the grounding holds, ``columns`` [grounding, weight] its
    coefficient for each weight.
    """

    elimination: Elimination
    groundings: Groundings
    engine: str = "exact"
    guarantee: Guarantee = Guarantee.EXACT

    @classmethod
    def of(
        cls, program: Program, parameters: Parameters, budget: Budget, most_operations: float
    ) -> GroundSide:
        grounded = ground(program, budget, min(MOST_GROUNDINGS, int(most_operations / A_GROUNDING)))
        groundings = Groundings(grounded, parameters)
        built = ground_graph(grounded, budget, by_formula=False, log_weights=groundings.without_learned())
        elimination = planned_entirely(Core.whole(chained(built.graph), grounded.atoms.count), budget)
        Exact(budget, most_operations).refuse_too_much(elimination)
        if elimination.run().total == -math.inf:
            raise contradiction(program, budget, cls.engine)
        groundings.gather(built, elimination.table_places, built.graph.starts)
        return cls(elimination, groundings)

    @property
    def operations(self) -> float:
        return self.elimination.operations + self.entries.nnz

    @cached_property
    def entries(self) -> csr_array:
        return self.groundings.entries(len(self.elimination.values))

    @cached_property
    def transposed(self) -> tuple[csc_array, csc_array, csc_array]:
        """``entries``, ``columns`` and its squares. To transpose one takes longer than to multiply by it."""
        columns = self.groundings.columns
        return self.entries.T, columns.T, columns.power(2).T

    def at(self, weights: np.ndarray) -> Counts:
        columns, certain = self.groundings.columns, self.groundings.certain
        by_grounding, by_weight, squares = self.transposed
        values = self.elimination.values + self.entries @ (columns @ weights)
        total, shares = self.elimination.joint_shares(values)
        if total == -math.inf:
            raise no_weight()
        # Rounding may leave shares slightly outside [0, 1], and then variances below 0.
        holds = np.clip(by_grounding @ shares, 0.0, 1.0)
        return Counts(
            self.elimination.graph.constant + total + float(certain @ weights),
            certain + by_weight @ holds,
            squares @ (holds * (1 - holds)),
        )


# Lifted


@dataclass(frozen=True, eq=False)
class LiftedSide:
    """Lifted counting; ``places``: column of each of the program's learned weights, by its number."""

    program: Program
    places: dict[int, int]
    budget: Budget
    operations: float
    engine: str = "lifted"
    guarantee: Guarantee = Guarantee.EXACT

    @classmethod
    def of(
        cls, program: Program, parameters: Parameters, budget: Budget, most_operations: float
    ) -> LiftedSide:
        """Plan the counting; raise NotLiftableError if it is not possible, or for weights by constant."""
        learned = {n: w for n, w in enumerate(program.weights) if w.learned}
        if any(weight.by for weight in learned.values()):
            raise NotLiftableError("weights that are learned for each constant need the groundings")
        side = cls(program, {n: parameters.column(n) for n in learned}, budget, 0.0)
        cost = side.problem(np.ones(len(parameters))).cost(TOTAL_ONLY)
        if cost.operations > most_operations or cost.bytes > budget.bytes:
            raise NotLiftableError(f"counting would take about {cost.operations:.0e} operations")
        return replace(side, operations=2 * cost.operations)

    def problem(self, weights: np.ndarray) -> Problem:
        """The program at these weights."""
        own = list(self.program.weights)
        for number, column in self.places.items():
            own[number] = replace(own[number], value=float(weights[column]))
        program = replace(self.program, weights=tuple(own))
        return problem_of(program, Evidence(program))

    def at(self, weights: np.ndarray) -> Counts:
        problem = self.problem(weights)
        if problem.total == -math.inf:
            raise contradiction(self.program, self.budget, self.engine)
        slopes, expected = problem.slopes(), np.zeros(len(weights))
        for number, column in self.places.items():
            expected[column] = slopes[number]
        return Counts(problem.total, expected, None)


Side = GroundSide | LiftedSide
"""Counts of a program at any weights of its learned statements. ``operations``: estimate for one
evaluation."""
