"""The interval of one query over one part of a network, each end a proved optimum or a proved outer bound.

Networks of separate rows have their ends at vertices (:mod:`.vertices`). Others are programs
(:mod:`.branch_and_bound`), except where few rows and sentences of products are searched by corners
(:mod:`.corner_search`).

A condition is no constraint: ``P(q | e)`` ranges over the distributions with P(e) > 0. Since all but one of a
table program's rows are homogeneous, P(true) = 1 is exchanged for P(e) = 1 (Charnes and Cooper): then
P(q and e) is the required ratio, linear, and P(true) is 1 over the old P(e).

>>> Size(entries=28, products=2, core=0, width=3).seconds < 1
True
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from herbrand.budget import allowed_bytes, readable
from herbrand.engines.credal.branch_and_bound import TOLERANCE, End, InfeasibleError, Watch, optimum
from herbrand.engines.credal.cluster_program import Linear, TableProgram, clusters_of, table_program
from herbrand.engines.credal.corner_masses import corner_masses
from herbrand.engines.credal.corner_search import corner_end
from herbrand.engines.credal.masses import Masses, related, separate_masses
from herbrand.engines.credal.network_part import MOST_KEPT, NetworkPart
from herbrand.engines.credal.polynomial import PolynomialProgram, tightened
from herbrand.engines.credal.question import ImpossibleConditionError
from herbrand.engines.credal.vertices import vertex_end
from herbrand.errors import BudgetError

SUM_ROUNDED = 64 * sys.float_info.epsilon
"""Largest relative rounding error of a probability that is summed over the rows of a program."""


@dataclass(frozen=True, eq=False)
class LocalQuery:
    """``P(event | given)`` over atoms of a part; both tables have an axis for each of ``atoms``.

    ``within``: an interval that is known to hold the query's probability, to which a search is confined.
    """

    atoms: tuple[int, ...]
    event: np.ndarray  # (2,) * k bool
    given: np.ndarray | None = None  # (2,) * k bool
    within: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True)
class Clock:
    """Limits of a search: ``until`` by the monotonic clock, ``most`` seconds an end, and a ``tolerance``.

    ``tolerance`` is relative to the optimum; ``watch`` is called with the gap.
    """

    until: float = math.inf
    most: float = math.inf
    tolerance: float = TOLERANCE
    watch: Watch | None = None

    def seconds(self, ends_left: int = 1) -> float:
        """An equal share of the time left in seconds, for one of ``ends_left`` ends; ``most`` at most."""
        return min(self.most, max(self.until - time.monotonic(), 0.0) / max(ends_left, 1))


@dataclass(frozen=True)
class Ends:
    """The lower and the upper end of an interval."""

    lower: End
    upper: End

    @property
    def gaps(self) -> tuple[float, float]:
        """Largest possible distance of each end from the tightest, by the values that both searches reached.

        A value that one search reached limits the other end too.
        """
        reached = [end.value for end in (self.lower, self.upper) if end.value is not None]
        least, greatest = min([*reached, self.upper.bound]), max([*reached, self.lower.bound])
        if self.proved and self.lower.value is not None and self.upper.value is not None:
            least, greatest = self.lower.value, self.upper.value
        return _gap(least, self.lower.bound), _gap(greatest, self.upper.bound)

    @property
    def gap(self) -> float:
        """Largest possible distance of either end from the tightest."""
        return max(self.gaps)

    @property
    def proved(self) -> bool:
        """Whether both ends are proved to be the tightest, up to the tolerance."""
        return self.lower.proved and self.upper.proved

    def searched_on(self, least: bool, seconds: float) -> Ends:
        """The ends after the search for one of them has continued for some seconds."""
        before = self.lower if least else self.upper
        assert before.more is not None
        after = _within(before.more(seconds))
        if least:
            return replace(self, lower=replace(after, bound=max(before.bound, after.bound)))
        return replace(self, upper=replace(after, bound=min(before.bound, after.bound)))

    def within(self, lower: float, upper: float) -> Ends:
        """The ends intersected with an interval that is known to hold all values."""
        return Ends(
            replace(self.lower, bound=max(self.lower.bound, lower)),
            replace(self.upper, bound=min(self.upper.bound, upper)),
        )


UNKNOWN = Ends(End(0.0, None, 0, proved=False), End(1.0, None, 0, proved=False))
"""The ends of a query for which no time was left."""


def _gap(reached: float, bound: float) -> float:
    """Largest distance of a bound from the reached value, a rounded sum; 0 where they are equal."""
    return abs(reached - bound) + SUM_ROUNDED * abs(reached) if reached != bound else 0.0


def ends_of(
    part: NetworkPart, query: LocalQuery, clock: Clock, ends_left: int = 2, *, at_vertices: bool = True
) -> Ends:
    """Compute both ends of a query: at vertices or by corners if ``at_vertices``, else by a program.

    Raises ``InfeasibleError`` or ``ImpossibleConditionError``.
    """
    masses = separate_masses(part, query.atoms, query.event, query.given) if at_vertices else None
    if masses is not None:
        return vertex_ends(masses, clock, ends_left)
    tables = table_program(part, [query.atoms])
    lower, upper = _at_corners(part, tables, query, clock, ends_left) if at_vertices else (None, None)
    if lower is not None and upper is not None:
        return Ends(lower, upper)
    if clock.seconds() <= 0:
        return UNKNOWN if lower is None else replace(UNKNOWN, lower=lower)
    program, objective = _asked(tables, query, clock, ends_left)
    if lower is None:
        lower = _end(program, objective, query, True, clock, ends_left)
    return Ends(lower, _end(program, objective, query, False, clock, ends_left - 1))


def _at_corners(
    part: NetworkPart, tables: TableProgram, query: LocalQuery, clock: Clock, ends_left: int
) -> tuple[End | None, End | None]:
    """The ends that little work at the corners of boxes proves, in a network of few rows with products.

    Where it does not prove the lower end, the upper one is not tried.
    """
    masses = corner_masses(part, query.atoms, query.event, query.given)
    if masses is None or not len(tables.program.products):
        return None, None
    until = time.monotonic() + clock.seconds(ends_left)
    lower = corner_end(masses, least=True, tolerance=clock.tolerance, until=until)
    if lower is None:
        return None, None
    upper = corner_end(masses, least=False, tolerance=clock.tolerance, until=until)
    return _within(lower), None if upper is None else _within(upper)


def vertex_ends(masses: Masses, clock: Clock, ends_left: int = 2) -> Ends:
    """Both ends of a query in a network of separate rows.

    Raises :class:`ImpossibleConditionError`.
    """
    if not masses.possible:
        raise ImpossibleConditionError
    near = related(masses)
    lower = _at_vertices(near, True, clock, ends_left)
    return Ends(lower, _at_vertices(near, False, clock, ends_left - 1))


def _at_vertices(masses: Masses, least: bool, clock: Clock, ends_left: int) -> End:
    """Search the vertices of a network of separate rows for one end."""
    until = time.monotonic() + clock.seconds(ends_left)
    return vertex_end(masses, least, clock.tolerance, until)


def _end(
    program: PolynomialProgram,
    objective: Linear,
    query: LocalQuery,
    least: bool,
    clock: Clock,
    ends_left: int,
) -> End:
    """Solve the program for one end, within the interval that is known to hold it."""
    if query.within != (0.0, 1.0):
        program = program.with_row(*objective, *query.within)
    try:
        return _within(_solved(program, objective, least, clock, ends_left))
    except InfeasibleError:
        if query.given is None:
            raise
        raise ImpossibleConditionError from None


def is_consistent(part: NetworkPart, clock: Clock) -> bool:
    """Whether some distribution satisfies a part's sentences; True too where time ends without a proof."""
    tables = table_program(part)
    try:
        _solved(tables.program, Linear(np.array([tables.cases.total]), np.ones(1)), True, clock, 1)
    except InfeasibleError:
        return False
    return True


def _asked(
    tables: TableProgram, query: LocalQuery, clock: Clock, ends_left: int
) -> tuple[PolynomialProgram, Linear]:
    """The program to solve, and the linear function to minimise and maximise.

    Given a condition, its own range is computed first, and the program is scaled so that P(condition) = 1.
    """
    if query.given is None:
        return tables.program, tables.cases.expectation(query.atoms, query.event)
    given = tables.cases.expectation(query.atoms, query.given)
    both = tables.cases.expectation(query.atoms, query.event & query.given)
    program = tightened(tables.program)
    if program is None:
        raise InfeasibleError
    most = min(greatest(program, given), _solved(program, given, False, clock, ends_left + 2).bound)
    if most <= 0:
        raise ImpossibleConditionError
    least = max(0.0, _solved(program, given, True, clock, ends_left + 1).bound)
    scaled = _scaled(tables, program, least, most)
    return scaled.with_row(*given, 1.0, 1.0), both


def greatest(program: PolynomialProgram, objective: Linear) -> float:
    """Upper bound of a sum of probabilities from the ranges of the variables; exactly 0 where all are 0."""
    ends = np.where(
        objective.factors > 0, program.upper[objective.variables], program.lower[objective.variables]
    )
    shares = objective.factors * ends
    return float(np.nextafter(shares.sum() * (1 + 1e-12), np.inf)) if (shares != 0).any() else 0.0


def _scaled(
    table_program: TableProgram, program: PolynomialProgram, least: float, most: float
) -> PolynomialProgram:
    """The program in units of P(condition) in [``least``, ``most``]: P(true) is at least 1 / ``most``.

    Lower ends become 0; upper ends are multiplied by 1 / ``least``, and are infinite where it is 0.
    """
    lower, upper = program.lower.copy(), program.upper.copy()
    tables = table_program.table_variables
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        times = np.nextafter(np.float64(1.0) / least, np.inf)
        upper[tables] = np.where(upper[tables] > 0, np.nextafter(upper[tables] * times, np.inf), 0.0)
    lower[tables] = 0.0
    lower[table_program.cases.total] = np.nextafter(1 / most, 0.0)
    return replace(program, lower=lower, upper=upper)


def _solved(program: PolynomialProgram, objective: Linear, least: bool, clock: Clock, ends_left: int) -> End:
    return optimum(
        program,
        *objective,
        least=least,
        seconds=clock.seconds(ends_left),
        tolerance=clock.tolerance,
        watch=clock.watch,
    )


def _within(end: End) -> End:
    """Clip an end to [0, 1], where every probability lies."""
    value = None if end.value is None else min(max(end.value, 0.0), 1.0)
    return replace(end, bound=min(max(end.bound, 0.0), 1.0), value=value)


# Size of the program of a query, computed before it is built


MOST_WIDTH = 16
"""Most atoms in one table."""
WIDE = 30
"""Atoms of a table beyond which no wider one is looked for: no machine holds it."""
MOST_CORE = 10
"""Most atoms on and above cycles, which share one table."""
BYTES_AN_ENTRY = 2000
"""Estimated bytes of a program for each entry of its tables."""
LEAST_SECONDS = 0.01
"""Seconds that the smallest program takes."""


@dataclass(frozen=True)
class Size:
    """Size of a program: table entries, products, ``core`` atoms on and above cycles, and widest table."""

    entries: int
    products: int
    core: int
    width: int

    @property
    def seconds(self) -> float:
        """Estimated seconds for both ends; the constants are measured."""
        return LEAST_SECONDS + 1e-4 * self.entries + 1e-3 * self.products**2

    @property
    def bytes(self) -> int:
        return self.entries * BYTES_AN_ENTRY

    def fits(self, memory: int | None) -> bool:
        """Whether the program is small enough to be built."""
        return self.core <= MOST_CORE and self.width <= MOST_WIDTH and self.bytes <= allowed_bytes(memory)

    def check(self, memory: int | None, query: str) -> None:
        """Raise ``BudgetError`` if the program is too large to be built."""
        hint = "--engine ariel takes larger ones"
        if self.core > MOST_CORE:
            raise BudgetError(
                f"P({query}) depends on {self.core:,} atoms on or above cycles of the network; the exact "
                f"engine takes {MOST_CORE}, as it needs one table of all their cases",
                hint=hint,
            )
        if not self.fits(memory):
            raise BudgetError(
                f"P({query}) needs a table over {self.width:,} atoms, about {readable(float(self.bytes))} "
                "in all",
                hint=hint,
            )


@lru_cache(MOST_KEPT)
def size_of(part: NetworkPart, query: LocalQuery | None = None) -> Size:
    """The size of the program for a query, or without one for a consistency check.

    Products are not counted where the core is too large, nor more than one table that no machine holds.
    """
    core = len(part.graph.core)
    if core > MOST_CORE:
        return Size(0, 0, core, core)
    clusters = clusters_of(part, [] if query is None else [query.atoms], WIDE)
    products = sum(2 ** (c.width - 1) for c in clusters if len(c.parents) < len(c.neighbours))
    for atom in part.graph.core:
        statement = part.graph.statement(atom)
        others = [other for other in statement.others if other in set(part.graph.core)]
        products += 2 ** (len(statement.given) + len(others)) if others else 0
    widest = max([cluster.width for cluster in clusters], default=0)
    entries = 2**core + sum(2**cluster.width for cluster in clusters)
    return Size(entries, products, core, max(widest, core))
