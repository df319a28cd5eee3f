"""Arguments that are computed: the same as with equations written by hand, and formulas beside loops."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pytest

import herbrand as hb
from herbrand.errors import HerbrandError
from herbrand.language.theory import show
from tests.program.test_computed import answers, random_facts, random_value

WRITTEN = [
    ("one(x, {v}) :- num(x, n), pays(x, y, k)", "one(x, w) :- num(x, n), pays(x, y, k), w = {v}"),
    ("one(x, n) :- num(x, n), num(y, {v}), pays(x, y, k)",
     "one(x, n) :- num(x, n), num(y, w), pays(x, y, k), w = {v}"),
    ("one(x, n) :- num(x, n), pays(x, y, k), not num(y, {v})",
     "one(x, n) :- num(x, n), pays(x, y, k), w = {v}, not num(y, w)"),
    ("one(x, count(y: pays(x, y, 0 + n))) :- num(x, n)",
     "one(x, c) :- num(x, n), c = count(y: pays(x, y, m), m = 0 + n)"),
    ("one(x, sum(k: pays(x, _, k)) + n) :- num(x, n)",
     "one(x, c) :- num(x, n), s = sum(k: pays(x, _, k)), c = s + n"),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("short", "long"), WRITTEN)
def test_an_argument_is_an_equation(short: str, long: str, seed: int) -> None:
    rng = random.Random(seed)
    facts, value = random_facts(rng), f"0 + ({random_value(rng, ['n', 'k'])})"
    models = [hb.Model(hb.parse(text.format(v=value)), facts) for text in (short, long)]
    found, expected = (answers(model, "one", 2) for model in models)
    assert found == expected
    assert [answers(hb.Model(hb.parse(show(models[0].theory)), facts), "one", 2)] == [expected]


STATED = [
    "0.3 :: d(i) :- s(i), not on(i - 1), not on(i + 1)",
    "0.3 :: d(i) :- s(i), on(i - 1), count(j: on(j), j < i) < 2",
    "0.3 :: d(i - 1); 0.2 :: d(i + 1) :- s(i)",
    "0.3 :: d(i) :- s(i), on(max(i - 1, 0)), on(j), j < i + 1",
    "0.3 :: d(i - 1) :- s(i), not on(i * 2)",
]


@pytest.mark.parametrize("steps", ["number", "0..9"])
@pytest.mark.parametrize("statement", STATED)
def test_messages_name_a_statement_as_it_is_written(statement: str, steps: str) -> None:
    """They showed what replaces the computed arguments: ``d(i) :- s(i), on(`i - 1`), `i - 1` = i - 1``."""
    declared = "".join(f"predicate {name}(steps): observed\n" for name in ("on", "s"))
    theory = f"type steps = {steps}\npredicate d(steps)\n{declared}on(1)\nhard: d(2)\n{statement}"
    model = hb.Model(hb.parse(theory), {"s": [(2,)]})
    with pytest.raises(HerbrandError) as refused:
        model.infer(engine="bp")
    assert f": {statement}\n" in str(refused.value)


def test_goals_have_computed_arguments() -> None:
    model = hb.Model(hb.parse("near(x) :- num(x), num(x + 1)"), {"num": [(1,), (2,), (5,)]})
    found = model.query("num(x) and num(x + 1)").to_dict()["answers"]
    assert [row["bindings"] for row in found] == [{"x": 1}]
    assert len(model.query("num(2 * 2 + 1)")) == 1
    assert len(model.query("num(2 * 2)")) == 0
    assert answers(model, "near", 1) == [(1.0,)]


@pytest.mark.parametrize("engine", ["exact", "auto"])
def test_formulas_with_computed_arguments_equal_worlds(engine: str) -> None:
    """``at(x) => at(x + 1)`` is false where x holds and the next is none of the type, or does not hold."""
    places = (1, 2, 3, 4)
    theory = hb.parse(
        "type n = 1..4\npredicate at(n)\n1.3: at(x) => at(x + 1)\n0.4: at(x) and at(x * x)\n0.2: at(2)"
    )

    def weight(world: dict[int, bool]) -> float:
        steps = sum(not world[x] or world.get(x + 1, False) for x in places)
        squares = sum(world[x] and world.get(x * x, False) for x in places)
        return math.exp(1.3 * steps + 0.4 * squares + 0.2 * world[2])

    worlds = [dict(zip(places, values, strict=True)) for values in itertools.product((False, True), repeat=4)]
    total = sum(map(weight, worlds))
    found = hb.Model(theory).infer(engine=engine)
    for place in places:
        expected = sum(weight(world) for world in worlds if world[place]) / total
        assert found["at"][place] == pytest.approx(expected, abs=1e-12)
    both = (
        sum(weight(world) for world in worlds if any(world[x] and world.get(x + 1) for x in places)) / total
    )
    asked = hb.Model(theory).infer("exists x: at(x) and at(x + 1)")
    assert next(asked.rows()).probability == pytest.approx(both, abs=1e-12)


def test_formulas_make_no_constants() -> None:
    """What a formula computes is looked up; a rule makes constants, which formulas see wherever it stands."""
    theory = hb.parse(
        "type n = number\npredicate lvl(t, n): observed\npredicate top(n)\npredicate good(t)\n"
        "1: lvl(x, a) and top(a + 1) => good(x)\ntop(a * 3) :- lvl(_, a)\nlvl(\"u\", 1)\nlvl(\"v\", 2)"
    )  # fmt: skip
    model = hb.Model(theory)
    found = model.infer("good")
    assert len(model.infer("top").to_dict()["marginals"]) == 2  # 3 and 6
    share = 1 / (1 + math.exp(-1))
    assert found["good"]["v"] == pytest.approx(share)  # 2 + 1 is 3
    assert found["good"]["u"] == pytest.approx(0.5)


def test_choices_and_bounds_have_computed_arguments() -> None:
    types = "type n = 1..3\npredicate at(n)\npredicate from(n): observed\nfrom(1)\n"
    choice = hb.Model(hb.parse(types + "0.25 :: at(x + 1) :- from(x)")).infer("at(2)")
    assert choice["at"][2] == pytest.approx(0.25)
    bounds = hb.Model(hb.parse(types + "P(at(x + 1) | from(x)) = 0.25")).bound("at(2)")
    assert [row.lower for row in bounds.rows()] == [pytest.approx(0.25)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("p(x + 1)", "a fact computes no values"),
        ("1: p(x + 1)", "x has no value here"),
        ("1: p(f(x))", "an argument of an atom is a value"),
        ("p(x) :- q(x), r(_ + 1)", "_ has no value here"),
    ],
)
def test_what_is_no_argument(text: str, words: str) -> None:
    with pytest.raises(HerbrandError, match=words):
        hb.Model(hb.parse(text))


def test_evidence_computes_nothing() -> None:
    model: Any = hb.Model(hb.parse("1: p(x)"), {"p": [(1,)]}, open="p")
    with pytest.raises(HerbrandError, match="a fact computes no values"):
        model.infer(given="p(1 + 1)")
