"""How often the groundings of learned statements hold in a program's worlds, at any weights.

The log-partition of a program is a function of the weights that are to be learned; its gradient is the
expected number of true groundings of each. A :class:`Side` is prepared once for a program and then looked at
for many weights: by elimination of the ground network, whose tables are linear in the weights, or by counting
without grounding, whichever is cheaper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Protocol

import numpy as np
from scipy.sparse import coo_array, csr_array

from herbrand.answers.guarantee import Guarantee
from herbrand.budget import Budget
from herbrand.engines.contradiction_error import contradiction, no_weight
from herbrand.engines.elimination import Elimination, planned, refuse_hopeless
from herbrand.engines.exact import MOST_GROUNDINGS, Exact
from herbrand.engines.ground_network import (
    WIDEST_TABLE,
    Network,
    Scope,
    add_row,
    by_pattern,
    ground_rows,
    network_of,
)
from herbrand.engines.lifted.engine import TOTAL_ONLY
from herbrand.engines.lifted.problem import Problem, problem_of
from herbrand.engines.lifted.terms import NotLiftableError
from herbrand.errors import BudgetError, OutOfTimeError, UnsupportedError
from herbrand.learning.parameters import Parameters
from herbrand.program.evidence import Evidence
from herbrand.program.ground import Ground, GroundTemplate, ground
from herbrand.program.program import Program

AT_ONCE = 1e6
"""Operations for one gradient: up to so many, grounding is not compared with anything."""
MOST_COUNTED = 1e9
"""Groundings of one statement, of which differences keep seven decimals."""
A_GROUNDING = 100.0
"""Operations that the grounding of one statement for one choice of constants counts as, about."""


@dataclass(frozen=True, eq=False)
class Counts:
    """``expected`` [weight] true groundings; ``spread`` [weight]: the variances of single groundings, added
    up, where groundings are looked at one by one."""

    log_partition: float
    expected: np.ndarray
    spread: np.ndarray | None


class Side(Protocol):
    """A program at any weights of its learned statements. ``operations``: of one look, about."""

    @property
    def engine(self) -> str: ...

    @property
    def guarantee(self) -> Guarantee: ...

    @property
    def operations(self) -> float: ...

    def at(self, weights: np.ndarray) -> Counts: ...


def side_of(program: Program, parameters: Parameters, budget: Budget, most_operations: float) -> Side:
    """The cheapest exact way to count; raises ``BudgetError`` with each way's reason where there is none."""
    _refuse_cancellation(program)
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


def _refuse_cancellation(program: Program) -> None:
    """Raise where so many groundings hold on both sides that their difference would be lost by rounding."""
    for template in program.templates:
        if template.weight is not None and program.weights[template.weight].learned:
            count = math.prod(len(program.domain(kind)) for _, kind in template.conjunction.variables)
            if count > MOST_COUNTED:
                raise BudgetError(
                    f"a statement has {count:.0e} groundings, and the likelihood is the difference of two "
                    "such counts, which is lost by rounding",
                    hint="--method pseudo-likelihood counts what differs",
                )


# Ground


@dataclass(frozen=True, eq=False)
class GroundSide:
    """Elimination of a network whose tables are ``base + entries @ columns @ weights``.

    ``entries`` [entry, grounding] is 1 where the grounding holds, ``columns`` [grounding, weight] says what
    it counts for which weight, ``certain`` [weight] counts what holds in all worlds. The last two are first
    made when all worlds have been prepared, so that all weights are known.
    """

    elimination: Elimination
    base: np.ndarray
    entries: csr_array
    gathered: _Gathered
    constant: float
    engine: str = "exact"
    guarantee: Guarantee = Guarantee.EXACT

    @classmethod
    def of(
        cls, program: Program, parameters: Parameters, budget: Budget, most_operations: float
    ) -> GroundSide:
        grounded = ground(program, budget, min(MOST_GROUNDINGS, int(most_operations / A_GROUNDING)))
        noticed = tuple(replace(w, value=1.0) if w.learned else w for w in program.weights)
        refuse_hopeless(replace(grounded, program=replace(program, weights=noticed)))
        network = network_of(grounded)
        gathered = _Gathered(network, grounded, parameters)
        for template in grounded.templates:
            number = template.template.weight
            if number is not None and program.weights[number].learned:
                gathered.add(template, number)
        elimination = planned(network, "log", budget=budget, entire=True)
        Exact(budget, most_operations).refuse_too_much(elimination)
        starts = {scope: own.start for scope, own, _ in elimination.entries()}
        tables = [table.reshape(-1) for batch in elimination.batches for table in batch.tables]
        base = np.concatenate(tables) if tables else np.empty(0)
        found = elimination.run()
        if found.total == -math.inf:
            raise contradiction(program, budget, cls.engine)
        isolated = elimination.with_isolated(found).total - found.total
        return cls(
            elimination,
            base,
            gathered.entries(starts, len(base)),
            gathered,
            network.constant + isolated,
        )

    @property
    def operations(self) -> float:
        return self.elimination.operations + self.entries.nnz

    @cached_property
    def columns(self) -> csr_array:
        return self.gathered.columns()

    @cached_property
    def certain(self) -> np.ndarray:
        return self.gathered.certain()

    def at(self, weights: np.ndarray) -> Counts:
        columns, certain = self.columns, self.certain
        if not len(self.base):
            return Counts(self.constant + float(certain @ weights), certain, np.zeros(len(weights)))
        entries = self.base + self.entries @ (columns @ weights)
        total, shares = self.elimination.joint_shares(entries)
        if total == -math.inf:
            raise no_weight()
        holds = np.clip(self.entries.T @ shares, 0.0, 1.0)
        return Counts(
            self.constant + total + float(certain @ weights),
            certain + columns.T @ holds,
            columns.power(2).T @ (holds * (1 - holds)),
        )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Groundings over as many atoms each: ``scopes`` [grounding, atom], rising, and ``places``
    [grounding, place] among the entries of their tables where they hold."""

    scopes: list[Scope]
    places: np.ndarray


@dataclass(eq=False)
class _Gathered:
    """All groundings of learned statements; tables that they need are added to the network."""

    network: Network
    ground: Ground
    parameters: Parameters
    rows: list[_Rows] = field(default_factory=list)
    worths: list[np.ndarray] = field(default_factory=list)
    numbers: list[np.ndarray] = field(default_factory=list)
    settled: dict[int, float] = field(default_factory=dict)

    def add(self, template: GroundTemplate, number: int) -> None:
        """The groundings of one template."""
        conjunction = template.conjunction
        if not len(conjunction) or not template.multiplicity:
            return
        columns = self.parameters.columns(number, template.weight_rows, self.ground.program)
        worth = float(template.template.sign * template.multiplicity)
        if conjunction.blocks:
            self._add_pieces(template, columns, worth)
            return
        for places, own in by_pattern(conjunction.atoms):
            atoms, allowed = conjunction.atoms[own][:, places], [conjunction.allowed[p] for p in places]
            if not places:
                self._settle(columns[own], worth)
            elif len(places) > WIDEST_TABLE:
                for scope, column in zip(atoms.tolist(), columns[own].tolist(), strict=True):
                    self._add_table(list(zip(scope, allowed, strict=True)), column, worth)
            else:
                self._add_rows(atoms, allowed, columns[own], worth)

    def _settle(self, columns: np.ndarray, worth: float) -> None:
        for column, count in zip(*np.unique(columns, return_counts=True), strict=True):
            self.settled[int(column)] = self.settled.get(int(column), 0.0) + worth * int(count)

    def _add_rows(
        self, atoms: np.ndarray, allowed: Sequence[Sequence[int]], columns: np.ndarray, worth: float
    ) -> None:
        sizes = np.array([self.network.sizes[axis] for axis in atoms[0]])
        order = np.argsort(atoms, axis=1)
        scopes = list(map(tuple, np.take_along_axis(atoms, order, axis=1).tolist()))
        rising = sizes[order]
        below = np.cumprod(rising[:, :0:-1], axis=1)[:, ::-1]
        strides = np.empty_like(order)
        np.put_along_axis(strides, order, np.pad(below, ((0, 0), (0, 1)), constant_values=1), axis=1)
        places = np.stack([strides @ np.array(values) for values in product(*allowed)], axis=1)
        for scope, shape in zip(scopes, rising.tolist(), strict=True):
            if scope not in self.network.tables:
                self.network.add_ordered(scope, np.zeros(shape))
        self._keep(_Rows(scopes, places), columns, np.full(len(atoms), worth))

    def _add_pieces(self, template: GroundTemplate, columns: np.ndarray, worth: float) -> None:
        """Groundings with quantifiers, each by way of helpers."""
        rows = template.conjunction
        numbered = replace(rows, origin=np.arange(len(rows)))
        for row, piece in list(ground_rows(self.network, numbered)):
            self._add_table(piece, int(columns[row]), worth)

    def _add_table(self, piece: Sequence[tuple[int, Sequence[int]]], column: int, worth: float) -> None:
        made = Network(self.network.sizes, self.network.atom_count)
        add_row(made, [axis for axis, _ in piece], [values for _, values in piece], 1.0)
        if made.constant:
            self._settle(np.array([column]), worth)
        for scope, table in made.tables.items():
            if np.isneginf(table).any():
                self.network.add_ordered(scope, table)
                continue
            self.network.add_ordered(scope, np.zeros(table.shape))
            places = np.flatnonzero(table.reshape(-1))[None, :]
            self._keep(_Rows([scope], places), np.array([column]), np.array([worth]))

    def _keep(self, rows: _Rows, columns: np.ndarray, worths: np.ndarray) -> None:
        self.rows.append(rows)
        self.numbers.append(columns)
        self.worths.append(worths)

    def entries(self, starts: dict[Scope, int], size: int) -> csr_array:
        """Which groundings hold in which entries, 1 or 0 [entry, grounding]."""
        found, begun = [], 0
        for rows in self.rows:
            first = np.array([starts[scope] for scope in rows.scopes], dtype=np.int64)
            places = first[:, None] + rows.places
            groundings = begun + np.repeat(np.arange(len(first)), rows.places.shape[1])
            found.append((places.reshape(-1), groundings))
            begun += len(first)
        if not found:
            return csr_array((size, 0))
        places, groundings = map(np.concatenate, zip(*found, strict=True))
        return coo_array((np.ones(len(places)), (places, groundings)), shape=(size, begun)).tocsr()

    def columns(self) -> csr_array:
        """What each grounding counts for each weight [grounding, weight]."""
        width = len(self.parameters)
        if not self.rows:
            return csr_array((0, width))
        worths, numbers = np.concatenate(self.worths), np.concatenate(self.numbers)
        return csr_array((worths, numbers, np.arange(len(worths) + 1)), shape=(len(worths), width))

    def certain(self) -> np.ndarray:
        """What groundings count that hold in all worlds [weight]."""
        found = np.zeros(len(self.parameters))
        for column, count in self.settled.items():
            found[column] = count
        return found


# Lifted


@dataclass(frozen=True, eq=False)
class LiftedSide:
    """Counting without grounding; ``places``: the weights' numbers in the program by column."""

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
        """Raises ``NotLiftableError``, also for weights by constant."""
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
