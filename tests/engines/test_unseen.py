"""Theories that nobody wrote, by their seeds: every engine against the walk through all worlds.

What calls itself exact is exact, and what is excluded no world has; messages of classes are those of the
ground.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

import herbrand as hb
from herbrand.answers.guarantee import Guarantee
from herbrand.engines.regions.engine import STRUCTURES
from herbrand.errors import ContradictionError
from tests.engines.belief.test_graphs import assert_same_rounds
from tests.engines.unseen import theory
from tests.oracles.worlds import Universe, exact_answers

ACCURACY = 1e-8
SEEDS = range(0, 24, 2)
CRAMPED = [{"cost": cost, "structure": name} for cost in (4.0, 12.0) for name in STRUCTURES]


def assert_right(text: str, universe: Universe, engine: str, **settings: Any) -> None:
    """Exact where it says so; what it finds impossible is."""
    read = hb.parse(text)
    log_z, marginals, _ = exact_answers(universe, read.formulas)
    try:
        answer = hb.Model(read).infer(engine=engine, **settings)
    except ContradictionError:
        assert log_z == -math.inf
        return
    is_exact = answer.guarantee is Guarantee.EXACT
    assert is_exact or engine != "lifted"
    if log_z == -math.inf:
        assert not is_exact, "a contradiction that messages need not find"
        return
    if is_exact:
        assert answer.log_partition == pytest.approx(log_z, abs=ACCURACY)
    for row in answer.rows():
        assert row.predicate is not None
        value = True if row.value is None else row.value
        expected = marginals.get(((row.predicate, row.arguments), value), 0.0)
        if is_exact:
            assert row.probability == pytest.approx(expected, abs=ACCURACY), row
        assert -1e-12 <= row.probability <= 1 + 1e-12
        if answer.status.converged and row.probability == 0:
            assert expected == pytest.approx(0, abs=1e-12), "what messages exclude no world has"


@pytest.mark.parametrize("liftable", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_lifted_regions_and_bp(seed: int, liftable: bool) -> None:
    text, universe = theory(seed, liftable)
    for engine in ("lifted", "regions", "bp"):
        assert_right(text, universe, engine)


@pytest.mark.parametrize("seed", [*range(1, 12, 2), 1346])
def test_regions_of_every_structure_with_little_room(seed: int) -> None:
    text, universe = theory(seed, liftable=True)
    for settings in CRAMPED:
        assert_right(text, universe, "regions", **settings)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 2000, 100))
def test_at_length(first: int) -> None:
    for seed in range(first, first + 100):
        text, universe = theory(seed, seed % 2 == 0)
        for engine in ("lifted", "regions", "bp"):
            assert_right(text, universe, engine)
        for settings in CRAMPED:
            assert_right(text, universe, "regions", **settings)
        assert_same_rounds(hb.parse(text))
