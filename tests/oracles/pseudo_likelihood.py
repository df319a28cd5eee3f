"""Pseudo-likelihood by plain loops: every atom, each of its values, every grounding of every statement."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from herbrand.language import syntax as s
from tests.oracles.worlds import GroundAtom, Universe, World

Weights = Mapping[tuple[int, tuple[s.Value, ...]], float]
"""By the number of a statement that is not hard, and the constants its weight is for."""


def log_pseudo_likelihood(
    universe: Universe,
    statements: Sequence[s.WeightedFormula],
    weights: Weights,
    world: World,
    targets: Sequence[str],
) -> float:
    """The sum over the targets' atoms of log P(its value in the world | all others as in the world)."""
    total = 0.0
    for atom in universe.atoms():
        if atom[0] in targets:
            logs = {
                value: log_weight(universe, statements, weights, {**world, atom: value})
                for value in values_of(universe, atom)
            }
            largest = max(logs.values())
            normalizer = largest + math.log(sum(math.exp(log - largest) for log in logs.values()))
            total += logs[world[atom]] - normalizer
    return total


def values_of(universe: Universe, atom: GroundAtom) -> Sequence[object]:
    values = universe.predicates[atom[0]][1]
    return [False, True] if values is None else values


def log_weight(
    universe: Universe, statements: Sequence[s.WeightedFormula], weights: Weights, world: World
) -> float:
    total, number = 0.0, -1
    for statement in statements:
        hard = isinstance(statement.weight, s.Hard)
        number += not hard
        for binding in universe.bindings(statement):
            holds = universe.holds(statement.formula, world, binding)
            if hard:
                if not holds:
                    return -math.inf
            elif isinstance(statement.weight, s.Learned):
                constants = tuple(binding[v.name] for v in statement.weight.by)
                total += weights.get((number, constants), 0.0) * holds
            else:
                total += statement.weight * holds
    return total
