"""The engine ``proof``: goals in, weighted answers out.

:class:`Proof` is made once for a theory and its facts and keeps its plans; :meth:`Proof.ask` answers goals of
one shape in one pass.

>>> from herbrand.facts.load import fact_sources, load_facts
>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory("uncle(x, y) :- parent(x, z), brother(z, y)")
>>> facts = fact_sources({"parent": [("liam", "ann")], "brother": [("ann", "bob")]})
>>> proof = Proof.of(theory.rules, *load_facts((), check(theory), facts))
>>> proof.ask('uncle("liam", y)', Request())["bob"]
1.0
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from herbrand.answers.bindings import Bindings
from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Guarantee
from herbrand.answers.status import Status
from herbrand.engines.proof.arithmetic import Arithmetic, Numbers
from herbrand.engines.proof.deeper_proofs import is_cut_off
from herbrand.engines.proof.evidence import denied_but_derived, refuse_given
from herbrand.engines.proof.explain import PROOFS, explanation
from herbrand.engines.proof.fixpoint import Fixpoint, runner_of
from herbrand.engines.proof.goals import Goal, Shape, read_goal
from herbrand.engines.proof.ground_proofs import GroundProofs
from herbrand.engines.proof.horn_program import HornProgram
from herbrand.engines.proof.planning import Plans
from herbrand.engines.proof.probability import probabilities
from herbrand.engines.proof.request import FIXPOINT, INDEPENDENT, PROBABILITY, Request
from herbrand.engines.proof.steps import Runner
from herbrand.engines.proof.table import ROW, Table, without_zeros
from herbrand.engines.proof.unrolled import Asked, Unrolled
from herbrand.engines.proof.wider_types import NarrowError, widened
from herbrand.engines.proof.worlds import (
    PossibleWorlds,
    check_probabilities,
    refuse_uncertain_absence,
)
from herbrand.errors import LanguageError, UnsupportedError
from herbrand.facts.absence import indices_in
from herbrand.facts.facts import Facts
from herbrand.language.signature import Signature
from herbrand.language.syntax import FactRows, Formula, Rule, Value
from herbrand.program.clauses import Clause
from herbrand.row_keys import each_in, row_keys, stable_order


@dataclass(frozen=True, eq=False)
class Found:
    """Answers of one pass: columns (goal, variables' indices...), and how it went."""

    table: Table
    guarantee: Guarantee
    status: Status
    truncated: bool


class Proof:
    """A theory's rules over its facts, with the plans made so far."""

    def __init__(self, program: HornProgram, given: Sequence[FactRows] = ()) -> None:
        self.plans, self.given = Plans(program), tuple(given)
        self._wider: dict[tuple[tuple[str, ...], Value | None], Proof] = {}
        self._goals: dict[tuple[str | Formula, tuple[str, ...]], Goal] = {}
        self._denied: dict[str, np.ndarray] = {}

    @classmethod
    def of(
        cls, rules: Sequence[Rule], signature: Signature, facts: Facts, given: Sequence[FactRows] = ()
    ) -> Proof:
        """``given``: literals that are evidence. Under probabilities they are not among the facts, else those
        of base predicates are."""
        return cls(HornProgram.of(rules, signature, facts), given)

    @property
    def program(self) -> HornProgram:
        return self.plans.program

    def answered(
        self,
        goal: str | Formula | Sequence[str],
        bindings: Mapping[str, Sequence[Value]] | None,
        request: Request,
    ) -> Bindings | tuple[Bindings, ...]:
        """What ``Model.query`` gives."""
        if isinstance(goal, str | Formula):
            return self.ask(goal, request, bindings)
        goals = list(goal) if isinstance(goal, Iterable) else [goal]
        if not all(isinstance(one, str) for one in goals):
            raise UnsupportedError(f"a goal is text, or a list of texts, and not {goal!r}")
        if bindings is not None:
            raise UnsupportedError("bindings go with one goal, not with a list of goals")
        return self.ask_all(goals, request)

    def ask(
        self,
        goal: str | Formula,
        request: Request,
        bindings: Mapping[str, Sequence[Value]] | None = None,
    ) -> Bindings:
        """The answers of one goal; ``bindings``: constants for some of its variables, a list each."""
        if bindings is not None and not isinstance(bindings, Mapping):
            raise UnsupportedError(
                'bindings are a list of constants for each variable: {"x": ["anna", "bob"]}'
            )
        bindings = bindings or None
        try:
            read = self.read(goal, tuple(bindings or ()))
            rows = [read.inputs] if bindings is None else self._bound(read, bindings)
        except NarrowError as narrow:
            return self._with(narrow).ask(goal, request, bindings)
        found = self.found(read.shape, rows, request)
        if bindings is None:
            return self._told(read.shape, found, request)
        return self._told_bound(read.shape, found, rows, tuple(bindings), request)

    def ask_all(self, goals: Sequence[str], request: Request) -> tuple[Bindings, ...]:
        """The answers of each goal; goals of one shape are answered in one pass."""
        try:
            read = [self.read(goal, ()) for goal in goals]
        except NarrowError as narrow:
            return self._with(narrow).ask_all(goals, request)
        places: dict[Any, list[int]] = {}
        for place, goal in enumerate(read):
            places.setdefault((self.plans.with_goal(goal.shape.clause), goal.shape.variables), []).append(
                place
            )
        answers: list[Bindings | None] = [None] * len(goals)
        for same in places.values():
            shape = read[same[0]].shape
            found = self.found(shape, [read[place].inputs for place in same], request)
            ends = np.searchsorted(found.table.columns[0], np.arange(len(same) + 1))
            for number, place in enumerate(same):
                part = slice(ends[number], ends[number + 1])
                table = Table(
                    found.table.names, tuple(c[part] for c in found.table.columns), found.table.values[part]
                )
                answers[place] = self._told(shape, replace(found, table=table), request)
        return tuple(answer for answer in answers if answer is not None)

    def explain(self, goal: str, request: Request) -> Explanation:
        """The heaviest proofs of a goal without variables; as many as ``request.top`` says."""
        if request.algebra != "count" or request.depth == FIXPOINT:
            raise UnsupportedError("proofs are explained in the count algebra and within a depth")
        try:
            read = self.read(goal, ())
        except NarrowError as narrow:
            return self._with(narrow).explain(goal, request)
        if read.shape.variables:
            first = read.shape.variables[0]
            raise UnsupportedError(
                f"one answer is explained at a time, and {first} is a variable",
                hint=f"put a constant for {first}, or _ if it does not matter",
            )
        found = self.found(read.shape, [read.inputs], request)
        weight = float(found.table.values[0]) if len(found.table) else 0.0
        ground = GroundProofs(self.plans, request.budget, int(request.depth) + 2)
        graph, (root,) = ground.of(self.plans.with_goal(read.shape.clause), [read.inputs])
        note = "deeper proofs are not counted; allow more by --depth" if found.truncated else ""
        count = PROOFS if request.top is None else request.top
        return explanation(self.program, goal.strip(), graph, root, weight, count, note)

    def found(self, shape: Shape, inputs: Sequence[Sequence[int]], request: Request) -> Found:
        """The answers to goals of one shape, as indices."""
        if request.algebra == PROBABILITY:
            return self._probable(shape, inputs, request)
        self._refuse_evidence(shape.clause, request)
        if request.algebra == INDEPENDENT:
            check_probabilities(self.program, self.program.reached([shape.clause]))
            refuse_uncertain_absence(self.program, [shape.clause])
        began = time.perf_counter()
        runner = runner_of(self.plans, request.arithmetic(), request.budget)
        if request.depth == FIXPOINT:
            return self._to_fixpoint(shape, inputs, runner, request, began)
        unrolled = Unrolled(runner)
        question = self.question(shape, inputs, runner.arithmetic)
        table = unrolled.answers(question, int(request.depth) + 1)
        truncated = is_cut_off(runner, unrolled, question, int(request.depth) + 1)
        status = Status(True, int(request.depth), time.perf_counter() - began)
        return Found(table, request.guarantee(truncated), status, truncated)

    def _refuse_evidence(self, clause: Clause, request: Request) -> None:
        """Proofs are not taken back: raise where evidence on what rules derive would have to change them."""
        refuse_given(self.given, self.program, request.algebra)
        if self._stated_false:
            for name in self._stated_false & self.program.reached([clause]):
                self._refuse_denied(name, request)

    @cached_property
    def _stated_false(self) -> set[str]:
        """The derived predicates with false facts."""
        tables = self.program.facts.tables
        return {name for name in self.program.clauses if len(tables[name].false)}

    def _refuse_denied(self, name: str, request: Request) -> None:
        """Raise where something has a proof that is stated to be false."""
        rows = self.program.facts.tables[name].false
        if name not in self._denied:
            runner = runner_of(self.plans, Numbers.of("boolean"), request.budget)
            columns = [column.astype(np.int64) for column in rows.T]
            answers = Fixpoint(runner).answers(name, tuple(range(len(columns))), columns)
            self._denied[name] = np.flatnonzero(answers.ranges(columns, len(rows))[1])
        if len(self._denied[name]):
            predicate, first = self.program.signature.predicates[name], rows[self._denied[name][:1]]
            (values,) = self.program.facts.rows(predicate, first)
            raise denied_but_derived(name, values, request.algebra)

    def question(self, shape: Shape, inputs: Sequence[Sequence[int]], arithmetic: Arithmetic) -> Asked:
        """Goals of one shape, as they are evaluated."""
        columns = _columns(shape, inputs)
        names = (ROW, *shape.inputs)
        frontier = Table(names, (np.arange(len(inputs)), *columns), arithmetic.ones(len(inputs)))
        return Asked(self.plans.with_goal(shape.clause), shape.mode, frontier, len(inputs))

    def _probable(self, shape: Shape, inputs: Sequence[Sequence[int]], request: Request) -> Found:
        """The exact probability of every answer that is possible, given the evidence."""
        began = time.perf_counter()
        worlds, within = self._worlds
        clause = worlds.relaxed(shape.clause)
        known = {part.predicate for part in worlds.evidence}
        causes = worlds.program.reached([clause, *(c for n in known for c in within.plans.clauses(n))])
        check_probabilities(worlds.program, causes | known)
        possible = within.found(replace(shape, clause=clause), inputs, replace(request, algebra="boolean"))
        columns = [column.tolist() for column in possible.table.columns]
        rows = [(*inputs[number], *rest) for number, *rest in zip(*columns, strict=True)]
        left = None if request.depth == FIXPOINT else int(request.depth) + 2
        proofs = GroundProofs(within.plans, request.budget, left)
        graph, nodes = proofs.of(within.plans.with_goal(clause), rows, worlds.observed_nodes())
        roots, observed = nodes[: len(rows)], nodes[len(rows) :]
        values = np.array(probabilities(worlds, graph, roots, observed, request.budget), np.float64)
        table = without_zeros(Table(possible.table.names, possible.table.columns, values), Numbers.of("real"))
        status = replace(possible.status, seconds=time.perf_counter() - began)
        return Found(table, request.guarantee(possible.truncated), status, possible.truncated)

    @cached_property
    def _worlds(self) -> tuple[PossibleWorlds, Proof]:
        """What the program means under probabilities, and the rules for all that is possible there."""
        worlds = PossibleWorlds.of(self.program, self.given)
        return worlds, Proof(worlds.program)

    def _to_fixpoint(
        self,
        shape: Shape,
        inputs: Sequence[Sequence[int]],
        runner: Runner,
        request: Request,
        began: float,
    ) -> Found:
        algebra = runner.arithmetic.algebra
        if algebra.rows is not float or not algebra.distributes:
            raise UnsupportedError(
                f"{'exact count' if request.exact else request.algebra} takes a depth",
                hint="boolean, max, count and probability have a fixpoint",
            )
        fixpoint = Fixpoint(runner)
        columns = _columns(shape, inputs)
        answers = fixpoint.answers(self.plans.with_goal(shape.clause), shape.mode, columns)
        table = _by_goal(answers.table, answers.questions.places(columns, len(inputs)))
        advice = "" if fixpoint.converged else _advice(request.algebra)
        guarantee = Guarantee.EXACT if fixpoint.converged else Guarantee.APPROXIMATION
        status = Status(fixpoint.converged, fixpoint.rounds, time.perf_counter() - began, advice)
        return Found(table, guarantee, status, False)

    # Reading and telling

    def read(self, goal: str | Formula, inputs: tuple[str, ...] = ()) -> Goal:
        """A goal's shape and the constants it asks with; its plan is kept under it."""
        if (goal, inputs) not in self._goals:
            self._goals[goal, inputs] = read_goal(goal, self.program, inputs)
        return self._goals[goal, inputs]

    def _bound(self, goal: Goal, bindings: Mapping[str, Sequence[Value]]) -> list[tuple[int, ...]]:
        columns = []
        for name, values in bindings.items():
            domain = self.program.facts.domains[goal.shape.clause.types[name]]
            try:
                columns.append(indices_in(domain, _listed(values)))
            except (TypeError, ValueError):
                raise LanguageError(
                    f"the bindings of {name} are a list of texts or numbers, and not {values!r}"
                ) from None
        if len(set(map(len, columns))) > 1:
            raise LanguageError("the columns of the bindings differ in length")
        return [(*goal.inputs, *row) for row in zip(*columns, strict=True)]

    def _with(self, narrow: NarrowError) -> Proof:
        """The same rules over wider types."""
        key = (narrow.types, narrow.value)
        if key not in self._wider:
            program = self.program
            facts = widened(program.signature, program.facts, *key)
            self._wider[key] = Proof(HornProgram.of(program.rules, program.signature, facts), self.given)
        return self._wider[key]

    def _told(self, shape: Shape, found: Found, request: Request) -> Bindings:
        indices = {name: found.table.columns[1 + i] for i, name in enumerate(shape.found)}
        return self._bindings(shape, indices, found, request)

    def _told_bound(
        self,
        shape: Shape,
        found: Found,
        rows: Sequence[Sequence[int]],
        bound: tuple[str, ...],
        request: Request,
    ) -> Bindings:
        numbers = found.table.columns[0]
        start = len(shape.inputs) - len(bound)
        inputs = np.array(rows, np.int64).reshape(len(rows), len(shape.inputs))
        indices = {name: inputs[numbers, start + i] for i, name in enumerate(bound)}
        indices |= {name: found.table.columns[1 + i] for i, name in enumerate(shape.found)}
        return self._bindings(shape, indices, found, request)

    def _bindings(
        self, shape: Shape, indices: Mapping[str, np.ndarray], found: Found, request: Request
    ) -> Bindings:
        weights = np.asarray(found.table.values)
        if weights.dtype != object and not np.isfinite(weights).all() and found.status.converged:
            raise UnsupportedError(
                "a weight is larger than any float",
                hint="count in exact integers by --exact, or take a smaller --depth",
            )
        domains = self.program.facts.domains
        sizes = [len(domains[shape.clause.types[name]]) for name in shape.variables]
        keys = row_keys([indices[name] for name in shape.variables], sizes, len(weights))
        least_first = request.arithmetic().algebra.least_first
        order = stable_order(keys, math.prod(sizes))
        order = order[np.argsort((weights if least_first else _falling(weights))[order], kind="stable")]
        order = order if request.top is None or request.normalize != "none" else order[: request.top]
        columns = tuple(
            domains[shape.clause.types[name]].at(indices[name][order]) for name in shape.variables
        )
        answer = Bindings(
            "proof", found.guarantee, found.status, shape.variables, columns, weights[order], found.truncated
        )
        return answer.normalized(request.normalize).top(request.top)


def _listed(values: Sequence[Value]) -> list[Value]:
    """Raise ``TypeError`` where they are one text and no list."""
    if isinstance(values, str):
        raise TypeError(values)
    return list(values)


def _columns(shape: Shape, inputs: Sequence[Sequence[int]]) -> list[np.ndarray]:
    return [np.array([row[place] for row in inputs], np.int64) for place in range(len(shape.inputs))]


def _falling(weights: np.ndarray) -> np.ndarray:
    """Numbers that rise where the weights fall."""
    return -weights if weights.dtype != object else -np.unique(weights, return_inverse=True)[1]


def _by_goal(table: Table, questions: np.ndarray) -> Table:
    """The answers of each question for each goal that asks it."""
    ends = np.searchsorted(table.columns[0], np.arange(int(questions.max(initial=-1)) + 2))
    first, counts = ends[questions], ends[questions + 1] - ends[questions]
    rows, places = each_in(first, counts)
    return Table(table.names, (rows, *(c[places] for c in table.columns[1:])), table.values[places])


def _advice(algebra: str) -> str:
    if algebra == "max":
        return "a cycle of rules multiplies to more than 1, so there is no best proof; give a depth"
    return "the sum over all proofs grows without end or too slowly; give a depth"
