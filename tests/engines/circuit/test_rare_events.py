"""What is rare keeps its digits: probabilities beside sums over worlds in exact fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from tests.laws import tries

ATOMS: tuple[str, ...] = ("a", "b", "c", "d")
chances = st.sampled_from([1e-30, 3e-20, 1e-16, 1e-9, 0.3, 1 - 1e-9])
bodies = st.lists(
    st.tuples(st.sampled_from(ATOMS), st.booleans()), min_size=1, max_size=3, unique_by=lambda x: x[0]
)
rules = st.lists(bodies, min_size=1, max_size=4)


def fraction(rows: list[list[tuple[str, bool]]], chance: dict[str, float], given: str = "") -> Fraction:
    """The probability that some body holds, in worlds where the given atom does not."""
    total = whole = Fraction(0)
    for values in itertools.product((False, True), repeat=len(ATOMS)):
        world: dict[str, bool] = dict(zip(ATOMS, values, strict=True))
        weight = Fraction(1)
        for name, holds in world.items():
            weight *= Fraction(chance[name]) if holds else 1 - Fraction(chance[name])
        if not world.get(given, False):
            whole += weight
            total += weight * any(all(world[name] == holds for name, holds in body) for body in rows)
    return total / whole


@settings(deadline=None, max_examples=tries(40))
@given(rules, st.fixed_dictionaries(dict.fromkeys(ATOMS, chances)), st.sampled_from(["", "a"]))
def test_rare_events_keep_their_digits(
    rows: list[list[tuple[str, bool]]], chance: dict[str, float], given: str
) -> None:
    text = [f"{chance[name]!r} :: {name}" for name in ATOMS]
    text += ["q :- " + ", ".join(name if holds else f"not {name}" for name, holds in body) for body in rows]
    if given:
        text.append(f"not {given}")
    model = hb.Model(hb.parse("\n".join(text)))
    expected = float(fraction(rows, chance, given))
    assert model.infer("q", engine="circuit")["q"] == pytest.approx(expected, rel=1e-9, abs=0)
    (answer,) = model.query(["q"], algebra="probability")
    assert sum(row.weight for row in answer) == pytest.approx(expected, rel=1e-9, abs=0)


def test_a_disjunction_of_rare_events() -> None:
    """The negation of a gate was 1 less its share: 0 for what is rarer than the last digit of 1."""
    answer = hb.Model(hb.parse("1e-20 :: a\n1e-20 :: b\nq :- a\nq :- b")).infer(
        ["q", "not q"], engine="circuit"
    )
    assert answer["q"] == pytest.approx(2e-20, rel=1e-12, abs=0)
    weighted = hb.Model(hb.parse("predicate a\npredicate b\n-50: a\n-50: b"))
    expected = 2 / (math.exp(50) + 2)  # both at once are e^-100
    for engine in ("exact", "circuit", "lifted"):
        (row,) = weighted.infer("a or b", engine=engine).rows()
        assert row.probability == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize("rare", [1e-9, 1e-12, 1e-13, 1e-17, 1e-40])
def test_rare_heads_of_one_choice_keep_their_digits(rare: float) -> None:
    """A head behind others that add up to 1 but for less than the last digits was impossible."""
    first, second = [rare, 1 - 2 * rare, rare], [0.4, rare, 0.6 - rare]
    lines = [
        "; ".join(f'{chance!r} :: v = "{value}"' for chance, value in zip(row, "abc", strict=True))
        for row in (first, second)
    ]
    model = hb.Model(hb.parse('predicate v in {"a", "b", "c"}\n' + "\n".join(lines)))
    shares = [Fraction(one) * Fraction(other) for one, other in zip(first, second, strict=True)]
    for value, share in zip("abc", shares, strict=True):
        assert model.infer("v")["v"][value] == pytest.approx(float(share / sum(shares)), rel=1e-9)
    best = model.infer(map=True)
    assert best["v"]["b"] == 1.0
    assert best.log_weight == pytest.approx(float(np.log(first[1]) + np.log(second[1])), rel=1e-9)


def test_a_choice_that_is_nearly_certain_may_fail() -> None:
    found = hb.Model(hb.parse("0.9999999999995 :: a\n0.5 :: b\nc :- a\nc :- b\nnot c")).infer(["a", "c"])
    assert (found["a"], found["c"]) == (0.0, 0.0)


def test_products_keep_their_digits() -> None:
    """Also behind `not`, where 1 less the rest would be 0, and beside what is known of a choice."""
    text = "1.0e-9 :: a\n1.0e-9 :: b\n0.999999999999 :: c\nall :- a, b\nleft :- all, not c\n"
    found = hb.Model(hb.parse(text)).infer(["all", "left"], engine="circuit")
    assert found["all"] == pytest.approx(1e-18, rel=1e-12)
    assert found["left"] == pytest.approx(1e-30, rel=1e-3)
    given = hb.Model(hb.parse(f"{text}not c\n")).infer(["all", "left"], engine="circuit", log_partition=True)
    assert found["all"] == pytest.approx(given["left"], rel=1e-12)
    assert given.log_partition == pytest.approx(math.log(1e-12), rel=1e-5)
