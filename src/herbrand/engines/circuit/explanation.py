"""What each choice adds to a probability: the theory is let in gradually, and each choice has its part of it.

At scale s every probability ``p`` of a ``::`` statement is ``s * p``; at 0 no choice comes to anything, at 1
all is as it stands. On the way P(q | e) changes at the rate of the sum, over outcomes, of ``p`` times the
derivative by that outcome's probability. The integral of each summand is the outcome's contribution (its
Aumann-Shapley value): they add up to P(q | e) less what it is at scale 0. Weighted formulas count whole at
every scale, so theirs is the base.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from herbrand.answers.explanation import Reason
from herbrand.engines.attribution import scales
from herbrand.engines.circuit.choices import Drawn, probability_left, share_of
from herbrand.engines.circuit.circuit import Circuit, Floats
from herbrand.engines.circuit.constraints import FALSE, TRUE, negated
from herbrand.engines.circuit.grounding import Instance
from herbrand.engines.circuit.worlds import Worlds
from herbrand.language.show import statement_text
from herbrand.language.syntax import Choice

CLOSE = 1e-10
"""Contributions that add up so closely, or change so little, need no finer steps."""
STEPS = (8, 16, 32, 64, 128, 256)


@dataclass(frozen=True)
class Attributed:
    """``value`` is ``base`` + the contributions of ``reasons`` + ``remainder``."""

    value: float
    base: float
    reasons: tuple[Reason, ...]
    remainder: float


def attributed(worlds: Worlds, literal: int) -> Attributed:
    """The probability of a literal, given the evidence, shared out among the outcomes of choices.

    ``worlds`` are made with choices that may all come to nothing (``ChoiceConstraints(scaled=True)``).
    """
    choices = list(worlds.drawn)
    if literal in (TRUE, FALSE):
        value = float(literal == TRUE)
        return Attributed(value, value, (), 0.0)
    slopes = _Slopes(worlds, literal, [drawn for _, drawn in choices])
    value, base = slopes.probability(1.0), slopes.probability(0.0)
    if not choices:
        return Attributed(value, base, (), 0.0)
    found = np.zeros(slopes.size)
    for count in STEPS:
        worlds.budget.check()
        before = found
        found = sum((share * slopes.at(place) for place, share in scales(count)), np.zeros(slopes.size))
        if np.abs(found - before).max() < CLOSE:
            break
    if math.isnan(base):  # the evidence needs a choice: what is left of it where all vanish
        base = value - float(found.sum())
    reasons = _reasons(worlds, choices, found)
    return Attributed(value, base, tuple(reasons), value - base - float(found.sum()))


class _Slopes:
    """The parts of the derivative by the scale, an outcome a place."""

    def __init__(self, worlds: Worlds, literal: int, choices: Sequence[Drawn]) -> None:
        self._literal, self._choices = literal, choices
        made = worlds.made
        self._none = [negated(made.net.either(drawn.outcomes)) for drawn in choices]
        outcomes = [outcome for drawn in choices for outcome in drawn.outcomes]
        self._circuit: Circuit
        self._circuit, self._weights = made.circuit([literal, *outcomes, *self._none], worlds.budget)
        self.size = len(outcomes)

    def probability(self, scale: float) -> float:
        """P(q | e) at a scale; not a number where the evidence is impossible there."""
        return self._shares(self._scaled(scale))[0]

    def at(self, scale: float) -> Floats:
        weights = self._scaled(scale)
        probability, given = self._shares(weights)
        if not probability > 0:
            return np.zeros(self.size)
        variable, no = self._literal >> 1, 1 - (self._literal & 1)
        weights[variable, 1 - no] = -np.inf
        _, both = self._shares(weights)
        found: list[float] = []
        for drawn, none in zip(self._choices, self._none, strict=True):
            left = (1 - scale) + scale * probability_left(drawn.chances)[-1]
            lost = (share_of(both, none) - share_of(given, none)) / left
            found += [
                probability * ((share_of(both, o) - share_of(given, o)) / scale - chance * lost)
                for o, chance in zip(drawn.outcomes, drawn.chances, strict=True)
            ]
        return np.array(found)

    def _scaled(self, scale: float) -> Floats:
        """The log-weights with every outcome's probability times the scale, beside what formulas weigh."""
        weights = self._weights.copy()
        with np.errstate(divide="ignore"):
            for drawn in self._choices:
                left = probability_left(drawn.chances)
                for variable, chance, part in zip(drawn.variables, drawn.chances, left[:-1], strict=True):
                    if variable >= 0:
                        taken = min(scale * chance / ((1 - scale) + scale * part), 1.0)
                        weights[variable] += np.log1p(-taken), np.log(taken)
        return weights

    def _shares(self, weights: Floats) -> tuple[float, Floats]:
        """The probability of the literal and the shares of all."""
        values = self._circuit.values(weights)
        if values[self._circuit.root] == -np.inf:
            return math.nan, np.zeros(weights.size)
        shares = self._circuit.shares(weights, values)
        return share_of(shares, self._literal), shares


def _reasons(
    worlds: Worlds, choices: Sequence[tuple[Instance, Drawn]], contributions: Floats
) -> Iterator[Reason]:
    numbers = iter(contributions.tolist())
    for instance, drawn in choices:
        statement = instance.plan.statement
        assert isinstance(statement, Choice)
        grounding = instance.constants(worlds.program.facts)
        for alternative, chance in zip(statement.alternatives, drawn.chances, strict=True):
            number = next(numbers)
            if chance > 0:
                text = statement_text(replace(statement, alternatives=(alternative,)))
                yield Reason(text, grounding, number)
