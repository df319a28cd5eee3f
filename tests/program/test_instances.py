"""Queried formulas once for each choice of constants, in the order of the domains; and programs as values."""

from __future__ import annotations

import copy
import itertools

import pytest

import herbrand as hb
from herbrand.errors import BudgetError
from herbrand.language.parse import parse_formula
from herbrand.language.show import show_formula
from herbrand.program.expansion import instances
from herbrand.program.program import Program

TEXT = """\
type t = {"b", "a"}
type u = 1..3
predicate s(t)
predicate g(t, u)
predicate rain
predicate m(t) in {"v", "w"}
0.5: s(x) and rain
"""


def program() -> Program:
    return hb.Model(hb.parse(TEXT)).program


def said(text: str) -> list[str]:
    made = program()
    formula = parse_formula(text, "<query>", made.signature.valued_names)
    return [show_formula(one.written) for one in instances(formula, made)]


def test_constants_come_in_the_order_of_their_domains() -> None:
    """Variables in the order in which they appear; the last one goes fastest."""
    expected = [f'g("{x}", {y}) and s("{x}")' for x, y in itertools.product("ba", (1, 2, 3))]
    assert said("g(x, y) and s(x)") == expected
    turned = [f's("{x}") or g("{z}", {y})' for x, z, y in itertools.product("ba", "ba", (1, 2, 3))]
    assert said("s(x) or g(z, y)") == turned


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rain or not rain", ["rain or not rain"]),
        ('s("a") and rain', ['s("a") and rain']),
        ("exists x: s(x)", ["exists x: s(x)"]),
        ("not s(_)", ['not s("b")', 'not s("a")']),
        ('m(x) = "v"', ['m("b") = "v"', 'm("a") = "v"']),
        ("s(x) and x = y", [f's("{x}") and "{x}" = "{y}"' for x in "ba" for y in "ba"]),
        ("s(x) and (exists x: g(x, 2))", [f's("{c}") and (exists x: g(x, 2))' for c in "ba"]),
        ("s(x) => (exists y: g(x, y))", [f's("{c}") => (exists y: g("{c}", y))' for c in "ba"]),
    ],
)
def test_only_free_variables_are_replaced(text: str, expected: list[str]) -> None:
    assert said(text) == expected


def test_over_nobody_there_is_no_instance() -> None:
    made = hb.Model(hb.parse("type z\npredicate q(z)\npredicate rain\n0.5: rain\n")).program
    assert list(instances(parse_formula("q(x) and rain", "<query>", ()), made)) == []
    assert len(list(instances(parse_formula("exists x: q(x)", "<query>", ()), made))) == 1


def test_too_many_instances_are_refused_before_the_first() -> None:
    made = hb.Model(hb.parse("type z = 1..400\npredicate q(z, z)\n0.5: q(x, y)\n")).program
    with pytest.raises(BudgetError) as error:
        next(instances(parse_formula("q(x, y) and q(y, x)", "<query>", ()), made))
    (mistake,) = error.value.mistakes
    assert mistake.message == "the queried formula has 160,000 instances; at most 100,000 are answered"
    assert mistake.hint == "put constants for some of its variables"


def test_every_instance_is_answered_as_its_closed_formula() -> None:
    """By the engine, each alone as all together."""
    model = hb.Model(hb.parse(TEXT + '1.2: s(x) => g(x, 2)\n0.4: g(x, y) => m(x) = "v"\n'))
    for text in ("g(x, y) and s(x)", "s(x) => (exists y: g(x, y))", 'm(x) = "v" or s(x)'):
        rows = list(model.infer(text, engine="exact").rows())
        assert [row.atom for row in rows] == said(text)
        for row in rows:
            (alone,) = model.infer(row.atom, engine="exact").rows()
            assert alone.probability == pytest.approx(row.probability, abs=1e-12)


def test_a_program_tells_its_domains_and_is_its_own_copy() -> None:
    made = program()
    assert copy.deepcopy(made) is made
    assert [len(domain) for domain in made.domains_of(made.signature.predicates["g"])] == [2, 3]
    assert (made.value_count("s"), made.value_count("m")) == (2, 2)
    assert made.is_open("s") and list(made.domain("u")) == [1, 2, 3]
    spans = {made.span_of(template) for template in made.templates}
    assert len(spans) == 1 and next(iter(spans)) is not None
