"""Share out an atom's log-odds among the statements, by counting.

As in ground inference (:mod:`herbrand.engines.attribution`) every weight is scaled by s and the rate of
change of the log-odds is integrated from 0 to 1, so that the contributions add up. All groundings of a
statement are taken together, since nothing is grounded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from herbrand.answers.explanation import Reason
from herbrand.engines.attribution import Attribution, log_odds, shared_out
from herbrand.engines.lifted.problem import Problem, problem_of
from herbrand.engines.reading import ExplainedAtom
from herbrand.language.show import statement_text
from herbrand.program.evidence import Evidence
from herbrand.program.program import Conjunction, Literal, Program, Template

ROUNDING = 1e-12
"""Smallest share that counts as a reason; less is rounding, of statements that do not bear on the atom."""


def attributed(
    evidence: Evidence, queried: ExplainedAtom, affordable: Callable[[Problem], Problem]
) -> Attribution:
    """Share out the log-odds of a latent atom's value; ``affordable`` raises where the work is too much."""
    return shared_out(_Supposing(evidence, queried, affordable))


@dataclass(frozen=True, eq=False)
class _Supposing:
    evidence: Evidence
    queried: ExplainedAtom
    affordable: Callable[[Problem], Problem]

    def problem(self, scale: float, holds: bool) -> Problem:
        """The problem in which the atom has the value, or, unless ``holds``, any other."""
        program, queried = self.evidence.program, self.queried
        size = program.value_count(queried.predicate)
        forbidden = tuple(value for value in range(size) if (value == queried.value) != holds)
        literal = Literal(queried.predicate, queried.arguments, forbidden)
        template = Template(Conjunction((), (literal,)), None, statement=len(program.statements))
        return self.affordable(problem_of(program, self.evidence, (template,), scale=scale))

    def log_odds(self, scale: float) -> float:
        return log_odds(*(self.problem(scale, holds).total for holds in (True, False)))

    def log_weights(self) -> np.ndarray:
        """The weights, and 1 for soft evidence."""
        return np.array([*(w.value for w in self.evidence.program.weights), 1.0])

    def slopes(self, scales: np.ndarray) -> np.ndarray:
        cases = (
            [self.problem(scale, holds).slopes() for holds in (True, False)] for scale in scales.tolist()
        )
        return np.array([yes - no for yes, no in cases])

    def reasons(self, slopes: np.ndarray) -> tuple[Reason, ...]:
        return tuple(_named(self.evidence.program, slopes * self.log_weights()))


def stated(program: Program) -> dict[int, str]:
    """The statement of each weight that a template has."""
    statements = {t.weight: t.statement for t in program.templates if t.weight is not None}
    return {weight: statement_text(program.statements[number]) for weight, number in statements.items()}


def _named(program: Program, shares: np.ndarray) -> list[Reason]:
    """Reasons from the weights' shares, summed by statement; soft evidence comes last."""
    totals: dict[str, float] = defaultdict(float)
    for weight, statement in stated(program).items():
        totals[statement] += float(shares[weight])
    totals["soft evidence"] = float(shares[-1])
    return [Reason(text, {}, share) for text, share in totals.items() if abs(share) > ROUNDING]
