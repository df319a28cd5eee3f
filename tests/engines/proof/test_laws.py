"""Laws of answers by rules: what is said another way gives the same answers, whatever the algebra."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.language import syntax as s
from herbrand.language.show import show_formula
from herbrand.language.theory import Theory
from tests import changed_theories as changed
from tests.engines.proof.programs import Program, goals, programs
from tests.engines.proof.test_against_proofs import told
from tests.oracles.proofs import Weights

quick = settings(
    max_examples=5,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
Rewriting = Callable[[s.Rule], list[s.Rule]]
SURELY = s.Comparison("<", s.Constant(1), s.Constant(2))
WAYS = [{"algebra": "count"}, {"algebra": "max"}, {"algebra": "boolean"}, {"algebra": "count", "exact": True}]


def backwards(rule: s.Rule) -> list[s.Rule]:
    return [replace(rule, body=rule.body[::-1])]


def with_a_test_that_holds(rule: s.Rule) -> list[s.Rule]:
    return [replace(rule, body=(*rule.body, SURELY))]


def beside_one_that_never_holds(rule: s.Rule) -> list[s.Rule]:
    return [rule, replace(rule, body=(*rule.body, s.Comparison(">", s.Constant(1), s.Constant(2))))]


def in_two_parts(rule: s.Rule) -> list[s.Rule]:
    """Two rules whose weights add up: proofs are twice as many and weigh half."""
    weight = 1.0 if rule.weight is None else rule.weight
    assert isinstance(weight, float)
    return [replace(rule, weight=weight * 0.25), replace(rule, weight=weight * 0.75)]


def rewritten(program: Program, rewriting: Rewriting) -> Program:
    lower, upper = (
        [new for rule in rules for new in rewriting(rule)] for rules in (program.lower, program.upper)
    )
    return Program(lower, upper, program.facts)


def asked(model: hb.Model, goal: s.Formula, depth: int, way: Mapping[str, object]) -> Weights:
    return told(model.query(show_formula(goal), depth=depth, **way))


@pytest.mark.parametrize("rewriting", [backwards, with_a_test_that_holds, beside_one_that_never_holds])
@quick
@given(st.data(), programs(weights=(1.0, 2.0, 3.0)), st.integers(0, 4))
def test_another_wording_of_rules(
    rewriting: Rewriting, data: st.DataObject, program: Program, depth: int
) -> None:
    goal, way = data.draw(goals(program)), data.draw(st.sampled_from(WAYS))
    one, other = (asked(p.model(), goal, depth, way) for p in (program, rewritten(program, rewriting)))
    assert other == pytest.approx(one, rel=1e-9)


@quick
@given(st.data(), programs(), st.integers(0, 4))
def test_a_rule_in_two_parts_counts_as_much(data: st.DataObject, program: Program, depth: int) -> None:
    goal = data.draw(goals(program))
    one, other = (
        asked(p.model(), goal, depth, {"algebra": "count"})
        for p in (program, rewritten(program, in_two_parts))
    )
    assert other == pytest.approx(one, rel=1e-9)


@quick
@given(st.data(), programs(), st.integers(0, 4), st.integers(0, 99))
def test_neither_order_nor_names_matter(data: st.DataObject, program: Program, depth: int, seed: int) -> None:
    """Letters are called so that they sort the other way around; numbers stay, for rules compare them."""
    goal, way = data.draw(goals(program)), data.draw(st.sampled_from(WAYS[:3]))
    predicates = {"p": "zz", "a": "not", "q": "P", "e": "k2", "k": "exists"}
    constants: dict[s.Value, s.Value] = {"a": "zü", "b": 'a"b'}
    model = program.model()
    theory = changed.renamed(changed.shuffled(model.theory, seed), predicates, constants)
    renamed = changed.renamed(Theory((s.WeightedFormula(1.0, goal),)), predicates, constants)
    other = asked(hb.Model(theory), renamed.formulas[0].formula, depth, way)
    expected = {
        tuple(constants.get(value, value) for value in row): weight
        for row, weight in asked(model, goal, depth, way).items()
    }
    assert other == pytest.approx(expected, rel=1e-9)


@quick
@given(st.data(), programs())
def test_a_fact_of_one_call_is_a_fact(data: st.DataObject, program: Program) -> None:
    goal = data.draw(goals(program))
    row = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    assume(row not in program.facts["e"])
    more = {**program.facts, "e": {**program.facts["e"], row: 1.0}}
    stated = told(replace(program, facts=more).model().query(show_formula(goal), depth=3))
    given_once = program.model().query(show_formula(goal), depth=3, given=f"e({row[0]}, {row[1]})")
    assert told(given_once) == pytest.approx(stated, rel=1e-9)


@quick
@given(st.data(), programs(), st.integers(1, 3))
def test_weights_are_shared_out_and_the_heaviest_come_first(
    data: st.DataObject, program: Program, most: int
) -> None:
    goal = show_formula(data.draw(goals(program)))
    model = program.model()
    plain = model.query(goal, depth=3)
    weights = [row.weight for row in plain.rows()]
    assume(weights)
    assert weights == sorted(weights, reverse=True)
    total = math.fsum(weights)
    shares = model.query(goal, depth=3, normalize="sum")
    assert [row.weight for row in shares.rows()] == pytest.approx([w / total for w in weights])
    first = model.query(goal, depth=3, top=most)
    assert [row.bindings for row in first.rows()] == [row.bindings for row in plain.rows()][:most]
    shared = model.query(goal, depth=3, top=most, normalize="sum")
    assert [row.weight for row in shared.rows()] == pytest.approx([w / total for w in weights][:most])


@quick
@given(st.data(), programs(), st.integers(0, 3))
def test_bound_variables_answer_as_constants_do(data: st.DataObject, program: Program, depth: int) -> None:
    """A goal with values for a variable, and one goal for each value."""
    predicate = data.draw(st.sampled_from(["p", "e"]))
    values = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3, unique=True))
    model = program.model()
    whole = told(model.query(f"{predicate}(x, y)", depth=depth, bindings={"x": values}))
    parts: dict[tuple[s.Value, ...], float] = {}
    for value in values:
        answer = told(model.query(f"{predicate}({value}, y)", depth=depth))
        parts |= {(value, *row): weight for row, weight in answer.items()}
    assert whole == pytest.approx(parts, rel=1e-9)


@quick
@given(st.data(), programs(weights=(0.25, 0.5, 1.0)))
def test_a_detour_changes_no_best_proof(data: st.DataObject, program: Program) -> None:
    """Each rule by way of a predicate of its own, at the fixpoint, where depth is no matter."""
    goal = data.draw(goals(program))
    theory = program.model().theory
    statements: list[s.Statement] = []
    for number, statement in enumerate(theory.statements):
        if not isinstance(statement, s.Rule):
            statements.append(statement)
            continue
        head = s.Atom(f"by way of {number}", statement.head.arguments)
        kinds = next(
            d.types
            for d in theory.statements
            if isinstance(d, s.PredicateDeclaration) and d.name == statement.head.predicate
        )
        statements += [
            s.PredicateDeclaration(head.predicate, kinds),
            replace(statement, head=head),
            *detour(statement, head),
        ]
    for algebra in ("max", "boolean"):
        one, other = (
            told(model.query(show_formula(goal), depth="fixpoint", algebra=algebra))
            for model in (program.model(), hb.Model(Theory(tuple(statements))))
        )
        assert other == pytest.approx(one, rel=1e-9)


def detour(rule: s.Rule, head: s.Atom) -> list[s.Rule]:
    """The rule's own head by the new one, over variables."""
    names = tuple(s.Variable(f"place{i}") for i in range(len(head.arguments)))
    return [s.Rule(s.Atom(rule.head.predicate, names), (s.Atom(head.predicate, names),))]
