"""Likelihood against plain loops over all worlds, and its top against an optimiser of SciPy."""

from __future__ import annotations

import itertools
import math
import random
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.budget import UNLIMITED
from herbrand.errors import BudgetError, ContradictionError, UnsupportedError
from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from herbrand.learning.example import Aim, World, example
from herbrand.learning.expected_counts import GroundSide, LiftedSide
from herbrand.learning.likelihood import Likelihood, likelihood
from herbrand.learning.parameters import Parameters
from tests.laws import tries
from tests.learning.worlds_to_learn_from import Lesson, all_keys, declarations, facts, lessons
from tests.oracles.likelihood import Likelihood as Loops
from tests.oracles.likelihood import highest
from tests.oracles.likelihood import likelihood as by_loops
from tests.oracles.worlds import Universe
from tests.program_generators import DOMAINS, PREDICATES

drawn = settings(
    phases=[Phase.reuse, Phase.generate],
    max_examples=tries(40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


class Task(NamedTuple):
    """A theory with the facts of one world, of which some are left out and some are opinions."""

    theory: Theory
    aim: Aim
    loops: Loops
    keys: list


@st.composite
def tasks(draw: st.DrawFn, hard: bool = False) -> Task:
    lesson: Lesson = draw(lessons(hard=hard))
    targets = lesson.targets[:2]
    others = sorted(set(PREDICATES) - set(targets))
    hidden = tuple(draw(st.lists(st.sampled_from(others), max_size=1)))
    labels = [atom for atom in lesson.world if atom[0] in targets]
    doubted = draw(st.lists(st.sampled_from(labels), max_size=2, unique=True))
    chances = [draw(st.sampled_from([0.1, 0.5, 0.7, 0.9])) for _ in doubted]
    soft = [(atom, lesson.world[atom], chance) for atom, chance in zip(doubted, chances, strict=True)]
    soft = [(atom, True if value is False else value, chance) for atom, value, chance in soft]
    told = {a: v for a, v in lesson.world.items() if a[0] not in hidden and a not in doubted}
    opinions = [
        s.FactRows(name, tuple((a,) for a in arguments), 1, "soft", (chance,))
        if value is True
        else s.FactRows(name, (*((a,) for a in arguments), (str(value),)), 1, "soft", (chance,), True)
        for (name, arguments), value, chance in soft
    ]
    formulas = tuple(lesson.theory.formulas)
    theory = Theory((*declarations(), *facts(told), *opinions, *formulas))
    known = {a: v for a, v in told.items() if a[0] not in targets}
    evidence = Universe(DOMAINS, PREDICATES, known)
    labelled = Universe(DOMAINS, PREDICATES, told, soft=soft)
    keys = all_keys(lesson.universe, theory)
    return Task(theory, Aim(targets, hidden), by_loops(evidence, labelled, formulas, keys), keys)


def objective_of(task: Task) -> Likelihood:
    model = hb.Model(task.theory)
    world = World(model.signature, model._knowledge.open_facts(())[1])
    return likelihood(task.theory, [example(task.theory, world, task.aim, opinions=True)], UNLIMITED)


def assert_value(task: Task, seed: int) -> None:
    assert_equal(task, np.random.default_rng(seed).normal(size=len(task.keys)))


def assert_equal(task: Task, weights: np.ndarray) -> None:
    try:
        objective = objective_of(task)
    except ContradictionError:
        assert not len(task.loops.labels) or not np.isfinite(task.loops.labels).any()
        return
    places = [task.keys.index(key) for key in objective.parameters.keys]
    value, gradient = objective.value_and_gradient(weights[places])
    assert value == pytest.approx(task.loops.value(weights), abs=1e-9)
    expected = task.loops.gradient(weights)
    assert gradient == pytest.approx(expected[places], abs=1e-9)
    missing = sorted(set(range(len(task.keys))) - set(places))
    assert expected[missing] == pytest.approx(0.0, abs=1e-9)


@drawn
@given(tasks(), st.integers(0, 1000))
def test_value_and_gradient_are_those_of_the_loops(task: Task, seed: int) -> None:
    assert_value(task, seed)


@drawn
@given(tasks(hard=True), st.integers(0, 1000))
def test_hard_statements_leave_out_worlds(task: Task, seed: int) -> None:
    assert_value(task, seed)


@pytest.mark.slow
@settings(drawn, max_examples=1000)
@given(st.booleans().flatmap(lambda hard: tasks(hard=hard)), st.integers(0, 1000))
def test_value_and_gradient_at_length(task: Task, seed: int) -> None:
    assert_value(task, seed)


def learned(theory: Theory | str, facts: Any = None, **options: Any) -> Any:
    told = hb.parse(theory) if isinstance(theory, str) else theory
    return hb.Model(told, facts).learn("likelihood", **options)


def assert_top(task: Task) -> None:
    """The climb ends as high as SciPy's, which starts from many points."""
    try:
        objective_of(task)
    except ContradictionError:
        return
    found = learned(task.theory, target=task.aim.targets, latent=task.aim.latent, starts=12)
    weights = np.zeros(len(task.keys))
    for weight in found.weights:
        number = [i for i, key in enumerate(task.keys) if matches(task, key, weight)]
        weights[number[0]] = weight.weight
    assert found.metrics["log_likelihood"] == pytest.approx(task.loops.value(weights), abs=1e-8)
    reached = task.loops.value(weights) - 0.05 * float(weights @ weights)
    assert reached >= highest([task.loops], len(weights), 0.1, starts=12) - 1e-6
    watched = [progress.value for progress in found.curve]
    assert all(later >= before - 1e-12 for before, later in itertools.pairwise(watched))


def matches(task: Task, key: Any, weight: Any) -> bool:
    number, constants = key
    statement = [f for f in task.theory.formulas if not isinstance(f.weight, s.Hard)][number]
    names = [v.name for v in statement.weight.by]  # type: ignore[union-attr]
    same = dict(zip(names, constants, strict=True)) == dict(weight.constants)
    return same and hb.show(Theory((statement,))).strip() == weight.statement


@settings(drawn, max_examples=tries(15))
@given(st.booleans().flatmap(lambda hard: tasks(hard=hard)))
def test_the_climb_ends_at_the_top(task: Task) -> None:
    if len({hb.show(Theory((f,))) for f in task.theory.formulas}) == len(task.theory.formulas):
        assert_top(task)


@pytest.mark.slow
@settings(drawn, max_examples=100)
@given(st.booleans().flatmap(lambda hard: tasks(hard=hard)))
def test_the_climb_ends_at_the_top_at_length(task: Task) -> None:
    if len({hb.show(Theory((f,))) for f in task.theory.formulas}) == len(task.theory.formulas):
        assert_top(task)


PLANTED = """
type person = {"a", "b", "c"}
predicate s(person)
predicate f(person, person)
hard: f(x, y) => f(y, x)
?: s(x)
?: f(x, y) and s(x) => s(y)
?: f(x, y) where x != y
"""
WEIGHTS = np.array([0.6, 0.9, -0.5])
PEOPLE = "abc"


def planted(worlds: int, seed: int) -> list[dict[str, list]]:
    """Worlds drawn from the theory with these weights, by the chances of all of them."""
    states, scores = [], []
    pairs = [(x, y) for i, x in enumerate(PEOPLE) for y in PEOPLE[i:]]
    for bits in np.ndindex(*(2,) * (len(PEOPLE) + len(pairs))):
        smokers = {p for p, bit in zip(PEOPLE, bits, strict=False) if bit}
        friends = {
            p for pair, bit in zip(pairs, bits[len(PEOPLE) :], strict=True) if bit for p in (pair, pair[::-1])
        }
        rule = sum((x, y) not in friends or x not in smokers or y in smokers for x in PEOPLE for y in PEOPLE)
        apart = sum(x != y for x, y in friends)
        states.append({"s": sorted(smokers), "f": sorted(friends)})
        scores.append(float(WEIGHTS @ [len(smokers), rule, apart]))
    chances = np.exp(np.array(scores) - max(scores))
    dice = np.random.default_rng(seed)
    return [states[i] for i in dice.choice(len(states), worlds, p=chances / chances.sum())]


@pytest.mark.parametrize("trials", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_planted_weights_come_back_within_two_standard_errors(trials: int) -> None:
    """Of all weights of all trials about 95 in 100; fewer than 90 would be one chance in thousands."""
    near = []
    for seed in range(trials):
        found = learned(PLANTED, worlds=planted(60, seed), l2=0)
        assert found.guarantee.value == "exact" and found.status.converged
        for weight, true in zip(found.weights, WEIGHTS, strict=True):
            near.append(abs(weight.weight - true) <= 2 * weight.standard_error)
    assert np.mean(near) >= 0.9


@pytest.mark.parametrize("method", ["likelihood", "pseudo-likelihood", "layers"])
@pytest.mark.parametrize("test", ["k > 1", "k + 1 > 2", "k = 2", "count(m: n(x, m) and m > 1) > 0"])
def test_what_a_statement_computes_is_no_target(method: str, test: str) -> None:
    """Of three true atoms one meets the test: log sigma(w) - 0.05 w² tops where 1 - sigma(w) = 0.1 w."""
    facts = 'n("a", 0)\nn("b", 1)\nn("c", 2)\np("a")\np("b")\np("c")'
    declared = "type num = {0, 1, 2}\npredicate n(thing, num): observed\npredicate p(thing)"
    theory = hb.parse(f"{declared}\n?: n(x, k) and p(x) and {test}\n{facts}")
    (weight,) = hb.Model(theory).learn(method=method, l2=0.1).weights
    assert 1 - 1 / (1 + math.exp(-weight.weight)) == pytest.approx(0.1 * weight.weight, abs=3e-3)


def test_two_symmetric_friends_have_a_finite_weight() -> None:
    """Each pair is one choice with two groundings: log-odds of 2 w."""
    theory = 'type person = {"a", "b", "c"}\npredicate f(person, person)\nhard: f(x, y) => f(y, x)\n'
    theory += "?: f(x, y) where x != y"
    found = learned(theory, {"f": [("a", "b"), ("b", "a")]}, l2=0)
    assert found.weights[0].weight == pytest.approx(math.log(0.5) / 2, abs=1e-6)


def test_atoms_that_longer_hard_statements_tie_say_what_they_say() -> None:
    """One of three values, by true-or-false atoms, none of which can change alone."""
    theory = """
    type box = {"1", "2", "3", "4"}
    predicate red(box)
    predicate green(box)
    predicate blue(box)
    hard: red(x) or green(x) or blue(x)
    hard: not (red(x) and green(x)) and not (red(x) and blue(x)) and not (green(x) and blue(x))
    ?: red(x)
    """
    found = learned(
        theory, {"red": ["1", "2"], "green": ["3"], "blue": ["4"]}, l2=0, target=["red", "green", "blue"]
    )
    assert found.weights[0].weight == pytest.approx(math.log(0.5 / 0.25), abs=1e-6)


def test_a_hidden_class_is_summed_out() -> None:
    """Labels of two kinds of people need a hidden kind to be told apart; the worlds' loops agree."""
    theory = "predicate kind(p)\npredicate a(p)\npredicate b(p)\n"
    theory += "?: kind(x)\n?: kind(x) => a(x)\n?: kind(x) => b(x)"
    people = {"a": list("uvw"), "b": list("uvx")}
    found = learned(theory, people, latent="kind", target=["a", "b"])
    assert found.metrics["log_likelihood"] > found.metrics["log_likelihood_at_zero"] + 0.1


def test_worlds_that_are_held_out_measure_and_teach_nothing() -> None:
    theory = "predicate s(p)\npredicate w(p, word): observed\n?: s(x)\n?[v]: w(x, v) => s(x)"
    one = {"s": ["a"], "w": [("a", "x"), ("b", "y"), ("c", "x")]}
    other = {"s": ["d"], "w": [("d", "x"), ("e", "new")]}
    alone, found = learned(theory, worlds=[one]), learned(theory, worlds=[one], held_out=[other])
    assert [w.weight for w in found.weights] == [w.weight for w in alone.weights]
    weights = {tuple(w.constants.values()): w.weight for w in found.weights}
    ends = (weights[()] + weights["x",], -weights[()])  # log-odds of what d and e are labelled
    expected = -math.log1p(math.exp(-ends[0])) - math.log1p(math.exp(-ends[1]))
    assert found.metrics["held_out_log_likelihood"] == pytest.approx(expected, abs=1e-9)
    assert found.metrics["held_out_atoms"] == 2
    with pytest.raises(UnsupportedError, match="does not use --held-out"):
        hb.Model(hb.parse(theory), one).learn("layers", held_out=[other])


def test_given_weights_are_starting_points() -> None:
    theory = "predicate s(p)\npredicate f(p, p): observed\n1.5: s(x)\n0.3: f(x, y) and s(x) => s(y)"
    facts = {"s": ["a", "b"], "f": [("a", "b"), ("b", "c"), ("c", "d")]}
    with pytest.raises(UnsupportedError, match="no statement has a weight"):
        learned(theory, facts)
    again = learned(theory, facts, relearn=True)
    asked = learned(theory.replace("1.5:", "?:").replace("0.3:", "?:"), facts)
    assert [w.weight for w in again.weights] == pytest.approx([w.weight for w in asked.weights], abs=1e-5)
    there = learned(again.theory, facts, relearn=True)
    assert there.status.iterations <= 2


def test_a_labels_opinion_counts_each_world_by_its_chance() -> None:
    """Two of three hold for sure; the third holds by 0.8: log(0.8 q + 0.2 (1 - q)) besides."""
    theory = 'type p = {"a", "b", "c"}\npredicate s(p)\n?: s(x)\ns("a")\nnot s("b")\ns("c") ~ 0.8'
    found = learned(theory, l2=0)
    share = 1 / (1 + math.exp(-found.weights[0].weight))
    value = math.log(share) + math.log(1 - share) + math.log(0.8 * share + 0.2 * (1 - share))
    assert found.metrics["log_likelihood"] == pytest.approx(value, abs=1e-9)
    assert found.metrics["atoms"] == 3  # the third was not counted
    for other in (share - 1e-3, share + 1e-3):
        assert math.log(other) + math.log(1 - other) + math.log(0.8 * other + 0.2 * (1 - other)) < value


def test_labels_that_no_world_has_are_refused() -> None:
    theory = "predicate p(t)\npredicate q(t)\nhard: p(x) => q(x)\n?: p(x)"
    with pytest.raises(ContradictionError, match="hard"):
        learned(theory, {"p": ["a"], "q": ["b"]}, target=["p", "q"])


def test_counting_without_grounding_gives_the_same() -> None:
    theory = hb.parse(
        "predicate s(p)\npredicate f(p, p)\n-0.5: s(x)\nhard: not f(x, x)\n"
        "?: s(x) and f(x, y) => s(y)\n?: f(x, y)"
    )
    facts = {"s": ["a", "b"], "f": [("a", "b"), ("b", "a"), ("c", "d")]}
    model = hb.Model(theory, facts)
    world = World(model.signature, model._knowledge.open_facts(())[1])
    one = example(theory, world, Aim())
    parameters = Parameters.of(one.program)
    ground = GroundSide.of(one.program, parameters, UNLIMITED, 1e12)
    lifted = LiftedSide.of(one.program, parameters, UNLIMITED, 1e12)
    for seed in range(5):
        weights = np.random.default_rng(seed).normal(size=2)
        here, there = ground.at(weights), lifted.at(weights)
        assert here.log_partition == pytest.approx(there.log_partition, abs=1e-9)
        assert here.expected == pytest.approx(there.expected, abs=1e-8)


def test_a_domain_that_cannot_be_grounded_is_counted() -> None:
    """Friends and smokers among 30 people, of whom all are alike: a network of 930 linked atoms."""
    theory = "predicate s(p)\npredicate f(p, p)\n?: s(x) and f(x, y) => s(y)\n?: f(x, y)\n?: s(x)"
    names, dice = [f"p{i}" for i in range(30)], random.Random(1)
    smokers = names[:10]
    friends = [(a, b) for a in names for b in names if dice.random() < (0.4 if b in smokers else 0.1)]
    found = learned(theory, {"s": smokers, "f": friends}, l2=0.01)
    assert "lifted" in found.engine and found.guarantee.value == "exact" and found.status.converged
    assert all(weight.standard_error is not None for weight in found.weights)


def test_what_is_not_affordable_is_refused_with_a_way_out() -> None:
    theory = "predicate f(p, p)\n?: f(x, y) and f(y, z) => f(x, z)"
    names = [f"p{i}" for i in range(30)]
    with pytest.raises(BudgetError, match="pseudo-likelihood"):
        learned(theory, {"f": list(itertools.pairwise(names))}, starts=2)


def test_worlds_may_be_theories_of_facts() -> None:
    """As for probabilities: what is to be learned changes nothing in how worlds are given."""
    model = hb.Model(hb.parse("predicate smokes(person)\n?: smokes(x)"))
    stated = [hb.parse('smokes("anna")\nsmokes("bob")'), hb.parse('smokes("carl")')]
    tables = [{"smokes": ["anna", "bob"]}, {"smokes": ["carl"]}]
    assert model.learn(worlds=stated).metrics == model.learn(worlds=tables).metrics


def test_likelihood_is_learned_without_torch() -> None:
    """Also by the method that is taken by itself."""
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import herbrand as hb\n"
        "model = hb.Model(hb.parse('?: a(x) => b(x)'), {'a': ['u', 'v'], 'b': ['u']})\n"
        "assert model.learn().method == 'likelihood'\n"
        "assert model.learn(method='contrastive-divergence').method == 'contrastive-divergence'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("l1", [0.01, 0.3, 2.0])
def test_a_corner_takes_back_what_a_start_gave_to_statements_without_effect(l1: float) -> None:
    """The starts are random where something is hidden; L-BFGS took tiny magnitudes to be at 0 already."""
    theory = "predicate f(t)\npredicate g(t)\n?: f(x) or not f(x)\n?: g(x) xor not g(x)"
    found = learned(theory, {"f": ["a"]}, latent="g", l1=l1, l2=0)
    assert [weight.weight for weight in found.weights] == [0, 0] and found.status.converged


@pytest.mark.parametrize("latent", [(), ("h",)])
def test_the_curve_never_falls_under_a_corner(latent: tuple[str, ...]) -> None:
    theory = "predicate f(n)\npredicate h(n)\n1.5: f(i)\n-0.3: f(i) and h(i)"
    found = learned(theory, {"f": [1, 3], "h": [1, 2]}, relearn=True, l1=0.05, l2=0, latent=latent)
    values = [progress.value for progress in found.curve]
    assert values == sorted(values)
    last = found.metrics["log_likelihood"] - 0.05 * sum(abs(weight.weight) for weight in found.weights)
    assert values[-1] == pytest.approx(last)


@pytest.mark.parametrize("count", [1, 2, 5, 20])
@pytest.mark.parametrize("seed", [0, 2, 3])
def test_what_nothing_determines_has_no_standard_error(count: int, seed: int) -> None:
    """Rounding in differences of gradients was taken for curvature: 949,062.66."""
    theory = hb.parse("predicate o(n): observed\npredicate f\npredicate g\n?: o(i) => f\n?: g")
    worlds = [hb.parse(text) for text in ("g", "not g\nnot f", "not g\nf")]
    model = hb.Model(theory, {"o": [*range(count)]})
    found = model.learn("likelihood", latent="f", target="g", l2=0, seed=seed, worlds=worlds)
    assert found.weights[0].standard_error is None
    assert found.weights[1].standard_error == pytest.approx(math.sqrt(3 / 2))
