"""``P(q | e)``: conditioning beside enumeration of extreme networks, and with very many observed atoms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from tests.engines.credal.ariel.networks import bayesian, conditionals, independent, random_parents
from tests.laws import tries
from tests.oracles.ariel import Sentence, holds

laws = settings(phases=[Phase.reuse, Phase.generate], deadline=None, max_examples=tries(25))
seeds = st.integers(0, 2**32 - 1)


def random_formula(rng: np.random.Generator, atoms: list[int]) -> str:
    literals = [f"{'not ' if rng.random() < 0.4 else ''}x{atom}" for atom in atoms]
    return f" {rng.choice(['and', 'and', 'or'])} ".join(literals)


@laws
@given(seeds, st.booleans(), st.booleans())
def test_hidden_networks_lie_inside(seed: int, cyclic: bool, tree: bool) -> None:
    rng = np.random.default_rng(seed)
    n = 5
    hidden = independent(seed, n, 5) if cyclic else bayesian(seed, n, tree=tree)
    order = rng.permutation(n).tolist()
    event = random_formula(rng, order[: rng.integers(1, 3)])
    condition = random_formula(rng, order[2 : 2 + rng.integers(1, 4)])
    row = hidden.bound(f"P({event} | {condition})", f"P({event})")
    for got, truth in zip(row.rows(), (hidden.chance(event, condition), hidden.chance(event)), strict=True):
        assert got.lower - 1e-6 <= truth <= got.upper + 1e-6, (got, truth)


def extreme_networks(
    parents: list[tuple[int, ...]], ends: list[list[tuple[float, float]]]
) -> list[np.ndarray]:
    """The masses of all worlds for every choice of an end for every row of every table."""
    n = len(parents)
    worlds = list(itertools.product((0, 1), repeat=n))
    rows = [(atom, case) for atom in range(n) for case in range(2 ** len(parents[atom]))]
    found = []
    for choice in itertools.product((0, 1), repeat=len(rows)):
        chances = {row: ends[row[0]][row[1]][side] for row, side in zip(rows, choice, strict=True)}
        masses = []
        for world in worlds:
            mass = 1.0
            for atom in range(n):
                case = int("".join(str(world[p]) for p in parents[atom]) or "0", 2)
                mass *= chances[atom, case] if world[atom] else 1 - chances[atom, case]
            masses.append(mass)
        found.append(np.array(masses))
    return found


@settings(laws, max_examples=tries(12))
@given(seeds)
def test_trees_are_exact(seed: int) -> None:
    """Ratios of multilinear functions are extreme where every row is at an end."""
    rng = np.random.default_rng(seed)
    n = 4
    parents = random_parents(rng, n, 2, tree=True)
    ends = [
        [tuple(sorted(rng.uniform(0.05, 0.95, 2).round(3).tolist())) for _ in range(2 ** len(its))]
        for its in parents
    ]
    sentences = [
        Sentence(f"x{atom}", condition, *ends[atom][case])
        for atom in range(n)
        for case, condition in enumerate(conditionals(atom, parents[atom]))
    ]
    order = rng.permutation(n).tolist()
    query, condition = f"x{order[0]}", " and ".join(f"{'not ' if a % 2 else ''}x{a}" for a in order[1:3])
    model = hb.Model(hb.parse("\n".join(sentence.statement for sentence in sentences)))
    (got,) = model.bound(f"P({query} | {condition})", engine="ariel").rows()
    told, both = holds(condition, range(n)), holds(query, range(n)) & holds(condition, range(n))
    ratios = [masses[both].sum() / masses[told].sum() for masses in extreme_networks(parents, ends)]
    assert (got.lower, got.upper) == pytest.approx((min(ratios), max(ratios)), abs=1e-6)


def chemistry(rng: np.random.Generator, features: int) -> tuple[list[list[float]], str]:
    """Intervals of P(feature | class) and P(feature | not class), and the theory."""
    draws = rng.uniform(0.1, 0.9, (features, 4)).tolist()
    ends = [[*sorted(four[:2]), *sorted(four[2:])] for four in draws]
    lines = ["P(y) in [0.3, 0.4]"]
    for i, (a, b, c, d) in enumerate(ends):
        lines += [f"P(f{i} | y) in [{a!r}, {b!r}]", f"P(f{i} | not y) in [{c!r}, {d!r}]"]
    return ends, "\n".join(lines)


@pytest.mark.parametrize("observed", [1, 10, 300])
def test_a_class_of_many_features_is_exact(observed: int) -> None:
    rng = np.random.default_rng(observed)
    ends, text = chemistry(rng, 400)
    truths = rng.random(observed) < 0.5
    low, high = math.log(0.3 / 0.7), math.log(0.4 / 0.6)
    for (a, b, c, d), truth in zip(ends, truths, strict=False):
        low += math.log(a / d) if truth else math.log((1 - b) / (1 - c))
        high += math.log(b / c) if truth else math.log((1 - a) / (1 - d))
    condition = " and ".join(f"{'' if truth else 'not '}f{i}" for i, truth in enumerate(truths))
    (got,) = hb.Model(hb.parse(text)).bound(f"P(y | {condition})", engine="ariel").rows()
    expected = 1 / (1 + math.exp(-low)), 1 / (1 + math.exp(-high))
    assert (got.lower, got.upper) == pytest.approx(expected, abs=1e-9)
    (other,) = hb.Model(hb.parse(text)).bound(f"P(not y | {condition})", engine="ariel").rows()
    assert (other.lower, other.upper) == pytest.approx((1 - got.upper, 1 - got.lower), abs=1e-12)


def test_rules_on_conjunctions_narrow_and_stay_sound() -> None:
    """Networks drawn from all that satisfy the intervals and the rule lie inside; the rule matters."""
    rng = np.random.default_rng(4)
    ends, text = chemistry(rng, 20)
    rule = "P(y | f0 and f1) in [0.6, 0.7]"
    condition = "f0 and f1 and not f2 and f3"
    (ruled,) = hb.Model(hb.parse(f"{text}\n{rule}")).bound(f"P(y | {condition})", engine="ariel").rows()
    (free,) = hb.Model(hb.parse(text)).bound(f"P(y | {condition})", engine="ariel").rows()
    assert ruled.upper - ruled.lower < free.upper - free.lower - 0.01
    seen = 0
    for _ in range(20_000):
        prior = rng.uniform(0.3, 0.4)
        given_class = [rng.uniform(a, b) for a, b, _, _ in ends[:4]]
        otherwise = [rng.uniform(c, d) for _, _, c, d in ends[:4]]
        odds = prior / (1 - prior) * given_class[0] * given_class[1] / (otherwise[0] * otherwise[1])
        if not 0.6 <= odds / (1 + odds) <= 0.7:
            continue
        seen += 1
        odds *= (1 - given_class[2]) / (1 - otherwise[2]) * given_class[3] / otherwise[3]
        assert ruled.lower - 1e-9 <= odds / (1 + odds) <= ruled.upper + 1e-9
    assert seen > 100


def test_conditioning_is_not_constraining() -> None:
    text = "P(a) in [0.2, 0.3]\nP(b | a) in [0.6, 0.7]\nP(b | not a) in [0.1, 0.2]"
    (got,) = hb.Model(hb.parse(text)).bound("P(a | b)", engine="ariel").rows()
    low, high = 0.2 * 0.6 / (0.2 * 0.6 + 0.8 * 0.2), 0.3 * 0.7 / (0.3 * 0.7 + 0.7 * 0.1)
    assert (got.lower, got.upper) == pytest.approx((low, high), abs=1e-6)


def test_facts_condition_every_atom() -> None:
    text = "P(a) in [0.2, 0.3]\nP(b | a) in [0.6, 0.7]\nP(b | not a) in [0.1, 0.2]\nP(c) in [0.5, 0.6]\nb"
    found = hb.Model(hb.parse(text), open=["b"]).bound(engine="ariel")
    asked = hb.Model(hb.parse(text.removesuffix("\nb"))).bound("P(a | b)", engine="ariel")
    assert found["a"].lower == pytest.approx(asked["a | b"].lower, abs=1e-9)
    assert (found["b"].lower, found["b"].upper) == (1, 1)
    assert (found["c"].lower, found["c"].upper) == pytest.approx((0.5, 0.6), abs=1e-12)


@pytest.mark.parametrize("condition", ["a and not a", "b and c", "b"])
def test_impossible_conditions_are_refused(condition: str) -> None:
    text = "P(a) in [0.2, 0.3]\nP(b) <= 0\nP(c | a) >= 0.5"
    with pytest.raises(hb.HerbrandError, match="upper probability"):
        hb.Model(hb.parse(text)).bound(f"P(a | {condition})", engine="ariel")


def test_conditions_of_probability_zero_somewhere_are_taken() -> None:
    """Where P(b) may be 0 only the other distributions count."""
    text = "P(a) in [0.2, 0.3]\nP(b | a) in [0, 0.5]\nP(b | not a) = 0"
    (got,) = hb.Model(hb.parse(text)).bound("P(a | b)", engine="ariel").rows()
    assert got.upper == 1
    assert got.lower <= 1
