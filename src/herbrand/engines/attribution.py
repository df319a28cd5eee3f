"""Why an atom has its exact probability: the log-odds shared out among groundings and soft evidence.

Let every weight be scaled by s. At s = 0 only what is certain speaks; at s = 1 the log-odds are the answer's.
Along the way they change at the rate sum over groundings f of w (E[f | atom] - E[f | not atom]), so the
integral of each summand from 0 to 1 is that grounding's contribution, and the contributions add up exactly
(the Aumann-Shapley value: no grounding is favoured by the order in which they are looked at). The integral is
taken by Gauss-Legendre points, more of them until it closes; the expectations are exact.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from herbrand.answers.explanation import Reason
from herbrand.engines.components import component_labels
from herbrand.engines.elimination import Elimination, planned
from herbrand.engines.ground_network import (
    FORBIDDEN,
    Network,
    Scope,
    add_row,
    add_template,
    excluded_values,
    ground_rows,
    soft_evidence,
)
from herbrand.language.show import show_statement
from herbrand.language.syntax import Value
from herbrand.program.evidence import LATENT
from herbrand.program.ground import Ground, GroundTemplate

POINTS = (8, 16, 32, 64, 128)
CLOSED = 1e-9
"""The integral is good enough when it misses the log-odds by less."""

Key = tuple[str, tuple[tuple[str, Value], ...]]


@dataclass(frozen=True, eq=False)
class Feature:
    """A grounding of a weighted statement: a table of ones where it holds, and what it is worth."""

    scope: Scope
    holds: np.ndarray
    worth: float
    key: Key


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
    network = _Scaled(ground.atoms.value_counts.tolist(), ground.atoms.count)
    _fill(network, ground)
    problem = _Problem(network.around(atom), atom, value)
    allowed(problem.eliminated(0.0, True))
    return shared_out(problem)


@dataclass
class _Scaled(Network):
    """A network whose certain part is in its tables, and whose weighted part is kept as features."""

    features: list[Feature] = field(default_factory=list)

    def around(self, atom: int) -> _Scaled:
        """The part that is connected with an atom."""
        labels = component_labels(self.at(1.0))
        near = labels == labels[atom]
        part = _Scaled(self.sizes, self.atom_count)
        part.tables = {scope: table for scope, table in self.tables.items() if near[scope[0]]}
        part.features = [feature for feature in self.features if near[feature.scope[0]]]
        return part

    def at(self, scale: float) -> Network:
        """All tables with the weighted part scaled."""
        made = Network(list(self.sizes), self.atom_count, dict(self.tables), self.constant)
        for feature in self.features:
            made.add_ordered(feature.scope, scale * feature.worth * feature.holds)
        return made


@dataclass(frozen=True, eq=False)
class _Problem:
    network: _Scaled
    atom: int
    value: int

    def eliminated(self, scale: float, holds: bool) -> Elimination:
        """The network in which the atom has the value, or any other."""
        made = self.network.at(scale)
        size = made.sizes[self.atom]
        clamp = np.where((np.arange(size) == self.value) == holds, 0.0, FORBIDDEN)
        made.add_ordered((self.atom,), clamp)
        return planned(made, "log", entire=True)

    def log_odds(self, scale: float) -> float:
        return log_odds(*(self.eliminated(scale, holds).run().total for holds in (True, False)))

    def reasons(self, scales: Sequence[tuple[float, float]]) -> tuple[Reason, ...]:
        sums: dict[Key, float] = defaultdict(float)
        for scale, share in scales:
            yes, no = (self.eliminated(scale, holds).beliefs() for holds in (True, False))
            for feature in self.network.features:
                rate = float(((yes[feature.scope] - no[feature.scope]) * feature.holds).sum())
                sums[feature.key] += share * feature.worth * rate
        return tuple(
            Reason(statement, dict(grounding), share) for (statement, grounding), share in sums.items()
        )


def _fill(network: _Scaled, ground: Ground) -> None:
    for template in ground.templates:
        if template.template.weight is None:
            add_template(network, template, ground.program.weights)
        else:
            network.features += _features(network, template, ground)
    for predicate in ground.program.signature.predicates:
        network.features += _opinions(ground, predicate)
        codes, values, _ = excluded_values(ground, predicate)
        latent = ground.evidence.known(predicate).lookup(codes) == LATENT
        axes = ground.atoms.numbers(predicate, codes[latent]) if latent.any() else ()
        for axis, excluded in zip(axes, values[latent], strict=True):
            row = np.zeros(network.sizes[axis])
            row[excluded] = FORBIDDEN
            network.add((int(axis),), row)


def _features(network: _Scaled, ground: GroundTemplate, whole: Ground) -> Iterator[Feature]:
    """Each row of a weighted template. A template that no atom is left of moves nothing."""
    template, program = ground.template, whole.program
    assert template.weight is not None
    worth = template.sign * program.weights[template.weight].value * ground.multiplicity
    if not worth:
        return
    text = next(show_statement(program.statements[template.statement]))
    groundings = ground.groundings(program)
    for row, (_, piece) in _numbered(network, ground):
        made = Network(network.sizes, network.atom_count)
        add_row(made, [axis for axis, _ in piece], [values for _, values in piece], 1.0)
        for scope, table in made.tables.items():
            if np.isneginf(table).any():
                network.add_ordered(scope, table)
            else:
                key = (text, groundings[row])
                yield Feature(scope, table, worth, key)


def _numbered(network: Network, ground: GroundTemplate) -> Iterator[tuple[int, tuple[int, list]]]:
    """Open rows with their place among the bindings, which is their origin where nothing encloses them."""
    rows = ground.conjunction
    numbered = type(rows)(rows.atoms, rows.allowed, np.arange(len(rows)), rows.blocks)
    return ((origin, (origin, piece)) for origin, piece in ground_rows(network, numbered))


def _opinions(ground: Ground, predicate: str) -> Iterator[Feature]:
    """Soft evidence on latent atoms."""
    codes, values, worths = soft_evidence(ground, predicate)
    latent = ground.evidence.known(predicate).lookup(codes) == LATENT
    if not latent.any():
        return
    axes = ground.atoms.numbers(predicate, codes[latent]).tolist()
    texts = ground.evidence.atom_text(predicate, codes[latent])
    for axis, text, value, worth in zip(axes, texts, values[latent], worths[latent], strict=True):
        holds = np.zeros(int(ground.atoms.value_counts[axis]))
        holds[value] = 1.0
        yield Feature((axis,), holds, float(worth), (f"soft evidence on {text}", ()))
