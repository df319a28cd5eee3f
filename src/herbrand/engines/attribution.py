"""Why an atom has its exact probability: the log-odds shared out among groundings and soft evidence.

Let every weight be scaled by s. At s = 0 only what is certain speaks; at s = 1 the log-odds are the answer's.
Along the way they change at the rate sum over groundings f of w (E[f | atom] - E[f | not atom]), so the
integral of each summand from 0 to 1 is that grounding's contribution, and the contributions add up exactly
(the Aumann-Shapley value: no grounding is favoured by the order in which they are looked at). The integral is
taken by Gauss-Legendre points, and in parts where that takes many (:func:`integrated`); the expectations are
exact.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Protocol

import numpy as np

from herbrand.answers.explanation import Reason
from herbrand.engines.components import Core, chained
from herbrand.engines.elimination import Elimination, planned_entirely
from herbrand.errors import BudgetError
from herbrand.factors.graph import FORBIDDEN, Array
from herbrand.factors.ground_graph import ground_graph
from herbrand.factors.program_graph import ProgramGraph
from herbrand.language.show import statement_text
from herbrand.language.syntax import Value
from herbrand.program.ground import Ground
from herbrand.program.program import Argument

POINTS = (8, 16, 32)
CLOSE = 1e-9
"""Contributions that add up so closely, and change so little, need no finer steps; large ones in parts of
their size."""
SMALLEST_CUT = 1e-4
"""An interval is cut in the middle of its ends' orders of magnitude, or here, in parts of its end."""
MOST_CUTS = 100
"""An integral that takes more leaves a remainder."""
SCALES_TOGETHER, MOST_TOGETHER = 8, 1 << 26
"""So many scales are summed at once where that takes no more bytes: short steps take as long for one."""

Where = tuple[tuple[str, Value], ...]
Key = tuple[str, Where]
"""A statement, or soft evidence, and the constants of its variables."""
MOST_LINES = 10_000
"""So many groundings are told apart where some pieces of a formula name a variable and others do not."""


@dataclass(frozen=True, eq=False)
class Attribution:
    """``base`` is the log-odds of what is certain alone; ``value`` what all statements make of them."""

    base: float
    value: float
    reasons: tuple[Reason, ...]

    @property
    def remainder(self) -> float:
        """What the integral missed."""
        return self.value - self.base - math.fsum(reason.contribution for reason in self.reasons)


class Scaled(Protocol):
    """A problem whose weights can be scaled."""

    def log_odds(self, scale: float) -> float:
        """Infinite where only one answer is possible, ``nan`` where none is."""
        ...

    def worths(self) -> Array:
        """The weights that are scaled."""
        ...

    def slopes(self, scales: Array) -> Array:
        """The derivatives of the log-odds by each of them, [scale, weight]."""
        ...

    def reasons(self, slopes: Array) -> tuple[Reason, ...]:
        """The contributions, of the slopes integrated over all scales."""
        ...


def shared_out(problem: Scaled) -> Attribution:
    """The log-odds as a sum of reasons; infinite ones have none, what is certain forces them."""
    at = cache(problem.log_odds)
    base, value = at(0.0), at(1.0)
    if not (math.isfinite(base) and math.isfinite(value)):
        return Attribution(base, value, ())
    slopes = integrated(lambda scales: scales[:, None] * problem.slopes(scales), problem.worths(), at)
    return Attribution(base, value, problem.reasons(slopes))


def integrated(rates: Callable[[Array], Array], worths: Array, total: Callable[[float], float]) -> Array:
    """The integral of slopes over the scales from 0 to 1; times the ``worths`` they add up to how much the
    ``total`` rises.

    ``rates`` [scale, weight] are slopes times the scale; ``total`` is asked for the ends of intervals again.
    Huge weights and tiny probabilities make steps at scales of any size, so an interval in which the points
    miss a part of the rise is cut.
    """
    integral, waiting, cuts = np.zeros(len(worths)), [(0.0, 1.0)], 0
    while waiting:
        low, high = waiting.pop()
        part, is_close = _over(rates, worths, low, high, total(high) - total(low))
        if is_close or cuts == MOST_CUTS:
            integral += part
            continue
        cuts += 1
        middle = max(math.sqrt(low) * math.sqrt(high), SMALLEST_CUT * high)
        waiting += [(low, middle), (middle, high)]
    return integral


def _over(
    rates: Callable[[Array], Array], worths: Array, low: float, high: float, rise: float
) -> tuple[Array, bool]:
    """The integral over an interval, and whether it is good enough."""
    integral, is_close = np.zeros(len(worths)), False
    for points in POINTS:
        places, shares = np.array(scales(points)).T
        at = low + places * (high - low)
        before, integral = integral, ((high - low) / at * shares) @ rates(at)
        within = CLOSE * (1 + float(np.abs(worths * integral).sum()))
        moved = np.abs(worths * (integral - before)).max(initial=0.0)
        is_close = bool(moved < within) and abs(float(worths @ integral) - rise) < within
        if is_close and points > POINTS[0]:
            break
    return integral, is_close


def log_odds(yes: float, no: float) -> float:
    """Of two log-partitions."""
    return yes - no if max(yes, no) > -math.inf else math.nan


def scales(points: int) -> list[tuple[float, float]]:
    """Where an integral from 0 to 1 is looked at, and the share of it that each place stands for.

    >>> [(round(place, 4), share) for place, share in scales(2)]
    [(0.2113, 0.5), (0.7887, 0.5)]
    """
    nodes, weights = np.polynomial.legendre.leggauss(points)
    return list(zip(((nodes + 1) / 2).tolist(), (weights / 2).tolist(), strict=True))


def attributed(ground: Ground, atom: int, value: int, allowed: Callable[[Elimination], None]) -> Attribution:
    """The log-odds of a latent atom's value, shared out; ``allowed`` raises where the work is too much."""
    built = ground_graph(ground, by_formula=False)
    core = Core.whole(chained(built.graph), ground.atoms.count).around(np.array([atom]))
    return shared_out(_Problem(ground, built, _together(core, allowed), atom, value))


def _together(core: Core, allowed: Callable[[Elimination], None]) -> Elimination:
    """For several scales at once, or for one where that is too much; two copies each, see
    :meth:`_Problem.sums`."""
    several = planned_entirely(core, copies=2 * SCALES_TOGETHER)
    if several.bytes <= MOST_TOGETHER:
        with suppress(BudgetError):
            allowed(several)
            return several
    one = planned_entirely(core, copies=2)
    allowed(one)
    return one


@dataclass(frozen=True, eq=False)
class _Problem:
    """The part of a graph that is connected with an atom, eliminated for the atom's value and for all others.

    What is forbidden stays so at any scale; all else is weighted.
    """

    ground: Ground
    built: ProgramGraph
    elimination: Elimination
    atom: int
    value: int

    def worths(self) -> Array:
        values = self.elimination.values
        return np.where(values == FORBIDDEN, 0.0, values)

    def sums(self, scales: Array) -> tuple[Array, Array]:
        """The totals [scale, case], and their gradients by all values, where the atom has the value, and
        where it has any other."""
        values, graph = self.elimination.values, self.built.graph
        scaled = np.where(values == FORBIDDEN, FORBIDDEN, scales[:, None, None] * self.worths())
        scaled = np.repeat(scaled, 2, axis=1)
        own = np.arange(graph.sizes[self.atom])
        for case, holds in enumerate((True, False)):
            scaled[:, case, graph.starts[self.atom] + own[(own == self.value) != holds]] = FORBIDDEN
        copies = np.resize(scaled, (self.elimination.copies, len(values)))  # rows again where these are more
        totals, gradients = self.elimination.joint_shares_of(copies)
        pairs = totals.reshape(-1, 2), gradients.reshape(-1, 2, len(values))
        return pairs[0][: len(scales)], pairs[1][: len(scales)]

    def log_odds(self, scale: float) -> float:
        ((yes, no),), _ = self.sums(np.array([scale]))
        return log_odds(yes, no)

    def slopes(self, scales: Array) -> Array:
        at_once = self.elimination.copies // 2
        parts = np.split(scales, range(at_once, len(scales), at_once))
        sums = np.concatenate([self.sums(part)[1] for part in parts])
        return sums[:, 0] - sums[:, 1]

    def reasons(self, slopes: Array) -> tuple[Reason, ...]:
        sums: dict[Key, float] = defaultdict(float)
        for key, share in (*self._of_rows(slopes), *self._of_opinions(slopes)):
            sums[key] += share
        return tuple(
            Reason(statement, dict(grounding), share) for (statement, grounding), share in sums.items()
        )

    def _of_rows(self, slopes: Array) -> Iterator[tuple[Key, float]]:
        """Each grounding of a weighted statement, and its integrated slope times its worth."""
        program, core = self.ground.program, self.elimination.core
        is_near = np.isin(np.arange(core.graph.factor_count), core.factors)
        tables = (self.built.in_tables, self.elimination.table_places, is_near)
        groundings = cache(partial(_groundings, self.ground, _names_of_formulas(self.ground)))
        for origins, begins, near in (tables, (self.built.on_axes, core.graph.starts, core.present)):
            for origin in origins:
                template = self.ground.templates[origin.template].template
                own = np.flatnonzero(near[origin.places])
                if origin.piece is None or template.weight is None or not len(own):
                    continue
                entries = begins[origin.places[own]][:, None] + np.flatnonzero(origin.holds.reshape(-1))
                shares = origin.piece.worth * slopes[entries].sum(axis=1)
                text = statement_text(program.statements[template.statement])
                for row, share in zip(origin.rows[own].tolist(), shares.tolist(), strict=True):
                    instances = groundings(origin.template)(row)
                    for grounding in instances:
                        yield (text, grounding), share / len(instances)

    def _of_opinions(self, slopes: Array) -> Iterator[tuple[Key, float]]:
        """Soft evidence on each atom."""
        own = self.ground.own_weights()
        wanted = np.flatnonzero(self.elimination.core.present[own.atoms] & np.isfinite(own.worths))
        for atom, value, worth in zip(*(x[wanted] for x in (own.atoms, own.values, own.worths)), strict=True):
            text = self.ground.evidence.atom_text(*self.ground.atoms.atom(int(atom)))[0]
            yield (
                (f"soft evidence on {text}", ()),
                float(worth * slopes[self.built.graph.starts[atom] + value]),
            )


def _names_of_formulas(ground: Ground) -> Mapping[int, set[str]]:
    """The variables that the pieces of each formula name."""
    named: dict[int, set[str]] = defaultdict(set)
    for one in ground.templates:
        named[one.template.formula].update(one.bound_names)
    return named


def _groundings(
    ground: Ground, named: Mapping[int, set[str]], number: int
) -> Callable[[int], Sequence[Where]]:
    """The groundings of its formula that each row of a template is an equal part of."""
    grounded, domain = ground.templates[number], ground.program.domain
    rows = grounded.groundings(ground.program)
    most = MOST_LINES // max(len(rows), 1)
    choices = _unnamed(ground, number, named[grounded.template.formula], most)
    instance = [*zip(grounded.template.free, grounded.template.instance, strict=True)]

    def spread(row: int) -> Sequence[Where]:
        known = dict(rows[row])
        return [
            tuple(
                (name, known[name] if name in known else domain(kind).value(choice[became]))
                for (name, kind), became in instance
                if name in known or became in choice
            )
            for choice in choices
        ]

    return spread if choices else lambda row: (rows[row],)


def _unnamed(ground: Ground, number: int, named: set[str], most: int) -> list[dict[Argument, int]]:
    """The constants of the variables that a template leaves open and pieces of its formula name, in every way
    that its inequalities allow.

    A variable that no piece names is left out, and all are where there were more than ``most`` ways: what is
    said is then of all their constants together.
    """
    grounded = ground.templates[number]
    template, conjunction = grounded.template, grounded.template.conjunction
    wanted = {
        became for (name, _), became in zip(template.free, template.instance, strict=True) if name in named
    }
    unbound = {became for became in template.instance if not grounded.bindings.binds([became])}
    if unbound.isdisjoint(wanted):
        return []
    wanted |= {argument for pair in conjunction.distinct for argument in pair}
    idle = sorted(x for x in unbound & wanted if isinstance(x, str))
    sizes = [len(ground.program.domain(conjunction.types[name])) for name in idle]
    if not 0 < math.prod(sizes) <= most:
        return []
    apart = [pair for pair in conjunction.distinct if all(isinstance(x, int) or x in idle for x in pair)]
    every = (
        dict[Argument, int](zip(idle, values, strict=True))
        for values in itertools.product(*map(range, sizes))
    )
    return [choice for choice in every if all(choice.get(a, a) != choice.get(b, b) for a, b in apart)]
