"""The interval of one query over one part of a network, each end a proved optimum or a proved outer bound.

A condition is no constraint: ``P(q | e)`` ranges over the distributions with P(e) > 0. Since all but one of a
table program's rows are homogeneous, P(true) = 1 is traded for P(e) = 1 (Charnes and Cooper): then P(q and e)
is the ratio asked for, linear, and P(true) is 1 over the old P(e).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, vstack

from herbrand.engines.credal.part import Part
from herbrand.engines.credal.polynomial import Program
from herbrand.engines.credal.question import IMPOSSIBLE
from herbrand.engines.credal.solve import TOLERANCE, InfeasibleError, Optimum, Watch, optimum
from herbrand.engines.credal.tables import Linear, TableProgram, table_program

RARE = 1e-6
"""Where a condition is rarer for sure, a program with products has numbers too far apart for a search."""
SURELY_POSSIBLE = 1e-7
"""A lower probability of what is given above this bounds the scaled tables."""


class ImpossibleConditionError(Exception):
    """The upper probability of what is given is 0."""


@dataclass(frozen=True, eq=False)
class LocalQuery:
    """``P(event | given)`` over atoms of a part; both tables have an axis for each of ``atoms``.

    ``within``: between these it is known to lie; a search need not look elsewhere.
    """

    atoms: tuple[int, ...]
    event: np.ndarray  # (2,) * k bool
    given: np.ndarray | None = None  # (2,) * k bool
    within: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True)
class Clock:
    """When to stop, and how far from the optimum a search may."""

    until: float = math.inf
    most: float = math.inf
    tolerance: float = TOLERANCE
    watch: Watch | None = None

    def seconds(self, ends_left: int = 1) -> float:
        """A fair share of the time that is left."""
        return min(self.most, max(self.until - time.monotonic(), 0.0) / max(ends_left, 1))


@dataclass(frozen=True)
class Ends:
    lower: Optimum
    upper: Optimum

    @property
    def gaps(self) -> tuple[float, float]:
        """How far each end may be from the tightest, given all that both searches reached and proved."""
        reached = [found.value for found in (self.lower, self.upper) if found.value is not None]
        least, greatest = min([*reached, self.upper.bound]), max([*reached, self.lower.bound])
        return abs(least - self.lower.bound), abs(self.upper.bound - greatest)

    @property
    def gap(self) -> float:
        """How far an end may be from the tightest."""
        return max(self.gaps)

    def searched_on(self, least: bool, seconds: float) -> Ends:
        """The same after the search for one end has gone on."""
        before = self.lower if least else self.upper
        assert before.more is not None
        after = _within(before.more(seconds))
        if least:
            return replace(self, lower=replace(after, bound=max(before.bound, after.bound)))
        return replace(self, upper=replace(after, bound=min(before.bound, after.bound)))

    def within(self, lower: float, upper: float) -> Ends:
        """The same where all values are known to lie between these."""
        return Ends(
            replace(self.lower, bound=max(self.lower.bound, lower)),
            replace(self.upper, bound=min(self.upper.bound, upper)),
        )


def ends_of(part: Part, query: LocalQuery, clock: Clock, ends_left: int = 2) -> Ends:
    """Both ends of a query. Raises ``InfeasibleError`` or :class:`ImpossibleConditionError`."""
    made = table_program(part, [query.atoms])
    program, asked = _asked(made, query, clock, ends_left)
    return Ends(
        _end(program, asked, query, True, clock, ends_left),
        _end(program, asked, query, False, clock, ends_left - 1),
    )


def one_end(part: Part, query: LocalQuery, least: bool, clock: Clock) -> Optimum:
    """One end of a query."""
    made = table_program(part, [query.atoms])
    program, asked = _asked(made, query, clock, 1)
    return _end(program, asked, query, least, clock, 1)


def _end(
    program: Program | None, asked: Linear, query: LocalQuery, least: bool, clock: Clock, ends_left: int
) -> Optimum:
    """One end; nothing is proved of it where the numbers of a condition are too far apart."""
    if program is not None:
        if query.within != (0.0, 1.0):
            program = _with_row(program, asked, *query.within)
        try:
            return _within(_solved(program, asked, least, clock, ends_left))
        except InfeasibleError:
            if query.given is None:
                raise
            if program.linear:
                raise ImpossibleConditionError from None
            # the condition was found possible: a search has had troubles with its numbers
    return Optimum(0.0 if least else 1.0, None, 0)


def is_consistent(part: Part, clock: Clock) -> bool:
    """Whether some distribution satisfies all that a part says; also where no answer was found in time."""
    made = table_program(part)
    try:
        _solved(made.program, Linear(np.array([made.total]), np.ones(1)), True, clock, 1)
    except InfeasibleError:
        return False
    return True


def _asked(
    made: TableProgram, query: LocalQuery, clock: Clock, ends_left: int
) -> tuple[Program | None, Linear]:
    """The program to solve, and the function whose ends are asked for; no program where it is hopeless."""
    if query.given is None:
        return made.program, made.probability(query.atoms, query.event)
    given = made.probability(query.atoms, query.given)
    both = made.probability(query.atoms, query.event & query.given)
    most = _solved(made.program, given, False, clock, ends_left + 2).bound
    if most <= IMPOSSIBLE:
        raise ImpossibleConditionError
    if most < RARE and not made.program.linear:
        return None, both
    least = _solved(made.program, given, True, clock, ends_left + 1).bound
    total = 1 / least if least > SURELY_POSSIBLE else math.inf
    return _with_row(_scaled(made, total), given, 1.0, 1.0), both


def _scaled(made: TableProgram, total: float) -> Program:
    """The program with P(true) from 1 to ``total`` in place of 1; no table entry goes beyond that."""
    program = made.program
    lower, upper = program.lower.copy(), program.upper.copy()
    tables = np.unique(np.concatenate([made.table_variables, [made.total]]))
    upper[tables] = total
    lower[made.total] = 1.0
    return replace(program, lower=lower, upper=upper)


def _with_row(program: Program, function: Linear, lower: float, upper: float) -> Program:
    """The program with one more row."""
    zeros = np.zeros(len(function.variables), int)
    row = csr_array((function.factors, (zeros, function.variables)), shape=(1, program.size))
    return replace(
        program,
        rows=vstack([program.rows, row], format="csr"),
        row_lower=np.append(program.row_lower, lower),
        row_upper=np.append(program.row_upper, upper),
    )


def _solved(program: Program, asked: Linear, least: bool, clock: Clock, ends_left: int) -> Optimum:
    return optimum(
        program,
        asked.variables,
        asked.factors,
        least=least,
        seconds=clock.seconds(ends_left),
        tolerance=clock.tolerance,
        watch=clock.watch,
    )


def _within(found: Optimum) -> Optimum:
    """A probability lies between 0 and 1 whatever a search has proved."""
    value = None if found.value is None else min(max(found.value, 0.0), 1.0)
    return replace(found, bound=min(max(found.bound, 0.0), 1.0), value=value)
