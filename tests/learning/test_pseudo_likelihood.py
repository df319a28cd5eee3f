"""Pseudo-likelihood against plain loops over atoms, values and groundings."""

from __future__ import annotations

import math

import numpy as np
import pandas
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.budget import UNLIMITED
from herbrand.errors import ContradictionError
from herbrand.language.theory import Theory
from herbrand.learning.example import Aim, Example, World, example
from herbrand.learning.pseudo_likelihood import PseudoLikelihood, pseudo_likelihood
from herbrand.learning.ties import ties
from herbrand.program.ground import LatentAtoms
from tests.laws import tries
from tests.learning.worlds_to_learn_from import Lesson, all_keys, lessons
from tests.oracles.pseudo_likelihood import log_pseudo_likelihood
from tests.oracles.worlds import GroundAtom, Universe

slow_to_draw = settings(
    phases=[Phase.reuse, Phase.generate],
    max_examples=tries(40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def examples_of(lesson: Lesson) -> Example:
    model = hb.Model(lesson.theory)
    return example(lesson.theory, World(model.signature, model.program.facts), Aim(lesson.targets))


def blocks_of(world: Example) -> list[list[GroundAtom]]:
    """The targets' atoms, those that change together in one list."""
    found, atoms = ties(world, UNLIMITED), LatentAtoms(world.hidden, UNLIMITED)
    blocks: dict[int, list[GroundAtom]] = {}
    for number in range(atoms.count):
        name, code = atoms.atom(number)
        places = np.unravel_index(int(code[0]), world.hidden.sizes(name))
        types = world.program.signature.predicates[name].types
        constants = (list(world.program.domain(kind))[i] for kind, i in zip(types, places, strict=True))
        leader = number if found.leaders is None else int(found.leaders.leader[number])
        blocks.setdefault(leader, []).append((name, tuple(constants)))
    return list(blocks.values())


def weights_for(objective: PseudoLikelihood, lesson: Lesson, seed: int) -> tuple[np.ndarray, dict]:
    """Random numbers for every weight; those that bear on nothing are in the oracle's only."""
    rng = np.random.default_rng(seed)
    drawn = {key: float(rng.normal()) for key in all_keys(lesson.universe, lesson.theory)}
    return np.array([drawn[key] for key in objective.parameters.keys]), drawn


@slow_to_draw
@given(lessons(), st.integers(0, 1000))
def test_the_value_is_that_of_the_loops(lesson: Lesson, seed: int) -> None:
    assert_value(lesson, seed)


@slow_to_draw
@given(lessons(hard=True), st.integers(0, 1000))
def test_hard_statements_forbid_flips(lesson: Lesson, seed: int) -> None:
    assert_value(lesson, seed)


@pytest.mark.slow
@settings(slow_to_draw, max_examples=1500)
@given(st.booleans().flatmap(lambda hard: lessons(hard=hard)), st.integers(0, 1000))
def test_the_value_at_length(lesson: Lesson, seed: int) -> None:
    assert_value(lesson, seed)


def assert_value(lesson: Lesson, seed: int) -> None:
    world = examples_of(lesson)
    try:
        objective = pseudo_likelihood([world], UNLIMITED)
    except ContradictionError:
        value = log_pseudo_likelihood(
            lesson.universe, lesson.theory.formulas, {}, lesson.world, lesson.targets
        )
        assert not math.isfinite(value)
        return
    weights, drawn = weights_for(objective, lesson, seed)
    expected = log_pseudo_likelihood(
        lesson.universe, lesson.theory.formulas, drawn, lesson.world, lesson.targets, blocks_of(world)
    )
    assume(math.isfinite(expected))
    assert objective.value(weights) == pytest.approx(expected, abs=1e-9)


@settings(slow_to_draw, max_examples=tries(20))
@given(lessons(), st.integers(0, 1000))
def test_gradient_and_curvature_are_those_of_the_value(lesson: Lesson, seed: int) -> None:
    objective = pseudo_likelihood([examples_of(lesson)], UNLIMITED)
    weights, _ = weights_for(objective, lesson, seed)
    _, gradient = objective.value_and_gradient(weights)
    hessian, step = objective.hessian(weights), 1e-5
    for i in range(len(weights)):
        nudge = np.eye(len(weights))[i] * step
        higher, lower = objective.value(weights + nudge), objective.value(weights - nudge)
        assert gradient[i] == pytest.approx((higher - lower) / (2 * step), abs=1e-5)
        above, below = (objective.value_and_gradient(weights + s * nudge)[1] for s in (1, -1))
        assert hessian[i] == pytest.approx((above - below) / (2 * step), abs=1e-4)
        assert -hessian[i, i] <= objective.curvature(weights)[i] + 1e-9


SMOKERS = """\
predicate smokes(person)
predicate friends(person, person): observed
?: smokes(x) and friends(x, y) => smokes(y)
?: smokes(x)
"""
ANNA = {"friends": [("a", "b"), ("b", "c"), ("c", "d")], "smokes": ["a", "b"]}
BERT = {"friends": [("a", "z"), ("z", "y")], "smokes": ["z", "y"]}


def test_learning_stands_at_the_top_of_the_oracle() -> None:
    """No step away from the learned weights makes the penalised pseudo-likelihood larger."""
    theory = hb.parse(SMOKERS)
    found = hb.Model(theory, ANNA).learn("pseudo-likelihood", l2=0.5)
    people = "abcd"
    world = {("smokes", (p,)): p in "ab" for p in people}
    world |= {("friends", (p, q)): (p, q) in ANNA["friends"] for p in people for q in people}
    universe = Universe(
        {"person": people}, {"smokes": (("person",), None), "friends": (("person", "person"), None)}
    )

    def height(weights: list[float]) -> float:
        told = {(i, ()): w for i, w in enumerate(weights)}
        value = log_pseudo_likelihood(universe, theory.formulas, told, world, ["smokes"])
        return value - 0.25 * sum(w * w for w in weights)

    top = [weight.weight for weight in found.weights]
    for i in range(2):
        for step in (-1e-3, 1e-3):
            assert height([w + step * (i == j) for j, w in enumerate(top)]) < height(top)
    without = height([0.0, top[1]]) + 0.25 * top[1] ** 2
    expected = found.metrics["log_pseudo_likelihood"] - without
    assert found.weights[0].effect == pytest.approx(expected)


def test_several_worlds_add_up() -> None:
    theory = hb.parse(SMOKERS)
    together = hb.Model(theory).learn("pseudo-likelihood", worlds=[ANNA, BERT], l2=0.3)
    parts = [pseudo_likelihood([world_of(theory, facts)], UNLIMITED) for facts in (ANNA, BERT)]
    weights = np.array([w.weight for w in together.weights])
    assert together.metrics["log_pseudo_likelihood"] == pytest.approx(sum(p.value(weights) for p in parts))
    slope = sum(p.value_and_gradient(weights)[1] for p in parts) - 0.3 * weights
    assert slope == pytest.approx(np.zeros(2), abs=1e-3)


def world_of(theory: Theory, facts: object, aim: Aim | None = None) -> Example:
    model = hb.Model(theory, facts)
    return example(theory, World(model.signature, model.program.facts), aim or Aim())


def test_a_constants_weight_is_the_same_in_every_world() -> None:
    theory = hb.parse("predicate has(doc, word): observed\npredicate good(doc)\n?[w]: has(d, w) => good(d)")
    one = {"has": [("d1", "fine"), ("d2", "bad")], "good": ["d1"]}
    other = {"has": [("d9", "fine"), ("d8", "odd")], "good": ["d9", "d8"]}
    found = hb.Model(theory).learn("pseudo-likelihood", worlds=[one, other])
    weights = {w.constants["w"]: w.weight for w in found.weights}
    assert sorted(weights) == ["bad", "fine", "odd"]
    assert weights["fine"] > weights["odd"] > 0 > weights["bad"]
    assert f'{weights["bad"]!r}: has(d, "bad") => good(d)' in found.text


def test_only_listed_atoms_of_a_latent_target_are_labels() -> None:
    theory = hb.parse("predicate p(t)\npredicate q(t): observed\n?: q(x) => p(x)")
    facts = {"q": ["a", "b", "c"], "p": pandas.DataFrame({"t": ["a", "b"], "truth": [True, False]})}
    partly = hb.Model(theory, facts).learn("pseudo-likelihood", target="p", latent="p", l2=0)
    closed = hb.Model(theory, facts).learn("pseudo-likelihood", target="p", l2=0)
    assert (partly.metrics["atoms"], closed.metrics["atoms"]) == (2, 3)
    assert partly.weights[0].weight == pytest.approx(0.0, abs=1e-6)
    assert closed.weights[0].weight == pytest.approx(math.log(1 / 2), abs=1e-5)


def test_predicates_and_worlds_are_one_sum_for_each_number_of_values() -> None:
    """Each step takes a few sums over all atoms, however many predicates and worlds these are of."""
    theory = hb.parse(
        "\n".join(f"predicate p{n}(thing)\n?: p{n}(x) and q(x)" for n in range(5))
        + "\npredicate q(thing): observed"
        + '\npredicate paint(thing) in {"red", "green", "blue"}\n?: paint(x) = "red"'
    )
    worlds = [
        {
            **{f"p{n}": things[n % 2 :] for n in range(5)},
            "q": things,
            "paint": [(one, "red") for one in things],
        }
        for things in (["a", "b"], ["c", "d", "e"])
    ]
    models = [hb.Model(theory, facts) for facts in worlds]
    examples = [example(theory, World(model.signature, model.program.facts), Aim()) for model in models]
    together = pseudo_likelihood(examples, UNLIMITED)
    weights = np.linspace(-1, 1, len(together.parameters))
    alone = [pseudo_likelihood([one], UNLIMITED) for one in examples]
    assert len(together.parts) == 2 and together.atom_count == 5 * 6
    assert together.value(weights) == pytest.approx(sum(one.value(weights) for one in alone))
