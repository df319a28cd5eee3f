"""Contribution of each choice to a probability, integrated while all choices are scaled up from 0 to 1.

At scale s every probability ``p`` of a ``::`` statement is ``s * p``: at 0 no choice has an outcome, at 1 the
theory is as stated. On the way P(q | e) changes at the rate of the sum, over outcomes, of ``p`` times the
derivative by that outcome's probability. The integral of each summand is the outcome's contribution (its
Aumann-Shapley value): they add up to P(q | e) less its value at scale 0. Weighted formulas count whole at
every scale, so their effect is in the base.

Where the evidence needs a choice, the base is the limit where all choices vanish alike. It depends on ratios
of probabilities, so it has derivatives too, which grow as 1 / s towards 0 and add up to 0 at any scale. They
are subtracted from the contributions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from herbrand.answers.explanation import Reason
from herbrand.engines.attribution import Attribution, integrated
from herbrand.engines.circuit.choices import Drawn, probability_left, share_of
from herbrand.engines.circuit.circuit import Circuit, Floats
from herbrand.engines.circuit.constraints import FALSE, TRUE, negated
from herbrand.engines.circuit.grounding import Instance
from herbrand.engines.circuit.worlds import Worlds
from herbrand.language.show import statement_text
from herbrand.language.syntax import Choice

VANISHING = -3000.0
"""Logarithm of a scale far below the ratio of any two choices' probabilities."""


def attributed(worlds: Worlds, literal: int) -> Attribution:
    """Share out the probability of a literal, given the evidence, among the outcomes of choices.

    ``worlds`` must be made with choices that may have no outcome (``ChoiceConstraints(scaled=True)``).
    """
    choices = list(worlds.drawn)
    if literal in (TRUE, FALSE):
        value = float(literal == TRUE)
        return Attribution(value, value, ())
    rates = _Rates(worlds, literal, [drawn for _, drawn in choices])
    probability = cache(rates.probability)
    value, base = probability(1.0), probability(0.0)
    shares = integrated(rates.at, np.ones(rates.size), probability)
    return Attribution(base, value, tuple(_reasons(worlds, choices, shares)))


class _Rates:
    """Rates at which outcomes change the literal's probability as the scale grows, by a relative change of
    the scale, less the rates at the base."""

    def __init__(self, worlds: Worlds, literal: int, choices: Sequence[Drawn]) -> None:
        self._literal, self._choices, self._budget = literal, choices, worlds.budget
        constraints = worlds.made
        self._none = [negated(constraints.net.either(drawn.outcomes)) for drawn in choices]
        outcomes = [outcome for drawn in choices for outcome in drawn.outcomes]
        self._circuit: Circuit
        self._circuit, self._weights = constraints.circuit([literal, *outcomes, *self._none], worlds.budget)
        self.size = len(outcomes)
        is_possible = self._circuit.total(self._scaled(-math.inf)) > -math.inf
        self._nothing = -math.inf if is_possible else VANISHING
        self._of_base = self._at(self._nothing)

    def probability(self, scale: float) -> float:
        """P(q | e) at a scale; at 0 the limit, where the evidence needs a choice."""
        return self._shares(self._scaled(math.log(scale) if scale else self._nothing))[0]

    def at(self, scales: Floats) -> Floats:
        """The rates at these scales, [scale, outcome]."""
        logs = self._budget.each(np.log(scales).tolist())
        return np.array([self._at(log_scale) - self._of_base for log_scale in logs])

    def _at(self, log_scale: float) -> Floats:
        weights = self._scaled(log_scale)
        probability, given = self._shares(weights)
        if not probability > 0:
            return np.zeros(self.size)
        variable, no = self._literal >> 1, 1 - (self._literal & 1)
        weights[variable, 1 - no] = -np.inf
        _, both = self._shares(weights)
        scale, slopes = math.exp(log_scale), list[float]()
        for drawn, none in zip(self._choices, self._none, strict=True):
            left = -math.expm1(log_scale) + scale * probability_left(drawn.chances)[-1]
            lost = (share_of(both, none) - share_of(given, none)) / left if left else 0.0
            slopes += [
                probability * ((share_of(both, o) - share_of(given, o)) - scale * chance * lost)
                for o, chance in zip(drawn.outcomes, drawn.chances, strict=True)
            ]
        return np.array(slopes)

    def _scaled(self, log_scale: float) -> Floats:
        """The log-weights with every outcome's probability scaled, and the weights of formulas unchanged."""
        weights, scale = self._weights.copy(), math.exp(log_scale)
        with np.errstate(divide="ignore"):
            for drawn in self._choices:
                for variable, chance, behind in drawn.decisions:
                    later = -math.expm1(log_scale) + scale * behind
                    both = np.log(later + scale * chance)
                    weights[variable] += np.log(later) - both, log_scale + np.log(chance) - both
        return weights

    def _shares(self, weights: Floats) -> tuple[float, Floats]:
        """The probability of the literal, and the shares of all literals; ``nan`` where no world has
        weight."""
        total, shares = self._circuit.counted(weights)
        return (math.nan if total == -np.inf else share_of(shares, self._literal)), shares


def _reasons(
    worlds: Worlds, choices: Sequence[tuple[Instance, Drawn]], contributions: Floats
) -> Iterator[Reason]:
    numbers = iter(contributions.tolist())
    for instance, drawn in choices:
        statement = instance.lowered.statement
        assert isinstance(statement, Choice)
        grounding = instance.constants(worlds.program.facts)
        for alternative, chance in zip(statement.alternatives, drawn.chances, strict=True):
            number = next(numbers)
            if chance > 0:
                text = statement_text(replace(statement, alternatives=(alternative,)))
                yield Reason(text, grounding, number)
