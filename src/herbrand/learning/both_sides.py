"""The programs whose worlds a likelihood compares: those in which the labels hold, and all.

Worlds to learn from that are over the same constants, and of which the same is known, are one program each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from herbrand.errors import BudgetError
from herbrand.language.syntax import Theory
from herbrand.learning.example import Example
from herbrand.program.evidence import Evidence
from herbrand.program.lower import lower
from herbrand.program.program import Program

Side = TypeVar("Side")


@dataclass(frozen=True, eq=False)
class BothSides(Generic[Side]):
    """``given``: worlds in which the labels hold, and ``free``: all worlds, each with how often it occurs;
    ``hidden``: whether there is something to sum out while the labels hold."""

    given: Counter[Side]
    free: Counter[Side]
    hidden: bool
    atom_count: int


def both_sides(
    theory: Theory, examples: Sequence[Example], prepare: Callable[[Program], Side]
) -> BothSides[Side]:
    """Of these worlds; ``prepare`` is called once for each program that differs."""
    made: dict[bytes, Side] = {}

    def prepared(program: Program) -> Side:
        key = program.facts.digest
        if key not in made:
            made[key] = prepare(program)
        return made[key]

    programs = [lower(theory, one.known.signature, one.known.facts) for one in examples]
    hidden = any(one.evidence.latent_predicates for one in examples)
    return BothSides(
        Counter(map(prepared, programs)),
        Counter(prepared(one.program) for one in examples),
        hidden,
        sum(one.label_count(name) for one in examples for name in one.targets),
    )


def refuse_cancellation(program: Program, most: float) -> None:
    """Raise where more groundings than ``most`` may hold on both sides, so that their difference is lost."""
    for template in program.templates:
        if template.weight is not None and program.weights[template.weight].learned:
            count = math.prod(len(program.domain(kind)) for _, kind in template.conjunction.variables)
            if count > most:
                raise BudgetError(
                    f"a statement has {count:.0e} groundings, and the likelihood is the difference of two "
                    "such counts, which is lost by rounding",
                    hint="--method pseudo-likelihood counts what differs",
                )


def label_scale(evidence: Evidence, predicate: str) -> float:
    """The logarithm by which opinions on labels count worlds too much: an opinion p counts a world by p where
    its atom has the value, and by 1 - p (for one of k values by (1 - p) / (k - 1)) where it has not. Sums
    over worlds count the one by the quotient of both, and the other by 1."""
    _, _, worths = evidence.opinions(predicate)
    others = math.log(max(1, evidence.program.value_count(predicate) - 1))
    return float((np.logaddexp(0.0, worths - others) + others).sum())
