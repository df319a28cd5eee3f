"""Exact inference: the log-partition by variable elimination, all marginals at once as its gradient.

Guarantee: ``exact``, up to rounding. Cost: exponential in the width of the ground network, which the planner
estimates before any work; above the memory budget or :attr:`Exact.most_operations` the engine refuses. The
most probable world is the same elimination in the max algebra, whose gradient points at one best assignment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from herbrand.answers.explanation import Explanation, Reason
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee, Status
from herbrand.answers.marginals import Marginals, Row
from herbrand.budget import UNLIMITED, Budget, readable
from herbrand.engines.contradiction import contradicting, no_weight, smallest_in_cells
from herbrand.engines.elimination import Eliminated, Elimination, planned
from herbrand.engines.engine import REFUSALS, Cost, Prepared, Refusal, Settings
from herbrand.engines.formula_shares import FormulaShares
from herbrand.engines.reading import ChosenWorld, ExplainedAtom, QueriedTables, by_number, forced
from herbrand.errors import BudgetError, HerbrandError
from herbrand.extras import later
from herbrand.factors.graph import FactorGraph
from herbrand.factors.ground_graph import ground_graph
from herbrand.factors.program_graph import ProgramGraph
from herbrand.language.show import show_formula, statement_text
from herbrand.program.expansion import instances
from herbrand.program.ground import MOST_GROUNDINGS, Ground, ground
from herbrand.program.normal_form import refuse_many_cases
from herbrand.program.program import Program
from herbrand.program.question import Question

if TYPE_CHECKING:
    from herbrand.engines.attribution import Attributable

_attributable = later("herbrand.engines.attribution:attributable")
_shared_out = later("herbrand.engines.attribution:shared_out")
OPERATIONS_A_SECOND = 3e7
"""Cautious number of operations a second, to decide beforehand if a time limit can be kept. Log-sums with
their derivatives do 4e7 a second over grids of two values an atom, 2e8 over large dense tables."""
OPERATIONS_A_STEP = 2e4
"""Overhead of a step in operations: calls of 0.1 to 0.5 ms, most of the time if tables are small and many."""


def operations_in(budget: Budget, otherwise: float) -> float:
    """Number of operations that may be planned for the time left, at most ``otherwise``."""
    return min(otherwise, OPERATIONS_A_SECOND * budget.seconds_left)


@dataclass(frozen=True, eq=False)
class ExactState:
    """A planned elimination, with its sums after the one step, and that of an explanation, if one is asked
    for."""

    lasting: ClassVar[bool] = True
    queried: QueriedTables
    elimination: Elimination
    attributable: Attributable | None = None
    sums: Eliminated | None = None
    formulas: tuple[Row, ...] = ()

    @property
    def ground(self) -> Ground:
        return self.queried.ground

    @property
    def question(self) -> Question:
        return self.queried.question


@dataclass(frozen=True)
class Exact:
    """Variable elimination over ground templates, within ``budget`` and ``most_operations``."""

    budget: Budget = UNLIMITED
    most_operations: float = 1e12
    name: str = field(default="exact", init=False)
    whole_tables: bool = field(default=True, init=False)

    @classmethod
    def with_settings(cls, settings: Settings) -> Exact:
        return cls(settings.budget)

    def prepare(self, program: Program, question: Question, within: Budget) -> Prepared[ExactState] | Refusal:
        try:
            refuse_many_cases(question.formulas)
            state = self._planned(program, question, within)
        except REFUSALS as error:
            return Refusal(error)
        elimination = state.elimination
        return Prepared.ready(state, Cost(elimination.operations, elimination.bytes, Guarantee.EXACT))

    def _planned(self, program: Program, question: Question, within: Budget) -> ExactState:
        grounded = ground(program, within, MOST_GROUNDINGS)
        algebra = "maximum" if question.most_probable else "log"
        built = ground_graph(grounded, within, by_formula=False)
        plan = planned(built.graph, grounded.atoms.count, algebra, budget=within)
        self.refuse_too_much(plan)
        explained = self._attributable(grounded, built, question) if question.explained else None
        return ExactState(QueriedTables(grounded, question), plan, explained)

    def _attributable(self, grounded: Ground, built: ProgramGraph, question: Question) -> Attributable | None:
        """Plan of the explanation, which is larger; None for an atom that is known."""
        queried = ExplainedAtom.of(question, grounded.evidence)
        if queried.known is not None:
            return None
        atom = queried.axis(grounded.atoms)
        return _attributable(grounded, built, atom, queried.value, self.refuse_too_much)

    def step(self, state: ExactState) -> ExactState:
        sums = state.elimination.run()
        if sums.total == -math.inf:
            raise self._contradiction(state.ground)
        return replace(state, sums=sums, formulas=self._formula_rows(state, sums))

    def _contradiction(self, grounded: Ground) -> HerbrandError:
        """Error for a program in which no world has a weight; a smallest contradictory set is searched
        for among templates."""
        return smallest_in_cells(grounded, self.budget, self._satisfiable) or no_weight()

    def residual(self, state: ExactState) -> float:
        return 0.0

    def read(self, state: ExactState, status: Status) -> Marginals:
        assert state.sums is not None
        likeliest = state.question.most_probable
        return Marginals(
            self.name,
            Guarantee.EXACT,
            status,
            tuple(state.queried.filled(np.clip(state.sums.shares, 0.0, 1.0))),
            state.formulas,
            None if likeliest else state.sums.total,
            None if likeliest else PartitionGuarantee.EXACT,
            likeliest,
            state.sums.total if likeliest else None,
        )

    def explain(self, state: ExactState, status: Status) -> Explanation:
        """Share the atom's log-odds out exactly among groundings and soft evidence."""
        assert state.attributable is not None
        ground = state.ground
        queried = ExplainedAtom.of(state.question, ground.evidence)
        shared_out = _shared_out(state.attributable)
        reasons = shared_out.reasons
        if not math.isfinite(shared_out.value):
            reasons = self._forcing(ground, queried.axis(ground.atoms), queried.value, shared_out.value)
        return queried.explained(shared_out.value, self.name, Guarantee.EXACT, reasons, shared_out.base)

    def _forcing(self, ground: Ground, atom: int, value: int, log_odds: float) -> tuple[Reason, ...]:
        """Reasons from a smallest set of hard statements without which the atom could have another value."""
        size = int(ground.atoms.value_counts[atom])
        others = np.flatnonzero((np.arange(size) == value) == (log_odds > 0))
        numbers = contradicting(ground, self._satisfiable, (atom, others)) or ()
        texts = [statement_text(ground.program.statements[number]) for number in numbers]
        return tuple(Reason(text, {}, log_odds) for text in texts) or (forced(log_odds),)

    def refuse_too_much(self, elimination: Elimination) -> None:
        """Raise ``BudgetError`` before anything is allocated if the plan exceeds the limits."""
        allowed = self.budget.bytes
        atoms = f"with {elimination.core.atom_count:,} latent atoms"
        if elimination.bytes > allowed:
            raise BudgetError(
                f"exact inference needs about {readable(elimination.bytes)} {atoms} and may use "
                f"{readable(allowed)}",
                hint="allow more by --memory",
            )
        most = operations_in(self.budget, self.most_operations)
        operations = elimination.operations + OPERATIONS_A_STEP * elimination.steps
        if operations > most:
            raise BudgetError(
                f"exact inference would take about {operations:.0e} operations {atoms}; at most {most:.0e} "
                "are allowed",
                hint="a longer --time-limit allows more",
            )

    def _satisfiable(self, graph: FactorGraph, atom_count: int) -> bool:
        """Whether some world has a weight."""
        return planned(graph, atom_count, "maximum", gradient=False).run().total > -math.inf

    def _formula_rows(self, state: ExactState, sums: Eliminated) -> tuple[Row, ...]:
        """Rows with the probability of every instance of the queried formulas; 1 or 0 in the
        most probable world."""
        queried = [
            pair for formula in state.question.formulas for pair in instances(formula, state.ground.program)
        ]
        closed = [formula for _, formula in queried]
        if not closed:
            return ()
        if state.question.most_probable:
            look_up = by_number(state.ground, sums.shares)
            world = ChosenWorld(state.ground.evidence, look_up, self.budget)
            shares = [float(world.holds(formula)) for formula in closed]
        else:
            shares = FormulaShares(
                state.ground, state.elimination, sums, self.budget, self.refuse_too_much
            ).of(closed)
        return tuple(
            Row(show_formula(written), None, (), share)
            for (written, _), share in zip(queried, shares, strict=True)
        )
