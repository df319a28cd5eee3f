"""Weights of a theory's rules and facts as parameters: where they start, which move, and in which order."""

from __future__ import annotations

import pytest
import torch

import herbrand as hb
from herbrand.engines.proof.horn_program import HornProgram
from herbrand.nn.rule_weights import RuleWeights

RULES = """\
type n = {"a", "b", "c"}
predicate e(n, n): learned
predicate g(n): learned
predicate h(n, n): observed
predicate p(n, n)
e("b", "a") @ 2
e("a", "b") @ 0.5
g("c")
h("a", "a")
p(x, y) :- e(x, y) @ 0.25
p(x, y) :- h(x, y) @ ?
p(x, y) :- g(x), e(y, x) @ ?
p(x, y) :- h(y, x)
"""


def weights_of(learned: list[str] | None = None) -> RuleWeights:
    model = hb.Model(hb.parse(RULES))
    program = HornProgram.of(model.theory.rules, model.signature, model.stated_program.facts)
    return RuleWeights(program, learned)


def test_facts_start_at_their_weights_and_rules_at_one() -> None:
    weights = weights_of()
    facts = weights.facts()
    assert set(facts) == {"e", "g"} and len(weights) == 5
    assert facts["e"].tolist() == pytest.approx([0.5, 2.0])
    assert facts["g"].tolist() == [1.0]
    rules = weights.rules()
    assert rules is not None and rules.tolist() == [0.25, 1.0, 1.0]


def test_rows_stand_in_the_order_of_the_constants() -> None:
    weights = weights_of()
    assert weights.rows("e") == (("a", "b"), ("b", "a"))
    assert weights.rows("g") == (("c",),)


def test_only_what_is_to_be_learned_is_a_parameter() -> None:
    weights = weights_of(["g"])
    assert weights.predicates == ("g",) and len(weights) == 3
    assert [name for name, _ in weights.named_parameters()] == ["of_rules", "of_facts.0"]
    assert len(weights_of([])) == 2


def test_stated_weights_of_rules_do_not_move() -> None:
    weights = weights_of()
    with torch.no_grad():
        weights.of_rules.copy_(torch.tensor([3.0, 0.5], dtype=torch.float64).log())
    rules = weights.rules()
    assert rules is not None and rules.tolist() == pytest.approx([0.25, 3.0, 0.5])
    told = [(str(rule.head.predicate), round(weight, 9)) for rule, weight in weights.rule_weights()]
    assert told == [("p", 3.0), ("p", 0.5)]
    rules.sum().backward()
    assert weights.of_rules.grad is not None
    assert weights.of_rules.grad.tolist() == pytest.approx([3.0, 0.5])


def test_a_weight_that_is_not_above_0_is_refused() -> None:
    text = RULES.replace("@ 0.5\n", "@ 0\n", 1)
    with pytest.raises(hb.HerbrandError) as error:
        hb.nn.QueryLayer(hb.Model(hb.parse(text)), "p(x, y)")
    assert str(error.value) == (
        'e("a", "b") weighs 0, and a weight that is to be learned starts above 0\n'
        "  leave the fact out if it should not count"
    )


def test_without_learned_rules_there_are_no_weights_of_rules() -> None:
    text = "predicate e(n, n): learned\npredicate p(n, n)\np(x, y) :- e(x, y)\n" + 'e("a", "b")\n'
    layer = hb.nn.QueryLayer(hb.Model(hb.parse(text)), "p(x, y)")
    assert layer.weights.rules() is None and len(layer.weights) == 1
