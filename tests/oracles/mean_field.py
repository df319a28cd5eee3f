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
        log_weight = universe.weight_of_worlds(statements)
        self.worlds = []
        for values in product(*self.atoms.values()):
            chosen = dict(zip(self.atoms, values, strict=True))
            self.worlds.append((chosen, log_weight({**fixed, **chosen})))

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


class Settled(MeanField):
    """Mean field where hard statements leave a product of what single atoms may be.

    ``left``: the worlds that are possible. Atoms that have one value in all of them are no variables; of
    those that always agree, or never do, the first stands for all: ``leaders`` tells for each atom which one
    that is and whether it has the opposite value. ``is_product``: whether these worlds are all choices of the
    leaders' values.
    """

    def __init__(self, universe: Universe, statements: Sequence[s.WeightedFormula]) -> None:
        whole = MeanField(universe, statements)
        self.left = [(world, weight) for world, weight in whole.worlds if weight > -math.inf]
        self.every = whole.atoms
        self.values = {
            atom: [value for value in values if any(world[atom] == value for world, _ in self.left)]
            for atom, values in whole.atoms.items()
        }
        self.leaders = {atom: self._leader(universe, atom) for atom in self.every}
        self.atoms = {
            atom: values
            for atom, values in self.values.items()
            if len(values) > 1 and self.leaders[atom] == (atom, False)
        }
        self.worlds = [({atom: world[atom] for atom in self.atoms}, weight) for world, weight in self.left]
        self.is_product = len(self.left) == math.prod(map(len, self.atoms.values()))

    def _leader(self, universe: Universe, atom: GroundAtom) -> tuple[GroundAtom, bool]:
        if universe.predicates[atom[0]][1] is None and len(self.values[atom]) > 1:
            for other in self.every:
                if other == atom:
                    break
                if universe.predicates[other[0]][1] is None and len(self.values[other]) > 1:
                    for opposite in (False, True):
                        if all((world[atom] == world[other]) != opposite for world, _ in self.left):
                            return other, opposite
        return atom, False

    def spread(self, beliefs: Beliefs) -> dict[GroundAtom, dict[object, float]]:
        """Beliefs of all atoms from those of the leaders."""
        found: dict[GroundAtom, dict[object, float]] = {}
        for atom, values in self.every.items():
            leader, opposite = self.leaders[atom]
            if len(self.values[atom]) < 2:
                found[atom] = {value: float([value] == self.values[atom]) for value in values}
            elif opposite:
                found[atom] = {value: beliefs[leader][not value] for value in values}
            else:
                found[atom] = {value: beliefs[leader].get(value, 0.0) for value in values}
        return found
