"""Instances of one pattern have one probability, whatever is known; and what tells constants apart."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

import herbrand as hb
from herbrand.errors import BudgetError, ContradictionError, FactsError
from herbrand.language.parse import parse_formula
from herbrand.program.alike_constants import AlikeConstants
from herbrand.program.evidence import Evidence
from herbrand.program.expansion import instances
from tests.engines.lifted.symmetric_theories import theories
from tests.laws import tries

generated = settings(
    max_examples=tries(24),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def alike(model: hb.Model) -> AlikeConstants:
    return AlikeConstants(Evidence(model.program))


ASKED = [
    "p(x) and not p(y)",
    "p(x) or f(x, y)",
    "exists y: f(y, x) and not p(y)",
    "x != y and (f(x, y) <=> f(y, x))",
    'f(x, "t1") and p(x)',
]


@generated
@given(theories())
def test_equal_patterns_have_equal_probabilities(text: str) -> None:
    declared = [d for d in ("predicate p(t)\n", "predicate f(t, t)\n") if d not in text]
    model = hb.Model(hb.parse(text + "".join(declared) + "0.3: p(x) and f(x, y)"))
    pattern = alike(model).pattern
    for asked in ASKED:
        formula = parse_formula(asked)
        try:
            rows = model.infer(asked, engine="exact", time_limit=2.0).rows()
        except (ContradictionError, BudgetError, FactsError):
            assume(False)
        known: dict[object, float] = {}
        for row, (_, closed) in zip(rows, instances(formula, model.program), strict=True):
            first = known.setdefault(pattern(closed), row.probability)
            assert row.probability == pytest.approx(first, abs=1e-9), row.atom


T = 'type t = {"a", "b", "c", "d"}\npredicate p(t)\npredicate q(t)\npredicate f(t, t)\n'


@pytest.mark.parametrize(
    ("stated", "classes"),
    [
        ("0.5: p(x)", ["abcd"]),
        ('0.5: p(x)\np("a")\nnot p("b")\np("c")', ["ac", "b", "d"]),
        ('0.5: p(x)\np("a") ~ 0.7\np("b") ~ 0.7\np("c") ~ 0.6', ["ab", "c", "d"]),
        ('0.5: p(x) and q("b")', ["acd", "b"]),
        ('0.5: p(x) where x != "b"', ["acd", "b"]),
        ('0.5: q(x) or exists y: f(x, y) and y != "c"', ["abd", "c"]),
        ('0.5: p(x)\nf("a", "d")\nf("b", "d")', ["ab", "c", "d"]),
        ('0.5: p(x)\nf("a", "a")\nf("b", "b")', ["ab", "cd"]),
        ('0.5: p(x)\nf("a", "b")\nf("b", "a")', ["a", "b", "cd"]),
        ('0.5: p(x)\nq("a")', ["a", "bcd"]),
        ("?[x]: p(x)", ["a", "b", "c", "d"]),
        ("0.5: p(x)\npredicate boss(t) in t", ["a", "b", "c", "d"]),
    ],
)
def test_which_constants_are_alike(stated: str, classes: list[str]) -> None:
    pattern = alike(hb.Model(hb.parse(T + stated))).pattern
    found: dict[object, str] = {}
    for constant in "abcd":
        key = pattern(parse_formula(f'p("{constant}")'))
        found[key] = found.get(key, "") + constant
    assert sorted(found.values()) == sorted(classes)


def test_constants_are_equal_where_the_others_are() -> None:
    pattern = alike(hb.Model(hb.parse(T + "0.5: p(x)"))).pattern
    pairs = [pattern(parse_formula(f'f("{one}", "{other}")')) for one, other in permutations("abcd", 2)]
    assert len(set(pairs)) == 1
    assert pattern(parse_formula('f("a", "a")')) == pattern(parse_formula('f("c", "c")')) != pairs[0]


def test_values_and_orders_are_told_apart_by_their_names() -> None:
    text = 'type n = {1, 2, 3}\npredicate p(n)\npredicate c(n) in {"x", "y"}\n0.5: p(x)\n'
    pattern = alike(hb.Model(hb.parse(text))).pattern
    for one, other in [
        ('c(1) = "x"', 'c(1) = "y"'),
        ("p(1) and 1 < 2", "p(3) and 3 < 2"),
    ]:
        assert pattern(parse_formula(one)) != pattern(parse_formula(other))
    assert pattern(parse_formula("p(1) and 1 != 2")) == pattern(parse_formula("p(3) and 3 != 2"))


def test_counting_asks_once_for_all_that_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    from herbrand.engines.lifted.engine import Lifted

    asked: list[object] = []
    once = Lifted._probability
    monkeypatch.setattr(
        Lifted, "_probability", lambda self, *given: asked.append(given) or once(self, *given)
    )
    people = ", ".join(f'"c{i}"' for i in range(30))
    text = f'type t = {{{people}}}\npredicate p(t)\npredicate f(t, t)\n0.4: p(x) and f(x, y) => p(y)\np("c3")'
    rows = list(hb.Model(hb.parse(text)).infer("p(x) and not f(x, y)", engine="lifted").rows())
    assert len(rows) == 900 and len(asked) == 5
