"""Learning where hard statements make atoms one: each class is predicted once, from all statements on it."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from scipy.optimize import minimize_scalar

import herbrand as hb
from herbrand.errors import ContradictionError, UnsupportedError

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


TIES = [
    "hard: f(x, y) => f(y, x)",
    "hard: f(x, y) <=> g(x, y)",
    "hard: f(x, y) xor g(x, y)",
    "hard: f(x, y) => g(x, y)\nhard: g(x, y) => f(x, y)",
    'hard: s(x) and f(x, "b") => f(x, "c")\nhard: f(x, "c") => f(x, "b")',
]
FREE = [
    "hard: f(x, y) => g(x, y)",
    "hard: s(x) => not f(x, x)",
    "hard: f(x, y) or g(x, y)",
    "hard: not f(x, x)",
]
WORLD = {"s": ["a"], "f": [("a", "b"), ("b", "a")], "g": [("a", "b"), ("b", "a")]}
HEAD = (
    SYMMETRIC.replace("hard: f(x, y) => f(y, x)\n", "predicate g(person, person)\n") + "?: s(x) and f(x, y)\n"
)


@pytest.mark.parametrize("place", [None, "duckdb"])
@pytest.mark.parametrize("hard", TIES)
def test_pseudo_likelihood_refuses_atoms_that_are_one(hard: str, place: str | None, tmp_path: Path) -> None:
    on = None if place is None else f"duckdb:{tmp_path / 'w.duckdb'}"
    pairs = [(one, other) for one in PEOPLE for other in PEOPLE]
    world = dict(WORLD)
    if "xor" in hard:
        world["g"] = [pair for pair in pairs if pair not in WORLD["f"]]
    if '"c"' in hard:
        world["f"] = [("a", "b"), ("a", "c")]
    with pytest.raises(UnsupportedError, match=r"hard statements make .* one: .*\n.*--method layers"):
        hb.Model(hb.parse(HEAD + hard), world, on=on).learn(target=["f", "g"])


@pytest.mark.parametrize("hard", FREE)
def test_other_hard_statements_are_taken(hard: str) -> None:
    world = dict(WORLD)
    if " or " in hard:
        world["g"] = [(one, other) for one in PEOPLE for other in PEOPLE]
    assert hb.Model(hb.parse(HEAD + hard), world).learn(target=["f", "g"]).status.converged
