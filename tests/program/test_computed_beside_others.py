"""Bodies that compute and hold absences, heads' own variables and many-valued atoms too: against loops."""

from __future__ import annotations

import random

import pytest

import herbrand as hb
from herbrand.language.parse import parse_formula, parse_theory
from tests.oracles.arithmetic import least_model
from tests.oracles.choices import worlds_of

pytestmark = pytest.mark.usefixtures("road")

DECLARED = """
type thing = {"a", "b", "c"}
type num = number
predicate w(thing): observed
predicate s(thing, num): observed
predicate h(thing)
"""


def probabilities(text: str, query: str) -> dict[str, float]:
    return {row.text: row.probability for row in hb.Model(hb.parse(text)).infer(query).rows()}


@pytest.mark.parametrize("seed", range(12))
def test_an_absence_of_a_computed_value(seed: int) -> None:
    """``not s(x, m)`` is about the m that was computed, and not about every number."""
    rng = random.Random(seed)
    facts = {(rng.choice("abc"), rng.randint(0, 3)) for _ in range(4)}
    rule = rng.choice(
        [
            "h(x) :- s(x, n), m = n + 1, not s(x, m)",
            "h(x) :- s(x, n), m = n * n - 1, not s(_, m), m < 5",
            "h(x) :- s(x, n), s(y, k), m = n + k, not s(y, m), not w(x)",
            "h(x) :- w(x), m = count(n: s(x, n)), not s(x, m)",
        ]
    )
    known = {"s": facts, "w": {("a",), ("c",)}}
    theory = hb.parse(DECLARED + rule)
    expected = least_model(theory, {name: set(rows) for name, rows in known.items()}, [["h"]])["h"]
    model = hb.Model(theory, {name: sorted(rows) for name, rows in known.items()})
    answers = model.query("h(x)", algebra="boolean").to_dict()["answers"]
    assert {(row["bindings"]["x"],) for row in answers} == expected


@pytest.mark.parametrize(
    "test", ["n + 1 > 0", "min(k: s(z, k)) >= -2", "count(k: s(z, k)) >= 0", "1 + 1 = 2"]
)
@pytest.mark.parametrize("absent", ["not w(x)", "not s(x, n)", "not s(x, _)", "not w(x), not w(y)"])
def test_an_absence_of_what_a_head_alone_ranges_over(absent: str, test: str) -> None:
    """A test that always holds changes nothing, and x ranges over all things."""
    facts = 's("a", 0)\ns("b", 1)\nw("a")\n'
    text = f"{DECLARED}{facts}0.1 :: h(x) :- s(y, n), {absent}"
    worlds = worlds_of(parse_theory(text))
    found = probabilities(f"{text}, {test}", "h")
    assert found == pytest.approx({atom: worlds.probability(parse_formula(atom)) for atom in found})
    assert len(found) == 3


def test_a_rule_that_computes_over_an_uncertain_value() -> None:
    """It was refused: "rows of no columns do not go below rows of a0"."""
    text = DECLARED + (
        'predicate c(thing) in {"r", "g"}\ns("a", 1)\ns("b", 2)\n'
        '0.2 :: c("a") = "r"\n0.3 :: c(x) = "g"; 0.4 :: c(x) = "r" :- w(x)\nw("b")\n'
        'h(x) :- c(x) = "r", s(x, n)'
    )
    worlds = worlds_of(parse_theory(text))
    found = probabilities(f"{text}, n + 1 > 0", "h")
    assert found == pytest.approx({atom: worlds.probability(parse_formula(atom)) for atom in found})
    assert found['h("a")'] == pytest.approx(0.2)


@pytest.mark.parametrize(
    "body", ['w(x), p(y), y != "a"', "w(x), p(y), p(z), y != z", "w(x), p(y), y != y", 'w(x), p(y), y = "b"']
)
def test_a_rule_that_computes_over_a_comparison_of_uncertain_values(body: str) -> None:
    """What p binds is compared in a rule that a computing one reads: "y stands in no atom", it had said."""
    begun = (
        f'{DECLARED}predicate p(thing)\npredicate q(thing)\nw("a")\ns("a", 1)\n0.5 :: p(x)\nq(x) :- {body}\n'
    )
    expected = worlds_of(parse_theory(f"{begun}h(x) :- q(x), s(x, n)")).probability(parse_formula('h("a")'))
    found = probabilities(f"{begun}h(x) :- q(x), s(x, n), n + 1 > 0", "h")
    assert found['h("a")'] == pytest.approx(expected)
    opened = begun.replace("0.5 :: p(x)", "1.0 :: q(x) :- p(x), not p(x)")
    found = probabilities(f"{opened}h(x) :- q(x), s(x, n), n + 1 > 0", "h")
    assert found['h("a")'] == pytest.approx(expected), "an open atom is as likely as a coin"


def test_an_equation_with_a_constant_beside_a_test() -> None:
    text = (
        DECLARED + 'predicate v(thing, num)\nw("a")\ns("a", 3)\nv(x, n) :- w(x), n = 1, count(k: s(x, k)) > 0'
    )
    assert probabilities(text, "v") == {'v("a", 1)': 1.0}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('w(x), not m = "x"', 0.5),
        ('w(x), not (m = "x")', 0.5),
        ('w(x), count(y: w(y), m = "x") >= 1', 0.5),
        ('w(x), count(y: w(y), not m = "x") < 1', 0.5),
    ],
)
def test_a_many_valued_atom_without_arguments_is_an_atom_anywhere(body: str, expected: float) -> None:
    """Behind ``not``, and in what is counted, it was taken for a variable."""
    text = f'{DECLARED}predicate m in {{"x", "y"}}\nw("a")\n0.5 :: m = "x"\nh(x) :- {body}'
    assert probabilities(text, 'h("a")') == pytest.approx({'h("a")': expected})


@pytest.mark.parametrize("body", ["w(x), not x = y, w(y)", "w(x), count(y: w(y), not y = x) > 0"])
def test_an_equation_of_terms_behind_not_is_refused(body: str) -> None:
    with pytest.raises(hb.HerbrandError, match="write its opposite: != instead of ="):
        hb.Model(hb.parse(f"{DECLARED}h(x) :- {body}")).query("h(x)")
