"""The oracle of region graphs where the answer is known: junction trees, and graphs that are Bethe's."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Hashable, Mapping, Sequence

import pytest

from tests.oracles.belief import Factor, Graph, log_sum
from tests.oracles.regions import RegionGraph, intersections


def random_factor(scope: Sequence[Hashable], sizes: Mapping[Hashable, int], dice: random.Random) -> Factor:
    choices = itertools.product(*(range(sizes[name]) for name in scope))
    return Factor(tuple(scope), {values: dice.gauss(0, 1.0) for values in choices})


def enumerated(sizes: Mapping[Hashable, int], factors: Sequence[Factor]) -> tuple[float, dict]:
    """The log-partition and marginals by a walk through all choices."""
    weights = {}
    for values in itertools.product(*map(range, sizes.values())):
        chosen = dict(zip(sizes, values, strict=True))
        weights[values] = sum(f.table[tuple(chosen[name] for name in f.scope)] for f in factors)
    total = log_sum(list(weights.values()))
    marginals = {
        name: [
            math.exp(log_sum([w for v, w in weights.items() if v[place] == value]) - total)
            for value in range(size)
        ]
        for place, (name, size) in enumerate(sizes.items())
    }
    return total, marginals


@pytest.mark.parametrize("seed", range(3))
def test_a_junction_tree_of_three_levels_is_exact(seed: int) -> None:
    dice = random.Random(seed)
    sizes: dict[Hashable, int] = {name: 3 if name == "c" else 2 for name in "abcdefg"}
    cliques = ["abc", "bcd", "cde", "cfg"]
    factors = [random_factor(scope, sizes, dice) for scope in [*cliques, "c", "b"]]
    graph = RegionGraph(sizes, factors, intersections([frozenset(clique) for clique in cliques]))
    assert frozenset("bc") in graph.regions and frozenset("c") in graph.regions
    assert graph.run(400, damping=0.5) < 1e-12
    total, marginals = enumerated(sizes, factors)
    assert graph.free_energy() == pytest.approx(total, abs=1e-10)
    assert graph.log_sums() == pytest.approx(total, abs=1e-10)
    for name, expected in marginals.items():
        assert graph.marginals()[name] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_factors_and_their_variables_are_loopy_propagation(seed: int) -> None:
    dice = random.Random(seed)
    sizes: dict[Hashable, int] = {name: 3 if name == "b" else 2 for name in "abcd"}
    factors = [random_factor(scope, sizes, dice) for scope in ["ab", "bcd", "ad", "a", "c"]]
    loopy = Graph(sizes, factors)
    wide = [frozenset(f.scope) for f in factors if len(f.scope) > 1]
    regions = RegionGraph(sizes, factors, [*wide, *(frozenset((name,)) for name in sizes)])
    for _ in range(5):
        loopy.round()
        regions.round()
    for name, expected in loopy.marginals().items():
        assert regions.marginals()[name] == pytest.approx(expected, abs=1e-12)
    for _ in range(200):
        loopy.round()
        regions.round()
    assert regions.free_energy() == pytest.approx(loopy.bethe(), abs=1e-9)
    assert regions.log_sums() == pytest.approx(loopy.bethe(), abs=1e-9)
