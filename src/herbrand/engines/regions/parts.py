"""Regions of a program: what is counted, merged, taken in part, or refused as too large.

Takes a program and a cost bound; gives a :class:`RegionPart` for each summation: the regions to begin with,
and gentler ones for messages that do not come to rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from herbrand.budget import UNLIMITED, Budget, readable
from herbrand.engines.exact import operations_in
from herbrand.engines.lifted.costs import Cost, axes_of, largest_table
from herbrand.engines.lifted.problem import Problem, problem_of
from herbrand.engines.lifted.summation import Summation
from herbrand.engines.lifted.terms import NotLiftableError
from herbrand.engines.regions.construction import merged, one_a_formula, within
from herbrand.engines.regions.counts import CountGraph, count_graph
from herbrand.engines.regions.expected import Beliefs, Believed, BelievedApart
from herbrand.engines.regions.graph import Region, region_graph
from herbrand.engines.regions.grounded import MOST_CLASSES, grounded_graph
from herbrand.engines.regions.message_run import RegionRun
from herbrand.engines.regions.messages import Propagation

COST = 1e5
"""Default bound on the entries of clusters that are merged."""

LARGEST_FORMULA = 2e7
"""Default bound on the entries of a single formula's table."""

MOST_VARIABLES = 500
"""Number of variables above which rounds take minutes, and there is little symmetry to gain from."""

BYTES_A_NUMBER = 8
TABLES_AT_ONCE = 4


class TooLargeError(NotLiftableError):
    """Tables over all counts would be too large."""


@dataclass(frozen=True, eq=False)
class RegionPart:
    """One summation and its regions; ``gentler`` ones are tried if these do not come to rest. ``making``:
    cost of listing the counts of its variables, with the ways to have each."""

    summation: Summation
    propagation: Propagation
    gentler: tuple[Propagation, ...]
    making: Cost

    def believed(self, run: RegionRun) -> Believed | BelievedApart:
        """Replacement of the summation for looking up probabilities."""
        beliefs = Beliefs(run.propagation, run.messages)
        is_counted = self.propagation.counts.layout is not None
        return (Believed if is_counted else BelievedApart)(self.summation, beliefs)


@dataclass(frozen=True)
class Construction:
    """Settings of the construction, named as those of the engine. ``clock``: time limit."""

    budget: Budget
    cost: float | None
    joint: bool
    merge: bool
    partial: bool
    clock: Budget = UNLIMITED

    def parted(self, problem: Problem) -> tuple[Problem, list[RegionPart]]:
        """Regions of each summation; if some table over all counts would be too large, and ``partial`` allows
        it, with regions that take some constants at a time."""
        try:
            return problem, [self._counted(s) for s in problem.summations if not s.impossible]
        except TooLargeError as reason:
            if (
                not self.partial
                or sum(len(e.first) for s in problem.summations for e in s.model.elements) > MOST_CLASSES
            ):
                raise
            problem = problem_of(problem.evidence.program, problem.evidence, by_class=True, budget=self.clock)
            possible = [s for s in problem.summations if not s.impossible]
            try:
                return problem, [self._grounded(summation) for summation in possible]
            except NotLiftableError:
                raise reason from None

    def counting(self, problem: Problem) -> Cost:
        """Cost of counting alone, estimated from shapes before any count is listed; raises
        :class:`TooLargeError`."""
        costs = [self._affordable(s)[1] for s in problem.summations if not s.impossible]
        return Cost(sum(cost.operations for cost in costs), sum(cost.bytes for cost in costs))

    def _affordable(self, summation: Summation) -> tuple[float, Cost]:
        """Entries of the largest table of a formula, and the cost of counting; raises
        :class:`TooLargeError`."""
        rows, cost = axes_of(summation, self.clock)
        if len(rows) > MOST_VARIABLES:
            raise NotLiftableError(f"{len(rows):,} classes of constants are more than {MOST_VARIABLES:,}")
        if not math.isfinite(cost.bytes):  # then not all axes are listed
            self._refuse(0, cost.bytes)
        largest = largest_table(summation, rows, COST if self.cost is None else self.cost)
        self._refuse(largest, cost.bytes)
        most = operations_in(self.budget, math.inf)
        if cost.operations > most:
            raise TooLargeError(
                f"counting would take about {cost.operations:.0e} operations; the time limit allows "
                f"{most:.0e}"
            )
        return largest, cost

    def _counted(self, summation: Summation) -> RegionPart:
        """Regions of a summation with everything counted; raises :class:`TooLargeError`."""
        largest, cost = self._affordable(summation)
        allowed = COST if self.cost is None else self.cost
        graph = count_graph(summation, allowed, self.clock)
        formulas = one_a_formula(graph)
        together = sum(map(graph.made, formulas))
        self._refuse(largest, cost.bytes + (together - largest) * BYTES_A_NUMBER * TABLES_AT_ONCE)
        clusters = self._merged(graph, formulas, largest)
        ladder = [(clusters, True), (formulas, True), (clusters, False)]
        if graph.wide:  # such clusters send one variable at a time
            ladder = [(clusters, False), (formulas, False)]
        return self._laddered(summation, graph, ladder, cost)

    def _grounded(self, summation: Summation) -> RegionPart:
        """Regions of a summation that take some constants at a time where counting all would
        exceed the cost."""
        allowed = COST if self.cost is None else self.cost
        graph = grounded_graph(summation, allowed)
        formulas = within(graph, allowed)
        together = sum(map(graph.entries, formulas))
        self._refuse(0, together * BYTES_A_NUMBER * TABLES_AT_ONCE)
        clusters = self._merged(graph, formulas, 0)
        making = Cost(together, together * BYTES_A_NUMBER)
        part = self._laddered(summation, graph, [(clusters, True)], making)
        if part.propagation.graph.acyclic:
            return part
        # What copies share of several variables at once counts so often, with either sign, that messages
        # about it run away: only single variables are shared.
        return self._laddered(summation, graph, [(clusters, False), (formulas, False)], making)

    def _laddered(
        self,
        summation: Summation,
        counts: CountGraph,
        ladder: Sequence[tuple[Sequence[Region], bool]],
        making: Cost,
    ) -> RegionPart:
        """Part with the regions of each rung of the ladder: clusters, and whether they share all they have in
        common or each variable by itself. The first rung is tried first."""
        singles = [i for i, v in enumerate(counts.variables) if not self.joint and v.weights is not None]
        steps = dict.fromkeys((tuple(clusters), deep) for clusters, deep in ladder)
        first, *gentler = (
            Propagation(counts, region_graph(outer, counts.elements, counts.parts, singles, deep, self.clock))
            for outer, deep in steps
        )
        return RegionPart(summation, first, tuple(gentler), making)

    def _merged(self, graph: CountGraph, formulas: list[Region], largest: float) -> list[Region]:
        """Merge clusters, if allowed, into tables so small that memory holds one for each formula."""
        if not self.merge:
            return formulas
        room = self.budget.bytes / (BYTES_A_NUMBER * TABLES_AT_ONCE * max(1, len(formulas)))
        most = max(largest, min(COST if self.cost is None else self.cost, room))
        return merged(graph, formulas, most, self.clock)

    def _refuse(self, entries: float, needed: float) -> None:
        allowed, most = self.budget.bytes, LARGEST_FORMULA if self.cost is None else self.cost
        if entries > most:
            raise TooLargeError(
                f"a formula's table over counts would have {entries:,.0f} entries, and {most:,.0f} are "
                "allowed (--cost)"
            )
        needed += entries * BYTES_A_NUMBER * TABLES_AT_ONCE
        if needed > allowed:
            shown = readable(needed) if math.isfinite(needed) else "more than any machine has"
            raise TooLargeError(f"counting needs {shown} and may use {readable(allowed)}")


@dataclass(frozen=True)
class Size:
    """Size of a part: entries of the largest table, operations of counting and of a round, and
    bytes of all."""

    entries: float
    making: float
    operations: float
    bytes: float


def size_of(part: RegionPart) -> Size:
    """Cost of a part's plan: counts are listed once, tables are made of them, and messages
    pass between these."""
    graph = part.propagation.graph
    entries = [part.propagation.entries(number) for number in range(len(graph.regions))]
    work = sum(
        (entries[parent] + entries[child]) * (1 + len(graph.entering[parent]))
        for parent, child in graph.edges
    )
    most, every = max(entries, default=0), sum(entries)
    needed = part.making.bytes + 2 * BYTES_A_NUMBER * every
    return Size(most, part.making.operations + every, work + most, needed)
