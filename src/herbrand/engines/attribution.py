"""Why an atom has its exact probability: the log-odds shared out among groundings and soft evidence.

Let every weight be scaled by s. At s = 0 only what is certain speaks; at s = 1 the log-odds are the answer's.
Along the way they change at the rate sum over groundings f of w (E[f | atom] - E[f | not atom]), so the
integral of each summand from 0 to 1 is that grounding's contribution, and the contributions add up exactly
(the Aumann-Shapley value: no grounding is favoured by the order in which they are looked at). The integral is
taken by Gauss-Legendre points, more of them until it closes; the expectations are exact.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Protocol

import numpy as np

from herbrand.answers.explanation import Reason
from herbrand.engines.components import Core, chained
from herbrand.engines.elimination import Elimination, planned_entirely
from herbrand.factors.graph import FORBIDDEN, Array
from herbrand.factors.ground_graph import ground_graph
from herbrand.factors.program_graph import ProgramGraph, own_weights
from herbrand.language.show import statement_text
from herbrand.language.syntax import Value
from herbrand.program.ground import Ground
from herbrand.program.program import Argument

POINTS = (8, 16, 32, 64, 128)
CLOSED = 1e-9
"""The integral is good enough when it misses the log-odds by less."""

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

    def reasons(self, scales: Sequence[tuple[float, float]]) -> tuple[Reason, ...]:
        """The rates of change integrated: each scale with its share of the integral."""
        ...


def shared_out(problem: Scaled) -> Attribution:
    """The log-odds as a sum of reasons; infinite ones have none, what is certain forces them."""
    base, value = problem.log_odds(0.0), problem.log_odds(1.0)
    found = Attribution(base, value, ())
    if not (math.isfinite(base) and math.isfinite(value)):
        return found
    for points in POINTS:
        found = Attribution(base, value, problem.reasons(scales(points)))
        if abs(found.remainder) < CLOSED:
            break
    return found


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
    problem = _Problem(ground, built, planned_entirely(core), atom, value)
    allowed(problem.elimination)
    return shared_out(problem)


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

    def sums(self, scale: float, holds: bool) -> tuple[float, Array]:
        """The total, and its gradient by all values, where the atom has the value, or any other."""
        values = self.elimination.values
        scaled = np.where(values == FORBIDDEN, FORBIDDEN, scale * np.where(values == FORBIDDEN, 0.0, values))
        graph = self.built.graph
        own = np.arange(graph.sizes[self.atom])
        scaled[graph.starts[self.atom] + own[(own == self.value) != holds]] = FORBIDDEN
        return self.elimination.joint_shares(scaled)

    def log_odds(self, scale: float) -> float:
        return log_odds(*(self.sums(scale, holds)[0] for holds in (True, False)))

    def reasons(self, scales: Sequence[tuple[float, float]]) -> tuple[Reason, ...]:
        rates = np.zeros(len(self.elimination.values))
        for scale, share in scales:
            yes, no = (self.sums(scale, holds)[1] for holds in (True, False))
            rates += share * (yes - no)
        sums: dict[Key, float] = defaultdict(float)
        for key, share in (*self._of_rows(rates), *self._of_opinions(rates)):
            sums[key] += share
        return tuple(
            Reason(statement, dict(grounding), share) for (statement, grounding), share in sums.items()
        )

    def _of_rows(self, rates: Array) -> Iterator[tuple[Key, float]]:
        """Each grounding of a weighted statement, and its integrated rate of change times its worth."""
        program, core = self.ground.program, self.elimination.core
        is_near = np.isin(np.arange(core.graph.factor_count), core.factors)
        tables = (self.built.in_tables, self.elimination.table_places, is_near)
        groundings = cache(partial(_groundings, self.ground))
        for origins, begins, near in (tables, (self.built.on_axes, core.graph.starts, core.present)):
            for origin in origins:
                template = self.ground.templates[origin.template].template
                own = np.flatnonzero(near[origin.places])
                if origin.piece is None or template.weight is None or not len(own):
                    continue
                entries = begins[origin.places[own]][:, None] + np.flatnonzero(origin.holds.reshape(-1))
                shares = origin.piece.worth * rates[entries].sum(axis=1)
                text = statement_text(program.statements[template.statement])
                for row, share in zip(origin.rows[own].tolist(), shares.tolist(), strict=True):
                    instances = groundings(origin.template)(row)
                    for grounding in instances:
                        yield (text, grounding), share / len(instances)

    def _of_opinions(self, rates: Array) -> Iterator[tuple[Key, float]]:
        """Soft evidence on each atom."""
        own = own_weights(self.ground)
        wanted = np.flatnonzero(self.elimination.core.present[own.atoms] & np.isfinite(own.worths))
        for atom, value, worth in zip(*(x[wanted] for x in (own.atoms, own.values, own.worths)), strict=True):
            text = self.ground.evidence.atom_text(*self.ground.atoms.atom(int(atom)))[0]
            yield (
                (f"soft evidence on {text}", ()),
                float(worth * rates[self.built.graph.starts[atom] + value]),
            )


def _groundings(ground: Ground, number: int) -> Callable[[int], Sequence[Where]]:
    """The groundings of its formula that each row of a template is an equal part of."""
    found, domain = ground.templates[number], ground.program.domain
    rows = found.groundings(ground.program)
    choices = _unnamed(ground, number, MOST_LINES // max(len(rows), 1))
    instance = [*zip(found.template.free, found.template.instance, strict=True)]

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


def _unnamed(ground: Ground, number: int, most: int) -> list[dict[Argument, int]]:
    """The constants of the variables that a template leaves open and other pieces of its formula name, in
    every way that its inequalities allow.

    A variable that no piece names is left out, and all are where there were more than ``most`` ways: what is
    said is then of all their constants together.
    """
    found = ground.templates[number]
    template, conjunction = found.template, found.template.conjunction
    others = (t for t in ground.templates if t.template.formula == template.formula)
    named = {name for other in others for name in other.bound_names}
    wanted = {
        became for (name, _), became in zip(template.free, template.instance, strict=True) if name in named
    }
    unbound = {became for became in template.instance if not found.bindings.binds([became])}
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
