"""Mean field unrolled as a layer, by plain loops: marginals from logits and weights; slopes by differences.

A world's log-weight is a sum over statements of weight times groundings that hold, counted once; everything
else is sums over all worlds. It reads nothing of the project but syntax.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, product
from operator import mul

from herbrand.language import syntax as s
from tests.oracles.mean_field import Beliefs, latent, softmax
from tests.oracles.worlds import GroundAtom, Universe

Logits = Mapping[GroundAtom, Mapping[object, float]]
"""A score for each value of each atom; of a true-or-false one only the difference counts."""

STEP = 1e-5


class LogicLayer:
    """``counts``: for each world, how many groundings of each statement hold in it."""

    def __init__(self, universe: Universe, statements: Sequence[s.WeightedFormula]) -> None:
        self.atoms = latent(universe)
        fixed = {a: universe.choices(a)[0] for a in universe.atoms() if a not in self.atoms}
        bare = replace(universe, soft=())
        ones = [bare.weight_of_worlds([replace(one, weight=1.0)]) for one in statements]
        self.opinions = {atom: dict.fromkeys(values, 0.0) for atom, values in self.atoms.items()}
        for atom, value, weight in universe.soft:
            if atom in self.atoms:
                self.opinions[atom][value] += weight
        self.worlds = []
        for values in product(*self.atoms.values()):
            chosen = dict(zip(self.atoms, values, strict=True))
            world = {**fixed, **chosen}
            self.worlds.append((chosen, [log_weight(world) for log_weight in ones]))

    def said(self, beliefs: Beliefs, weights: Sequence[float]) -> dict[GroundAtom, dict[object, float]]:
        """For every value of every atom the expected log-weight of worlds that have it."""
        told = {atom: dict.fromkeys(values, 0.0) for atom, values in self.atoms.items()}
        for world, counts in self.worlds:
            weight = sum(map(mul, weights, counts))
            if not weight:
                continue
            chances = [beliefs[atom][value] for atom, value in world.items()]
            before = [1.0, *accumulate(chances, mul)]
            after = [1.0, *accumulate(reversed(chances), mul)][::-1]
            for place, (atom, value) in enumerate(world.items()):
                told[atom][value] += before[place] * after[place + 1] * weight
        return told

    def expected(self, beliefs: Beliefs, weights: Sequence[float]) -> float:
        """The expected log-weight of worlds drawn atom by atom."""
        return math.fsum(
            w * n * math.prod(beliefs[a][v] for a, v in world.items())
            for world, counts in self.worlds
            for w, n in zip(weights, counts, strict=True)
        )

    def run(
        self,
        logits: Logits,
        weights: Sequence[float],
        iterations: int,
        damping: float,
        start: Logits | None = None,
    ) -> dict[GroundAtom, dict[object, float]]:
        """The scores after so many updates of all atoms at once, or as soon as nothing moves."""
        unary = {
            atom: {value: logits[atom][value] + self.opinions[atom][value] for value in values}
            for atom, values in self.atoms.items()
        }
        scores = {atom: dict(row) for atom, row in (start or unary).items()}
        for _ in range(iterations):
            told = self.said({atom: softmax(scores[atom]) for atom in self.atoms}, weights)
            before, scores = (
                scores,
                {
                    atom: {
                        v: damping * x + (1 - damping) * (unary[atom][v] + told[atom][v])
                        for v, x in row.items()
                    }
                    for atom, row in scores.items()
                },
            )
            if all(abs(x - before[atom][v]) < 1e-13 for atom, row in scores.items() for v, x in row.items()):
                break
        return scores


def slope(value: Callable[[float], float]) -> float:
    """The derivative at 0, by a central difference."""
    return (value(STEP) - value(-STEP)) / (2 * STEP)
