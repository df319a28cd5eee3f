"""A theory of the shape of the ARIEL paper's chemistry application: one class, many features, expert rules.

    python examples/chemistry_bounds/generate.py 985 > chemistry.hb

``y``: a molecule is active; ``f0``, ``f1``, ...: it has a substructure, with interval probabilities where it
is active and where it is not; rules bound the activity of molecules with two or three substructures together.
All are drawn around a hidden distribution, so the theory is consistent.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator

RULES = 6
WIDTH = 0.02


def theory(features: int, seed: int = 0) -> Iterator[str]:
    """The lines of a theory."""
    rng = random.Random(seed)
    prior = 0.35
    active = [rng.uniform(0.05, 0.6) for _ in range(features)]
    other = [min(0.95, max(0.02, p * rng.uniform(0.7, 1.4))) for p in active]
    yield f"P(y) in {_around(prior, rng)}"
    for i in range(features):
        yield f"P(f{i} | y) in {_around(active[i], rng)}"
        yield f"P(f{i} | not y) in {_around(other[i], rng)}"
    for number in range(RULES):
        chosen = rng.sample(range(features), 2 + number % 2)
        likelier = math.prod(active[i] for i in chosen) * prior
        chance = likelier / (likelier + math.prod(other[i] for i in chosen) * (1 - prior))
        condition = " and ".join(f"f{i}" for i in chosen)
        yield f"[expert{number}] P(y | {condition}) in {_around(chance, rng)}"


def observed(features: int, count: int, seed: int = 0) -> str:
    """What is known of a molecule: ``count`` features, present or absent."""
    rng = random.Random(seed)
    chosen = rng.sample(range(features), count)
    return " and ".join(f"{'' if rng.random() < 0.4 else 'not '}f{i}" for i in chosen)


def _around(value: float, rng: random.Random) -> str:
    low, high = value - WIDTH * rng.random() - 1e-4, value + WIDTH * rng.random() + 1e-4
    return f"[{max(0.0, low):.4f}, {min(1.0, high):.4f}]"


if __name__ == "__main__":
    sys.stdout.write("\n".join(theory(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)) + "\n")
