"""Learning where hard statements make atoms one: each class is predicted once, from all statements on it."""

from __future__ import annotations

import math
import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import herbrand as hb
from herbrand.budget import UNLIMITED
from herbrand.errors import ContradictionError, UnsupportedError
from herbrand.language.theory import Theory
from herbrand.learning.example import Aim, example
from herbrand.learning.example import World as Known
from herbrand.learning.pseudo_likelihood import pseudo_likelihood
from tests.laws import tries
from tests.learning.worlds_to_learn_from import all_keys, facts
from tests.oracles.pseudo_likelihood import log_pseudo_likelihood, tied_blocks
from tests.oracles.worlds import Universe, World

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


@pytest.mark.parametrize("method", ["layers", "pseudo-likelihood"])
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


def world_of(hard: str) -> dict[str, list]:
    pairs = [(one, other) for one in PEOPLE for other in PEOPLE]
    world: dict[str, list] = dict(WORLD)
    if "xor" in hard:
        world["g"] = [pair for pair in pairs if pair not in WORLD["f"]]
    if '"c"' in hard:
        world["f"] = [("a", "b"), ("a", "c")]
    return world


@pytest.mark.parametrize("hard", TIES)
def test_atoms_that_are_one_change_together(hard: str) -> None:
    found = hb.Model(hb.parse(HEAD + hard), world_of(hard)).learn(
        "pseudo-likelihood", target=["f", "g"], l2=0.01
    )
    assert abs(found.weights[0].weight) > 0.1
    assert found.metrics["atoms"] < 2 * len(PEOPLE) ** 2


@pytest.mark.parametrize("hard", TIES)
def test_a_database_refuses_atoms_that_may_be_one(hard: str, tmp_path: Path) -> None:
    model = hb.Model(hb.parse(HEAD + hard), world_of(hard), on=f"duckdb:{tmp_path / 'w.duckdb'}")
    with pytest.raises(UnsupportedError, match=r"hard statements may tie .*, .*\n.*leave out --on"):
        model.learn("pseudo-likelihood", target=["f", "g"])


def test_tied_atoms_of_which_one_is_not_known_are_refused() -> None:
    model = hb.Model(hb.parse(HEAD + TIES[0]), {"s": ["a"], "f": [("a", "b")]})
    with pytest.raises(
        UnsupportedError, match=r"hard statements make f\(.*\n.*--method likelihood or layers"
    ):
        model.learn("pseudo-likelihood", target=["f"], latent=["f"])


def test_groundings_with_an_unknown_atom_are_left_out_beside_tied_atoms() -> None:
    """Loops about f itself are not tied, and no fact lists them: only pairs of people are learned from."""
    declared = 'type person = {"a", "b", "c"}\npredicate s(person)\npredicate f(person, person)'
    theory = f"{declared}\n?: f(x, y)\n?: s(x) and s(y) and f(x, y)"
    pairs = [f"{negation}f({x}, {y})" for negation, x, y in PAIRS]
    known = "\n".join(['s("a")', 's("b")', *pairs])
    found = hb.Model(hb.parse(f"{theory}\nhard: f(x, y) => f(y, x)\n{known}")).learn(
        "pseudo-likelihood", target=["f"], latent=["f"]
    )
    without_loops = f"hard: f(x, y) => f(y, x)\nhard: not f(x, x)\n{known}"
    closed = hb.Model(hb.parse(f"{theory}\n{without_loops}")).learn("pseudo-likelihood", target=["f"])
    assert found.metrics["atoms"] == 3
    assert [w.weight for w in found.weights] == pytest.approx([w.weight for w in closed.weights], abs=1e-9)


PAIRS = [
    (negation, *pair)
    for negation, one, other in [("", '"a"', '"b"'), ("not ", '"a"', '"c"'), ("", '"b"', '"c"')]
    for pair in [(one, other), (other, one)]
]


T = ("c1", "c2")
UNIVERSE = Universe(
    {"t": T}, {"p": (("t",), None), "q": (("t",), None), "f": (("t", "t"), None), "r": ((), None)}
)
VOCABULARY = """
type t = {"c1", "c2"}
predicate p(t)
predicate q(t)
predicate f(t, t)
predicate r
"""
HARD = [
    "f(x, y) => f(y, x)",
    "f(x, y) => not f(y, x) where x != y",
    "p(x) <=> q(x)",
    "p(x) xor q(x)",
    "p(x) => p(y)",
    "p(x) => q(x)",
    "q(x) => p(x)",
    "f(x, y) and p(x) => p(y)",
    "f(x, y) and p(x) => q(y)",
    "f(x, x) <=> r",
    'p("c1")',
    'not f("c1", "c2") or r',
    "p(x) or q(x)",
    "not r",
    "p(x) and q(y) => f(x, y)",
    "f(x, y) <=> (p(x) and q(y))",
]
SOFT = [
    "?: p(x)",
    "?: f(x, y)",
    "?[x]: f(x, y) and p(x)",
    "?: p(x) and q(y) and f(x, y)",
    "0.7: f(x, y) and f(y, x)",
    "?: exists y: f(x, y) and p(y)",
    "-0.4: q(x) => r",
    "?: r <=> p(x)",
    "?: f(x, y) and f(y, z) => f(x, z)",
]


@cache
def allowed_worlds(hard: tuple[str, ...]) -> list[World]:
    formulas = hb.parse(VOCABULARY + "".join(f"hard: {text}\n" for text in hard)).formulas
    return [world for world in UNIVERSE.worlds() if UNIVERSE.log_weight(world, formulas) == 0]


def assert_blocks(hard: list[str], soft: list[str], targets: list[str], seed: int) -> None:
    """The value at random weights is that of plain loops over the joint values of each block."""
    worlds = allowed_worlds(tuple(hard))
    assume(worlds)
    dice = random.Random(seed)
    world = dice.choice(worlds)
    lines = [*(f"hard: {text}" for text in hard), *soft]
    stated = hb.parse(VOCABULARY + "\n".join(lines))
    theory = Theory((*stated.statements, *facts(world)))
    model = hb.Model(theory)
    one = example(theory, Known(model.signature, model.program.facts), Aim(tuple(targets)))
    objective = pseudo_likelihood([one], UNLIMITED)
    drawn = {key: dice.gauss(0, 1) for key in all_keys(UNIVERSE, theory)}
    weights = np.array([drawn[key] for key in objective.parameters.keys])
    blocks = tied_blocks(UNIVERSE, theory.formulas, world, targets)
    expected = log_pseudo_likelihood(UNIVERSE, theory.formulas, drawn, world, targets, blocks)
    assert objective.value(weights) == pytest.approx(expected, abs=1e-9)


random_ties = given(
    st.lists(st.sampled_from(HARD), min_size=1, max_size=3, unique=True),
    st.lists(st.sampled_from(SOFT), min_size=1, max_size=3, unique=True),
    st.lists(st.sampled_from(["p", "q", "f", "r"]), min_size=1, max_size=4, unique=True),
    st.integers(0, 10**6),
)


@settings(max_examples=tries(60), deadline=None)
@random_ties
def test_blocks_are_those_of_the_loops(
    hard: list[str], soft: list[str], targets: list[str], seed: int
) -> None:
    assert_blocks(hard, soft, targets, seed)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@random_ties
def test_blocks_at_length(hard: list[str], soft: list[str], targets: list[str], seed: int) -> None:
    assert_blocks(hard, soft, targets, seed)


ONE_OF_THREE = """
hard: f(x, "a") or f(x, "b") or f(x, "c")
hard: f(x, y) and f(x, z) => y = z
hard: not f(x, y) where y != "a" and y != "b" and y != "c"
"""
SOME_ONE = "hard: exists y: f(x, y)\nhard: f(x, y) and f(x, z) => y = z"


@pytest.mark.parametrize(
    ("hard", "place"), [(ONE_OF_THREE, None), (ONE_OF_THREE, "duckdb"), (SOME_ONE, None)]
)
def test_a_weight_on_atoms_that_cannot_change_is_refused(
    hard: str, place: str | None, tmp_path: Path
) -> None:
    """One friend each: whoever changes one pair alone breaks a rule."""
    known = {"s": ["a"], "f": [(one, "b") for one in PEOPLE]}
    on = None if place is None else f"duckdb:{tmp_path / 'w.duckdb'}"
    model = hb.Model(hb.parse(HEAD + hard), known, on=on)
    with pytest.raises(UnsupportedError, match=r"learns nothing about its weight: \?: s\(x\) and f\(x, y\)"):
        model.learn("pseudo-likelihood", target=["f"])


@pytest.mark.parametrize("hard", FREE)
def test_other_hard_statements_are_taken(hard: str) -> None:
    world = dict(WORLD)
    if " or " in hard:
        world["g"] = [(one, other) for one in PEOPLE for other in PEOPLE]
    assert (
        hb.Model(hb.parse(HEAD + hard), world).learn("pseudo-likelihood", target=["f", "g"]).status.converged
    )
