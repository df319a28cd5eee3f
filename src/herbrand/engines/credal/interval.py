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
from herbrand.engines.credal.solve import TOLERANCE, InfeasibleError, Optimum, Watch, optimum
from herbrand.engines.credal.tables import Linear, TableProgram, table_program

IMPOSSIBLE = 1e-9
"""What is given with an upper probability up to this is impossible."""
SURELY_POSSIBLE = 1e-7
"""A lower probability of what is given above this bounds the scaled tables."""


class ImpossibleConditionError(Exception):
    """The upper probability of what is given is 0."""


@dataclass(frozen=True, eq=False)
class LocalQuery:
    """``P(event | given)`` over atoms of a part; both tables have an axis for each of ``atoms``."""

    atoms: tuple[int, ...]
    event: np.ndarray  # (2,) * k bool
    given: np.ndarray | None = None  # (2,) * k bool


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
    lower = _solved(program, asked, True, clock, ends_left)
    upper = _solved(program, asked, False, clock, ends_left - 1)
    return Ends(_within(lower), _within(upper))


def one_end(part: Part, query: LocalQuery, least: bool, clock: Clock) -> Optimum:
    """One end of a query."""
    made = table_program(part, [query.atoms])
    program, asked = _asked(made, query, clock, 1)
    return _within(_solved(program, asked, least, clock, 1))


def is_consistent(part: Part, clock: Clock) -> bool:
    """Whether some distribution satisfies all that a part says; also where no answer was found in time."""
    made = table_program(part)
    try:
        _solved(made.program, Linear(np.array([made.total]), np.ones(1)), True, clock, 1)
    except InfeasibleError:
        return False
    return True


def _asked(made: TableProgram, query: LocalQuery, clock: Clock, ends_left: int) -> tuple[Program, Linear]:
    """The program to solve, and the function whose ends are asked for."""
    if query.given is None:
        return made.program, made.probability(query.atoms, query.event)
    given = made.probability(query.atoms, query.given)
    if _solved(made.program, given, False, clock, ends_left + 2).bound <= IMPOSSIBLE:
        raise ImpossibleConditionError
    least = _solved(made.program, given, True, clock, ends_left + 1).bound
    total = 1 / least if least > SURELY_POSSIBLE else math.inf
    both = made.probability(query.atoms, query.event & query.given)
    return _scaled(made, given, total), both


def _scaled(made: TableProgram, given: Linear, total: float) -> Program:
    """The program with P(given) = 1 for P(true) = 1; no table entry goes beyond ``total``."""
    program = made.program
    lower, upper = program.lower.copy(), program.upper.copy()
    tables = np.unique(np.concatenate([made.table_variables, [made.total]]))
    upper[tables] = total
    lower[made.total] = 1.0
    zeros = np.zeros(len(given.variables), int)
    row = csr_array((given.factors, (zeros, given.variables)), shape=(1, program.size))
    return replace(
        program,
        lower=lower,
        upper=upper,
        rows=vstack([program.rows, row], format="csr"),
        row_lower=np.append(program.row_lower, 1.0),
        row_upper=np.append(program.row_upper, 1.0),
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
