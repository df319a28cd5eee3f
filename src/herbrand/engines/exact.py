"""Exact inference: the log-partition by variable elimination, all marginals at once as its gradient.

Guarantee: ``exact``, up to rounding. Cost: exponential in the width of the ground network, which the planner
estimates before any work; above the memory budget or :attr:`Exact.most_operations` the engine refuses. The
most probable world is the same elimination in the max algebra, whose gradient points at one best assignment.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from herbrand.answers.explanation import Explanation, Reason
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee
from herbrand.answers.marginals import Marginals, Row
from herbrand.answers.status import Status
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.attribution import attributed
from herbrand.engines.contradiction import contradicting, smallest_contradiction
from herbrand.engines.contradiction_error import no_weight
from herbrand.engines.elimination import Elimination, Found, planned, refuse_hopeless
from herbrand.engines.engine import Settings, Support
from herbrand.engines.explained_atom import Asked, forced
from herbrand.engines.ground_network import Network, Scope, add_template, network_of
from herbrand.engines.reading import atom_tables, by_number
from herbrand.engines.truth_in_world import ChosenWorld
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.language.show import show_formula, show_statement
from herbrand.language.syntax import Formula
from herbrand.memory import readable
from herbrand.program.ground import Ground, ground, ground_template
from herbrand.program.instances import instances
from herbrand.program.lower import forbidding
from herbrand.program.network_cells import in_cells
from herbrand.program.program import Program
from herbrand.program.question import Question

OPERATIONS_A_SECOND = 1e8
"""A cautious figure, to know beforehand whether a time limit can be kept."""

MOST_GROUNDINGS = 3_000_000
"""Each grounding becomes a part of a table, one by one; above this many another engine is the better tool."""


def operations_in(seconds: float | None, otherwise: float) -> float:
    """How many may be planned for a time limit; without one, ``otherwise``."""
    return otherwise if seconds is None else OPERATIONS_A_SECOND * seconds


@dataclass(frozen=True, eq=False)
class ExactState:
    """A planned elimination, and after the one step what it found."""

    ground: Ground
    question: Question
    elimination: Elimination
    found: Found | None = None
    formulas: tuple[Row, ...] = ()

    @property
    def network(self) -> Network:
        return self.elimination.network


@dataclass(frozen=True)
class Exact:
    """Variable elimination over ground templates, within ``memory`` bytes and ``most_operations``."""

    budget: Budget = UNLIMITED
    most_operations: float = 1e12
    name: str = field(default="exact", init=False)
    whole_tables: bool = field(default=True, init=False)

    @classmethod
    def with_settings(cls, settings: Settings) -> Exact:
        return cls(settings.budget, operations_in(settings.budget.seconds, cls.most_operations))

    def supports(self, program: Program, question: Question) -> Support:
        try:
            state = self.start(program, question)
            self.refuse_too_much(state.elimination)
        except (BudgetError, UnsupportedError) as error:
            return Support(False, error.mistakes[0].message)
        elimination = state.elimination
        return Support(True, "", elimination.operations, elimination.bytes, state, Guarantee.EXACT)

    def start(self, program: Program, question: Question) -> ExactState:
        grounded = ground(program, self.budget, MOST_GROUNDINGS)
        refuse_hopeless(grounded, self.budget)
        algebra = "maximum" if question.most_probable else "log"
        network = network_of(grounded, self.budget)
        return ExactState(grounded, question, planned(network, algebra, budget=self.budget))

    def step(self, state: ExactState) -> ExactState:
        self.refuse_too_much(state.elimination)
        found = state.elimination.with_isolated(state.elimination.run())
        if found.total == -math.inf:
            celled = state.ground
            if celled.program.tables:  # statements are looked for among templates
                celled = ground(in_cells(celled.program), self.budget, MOST_GROUNDINGS)
            raise smallest_contradiction(celled, self._satisfiable) or no_weight()
        return replace(state, found=found, formulas=self._formula_rows(state, found))

    def residual(self, state: ExactState) -> float:
        return 0.0

    def read(self, state: ExactState, status: Status) -> Marginals:
        assert state.found is not None
        likeliest = state.question.most_probable
        return Marginals(
            self.name,
            Guarantee.EXACT,
            status,
            tuple(atom_tables(state.ground, np.clip(state.found.shares, 0.0, 1.0), state.question)),
            state.formulas,
            None if likeliest else state.found.total,
            None if likeliest else PartitionGuarantee.EXACT,
            likeliest,
            state.found.total if likeliest else None,
        )

    def explain(self, state: ExactState, status: Status) -> Explanation:
        """The log-odds of the atom asked for, shared out exactly among groundings and soft evidence."""
        ground = state.ground
        asked = Asked.of(state.question, ground.evidence)
        atom = int(ground.atoms.numbers(asked.predicate, asked.codes)[0])
        found = attributed(ground, atom, asked.value, self.refuse_too_much)
        if math.isfinite(found.value):
            reasons, remainder = found.reasons, found.remainder
        else:
            reasons, remainder = self._forcing(ground, atom, asked.value, found.value), 0.0
        return Explanation(
            asked.text,
            "log-odds",
            found.value,
            self.name,
            Guarantee.EXACT,
            reasons,
            found.base if math.isfinite(found.value) else 0.0,
            remainder,
        )

    def _forcing(self, ground: Ground, atom: int, value: int, log_odds: float) -> tuple[Reason, ...]:
        """A smallest set of hard statements without which the atom could be otherwise."""
        size = int(ground.atoms.value_counts[atom])
        forbidden = np.where((np.arange(size) == value) == (log_odds > 0), -math.inf, 0.0)
        numbers = contradicting(ground, self._satisfiable, {(atom,): forbidden}) or ()
        texts = [next(show_statement(ground.program.statements[number])) for number in numbers]
        return tuple(Reason(text, {}, log_odds) for text in texts) or (forced(log_odds),)

    def refuse_too_much(self, elimination: Elimination) -> None:
        """Raise before anything is allocated where the plan is above the limits."""
        allowed = self.budget.bytes
        atoms = f"with {elimination.network.atom_count:,} latent atoms"
        if elimination.bytes > allowed:
            raise BudgetError(
                f"exact inference needs about {readable(elimination.bytes)} {atoms} and may use "
                f"{readable(allowed)}",
                hint="allow more by --memory",
            )
        if elimination.operations > self.most_operations:
            raise BudgetError(
                f"exact inference would take about {elimination.operations:.0e} operations {atoms}; at most "
                f"{self.most_operations:.0e} are allowed",
                hint="a longer --time-limit allows more",
            )

    def _satisfiable(self, network: Network) -> bool:
        """Whether some world has a weight."""
        return planned(network, "maximum", gradient=False).run().total > -math.inf

    def _formula_rows(self, state: ExactState, found: Found) -> tuple[Row, ...]:
        """The probability of every instance of the queried formulas; 1 or 0 in the most probable world."""
        if state.question.most_probable:
            look_up = by_number(state.ground, found.shares)
            probability = ChosenWorld(state.ground.evidence, look_up, self.budget).holds
        else:
            parts = _Parts(state.network, state.elimination.labels)
            probability = partial(self._probability, state, found, parts)
        return tuple(
            Row(show_formula(said), None, (), float(probability(closed)))
            for asked in state.question.formulas
            for said, closed in instances(asked, state.ground.program)
        )

    def _probability(self, state: ExactState, found: Found, parts: _Parts, formula: Formula) -> float:
        """The share of the partition that worlds with the formula have."""
        extra = Network(list(state.network.sizes), state.network.atom_count)
        for template in forbidding(state.ground.program, formula):
            rows = ground_template(template, state.ground.evidence, state.ground.atoms, self.budget)
            add_template(extra, rows, ())
        if extra.constant == -math.inf:
            return 0.0
        touched = parts.touched(extra)
        elimination = planned(parts.joined(extra, touched), state.elimination.algebra, False, self.budget)
        self.refuse_too_much(elimination)
        with_formula = elimination.run().total
        without = sum(found.component_totals[label] for label in touched)
        return min(1.0, math.exp(with_formula - without))


@dataclass(frozen=True, eq=False)
class _Parts:
    """The components of a network, to look at a few of them again."""

    network: Network
    labels: np.ndarray

    @cached_property
    def scopes(self) -> dict[int, list[Scope]]:
        found: dict[int, list[Scope]] = defaultdict(list)
        for scope in self.network.tables:
            found[int(self.labels[scope[0]])].append(scope)
        return found

    def touched(self, extra: Network) -> set[int]:
        """The components whose atoms the extra tables speak of."""
        count = len(self.network.sizes)
        return {int(self.labels[axis]) for scope in extra.tables for axis in scope if axis < count}

    def joined(self, extra: Network, labels: set[int]) -> Network:
        """The tables of these components and the extra ones."""
        joint = Network(extra.sizes, extra.atom_count, constant=extra.constant)
        for label in labels:
            for scope in self.scopes.get(label, ()):
                joint.tables[scope] = self.network.tables[scope]
        for scope, table in extra.tables.items():
            joint.add(scope, table)
        return joint
