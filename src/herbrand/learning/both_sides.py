"""The programs whose log-partitions a likelihood compares: with the labels as evidence, and without.

Worlds over the same constants with the same facts are one program with a count.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from herbrand.errors import BudgetError
from herbrand.language.theory import Theory
from herbrand.learning.example import Example
from herbrand.program.evidence import Evidence
from herbrand.program.lower import lower
from herbrand.program.program import Program

Side = TypeVar("Side")


@dataclass(frozen=True, eq=False)
class BothSides(Generic[Side]):
    """Programs of a likelihood with their numbers of occurrences. ``given``: with the labels as evidence;
    ``free``: without; ``hidden``: whether latent atoms remain when the labels are given; ``atom_count``:
    atoms with labels, opinions among them."""

    given: Counter[Side]
    free: Counter[Side]
    hidden: bool
    atom_count: int


def both_sides(
    theory: Theory, examples: Sequence[Example], prepare: Callable[[Program], Side]
) -> BothSides[Side]:
    """The programs of these worlds; ``prepare`` is called once for each distinct program."""
    sides: dict[bytes, Side] = {}

    def prepared(program: Program) -> Side:
        key = program.facts.digest
        if key not in sides:
            sides[key] = prepare(program)
        return sides[key]

    programs = [lower(theory, one.known.signature, one.known.facts) for one in examples]
    hidden = any(one.evidence.latent_predicates for one in examples)
    return BothSides(
        Counter(map(prepared, programs)),
        Counter(prepared(one.program) for one in examples),
        hidden,
        sum(one.label_count(name) + one.opinion_count(name) for one in examples for name in one.targets),
    )


def refuse_cancellation(program: Program, most: float) -> None:
    """Raise BudgetError if a statement has more groundings than ``most``: rounding would lose the difference
    of its counts on both sides."""
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
    """Log of the factor by which soft evidence on labels overweights worlds. Soft evidence p should weigh a
    world by p if the atom has the value, and by 1 - p otherwise (by (1 - p) / (k - 1) for one of k values).
    Sums over worlds use the quotient of the two for the former, and 1 for the latter."""
    _, _, log_weights = evidence.opinions(predicate)
    others = math.log(max(1, evidence.program.value_count(predicate) - 1))
    return float((np.logaddexp(0.0, log_weights - others) + others).sum())
