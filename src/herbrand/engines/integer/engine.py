"""The most probable world by integer programming.

Guarantee: ``exact`` if the solver closes the gap between its world and its bound, and the world's log-weight,
computed again from the ground formulas, agrees; else the world is the best that was found in time, and the
answer bounds its distance from the best. It loses to elimination on narrow ground networks, and to search
where formulas are many and loose.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import numpy as np

from herbrand.answers.guarantee import Guarantee, Status
from herbrand.answers.marginals import Marginals, Row
from herbrand.budget import UNLIMITED, Budget, readable
from herbrand.engines.circuit.engine import CircuitEngine
from herbrand.engines.contradiction import no_weight
from herbrand.engines.engine import REFUSALS, Cost, Prepared, Refusal, Settings, first_state
from herbrand.engines.exact import Exact
from herbrand.engines.highs import Optimum, optimum
from herbrand.engines.integer.derived import Derived
from herbrand.engines.integer.linear import Linear
from herbrand.engines.reading import ChosenWorld, atom_tables, by_number, rows_that_hold
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.language.show import show_formula
from herbrand.program.evidence import Evidence, codes_of
from herbrand.program.expansion import instances
from herbrand.program.ground import (
    Ground,
    GroundTemplate,
    LatentAtoms,
    OwnWeights,
    ground,
    ground_template,
)
from herbrand.program.program import TRUE, Program, Template
from herbrand.program.question import Question
from herbrand.row_keys import key_columns, row_keys

SECONDS = 300.0
"""Seconds after which a search without a time limit ends, with its best world and gap."""
OPERATIONS_AN_ENTRY = 1e3
"""Guess of the operations for each entry: only packings, such as matchings, are known to need no search."""
BYTES_AN_ENTRY = 300
LEAST_OPERATIONS = 1.1e7
"""Least estimate of a program that is no packing, above what elimination answers at once."""
CLOSED = 1e-6


class Clique(NamedTuple):
    """Groups of atoms of which few may hold: group and number of each latent atom of a predicate, and for
    each group the number of atoms that may have a value in ``allowed``."""

    groups: np.ndarray
    atoms: np.ndarray
    limits: np.ndarray
    allowed: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class IntegerState:
    lasting: ClassVar[bool] = True
    ground: Ground
    question: Question
    linear: Linear
    groups: tuple[Clique, ...]
    own: OwnWeights
    values: np.ndarray | None = None
    log_weight: float = -math.inf
    bound: float = math.inf
    formulas: tuple[Row, ...] = ()
    derived: Derived | None = None

    @property
    def gap(self) -> float:
        """Upper bound on the additional log-weight of a better world."""
        return max(0.0, self.bound - self.log_weight)


@dataclass(frozen=True)
class Integer:
    """Integer programming within a budget."""

    budget: Budget = UNLIMITED
    name: str = field(default="integer", init=False)

    @classmethod
    def with_settings(cls, settings: Settings) -> Integer:
        return cls(settings.budget)

    def prepare(
        self, program: Program, question: Question, within: Budget
    ) -> Prepared[IntegerState] | Refusal:
        try:
            state = self._posed(program, question, within)
        except REFUSALS as error:
            return Refusal(error)
        entries = state.linear.entry_count + state.linear.variable_count
        is_packing = state.linear.variable_count == state.linear.atom_variables and not state.ground.templates
        operations = entries if is_packing else LEAST_OPERATIONS + OPERATIONS_AN_ENTRY * entries
        return Prepared.ready(state, Cost(operations, float(BYTES_AN_ENTRY * entries), Guarantee.EXACT))

    def _posed(self, program: Program, question: Question, within: Budget) -> IntegerState:
        if reason := _unserved(question):
            raise UnsupportedError(reason)
        evidence = Evidence(program)
        atoms = LatentAtoms(evidence, within)
        most = within.bytes / BYTES_AN_ENTRY
        linear = Linear(atoms.value_counts)
        grounded: list[GroundTemplate] = []
        groups = []
        for template in program.templates:
            within.check()
            place = exclusive_place(template, evidence)
            if place is not None:
                groups.append(_groups(template, place, evidence, atoms))
                linear.at_most_of_groups(*groups[-1])
                continue
            grounded.append(ground_template(template, evidence, atoms, within, most))
            linear.conjunction(grounded[-1].conjunction, grounded[-1].log_weight(program))
            if linear.entry_count > most:
                needed = readable(BYTES_AN_ENTRY * linear.entry_count)
                raise BudgetError(
                    f"an integer program needs more than {needed}", hint="allow more by --memory"
                )
        grounding = Ground(program, evidence, atoms, tuple(grounded))
        own = grounding.own_weights()
        for atom, value, log_weight in within.each(own.items()):
            linear.value(atom, value, log_weight)
        derived = Derived(grounding, linear, within) if program.uncertain else None
        return IntegerState(grounding, question, linear, tuple(groups), own, derived=derived)

    def step(self, state: IntegerState) -> IntegerState:
        optimum = self._solved(state.linear)
        if optimum.point is None:
            if not optimum.infeasible:
                raise BudgetError(
                    "no world was found in time",
                    hint="a longer --time-limit, or --engine mean-field, allows more",
                )
            return self._refused(state)
        values = state.linear.world(optimum.point)
        weight = _log_weight(state, values)
        if weight == -math.inf:
            raise UnsupportedError(
                "the solver's world breaks a hard statement by rounding", hint="name another engine"
            )
        bound = state.linear.constant + state.own.constant - optimum.bound
        shares = _shares(state.ground.atoms, values)
        holds = ChosenWorld(state.ground.evidence, by_number(state.ground, shares), self.budget).holds
        rows = tuple(
            Row(show_formula(written), None, (), float(holds(closed)))
            for formula in state.question.formulas
            for written, closed in instances(formula, state.ground.program)
        )
        return replace(state, values=values, log_weight=weight, bound=bound, formulas=rows)

    def residual(self, state: IntegerState) -> float:
        """Always 0: the search ends by itself, and ``read`` reports the remaining gap."""
        return 0.0

    def read(self, state: IntegerState, status: Status) -> Marginals:
        assert state.values is not None
        exact = state.gap <= CLOSED * max(1.0, abs(state.log_weight))
        if not exact:
            advice = (
                f"a better world may have up to {state.gap:.4g} more log-weight; allow more by --time-limit"
            )
            status = replace(status, converged=False, advice=advice)
        shares = _shares(state.ground.atoms, state.values)
        return Marginals(
            self.name,
            Guarantee.EXACT if exact else Guarantee.APPROXIMATION,
            status,
            tuple(atom_tables(state.ground, shares, state.question)),
            state.formulas,
            most_probable=True,
            log_weight=state.log_weight,
            diagnostics={"gap": 0.0 if exact else state.gap, "variables": state.linear.variable_count},
        )

    def _solved(self, linear: Linear) -> Optimum:
        seconds = max(0.1, self.budget.seconds_left) if self.budget.is_limited else SECONDS
        if not linear.variable_count:  # every atom is known
            return Optimum(infeasible=False, point=np.empty(0), bound=0.0)
        cost, whole = -np.concatenate(linear.objective), np.concatenate(linear.whole)
        return optimum(cost, linear.program(), whole=whole, seconds=seconds)

    def _refused(self, state: IntegerState) -> IntegerState:
        """Raise the contradiction of the statements, found by another exact engine if one can name it."""
        if state.derived is not None:
            circuit = CircuitEngine(self.budget)
            circuit.step(first_state(circuit, state.ground.program, state.question))
            raise no_weight()
        elimination = Exact(self.budget)
        prepared = elimination.prepare(state.ground.program, state.question, self.budget)
        if isinstance(prepared, Prepared):
            elimination.step(prepared.begin())
        raise no_weight()


def _unserved(question: Question) -> str:
    if not question.most_probable:
        return "integer programs give the most probable world only (--map)"
    return "integer programs do not sum out (--of)" if question.summed_out else ""


def exclusive_place(template: Template, evidence: Evidence) -> int | None:
    """The argument place in which two atoms differ that a template forbids to hold together; None if it
    does anything else.

    Such a template is a clique for each choice of the other arguments: `m(x, y) and m(x, z) => y = z`.
    """
    whole = template.conjunction
    if template.weight is not None or whole.blocks or len(whole.literals) != 2 or len(whole.distinct) != 1:
        return None
    first, second = whole.literals
    if first.predicate != second.predicate or first.allowed != second.allowed:
        return None
    if first.allowed != TRUE and not evidence.is_valued(first.predicate):
        return None
    pairs = list(zip(first.arguments, second.arguments, strict=True))
    places = [place for place, (a, b) in enumerate(pairs) if a != b]
    names = [argument for argument, _ in pairs]
    if len(places) != 1 or not all(isinstance(a, str) for pair in pairs for a in pair):
        return None
    is_free = len(set(names)) == len(names) and pairs[places[0]][1] not in names
    same = set(next(iter(whole.distinct))) == set(pairs[places[0]])
    return places[0] if is_free and same and len(whole.variables) == len(names) + 1 else None


def _groups(template: Template, place: int, evidence: Evidence, atoms: LatentAtoms) -> Clique:
    """Groups of atoms of which at most one literal holds, or none if a fact already does."""
    name, allowed = template.conjunction.literals[0].predicate, template.conjunction.literals[0].allowed
    sizes = evidence.sizes(name)

    def group_of(codes: np.ndarray) -> np.ndarray:
        columns = key_columns(codes, sizes)
        kept = [i for i in range(len(sizes)) if i != place]
        return row_keys([columns[i] for i in kept], [sizes[i] for i in kept], len(codes))

    latent = atoms.codes.get(name, np.empty(0, np.int64))
    facts = codes_of(evidence.rows(name, allowed), sizes)
    keys, groups = np.unique(group_of(latent), return_inverse=True)
    taken, counts = np.unique(group_of(facts), return_counts=True)
    if (counts > 1).any():
        ground(evidence.program, UNLIMITED)  # raises an error that names the contradicting facts
        raise no_weight()
    numbers = atoms.numbers(name, latent) if len(latent) else np.empty(0, np.int64)
    return Clique(groups, numbers, 1 - np.isin(keys, taken), allowed)


def _log_weight(state: IntegerState, values: np.ndarray) -> float:
    """Log-weight of a world, computed from the ground formulas."""
    total = state.own.constant
    if state.derived is not None and not state.derived.agrees(values):
        return -math.inf
    for template in state.ground.templates:
        log_weight = template.log_weight(state.ground.program)
        count = int(rows_that_hold(template.conjunction, values).sum()) if log_weight else 0
        total += log_weight * count if count else 0.0
    for groups, atoms, limits, allowed in state.groups:
        if (np.bincount(groups, np.isin(values[atoms], allowed), minlength=len(limits)) > limits).any():
            return -math.inf
    own = state.own
    return total + float(own.log_weights[values[own.atoms] == own.values].sum())


def _shares(atoms: LatentAtoms, values: np.ndarray) -> np.ndarray:
    """Probability 1 for the value of each atom, [atom, value]."""
    widest = int(max(atoms.value_counts, default=2))
    shares = np.zeros((atoms.count, widest))
    shares[np.arange(atoms.count), values] = 1.0
    return shares
