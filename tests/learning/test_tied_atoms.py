"""Learning where hard statements make atoms one: each class is predicted once, from all statements on it."""

from __future__ import annotations

import math
import random

import pytest
from scipy.optimize import minimize_scalar

import herbrand as hb
from herbrand.errors import ContradictionError

SYMMETRIC = """
type person = {"a", "b", "c", "d", "e", "f", "g"}
predicate s(person): observed
predicate f(person, person)
hard: f(x, y) => f(y, x)
"""
PEOPLE = "abcdefg"


def friends(seed: int) -> dict[str, list]:
    """Friends are mostly among smokers."""
    dice = random.Random(seed)
    smokers = set(PEOPLE[:3])
    pairs = []
    for i, one in enumerate(PEOPLE):
        for other in PEOPLE[i:]:
            if dice.random() < 0.2 + 0.3 * ((one in smokers) + (other in smokers)):
                pairs += [(one, other), (other, one)]
    return {"s": sorted(smokers), "f": sorted(set(pairs))}


def likeliest(facts: dict[str, list]) -> float:
    """The weight of s(x) and f(x, y) under which the pairs, each an independent choice, are likeliest."""

    def loss(weight: float) -> float:
        total = 0.0
        for i, one in enumerate(PEOPLE):
            for other in PEOPLE[i:]:
                count = (one in facts["s"]) + (other in facts["s"] and other != one)
                sign = 1 if (one, other) in facts["f"] else -1
                total += math.log1p(math.exp(-sign * weight * count))
        return total

    return float(minimize_scalar(loss, bounds=(-20, 20), method="bounded", options={"xatol": 1e-9}).x)  # pyright: ignore


@pytest.mark.parametrize("method", ["layers"])
@pytest.mark.parametrize("seed", range(3))
def test_a_symmetric_relation_is_learned_by_its_pairs(method: str, seed: int) -> None:
    facts = friends(seed)
    theory = hb.parse(SYMMETRIC + "?: s(x) and f(x, y)")
    layers = 1 if method == "layers" else None
    found = hb.Model(theory, facts).learn(method=method, l2=0, tolerance=1e-10, layers=layers)
    assert found.weights[0].weight == pytest.approx(likeliest(facts), abs=1e-4)


@pytest.mark.parametrize("method", ["layers", "pseudo-likelihood"])
def test_labels_that_break_a_hard_statement_are_told(method: str) -> None:
    facts = {"s": ["a", "b"], "f": [("a", "b")]}
    theory = hb.parse(SYMMETRIC + "?: s(x) and f(x, y)")
    with pytest.raises(ContradictionError, match=r'the facts contradict .* f\("[ab]", "[ab]"\)'):
        hb.Model(theory, facts).learn(method=method)


@pytest.mark.parametrize("more", ["", "hard: f(x, x)\n"])
def test_a_teacher_of_tied_atoms_teaches_finite_numbers(more: str) -> None:
    theory = hb.parse(SYMMETRIC + more + "0.8: s(x) and f(x, y)\n" + 's("a")\nnot s("b")')
    found = hb.Model(theory).learn(method="distillation", latent=["f"], iterations=5, seed=1)
    assert math.isfinite(found.metrics["loss"])
