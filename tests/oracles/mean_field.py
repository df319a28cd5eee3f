"""Mean field by plain loops over worlds: what each atom hears, the bound on log Z, and updates one by one.

The slow, obviously right version: a world's log-weight comes from :mod:`tests.oracles.worlds`, and every
expectation is a sum over all worlds. Hard statements are not for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, product
from operator import mul

from herbrand.language import syntax as s
from tests.oracles.worlds import GroundAtom, Universe

Beliefs = Mapping[GroundAtom, Mapping[object, float]]


def latent(universe: Universe) -> dict[GroundAtom, list[object]]:
    """The atoms that are not known, each with the values it may have."""
    excluded = set(universe.excluded)
    found = {}
    for atom in universe.atoms():
        if atom not in universe.known and atom[0] not in universe.closed:
            found[atom] = [v for v in universe.choices(atom) if (atom, v) not in excluded]
    return found


def world_count(universe: Universe) -> int:
    return math.prod(len(values) for values in latent(universe).values())


class MeanField:
    """Log-weights of all worlds are worked out once; beliefs may be anything."""

    def __init__(self, universe: Universe, statements: Sequence[s.WeightedFormula]) -> None:
        self.atoms = latent(universe)
        fixed = {a: universe.choices(a)[0] for a in universe.atoms() if a not in self.atoms}
        self.worlds = []
        for values in product(*self.atoms.values()):
            chosen = dict(zip(self.atoms, values, strict=True))
            self.worlds.append((chosen, universe.log_weight({**fixed, **chosen}, statements)))

    def uniform(self) -> dict[GroundAtom, dict[object, float]]:
        return {atom: dict.fromkeys(values, 1 / len(values)) for atom, values in self.atoms.items()}

    def heard(
        self, beliefs: Beliefs, wanted: Sequence[GroundAtom] | None = None
    ) -> dict[GroundAtom, dict[object, float]]:
        """For every value of every atom the expected log-weight of worlds that have it."""
        heard = {atom: dict.fromkeys(self.atoms[atom], 0.0) for atom in wanted or self.atoms}
        for world, weight in self.worlds:
            chances = [beliefs[atom][value] for atom, value in world.items()]
            before = [1.0, *accumulate(chances, mul)]
            after = [1.0, *accumulate(reversed(chances), mul)][::-1]
            for place, (atom, value) in enumerate(world.items()):
                if atom in heard:
                    heard[atom][value] += before[place] * after[place + 1] * weight
        return heard

    def updated(
        self, beliefs: Beliefs, atoms: Sequence[GroundAtom] | None = None
    ) -> dict[GroundAtom, dict[object, float]]:
        """Some atoms (all if None) told at once, from the same beliefs."""
        heard = self.heard(beliefs, atoms)
        return {atom: softmax(heard[atom]) if atom in heard else dict(beliefs[atom]) for atom in self.atoms}

    def bound(self, beliefs: Beliefs) -> float:
        """The expected log-weight and the entropy: never more than log Z."""
        expected = sum(
            weight * math.prod(beliefs[atom][value] for atom, value in world.items())
            for world, weight in self.worlds
        )
        entropy = -sum(p * math.log(p) for told in beliefs.values() for p in told.values() if p > 0)
        return expected + entropy

    def log_partition(self) -> float:
        largest = max(weight for _, weight in self.worlds)
        return largest + math.log(sum(math.exp(weight - largest) for _, weight in self.worlds))


def softmax(scores: Mapping[object, float]) -> dict[object, float]:
    largest = max(scores.values())
    weights = {value: math.exp(score - largest) for value, score in scores.items()}
    total = sum(weights.values())
    return {value: weight / total for value, weight in weights.items()}


def clipped_update(
    universe: Universe, statements: Sequence[s.WeightedFormula], beliefs: Beliefs, clip: float
) -> dict[GroundAtom, dict[object, float]]:
    """All atoms told at once; what a statement says at weight 1 is divided by 1 + d / ``clip``, where d is
    the most by which it sets two values of the atom apart."""
    opinions = MeanField(universe, ()).heard(beliefs)
    heard = {atom: dict(told) for atom, told in opinions.items()}
    for statement in statements:
        assert isinstance(statement.weight, float | int)
        alone = MeanField(universe, [replace(statement, weight=1.0)]).heard(beliefs)
        for atom, told in alone.items():
            said = {value: worth - opinions[atom][value] for value, worth in told.items()}
            apart = max(said.values()) - min(said.values())
            for value, worth in said.items():
                heard[atom][value] += statement.weight * worth / (1 + apart / clip)
    return {atom: softmax(told) for atom, told in heard.items()}
