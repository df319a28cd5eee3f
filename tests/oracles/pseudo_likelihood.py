"""Pseudo-likelihood by plain loops: atoms or blocks of atoms, their values, each statement's groundings."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

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
    total = 0.0
    for block in blocks:
        logs = [
            log_weight(universe, statements, weights, {**world, **dict(zip(block, values, strict=True))})
            for values in itertools.product(*(values_of(universe, atom) for atom in block))
        ]
        largest = max(logs)
        normalizer = largest + math.log(sum(math.exp(log - largest) for log in logs))
        total += log_weight(universe, statements, weights, world) - normalizer
    return total


def tied_blocks(
    universe: Universe, statements: Sequence[s.WeightedFormula], world: World, targets: Sequence[str]
) -> list[list[GroundAtom]]:
    """The targets' atoms, those together that decide each other by groundings with two target atoms or fewer.

    Found in all worlds that these groundings allow; an atom with one value in all of them is alone.
    """
    atoms = [atom for atom in universe.atoms() if atom[0] in targets]
    short = [
        (formula, binding)
        for formula, binding, found in hard_groundings(universe, statements)
        if len(found & set(atoms)) <= 2
    ]
    possible = []
    for values in itertools.product(*(values_of(universe, atom) for atom in atoms)):
        changed = {**world, **dict(zip(atoms, values, strict=True))}
        if all(universe.holds(formula, changed, binding) for formula, binding in short):
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
