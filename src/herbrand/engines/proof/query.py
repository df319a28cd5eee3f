"""The program of the engine ``proof``: a theory's rules over its facts, with cached plans.

:class:`Proof` is built once for a theory and its facts; :meth:`Proof.found` answers goals of one shape in one
pass.

>>> from herbrand.facts.load import fact_sources, load_facts
>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory("uncle(x, y) :- parent(x, z), brother(z, y)")
>>> facts = fact_sources({"parent": [("liam", "ann")], "brother": [("ann", "bob")]})
>>> proof = Proof.of(theory.rules, *load_facts((), check(theory), facts))
>>> goal = proof.read('uncle("liam", y)')
>>> proof.found(goal.shape, [goal.inputs], Request()).table.values
array([1.])
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from herbrand.answers.bindings import Bindings
from herbrand.answers.guarantee import Guarantee, Status
from herbrand.engines.proof.arithmetic import Arithmetic, Numbers, refuse_overflow
from herbrand.engines.proof.chances import check_probabilities, refuse_uncertain_absence
from herbrand.engines.proof.fixpoint import SAME, Fixpoint, Provable, advice_without_end
from herbrand.engines.proof.goals import Goal, NarrowError, Shape, read_goal, widened
from herbrand.engines.proof.horn_program import HornProgram, denied_but_derived
from herbrand.engines.proof.planning import Plans
from herbrand.engines.proof.request import FIXPOINT, INDEPENDENT, PROBABILITY, Request
from herbrand.engines.proof.steps import Runner, outputs_named
from herbrand.engines.proof.table import ROW, Table, without_zeros
from herbrand.engines.proof.unrolled import QueriedRows, Unrolled, is_cut_off
from herbrand.errors import BudgetError, LanguageError, UnsupportedError
from herbrand.extras import later
from herbrand.facts.domain import indices_in
from herbrand.facts.facts import Facts
from herbrand.language.signature import Signature
from herbrand.language.syntax import FactRows, Formula, Rule, Value
from herbrand.program.clauses import Clause
from herbrand.row_keys import Keys, ascend, each_in, row_keys, stable_order

_probable = later("herbrand.engines.proof.probability:probable")
_possible_worlds = later("herbrand.engines.proof.probability:PossibleWorlds")
"""Imported late, as circuits are needed for probabilities only."""


@dataclass(frozen=True, eq=False)
class GoalAnswers:
    """Answers of one pass, with columns (goal, variables' indices...), guarantee and status.

    ``truncated``: whether the depth cut off a proof that changes them.
    """

    table: Table
    guarantee: Guarantee
    status: Status
    truncated: bool


class Proof:
    """A theory's rules over its facts, with caches of plans and goals."""

    def __init__(self, program: HornProgram, given: Sequence[FactRows] = ()) -> None:
        self.plans, self.given = Plans(program), tuple(given)
        self._wider: dict[tuple[tuple[str, ...], Value | None], Proof] = {}
        self._goals: dict[tuple[str | Formula, tuple[str, ...]], Goal] = {}
        self._denied: dict[str, np.ndarray] = {}

    @classmethod
    def of(
        cls, rules: Sequence[Rule], signature: Signature, facts: Facts, given: Sequence[FactRows] = ()
    ) -> Proof:
        """Build a proof program; ``given``: the literals of the condition.

        For probabilities they must not be among the facts; for other algebras those of base predicates are.
        """
        return cls(HornProgram.of(rules, signature, facts), given)

    @property
    def program(self) -> HornProgram:
        return self.plans.program

    def found(self, shape: Shape, inputs: Sequence[Sequence[int]], request: Request) -> GoalAnswers:
        """Answer goals of one shape; constants are indices.

        The answers are truncated if the depth cut off a proof that changes them.
        """
        if request.algebra == PROBABILITY:
            return self._probably(shape, inputs, request)
        self._refuse_evidence(shape.clause, request)
        if request.algebra == INDEPENDENT:
            check_probabilities(self.program, self.program.reached([shape.clause]))
            refuse_uncertain_absence(self.program, [shape.clause])
        began = time.perf_counter()
        arithmetic = request.arithmetic()
        provable = Provable(self.plans, request.budget)
        runner = Runner(self.plans, arithmetic, request.budget, provable)
        if request.depth == FIXPOINT:
            return self._to_fixpoint(shape, inputs, runner, request, began)
        unrolled = Unrolled(runner)
        question = self.question(shape, inputs, runner.arithmetic)
        table = unrolled.answers(question, int(request.depth) + 1)
        known = None if arithmetic.weighted else table
        truncated = unrolled.cut and is_cut_off(runner, unrolled, question, int(request.depth) + 1, known)
        if truncated and arithmetic.best and arithmetic.weighted:
            deeper = Unrolled(runner).answers(question, int(request.depth) + 2)
            truncated = not _are_alike(table, deeper) or self._have_better(table, shape, inputs, runner)
        status = Status(True, int(request.depth), time.perf_counter() - began)
        return GoalAnswers(table, request.guarantee(truncated), status, truncated)

    def _have_better(
        self, table: Table, shape: Shape, inputs: Sequence[Sequence[int]], runner: Runner
    ) -> bool:
        """Whether a deeper proof is better than the best in ``table``.

        True too where the fixpoint exceeds the budget or does not converge.
        """
        try:
            fixpoint = Fixpoint(runner)
            best = self._at_any_depth(shape, inputs, fixpoint)
        except BudgetError:
            return True
        return not fixpoint.converged or not _are_alike(table, best)

    def _refuse_evidence(self, clause: Clause, request: Request) -> None:
        """Raise UnsupportedError if there is evidence on derived predicates that the goal depends on.

        Sums over proofs cannot be conditioned on it.
        """
        self.program.refuse_given(self.given, request.algebra)
        if self._stated_false:
            for name in self._stated_false & self.program.reached([clause]):
                self._refuse_denied(name, request)

    @cached_property
    def _stated_false(self) -> set[str]:
        """The derived predicates with false facts."""
        tables = self.program.facts.tables
        return {name for name in self.program.clauses if len(tables[name].false)}

    def _refuse_denied(self, name: str, request: Request) -> None:
        """Raise UnsupportedError if an atom that is stated to be false has a proof."""
        rows = self.program.facts.tables[name].false
        if name not in self._denied:
            columns = [column.astype(np.int64) for column in rows.T]
            provable = Provable(self.plans, request.budget)
            answers = provable(name, tuple(range(len(columns))), columns)
            self._denied[name] = np.flatnonzero(answers.ranges(columns, len(rows))[1])
        if len(self._denied[name]):
            predicate, first = self.program.signature.predicates[name], rows[self._denied[name][:1]]
            (values,) = self.program.facts.rows(predicate, first)
            raise denied_but_derived(name, values, request.algebra)

    def question(self, shape: Shape, inputs: Sequence[Sequence[int]], arithmetic: Arithmetic) -> QueriedRows:
        """The frontier of goals of one shape, for evaluation to a depth."""
        columns = _columns(shape, inputs)
        names = (ROW, *shape.inputs)
        frontier = Table(names, (np.arange(len(inputs)), *columns), arithmetic.ones(len(inputs)))
        return QueriedRows(self.plans.with_goal(shape.clause), shape.mode, frontier, len(inputs))

    def _probably(self, shape: Shape, inputs: Sequence[Sequence[int]], request: Request) -> GoalAnswers:
        """Compute the exact probability of every possible answer, given the evidence."""
        began = time.perf_counter()
        left = None if request.depth == FIXPOINT else int(request.depth) + 2
        probable = _probable(self._worlds, shape.clause, inputs, left, request.budget)
        names = outputs_named(len(shape.found))
        answer_table = Table(names, tuple(probable.answers.T), probable.probabilities)
        table = without_zeros(answer_table, Numbers.of("real"))
        depth = 1 if request.depth == FIXPOINT else int(request.depth)
        status = Status(True, depth, time.perf_counter() - began)
        return GoalAnswers(table, request.guarantee(probable.truncated), status, probable.truncated)

    @cached_property
    def _worlds(self) -> Any:
        """The program as a distribution over possible worlds."""
        return _possible_worlds(self.program, self.given)

    def _to_fixpoint(
        self,
        shape: Shape,
        inputs: Sequence[Sequence[int]],
        runner: Runner,
        request: Request,
        began: float,
    ) -> GoalAnswers:
        algebra = runner.arithmetic.algebra
        if algebra.rows is not float or not algebra.distributes:
            raise UnsupportedError(
                f"{'exact count' if request.exact else request.algebra} takes a depth",
                hint="boolean, max, count and probability have a fixpoint",
            )
        fixpoint = Fixpoint(runner)
        table = self._at_any_depth(shape, inputs, fixpoint)
        advice = "" if fixpoint.converged else advice_without_end(request.algebra)
        guarantee = Guarantee.EXACT if fixpoint.converged else Guarantee.APPROXIMATION
        status = Status(fixpoint.converged, fixpoint.rounds, time.perf_counter() - began, advice)
        return GoalAnswers(table, guarantee, status, False)

    def _at_any_depth(self, shape: Shape, inputs: Sequence[Sequence[int]], fixpoint: Fixpoint) -> Table:
        """Answer goals of one shape by all proofs; they are complete if the fixpoint converges."""
        columns = _columns(shape, inputs)
        answers = fixpoint.answers(self.plans.with_goal(shape.clause), shape.mode, columns)
        rows, places = each_in(*answers.ranges(columns, len(inputs)))
        outputs = tuple(column[places] for column in answers.table.columns[1:])
        return Table(answers.table.names, (rows, *outputs), answers.table.values[places])

    # Goals and answers

    def read(self, goal: str | Formula, inputs: tuple[str, ...] = ()) -> Goal:
        """Read a goal as its shape and constants, cached."""
        if (goal, inputs) not in self._goals:
            self._goals[goal, inputs] = read_goal(goal, self.program, inputs)
        return self._goals[goal, inputs]

    def rows_of(self, goal: Goal, bindings: Mapping[str, Sequence[Value]]) -> list[tuple[int, ...]]:
        """The rows of input constants of a goal, one for each row of the bindings.

        Raises LanguageError where these are no lists of one length.
        """
        columns = []
        for name, values in bindings.items():
            domain = self.program.facts.domains[goal.shape.clause.types[name]]
            try:
                if isinstance(values, str):
                    raise TypeError(values)
                columns.append(indices_in(domain, list(values)).tolist())
            except (TypeError, ValueError):
                raise LanguageError(
                    f"the bindings of {name} are a list of texts or numbers, and not {values!r}"
                ) from None
        if len(set(map(len, columns))) > 1:
            raise LanguageError("the columns of the bindings differ in length")
        return [(*goal.inputs, *row) for row in zip(*columns, strict=True)]

    def wider(self, narrow: NarrowError) -> Proof:
        """The proof program with wider types, cached."""
        key = (narrow.types, narrow.value)
        if key not in self._wider:
            program = self.program
            facts = widened(program.signature, program.facts, *key)
            self._wider[key] = Proof(program.with_facts(facts), self.given)
        return self._wider[key]

    def bindings(
        self,
        shape: Shape,
        answer_table: GoalAnswers,
        request: Request,
        rows: Sequence[Sequence[int]] = (),
        bound: tuple[str, ...] = (),
    ) -> Bindings:
        """The answers of one goal as constants, sorted, normalised and cut as requested.

        Where variables are ``bound``, they are those for each of ``rows``.
        """
        numbers = answer_table.table.columns[0]
        start = len(shape.inputs) - len(bound)
        inputs = np.array(rows, np.int64).reshape(len(rows), len(shape.inputs))
        indices = {name: inputs[numbers, start + i] for i, name in enumerate(bound)}
        indices |= {name: answer_table.table.columns[1 + i] for i, name in enumerate(shape.found)}
        weights = np.asarray(answer_table.table.values)
        if answer_table.status.converged:
            refuse_overflow(weights, counts=request.algebra == "count")
        domains = self.program.facts.domains
        sizes = [len(domains[shape.clause.types[name]]) for name in shape.variables]
        keys = row_keys([indices[name] for name in shape.variables], sizes, len(weights))
        least_first = request.arithmetic().algebra.least_first
        most = request.top if request.normalize == "none" else None
        order = _first(most, keys, math.prod(sizes), weights if least_first else _falling(weights))
        columns = tuple(
            domains[shape.clause.types[name]].at(indices[name][order]) for name in shape.variables
        )
        answer = Bindings(
            "proof",
            answer_table.guarantee,
            answer_table.status,
            shape.variables,
            columns,
            weights[order],
            answer_table.truncated,
        )
        return answer.normalized(request.normalize).top(request.top)


def _columns(shape: Shape, inputs: Sequence[Sequence[int]]) -> list[np.ndarray]:
    return [np.array([row[place] for row in inputs], np.int64) for place in range(len(shape.inputs))]


def _first(most: int | None, keys: Keys, size: int, ranks: np.ndarray) -> np.ndarray | slice:
    """The first ``most`` places sorted by ranks, then by keys."""
    order = slice(None) if ascend(keys) else stable_order(keys, size)
    if ascend(ranks := ranks[order]):
        return slice(most) if isinstance(order, slice) else order[:most]
    falling = np.argsort(ranks, kind="stable")[:most]
    return falling if isinstance(order, slice) else order[falling]


def _falling(weights: np.ndarray) -> np.ndarray:
    """Ranks that sort weights in descending order."""
    return -weights if weights.dtype != object else -np.unique(weights, return_inverse=True)[1]


def _are_alike(one: Table, other: Table) -> bool:
    """Whether two tables have the same rows, with equal values up to rounding."""
    if len(one) != len(other):
        return False
    orders = (np.lexsort(table.columns) for table in (one, other))
    (rows, values), (others, weights) = (
        (np.stack(table.columns)[:, order], np.asarray(table.values)[order])
        for table, order in zip((one, other), orders, strict=True)
    )
    return bool((rows == others).all() and np.allclose(values, weights, rtol=SAME, atol=0))
