"""Messages and the bound against sums over all worlds, for
random theories and the ones that went wrong elsewhere."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.mean_field.problem import Problem, prepared
from herbrand.language.theory import Theory
from tests.engines.mean_field.beliefs import beliefs, entry, random_logits, values_of
from tests.engines.mean_field.theories import universe_of
from tests.laws import tries
from tests.oracles.mean_field import MeanField, world_count
from tests.oracles.worlds import Universe
from tests.program_generators import models

MOST_WORLDS = 400

random_theories = settings(
    phases=[Phase.reuse, Phase.generate],
    max_examples=tries(25),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@random_theories
@given(models(), st.integers(0, 10**6))
def test_random_theories(model: tuple[Theory, Universe], seed: int) -> None:
    theory, universe = model
    assume(world_count(universe) <= MOST_WORLDS)
    assert_messages(prepared(hb.Model(theory).program), MeanField(universe, theory.formulas), seed)


@pytest.mark.slow
@settings(random_theories, max_examples=500)
@given(models(), st.integers(0, 10**6))
def test_random_theories_at_length(model: tuple[Theory, Universe], seed: int) -> None:
    theory, universe = model
    assume(world_count(universe) <= MOST_WORLDS)
    assert_messages(prepared(hb.Model(theory).program), MeanField(universe, theory.formulas), seed)


def assert_messages(problem: Problem, oracle: MeanField, seed: int) -> None:
    logits = random_logits(problem, seed)
    marginals = problem.unknowns.marginals(logits)
    believed = beliefs(problem, marginals, oracle)
    value, messages = problem.messages(marginals, problem.weights)
    value += problem.unknowns.opinions(marginals)
    bound = value + problem.unknowns.entropy(logits, marginals)
    assert bound == pytest.approx(oracle.bound(believed), abs=1e-9)
    assert bound <= oracle.log_partition() + 1e-9
    heard = oracle.heard(believed)
    for atom, told in heard.items():
        field = messages[atom[0]] + problem.unknowns.unary.get(atom[0], torch.zeros(()))
        found = entry(problem, field, atom)
        if problem.unknowns.tables[atom[0]].true_or_false:
            assert found[0] == pytest.approx(told[True] - told[False], abs=1e-9), atom
            continue
        by_value = dict(zip(values_of(problem, atom), found, strict=True))
        first = next(iter(told))
        for v in told:
            assert by_value[v] - by_value[first] == pytest.approx(told[v] - told[first], abs=1e-9), (atom, v)


TYPE = 'type t = {"a", "b", "c"}\npredicate s(t)\npredicate c(t)\n'
LINKS = TYPE + "predicate f(t, t)\n"
SMALL = 'type t = {"a", "b"}\npredicate s(t)\npredicate f(t, t)\n'
TRAPS = {
    "smokers": SMALL + "1.7: not s(x) or not f(x, y) or s(y)",
    "smokers, signs flipped": SMALL + "0.9: s(x) or not f(x, y) or s(y)",
    "or of both directions": SMALL + "1.3: f(x, y) or f(y, x)",
    "transitivity": SMALL + "0.8: f(x, y) and f(y, z) => f(x, z)",
    "conjunction": TYPE + "1.1: s(x) and c(x)",
    "equivalence": TYPE + "-0.7: s(x) <=> c(y)",
    "a target that no premise binds": SMALL + "1.2: s(x) => f(x, y)",
    "constants": SMALL + '0.6: s("a") and f(x, "b") => f("a", x)\n0.4: f("b", "b")',
    "unit clauses": TYPE + "0.5: s(x)\n-0.3: not c(x)",
    "negative weight": SMALL + "-1.4: s(x) and f(x, y)",
    "exists": SMALL + "1.1: exists y: f(x, y)",
    "exists with a shared atom outside": SMALL + "0.9: exists y: s(x) and f(x, y)",
    "exists whose atoms the rest speaks of": SMALL + "1.3: s(x) => exists y: f(x, y) and s(y)",
    "exists over two variables with shared atoms": SMALL + "1.3: exists x, y: s(x) and f(x, y) and s(y)",
    "exists over exists": SMALL + "1.3: exists x: s(x) and (exists y: f(x, y) and x != y)",
    "forall": SMALL + "0.8: s(x) <=> forall y: f(x, y)",
    "counted apart from constants": SMALL + '0.8: exists y: f(x, y) and y != "a"',
    "equality as a truth value": SMALL + "1.2: s(x) and s(y) => x = y",
    "where": SMALL + "1.2: s(x) and f(x, y) => s(y) where x != y",
    "propositions": "predicate rain\npredicate wet\n1.2: rain => wet\n0.4: rain xor wet",
    "many values": 'type p = {"p", "q"}\npredicate area(p) in {"u", "v", "w"}\npredicate cites(p, p)\n'
    '0.9: area(x) = "u" and cites(x, y) => area(y) in {"u", "w"}\n0.5: area(x) = v and area(y) = v',
}


@pytest.mark.parametrize("name", TRAPS)
def test_what_went_wrong_elsewhere(name: str) -> None:
    theory = hb.parse(TRAPS[name] + "\n")
    problem = prepared(hb.Model(theory).program)
    for seed in range(2):
        assert_messages(problem, MeanField(universe_of(theory), theory.formulas), seed)
