"""One distribution whichever command is asked: explanations, evidence, best worlds, samples, marginals."""

from __future__ import annotations

import math
import random

import pytest

import herbrand as hb
from herbrand.answers.explanation import Explanation
from herbrand.errors import HerbrandError
from tests.engines.circuit.programs import random_program
from tests.laws import long


def _check(seed: int) -> int:
    """How many numbers of the random program were compared; 0 where it has no world."""
    program = random_program(seed)
    model = hb.Model(hb.parse(program.text))
    try:
        marginals = {row.cells()[0]: row.probability for row in model.infer().rows()}
    except HerbrandError:
        return 0
    atoms = random.Random(seed).sample(sorted(marginals), min(4, len(marginals)))
    compared = sum(_explained(model, atom, marginals[atom]) for atom in atoms)
    compared += sum(_conditioned(model, atom, marginals[atom], atoms[0]) for atom in atoms)
    best = model.infer(map=True).log_weight
    assert best is not None
    for world in model.sample(20, seed=seed).worlds:
        assert world.log_weight is None or world.log_weight <= best + 1e-9, program.text
    return compared + 1


def _explained(model: hb.Model, atom: str, probability: float) -> bool:
    """An explanation starts from the probability, or from its log-odds, and its parts add up to it."""
    try:
        why = model.explain(atom)
    except HerbrandError:
        return False
    assert isinstance(why, Explanation)
    parts = (why.base, why.remainder, *(reason.contribution for reason in why.reasons))
    assert math.fsum(parts) == pytest.approx(why.value, abs=1e-8)
    value = why.value if why.quantity == "probability" else 1 / (1 + math.exp(-why.value))
    assert value == pytest.approx(probability, abs=1e-8), (model.theory, atom)
    return True


def _conditioned(model: hb.Model, given: str, probability: float, atom: str) -> bool:
    """P(q | e) P(e) = P(q and e)."""
    if not 1e-9 < probability < 1:
        return False
    (both,) = model.infer(f"({atom}) and ({given})").rows()
    (found,) = model.infer(f"({atom}) and true", given=[given]).rows()
    assert found.probability * probability == pytest.approx(both.probability, abs=1e-9), (atom, given)
    return True


@pytest.mark.parametrize("start", long(range(0, 60, 20), 1))
def test_random_programs(start: int) -> None:
    assert sum(_check(seed) for seed in range(start, start + 25)) >= 60


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1600, 50))
def test_many_random_programs(start: int) -> None:
    assert sum(_check(seed) for seed in range(start, start + 50)) >= 150
