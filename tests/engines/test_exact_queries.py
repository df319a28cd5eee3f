"""Queries, the most probable world, and contradictions of the exact engine, against the worlds oracle."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

import herbrand as hb
from herbrand.errors import BudgetError, ContradictionError
from herbrand.language.theory import Theory
from tests.laws import tries
from tests.oracles.worlds import Universe, chosen_world
from tests.program_generators import DOMAINS, models

generated = settings(
    max_examples=tries(30),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@generated
@given(models(hard=True))
def test_most_probable_world(model: tuple[Theory, Universe]) -> None:
    theory, universe = model
    best = max(map(universe.weight_of_worlds(theory.formulas), universe.worlds()))
    assume(best > -math.inf)
    answer = hb.Model(theory).infer(engine="exact", map=True)
    assert answer.log_weight == pytest.approx(best, abs=1e-9)
    world = chosen_world(universe, answer.rows())
    assert universe.log_weight(world, theory.formulas) == pytest.approx(best, abs=1e-9)


def test_a_query_with_variables_has_a_row_for_each_choice() -> None:
    model = hb.Model(hb.parse("1.5: p(x) => q(x)"), {"r": [("a",), ("b",)]}, open=["r"])
    answer = hb.Model(hb.parse('1.5: p(x) => q(x)\nhard: p("a") or p("b")')).infer("p(x) and not q(x)")
    assert [row.atom for row in answer.rows()] == ['p("a") and not q("a")', 'p("b") and not q("b")']
    assert all(row.predicate is None and row.arguments == () for row in answer.rows())
    assert model.theory.formulas


def test_patterns_list_their_atoms_in_order() -> None:
    model = hb.Model(hb.parse("type t = 1..3\npredicate r(t, t, t)\n1: r(x, y, z)"))
    every = [(i, j, k) for i in (1, 2, 3) for j in (1, 2, 3) for k in (1, 2, 3)]
    patterns = {
        "r(x, y, z)": every,
        "r(x, y, x)": [row for row in every if row[0] == row[2]],
        "r(x, 2, _)": [row for row in every if row[1] == 2],
        "r(3, x, x)": [row for row in every if row[0] == 3 and row[1] == row[2]],
        "r(1, 2, 3)": [(1, 2, 3)],
    }
    for pattern, rows in patterns.items():
        found = [row.atom for row in model.infer(pattern).rows()]
        assert found == [f"r({', '.join(map(str, row))})" for row in rows]


def test_a_question_of_too_many_atoms_is_refused() -> None:
    model = hb.Model(hb.parse("type t = 1..100000\npredicate r(t, t)\n1: r(x, y)"))
    with pytest.raises(BudgetError, match=r"a question of 10,000,000,000 atoms needs about 447\.0 GB"):
        model.infer("r(x, y)", engine="lifted")


def test_atoms_and_predicates_as_queries() -> None:
    theory = hb.parse(
        'predicate p(t)\npredicate color(t) in {"red", "blue"}\n0.7: p(x) => color(x) = "red"\n'
        'p("a")\nnot p("b")\n0.1: p("c")\ncolor("b") = "blue"'
    )
    model = hb.Model(theory)
    assert [row.atom for row in model.infer("p").rows()] == ['p("c")']
    asked = model.infer(['p("a")', 'p("b")', 'color("b")', 'color("a")'])
    assert [(r.atom, r.value, round(r.probability, 6)) for r in asked.rows()] == [
        ('p("a")', None, 1.0),
        ('p("b")', None, 0.0),
        ('color("b")', "red", 0.0),
        ('color("b")', "blue", 1.0),
        ('color("a")', "red", round(math.exp(0.7) / (1 + math.exp(0.7)), 6)),
        ('color("a")', "blue", round(1 / (1 + math.exp(0.7)), 6)),
    ]


def test_given_is_evidence_for_one_call() -> None:
    model = hb.Model(hb.parse("1.5: rain => wet"))
    before = model.infer()["wet"]
    assert model.infer(given=["rain"])["wet"] == pytest.approx(1 / (1 + math.exp(-1.5)))
    assert model.infer(given=["not rain"])["wet"] == pytest.approx(0.5)
    assert model.infer()["wet"] == before


def test_given_does_not_close_a_predicate() -> None:
    model = hb.Model(
        hb.parse("1.5: smokes(x) and friends(x, y) => smokes(y)"), {"friends": [("anna", "bob")]}
    )
    answer = model.infer(given=['smokes("anna")'])
    assert answer["smokes"]["bob"] == pytest.approx(1 / (1 + math.exp(-1.5)))


def test_a_contradiction_names_a_smallest_set() -> None:
    theory = hb.parse("[a] hard: p\n[b] hard: p => q\n[c] hard: r or s\n[d] hard: not q\n1.0: s")
    with pytest.raises(ContradictionError) as caught:
        hb.Model(theory).infer()
    named = [m.span.text for m in caught.value.mistakes if m.span is not None]
    assert named == ["[a] hard: p", "[b] hard: p => q", "[d] hard: not q"]


def test_a_contradiction_with_facts_shows_them() -> None:
    theory = hb.parse('predicate p(t)\npredicate q(t)\nhard: p(x) => q(x)\np("a")\nnot q("a")')
    with pytest.raises(ContradictionError) as caught:
        hb.Model(theory).infer()
    assert str(caught.value) == (
        '<text>:3:1: the facts p("a"), not q("a") contradict this hard statement\n'
        "  hard: p(x) => q(x)\n"
        "  ^^^^^^^^^^^^^^^^^^"
    )


def test_long_quantifiers_stay_narrow() -> None:
    people = [(f"p{i}",) for i in range(60)]
    theory = hb.parse("predicate s(t)\npredicate person(t): observed\n2.0: exists x: s(x)\n-0.5: s(x)")
    answer = hb.Model(theory, {"person": people}).infer()
    # The only world without any s weighs 2 less.
    free = 60 * math.log(1 + math.exp(-0.5))
    expected = math.log(math.exp(2.0) * (math.exp(free) - 1) + 1)
    assert answer.log_partition == pytest.approx(expected, abs=1e-9)
    assert list(DOMAINS)
