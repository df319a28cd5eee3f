"""How the weight of every answer changes with the weight of every fact and rule: by differences.

The slow, obviously right version: each weight is moved up and down a little, and all proofs counted again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from herbrand.language import syntax as s
from tests.oracles.proofs import Facts, Proofs, Row, Weights, goal_answers

STEP = 1e-4
Key = tuple[str, Row] | int
"""A fact, or a rule's place."""


def slopes(proofs: Proofs, goal: s.Atom, left: int) -> dict[Key, Weights]:
    """For each fact and each weighted rule, the slope of every answer's weight; no entry where it is 0."""
    rules, facts = proofs.rules, proofs.facts

    def answers(some: Sequence[s.Rule], known: Facts) -> Weights:
        weights = replace(proofs, rules=some, facts=known, _known={}).answers(goal.predicate, left)
        return goal_answers(goal, weights, lambda one, other: one + other)

    found: dict[Key, Weights] = {}
    for name, rows in facts.items():
        for row in rows:
            found[name, row] = _slope(
                lambda change, name=name, row=row: answers(
                    rules, {**facts, name: {**facts[name], row: facts[name][row] + change}}
                )
            )
    for place, rule in enumerate(rules):
        if isinstance(rule.weight, float):
            found[place] = _slope(
                lambda change, place=place, rule=rule: answers(
                    [*rules[:place], replace(rule, weight=rule.weight + change), *rules[place + 1 :]],  # type: ignore[operator]
                    facts,
                )
            )
    return found


def _slope(answers: Callable[[float], Weights]) -> Weights:
    above, below = answers(STEP), answers(-STEP)
    return {row: (above[row] - below[row]) / (2 * STEP) for row in above if above[row] != below[row]}
