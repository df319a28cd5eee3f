"""On a database, too, no end is inside the truth, and links are those of statements as written."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from herbrand.scale.bounds import solving
from tests.engines.credal.ariel.test_outward import cases, holds, network
from tests.scale.test_bounds import Here, on_duckdb


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "Workers", Here)


def test_tables_hold_their_closed_forms() -> None:
    for rng, scale, other in cases(8):
        text, child, parents = network(rng, rng.choice([1, 2, 3]), scale, other)
        found = on_duckdb(text)
        holds(found, "y", child)
        for number, ends in enumerate(parents):
            holds(found, f"x{number}", ends)


def test_small_products_are_held() -> None:
    rng = random.Random(5)
    for power in rng.sample(range(1, 13), 3):
        chance = Fraction(f"1e-{power}")
        text = f"P(a) = 1e-{power}\nP(b | a) = 1e-{power}\nP(b | not a) = 0"
        holds(on_duckdb(text), "b", (chance * chance, chance * chance))


def test_an_observed_condition_links_what_it_is_a_condition_of() -> None:
    """The gate tells whether a and b are independent: P(top) is P(s("x") and s("y"))."""
    text = """
predicate friends(p, p): observed
predicate s(p)
predicate top
friends("x", "y")
P(s(a)) in [0.3, 0.4]
P(s(a) and s(b) | friends(a, b)) in [0.05, 0.30]
P(top | s("x") and s("y")) = 1
P(top | s("x") and not s("y")) = 0
P(top | not s("x") and s("y")) = 0
P(top | not s("x") and not s("y")) = 0
"""
    found = on_duckdb(text, "P(top)")
    assert found.lower[0] <= 0.05 and found.upper[0] >= 0.30
    apart = on_duckdb(text.replace("0.30]", "0.30] independent"), "P(top)")
    assert (apart.lower[0], apart.upper[0]) == pytest.approx((0.09, 0.16), abs=1e-6)
