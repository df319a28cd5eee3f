"""Exact explanation of an atom: its log-odds shared out among groundings and soft evidence.

Let every weight be scaled by s. At s = 0 only hard statements and facts count; at s = 1 the log-odds are the
answer's. Between, they change at the rate sum over groundings f of w (E[f | atom] - E[f | not atom]), so the
integral of each summand from 0 to 1 is that grounding's contribution, and the contributions add up exactly
(the Aumann-Shapley value: no grounding is favoured by an order in which they are considered). The integral is
taken by Gauss-Legendre quadrature, over parts of the interval where that needs many points
(:func:`integrated`); the expectations are exact.
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
from herbrand.factors.program_graph import ProgramGraph
from herbrand.language.show import statement_text
from herbrand.language.syntax import Value
from herbrand.program.ground import Ground
from herbrand.program.program import Argument

POINTS = (8, 16, 32)
CLOSE = 1e-9
"""Tolerance, relative to the contributions, of their sum and of their change from one quadrature to
a finer one."""
SMALLEST_CUT = 1e-4
"""Smallest ratio of a cut to the upper end; an interval is cut at the geometric mean of its ends, or here."""
MOST_CUTS = 100
"""Number of cuts of an integral, after which it leaves a remainder."""
SCALES_TOGETHER, MOST_TOGETHER = 8, 1 << 26
"""Number of scales that are summed at once if that takes at most ``MOST_TOGETHER`` bytes: a short step takes
as long for one."""

Where = tuple[tuple[str, Value], ...]
Key = tuple[str, Where]
"""A statement, or soft evidence, and the constants of its variables."""
MOST_LINES = 10_000
"""Number of groundings listed for a template whose formula has variables that only some of
its pieces name."""


@dataclass(frozen=True, eq=False)
class Attribution:
    """Log-odds, or a probability, as a sum of reasons: ``base`` from what is not scaled alone, facts and hard
    statements, ``value`` with all statements."""

    base: float
    value: float
    reasons: tuple[Reason, ...]

    @property
    def remainder(self) -> float:
        """Error of the integral: the part of the value that base and reasons leave."""
        return self.value - self.base - math.fsum(reason.contribution for reason in self.reasons)


class Scaled(Protocol):
    """A problem whose weights can be scaled."""

    def log_odds(self, scale: float) -> float:
        """Log-odds at a scale; infinite if only one answer is possible, ``nan`` if none is."""
        ...

    def log_weights(self) -> Array:
        """Weights that are scaled."""
        ...

    def slopes(self, scales: Array) -> Array:
        """Derivatives of the log-odds by each weight, [scale, weight]."""
        ...

    def reasons(self, slopes: Array) -> tuple[Reason, ...]:
        """Reasons with their contributions, from slopes integrated over all scales."""
        ...


def shared_out(problem: Scaled) -> Attribution:
    """Log-odds as a sum of reasons; infinite ones have no reasons, as hard statements force them."""
    at = cache(problem.log_odds)
    base, value = at(0.0), at(1.0)
    if not (math.isfinite(base) and math.isfinite(value)):
        return Attribution(base, value, ())
    slopes = integrated(lambda scales: scales[:, None] * problem.slopes(scales), problem.log_weights(), at)
    return Attribution(base, value, problem.reasons(slopes))


def integrated(rates: Callable[[Array], Array], log_weights: Array, total: Callable[[float], float]) -> Array:
    """Integral of slopes over the scales from 0 to 1; its products with ``log_weights`` add up to the
    rise of ``total``.

    ``rates`` [scale, weight] are slopes times the scale; ``total`` is evaluated at ends of intervals
    repeatedly. Huge weights and tiny probabilities make steps at scales of any size, so an interval in which
    the points miss a part of the rise is cut.
    """
    integral, waiting, cuts = np.zeros(len(log_weights)), [(0.0, 1.0)], 0
    while waiting:
        low, high = waiting.pop()
        part, is_close = _over(rates, log_weights, low, high, total(high) - total(low))
        if is_close or cuts == MOST_CUTS:
            integral += part
            continue
        cuts += 1
        middle = max(math.sqrt(low) * math.sqrt(high), SMALLEST_CUT * high)
        waiting += [(low, middle), (middle, high)]
    return integral


def _over(
    rates: Callable[[Array], Array], log_weights: Array, low: float, high: float, rise: float
) -> tuple[Array, bool]:
    """Integral over an interval, and whether it is accurate enough."""
    integral, is_close = np.zeros(len(log_weights)), False
    for points in POINTS:
        places, shares = np.array(scales(points)).T
        at = low + places * (high - low)
        before, integral = integral, ((high - low) / at * shares) @ rates(at)
        within = CLOSE * (1 + float(np.abs(log_weights * integral).sum()))
        moved = np.abs(log_weights * (integral - before)).max(initial=0.0)
        is_close = bool(moved < within) and abs(float(log_weights @ integral) - rise) < within
        if is_close and points > POINTS[0]:
            break
    return integral, is_close


def log_odds(yes: float, no: float) -> float:
    """Log-odds from two log-partitions; ``nan`` if both are -inf."""
    return yes - no if max(yes, no) > -math.inf else math.nan


def scales(points: int) -> list[tuple[float, float]]:
    """Gauss-Legendre points on the interval from 0 to 1, each with its weight.

    >>> [(round(place, 4), share) for place, share in scales(2)]
    [(0.2113, 0.5), (0.7887, 0.5)]
    """
    nodes, weights = np.polynomial.legendre.leggauss(points)
    return list(zip(((nodes + 1) / 2).tolist(), (weights / 2).tolist(), strict=True))


def attributable(
    ground: Ground, built: ProgramGraph, atom: int, value: int, allowed: Callable[[Elimination], None]
) -> Attributable:
    """Log-odds of a latent atom's value, to be shared out over the graph of all formulas; ``allowed`` raises
    if the elimination is too large."""
    core = Core.whole(chained(built.graph), ground.atoms.count).around(np.array([atom]))
    return Attributable(ground, built, _together(core, allowed), atom, value)


def _together(core: Core, allowed: Callable[[Elimination], None]) -> Elimination:
    """Plan an elimination for several scales at once, or for one if that is too large; with two copies for
    each scale, see :meth:`Attributable.sums`."""
    several = planned_entirely(core, copies=2 * SCALES_TOGETHER)
    if several.bytes <= MOST_TOGETHER:
        with suppress(BudgetError):
            allowed(several)
            return several
    one = planned_entirely(core, copies=2)
    allowed(one)
    return one


@dataclass(frozen=True, eq=False)
class Attributable:
    """The component of a graph that contains an atom, eliminated with the atom's value and with all others.

    Forbidden entries stay forbidden at any scale; all other log-weights are scaled.
    """

    ground: Ground
    built: ProgramGraph
    elimination: Elimination
    atom: int
    value: int

    def log_weights(self) -> Array:
        values = self.elimination.values
        return np.where(values == FORBIDDEN, 0.0, values)

    def sums(self, scales: Array) -> tuple[Array, Array]:
        """Totals [scale, case] and their gradients by all values, for the case that the atom has the value
        and the case that it has another."""
        values, graph = self.elimination.values, self.built.graph
        scaled = np.where(values == FORBIDDEN, FORBIDDEN, scales[:, None, None] * self.log_weights())
        scaled = np.repeat(scaled, 2, axis=1)
        own = np.arange(graph.sizes[self.atom])
        for case, holds in enumerate((True, False)):
            scaled[:, case, graph.starts[self.atom] + own[(own == self.value) != holds]] = FORBIDDEN
        copies = np.resize(scaled, (self.elimination.copies, len(values)))  # repeats rows to fill all copies
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
        """Yield each grounding of a weighted statement with its contribution: integrated
        slope times weight."""
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
                shares = origin.piece.log_weight * slopes[entries].sum(axis=1)
                text = statement_text(program.statements[template.statement])
                for row, share in zip(origin.rows[own].tolist(), shares.tolist(), strict=True):
                    instances = groundings(origin.template)(row)
                    for grounding in instances:
                        yield (text, grounding), share / len(instances)

    def _of_opinions(self, slopes: Array) -> Iterator[tuple[Key, float]]:
        """Yield soft evidence on each atom with its contribution."""
        own = self.ground.own_weights()
        finite = np.flatnonzero(self.elimination.core.present[own.atoms] & np.isfinite(own.log_weights))
        for atom, value, log_weight in zip(
            *(x[finite] for x in (own.atoms, own.values, own.log_weights)), strict=True
        ):
            text = self.ground.evidence.atom_text(*self.ground.atoms.atom(int(atom)))[0]
            yield (
                (f"soft evidence on {text}", ()),
                float(log_weight * slopes[self.built.graph.starts[atom] + value]),
            )


def _names_of_formulas(ground: Ground) -> Mapping[int, set[str]]:
    """Variables that the pieces of each formula name."""
    named: dict[int, set[str]] = defaultdict(set)
    for one in ground.templates:
        named[one.template.formula].update(one.bound_names)
    return named


def _groundings(
    ground: Ground, named: Mapping[int, set[str]], number: int
) -> Callable[[int], Sequence[Where]]:
    """Function from a row of a template to the groundings of its formula, of which the row is
    an equal part."""
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
    """All constants, allowed by inequalities, for the variables that a template leaves open and other pieces
    of its formula name.

    A variable that no piece names is left out, and all are if there are more than ``most`` combinations: the
    contribution is then that of all their constants together.
    """
    grounded = ground.templates[number]
    template, conjunction = grounded.template, grounded.template.conjunction
    arguments = {
        became for (name, _), became in zip(template.free, template.instance, strict=True) if name in named
    }
    unbound = {became for became in template.instance if not grounded.bindings.binds([became])}
    if unbound.isdisjoint(arguments):
        return []
    arguments |= {argument for pair in conjunction.distinct for argument in pair}
    idle = sorted(x for x in unbound & arguments if isinstance(x, str))
    sizes = [len(ground.program.domain(conjunction.types[name])) for name in idle]
    if not 0 < math.prod(sizes) <= most:
        return []
    apart = [pair for pair in conjunction.distinct if all(isinstance(x, int) or x in idle for x in pair)]
    every = (
        dict[Argument, int](zip(idle, values, strict=True))
        for values in itertools.product(*map(range, sizes))
    )
    return [choice for choice in every if all(choice.get(a, a) != choice.get(b, b) for a, b in apart)]
