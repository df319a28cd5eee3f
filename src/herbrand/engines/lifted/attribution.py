"""Why an atom has its probability, by counting: the log-odds shared out among the statements.

As in ground inference (:mod:`herbrand.engines.attribution`) every weight is scaled by s and the rate at which
the log-odds change is integrated from 0 to 1, so that the contributions add up; a statement's groundings are
taken together, since nothing is grounded.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from herbrand.answers.explanation import Reason
from herbrand.engines.asked import Asked
from herbrand.engines.attribution import CLOSED, POINTS
from herbrand.engines.lifted.problem import Problem, problem_of
from herbrand.language.show import show_statement
from herbrand.program.evidence import Evidence
from herbrand.program.program import Program
from herbrand.program.template import Conjunction, Literal, Template

ROUNDING = 1e-12
"""A smaller share is no reason: the statement says nothing about what the atom depends on."""


@dataclass(frozen=True, eq=False)
class Attribution:
    """``base`` is the log-odds of what is certain alone; ``value`` what all statements make of them."""

    base: float
    value: float
    reasons: tuple[Reason, ...]

    @property
    def remainder(self) -> float:
        return self.value - self.base - math.fsum(reason.contribution for reason in self.reasons)


def attributed(evidence: Evidence, asked: Asked) -> Attribution:
    """The log-odds of a latent atom's value; infinite ones have no reasons, what is certain forces them."""
    base, value = (_log_odds(evidence, asked, scale) for scale in (0.0, 1.0))
    found = Attribution(base, value, ())
    if not (math.isfinite(base) and math.isfinite(value)):
        return found
    for points in POINTS:
        found = Attribution(base, value, _reasons(evidence, asked, points))
        if abs(found.remainder) < CLOSED:
            break
    return found


def _supposing(evidence: Evidence, asked: Asked, holds: bool, scale: float) -> Problem:
    """The problem in which the atom has the value, or any other."""
    program = evidence.program
    size = program.value_count(asked.predicate)
    forbidden = tuple(value for value in range(size) if (value == asked.value) != holds)
    arguments = _arguments(evidence, asked)
    literal = Literal(asked.predicate, arguments, forbidden)
    template = Template(Conjunction((), (literal,)), None, statement=len(program.statements))
    return problem_of(program, evidence, (template,), scale=scale)


def _arguments(evidence: Evidence, asked: Asked) -> tuple[int, ...]:
    code, found = int(asked.codes[0]), []
    for size in reversed(evidence.sizes(asked.predicate)):
        code, argument = divmod(code, size)
        found.append(argument)
    return tuple(reversed(found))


def _log_odds(evidence: Evidence, asked: Asked, scale: float) -> float:
    yes, no = (_supposing(evidence, asked, holds, scale).total for holds in (True, False))
    return yes - no if max(yes, no) > -math.inf else math.nan


def _reasons(evidence: Evidence, asked: Asked, points: int) -> tuple[Reason, ...]:
    program = evidence.program
    nodes, weights = np.polynomial.legendre.leggauss(points)
    shares = np.zeros(len(program.weights) + 1)
    for node, weight in zip(nodes, weights, strict=True):
        scale = (float(node) + 1) / 2
        yes, no = (_supposing(evidence, asked, holds, scale).slopes() for holds in (True, False))
        shares += weight / 2 * (yes - no)
    worths = np.array([*(w.value for w in program.weights), 1.0])
    return tuple(_named(program, shares * worths))


def _named(program: Program, shares: np.ndarray) -> list[Reason]:
    """The weights' shares by statement; soft evidence comes last."""
    stated: dict[int, int] = {}
    for template in program.templates:
        if template.weight is not None:
            stated[template.weight] = template.statement
    totals: dict[str, float] = defaultdict(float)
    for weight, statement in stated.items():
        totals[next(show_statement(program.statements[statement]))] += float(shares[weight])
    totals["soft evidence"] = float(shares[-1])
    return [Reason(text, {}, share) for text, share in totals.items() if abs(share) > ROUNDING]
