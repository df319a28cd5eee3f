"""Pseudo-likelihood by plain loops: atoms or blocks of atoms, their values, each statement's groundings."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

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
    blocks: Sequence[Sequence[GroundAtom]] | None = None,
) -> float:
    """The sum over the targets' atoms of log P(its value in the world | all others as in the world).

    With ``blocks`` of atoms, over these: log P(values of its atoms | all other atoms), by all joint values.
    """
    if blocks is None:
        blocks = [[atom] for atom in universe.atoms() if atom[0] in targets]
    log_weight = weight_of_worlds(universe, statements, weights)
    total = 0.0
    for block in blocks:
        logs = [
            log_weight({**world, **dict(zip(block, values, strict=True))})
            for values in itertools.product(*(values_of(universe, atom) for atom in block))
        ]
        largest = max(logs)
        normalizer = largest + math.log(sum(math.exp(log - largest) for log in logs))
        total += log_weight(world) - normalizer
    return total


def tied_blocks(
    universe: Universe, statements: Sequence[s.WeightedFormula], world: World, targets: Sequence[str]
) -> list[list[GroundAtom]]:
    """The targets' atoms, those together that decide each other by groundings with two target atoms or fewer.

    Found in all worlds that these groundings allow; an atom with one value in all of them is alone.
    """
    atoms = [atom for atom in universe.atoms() if atom[0] in targets]
    short = [
        universe.meaning(formula, binding)
        for formula, binding, found in hard_groundings(universe, statements)
        if len(found & set(atoms)) <= 2
    ]
    possible = []
    for values in itertools.product(*(values_of(universe, atom) for atom in atoms)):
        changed = {**world, **dict(zip(atoms, values, strict=True))}
        if all(holds(changed) for holds in short):
            possible.append(values)
    by_values: dict[object, list[GroundAtom]] = {}
    for atom, had in zip(atoms, zip(*possible, strict=True), strict=True):
        alone = len(set(had)) == 1
        by_values.setdefault(atom if alone else tuple(value == had[0] for value in had), []).append(atom)
    return list(by_values.values())


def hard_groundings(
    universe: Universe, statements: Sequence[s.WeightedFormula]
) -> Iterator[tuple[s.Formula, Mapping[str, s.Value], set[GroundAtom]]]:
    """Each hard statement for each choice of constants, with its atoms; no quantifiers."""
    for statement in statements:
        if isinstance(statement.weight, s.Hard):
            for binding in universe.bindings(statement):
                yield statement.formula, binding, set(atoms_of(statement.formula, binding))


def atoms_of(formula: s.Formula, binding: Mapping[str, s.Value]) -> Iterator[GroundAtom]:
    for part in s.walk(formula):
        if isinstance(part, s.Atom):
            terms = (t.value if isinstance(t, s.Constant) else binding[t.name] for t in part.arguments)
            yield part.predicate, tuple(terms)


def values_of(universe: Universe, atom: GroundAtom) -> Sequence[object]:
    values = universe.predicates[atom[0]][1]
    return [False, True] if values is None else values


def weight_of_worlds(
    universe: Universe, statements: Sequence[s.WeightedFormula], weights: Weights
) -> Callable[[World], float]:
    """The log-weight of a world as a function, with the weights in place of what is learned."""
    instances, number = [], -1
    for statement in statements:
        number += not isinstance(statement.weight, s.Hard)
        for binding in universe.bindings(statement):
            weight = statement.weight
            if isinstance(weight, s.Hard):
                weight = None
            elif isinstance(weight, s.Learned):
                weight = weights.get((number, tuple(binding[v.name] for v in weight.by)), 0.0)
            instances.append((universe.meaning(statement.formula, binding), weight))

    def log_weight(world: World) -> float:
        total = 0.0
        for meaning, weight in instances:
            holds = meaning(world)
            if weight is not None:
                total += weight * holds
            elif not holds:
                return -math.inf
        return total

    return log_weight
