"""Plain probabilistic logic beside linear programs in fractions: ends, gaps and contradictions at any scale.

Bounds are those of a hidden distribution, from an ulp to the whole range wide, over twelve orders of
magnitude; some theories are broken by as little.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import nextafter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.language import syntax as s
from herbrand.language.show import show_probability
from herbrand.language.theory import Theory, show
from tests.laws import tries
from tests.oracles.bounds_in_fractions import can_hold, interval
from tests.oracles.credal import Network, holds

TIES = 1e-15
"""What is left out of a gap: a probability and its complement are told apart up to a rounding of 1."""
some = settings(deadline=None, max_examples=tries(24))
seeds = st.integers(0, 2**32 - 1).map(random.Random)


def some_chance(rng: random.Random) -> Fraction:
    if rng.random() < 0.3:
        return Fraction(rng.randrange(17), 16)
    chance = Fraction(10 ** rng.uniform(-12, 0))
    return 1 - chance if rng.random() < 0.2 else chance


def some_formula(rng: random.Random, names: Sequence[str], depth: int) -> s.Formula:
    if not depth or rng.random() < 0.4:
        atom = s.Atom(rng.choice(names))
        return s.Not(atom) if rng.random() < 0.4 else atom
    parts = tuple(some_formula(rng, names, depth - 1) for _ in range(2))
    kind = rng.choice([s.And, s.And, s.Or, s.Or, s.Xor, s.Iff, s.Implies])
    return kind(parts) if kind in (s.And, s.Or, s.Xor) else kind(*parts)


def some_case(rng: random.Random, names: Sequence[str]) -> s.Formula:
    literals = [s.Atom(name) if rng.random() < 0.6 else s.Not(s.Atom(name)) for name in names]
    return literals[0] if len(literals) == 1 else s.And(tuple(literals))


def some_events(rng: random.Random, names: Sequence[str]) -> list[tuple[s.Formula, s.Formula | None]]:
    """Rows of conditional tables, and formulas beside them."""
    found: list[tuple[s.Formula, s.Formula | None]] = []
    for place, name in enumerate(names):
        above = rng.sample(names[:place], rng.randint(0, min(place, 2)))
        for truths in product((True, False), repeat=len(above)):
            literals = tuple(s.Atom(a) if t else s.Not(s.Atom(a)) for a, t in zip(above, truths, strict=True))
            if rng.random() < 0.9:
                case = None if not literals else literals[0] if len(literals) == 1 else s.And(literals)
                found.append((s.Atom(name), case))
    for _ in range(rng.randint(0, 3)):
        condition = None if rng.random() < 0.5 else some_formula(rng, names, 1)
        found.append((some_formula(rng, names, 2), condition))
    return found


def masses(rng: random.Random, count: int) -> list[Fraction]:
    """The masses of all worlds, each atom's chance depending on all before it."""
    found = [Fraction(1)]
    for _ in range(count):
        chances = [some_chance(rng) for _ in found]
        found = [m * part for m, c in zip(found, chances, strict=True) for part in (1 - c, c)]
    return found


def rounded(value: Fraction, towards: float) -> float:
    """A double at or beyond a number; within 0 and 1."""
    found = float(value)
    if (Fraction(found) < value) if towards > value else (Fraction(found) > value):
        found = nextafter(found, towards)
    return min(max(found, 0.0), 1.0)


def ends_around(rng: random.Random, value: Fraction) -> tuple[float, float]:
    low = value * (1 - min(Fraction(10 ** rng.uniform(-9, 1)), Fraction(1)))
    high = min(value * (1 + Fraction(10 ** rng.uniform(-9, 1))), Fraction(1))
    kinds = [(value, value), (value, Fraction(1)), (Fraction(0), high), (low, high), (low, high)]
    lower, upper = rng.choice(kinds)
    return rounded(lower, -1), rounded(upper, 2)


def some_theory(rng: random.Random) -> Network:
    """The hidden distribution satisfies it, unless it is broken."""
    names = [f"x{i}" for i in range(rng.randint(2, 4))]
    every = Network((s.Bound(s.And(tuple(map(s.Atom, names))), None, 0.0, 1.0),))
    hidden = masses(rng, len(names))
    bounds = [s.Bound(s.Atom(name), None, 0.0, 1.0) for name in names]
    for event, condition in some_events(rng, names):
        told = [condition is None or holds(condition, world) for world in every.cases()]
        known = sum((m for m, one in zip(hidden, told, strict=True) if one), Fraction(0))
        if known:
            true = (one and holds(event, world) for one, world in zip(told, every.cases(), strict=True))
            both = sum((m for m, one in zip(hidden, true, strict=True) if one), Fraction(0))
            bounds.append(s.Bound(event, condition, *ends_around(rng, both / known)))
    rng.shuffle(bounds)
    if rng.random() < 0.5:
        bounds[-1] = broken(rng, bounds[-1])
    return Network(tuple(bounds))


def broken(rng: random.Random, bound: s.Bound) -> s.Bound:
    """A bound moved beyond its own upper end, by a little or much."""
    low = min(bound.upper * (1 + 10 ** rng.uniform(-13, 0)), 1.0)
    return s.Bound(bound.event, bound.given, low, min(1.0, low * (1 + rng.random())))


def check(rng: random.Random) -> None:
    network = some_theory(rng)
    event = some_formula(rng, network.atoms, 1)
    given = None if rng.random() < 0.4 else some_case(rng, rng.sample(network.atoms, rng.randint(1, 2)))
    theory = hb.parse(show(Theory(network.bounds)))
    consistent = can_hold(network, network.bounds)
    truth = interval(network, event, given) if consistent else None
    for engine in ("exact", "ariel"):
        model = hb.Model(theory)
        query = f"P({show_probability(event, given)})"
        try:
            answer = model.bound(query, engine=engine, independence="none")
        except hb.HerbrandError as error:
            check_refusal(network, consistent, truth is not None, error, engine)
            continue
        (row,) = answer.rows()
        if truth is None:
            assert engine == "ariel" or (not consistent and given is not None), (engine, row)
            continue
        least, most = truth
        assert Fraction(row.lower) <= least <= most <= Fraction(row.upper), (engine, row)
        if engine == "exact":
            off = max(least - Fraction(row.lower), Fraction(row.upper) - most)
            assert row.gap is not None and off <= Fraction(row.gap) + Fraction(TIES)
            if answer.guarantee == "exact":
                assert (row.lower, row.upper) == pytest.approx(tuple(map(float, truth)), rel=2e-6, abs=4e-12)


def check_refusal(
    network: Network, consistent: bool, possible: bool, error: hb.HerbrandError, engine: str
) -> None:
    """What is called impossible or contradictory is so, and none of the statements named is one too many."""
    if "cannot be given" in str(error):
        assert not possible
        return
    assert "no distribution satisfies" in str(error) and not consistent, (engine, error)
    lines = sorted({mistake.span.line for mistake in error.mistakes if mistake.span})
    named = [network.bounds[line - 1] for line in lines]
    assert not can_hold(network, named), (engine, lines)
    for left in named:
        assert can_hold(network, [bound for bound in named if bound is not left]), (engine, lines)


@some
@given(seeds)
def test_ends_gaps_and_contradictions_are_those_of_fractions(rng: random.Random) -> None:
    check(rng)


@pytest.mark.parametrize("seed", [55, 147, 158, 241, 326, 355, 419, 461, 471, 474, 548])
def test_ends_that_were_called_exact_and_were_not(seed: int) -> None:
    """HiGHS drops entries of rows below 1e-9 where it is not told otherwise, and rows are off by 1e-10."""
    check(random.Random(seed))


@pytest.mark.parametrize("seed", [10291, 10478])
def test_a_point_that_is_not_fine_enough_closes_no_gap(seed: int) -> None:
    """Multipliers of a point that is off by too much say nothing of one that is not."""
    check(random.Random(seed))


@pytest.mark.slow
@settings(deadline=None, max_examples=600)
@given(seeds)
def test_ends_gaps_and_contradictions_at_length(rng: random.Random) -> None:
    check(rng)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_program_in_fractions_by_hand(seed: int) -> None:
    """P(a | b) where P(a) and P(b) are known: Frechet's bounds on the conjunction."""
    rng = random.Random(seed)
    a, b = (Fraction(rng.randrange(1, 16), 16) for _ in range(2))
    network = Network(tuple(s.Bound(s.Atom(n), None, float(p), float(p)) for n, p in (("a", a), ("b", b))))
    assert interval(network, s.Atom("a"), s.Atom("b")) == (max(0, a + b - 1) / b, min(a, b) / b)
    assert can_hold(network, network.bounds)
    more = s.Bound(s.Atom("a"), None, float(a) + 2**-40, 1.0)
    assert not can_hold(network, [*network.bounds, more])
